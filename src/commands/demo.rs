//! `healmcp demo`: what all this is for, in a minute.

use std::path::PathBuf;

use super::doctor::found_here;
use super::run::search_path;
use crate::demo;
use crate::error::{Error, Result};
use crate::folders::Places;
use crate::launch;
use crate::render::Done;

/// Watch a job crash and be healed; everything happens in a temporary folder.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Use this interpreter [default: the first one found that is new enough].
    #[arg(long, value_name = "PYTHON")]
    python: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let places = Places::of_this_process();
    let cache = places.cache()?;
    let candidates = match &args.python {
        Some(named) => vec![launch::find_file(named.as_os_str(), &search_path())?],
        None => found_here(),
    };
    let mut refusal = Error::usage(
        "no Python was found on PATH",
        "name one: `healmcp demo --python PATH/TO/python3.12`",
    );
    let mut python = None;
    for file in candidates {
        match launch::probe(&file, &cache).and_then(|found| found.refuse(&file).map(|()| found)) {
            Ok(found) => {
                // Where the file is a shim, the interpreter itself.
                python = Some(PathBuf::from(found.executable));
                break;
            }
            Err(error) => refusal = error,
        }
    }
    let python = python.ok_or(refusal)?;
    let executable = std::env::current_exe().map_err(|error| {
        Error::failed(
            format!("cannot find this program: {error}"),
            "install healmcp again",
        )
    })?;
    demo::tell(&executable, &python, places.uid)?;
    Ok(Done::default())
}
