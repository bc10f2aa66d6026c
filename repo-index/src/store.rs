//! What has been found out about files, kept by path and state.
//!
//! A seam: the first store keeps everything in memory; one on disk answers the same questions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use crate::facts::FileFacts;
use crate::identifiers::Identifiers;
use crate::source::Stamp;

/// Keeps what was found out about files.
pub trait Store: Send + Sync {
    /// Returns the names in a file, if they were stored for this state of it.
    fn identifiers(&self, path: &Path, stamp: Stamp) -> Option<Arc<Identifiers>>;

    /// Returns the facts of a file, if they were stored for this state of it.
    fn facts(&self, path: &Path, stamp: Stamp) -> Option<Arc<FileFacts>>;

    /// Keeps the names in a file.
    fn keep_identifiers(&self, path: &Path, stamp: Stamp, identifiers: &Arc<Identifiers>);

    /// Keeps the facts of a file.
    fn keep_facts(&self, path: &Path, stamp: Stamp, facts: &Arc<FileFacts>);
}

/// Keeps everything in memory.
#[derive(Default)]
pub struct MemoryStore {
    entries: RwLock<HashMap<PathBuf, Entry>>,
}

#[derive(Default)]
struct Entry {
    stamp: Stamp,
    identifiers: Option<Arc<Identifiers>>,
    facts: Option<Arc<FileFacts>>,
}

impl MemoryStore {
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

impl Store for MemoryStore {
    fn identifiers(&self, path: &Path, stamp: Stamp) -> Option<Arc<Identifiers>> {
        self.find(path, stamp, |entry| entry.identifiers.clone())
    }

    fn facts(&self, path: &Path, stamp: Stamp) -> Option<Arc<FileFacts>> {
        self.find(path, stamp, |entry| entry.facts.clone())
    }

    fn keep_identifiers(&self, path: &Path, stamp: Stamp, identifiers: &Arc<Identifiers>) {
        self.change(path, stamp, |entry| {
            entry.identifiers = Some(Arc::clone(identifiers));
        });
    }

    fn keep_facts(&self, path: &Path, stamp: Stamp, facts: &Arc<FileFacts>) {
        self.change(path, stamp, |entry| entry.facts = Some(Arc::clone(facts)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_state_of_a_file_is_another_file() {
        let store = MemoryStore::default();
        let stamp = |modified| Stamp { modified, size: 1 };
        let path = Path::new("a.py");
        store.keep_facts(path, stamp(1), &Arc::default());
        assert!(store.facts(path, stamp(1)).is_some());
        assert!(store.identifiers(path, stamp(1)).is_none());
        store.keep_identifiers(path, stamp(2), &Arc::default());
        assert!(store.facts(path, stamp(1)).is_none());
        assert!(store.facts(path, stamp(2)).is_none());
    }
}
