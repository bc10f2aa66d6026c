//! What a forked child must not take over from its parent.

use std::sync::atomic::{AtomicU32, Ordering};

static STARTED_IN: AtomicU32 = AtomicU32::new(0);

/// Remembers the process in which the runtime started or was renewed.
pub(crate) fn note_process() {
    STARTED_IN.store(std::process::id(), Ordering::Relaxed);
}

/// Whether this process must not pause: the runtime was never started in it.
pub(crate) fn is_off() -> bool {
    STARTED_IN.load(Ordering::Relaxed) == 0
}
