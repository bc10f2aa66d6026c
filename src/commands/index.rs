//! `healmcp index`: reads the whole project, so that later questions are answered at once.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

use repo_index::{Index, Root};
use serde_json::json as value;

use super::verbs::{Form, machine};
use crate::commands::cache::human;
use crate::error::{Error, Result};
use crate::render::Done;

/// Read the whole project, and keep what its files say in .healmcp/index; `healmcp serve` does so by itself.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The project's folder [default: the one of the current folder].
    folder: Option<PathBuf>,
    /// Only say what is kept; read nothing.
    #[arg(long)]
    stats: bool,
    #[command(flatten)]
    pub(crate) form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let root = match &args.folder {
        Some(folder) => folder.clone(),
        None => machine("index")?.project,
    };
    let n_threads = std::thread::available_parallelism().map_or(1, usize::from);
    let folder = root.join(".healmcp/index");
    let index = Index::open_in(vec![Root::project(&root, "project")], n_threads, folder.clone())
        .map_err(|error| Error::usage(error.to_string(), "give a folder that exists"))?;
    let start = Instant::now();
    let n_parsed = if args.stats {
        None
    } else {
        Some(build(&index, n_threads, &folder)?)
    };
    let seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let (n_kept, n_files) = index.coverage();
    let sweep = start.elapsed().as_secs_f64();
    let n_bytes = super::cache::size_of(&folder);
    if args.form.json {
        return Ok(Done::ok(format!(
            "{:#}",
            value!({
                "root": root.display().to_string(),
                "files": n_files,
                "kept": n_kept,
                "parsed": n_parsed,
                "bytes": n_bytes,
                "build_s": n_parsed.map(|_| seconds),
                "sweep_s": sweep,
            })
        )));
    }
    let parsed = n_parsed.map_or_else(String::new, |n| {
        format!(", {n} of them read anew in {seconds:.1} s")
    });
    Ok(Done::ok(format!(
        "{n_kept} of {n_files} files of {} are in the index{parsed}\n{} in {}; looking for changes takes {:.0} ms",
        root.display(),
        human(n_bytes),
        folder.display(),
        sweep * 1000.0
    )))
}

fn build(index: &Index, n_threads: usize, folder: &std::path::Path) -> Result<usize> {
    let is_watched = std::io::stderr().is_terminal();
    let built = std::thread::scope(|scope| {
        let building = scope.spawn(|| index.build(n_threads, &|| false));
        while !building.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(20));
            let (n_done, n_all) = index.progress().get();
            if is_watched {
                // Progress is for people who watch; nobody may be watching.
                let _ = write!(std::io::stderr(), "\r{n_done} of {n_all} files");
            }
        }
        building.join()
    });
    let built = built.map_err(|_| {
        Error::failed(
            "the index could not be built",
            "run it again; if it fails again, please report it",
        )
    })?;
    if !built.is_whole || built.n_bytes == 0 {
        return Err(Error::failed(
            format!("the index cannot be kept in {}", folder.display()),
            "make the folder writable; searches work without it, only slower",
        ));
    }
    Ok(built.n_parsed)
}
