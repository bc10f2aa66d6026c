//! What has been found out about files, kept by path and state.
//!
//! What a question finds out stays in memory; what the whole tree says lies in a snapshot on the disk, if there is a
//! folder for it. A file that has changed since is looked up in memory, as if the snapshot did not have it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::disk::{Blob, SnapshotFile};
use crate::facts::FileFacts;
use crate::identifiers::Identifiers;
use crate::snapshot::Snapshot;
use crate::source::Stamp;

/// How many files' facts stay decoded; they are a few dozen kilobytes each.
const MAX_DECODED: usize = 256;

/// Keeps what was found out about files.
pub(crate) struct Store {
    folder: Option<PathBuf>,
    snapshot: RwLock<Option<Arc<Snapshot>>>,
    entries: RwLock<HashMap<PathBuf, Entry>>,
    decoded: Mutex<HashMap<PathBuf, (Stamp, Arc<FileFacts>)>>,
}

#[derive(Default)]
struct Entry {
    stamp: Stamp,
    identifiers: Option<Arc<Identifiers>>,
    facts: Option<Arc<FileFacts>>,
}

impl Store {
    /// Returns a store that has a folder to keep snapshots in, or none.
    pub(crate) fn new(folder: Option<PathBuf>) -> Self {
        let blob = folder
            .as_deref()
            .and_then(|folder| Blob::open(&SnapshotFile::path_in(folder)));
        Self {
            snapshot: RwLock::new(blob.and_then(Snapshot::read).map(Arc::new)),
            folder,
            entries: RwLock::default(),
            decoded: Mutex::default(),
        }
    }

    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    pub(crate) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.snapshot
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Takes a new snapshot, and forgets what it holds, too.
    pub(crate) fn keep_snapshot(&self, snapshot: Snapshot) {
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(snapshot));
        self.entries
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        self.decoded().clear();
    }

    pub(crate) fn identifiers(&self, path: &Path, stamp: Stamp) -> Option<Arc<Identifiers>> {
        self.find(path, stamp, |entry| entry.identifiers.clone())
    }

    /// Returns the facts of a file, if they were found out in this state of it.
    pub(crate) fn facts(&self, path: &Path, stamp: Stamp) -> Option<Arc<FileFacts>> {
        if let Some(found) = self.find(path, stamp, |entry| entry.facts.clone()) {
            return Some(found);
        }
        if let Some((_, facts)) = self.decoded().get(path).filter(|(known, _)| *known == stamp) {
            return Some(Arc::clone(facts));
        }
        let snapshot = self.snapshot()?;
        let idx = snapshot
            .find(path)
            .filter(|idx| snapshot.entry(*idx).stamp == stamp)?;
        let facts = Arc::new(snapshot.facts(idx)?);
        let mut decoded = self.decoded();
        if decoded.len() >= MAX_DECODED {
            decoded.clear();
        }
        decoded.insert(path.to_owned(), (stamp, Arc::clone(&facts)));
        Some(facts)
    }

    /// Returns the facts of a file that was only touched: its text is still the one of the snapshot.
    pub(crate) fn facts_of_text(&self, path: &Path, hash: u64) -> Option<FileFacts> {
        let snapshot = self.snapshot()?;
        let idx = snapshot
            .find(path)
            .filter(|idx| snapshot.entry(*idx).hash == hash)?;
        snapshot.facts(idx)
    }

    pub(crate) fn keep_identifiers(&self, path: &Path, stamp: Stamp, identifiers: &Arc<Identifiers>) {
        self.change(path, stamp, |entry| {
            entry.identifiers = Some(Arc::clone(identifiers));
        });
    }

    pub(crate) fn keep_facts(&self, path: &Path, stamp: Stamp, facts: &Arc<FileFacts>) {
        self.change(path, stamp, |entry| entry.facts = Some(Arc::clone(facts)));
    }

    fn decoded(&self) -> MutexGuard<'_, HashMap<PathBuf, (Stamp, Arc<FileFacts>)>> {
        self.decoded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find<T>(&self, path: &Path, stamp: Stamp, part: impl Fn(&Entry) -> Option<T>) -> Option<T> {
        let entries = self.entries.read().unwrap_or_else(PoisonError::into_inner);
        entries
            .get(path)
            .filter(|entry| entry.stamp == stamp)
            .and_then(part)
    }

    fn change(&self, path: &Path, stamp: Stamp, change: impl Fn(&mut Entry)) {
        let mut entries = self.entries.write().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.entry(path.to_owned()).or_default();
        if entry.stamp != stamp {
            *entry = Entry {
                stamp,
                ..Entry::default()
            };
        }
        change(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_state_of_a_file_is_another_file() {
        let store = Store::new(None);
        let stamp = |modified| Stamp { modified, size: 1 };
        let path = Path::new("a.py");
        store.keep_facts(path, stamp(1), &Arc::default());
        assert!(store.facts(path, stamp(1)).is_some());
        assert!(store.facts(path, stamp(2)).is_none());
        store.keep_identifiers(path, stamp(2), &Arc::default());
        assert!(store.facts(path, stamp(2)).is_none());
        assert!(store.facts(path, stamp(1)).is_none());
    }
}
