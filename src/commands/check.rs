//! `healmcp check`: may this heal run?

use std::path::PathBuf;

use super::verbs::{Arguments, Form, answer, machine, print_form, read_text, the_crash};
use crate::error::Result;
use crate::render::Done;

/// Check a heal on trial; everything it does is taken back. Exit code 0 when it is allowed, else 1.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The crash; may be left out when only one program is paused.
    crash: Option<String>,
    /// The file of the healing code, `-` for standard input.
    #[arg(long, value_name = "FILE")]
    code: Option<PathBuf>,
    /// The healing code itself.
    #[arg(
        short = 'e',
        long = "expression",
        value_name = "CODE",
        conflicts_with = "code"
    )]
    inline: Option<String>,
    /// Where to go on: next, retry, line, return, raise or raise-new.
    #[arg(long)]
    then: Option<String>,
    /// For `--then line`: the line.
    #[arg(long, value_name = "N")]
    line: Option<u32>,
    /// For `--then return`: a HealCore expression; for `--then raise-new`: the exception, as `KeyError('id')`.
    #[arg(long, value_name = "EXPR")]
    value: Option<String>,
    /// The frame whose names the code sees; 0 crashed.
    #[arg(long, value_name = "N", default_value_t = 0)]
    frame: usize,
    #[command(flatten)]
    pub(crate) form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let code = match (&args.code, &args.inline) {
        (Some(path), _) => read_text(path)?,
        (None, Some(inline)) => inline.clone(),
        (None, None) => String::new(),
    };
    let machine = machine("check")?;
    let crash_id = the_crash(&machine, args.crash.as_deref())?;
    let answer = answer(&machine, "check_heal", arguments(args, &crash_id, code))?;
    Ok(Done {
        text: print_form(&answer, args.form),
        code: u8::from(answer.json["verdict"] != "allow"),
    })
}

pub(crate) fn arguments(args: &Args, crash_id: &str, code: String) -> Arguments {
    Arguments::default()
        .with("crash_id", crash_id)
        .with("frame", args.frame)
        .with("code", code)
        .with_some("then", args.then.clone())
        .with_some("line", args.line)
        .with_some("value", args.value.clone())
}
