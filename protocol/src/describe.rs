//! What a client sees of a crash: values arrive rendered, bounded and redacted.

use serde::{Deserialize, Serialize};

use crate::HealRecord;

/// One line of `list_crashes`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CrashSummary {
    /// Opaque, unique on this machine.
    pub crash_id: String,
    /// Whether it waits, or how it ended.
    pub status: CrashStatus,
    /// The exception's type, qualified outside `builtins`.
    pub exception_type: String,
    /// The exception's text, cut and redacted.
    pub message: String,
    /// Where frame 0 stands.
    pub location: Location,
    /// The process.
    pub pid: u32,
    /// The thread's name.
    pub thread: String,
    /// The program's command line.
    pub command: Vec<String>,
    /// The scope's root folder.
    pub root: String,
    /// Where the heal report and journal are kept.
    pub journal: String,
    /// Seconds since the epoch when it paused.
    pub paused_at: u64,
    /// Seconds left before the exception goes on by itself; `None` once the crash is over.
    pub seconds_left: Option<u64>,
    /// How many heals were tried.
    pub n_attempts: usize,
    /// Who holds the crash, if anybody.
    pub held_by: Option<Holder>,
}

/// Whether a crash waits, or how it ended.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CrashStatus {
    /// It waits for a heal.
    Paused,
    /// A heal was applied and the program went on.
    Resumed,
    /// The exception went on: aborted, timed out or interrupted.
    Released,
}

/// The client that holds a crash.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Holder {
    /// The client's name.
    pub name: String,
    /// Its process.
    pub pid: u32,
    /// Seconds since its last call.
    pub idle_s: u64,
}

/// A place in a source file.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The file as the program names it.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// The qualified name of the function, `<module>` at the top.
    pub function: String,
}

/// Everything about one crash.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct CrashReport {
    /// The line of `list_crashes`.
    pub summary: CrashSummary,
    /// How it was decided that nothing would handle the exception.
    pub decision: String,
    /// `__cause__` and `__context__`, nearest first.
    pub chain: Vec<ChainedException>,
    /// Frame 0 is the crashed frame; outwards from there.
    pub frames: Vec<FrameReport>,
    /// Frames below frame 0, out of scope, innermost first: readable, not healable.
    pub below: Vec<FrameReport>,
    /// What can be chosen as `then`, each with what it will do.
    pub actions: Vec<ActionOffer>,
    /// Heals tried before, in this pause and at this place before.
    pub attempts: Vec<HealRecord>,
}

/// An exception that led to the one that crashed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ChainedException {
    /// `cause` or `context`.
    pub link: String,
    /// The exception's type.
    pub exception_type: String,
    /// Its text, cut and redacted.
    pub message: String,
    /// Where it was raised, when it has a traceback.
    pub location: Option<Location>,
}

/// One frame of the report.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FrameReport {
    /// The number to use in other calls. Frames below frame 0 are numbered on after the outermost one.
    pub index: usize,
    /// Where it stands.
    pub location: Location,
    /// Whether it belongs to the scope.
    pub in_scope: bool,
    /// The failing statement with a few lines around it; one line for frames that are folded.
    pub source: Vec<SourceLine>,
    /// Variables of the failing statement first, then the rest.
    pub variables: Vec<Variable>,
    /// Names of variables that were not shown.
    pub more_names: Vec<String>,
    /// Values of the sub-expressions of the failing statement that are pure loads.
    pub sub_expressions: Vec<SubExpression>,
    /// Calls of the failing statement that had already run.
    pub calls_made: Vec<String>,
}

/// One line of source.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct SourceLine {
    /// 1-based.
    pub line: u32,
    /// Without the line end.
    pub text: String,
    /// Whether the failing statement covers it.
    pub failing: bool,
    /// First and past-last column (0-based, characters) of the failing expression on this line.
    pub caret: Option<(u32, u32)>,
}

/// One variable, rendered.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Variable {
    /// Its name; in a value's inside, the key, index or attribute.
    pub name: String,
    /// The value's type.
    pub type_name: String,
    /// The value, bounded and redacted.
    pub value: String,
    /// Whether the failing statement reads it.
    pub in_statement: bool,
}

/// A sub-expression of the failing statement with its value.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct SubExpression {
    /// Its source.
    pub expression: String,
    /// Its value, rendered.
    pub value: String,
}

/// One resume action that can be chosen here, or why it cannot.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct ActionOffer {
    /// `next`, `retry`, `line`, `return`, `raise`.
    pub then: String,
    /// Whether it can be chosen.
    pub available: bool,
    /// What it will do, or why it cannot be chosen.
    pub effect: String,
}

/// The variables of one frame, or the inside of one value.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct FrameView {
    /// The frame's number.
    pub index: usize,
    /// Where it stands.
    pub location: Location,
    /// What `items` are the inside of: empty for the frame itself, else the path.
    pub path: String,
    /// The value at `path`, rendered in one line.
    pub value: Option<Variable>,
    /// Variables, items or attributes from `start` on.
    pub items: Vec<Variable>,
    /// How many there are in all.
    pub n_items: usize,
    /// The first one shown.
    pub start: usize,
    /// The failing statement's source.
    pub source: Vec<SourceLine>,
}
