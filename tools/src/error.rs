//! Why a call was not done, and what to do next.

use protocol::{CrashSummary, Failure, FailureKind};

use crate::text;

/// A call that was not done. The message is a lower-case fragment; the hint names the next call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// For programs.
    pub kind: ErrorKind,
    /// What is wrong.
    pub message: String,
    /// What to do next; names a call with its arguments wherever there is one.
    pub hint: String,
}

/// What a caller may want to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The arguments are wrong.
    Input,
    /// No program knows this crash.
    UnknownCrash,
    /// The program has gone.
    Gone,
    /// The caller has given up.
    Cancelled,
    /// The program refused.
    Refused(FailureKind),
    /// A fault of ours or of the machine.
    Fault,
}

/// An error is one block of text of at most so many bytes.
const BLOCK_BYTES: usize = 1_900;

impl ToolError {
    /// Builds an error about the arguments.
    pub fn input(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message, hint)
    }

    /// Builds the error for an id that no program knows.
    pub fn unknown_crash(crash_id: &str) -> Self {
        Self::new(
            ErrorKind::UnknownCrash,
            format!("no program has a crash {crash_id:?}"),
            "list_crashes() shows those there are",
        )
    }

    /// Builds the error for a program that ended, or does not answer any more.
    pub fn gone(crash_id: &str) -> Self {
        Self::new(
            ErrorKind::Gone,
            format!(
                "the program of crash {crash_id:?} has gone: it ended or was killed, and its state is lost"
            ),
            "list_crashes() shows the crashes that still wait; run the program again under `healmcp run` to meet this one again",
        )
    }

    /// Builds the error for a caller that has given up.
    pub fn cancelled() -> Self {
        Self::new(
            ErrorKind::Cancelled,
            "the caller cancelled this call",
            "nothing was changed by the waiting",
        )
    }

    /// Builds the error for a fault of ours or of the machine.
    pub fn fault(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new(ErrorKind::Fault, message, hint)
    }

    fn new(kind: ErrorKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// Adds the ids that exist to an error about one that does not.
    pub(crate) fn naming(self, crashes: &[CrashSummary]) -> Self {
        if !matches!(
            self.kind,
            ErrorKind::UnknownCrash | ErrorKind::Gone | ErrorKind::Refused(FailureKind::UnknownCrash)
        ) {
            return self;
        }
        let hint = if crashes.is_empty() {
            "there is no crash at present: start the program with `healmcp run -- CMD`, then \
             list_crashes(wait_s=25) waits for one"
                .to_owned()
        } else {
            let lines: Vec<String> = crashes.iter().take(8).map(text::one_line).collect();
            format!("these exist: {}", lines.join("; "))
        };
        Self { hint, ..self }
    }

    /// Renders the error as the one block of text that a model reads.
    pub fn block(&self) -> String {
        let message = text::clip(&self.message, BLOCK_BYTES / 2);
        let hint = text::clip(&self.hint, BLOCK_BYTES / 2);
        if hint.is_empty() {
            message
        } else {
            format!("{message}\nnext: {hint}")
        }
    }
}

impl From<Failure> for ToolError {
    fn from(failure: Failure) -> Self {
        Self::new(ErrorKind::Refused(failure.kind), failure.message, failure.hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_stays_under_two_kilobytes_whatever_it_quotes() {
        let error = ToolError::input("é".repeat(9_000), "ü".repeat(9_000));
        assert!(error.block().len() < 2_000, "{}", error.block().len());
    }

    #[test]
    fn an_error_is_its_cause_and_the_next_step() {
        let error = ToolError::input(
            "frame 9 does not exist",
            "get_crash(crash_id=\"c1\") lists the frames",
        );
        assert_eq!(
            error.block(),
            "frame 9 does not exist\nnext: get_crash(crash_id=\"c1\") lists the frames"
        );
    }
}
