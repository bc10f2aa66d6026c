//! `healmcp bench crashes`: real crashes, planned heals, and how many programs come out right.

use std::collections::HashMap;
use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::run::search_path;
use crate::bench::{self, Bench, Interpreters, Running, Score};
use crate::error::{Error, Result};
use crate::folders::Places;
use crate::render::Done;

/// Measure healing on programs that really crash.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, clap::Subcommand)]
enum Kind {
    Crashes(CrashesArgs),
}

/// Run every crash of a folder with planned heals, and compare what it prints with the fixed release.
#[derive(clap::Args, Debug)]
pub(crate) struct CrashesArgs {
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
    json: bool,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let Kind::Crashes(args) = &args.kind;
    let mut instances = bench::read_all(&args.folder)?;
    if let Some(unknown) = args
        .only
        .iter()
        .find(|id| instances.iter().all(|instance| instance.id != **id))
    {
        return Err(Error::usage(
            format!("{} has no instance `{unknown}`", args.folder.display()),
            "instances are called as their folders",
        ));
    }
    instances.retain(|instance| args.only.is_empty() || args.only.contains(&instance.id));
    let places = Places::of_this_process();
    let bench = Bench {
        executable: std::env::current_exe().map_err(|error| {
            Error::failed(
                format!("cannot find this program: {error}"),
                "install healmcp again",
            )
        })?,
        cache: places.cache()?,
        interpreters: Interpreters {
            search: search_path(),
            home: places.home,
            told: args.python_dir.clone(),
            found: Mutex::new(HashMap::new()),
        },
        uid: places.uid,
        running: Running::default(),
        plan: bench::read_plan(&args.heals)?,
    };
    let jobs = args
        .jobs
        .or_else(|| thread::available_parallelism().ok())
        .map_or(1, NonZeroUsize::get);
    bench.running.ends_on_signals();
    let scores = run_all(&bench, &instances, jobs);
    Ok(Done::ok(if args.json {
        format!("{:#}", bench::json(&scores))
    } else {
        bench::table(&scores)
    }))
}

fn run_all(bench: &Bench, instances: &[bench::Instance], jobs: usize) -> Vec<Score> {
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Score)>> = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs.min(instances.len()) {
            scope.spawn(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(instance) = instances.get(place) else {
                        return;
                    };
                    let score = bench::run(bench, instance);
                    let mut done = done.lock().expect("no thread panics with the scores in hand");
                    done.push((place, score));
                    progress(done.len(), instances.len(), &done[done.len() - 1].1);
                }
            });
        }
    });
    let mut done = done
        .into_inner()
        .expect("no thread panics with the scores in hand");
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, score)| score).collect()
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
