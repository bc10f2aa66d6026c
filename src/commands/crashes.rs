//! `healmcp crashes`: which programs are paused?

use super::verbs::{Arguments, Form, call, machine};
use crate::error::Result;
use crate::render::Done;

/// List the programs that are paused at an exception.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Also list crashes that are over, of programs that still run.
    #[arg(long)]
    all: bool,
    /// List at most so many.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Go on after this crash.
    #[arg(long, value_name = "CRASH")]
    cursor: Option<String>,
    /// Wait up to so many seconds for a first one.
    #[arg(long, value_name = "S")]
    wait: Option<u64>,
    #[command(flatten)]
    pub(crate) form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    call(&machine("crashes")?, "list_crashes", arguments(args), args.form)
}

pub(crate) fn arguments(args: &Args) -> Arguments {
    Arguments::default()
        .with_some("status", args.all.then_some("all"))
        .with_some("limit", args.limit)
        .with_some("cursor", args.cursor.clone())
        .with_some("wait_s", args.wait)
}
