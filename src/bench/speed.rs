//! The benchmark of HealCore's speed: the checker on every heal, and the interpreter beside CPython's own `exec`.
//!
//! What is compared with `exec` of a compiled heal is the run of the checked tree with all that belongs to it: the rules
//! of running code, the limits, the journal, and writing the names to the frame. Telling what was changed, for the
//! verdict, has a column of its own. The check of the text is compared with CPython's compilation: *whole* is check, run
//! and telling beside `compile` and `exec`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use healcore::{Options, PythonMinor, check};
use serde::Deserialize;
use serde_json::{Value, json};

use super::healcore::{Engine, Heal, Heals, SCRIPTS};
use crate::error::{Error, Result};
use crate::folders::cannot;

/// The longest that the check of a heal may take.
const CHECK_LIMIT: Duration = Duration::from_millis(1);
/// How many times as long as CPython the interpreter may take.
const RATIO_LIMIT: f64 = 3.0;

/// What came out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Speed {
    /// The checks, the fastest first.
    checks: Vec<(String, Duration)>,
    rows: Vec<Row>,
}

/// The times of one heal in the interpreter and in CPython.
#[derive(Clone, Debug, Deserialize)]
struct Row {
    id: String,
    /// `ran` or `raised`, or `different`: there is no state on which both end alike, and nothing was timed.
    ending: String,
    #[serde(default)]
    check_ns: u64,
    #[serde(default)]
    run_ns: u64,
    #[serde(default)]
    tell_ns: u64,
    #[serde(default)]
    commit_ns: u64,
    #[serde(default)]
    exec_ns: u64,
    #[serde(default)]
    compile_ns: u64,
}

impl Row {
    fn run_ratio(&self) -> f64 {
        (self.run_ns + self.commit_ns) as f64 / self.exec_ns.max(1) as f64
    }

    fn whole_ratio(&self) -> f64 {
        let ours = self.check_ns + self.run_ns + self.tell_ns + self.commit_ns;
        ours as f64 / (self.exec_ns + self.compile_ns).max(1) as f64
    }
}

/// Times all heals, each `n_rounds` times; of a heal's rounds the fastest counts.
pub(crate) fn measure_speed(heals: &Heals, engine: &Engine, n_rounds: u32) -> Result<Speed> {
    let options = Options {
        python_minor: PythonMinor(engine.minor),
        ..Options::default()
    };
    let heals_of_both = heals.accept.iter().chain(&heals.reject);
    let mut checks: Vec<_> = heals_of_both
        .map(|heal| (heal.id.clone(), fastest_check(&heal.code, &options, n_rounds)))
        .collect();
    checks.sort_by_key(|(_, took)| *took);
    Ok(Speed {
        checks,
        rows: time_runs(&heals.accept, engine, n_rounds)?,
    })
}

fn fastest_check(code: &str, options: &Options, n_rounds: u32) -> Duration {
    let times = (0..n_rounds.max(1)).map(|_| {
        let started = Instant::now();
        // What is made is dropped within the time, too.
        drop(std::hint::black_box(check(code, options)));
        started.elapsed()
    });
    times.min().unwrap_or(Duration::MAX)
}

fn time_runs(accept: &[Heal], engine: &Engine, n_rounds: u32) -> Result<Vec<Row>> {
    let folder =
        tempfile::tempdir().map_err(|error| cannot("make a folder in", &std::env::temp_dir(), &error))?;
    let mut input = Vec::new();
    for heal in accept {
        input.extend(format!("{}\n", json!({"id": heal.id, "code": heal.code})).into_bytes());
    }
    let files = [("speed.py", include_str!("speed.py")), SCRIPTS[1]];
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::write(&path, text).map_err(|error| cannot("write", &path, &error))?;
    }
    let failed = |why: &str| {
        Error::failed(
            format!("heals cannot be timed in {}: {why}", engine.python.display()),
            "run `healmcp doctor`",
        )
    };
    let io = |error: std::io::Error| failed(&error.to_string());
    let cases = folder.path().join("cases.jsonl");
    File::create(&cases)
        .and_then(|mut file| file.write_all(&input))
        .map_err(io)?;
    let mut child = Command::new(&engine.python)
        .args(["-E", "-s", "-B"])
        .arg(folder.path().join("speed.py"))
        .arg(&engine.extension)
        .arg(n_rounds.to_string())
        .current_dir(folder.path())
        .stdin(File::open(&cases).map_err(io)?)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(io)?;
    let answers = child.stdout.take().ok_or_else(|| failed("it has no output"))?;
    let rows = BufReader::new(answers)
        .lines()
        .map(|line| serde_json::from_str(&line.map_err(io)?).map_err(|error| failed(&error.to_string())))
        .collect::<Result<Vec<Row>>>()?;
    let status = child.wait().map_err(io)?;
    if !status.success() || rows.len() != accept.len() {
        return Err(failed(&format!(
            "{} of {} were timed ({status})",
            rows.len(),
            accept.len()
        )));
    }
    Ok(rows)
}

/// A sum over the ratios of all heals that were timed.
struct Ratios {
    n: usize,
    geometric_mean: f64,
    max: f64,
    worst: String,
    n_within: usize,
}

impl Speed {
    fn ratios(&self, ratio: fn(&Row) -> f64) -> Ratios {
        let timed = self.rows.iter().filter(|row| row.ending != "different");
        let mut ratios: Vec<(f64, &str)> = timed.map(|row| (ratio(row), row.id.as_str())).collect();
        ratios.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        let sum: f64 = ratios.iter().map(|(ratio, _)| ratio.ln()).sum();
        let (max, worst) = ratios.last().copied().unwrap_or_default();
        Ratios {
            n: ratios.len(),
            geometric_mean: if ratios.is_empty() {
                0.0
            } else {
                (sum / ratios.len() as f64).exp()
            },
            max,
            worst: worst.to_owned(),
            n_within: ratios.iter().filter(|(ratio, _)| *ratio <= RATIO_LIMIT).count(),
        }
    }

    /// The check that takes longer than so many percent of all.
    fn check_at(&self, percent: usize) -> Option<&(String, Duration)> {
        let last = self.checks.len().checked_sub(1)?;
        self.checks.get((self.checks.len() * percent / 100).min(last))
    }
}

fn micros(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e7).round() / 10.0
}

fn two_digits(ratio: f64) -> f64 {
    (ratio * 100.0).round() / 100.0
}

/// Returns the times as one object.
pub(crate) fn speed_json(speed: &Speed) -> Value {
    let check = |percent| speed.check_at(percent).map(|(_, took)| micros(*took));
    let ratios = |ratio| {
        let found = speed.ratios(ratio);
        json!({
            "n": found.n,
            "geometric_mean": two_digits(found.geometric_mean),
            "max": two_digits(found.max),
            "worst": found.worst,
            "within_3": found.n_within,
        })
    };
    let rows = speed.rows.iter().map(|row| {
        json!({
            "id": row.id, "ending": row.ending,
            "check_ns": row.check_ns, "run_ns": row.run_ns, "commit_ns": row.commit_ns, "tell_ns": row.tell_ns,
            "exec_ns": row.exec_ns, "compile_ns": row.compile_ns,
            "run_ratio": two_digits(row.run_ratio()), "whole_ratio": two_digits(row.whole_ratio()),
        })
    });
    json!({
        "checker_us": {
            "n": speed.checks.len(), "p50": check(50), "p99": check(99), "max": check(100),
            "worst": speed.check_at(100).map(|(id, _)| id),
            "over_1_ms": speed.checks.iter().filter(|(_, took)| *took > CHECK_LIMIT).map(|(id, _)| id).collect::<Vec<_>>(),
        },
        "run_to_exec": ratios(Row::run_ratio),
        "whole_to_compile_and_exec": ratios(Row::whole_ratio),
        "rows": rows.collect::<Vec<_>>(),
    })
}

/// Returns the times for people.
pub(crate) fn speed_text(speed: &Speed) -> String {
    let check = |percent| {
        let found = speed.check_at(percent);
        found.map_or("none".to_owned(), |(_, took)| format!("{:.1} µs", micros(*took)))
    };
    let ratios = |what: &str, ratio: fn(&Row) -> f64| {
        let found = speed.ratios(ratio);
        format!(
            "{what}: {:.2} times in the geometric mean, {} of {} within 3 times, at most {:.2} times ({})\n",
            found.geometric_mean, found.n_within, found.n, found.max, found.worst
        )
    };
    format!(
        "check of {} heals: p50 {}, p99 {}, at most {} ({})\n{}{}",
        speed.checks.len(),
        check(50),
        check(99),
        check(100),
        speed.check_at(100).map_or("none", |(id, _)| id),
        ratios(
            "run with rules and journal, beside exec of compiled code",
            Row::run_ratio
        ),
        ratios(
            "check, run and telling, beside compile and exec",
            Row::whole_ratio
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, ending: &str, run_ns: u64, exec_ns: u64) -> Row {
        Row {
            id: id.to_owned(),
            ending: ending.to_owned(),
            check_ns: 400,
            run_ns,
            tell_ns: 50,
            commit_ns: 0,
            exec_ns,
            compile_ns: 900,
        }
    }

    #[test]
    fn the_report_names_the_worst_and_leaves_out_what_was_not_timed() {
        let speed = Speed {
            checks: vec![
                ("a".to_owned(), Duration::from_micros(2)),
                ("b".to_owned(), Duration::from_micros(1_500)),
            ],
            rows: vec![
                row("a", "ran", 200, 100),
                row("b", "raised", 800, 100),
                row("c", "different", 0, 0),
            ],
        };
        assert_eq!(
            speed_text(&speed),
            "check of 2 heals: p50 1500.0 µs, p99 1500.0 µs, at most 1500.0 µs (b)\n\
             run with rules and journal, beside exec of compiled code: 4.00 times in the geometric mean, 1 of 2 within 3 times, at most 8.00 times (b)\n\
             check, run and telling, beside compile and exec: 0.90 times in the geometric mean, 2 of 2 within 3 times, at most 1.25 times (b)\n"
        );
        let json = speed_json(&speed);
        assert_eq!(json["checker_us"]["over_1_ms"], json!(["b"]));
        assert_eq!(json["run_to_exec"]["max"], json!(8.0));
    }
}
