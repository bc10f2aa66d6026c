//! `healmcp bench crashes`: real crashes, planned heals, and how many programs come out right.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::{interpreters, keep_only, this_program};
use crate::bench::{self, Bench, Running, Score};
use crate::error::Result;
use crate::folders::Places;
use crate::render::Done;

/// Run every crash of a folder with planned heals, and compare what it prints with the fixed release.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The folder of the instances.
    folder: PathBuf,
    /// A file with heals by instance, `none` (never heal) or `skip` (always skip the statement).
    #[arg(long, value_name = "FILE|none|skip")]
    heals: String,
    /// Run only this instance; may be repeated.
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Run so many at once [default: one a core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Look for interpreters here, too, when PATH and pyenv have none of the version.
    #[arg(long, value_name = "DIR")]
    python_dir: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &Args) -> Result<Done> {
    let instances = keep_only(
        bench::read_all(&args.folder)?,
        &args.only,
        &args.folder,
        |instance| &instance.id,
    )?;
    let places = Places::of_this_process();
    let bench = Bench {
        executable: this_program()?,
        cache: places.cache()?,
        interpreters: interpreters(&places, args.python_dir.clone()),
        uid: places.uid,
        running: Running::default(),
        plan: bench::read_plan(&args.heals)?,
    };
    bench.running.ends_on_signals();
    let scores = bench::in_parallel(
        &instances,
        args.jobs,
        |instance| bench::run(&bench, instance),
        |n_done, score| progress(n_done, instances.len(), score),
    );
    Ok(Done::ok(if args.json {
        format!("{:#}", bench::json(&scores))
    } else {
        bench::table(&scores)
    }))
}

fn progress(n_done: usize, n_all: usize, score: &Score) {
    let word = match score {
        Score { correct: true, .. } => "correct",
        Score { proceeded: true, .. } => "proceeded",
        Score { paused: true, .. } => "paused",
        Score { .. } => "not paused",
    };
    let line = format!(
        "[{n_done}/{n_all}] {}: {word} ({:.1} s) {}",
        score.id, score.seconds, score.why
    );
    // Progress is for people who watch; nobody may be watching.
    let _ = writeln!(std::io::stderr(), "{}", line.trim_end());
}
