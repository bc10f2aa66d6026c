//! The programs that run now: each has a process group of its own, so Ctrl-C has to be passed on.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use nix::sys::signal::{SigSet, Signal, killpg, raise};
use nix::unistd::Pid;

/// The leaders of the process groups that run now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Arc<Mutex<BTreeSet<u32>>>);

impl Running {
    /// Takes over SIGINT and SIGTERM: they end the programs first, then this process. To be called before any thread
    /// is started.
    pub(crate) fn ends_on_signals(&self) {
        let signals = awaited();
        if signals.thread_block().is_err() {
            return;
        }
        let running = self.clone();
        thread::spawn(move || {
            let Ok(signal) = signals.wait() else {
                return;
            };
            for leader in running.leaders().iter() {
                end_group(*leader);
            }
            // With the signal let through again, this process ends as it would have.
            let _ = signals.thread_unblock().and_then(|()| raise(signal));
        });
    }

    /// Notes a program that has started.
    pub(super) fn started(&self, leader: u32) {
        self.leaders().insert(leader);
    }

    /// Forgets a program that has ended; its number may be given to another process.
    pub(super) fn ended(&self, leader: u32) {
        self.leaders().remove(&leader);
    }

    fn leaders(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a program with the signals let through that this process waits for: it would inherit that they are blocked,
/// and never meet a `KeyboardInterrupt`.
pub(super) fn unblocked<T>(spawn: impl FnOnce() -> T) -> T {
    let signals = awaited();
    let was_blocked = SigSet::thread_get_mask().is_ok_and(|mask| mask.contains(Signal::SIGINT));
    if !was_blocked || signals.thread_unblock().is_err() {
        return spawn();
    }
    let spawned = spawn();
    // Blocking can only fail for a set that is none.
    let _ = signals.thread_block();
    spawned
}

fn awaited() -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGINT);
    signals.add(Signal::SIGTERM);
    signals
}

/// Kills a program with its children; it may have ended just now.
pub(super) fn end_group(leader: u32) {
    if let Ok(leader) = i32::try_from(leader) {
        let _ = killpg(Pid::from_raw(leader), Signal::SIGKILL);
    }
}
