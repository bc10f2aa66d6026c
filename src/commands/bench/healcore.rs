//! `healmcp bench healcore`: heals that must be accepted and come out as in CPython, and heals that must be stopped.

use std::io::Write;
use std::path::PathBuf;

use super::engine;
use crate::bench;
use crate::error::Result;
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
    pub(super) json: bool,
}

pub(super) fn run(args: &Args) -> Result<Done> {
    let heals = bench::read_heals(&args.folder)?;
    let engine = engine(args.python.as_deref())?;
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
