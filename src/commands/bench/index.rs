//! `healmcp bench index`: how well the index says what calls reach.

use std::path::PathBuf;

use crate::bench;
use crate::error::{Error, Result};
use crate::render::Done;

/// Ask the index what each call of a file reaches, and compare with what it reached while the package's tests ran.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The file of the call sites, one JSON object a line.
    file: PathBuf,
    /// The folder that their paths are relative to.
    #[arg(long, value_name = "DIR")]
    root: PathBuf,
    /// Write what was answered wrongly to this file.
    #[arg(long, value_name = "FILE")]
    misses: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &Args) -> Result<Done> {
    let sites = bench::read_sites(&args.file)?;
    let report = bench::measure_index(&sites, &args.root)?;
    if let Some(file) = &args.misses {
        let text = report.misses.join("\n");
        std::fs::write(file, text).map_err(|error| {
            Error::failed(
                format!("cannot write {}: {error}", file.display()),
                "name a file in a folder that can be written",
            )
        })?;
    }
    Ok(Done::ok(if args.json {
        format!("{:#}", bench::index_json(&report))
    } else {
        bench::index_text(&report)
    }))
}
