//! End to end.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod architecture;
mod run;
mod serve;

mod heal;
mod program;
mod python;

mod decision;
mod resume;
