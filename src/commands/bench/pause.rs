//! `healmcp bench pause`: programs whose exceptions are handled or not, and whether each pauses where it should.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use super::{chosen_python, keep_only, this_program};
use crate::bench::{self, Outcome, PauseBench, Running};
use crate::error::Result;
use crate::folders::Places;
use crate::launch;
use crate::render::Done;

/// Run every program of a file, and compare where it pauses, and what it does when the failing statement is skipped,
/// with what is expected of it.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The file of the programs, one JSON object a line.
    file: PathBuf,
    /// The interpreter [default: the newest that is found].
    #[arg(long, value_name = "FILE")]
    python: Option<PathBuf>,
    /// Run only this program; may be repeated.
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Run so many at once [default: one a core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &Args) -> Result<Done> {
    let rows = keep_only(bench::read_rows(&args.file)?, &args.only, &args.file, |row| {
        &row.id
    })?;
    let places = Places::of_this_process();
    let python = chosen_python(args.python.as_deref(), &places)?;
    let interpreter = launch::probe(&python, &places.cache()?)?;
    interpreter.refuse(&python)?;
    let bench = PauseBench {
        executable: this_program()?,
        python,
        version: (interpreter.version.0, interpreter.version.1),
        uid: places.uid,
        running: Running::default(),
    };
    bench.running.ends_on_signals();
    let outcomes = bench::in_parallel(
        &rows,
        args.jobs,
        |row| (row.id.as_str(), bench::run_row(&bench, row)),
        |n_done, (id, outcome)| {
            // Progress is for people who watch; nobody may be watching.
            let _ = writeln!(
                std::io::stderr(),
                "[{n_done}/{}] {id}: {}",
                rows.len(),
                word(outcome)
            );
        },
    );
    let outcomes: Vec<Outcome> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    Ok(Done::ok(if args.json {
        format!("{:#}", bench::pause_json(&outcomes))
    } else {
        bench::pause_text(&outcomes)
    }))
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Apart { .. } => "apart",
        Outcome::Judged {
            decision: Some(_), ..
        } => "wrong decision",
        Outcome::Judged {
            resume: Some(Some(_)),
            ..
        } => "wrong after the resume",
        Outcome::Judged { .. } => "right",
    }
}
