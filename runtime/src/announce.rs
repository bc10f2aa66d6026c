//! What a person at the terminal sees of pauses: one short block each, on stderr.

use std::io::Write;

use protocol::CrashSummary;
use pyo3::prelude::*;

use crate::crashes::place;
use crate::journal;

/// Returns a fresh crash id: short enough to type, and no other process of this machine has it.
pub(crate) fn new_crash_id() -> String {
    use std::hash::{BuildHasher, Hasher};
    static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    // Each RandomState has fresh keys from the system.
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    hasher.write_u64(COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
    hasher.write_u64(journal::now().to_bits());
    format!("c-{:08x}", hasher.finish() as u32)
}

/// Says that the program has paused: what, where, the id, how to heal it, how long it will wait.
pub(crate) fn paused(py: Python<'_>, summary: &CrashSummary, timeout_s: u64) {
    flush_stdout(py);
    say(&format!(
        "healmcp: paused at {}: {}\n  in {}\n  crash {} in process {}, waiting {} for a healer\n  \
         heal it: an agent with the MCP server `healmcp serve`, or `healmcp show {}`; Ctrl-C lets it go on as plain Python\n",
        summary.exception_type,
        summary.message.lines().next().unwrap_or_default(),
        place(&summary.location),
        summary.crash_id,
        summary.pid,
        duration(timeout_s),
        summary.crash_id,
    ));
}

/// Says that the exception goes on.
pub(crate) fn released(crash_id: &str, reason: &str) {
    say(&format!(
        "healmcp: crash {crash_id}: {reason}, so the exception goes on\n"
    ));
}

/// Says that a crash which comes again and again does not pause any more.
pub(crate) fn repeated(summary: &CrashSummary, times: u32) {
    say(&format!(
        "healmcp: {}: {} in {} came {times} times in a row with nothing changed, so the exception goes on (repeat-limit)\n",
        summary.exception_type,
        summary.message.lines().next().unwrap_or_default(),
        place(&summary.location),
    ));
}

/// Says at the end of a healed run what was healed and what was skipped.
pub(crate) fn end_of_run(py: Python<'_>) {
    if let Some(summary) = journal::summary() {
        flush_stdout(py);
        say(&summary);
    }
}

/// What the program printed before comes before what we print.
fn flush_stdout(py: Python<'_>) {
    let flushed = || -> PyResult<()> {
        let stdout = py.import("sys")?.getattr("stdout")?;
        // Only CPython's own stream: another object's `flush` is the program's code.
        let stream = py.import("_io")?.getattr("TextIOWrapper")?;
        if stdout.get_type().is(&stream) {
            stdout.call_method0("flush")?;
        }
        Ok(())
    };
    if flushed().is_err() {
        // A closed stdout has nothing to flush.
    }
}

fn say(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn duration(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}
