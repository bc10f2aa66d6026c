//! What can go wrong on the command line: a message, what to do next, and the exit code.

/// A command that did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The command line, a configuration or the environment is wrong: nothing was started.
    #[error("{message}")]
    Usage {
        /// What is wrong, as a lower-case fragment.
        message: String,
        /// What to do next.
        hint: String,
    },
    /// It was started and failed.
    #[error("{message}")]
    Failed {
        /// What is wrong, as a lower-case fragment.
        message: String,
        /// What to do next.
        hint: String,
    },
}

/// The result of everything in this crate that can fail.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Builds an error of the user's making.
    pub(crate) fn usage(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Usage {
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// Builds an error of the circumstances.
    pub(crate) fn failed(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Failed {
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// Returns it for programs.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::json!({ "error": self.to_string(), "hint": self.hint() })
    }

    /// Returns what to do next.
    pub(crate) fn hint(&self) -> &str {
        match self {
            Self::Usage { hint, .. } | Self::Failed { hint, .. } => hint,
        }
    }

    /// Returns 2 for a wrong use and 1 for a failure.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Usage { .. } => 2,
            Self::Failed { .. } => 1,
        }
    }
}
