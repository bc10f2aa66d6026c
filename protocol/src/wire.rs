//! Requests, replies and failures: what crosses the socket.

use serde::{Deserialize, Serialize};

use crate::{Check, CrashReport, CrashSummary, FrameView, HealOutcome, HealProposal};

/// One request with who asks; one line of JSON.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Envelope {
    /// [`crate::VERSION`] of the client.
    pub version: u32,
    /// Who asks. The lock of a crash is held in this name.
    pub client: Client,
    /// What is asked.
    pub request: Request,
}

/// Who asks, as the client says it; the process id is read from the socket, never from here.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Client {
    /// A name for people, such as `claude-code` or `healmcp resume`.
    pub name: String,
    /// A random string, the same for all requests of one client session.
    pub session: String,
}

/// What a client can ask of a program.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub enum Request {
    /// The crashes of this process, paused ones first, then those that ended, newest first.
    List,
    /// Everything about one crash.
    Describe {
        /// Which crash.
        crash_id: String,
        /// How many frames in scope to show with their variables.
        max_frames: usize,
    },
    /// The variables of one frame, or the inside of one value.
    Frame {
        /// Which crash.
        crash_id: String,
        /// Which part of which frame.
        query: FrameQuery,
    },
    /// A pure HealCore expression in a frame.
    Evaluate {
        /// Which crash.
        crash_id: String,
        /// The frame's number in the report; 0 is the crashed one.
        frame: usize,
        /// The expression.
        expression: String,
        /// At most so many characters of the value.
        max_chars: usize,
        /// Ask the value's own `repr` (user code) instead of the safe rendering.
        user_repr: bool,
    },
    /// Check a heal without applying it.
    Check {
        /// Which crash.
        crash_id: String,
        /// The heal.
        proposal: HealProposal,
    },
    /// Apply a checked heal and go on.
    Resume {
        /// Which crash.
        crash_id: String,
        /// The id that a check gave.
        heal_id: String,
        /// How long to wait for what happens next, in milliseconds. Where it is not 0, the answer that it was done is
        /// followed by a second one, after the wait; a program that ends at once may owe it.
        wait_ms: u64,
    },
    /// Let the exception go on as plain Python.
    Abort {
        /// Which crash.
        crash_id: String,
        /// Why, for the journal.
        reason: String,
        /// As in [`Request::Resume`].
        wait_ms: u64,
    },
}

/// Which part of which frame a client wants to see.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct FrameQuery {
    /// The frame's number in the report; 0 is the crashed one.
    pub frame: usize,
    /// Only these names; all when empty.
    #[serde(default)]
    pub names: Vec<String>,
    /// A path into a value, rooted at a name of the frame: `order.lines[3]`.
    #[serde(default)]
    pub path: Option<String>,
    /// First item of the value at `path`, or first variable.
    #[serde(default)]
    pub start: usize,
    /// How many items or variables.
    pub count: usize,
    /// How deep nested values are shown, 0 to 6.
    pub depth: usize,
}

/// The answer to an [`Envelope`].
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// It was done.
    Ok(Reply),
    /// It was not done, and nothing changed.
    Failed(Failure),
}

/// The reply to each [`Request`].
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Reply {
    /// To [`Request::List`].
    Crashes {
        /// Paused ones first.
        crashes: Vec<CrashSummary>,
    },
    /// To [`Request::Describe`].
    Crash(Box<CrashReport>),
    /// To [`Request::Frame`].
    Frame(FrameView),
    /// To [`Request::Evaluate`].
    Value {
        /// The value's type.
        type_name: String,
        /// The value, rendered and redacted.
        text: String,
        /// Whether `text` was cut.
        cut: bool,
    },
    /// To [`Request::Check`].
    Checked(Box<Check>),
    /// To [`Request::Resume`] and [`Request::Abort`].
    Went(Box<HealOutcome>),
}

/// Why a request was not done.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// For programs.
    pub kind: FailureKind,
    /// What is wrong: a lower-case fragment.
    pub message: String,
    /// What to do next.
    pub hint: String,
}

/// The kinds of failure that a client tells apart.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// No such crash in this process, or it is over.
    UnknownCrash,
    /// No such heal, or it was used or belongs to an earlier state.
    UnknownHeal,
    /// No such frame, name or path.
    UnknownPlace,
    /// The verdict does not let this heal run.
    NotAllowed,
    /// The healing code raised or met a limit; everything was rolled back.
    HealFailed,
    /// CPython refuses this jump.
    JumpRefused,
    /// Another client holds the crash.
    Held,
    /// The request itself is malformed.
    BadRequest,
    /// The other side speaks another version.
    Version,
    /// A fault of ours; the pause goes on.
    Internal,
}

impl Failure {
    /// Builds a failure from its three parts.
    pub fn new(kind: FailureKind, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}", self.message)
    }
}

impl std::error::Error for Failure {}
