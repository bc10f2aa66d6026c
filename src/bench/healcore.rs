//! The benchmark of HealCore: which heals the checker accepts and how fast, and whether those that run in a real
//! interpreter come out as CPython's own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use healcore::{Options, PythonMinor, check};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::folders::cannot;

/// What runs in the interpreter, and what it shares with the tests of the runtime.
pub(super) const SCRIPTS: [(&str, &str); 2] = [
    ("healcore.py", include_str!("healcore.py")),
    (
        "interpret_differential.py",
        include_str!("../../tests/python/interpret_differential.py"),
    ),
];

/// The fastest of so many checks counts: what else the machine does is no part of it.
const N_TIMES: usize = 5;

/// One heal.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Heal {
    pub(super) id: String,
    pub(super) code: String,
    #[serde(default)]
    phase: Phase,
}

/// When a heal that is no good is stopped.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Phase {
    #[default]
    Static,
    Runtime,
}

/// The heals of a folder.
#[derive(Clone, Debug)]
pub(crate) struct Heals {
    pub(super) accept: Vec<Heal>,
    pub(super) reject: Vec<Heal>,
}

/// What runs heals.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    /// The interpreter.
    pub(crate) python: PathBuf,
    /// Its minor version.
    pub(crate) minor: u8,
    /// The extension.
    pub(crate) extension: PathBuf,
}

/// What the checker says of one heal.
#[derive(Clone, Debug)]
struct Checked {
    is_accepted: bool,
    took: Duration,
    violations: String,
}

/// A heal to run, as the script reads it.
#[derive(Clone, Debug, Serialize)]
struct Case<'a> {
    kind: &'static str,
    id: &'a str,
    code: &'a str,
}

impl<'a> Case<'a> {
    fn of(kind: &'static str, heal: &'a Heal) -> Self {
        Self {
            kind,
            id: &heal.id,
            code: &heal.code,
        }
    }
}

/// What the script says of a heal.
#[derive(Clone, Debug, Deserialize)]
struct Answer {
    id: String,
    faults: Vec<String>,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Report {
    n_accept: usize,
    n_accepted: usize,
    /// Heals that the checker refuses, or that end otherwise than in CPython, with why.
    different: BTreeMap<String, String>,
    n_reject: usize,
    /// Heals that nothing stopped, with what they did.
    missed: BTreeMap<String, String>,
    /// Microseconds for each check, sorted.
    checks: Vec<f64>,
}

/// Reads `accept.jsonl` and `reject.jsonl` of a folder.
pub(crate) fn read_heals(folder: &Path) -> Result<Heals> {
    let read = |name: &str| {
        let path = folder.join(name);
        let wrong = |why: String| {
            Error::usage(
                format!("the heals of {} cannot be read: {why}", path.display()),
                "name a folder with accept.jsonl and reject.jsonl, whose lines are JSON objects with id and code",
            )
        };
        let text = fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines
            .map(|line| serde_json::from_str(line).map_err(|error| wrong(error.to_string())))
            .collect::<Result<Vec<Heal>>>()
    };
    Ok(Heals {
        accept: read("accept.jsonl")?,
        reject: read("reject.jsonl")?,
    })
}

/// Checks all heals, and runs those that only a run can judge; tells of each that ran.
pub(crate) fn measure(heals: &Heals, engine: &Engine, tell: impl Fn(&str)) -> Result<Report> {
    let options = Options {
        python_minor: PythonMinor(engine.minor),
        ..Options::default()
    };
    let look = |heal: &Heal| look(&heal.code, &options);
    let accept: Vec<Checked> = heals.accept.iter().map(look).collect();
    let reject: Vec<Checked> = heals.reject.iter().map(look).collect();

    let accepted = heals.accept.iter().zip(&accept);
    let accepted = accepted.filter(|(_, checked)| checked.is_accepted);
    let mut cases: Vec<Case<'_>> = accepted.map(|(heal, _)| Case::of("accept", heal)).collect();
    let mut report = Report {
        n_accept: accept.len(),
        n_accepted: cases.len(),
        n_reject: reject.len(),
        ..Report::default()
    };
    for (heal, checked) in heals.accept.iter().zip(&accept) {
        if !checked.is_accepted {
            report
                .different
                .insert(heal.id.clone(), checked.violations.clone());
        }
    }
    for (heal, _) in heals
        .reject
        .iter()
        .zip(&reject)
        .filter(|(_, checked)| checked.is_accepted)
    {
        match heal.phase {
            Phase::Runtime => cases.push(Case::of("reject", heal)),
            Phase::Static => {
                report
                    .missed
                    .insert(heal.id.clone(), "the checker accepts it".to_owned());
            }
        }
    }
    report.checks = accept.iter().chain(&reject).map(micros).collect();
    report.checks.sort_by(f64::total_cmp);
    run_all(&cases, engine, |case, fault| {
        tell(case.id);
        if let Some(fault) = fault {
            let found = match case.kind {
                "accept" => &mut report.different,
                _ => &mut report.missed,
            };
            found.insert(case.id.to_owned(), fault);
        }
    })?;
    Ok(report)
}

fn look(code: &str, options: &Options) -> Checked {
    let mut took = Duration::MAX;
    for _ in 0..N_TIMES {
        let started = Instant::now();
        // What is made is dropped within the time, too.
        drop(std::hint::black_box(check(code, options)));
        took = took.min(started.elapsed());
    }
    let checked = check(code, options);
    let violations: Vec<String> = checked
        .violations
        .iter()
        .map(|violation| format!("{} {}", violation.rule, violation.message))
        .collect();
    Checked {
        is_accepted: checked.program.is_some(),
        took,
        violations: violations.join("; "),
    }
}

fn micros(checked: &Checked) -> f64 {
    (checked.took.as_secs_f64() * 1e7).round() / 10.0
}

/// Runs cases in one interpreter; where it ends over one of them, in another from the next case on.
fn run_all(
    cases: &[Case<'_>],
    engine: &Engine,
    mut tell: impl FnMut(&Case<'_>, Option<String>),
) -> Result<()> {
    let folder =
        tempfile::tempdir().map_err(|error| cannot("make a folder in", &std::env::temp_dir(), &error))?;
    for (name, text) in SCRIPTS {
        let path = folder.path().join(name);
        fs::write(&path, text).map_err(|error| cannot("write", &path, &error))?;
    }
    let mut left = cases;
    while !left.is_empty() {
        let ending = run_some(&mut left, engine, folder.path(), &mut tell)?;
        let Some((lost, rest)) = left.split_first() else {
            break;
        };
        tell(lost, Some(ending));
        left = rest;
    }
    Ok(())
}

/// Runs cases until the interpreter ends; takes those that it answered off `left`, and says how it ended.
fn run_some(
    left: &mut &[Case<'_>],
    engine: &Engine,
    folder: &Path,
    tell: &mut impl FnMut(&Case<'_>, Option<String>),
) -> Result<String> {
    let failed = |why: &str| {
        Error::failed(
            format!("heals cannot be run in {}: {why}", engine.python.display()),
            "run `healmcp doctor`",
        )
    };
    let input = folder.join("cases.jsonl");
    let errors = folder.join("errors.txt");
    let mut lines = Vec::new();
    for case in left.iter() {
        serde_json::to_writer(&mut lines, case).map_err(|error| failed(&error.to_string()))?;
        lines.push(b'\n');
    }
    let io = |error: std::io::Error| failed(&error.to_string());
    File::create(&input)
        .and_then(|mut file| file.write_all(&lines))
        .map_err(io)?;
    let mut child = Command::new(&engine.python)
        .args(["-E", "-s", "-B"])
        .arg(folder.join("healcore.py"))
        .arg(&engine.extension)
        .current_dir(folder)
        .stdin(File::open(&input).map_err(io)?)
        .stdout(Stdio::piped())
        .stderr(File::create(&errors).map_err(io)?)
        .spawn()
        .map_err(io)?;
    let answers = child.stdout.take().ok_or_else(|| failed("it has no output"))?;
    for line in BufReader::new(answers).lines() {
        let answer = line.map_err(io)?;
        let answer: Answer = serde_json::from_str(&answer).map_err(|error| failed(&error.to_string()))?;
        let Some((case, rest)) = left.split_first().filter(|(case, _)| case.id == answer.id) else {
            return Err(failed("it answers what was not asked"));
        };
        tell(case, answer.faults.into_iter().next());
        *left = rest;
    }
    let status = child.wait().map_err(io)?;
    let said = fs::read_to_string(&errors).unwrap_or_default();
    let said = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("");
    Ok(format!("the interpreter ended ({status}): {said}"))
}

/// Returns the report as one object.
pub(crate) fn healcore_json(report: &Report) -> Value {
    json!({
        "accept": {
            "n": report.n_accept,
            "accepted": report.n_accepted,
            "equal": report.n_accept - report.different.len(),
            "different": report.different.keys().collect::<Vec<_>>(),
        },
        "reject": {
            "n": report.n_reject,
            "stopped": report.n_reject - report.missed.len(),
            "missed": report.missed.keys().collect::<Vec<_>>(),
        },
        "checker_us": {"median": median(&report.checks), "max": report.checks.last()},
    })
}

/// Returns the report for people, with why each wrong one is wrong.
pub(crate) fn healcore_text(report: &Report) -> String {
    let mut out = String::new();
    for (what, wrong) in [("different", &report.different), ("missed", &report.missed)] {
        for (id, why) in wrong {
            out.push_str(&format!("{what}: {id}: {why}\n"));
        }
    }
    let time = |time: Option<f64>| time.map_or("none".to_owned(), |time| format!("{time:.1} µs"));
    out.push_str(&format!(
        "accepted: {} of {n_accept}\nequal to CPython: {} of {n_accept}\nstopped: {} of {n_reject}\n\
         a check takes {}, at most {}\n",
        report.n_accepted,
        report.n_accept - report.different.len(),
        report.n_reject - report.missed.len(),
        time(median(&report.checks)),
        time(report.checks.last().copied()),
        n_accept = report.n_accept,
        n_reject = report.n_reject,
    ));
    out
}

fn median(sorted: &[f64]) -> Option<f64> {
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn report() -> Report {
        Report {
            n_accept: 3,
            n_accepted: 2,
            different: BTreeMap::from([("a".to_owned(), "HC101 no".to_owned())]),
            n_reject: 2,
            missed: BTreeMap::from([("r".to_owned(), "nothing stopped it".to_owned())]),
            checks: vec![1.5, 2.0, 90.0],
        }
    }

    #[test]
    fn json_has_sums_and_names() {
        assert_eq!(
            healcore_json(&report()).to_string(),
            "{\"accept\":{\"n\":3,\"accepted\":2,\"equal\":2,\"different\":[\"a\"]},\
             \"reject\":{\"n\":2,\"stopped\":1,\"missed\":[\"r\"]},\"checker_us\":{\"median\":2.0,\"max\":90.0}}"
        );
    }

    #[test]
    fn text_says_why() {
        assert_eq!(
            healcore_text(&report()),
            "different: a: HC101 no\nmissed: r: nothing stopped it\naccepted: 2 of 3\nequal to CPython: 2 of 3\n\
             stopped: 1 of 2\na check takes 2.0 µs, at most 90.0 µs\n"
        );
    }

    #[test]
    fn static_rows_are_judged_without_an_interpreter() {
        let heal = |id: &str, code: &str| Heal {
            id: id.to_owned(),
            code: code.to_owned(),
            phase: Phase::Static,
        };
        let heals = Heals {
            accept: vec![heal("refused", "import os")],
            reject: vec![heal("stopped", "import os"), heal("missed", "x = 1")],
        };
        let engine = Engine {
            python: PathBuf::from("/no/python"),
            minor: 12,
            extension: PathBuf::from("/no/extension"),
        };
        let report = measure(&heals, &engine, |_| {}).unwrap();
        let ids = |wrong: &BTreeMap<String, String>| wrong.keys().cloned().collect::<Vec<_>>();
        assert_eq!(
            (report.n_accepted, ids(&report.different), ids(&report.missed)),
            (0, vec!["refused".to_owned()], vec!["missed".to_owned()])
        );
        assert_eq!(report.checks.len(), 3);
    }

    #[test]
    fn a_case_that_ends_the_interpreter_does_not_end_the_others() {
        let temporary = tempfile::tempdir().unwrap();
        let python = temporary.path().join("python");
        // It answers the first case that it is given, unless that is the bad one, and dies.
        let script = "#!/bin/sh\nread line\ncase $line in *bad*) echo boom >&2; exit 3;; esac\n\
                      id=${line#*'\"id\":\"'}\necho \"{\\\"id\\\":\\\"${id%%\\\"*}\\\",\\\"faults\\\":[]}\"\nexec cat >/dev/null\n";
        fs::write(&python, script).unwrap();
        fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
        let engine = Engine {
            python,
            minor: 12,
            extension: PathBuf::from("/no/extension"),
        };
        let case = |id: &'static str| Case {
            kind: "accept",
            id,
            code: "",
        };
        let mut told = Vec::new();
        run_all(&[case("bad"), case("good")], &engine, |case, fault| {
            told.push(format!("{}: {}", case.id, fault.unwrap_or_default()));
        })
        .unwrap();
        assert_eq!(
            told,
            ["bad: the interpreter ended (exit status: 3): boom", "good: "]
        );
    }
}
