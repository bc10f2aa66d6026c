//! What the checker found against a heal.

use serde::Serialize;

/// One place where a heal leaves HealCore.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Violation {
    /// The stable id of the rule, such as `HC101`.
    pub rule: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: String,
}
