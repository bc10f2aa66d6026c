//! The corpus that stands beside the project: each row is accepted or refused as it says.

use std::path::PathBuf;

use healcore::{Options, check};
use serde_json::Value;

/// Returns the rows of a file of the corpus; none where the corpus is not there.
fn rows(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/cases/healcore")
        .join(name);
    let Ok(text) = std::fs::read_to_string(path) else {
        return Vec::new();
    };
    text.lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect()
}

/// Returns the rows whose check does not end as expected.
fn wrong(rows: &[Value], is_accepted: bool) -> Vec<String> {
    let is_wrong = |row: &&Value| {
        let checked = check(row["code"].as_str().expect("code is text"), &Options::default());
        checked.program.is_some() != is_accepted
    };
    let describe = |row: &Value| {
        let checked = check(row["code"].as_str().expect("code is text"), &Options::default());
        format!("{}: {:#?}", row["id"], checked.violations)
    };
    rows.iter().filter(is_wrong).map(describe).collect()
}

#[test]
fn legitimate_heals_are_accepted() {
    let wrong = wrong(&rows("accept.jsonl"), true);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn escapes_are_refused() {
    let rows: Vec<_> = rows("reject.jsonl")
        .into_iter()
        .filter(|row| row["phase"] == "static")
        .collect();
    let wrong = wrong(&rows, false);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
