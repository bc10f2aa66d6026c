//! A heal from proposal to outcome.

use serde::{Deserialize, Serialize};

use crate::{CrashSummary, Location};

/// Where the program goes on.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResumeAction {
    /// At the statement after the failing one.
    Next,
    /// At the failing statement, from its start.
    Retry,
    /// At a line of the same frame.
    Line,
    /// The frame returns a value.
    Return,
    /// The exception goes on.
    Raise,
    /// Another exception is raised in its place.
    #[serde(rename = "raise-new")]
    RaiseNew,
}

impl ResumeAction {
    /// The word for it in arguments and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Retry => "retry",
            Self::Line => "line",
            Self::Return => "return",
            Self::Raise => "raise",
            Self::RaiseNew => "raise-new",
        }
    }
}

/// A heal as a client proposes it.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct HealProposal {
    /// The frame whose names the code sees; 0 is the crashed one.
    #[serde(default)]
    pub frame: usize,
    /// HealCore; may be empty.
    #[serde(default)]
    pub code: String,
    /// Where to go on; `None` where the code's own `return`, `break` or `continue` says it.
    #[serde(default)]
    pub then: Option<ResumeAction>,
    /// For `return`: a HealCore expression, evaluated after the code ran; `None` returns `None`. For `raise-new`: the
    /// exception.
    #[serde(default)]
    pub value: Option<String>,
    /// For `line`: the line of the file to go on at.
    #[serde(default)]
    pub line: Option<u32>,
}

/// The answer to a check.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Check {
    /// Names this heal in `resume`; single use, bound to the crash's present state. Absent when denied.
    pub heal_id: Option<String>,
    /// May it run?
    pub verdict: Verdict,
    /// Rules of HealCore that the code breaks.
    pub violations: Vec<Refusal>,
    /// What the code would change, in the order of writing. The check took it all back.
    pub changes: Vec<StateChange>,
    /// What it printed, for the healing log.
    pub printed: String,
    /// Where it would go on, in words.
    pub effect: String,
    /// What kinds of things it does, such as `change-value`: see `healmcp explain behaviours`.
    #[serde(default)]
    pub behaviours: Vec<String>,
    /// Things worth knowing that do not forbid it.
    pub notes: Vec<String>,
    /// Seconds for which `heal_id` is good.
    pub expires_s: u64,
}

/// One rule that was broken: the shape is that of `healmcp check-code --json`.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The stable id.
    pub rule: String,
    /// 1-based line of the healing code.
    pub line: u32,
    /// 1-based column.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

/// May a heal run?
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// Yes.
    Allow,
    /// Only when a person approves.
    NeedsApproval,
    /// No.
    Deny,
}

/// The verdict with its evidence.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Verdict {
    /// The answer.
    pub verdict: VerdictKind,
    /// Which check decided: `healcore`, `run`, `guard`, `jump`.
    pub stage: String,
    /// Stable id of the reason, such as `HG201`; empty for `allow`.
    pub rule: String,
    /// One sentence.
    pub reason: String,
    /// The written value that matters, where one does.
    #[serde(default)]
    pub source: Option<StateChange>,
    /// The protected operation that matters, where one does.
    #[serde(default)]
    pub sink: Option<String>,
    /// How far it was looked at.
    pub checked_until: String,
    /// `ask` or `deny`: what the program's configuration says of unconfirmed heals.
    pub policy: String,
}

/// One write of healing code.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct StateChange {
    /// `name`, `global`, `attribute`, `item`, `call`.
    pub kind: String,
    /// Where, as an expression: `order.total`, `rows[3]`.
    pub place: String,
    /// The old value, `<unset>` where there was none.
    pub old: String,
    /// The new value, `<removed>` where there is none.
    pub new: String,
    /// 1-based line of the healing code.
    pub heal_line: u32,
}

/// One heal that was tried.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HealRecord {
    /// Its id, or empty where none was given out.
    pub heal_id: String,
    /// The proposal.
    pub proposal: HealProposal,
    /// The verdict's answer.
    pub verdict: VerdictKind,
    /// What became of it, in words.
    pub outcome: String,
}

/// What happened after a resume or an abort.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HealOutcome {
    /// `running`, `crashed` (paused again), `exited` or `released`.
    pub outcome: String,
    /// Where it went on.
    pub resumed_at: Option<Location>,
    /// In words: what was skipped, what was changed, what happened since.
    pub evidence: String,
    /// What kinds of things the heal did, such as `change-value`.
    #[serde(default)]
    pub behaviours: Vec<String>,
    /// The next pause of this process, when there is one.
    pub next_crash: Option<CrashSummary>,
}

/// The summary of a healed run, for its end and for the journal.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct HealReport {
    /// Where the crash was.
    pub location: Location,
    /// The exception.
    pub exception: String,
    /// What was changed.
    pub changes: Vec<StateChange>,
    /// Where it went on, in words.
    pub effect: String,
}
