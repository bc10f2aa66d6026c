//! `healmcp read`: a symbol's source, or some lines of a file.

use super::verbs::{Arguments, Form, call, machine};
use crate::error::Result;
use crate::render::Done;

/// Read the source of a symbol, or lines of a file.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A qualified name such as `Cart.total`, or a file such as `shop/cart.py`.
    place: String,
    /// Lines of the file, such as `10-40`.
    #[arg(long)]
    lines: Option<String>,
    /// Look in the packages of this crash, too.
    #[arg(long)]
    crash: Option<String>,
    /// At most so many characters.
    #[arg(long, value_name = "N")]
    max_chars: Option<usize>,
    #[command(flatten)]
    form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    call(&machine("read")?, "read_code", arguments(args), args.form)
}

pub(crate) fn arguments(args: &Args) -> Arguments {
    let is_file = args.lines.is_some() || args.place.ends_with(".py") || args.place.contains('/');
    Arguments::default()
        .with(if is_file { "path" } else { "symbol" }, args.place.clone())
        .with_some("lines", args.lines.clone())
        .with_some("crash_id", args.crash.clone())
        .with_some("max_chars", args.max_chars)
}
