//! The index: roots, what is known about their files, and the questions.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::answer::{
    Callers, ContextHit, Definitions, Options, Outline, Page, Reading, References, RelatedHit, SymbolHit,
    TextHit,
};
use crate::build::{self, Built, Progress};
use crate::context::FrameAt;
use crate::disk::{Disk, SnapshotFile};
use crate::error::Error;
use crate::read::ReadTarget;
use crate::session::Session;
use crate::snapshot::Snapshot;
use crate::source::{Found, Origin, Root, Skipped, Source};
use crate::store::Store;
use crate::text::TextPattern;
use crate::tree::Tree;
use crate::work::Budget;
use crate::{callers, context, definition, listing, outline, read, references, related, symbols, text};

/// Folders right below which each entry is an installed package.
const PACKAGE_FOLDERS: [&str; 2] = ["site-packages", "dist-packages"];

/// An index over a project and the packages around it.
pub struct Index {
    roots: RwLock<Vec<Root>>,
    pub(crate) source: Box<dyn Source>,
    pub(crate) store: Store,
    pub(crate) progress: Progress,
    pub(crate) n_threads: usize,
    seen: Mutex<Seen>,
    held: Mutex<Option<Arc<Tree>>>,
    /// What the roots held when an index of them was last built.
    remembered: Mutex<Vec<(Root, Found)>>,
    covering: Mutex<Option<Covering>>,
}

/// What the roots held when they were last listed.
#[derive(Default)]
struct Seen {
    packages: HashMap<PathBuf, Found>,
    last: Option<Listed>,
}

/// A tree, and what it was made from.
struct Listed {
    found: Vec<(Root, Found)>,
    tree: Arc<Tree>,
}

/// Which files of a tree a snapshot has in their present state.
#[derive(Clone)]
pub(crate) struct Covering {
    tree: Arc<Tree>,
    pub(crate) snapshot: Arc<Snapshot>,
    /// The snapshot's file for each of the tree, [`u32::MAX`] for none.
    pub(crate) files: Arc<[u32]>,
    /// The tree's file for each of the snapshot, [`u32::MAX`] for none.
    pub(crate) back: Arc<[u32]>,
}

impl Index {
    /// Returns an index of folders on the disk, kept in memory; nothing is read before it is asked for.
    ///
    /// # Errors
    ///
    /// A root that is not there.
    pub fn open(roots: Vec<Root>, n_threads: usize) -> Result<Self, Error> {
        Self::with(roots, n_threads, Box::new(Disk), None)
    }

    /// Returns an index of folders on the disk that keeps what it knows of whole trees in a folder of its own.
    ///
    /// # Errors
    ///
    /// A root that is not there.
    pub fn open_in(roots: Vec<Root>, n_threads: usize, folder: PathBuf) -> Result<Self, Error> {
        Self::with(roots, n_threads, Box::new(Disk), Some(folder))
    }

    /// Returns an index of what a source gives, with a folder to keep it in, or without.
    ///
    /// # Errors
    ///
    /// A root that is not there.
    pub fn with(
        roots: Vec<Root>,
        n_threads: usize,
        source: Box<dyn Source>,
        folder: Option<PathBuf>,
    ) -> Result<Self, Error> {
        let index = Self {
            roots: RwLock::default(),
            source,
            store: Store::new(folder),
            progress: Progress::default(),
            n_threads,
            seen: Mutex::default(),
            held: Mutex::default(),
            remembered: Mutex::default(),
            covering: Mutex::default(),
        };
        if let Some(bytes) = index.store.folder().and_then(SnapshotFile::read_listing)
            && let Some(listed) = listing::decode(&bytes)
        {
            *index.remembered.lock().unwrap_or_else(PoisonError::into_inner) = listed;
        }
        for root in roots {
            index.add_root(root)?;
        }
        Ok(index)
    }

    /// Adds a root; one that is there already, or is a part of a package that is, changes nothing.
    ///
    /// # Errors
    ///
    /// A root that is not there.
    pub fn add_root(&self, root: Root) -> Result<(), Error> {
        let Some(path) = self.source.real_path(&root.path) else {
            return Err(Error::BadRoot {
                path: root.path.display().to_string(),
                why: "there is no such file or folder".into(),
                hint: "pass a folder that exists, or a package's folder or only module".into(),
            });
        };
        let mut roots = self.roots.write().unwrap_or_else(PoisonError::into_inner);
        let covers = |known: &Root| {
            known.path == path || (known.origin == Origin::Package && path.starts_with(&known.path))
        };
        if !roots.iter().any(covers) {
            roots.push(Root { path, ..root });
        }
        Ok(())
    }

    /// Adds the installed package, or the single module, that a file belongs to, such as one in a traceback.
    ///
    /// Files of a project are in the index already and add nothing.
    ///
    /// # Errors
    ///
    /// A file that is not there.
    pub fn add_package_of(&self, file: &Path) -> Result<(), Error> {
        let package = self.package_of(file);
        let is_installed = |part: &OsStr| PACKAGE_FOLDERS.iter().any(|folder| part == *folder);
        let is_projects = |root: &Root| {
            let rest = package.strip_prefix(&root.path);
            rest.is_ok_and(|rest| !rest.iter().any(is_installed))
        };
        if self.roots().iter().any(is_projects) {
            return Ok(());
        }
        let label = package
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
            .unwrap_or_default();
        self.add_root(Root::package(package, label))
    }

    fn package_of(&self, file: &Path) -> PathBuf {
        let is_package_folder = |folder: &Path| {
            folder
                .file_name()
                .is_some_and(|name| PACKAGE_FOLDERS.iter().any(|known| name == *known))
        };
        if let Some(top) = file
            .ancestors()
            .find(|path| path.parent().is_some_and(is_package_folder))
        {
            return top.to_owned();
        }
        let is_in_package = |path: &&Path| {
            let init = path.parent().map(|folder| folder.join("__init__.py"));
            init.is_some_and(|init| self.source.real_path(&init).is_some())
        };
        let mut top = file;
        while let Some(parent) = top.parent().filter(|_| is_in_package(&top)) {
            top = parent;
        }
        top.to_owned()
    }

    /// Returns the roots, links resolved.
    #[must_use]
    pub fn roots(&self) -> Vec<Root> {
        self.roots.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks at installed packages anew with the next question.
    pub fn forget_packages(&self) {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .packages
            .clear();
    }

    /// Returns the files that no question sees, and why.
    #[must_use]
    pub fn skipped(&self) -> Vec<Skipped> {
        self.tree(Budget::unlimited()).skipped.clone()
    }

    /// Returns the definitions that are called like the query: a name, or the end of a dotted name.
    ///
    /// # Errors
    ///
    /// An empty query, a bad cursor, a bad path filter.
    pub fn symbols(&self, query: &str, options: Options<'_>) -> Result<Page<SymbolHit>, Error> {
        symbols::symbols(&Session::new(self, options)?, query)
    }

    /// Returns where a name, or the symbol of a dotted name, is defined and used.
    ///
    /// # Errors
    ///
    /// As `symbols`, and a name that no file has.
    pub fn references(&self, query: &str, options: Options<'_>) -> Result<References, Error> {
        references::references(&Session::new(self, options)?, query)
    }

    /// Returns what a name in a line means: the name that is given, or the one at the column.
    ///
    /// # Errors
    ///
    /// As `read`.
    pub fn definition(
        &self,
        path: &str,
        line: u32,
        name: Option<&str>,
        column: Option<u32>,
        options: Options<'_>,
    ) -> Result<Definitions, Error> {
        definition::definition(&Session::new(self, options)?, path, line, name, column)
    }

    /// Returns the calls that reach a function, or may.
    ///
    /// # Errors
    ///
    /// As `symbols`, and a name that no file has.
    pub fn callers(&self, query: &str, options: Options<'_>) -> Result<Callers, Error> {
        callers::callers(&Session::new(self, options)?, query)
    }

    /// Returns what the body of a function or class calls.
    ///
    /// # Errors
    ///
    /// As `callers`.
    pub fn callees(&self, query: &str, options: Options<'_>) -> Result<Page<RelatedHit>, Error> {
        related::callees(&Session::new(self, options)?, query)
    }

    /// Returns the ancestors of a class, and what derives from it.
    ///
    /// # Errors
    ///
    /// As `callers`.
    pub fn hierarchy(&self, query: &str, options: Options<'_>) -> Result<Page<RelatedHit>, Error> {
        related::hierarchy(&Session::new(self, options)?, query)
    }

    /// Returns the definitions of a method in its class's ancestors and in what derives from it.
    ///
    /// # Errors
    ///
    /// As `callers`.
    pub fn overrides(&self, query: &str, options: Options<'_>) -> Result<Page<RelatedHit>, Error> {
        related::overrides(&Session::new(self, options)?, query)
    }

    /// Returns the imports of a module, or of a symbol.
    ///
    /// # Errors
    ///
    /// As `callers`.
    pub fn importers(&self, query: &str, options: Options<'_>) -> Result<Page<RelatedHit>, Error> {
        related::importers(&Session::new(self, options)?, query)
    }

    /// Returns where an attribute of this name is defined and set.
    ///
    /// # Errors
    ///
    /// As `references`.
    pub fn writers(&self, query: &str, options: Options<'_>) -> Result<References, Error> {
        references::writers(&Session::new(self, options)?, query)
    }

    /// Returns functions around a stack, innermost frame first, the most telling first.
    ///
    /// # Errors
    ///
    /// A bad cursor, a bad path filter.
    pub fn context(&self, frames: &[FrameAt], options: Options<'_>) -> Result<Page<ContextHit>, Error> {
        context::context(&Session::new(self, options)?, frames)
    }

    /// Whether a snapshot of the tree is there; until then each question reads what it needs.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.store.snapshot().is_some()
    }

    /// Returns the calls that reach the function, or may, whose name stands in a line.
    ///
    /// # Errors
    ///
    /// As `read`.
    pub fn callers_at(&self, path: &str, line: u32, options: Options<'_>) -> Result<Callers, Error> {
        callers::callers_at(&Session::new(self, options)?, path, line)
    }

    /// Reads every file that may hold symbols, until `is_over` says so, with so many threads; keeps it all on the
    /// disk, if there is a folder for it.
    pub fn build(&self, n_threads: usize, is_over: &(dyn Fn() -> bool + Sync)) -> Built {
        let options = Options {
            budget: Budget {
                max_files: usize::MAX,
                is_over,
            },
            ..Options::default()
        };
        match Session::new(self, options) {
            Ok(session) => build::build(self, &session, n_threads),
            Err(_) => Built::default(),
        }
    }

    /// Keeps what the roots held on the disk, for the next process.
    pub(crate) fn keep_listing(&self) {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(folder), Some(last)) = (self.store.folder(), &seen.last) {
            // Without it, the next process lists the tree again.
            let _ = SnapshotFile::write_listing(folder, &listing::encode(&last.found));
        }
    }

    /// Returns how far a build has come.
    #[must_use]
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Returns how many files of the tree are on the disk in their present state, and how many there are.
    #[must_use]
    pub fn coverage(&self) -> (usize, usize) {
        match Session::new(self, Options::default()) {
            Ok(session) => {
                let files = session.source_files();
                (
                    files.iter().filter(|idx| session.is_covered(**idx)).count(),
                    files.len(),
                )
            }
            Err(_) => (0, 0),
        }
    }

    /// Lets questions take the files for as they are now, without looking again: for many of them at once.
    pub fn hold(&self) {
        let tree = self.tree(Budget::unlimited());
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(tree);
    }

    /// Lets questions look at the files again.
    pub fn release(&self) {
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the lines that fit a pattern, in all text files.
    ///
    /// # Errors
    ///
    /// As `symbols`, and a pattern that is not a regular expression.
    pub fn text(&self, pattern: &TextPattern, options: Options<'_>) -> Result<Page<TextHit>, Error> {
        text::search(&Session::new(self, options)?, pattern)
    }

    /// Returns source lines with the headers of what they are in.
    ///
    /// # Errors
    ///
    /// As `symbols`, a file or a line that is not there, a path outside of the roots.
    pub fn read(&self, target: &ReadTarget, options: Options<'_>) -> Result<Reading, Error> {
        read::read(&Session::new(self, options)?, target)
    }

    /// Returns what is defined in a file.
    ///
    /// # Errors
    ///
    /// As `read`.
    pub fn outline(&self, path: &str, options: Options<'_>) -> Result<Outline, Error> {
        outline::outline(&Session::new(self, options)?, path)
    }

    /// Returns which files of a tree the snapshot has in their present state.
    pub(crate) fn covering(&self, tree: &Arc<Tree>) -> Option<Covering> {
        let snapshot = self.store.snapshot()?;
        let mut kept = self.covering.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept
            .as_ref()
            .filter(|it| Arc::ptr_eq(&it.tree, tree) && Arc::ptr_eq(&it.snapshot, &snapshot))
        {
            return Some(known.clone());
        }
        let mut back = vec![u32::MAX; snapshot.n_files()];
        let files = (0..).zip(&tree.files).map(|(idx, file)| {
            let found = snapshot
                .find(&file.path)
                .filter(|found| snapshot.entry(*found).stamp == file.stamp);
            if let Some(found) = found {
                back[found as usize] = idx;
            }
            found.unwrap_or(u32::MAX)
        });
        let files = files.collect();
        let covering = Covering {
            tree: Arc::clone(tree),
            snapshot,
            files,
            back: back.into(),
        };
        *kept = Some(covering.clone());
        Some(covering)
    }

    /// Returns the files as they are now.
    pub(crate) fn tree(&self, budget: Budget<'_>) -> Arc<Tree> {
        if let Some(held) = &*self.held.lock().unwrap_or_else(PoisonError::into_inner) {
            return Arc::clone(held);
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        for root in self.roots() {
            let known = seen
                .packages
                .get(&root.path)
                .filter(|_| root.origin == Origin::Package);
            let before = seen
                .last
                .as_ref()
                .and_then(|last| last.found.iter().find(|(it, _)| *it == root));
            let remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
            let before = before.or_else(|| remembered.iter().find(|(it, _)| *it == root));
            let refreshed = || before.and_then(|(_, before)| self.source.refresh(before));
            let listed = known
                .cloned()
                .or_else(refreshed)
                .unwrap_or_else(|| self.source.list(&root, &|| (budget.is_over)()));
            if root.origin == Origin::Package && !listed.is_partial {
                seen.packages
                    .entry(root.path.clone())
                    .or_insert_with(|| listed.clone());
            }
            found.push((root, listed));
        }
        if let Some(last) = seen.last.as_ref().filter(|last| last.found == found) {
            return Arc::clone(&last.tree);
        }
        let tree = Arc::new(Tree::new(found.clone()));
        seen.last = Some(Listed {
            found,
            tree: Arc::clone(&tree),
        });
        tree
    }
}
