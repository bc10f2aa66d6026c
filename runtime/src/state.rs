//! What the whole process shares: the settings of the run and what went wrong on our side.

use std::sync::{Mutex, OnceLock, PoisonError};

use protocol::Settings;
use pyo3::prelude::*;

static SETTINGS: OnceLock<Settings> = OnceLock::new();
static UNWRAPPED: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Stores the settings; a second start of the same process keeps the first ones.
pub(crate) fn set_settings(settings: Settings) {
    let _ = SETTINGS.set(settings);
}

/// The settings of the run.
pub(crate) fn settings() -> &'static Settings {
    SETTINGS
        .get()
        .expect("hooks and servers exist only after `start` has stored the settings")
}

/// The functions that the program's developers added to the toolkit; none before the start.
pub(crate) fn toolkit() -> &'static [String] {
    SETTINGS.get().map_or(&[], |settings| &settings.toolkit)
}

/// Remembers a module in scope that runs without hooks.
pub(crate) fn note_unwrapped(filename: &str, reason: &str) {
    let mut unwrapped = UNWRAPPED.lock().unwrap_or_else(PoisonError::into_inner);
    unwrapped.push((filename.to_owned(), reason.to_owned()));
}

/// The modules in scope that run without hooks, each with the reason.
pub(crate) fn unwrapped() -> Vec<(String, String)> {
    UNWRAPPED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Forgets the modules that the parent process left unwrapped.
pub(crate) fn forget_unwrapped() {
    UNWRAPPED.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// `sys.flags.optimize`: it changes the compiled code.
pub(crate) fn optimize_level(py: Python<'_>) -> u8 {
    let level = || py.import("sys")?.getattr("flags")?.getattr("optimize")?.extract();
    level().unwrap_or(0)
}

/// Says on stderr what went wrong on our side, once and in one line.
pub(crate) fn complain(message: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "healmcp: {message}");
}
