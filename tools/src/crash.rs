//! The tools that look at a crash and change nothing.

mod evaluate;
mod get_crash;
mod get_frame;
mod list_crashes;

mod report;

pub(crate) use evaluate::Evaluate;
pub(crate) use get_crash::{GetCrash, describe};
pub(crate) use get_frame::GetFrame;
pub(crate) use list_crashes::ListCrashes;
