//! The journal: what happened to this program, written before it is done.
//!
//! One append-only file of JSON lines a session, in `.healmcp/` of the project, or in the user's state folder where
//! the project cannot be written. A run that never pauses creates nothing.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

use crate::state;

/// The folder of a project's journals.
const FOLDER: &str = ".healmcp";

static HEALS: Mutex<Vec<Healed>> = Mutex::new(Vec::new());

/// A heal of this process, for what is said at its end.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Healed {
    /// The exception.
    pub(crate) exception: String,
    /// Where it was.
    pub(crate) place: String,
    /// What was changed, each as `place: old -> new`.
    pub(crate) changes: Vec<String>,
    /// Where it went on, in words.
    pub(crate) effect: String,
}

/// One line of the journal.
#[derive(Serialize)]
struct Line<'a, T: Serialize> {
    /// Seconds since the epoch.
    at: f64,
    pid: u32,
    event: &'a str,
    #[serde(flatten)]
    what: T,
}

/// Appends an event; a journal that cannot be written is said once and holds nothing up.
pub(crate) fn write(event: &str, what: impl Serialize) {
    let written = open().and_then(|mut file| {
        let line = Line {
            at: now(),
            pid: std::process::id(),
            event,
            what,
        };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        file.write_all(&text)?;
        file.sync_data()
    });
    if let Err(error) = written {
        static SAID: std::sync::Once = std::sync::Once::new();
        SAID.call_once(|| state::complain(&format!("no journal is kept: {}: {error}", path().display())));
    }
}

/// Seconds since the epoch.
pub(crate) fn now() -> f64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// The journal's file, whether it exists yet or not.
pub(crate) fn path() -> PathBuf {
    folder().join(format!("{}.jsonl", state::settings().session))
}

fn folder() -> PathBuf {
    static CHOSEN: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    CHOSEN
        .get_or_init(|| {
            let settings = state::settings();
            let root = Path::new(&settings.scope.root);
            let writable = nix::unistd::access(root, nix::unistd::AccessFlags::W_OK).is_ok();
            if writable {
                root.join(FOLDER)
            } else {
                Path::new(&settings.state).join("journal")
            }
        })
        .clone()
}

/// The healing folder, made where it is not there.
pub(crate) fn ready_folder() -> std::io::Result<PathBuf> {
    let folder = folder();
    if !folder.is_dir() {
        // What a heal saw of the program is for the user alone.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)?;
    }
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        std::fs::write(ignore, "*\n")?;
    }
    Ok(folder)
}

fn open() -> std::io::Result<File> {
    ready_folder()?;
    OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path())
}

/// Remembers a heal for the end of the run.
pub(crate) fn note_heal(healed: Healed) {
    HEALS.lock().unwrap_or_else(PoisonError::into_inner).push(healed);
}

/// Says of the last heal that the program did not go on as it was to.
pub(crate) fn note_refusal(reason: &str) {
    let mut heals = HEALS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(last) = heals.last_mut() {
        last.effect = format!("CPython refused the jump ({reason}), so the exception went on");
    }
}

/// Forgets the heals of the parent process.
pub(crate) fn forget_heals() {
    HEALS.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// What is said on stderr at the end of a run that was healed; `None` for any other run.
pub(crate) fn summary() -> Option<String> {
    let heals = HEALS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if heals.is_empty() {
        return None;
    }
    let mut text = format!(
        "healmcp: this run was healed {} at {} place(s); the bugs are still in the source\n",
        times(heals.len()),
        distinct_places(&heals)
    );
    for healed in &heals {
        text.push_str(&format!(
            "  {} at {}\n    went on: {}\n",
            healed.exception, healed.place, healed.effect
        ));
        for change in &healed.changes {
            text.push_str(&format!("    changed: {change}\n"));
        }
    }
    text.push_str(&format!("  journal: {}\n", path().display()));
    Some(text)
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{count} times"),
    }
}

fn distinct_places(heals: &[Healed]) -> usize {
    heals
        .iter()
        .map(|healed| &healed.place)
        .collect::<std::collections::BTreeSet<_>>()
        .len()
}
