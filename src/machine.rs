//! The machine as the tools see it: the programs of this user, the folder that is meant, and the clock.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use protocol::{CrashSummary, Reply, Request};
use tools::{ToolError, World};

use crate::client::Client;

/// Implements [`World`] over the sockets of this user.
#[derive(Debug)]
pub(crate) struct Machine {
    /// Shared by all calls of one session, since a crash is held in the session's name.
    pub(crate) client: Arc<Client>,
    /// The folder that is meant when no crash says otherwise.
    pub(crate) project: PathBuf,
    /// Ends the waiting of one call.
    pub(crate) cancel: Arc<Cancel>,
}

/// Set once, when the caller of a tool has given up.
#[derive(Debug, Default)]
pub(crate) struct Cancel {
    given_up: Mutex<bool>,
    changed: Condvar,
}

impl Cancel {
    /// Ends every wait, now and later.
    pub(crate) fn give_up(&self) {
        *self.given_up.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Waits; returns whether the caller has given up meanwhile.
    pub(crate) fn wait(&self, time: Duration) -> bool {
        let given_up = self.given_up.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(given_up, time, |given_up| !*given_up);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

impl World for Machine {
    fn crashes(&self) -> Result<Vec<CrashSummary>, ToolError> {
        self.client.crashes()
    }

    fn ask(&self, crash_id: &str, request: Request) -> Result<Reply, ToolError> {
        self.client.ask_crash(crash_id, request)
    }

    fn project(&self) -> PathBuf {
        self.project.clone()
    }

    fn sleep(&self, time: Duration) -> Result<(), ToolError> {
        if self.cancel.wait(time) {
            return Err(ToolError::cancelled());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_given_up_waits_no_longer() {
        let cancel = Cancel::default();
        assert!(!cancel.wait(Duration::ZERO));
        cancel.give_up();
        assert!(cancel.wait(Duration::from_secs(3600)));
    }
}
