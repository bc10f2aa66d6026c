//! `healmcp show`: everything about one crash.

use super::verbs::{Arguments, Form, call, machine, the_crash};
use crate::error::Result;
use crate::render::Done;

/// Show a crash: the exception, the frames, what can be done.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The crash; may be left out when only one program is paused.
    crash: Option<String>,
    /// Show so many frames with their variables.
    #[arg(long, value_name = "N")]
    frames: Option<usize>,
    /// At most so many characters.
    #[arg(long, value_name = "N")]
    max_chars: Option<usize>,
    #[command(flatten)]
    pub(crate) form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let machine = machine("show")?;
    let crash_id = the_crash(&machine, args.crash.as_deref())?;
    call(&machine, "get_crash", arguments(args, &crash_id), args.form)
}

pub(crate) fn arguments(args: &Args, crash_id: &str) -> Arguments {
    Arguments::default()
        .with("crash_id", crash_id)
        .with_some("frames", args.frames)
        .with_some("max_chars", args.max_chars)
}
