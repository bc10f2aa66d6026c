//! `healmcp read`: a symbol's source, or some lines of a file.

use super::verbs::{Arguments, Form, call, machine};
use crate::error::Result;
use crate::render::Done;

/// Read the source of a symbol, or lines of a file.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A qualified name such as `Cart.total`, or a file such as `shop/cart.py`.
    place: String,
    /// For a symbol: the file to look for it in.
    #[arg(long)]
    path: Option<String>,
    /// The first line of the file.
    #[arg(long, value_name = "N")]
    start_line: Option<u32>,
    /// The last line of the file.
    #[arg(long, value_name = "N")]
    end_line: Option<u32>,
    /// Look in the packages of this crash, too.
    #[arg(long)]
    crash: Option<String>,
    /// Go on where the previous answer ended.
    #[arg(long)]
    cursor: Option<String>,
    /// At most so many characters.
    #[arg(long, value_name = "N")]
    max_chars: Option<usize>,
    #[command(flatten)]
    pub(crate) form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    call(&machine("read")?, "read_code", arguments(args), args.form)
}

pub(crate) fn arguments(args: &Args) -> Arguments {
    let place = args.place.clone();
    let is_file = args.path.is_none() && (place.contains('/') || place.ends_with(".py"));
    Arguments::default()
        .with(if is_file { "path" } else { "symbol" }, place)
        .with_some("path", args.path.clone())
        .with_some("start_line", args.start_line)
        .with_some("end_line", args.end_line)
        .with_some("crash_id", args.crash.clone())
        .with_some("cursor", args.cursor.clone())
        .with_some("max_chars", args.max_chars)
}
