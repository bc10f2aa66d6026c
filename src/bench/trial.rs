//! Runs one instance: the program under `healmcp run`, and beside it a healer that follows its plan.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use protocol::{CrashStatus, HealProposal, Reply, Request, ResumeAction, VerdictKind};
use tempfile::TempDir;
use tools::ToolError;

use super::environment::{Interpreters, prepare};
use super::instance::{Instance, Plan};
use super::running::{Running, end_group};
use super::score::Score;
use crate::client::{Client, unexpected};
use crate::error::{Error, Result};
use crate::folders::{cannot, make_private};

/// What all trials share.
#[derive(Debug)]
pub(crate) struct Bench {
    /// This program.
    pub(crate) executable: PathBuf,
    /// Where environments are kept.
    pub(crate) cache: PathBuf,
    /// Whence environments are made.
    pub(crate) interpreters: Interpreters,
    /// The user.
    pub(crate) uid: u32,
    /// The programs that run now.
    pub(crate) running: Running,
    /// Which heals are applied.
    pub(crate) plan: Plan,
}

/// A program that runs longer hangs.
const HANG: Duration = Duration::from_secs(120);

/// How often the healer looks at the program.
const POLL: Duration = Duration::from_millis(15);

/// Runs one instance; whatever goes wrong is part of its score.
pub(crate) fn run(bench: &Bench, instance: &Instance) -> Score {
    attempt(bench, instance).unwrap_or_else(|error| Score {
        id: instance.id.clone(),
        paused: false,
        proceeded: false,
        correct: false,
        seconds: 0.0,
        why: error.to_string(),
    })
}

fn attempt(bench: &Bench, instance: &Instance) -> Result<Score> {
    let python = prepare(instance, &bench.cache, &bench.interpreters)?;
    let expected = instance.folder.join("expected.txt");
    let expected = fs::read(&expected).map_err(|error| cannot("read", &expected, &error))?;
    let place = Place::make(instance, bench.uid)?;

    let started = Instant::now();
    let mut child = place.start(bench, instance, &python)?;
    let mut healer = Healer {
        client: Client::new(place.sockets(), bench.uid, "healmcp bench"),
        plan: &bench.plan,
        heals: match &bench.plan {
            Plan::Written(heals) => heals.get(&instance.id).map_or(&[], Vec::as_slice),
            Plan::None | Plan::Skip => &[],
        },
        n_used: 0,
        n_pauses: 0,
        gave_up: false,
        notes: Vec::new(),
    };
    bench.running.started(child.id());
    let status = healer.attend(&mut child, started);
    bench.running.ended(child.id());
    let status = status?;
    let seconds = started.elapsed().as_secs_f64();

    let stdout = place.read("stdout")?;
    let stderr = String::from_utf8_lossy(&place.read("stderr")?).into_owned();
    let correct = stdout == expected;
    let mut why = healer.notes;
    if healer.n_pauses == 0 {
        why.insert(0, "it never paused".to_owned());
    }
    if !correct {
        why.push(ending(status, &stderr));
        why.push(difference(&expected, &stdout));
    }
    let n_unused = healer.heals.len() - healer.n_used;
    if n_unused > 0 {
        why.push(format!("{n_unused} of {} heals not used", healer.heals.len()));
    }
    why.retain(|note| !note.is_empty());
    Ok(Score {
        id: instance.id.clone(),
        paused: healer.n_pauses > 0,
        proceeded: status.is_some_and(|status| status.success()) && !has_traceback(&stderr),
        correct,
        seconds,
        why: why.join("; "),
    })
}

/// A folder of its own for the program, with sockets that no other healer sees.
struct Place {
    folder: TempDir,
    runtime_dir: TempDir,
}

impl Place {
    fn make(instance: &Instance, uid: u32) -> Result<Self> {
        let temporary = |name: &str| {
            let made = tempfile::Builder::new().prefix(name).tempdir();
            made.map_err(|error| cannot("make a folder in", &std::env::temp_dir(), &error))
        };
        let place = Self {
            folder: temporary("healmcp-bench-")?,
            runtime_dir: temporary("healmcp-")?,
        };
        make_private(&place.sockets(), uid)?;
        let driver = place.folder.path().join("driver.py");
        fs::copy(instance.folder.join("driver.py"), &driver)
            .map_err(|error| cannot("copy the driver to", &driver, &error))?;
        Ok(place)
    }

    fn sockets(&self) -> PathBuf {
        self.runtime_dir.path().join("healmcp")
    }

    /// The output goes to files outside the program's folder: a pipe that nobody reads would stop the program.
    fn output(&self, name: &str) -> PathBuf {
        self.runtime_dir.path().join(name)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.output(name);
        fs::read(&path).map_err(|error| cannot("read", &path, &error))
    }

    fn start(&self, bench: &Bench, instance: &Instance, python: &Path) -> Result<Child> {
        let create = |name: &str| {
            let path = self.output(name);
            File::create(&path).map_err(|error| cannot("write", &path, &error))
        };
        let mut command = Command::new(&bench.executable);
        command.args(["run", "--timeout", "60"]);
        for name in &instance.import_names {
            command.args(["--include", name]);
        }
        command.arg("--").arg(python).arg("driver.py");
        for name in [
            "CI",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            protocol::SWITCH_VARIABLE,
            protocol::SETTINGS_VARIABLE,
        ] {
            command.env_remove(name);
        }
        command
            .current_dir(self.folder.path())
            .envs([
                ("PYTHONHASHSEED", "0"),
                ("TZ", "UTC"),
                ("COLUMNS", "80"),
                ("TERM", "dumb"),
            ])
            .env("XDG_RUNTIME_DIR", self.runtime_dir.path())
            .stdin(Stdio::null())
            .stdout(create("stdout")?)
            .stderr(create("stderr")?)
            .process_group(0)
            .spawn()
            .map_err(|error| cannot("start", &bench.executable, &error))
    }
}

/// Follows the plan for one program.
struct Healer<'a> {
    client: Client,
    plan: &'a Plan,
    heals: &'a [HealProposal],
    n_used: usize,
    n_pauses: usize,
    gave_up: bool,
    notes: Vec<String>,
}

impl Healer<'_> {
    /// Heals until the program ends; `None` when it had to be killed.
    fn attend(&mut self, child: &mut Child, started: Instant) -> Result<Option<ExitStatus>> {
        let lost = |error: io::Error| Error::failed(format!("the program was lost: {error}"), "run it again");
        let peer = self.client.peer(child.id());
        loop {
            if let Some(status) = child.try_wait().map_err(lost)? {
                return Ok(Some(status));
            }
            if started.elapsed() > HANG {
                end_group(child.id());
                child.wait().map_err(lost)?;
                let notes = format!("killed after {} s and {} pauses", HANG.as_secs(), self.n_pauses);
                self.notes.push(notes);
                return Ok(None);
            }
            // Until its first pause there is no socket; while it ends, none that answers.
            let crashes = self.client.crashes_of(&peer).unwrap_or_default();
            for crash in crashes.iter().filter(|crash| crash.status == CrashStatus::Paused) {
                self.n_pauses += 1;
                self.heal(&crash.crash_id);
            }
            thread::sleep(POLL);
        }
    }

    fn heal(&mut self, crash_id: &str) {
        let Some(proposal) = self.next_heal() else {
            if self.n_used > 0 && !self.gave_up {
                self.notes.push(format!("pause {} has no heal", self.n_pauses));
            }
            self.abort(crash_id, "no heal is planned for this pause");
            return;
        };
        if let Err(error) = self.apply(crash_id, proposal) {
            self.notes.push(format!("heal {}: {error}", self.n_used));
            self.abort(crash_id, "the planned heal cannot be applied");
        }
    }

    fn next_heal(&mut self) -> Option<HealProposal> {
        if self.gave_up {
            return None;
        }
        match self.plan {
            Plan::None => None,
            Plan::Skip => Some(HealProposal {
                frame: 0,
                code: String::new(),
                then: Some(ResumeAction::Next),
                value: None,
                line: None,
            }),
            Plan::Written(_) => {
                let heal = self.heals.get(self.n_used).cloned()?;
                self.n_used += 1;
                Some(heal)
            }
        }
    }

    fn apply(&self, crash_id: &str, proposal: HealProposal) -> Result<(), ToolError> {
        let crash_id = crash_id.to_owned();
        let asked = Request::Check {
            crash_id: crash_id.clone(),
            proposal,
        };
        let check = match self.client.ask_crash(&crash_id, asked)? {
            Reply::Checked(check) => check,
            other => return Err(unexpected(&other)),
        };
        let denied = || {
            let verdict = &check.verdict;
            let first = check.violations.first();
            let violation = first.map_or_else(String::new, |first| {
                format!(", line {}: {}", first.line, first.message)
            });
            let told = format!("{} {}{violation}", verdict.rule, verdict.reason);
            ToolError::input(told.trim_start(), "")
        };
        let heal_id = check
            .heal_id
            .clone()
            .filter(|_| check.verdict.verdict != VerdictKind::Deny);
        let resume = Request::Resume {
            crash_id: crash_id.clone(),
            heal_id: heal_id.ok_or_else(denied)?,
            wait_ms: 0,
        };
        self.client.ask_crash(&crash_id, resume)?;
        Ok(())
    }

    /// From here on the program runs as plain Python.
    fn abort(&mut self, crash_id: &str, reason: &str) {
        self.gave_up = true;
        let asked = Request::Abort {
            crash_id: crash_id.to_owned(),
            reason: reason.to_owned(),
            wait_ms: 0,
        };
        if let Err(error) = self.client.ask_crash(crash_id, asked) {
            self.notes.push(format!("abort: {error}"));
        }
    }
}

/// A traceback begins a line; the report of a healed run may quote the text of one.
fn has_traceback(stderr: &str) -> bool {
    stderr
        .lines()
        .any(|line| line.starts_with("Traceback (most recent call last)"))
}

fn ending(status: Option<ExitStatus>, stderr: &str) -> String {
    let Some(status) = status else {
        return String::new();
    };
    // What healmcp itself says begins with its name and goes on indented, as a traceback does.
    let is_last_word = |line: &&str| {
        !line.trim().is_empty() && !line.starts_with([' ', '\t']) && !line.starts_with("healmcp: ")
    };
    let last = stderr.lines().rfind(is_last_word).unwrap_or("");
    let last: String = last.chars().take(160).collect();
    match (status.code(), status.signal()) {
        (Some(0), _) => String::new(),
        (Some(code), _) => format!("exit code {code}: {last}"),
        (None, signal) => format!("ended by signal {}: {last}", signal.unwrap_or(0)),
    }
}

fn difference(expected: &[u8], found: &[u8]) -> String {
    let (expected, found) = (String::from_utf8_lossy(expected), String::from_utf8_lossy(found));
    let (mut expected, mut found) = (expected.lines(), found.lines());
    let mut line = 0;
    loop {
        line += 1;
        let shown = |text: Option<&str>| {
            text.map_or("nothing".to_owned(), |text| {
                format!("{:?}", text.chars().take(60).collect::<String>())
            })
        };
        match (expected.next(), found.next()) {
            (None, None) => return "line ends differ".to_owned(),
            (left, right) if left == right => {}
            (left, right) => {
                return format!(
                    "line {line} of the output is {}, expected {}",
                    shown(right),
                    shown(left)
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_is_the_program_s_own() {
        let check = |code: i32, stderr: &str, expect: &str| {
            assert_eq!(ending(Some(ExitStatus::from_raw(code)), stderr), expect);
        };
        let report = "healmcp: this run was healed once\n  KeyError at f\n  journal: /j\n";
        check(
            1 << 8,
            &format!("Traceback (most recent call last):\n  File\nKeyError: 'x'\n{report}"),
            "exit code 1: KeyError: 'x'",
        );
        check(9, report, "ended by signal 9: ");
        check(0, "anything", "");
    }

    #[test]
    fn a_traceback_that_is_quoted_is_none() {
        assert!(has_traceback("x\nTraceback (most recent call last):\n  File\n"));
        assert!(!has_traceback(
            "    changed: lines: ['Traceback (most recent call last):']\n"
        ));
    }

    #[test]
    fn the_first_difference_is_named() {
        let check = |found: &str, expect: &str| assert_eq!(difference(b"a\nb\n", found.as_bytes()), expect);
        check("a\nc\n", "line 2 of the output is \"c\", expected \"b\"");
        check("a\n", "line 2 of the output is nothing, expected \"b\"");
        check("a\nb\nc\n", "line 3 of the output is \"c\", expected nothing");
        check("a\nb", "line ends differ");
    }
}
