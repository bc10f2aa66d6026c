//! `healmcp abort`: let the exception go on.

use super::verbs::{Arguments, Form, call, machine, the_crash};
use crate::error::Result;
use crate::render::Done;

/// Let the exception of a crash go on, as in plain Python.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The crash; may be left out when only one program is paused.
    crash: Option<String>,
    /// Why, for the journal.
    #[arg(long)]
    reason: Option<String>,
    /// Wait up to so many seconds for what happens next.
    #[arg(long, value_name = "S")]
    wait: Option<u64>,
    #[command(flatten)]
    pub(crate) form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let machine = machine("abort")?;
    let crash_id = the_crash(&machine, args.crash.as_deref())?;
    call(&machine, "abort", arguments(args, &crash_id), args.form)
}

pub(crate) fn arguments(args: &Args, crash_id: &str) -> Arguments {
    Arguments::default()
        .with("crash_id", crash_id)
        .with_some("reason", args.reason.clone())
        .with_some("wait_s", args.wait)
}
