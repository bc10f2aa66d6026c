//! `healmcp bench heal-speed`: how long the check of a heal takes, and its run beside CPython's own.

use std::path::PathBuf;

use super::engine;
use crate::bench;
use crate::error::Result;
use crate::render::Done;

/// Time the check of every heal of a folder, and the run of those that must be accepted beside CPython's own `exec`, on
/// the same states and in turns.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The folder with accept.jsonl and reject.jsonl.
    folder: PathBuf,
    /// The interpreter [default: the newest that is found].
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// How often each heal is timed; the fastest time counts.
    #[arg(long, value_name = "N", default_value_t = 100)]
    rounds: u32,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &Args) -> Result<Done> {
    let heals = bench::read_heals(&args.folder)?;
    let engine = engine(args.python.as_deref())?;
    let speed = bench::measure_speed(&heals, &engine, args.rounds)?;
    Ok(Done::ok(if args.json {
        format!("{:#}", bench::speed_json(&speed))
    } else {
        bench::speed_text(&speed)
    }))
}
