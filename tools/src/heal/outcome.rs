//! What happened after the program went on, as `resume` and `abort` report it.

use protocol::HealOutcome;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{Answer, text};

#[derive(JsonSchema, Serialize)]
pub(super) struct Output {
    /// running, crashed (paused again), exited or released.
    outcome: String,
    /// What was done and what happened since.
    evidence: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed_at: Option<String>,
    /// The next crash of this process.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_crash_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_crash: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    behaviours: Vec<String>,
    /// What to do next.
    next: String,
}

pub(super) fn answer(outcome: &HealOutcome) -> Answer {
    let next = match (&outcome.next_crash, outcome.outcome.as_str()) {
        (Some(crash), _) => format!("get_crash(crash_id={})", text::quoted(&crash.crash_id)),
        (None, "running") => {
            "it runs: list_crashes(wait_s=25) waits for a next crash; mend the source of this one meanwhile"
                .to_owned()
        }
        (None, "exited") => {
            "it ended: mend the source, the bug is still there; `healmcp report` tells what was done"
                .to_owned()
        }
        (None, _) => "list_crashes() shows what still waits".to_owned(),
    };
    let output = Output {
        outcome: outcome.outcome.clone(),
        evidence: text::clip(&outcome.evidence, 2_000),
        resumed_at: outcome.resumed_at.as_ref().map(text::place),
        new_crash_id: outcome.next_crash.as_ref().map(|crash| crash.crash_id.clone()),
        new_crash: outcome.next_crash.as_ref().map(text::one_line),
        behaviours: outcome.behaviours.clone(),
        next,
    };
    let mut lines = vec![match &output.resumed_at {
        Some(place) => format!("{}: went on at {place}", output.outcome),
        None => output.outcome.clone(),
    }];
    if !output.evidence.is_empty() {
        lines.push(output.evidence.clone());
    }
    if !output.behaviours.is_empty() {
        lines.push(format!("behaviours: {}", output.behaviours.join(", ")));
    }
    if let Some(crash) = &output.new_crash {
        lines.push(format!("paused again: {crash}"));
    }
    lines.push(format!("next: {}", output.next));
    Answer::structured(lines.join("\n"), &output)
}
