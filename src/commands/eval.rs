//! `healmcp eval`: the value of an expression in a frame.

use super::verbs::{Arguments, Form, call, machine, the_crash};
use crate::error::Result;
use crate::render::Done;

/// Evaluate a HealCore expression in a frame of a crash; nothing is changed.
#[derive(clap::Args, Debug)]
#[command(override_usage = "healmcp eval [OPTIONS] [CRASH] EXPRESSION")]
pub(crate) struct Args {
    /// The crash, which may be left out when only one program is paused, and the expression.
    #[arg(required = true, num_args = 1..=2, value_name = "EXPRESSION")]
    words: Vec<String>,
    /// The frame's number as `healmcp show` gives it; 0 crashed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    frame: usize,
    /// Show the value by the program's own `__repr__`, which runs its code.
    #[arg(long)]
    own_repr: bool,
    /// At most so many characters.
    #[arg(long, value_name = "N")]
    max_chars: Option<usize>,
    #[command(flatten)]
    pub(crate) form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let machine = machine("eval")?;
    let named = args.words.first().filter(|_| args.words.len() > 1);
    let crash_id = the_crash(&machine, named.map(String::as_str))?;
    call(&machine, "evaluate", arguments(args, &crash_id), args.form)
}

pub(crate) fn arguments(args: &Args, crash_id: &str) -> Arguments {
    Arguments::default()
        .with("crash_id", crash_id)
        .with("frame", args.frame)
        .with_some("expression", args.words.last().cloned())
        .with_some("own_repr", args.own_repr.then_some(true))
        .with_some("max_chars", args.max_chars)
}
