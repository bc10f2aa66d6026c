//! End to end.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod architecture;
mod run;
mod serve;

mod agent;
mod heal;
mod program;
mod python;

mod decision;
mod faults;
mod guard;
mod interpret;
mod journal;
mod kinds;
mod limits;
mod mcp;
mod purity;
mod resume;
mod toolkit;
mod traces;
mod transparent;
