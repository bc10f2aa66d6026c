//! Runs the program of a row under `healmcp run`: once with every pause let go, once with the named ones skipped.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use protocol::{CrashStatus, CrashSummary, Location, Reply, Request};
use tools::ToolError;

use super::healing::{abort, apply, skip};
use super::pause::{End, Outcome, Row, Seen, Skip, Stop, own_name};
use super::place::{Launch, Place, attend};
use super::running::Running;
use crate::client::{Client, unexpected};
use crate::error::Result;

/// What all runs share.
#[derive(Debug)]
pub(crate) struct PauseBench {
    /// This program.
    pub(crate) executable: PathBuf,
    /// The interpreter.
    pub(crate) python: PathBuf,
    /// Its version.
    pub(crate) version: (u32, u32),
    /// The user.
    pub(crate) uid: u32,
    /// The programs that run now.
    pub(crate) running: Running,
}

/// A program that runs longer hangs.
const HANG: Duration = Duration::from_secs(30);

const MAIN: &str = "main.py";

/// Runs a row and judges it; whatever goes wrong is part of the outcome.
pub(crate) fn run_row(bench: &PauseBench, row: &Row) -> Outcome {
    let seen = watch(bench, row, None);
    if let Some(note) = row.apart(bench.version) {
        return Outcome::Apart {
            id: row.id.clone(),
            note: note.to_owned(),
            got: seen.to_string(),
        };
    }
    Outcome::Judged {
        decision: row.judge_decision(&seen),
        resume: row
            .skip()
            .map(|skip| row.judge_resume(&skip, &watch(bench, row, Some(skip)))),
    }
}

fn watch(bench: &PauseBench, row: &Row, skip: Option<Skip<'_>>) -> Seen {
    attempt(bench, row, skip).unwrap_or_else(|error| Seen {
        notes: vec![error.to_string()],
        ..Seen::default()
    })
}

fn attempt(bench: &PauseBench, row: &Row, skip: Option<Skip<'_>>) -> Result<Seen> {
    let place = Place::make(bench.uid)?;
    place.write(MAIN, row.code.as_bytes())?;
    let child = place.start(&Launch {
        executable: &bench.executable,
        python: &bench.python,
        script: MAIN,
        include: &[],
    })?;
    let mut healer = Healer {
        client: Client::new(place.sockets(), bench.uid, "healmcp bench"),
        code: &row.code,
        n_left: skip.map_or(0, |skip| skip.pauses),
        skip,
        seen: Seen::default(),
    };
    let status = attend(child, &bench.running, HANG, || healer.look())?;
    let stdout = String::from_utf8_lossy(&place.read("stdout")?).into_owned();
    let rc = status.and_then(|status| {
        let signal = status.signal().map(|signal| -signal);
        status.code().or(signal)
    });
    Ok(Seen {
        end: rc.map(|rc| End { rc, stdout }),
        ..healer.seen
    })
}

/// Follows one program with all its processes.
struct Healer<'a> {
    client: Client,
    code: &'a str,
    skip: Option<Skip<'a>>,
    n_left: usize,
    seen: Seen,
}

impl Healer<'_> {
    fn look(&mut self) {
        // Until its first pause a program has no socket; while it ends, none that answers.
        let mut crashes = self.client.crashes().unwrap_or_default();
        crashes.retain(|crash| crash.status == CrashStatus::Paused);
        crashes.sort_by_key(|crash| crash.paused_at);
        for crash in &crashes {
            self.seen.stops.push(stop(self.code, &crash.location));
            if let Err(error) = self.answer(crash) {
                self.seen.notes.push(error.to_string());
            }
        }
    }

    fn answer(&mut self, crash: &CrashSummary) -> Result<(), ToolError> {
        let let_go = || abort(&self.client, &crash.crash_id, "this pause is let go");
        let Some(skipped) = self.skip.filter(|_| self.n_left > 0) else {
            return let_go();
        };
        // A pause without that frame is an earlier one, at what the program would have gone on from.
        let Some(frame) = self.frame_of(&crash.crash_id, skipped.frame)? else {
            return let_go();
        };
        self.n_left -= 1;
        let applied = apply(&self.client, &crash.crash_id, skip(frame));
        applied.or_else(|error| let_go().and(Err(error)))
    }

    /// Finds the innermost frame of a function.
    fn frame_of(&self, crash_id: &str, function: &str) -> Result<Option<usize>, ToolError> {
        let asked = Request::Describe {
            crash_id: crash_id.to_owned(),
            max_frames: 1,
        };
        let report = match self.client.ask_crash(crash_id, asked)? {
            Reply::Crash(report) => report,
            other => return Err(unexpected(&other)),
        };
        let is_named = |name: &str| own_name(name) == own_name(function);
        let mut frames = report.frames.iter();
        let found = frames.find(|frame| frame.in_scope && is_named(&frame.location.function));
        Ok(found.map(|frame| frame.index))
    }
}

/// The program's own lines are known; a line of another file is read.
fn stop(code: &str, location: &Location) -> Stop {
    let file = Path::new(&location.file);
    let line = |text: &str| {
        let index = usize::try_from(location.line).ok()?.checked_sub(1)?;
        text.lines().nth(index).map(str::to_owned)
    };
    let text = if file.file_name().is_some_and(|name| name == MAIN) {
        line(code)
    } else {
        fs::read_to_string(file).ok().and_then(|text| line(&text))
    };
    Stop {
        function: location.function.clone(),
        text: text.unwrap_or_else(|| format!("line {} of {}", location.line, location.file)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_has_the_text_of_its_line() {
        let check = |file: &str, line: u32, expect: &str| {
            let location = Location {
                file: file.to_owned(),
                line,
                function: "C.f".to_owned(),
            };
            assert_eq!(stop("a = 1\n  b = 2\n", &location).to_string(), expect);
        };
        check("/x/main.py", 2, "C.f:b = 2");
        check("/x/main.py", 9, "C.f:line 9 of /x/main.py");
        check("/no/such/file.py", 1, "C.f:line 1 of /no/such/file.py");
    }
}
