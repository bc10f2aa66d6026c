//! The benchmark of pauses: what a row expects of a program, and whether what was seen is that.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{Error, Result};

/// One program, with what is expected of it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) id: String,
    /// Its source.
    pub(super) code: String,
    expect_pause: bool,
    #[serde(rename = "where", default)]
    place: Places,
    #[serde(default)]
    where_alt: Places,
    /// It may stop elsewhere, too.
    #[serde(default)]
    accept_late: bool,
    #[serde(default)]
    min_version_note: Option<String>,
    plain: End,
    #[serde(default)]
    resume: Option<Resume>,
}

/// Places as `function:text of the line`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(untagged)]
enum Places {
    #[default]
    None,
    One(String),
    Any(Vec<String>),
}

impl Places {
    fn all(&self) -> &[String] {
        match self {
            Self::None => &[],
            Self::One(place) => std::slice::from_ref(place),
            Self::Any(places) => places,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
struct Resume {
    mode: String,
    #[serde(default)]
    frame: Option<String>,
    #[serde(default)]
    pauses: Option<usize>,
    #[serde(flatten)]
    end: Option<End>,
}

/// How a program ends. A negative code is the signal that ended it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub(super) struct End {
    pub(super) rc: i32,
    pub(super) stdout: String,
}

/// What a row wants to be skipped.
#[derive(Clone, Copy, Debug)]
pub(super) struct Skip<'a> {
    /// In the innermost frame of this function.
    pub(super) frame: &'a str,
    /// So often.
    pub(super) pauses: usize,
    /// How the program then ends.
    end: &'a End,
}

/// Where a program paused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    /// The qualified name of the function.
    pub(super) function: String,
    /// The text of the line.
    pub(super) text: String,
}

/// What was seen of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// Its pauses, in all its processes.
    pub(super) stops: Vec<Stop>,
    /// How it ended; `None` when it hung.
    pub(super) end: Option<End>,
    /// What went wrong on the side of the healer.
    pub(super) notes: Vec<String>,
}

/// A row that did not come out as expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Wrong {
    id: String,
    expected: String,
    got: String,
}

/// What became of one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It counts.
    Judged {
        /// What is wrong with the decision, if anything.
        decision: Option<Wrong>,
        /// Whether it was resumed, and what is wrong with that, if anything.
        resume: Option<Option<Wrong>>,
    },
    /// It is about other versions of Python.
    Apart {
        /// Its name.
        id: String,
        /// What it says of versions.
        note: String,
        /// What was seen.
        got: String,
    },
}

/// Reads the rows of a file.
pub(crate) fn read_rows(file: &Path) -> Result<Vec<Row>> {
    let wrong = |why: String| {
        Error::usage(
            format!("the cases of {} cannot be read: {why}", file.display()),
            "each line is a JSON object with id, code, expect_pause, where, plain {rc, stdout} and resume",
        )
    };
    let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let lines = text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).map_err(|error| wrong(format!("line {}: {error}", index + 1)))
        })
        .collect()
}

impl Row {
    /// Returns the note of a row that says nothing about Python `3.minor`.
    pub(super) fn apart(&self, version: (u32, u32)) -> Option<&str> {
        let note = self.min_version_note.as_deref()?;
        is_about(note, version).then_some(note)
    }

    /// Returns what is to be skipped, where skipping is what the row is about.
    pub(super) fn skip(&self) -> Option<Skip<'_>> {
        let resume = self.resume.as_ref()?;
        if resume.mode != "skip" || self.accept_late {
            return None;
        }
        Some(Skip {
            frame: resume.frame.as_deref()?,
            pauses: resume.pauses.unwrap_or(1),
            end: resume.end.as_ref()?,
        })
    }

    fn places(&self) -> impl Iterator<Item = &str> {
        let all = self.place.all().iter().chain(self.where_alt.all());
        all.map(String::as_str)
    }

    /// Judges a run of which every pause was let go.
    pub(super) fn judge_decision(&self, seen: &Seen) -> Option<Wrong> {
        let is_right_place = match seen.stops.first() {
            Some(first) if self.expect_pause => {
                self.accept_late || self.places().any(|place| first.is_at(place))
            }
            first => first.is_some() == self.expect_pause,
        };
        if is_right_place && seen.end.as_ref() == Some(&self.plain) {
            return None;
        }
        let places: Vec<&str> = self.places().collect();
        let expected = if self.expect_pause {
            format!("a pause at {}", places.join(" or "))
        } else {
            "no pause".to_owned()
        };
        Some(self.wrong(format!("{expected}; {}", self.plain), seen))
    }

    /// Judges a run in which the first pauses were skipped.
    pub(super) fn judge_resume(&self, skip: &Skip<'_>, seen: &Seen) -> Option<Wrong> {
        (seen.end.as_ref() != Some(skip.end)).then(|| self.wrong(skip.end.to_string(), seen))
    }

    fn wrong(&self, expected: String, seen: &Seen) -> Wrong {
        Wrong {
            id: self.id.clone(),
            expected,
            got: seen.to_string(),
        }
    }
}

/// Reads a note such as `3.12+: expect_pause false`; one that cannot be read may be about any version.
fn is_about(note: &str, version: (u32, u32)) -> bool {
    let since = || {
        let (major, minor) = note.split_once('+')?.0.trim().split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    since().is_none_or(|since: (u32, u32)| version >= since)
}

impl Stop {
    fn is_at(&self, place: &str) -> bool {
        let Some((function, text)) = place.split_once(':') else {
            return false;
        };
        own_name(&self.function) == own_name(function) && self.text.contains(text.trim())
    }
}

/// Returns the last component of a qualified name.
pub(super) fn own_name(qualified: &str) -> &str {
    qualified.rsplit('.').next().unwrap_or(qualified)
}

impl fmt::Display for Stop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.function, self.text.trim())
    }
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "exit code {}, output {:?}", self.rc, self.stdout)
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stops.is_empty() {
            formatter.write_str("no pause")?;
        } else {
            let stops: Vec<String> = self.stops.iter().map(Stop::to_string).collect();
            write!(formatter, "a pause at {}", stops.join(", then at "))?;
        }
        match &self.end {
            Some(end) => write!(formatter, "; {end}")?,
            None => formatter.write_str("; it hung and was killed")?,
        }
        self.notes
            .iter()
            .try_for_each(|note| write!(formatter, "; {note}"))
    }
}

/// The sums of all rows.
#[derive(Debug, Default)]
struct Sums<'a> {
    n: usize,
    wrong: Vec<&'a Wrong>,
    n_resumed: usize,
    resume_wrong: Vec<&'a Wrong>,
    apart: Vec<Value>,
}

fn sums(outcomes: &[Outcome]) -> Sums<'_> {
    let mut sums = Sums::default();
    for outcome in outcomes {
        match outcome {
            Outcome::Judged { decision, resume } => {
                sums.n += 1;
                sums.wrong.extend(decision);
                sums.n_resumed += usize::from(resume.is_some());
                sums.resume_wrong.extend(resume.iter().flatten());
            }
            Outcome::Apart { id, note, got } => {
                sums.apart.push(json!({"id": id, "note": note, "got": got}));
            }
        }
    }
    sums
}

/// Returns the outcomes as one object; rows that stand apart are not in `n`.
pub(crate) fn pause_json(outcomes: &[Outcome]) -> Value {
    let sums = sums(outcomes);
    json!({
        "n": sums.n,
        "right": sums.n - sums.wrong.len(),
        "wrong": sums.wrong,
        "resume_right": sums.n_resumed - sums.resume_wrong.len(),
        "resume_wrong": sums.resume_wrong,
        "apart": sums.apart,
    })
}

/// Returns the outcomes for people.
pub(crate) fn pause_text(outcomes: &[Outcome]) -> String {
    let sums = sums(outcomes);
    let mut out = String::new();
    for (what, wrong) in [("decision", &sums.wrong), ("resume", &sums.resume_wrong)] {
        for Wrong { id, expected, got } in wrong {
            out.push_str(&format!(
                "{id}: {what}\n  expected  {expected}\n  got       {got}\n"
            ));
        }
    }
    let right = |n: usize, wrong: &[&Wrong]| format!("{} of {n}", n - wrong.len());
    out.push_str(&format!(
        "decisions right: {}\nresumes right: {}\napart, about other versions: {}\n",
        right(sums.n, &sums.wrong),
        right(sums.n_resumed, &sums.resume_wrong),
        sums.apart.len()
    ));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(more: &str) -> Row {
        let text = format!(
            r#"{{"id": "r", "code": "", "plain": {{"rc": 1, "stdout": "a\n"}}, "expect_pause": true,
            "where": "f:n = int(text)"{more}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn seen(stops: &[&str], rc: i32, stdout: &str) -> Seen {
        let stop = |stop: &&str| {
            let (function, text) = stop.split_once(':').unwrap();
            Stop {
                function: function.to_owned(),
                text: text.to_owned(),
            }
        };
        Seen {
            stops: stops.iter().map(stop).collect(),
            end: Some(End {
                rc,
                stdout: stdout.to_owned(),
            }),
            notes: Vec::new(),
        }
    }

    fn check(more: &str, seen: &Seen, expect: Option<&str>) {
        let wrong = row(more).judge_decision(seen);
        assert_eq!(wrong.map(|wrong| wrong.got).as_deref(), expect);
    }

    #[test]
    fn the_first_stop_and_the_end_count() {
        check(
            "",
            &seen(&["C.f:    n = int(text)  # why", "g:x"], 1, "a\n"),
            None,
        );
        check(
            "",
            &seen(&["g:x", "f:n = int(text)"], 1, "a\n"),
            Some("a pause at g:x, then at f:n = int(text); exit code 1, output \"a\\n\""),
        );
        check(
            "",
            &seen(&["f:n = int(text)"], 0, "a\n"),
            Some("a pause at f:n = int(text); exit code 0, output \"a\\n\""),
        );
        check(
            "",
            &seen(&[], 1, "a\n"),
            Some("no pause; exit code 1, output \"a\\n\""),
        );
    }

    #[test]
    fn other_places_are_right_where_the_row_says_so() {
        let elsewhere = seen(&["g:x"], 1, "a\n");
        check(r#", "where_alt": "g:x""#, &elsewhere, None);
        check(r#", "where_alt": ["h:y", "g:x"]"#, &elsewhere, None);
        check(r#", "accept_late": true"#, &elsewhere, None);
    }

    #[test]
    fn a_pause_that_is_not_expected_is_wrong_wherever_it_is() {
        let mut row = row("");
        row.expect_pause = false;
        assert_eq!(row.judge_decision(&seen(&[], 1, "a\n")), None);
        let wrong = row.judge_decision(&seen(&["f:n = int(text)"], 1, "a\n")).unwrap();
        assert_eq!(wrong.expected, "no pause; exit code 1, output \"a\\n\"");
    }

    #[test]
    fn a_program_that_hangs_is_wrong() {
        let mut seen = seen(&["f:n = int(text)"], 1, "a\n");
        seen.end = None;
        check(
            "",
            &seen,
            Some("a pause at f:n = int(text); it hung and was killed"),
        );
    }

    #[test]
    fn only_skips_are_resumed() {
        let resume = |mode: &str, more: &str| {
            let resume =
                format!(r#", "resume": {{"mode": "{mode}", "frame": "f", "stdout": "", "rc": 0}}{more}"#);
            let row = row(&resume);
            row.skip().map(|skip| {
                (
                    skip.pauses,
                    row.judge_resume(&skip, &seen(&["f:x"], 0, "")).is_none(),
                )
            })
        };
        assert_eq!(resume("skip", ""), Some((1, true)));
        assert_eq!(resume("repair", ""), None);
        assert_eq!(resume("skip", r#", "accept_late": true"#), None);
        let repair = row(r#", "resume": {"mode": "repair", "repair": "x"}"#);
        assert!(repair.skip().is_none());
    }

    #[test]
    fn a_note_is_about_the_versions_it_names() {
        let check = |note: &str, minor: u32, expect: bool| assert_eq!(is_about(note, (3, minor)), expect);
        check("3.12+: expect_pause false", 11, false);
        check("3.12+: expect_pause false", 12, true);
        check("3.12+: expect_pause false", 14, true);
        check("newer ones differ", 11, true);
    }

    #[test]
    fn rows_that_stand_apart_are_not_counted() {
        let wrong = Wrong {
            id: "a".to_owned(),
            expected: "x".to_owned(),
            got: "y".to_owned(),
        };
        let outcomes = [
            Outcome::Judged {
                decision: Some(wrong.clone()),
                resume: None,
            },
            Outcome::Judged {
                decision: None,
                resume: Some(None),
            },
            Outcome::Judged {
                decision: None,
                resume: Some(Some(wrong)),
            },
            Outcome::Apart {
                id: "b".to_owned(),
                note: "3.12+".to_owned(),
                got: "no pause".to_owned(),
            },
        ];
        assert_eq!(
            pause_json(&outcomes).to_string(),
            "{\"n\":3,\"right\":2,\"wrong\":[{\"id\":\"a\",\"expected\":\"x\",\"got\":\"y\"}],\"resume_right\":1,\
             \"resume_wrong\":[{\"id\":\"a\",\"expected\":\"x\",\"got\":\"y\"}],\
             \"apart\":[{\"id\":\"b\",\"note\":\"3.12+\",\"got\":\"no pause\"}]}"
        );
        assert!(
            pause_text(&outcomes).ends_with(
                "decisions right: 2 of 3\nresumes right: 1 of 2\napart, about other versions: 1\n"
            )
        );
    }
}
