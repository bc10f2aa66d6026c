//! `healmcp report`: a journal as a page.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::folders::cannot;
use crate::launch::find_root;
use crate::render::Done;
use crate::report::markdown;

/// Tell what was healed, what was changed, and what to mend in the source.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A journal; the project's newest one when left out.
    journal: Option<PathBuf>,
    /// Write the page to a file.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let journal = match &args.journal {
        Some(journal) => journal.clone(),
        None => newest()?,
    };
    let lines = std::fs::read(&journal).map_err(|error| cannot("read", &journal, &error))?;
    let page = markdown(&String::from_utf8_lossy(&lines));
    match &args.output {
        None => Ok(Done::ok(page)),
        Some(output) => {
            std::fs::write(output, page).map_err(|error| cannot("write", output, &error))?;
            Ok(Done::ok(format!("wrote {}", output.display())))
        }
    }
}

/// The newest journal of the project around the current folder.
fn newest() -> Result<PathBuf> {
    let current = std::env::current_dir().map_err(|error| cannot("read", Path::new("."), &error))?;
    let folder = find_root(&current).join(".healmcp");
    let journals = std::fs::read_dir(&folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let journals = journals.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    // A journal's name begins with the time at which its run started.
    journals.max().ok_or_else(|| {
        Error::usage(
            format!("there is no journal in {}", folder.display()),
            "a run that was paused writes one; its block on stderr names the file",
        )
    })
}
