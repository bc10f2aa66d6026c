//! `healmcp bench healcore`: heals that must be accepted and come out as in CPython, and heals that must be stopped.

use std::io::Write;
use std::path::PathBuf;

use super::super::run::extension;
use super::chosen_python;
use crate::bench::{self, Engine};
use crate::error::Result;
use crate::folders::Places;
use crate::launch;
use crate::render::Done;

/// Check every heal of a folder, and run those that only a run can judge in a real interpreter, beside CPython's own
/// `exec`, on states made from the names they read.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The folder with accept.jsonl and reject.jsonl.
    folder: PathBuf,
    /// The interpreter [default: the newest that is found].
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<Done> {
    let heals = bench::read_heals(&args.folder)?;
    let places = Places::of_this_process();
    let python = chosen_python(args.python.as_deref(), &places)?;
    let interpreter = launch::probe(&python, &places.cache()?)?;
    interpreter.refuse(&python)?;
    let engine = Engine {
        python,
        minor: u8::try_from(interpreter.version.1).unwrap_or(u8::MAX),
        extension: extension()?,
    };
    let report = bench::measure(&heals, &engine, |id| {
        // Progress is for people who watch; nobody may be watching.
        let _ = writeln!(std::io::stderr(), "{id}");
    })?;
    Ok(Done::ok(if args.json {
        format!("{:#}", bench::healcore_json(&report))
    } else {
        bench::healcore_text(&report)
    }))
}
