//! The indexes of source folders and what is known of crashes' files, kept between calls.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use repo_index::{Index, Root};

use crate::ToolError;

/// One index a project folder; built when first asked for, brought up to date with each question.
#[derive(Default)]
pub struct CodeCache {
    kept: Mutex<Kept>,
    /// Whether whole trees are read in the background and kept on the disk.
    builds: bool,
}

#[derive(Default)]
struct Kept {
    /// The one used last stands last.
    indexes: Vec<(PathBuf, Arc<Index>)>,
    surroundings: HashMap<String, Arc<Surroundings>>,
}

/// The files that a crash went through; they stay the same while it is paused.
#[derive(Debug)]
pub(super) struct Surroundings {
    pub(super) root: PathBuf,
    /// Of all frames, in and out of scope.
    pub(super) files: Vec<PathBuf>,
}

/// Where a project's index is kept.
const FOLDER: &str = ".healmcp/index";

/// More projects than one agent works on at a time.
const MOST_INDEXES: usize = 4;
/// More crashes than anybody remembers.
const MOST_SURROUNDINGS: usize = 64;

impl CodeCache {
    /// Returns a cache that reads whole trees in the background, for who will ask many questions.
    #[must_use]
    pub fn building() -> Self {
        Self {
            builds: true,
            ..Self::default()
        }
    }

    /// Whether an index is still being built, so that an answer need not wait for all of a tree.
    pub(super) fn is_building(&self, index: &Index) -> bool {
        self.builds && !index.is_kept()
    }

    /// Returns the index of a project folder.
    pub(super) fn index(&self, root: &Path) -> Result<Arc<Index>, ToolError> {
        let mut kept = self.kept();
        if let Some(position) = kept.indexes.iter().position(|(known, _)| known == root) {
            let known = kept.indexes.remove(position);
            let index = Arc::clone(&known.1);
            kept.indexes.push(known);
            return Ok(index);
        }
        let label = root
            .file_name()
            .map_or_else(|| "project".into(), |name| name.to_string_lossy());
        let n_threads = available_parallelism().map_or(1, usize::from);
        let folder = root.join(FOLDER);
        let index = Arc::new(Index::open_in(
            vec![Root::project(root, label)],
            n_threads,
            folder,
        )?);
        if self.builds {
            let index = Arc::clone(&index);
            // Without the thread, each question reads what it needs.
            let _ = std::thread::Builder::new()
                .name("index".to_owned())
                .spawn(move || index.build(1, &|| false));
        }
        if kept.indexes.len() == MOST_INDEXES {
            kept.indexes.remove(0);
        }
        kept.indexes.push((root.to_owned(), Arc::clone(&index)));
        Ok(index)
    }

    pub(super) fn surroundings(&self, crash_id: &str) -> Option<Arc<Surroundings>> {
        self.kept().surroundings.get(crash_id).cloned()
    }

    pub(super) fn keep_surroundings(&self, crash_id: &str, found: Surroundings) -> Arc<Surroundings> {
        let found = Arc::new(found);
        let mut kept = self.kept();
        if kept.surroundings.len() >= MOST_SURROUNDINGS {
            kept.surroundings.clear();
        }
        kept.surroundings.insert(crash_id.to_owned(), Arc::clone(&found));
        found
    }

    /// What a panicking call left behind is only a cache.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl From<repo_index::Error> for ToolError {
    fn from(error: repo_index::Error) -> Self {
        Self::input(error.to_string(), error.hint())
    }
}
