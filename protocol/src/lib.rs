//! The messages between a paused program and whoever heals it.
//!
//! One JSON object a line over a Unix socket: the client writes an [`Envelope`], the program answers with one
//! [`Answer`], and with a second one where the client waits for what happens after a heal. The types are made for the wire; neither side serialises its own domain types.

mod describe;
mod heal;
mod settings;
mod wire;

pub use describe::{
    ActionOffer, ChainedException, CrashReport, CrashStatus, CrashSummary, FrameReport, FrameView, Holder,
    Location, SourceLine, SubExpression, Variable,
};
pub use heal::{
    Check, HealOutcome, HealProposal, HealRecord, HealReport, Refusal, ResumeAction, StateChange, Verdict,
    VerdictKind,
};
pub use settings::{Boundary, DEFAULT_REPEAT_LIMIT, Scope, Settings};
pub use wire::{Answer, Client, Envelope, Failure, FailureKind, FrameQuery, Reply, Request};

/// The version of the messages; a program and a client of different versions refuse each other by name.
pub const VERSION: u32 = 1;

/// The environment variable that carries [`Settings`] as JSON into the program and its children.
pub const SETTINGS_VARIABLE: &str = "HEALMCP_SETTINGS";

/// The environment variable that switches everything off when it is `0`.
pub const SWITCH_VARIABLE: &str = "HEALMCP";

/// The environment variable that names a file for [`Settings::decisions`].
pub const DECISIONS_VARIABLE: &str = "HEALMCP_DECISIONS";
