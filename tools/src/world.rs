//! The one trait through which tools reach crashes and the machine.

use std::path::PathBuf;
use std::time::Duration;

use protocol::{CrashSummary, Reply, Request};

use crate::ToolError;

/// The outside, as one call sees it. Calls block.
///
/// Whoever implements it knows sockets, processes and the clock, and when the caller has given up.
pub trait World: Send + Sync {
    /// Returns the crashes of all programs of this user, paused ones first.
    ///
    /// A program that does not answer is left out, not an error.
    fn crashes(&self) -> Result<Vec<CrashSummary>, ToolError>;

    /// Asks the program that holds this crash.
    ///
    /// A program that has gone is [`ToolError::gone`], an id that no program knows is [`ToolError::unknown_crash`],
    /// and the program's own refusal is `ToolError::from(failure)`. The tools add the ids that exist.
    fn ask(&self, crash_id: &str, request: Request) -> Result<Reply, ToolError>;

    /// Returns the folder of the project that is meant when no crash says otherwise.
    fn project(&self) -> PathBuf;

    /// Waits, and returns [`ToolError::cancelled`] as soon as the caller has given up.
    fn sleep(&self, time: Duration) -> Result<(), ToolError>;
}
