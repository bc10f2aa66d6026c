//! Runs one instance: the program under `healmcp run`, and beside it a healer that follows its plan.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use protocol::{CrashStatus, HealProposal};

use super::environment::{Interpreters, prepare};
use super::healing::{abort, apply, skip};
use super::instance::{Instance, Plan};
use super::place::{Launch, Place, attend};
use super::running::Running;
use super::score::Score;
use crate::client::{Client, Peer};
use crate::error::Result;
use crate::folders::cannot;

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
    let read = |name: &str| {
        let path = instance.folder.join(name);
        fs::read(&path).map_err(|error| cannot("read", &path, &error))
    };
    let expected = read("expected.txt")?;
    let place = Place::make(bench.uid)?;
    place.write("driver.py", &read("driver.py")?)?;

    let started = Instant::now();
    let child = place.start(&Launch {
        executable: &bench.executable,
        python: &python,
        script: "driver.py",
        include: &instance.import_names,
    })?;
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
    let peer = healer.client.peer(child.id());
    let status = attend(child, &bench.running, HANG, || healer.look(&peer))?;
    let seconds = started.elapsed().as_secs_f64();
    if status.is_none() {
        let told = format!("killed after {} s and {} pauses", HANG.as_secs(), healer.n_pauses);
        healer.notes.push(told);
    }

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
    fn look(&mut self, peer: &Peer) {
        // Until its first pause there is no socket; while it ends, none that answers.
        let crashes = self.client.crashes_of(peer).unwrap_or_default();
        for crash in crashes.iter().filter(|crash| crash.status == CrashStatus::Paused) {
            self.n_pauses += 1;
            self.heal(&crash.crash_id);
        }
    }

    fn heal(&mut self, crash_id: &str) {
        let Some(proposal) = self.next_heal() else {
            if self.n_used > 0 && !self.gave_up {
                self.notes.push(format!("pause {} has no heal", self.n_pauses));
            }
            self.let_go(crash_id, "no heal is planned for this pause");
            return;
        };
        if let Err(error) = apply(&self.client, crash_id, proposal) {
            self.notes.push(format!("heal {}: {error}", self.n_used));
            self.let_go(crash_id, "the planned heal cannot be applied");
        }
    }

    fn next_heal(&mut self) -> Option<HealProposal> {
        if self.gave_up {
            return None;
        }
        match self.plan {
            Plan::None => None,
            Plan::Skip => Some(skip(0)),
            Plan::Written(_) => {
                let heal = self.heals.get(self.n_used).cloned()?;
                self.n_used += 1;
                Some(heal)
            }
        }
    }

    /// From here on the program runs as plain Python.
    fn let_go(&mut self, crash_id: &str, reason: &str) {
        self.gave_up = true;
        if let Err(error) = abort(&self.client, crash_id, reason) {
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
