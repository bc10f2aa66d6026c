//! The tools that look at a crash and change nothing.

mod list_crashes;

pub(crate) use list_crashes::ListCrashes;
