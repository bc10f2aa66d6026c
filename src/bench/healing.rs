//! The two answers to a pause: a heal, or letting the exception go.

use protocol::{HealProposal, Reply, Request, ResumeAction, VerdictKind};
use tools::ToolError;

use crate::client::{Client, unexpected};

/// Returns the heal that only skips the failing statement of a frame.
pub(super) fn skip(frame: usize) -> HealProposal {
    HealProposal {
        frame,
        code: String::new(),
        then: Some(ResumeAction::Next),
        value: None,
        line: None,
    }
}

/// Checks a heal and, where it may run, lets the program go on with it.
pub(super) fn apply(client: &Client, crash_id: &str, proposal: HealProposal) -> Result<(), ToolError> {
    let crash_id = crash_id.to_owned();
    let asked = Request::Check {
        crash_id: crash_id.clone(),
        proposal,
    };
    let check = match client.ask_crash(&crash_id, asked)? {
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
    client.ask_crash(&crash_id, resume)?;
    Ok(())
}

/// Lets the exception go on as plain Python.
pub(super) fn abort(client: &Client, crash_id: &str, reason: &str) -> Result<(), ToolError> {
    let asked = Request::Abort {
        crash_id: crash_id.to_owned(),
        reason: reason.to_owned(),
        wait_ms: 0,
    };
    client.ask_crash(crash_id, asked).map(|_| ())
}
