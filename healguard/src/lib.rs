//! What a program's developers protect from healing code, and the verdicts about it.
//!
//! Text and settings in, values out: nothing here knows Python's objects, the disk or the wire.

mod behaviour;
mod denial;
mod names;
mod policy;
mod presets;
mod read;
mod reasons;
mod verdict;

pub use behaviour::Behaviour;
pub use denial::Denial;
pub use names::{NameError, Pattern};
pub use policy::{OnUnconfirmed, Policy, Protected, Target, Trusted};
pub use presets::Preset;
pub use read::{PolicyError, Problem};
pub use reasons::{REASONS, Reason, ReasonId};
pub use verdict::{Verdict, VerdictKind};
