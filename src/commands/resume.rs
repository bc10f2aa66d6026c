//! `healmcp resume`: apply a checked heal and go on.

use super::verbs::{Arguments, Form, call, machine, the_crash};
use crate::error::Result;
use crate::render::Done;

/// Apply a heal that `healmcp check` allowed; the program goes on.
#[derive(clap::Args, Debug)]
#[command(override_usage = "healmcp resume [OPTIONS] [CRASH] HEAL")]
pub(crate) struct Args {
    /// The crash, which may be left out when only one program is paused, and the id that `healmcp check` gave.
    #[arg(required = true, num_args = 1..=2, value_name = "HEAL")]
    words: Vec<String>,
    /// Wait up to so many seconds for what happens next.
    #[arg(long, value_name = "S")]
    wait: Option<u64>,
    #[command(flatten)]
    pub(crate) form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let machine = machine("resume")?;
    let named = args.words.first().filter(|_| args.words.len() > 1);
    let crash_id = the_crash(&machine, named.map(String::as_str))?;
    call(&machine, "resume", arguments(args, &crash_id), args.form)
}

pub(crate) fn arguments(args: &Args, crash_id: &str) -> Arguments {
    Arguments::default()
        .with("crash_id", crash_id)
        .with_some("heal_id", args.words.last().cloned())
        .with_some("wait_s", args.wait)
}
