//! `healmcp frame`: the variables of one frame, or the inside of one value.

use super::verbs::{Arguments, Form, call, machine, the_crash};
use crate::error::Result;
use crate::render::Done;

/// Show the variables of one frame of a crash, or the inside of one value.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The crash; may be left out when only one program is paused.
    crash: Option<String>,
    /// The frame's number as `healmcp show` gives it; 0 crashed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    frame: usize,
    /// Look into this value, such as `order.lines[3]`.
    #[arg(long, value_name = "PATH")]
    path: Option<String>,
    /// Show only this name; may be repeated.
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Show from this item on.
    #[arg(long, value_name = "N")]
    start: Option<usize>,
    /// Show so many items.
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    /// Show nested values so deep.
    #[arg(long, value_name = "N")]
    depth: Option<usize>,
    /// At most so many characters.
    #[arg(long, value_name = "N")]
    max_chars: Option<usize>,
    #[command(flatten)]
    pub(crate) form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let machine = machine("frame")?;
    let crash_id = the_crash(&machine, args.crash.as_deref())?;
    call(&machine, "get_frame", arguments(args, &crash_id), args.form)
}

pub(crate) fn arguments(args: &Args, crash_id: &str) -> Arguments {
    Arguments::default()
        .with("crash_id", crash_id)
        .with("frame", args.frame)
        .with_some("path", args.path.clone())
        .with_some("names", (!args.name.is_empty()).then(|| args.name.clone()))
        .with_some("start", args.start)
        .with_some("count", args.count)
        .with_some("depth", args.depth)
        .with_some("max_chars", args.max_chars)
}
