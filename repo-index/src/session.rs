//! One question being answered: the files as they are now, the budget, and what is already known.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::answer::{Location, Options, Page, SymbolHit};
use crate::error::Error;
use crate::extract::extract;
use crate::facts::{FileFacts, Place};
use crate::filter::PathFilter;
use crate::identifiers::{Identifiers, hash_name};
use crate::index::{Covering, Index};
use crate::language::Language;
use crate::snapshot::checksum;
use crate::source::Content;
use crate::text::shown_line;
use crate::tree::{FileIdx, Tree};
use crate::work::map_in_parallel;

/// A definition of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SymbolId {
    pub(crate) file: FileIdx,
    pub(crate) definition: u32,
}

/// How many files' facts are in memory at once for a question about many.
const FILES_AT_ONCE: usize = 64;

/// Where in a file a name stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InPlace {
    /// Anywhere.
    Anywhere,
    /// In a place that may define it.
    Defined,
    /// In other places only.
    Used,
}

/// The state of one question.
pub(crate) struct Session<'q> {
    pub(crate) index: &'q Index,
    pub(crate) tree: Arc<Tree>,
    pub(crate) options: Options<'q>,
    pub(crate) filter: PathFilter,
    covering: Option<Covering>,
    n_parsed: AtomicUsize,
    n_unsearched: AtomicUsize,
    is_cut: AtomicBool,
    definers: Mutex<HashMap<String, Arc<[SymbolId]>>>,
    imports: Mutex<HashMap<FileIdx, Arc<HashSet<FileIdx>>>>,
}

impl<'q> Session<'q> {
    pub(crate) fn new(index: &'q Index, options: Options<'q>) -> Result<Self, Error> {
        let tree = index.tree(options.budget);
        let filter = PathFilter::new(options.path, &tree.roots)?;
        Ok(Self {
            is_cut: AtomicBool::new(tree.is_partial),
            covering: index.covering(&tree),
            index,
            tree,
            options,
            filter,
            n_parsed: AtomicUsize::new(0),
            n_unsearched: AtomicUsize::new(0),
            definers: Mutex::default(),
            imports: Mutex::default(),
        })
    }

    /// Returns the definitions that have exactly this name.
    pub(crate) fn definers(&self, name: &str) -> Arc<[SymbolId]> {
        let known = self
            .definers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(name)
            .cloned();
        if let Some(known) = known {
            return known;
        }
        let files: Vec<FileIdx> = (0..).zip(&self.tree.files).map(|(idx, _)| idx).collect();
        let files = self.files_with(&files, name, InPlace::Defined);
        let mut found = Vec::new();
        self.for_each_facts(&files, |file, facts| {
            let Some(id) = facts.name_id(name) else { return };
            let named = (0..).zip(&facts.definitions).filter(|(_, it)| it.name == id);
            found.extend(named.map(|(definition, _)| SymbolId { file, definition }));
        });
        let found: Arc<[SymbolId]> = found.into();
        let mut definers = self.definers.lock().unwrap_or_else(PoisonError::into_inner);
        definers.insert(name.into(), Arc::clone(&found));
        found
    }

    /// Returns the files that a file imports, worked out once.
    pub(crate) fn imports_of(
        &self,
        file: FileIdx,
        find: impl FnOnce() -> HashSet<FileIdx>,
    ) -> Arc<HashSet<FileIdx>> {
        let known = self
            .imports
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&file)
            .cloned();
        known.unwrap_or_else(|| {
            let found = Arc::new(find());
            let mut imports = self.imports.lock().unwrap_or_else(PoisonError::into_inner);
            imports.insert(file, Arc::clone(&found));
            found
        })
    }

    /// Returns the names that a method's own object goes by in the language of a file.
    pub(crate) fn self_names(&self, file: FileIdx) -> &'static [&'static str] {
        self.tree
            .file(file)
            .language
            .unwrap_or(&crate::language::LANGUAGES[0])
            .self_names
    }

    /// Returns the facts of a file, unless it has none or the budget is spent.
    pub(crate) fn facts(&self, idx: FileIdx) -> Option<Arc<FileFacts>> {
        let file = self.tree.file(idx);
        if let Some(facts) = self.index.store.facts(&file.path, file.stamp) {
            return Some(facts);
        }
        if !file.may_be_source() || !self.may_read() {
            return None;
        }
        let Content::Text(text, stamp) = self.index.source.read(&file.path) else {
            return None;
        };
        let language = file.language.or_else(|| Language::of_first_line(&text))?;
        let known = self
            .index
            .store
            .facts_of_text(&file.path, checksum(text.as_bytes()));
        let extracted = || extract(language, &text, &|| (self.options.budget.is_over)());
        let Some(facts) = known.or_else(extracted) else {
            self.cut();
            return None;
        };
        let facts = Arc::new(facts);
        self.index.store.keep_facts(&file.path, stamp, &facts);
        Some(facts)
    }

    /// Returns the files of `among` that mention a name, or that may define it, by what is known of their names.
    pub(crate) fn files_with(&self, among: &[FileIdx], name: &str, place: InPlace) -> Vec<FileIdx> {
        let hash = hash_name(name);
        let mut wanted: HashSet<FileIdx> = HashSet::new();
        if let Some(covering) = &self.covering {
            let named = covering.snapshot.naming(hash).into_iter();
            let fitting =
                named.filter(|it| place == InPlace::Anywhere || it.defines == (place == InPlace::Defined));
            wanted.extend(fitting.map(|it| covering.back[it.file as usize]));
        }
        let unknown: Vec<FileIdx> = among
            .iter()
            .copied()
            .filter(|idx| !self.is_covered(*idx))
            .collect();
        let verdicts = map_in_parallel(&unknown, self.index.n_threads, |idx| {
            self.identifiers(*idx).is_some_and(|it| match place {
                InPlace::Anywhere => it.mentions(hash),
                InPlace::Defined => it.may_define(hash),
                InPlace::Used => it.mentions(hash) && !it.may_define(hash),
            })
        });
        let fitting = unknown.iter().zip(verdicts).filter(|(_, is_wanted)| *is_wanted);
        wanted.extend(fitting.map(|(idx, _)| *idx));
        if wanted.is_empty() {
            return Vec::new();
        }
        among.iter().copied().filter(|idx| wanted.contains(idx)).collect()
    }

    /// Whether the snapshot has a file in its present state.
    pub(crate) fn is_covered(&self, idx: FileIdx) -> bool {
        self.covering
            .as_ref()
            .is_some_and(|it| it.files[idx as usize] != u32::MAX)
    }

    /// Returns the names of definitions in files, for a search that forgives.
    pub(crate) fn defined_names(&self, files: &[FileIdx]) -> HashSet<Box<str>> {
        let unknown: Vec<FileIdx> = files
            .iter()
            .copied()
            .filter(|idx| !self.is_covered(*idx))
            .collect();
        let identifiers = map_in_parallel(&unknown, self.index.n_threads, |idx| self.identifiers(*idx));
        let names = identifiers
            .iter()
            .flatten()
            .flat_map(|it| it.names.iter().cloned());
        let mut names: HashSet<Box<str>> = names.collect();
        if let Some(covering) = &self.covering {
            names.extend(covering.snapshot.defined().iter().cloned());
        }
        names
    }

    /// Returns the names in a file; they cost little, so only the time limits them.
    pub(crate) fn identifiers(&self, idx: FileIdx) -> Option<Arc<Identifiers>> {
        let file = self.tree.file(idx);
        if let Some(identifiers) = self.index.store.identifiers(&file.path, file.stamp) {
            return Some(identifiers);
        }
        if (self.options.budget.is_over)() {
            self.leave_out(1);
            return None;
        }
        let Content::Text(text, stamp) = self.index.source.read(&file.path) else {
            return None;
        };
        let language = file.language.or_else(|| Language::of_first_line(&text));
        let identifiers = language
            .map(|it| Identifiers::scan(it, &text))
            .unwrap_or_default();
        let identifiers = Arc::new(identifiers);
        self.index.store.keep_identifiers(&file.path, stamp, &identifiers);
        Some(identifiers)
    }

    /// Returns the facts of several files; those that the budget leaves out are missing.
    pub(crate) fn facts_of(&self, files: &[FileIdx]) -> Vec<(FileIdx, Arc<FileFacts>)> {
        let facts = map_in_parallel(files, self.index.n_threads, |idx| {
            let was_cut = self.is_partial();
            let facts = self.facts(*idx);
            if facts.is_none() && (was_cut || self.is_partial()) {
                self.n_unsearched.fetch_add(1, Ordering::Relaxed);
            }
            facts
        });
        files
            .iter()
            .zip(facts)
            .filter_map(|(idx, facts)| Some((*idx, facts?)))
            .collect()
    }

    /// Does something with the facts of each file, a few files at a time; those that the budget leaves out are missing.
    pub(crate) fn for_each_facts(&self, files: &[FileIdx], mut work: impl FnMut(FileIdx, &Arc<FileFacts>)) {
        for some in files.chunks(FILES_AT_ONCE) {
            for (file, facts) in self.facts_of(some) {
                work(file, &facts);
            }
        }
    }

    /// Takes one file from the budget, if there is one left.
    pub(crate) fn may_read(&self) -> bool {
        let budget = &self.options.budget;
        let is_left = self.n_parsed.fetch_add(1, Ordering::Relaxed) < budget.max_files && !(budget.is_over)();
        if !is_left {
            self.cut();
        }
        is_left
    }

    /// Says that the answer leaves out some files.
    pub(crate) fn leave_out(&self, n_files: usize) {
        self.n_unsearched.fetch_add(n_files, Ordering::Relaxed);
        self.cut();
    }

    fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_partial(&self) -> bool {
        self.is_cut.load(Ordering::Relaxed)
    }

    /// Returns the files that may hold symbols and that the path filter lets through.
    pub(crate) fn source_files(&self) -> Vec<FileIdx> {
        let files = (0..).zip(&self.tree.files);
        let wanted = files.filter(|(_, file)| file.may_be_source() && self.filter.allows(&file.shown));
        wanted.map(|(idx, _)| idx).collect()
    }

    /// Returns the part of an answer that is asked for.
    pub(crate) fn page<T, R>(
        &self,
        found: &[T],
        n_files: usize,
        show: impl FnMut(&T) -> R,
    ) -> Result<Page<R>, Error> {
        let start = self.options.start()?;
        let items = found
            .iter()
            .skip(start)
            .take(self.options.limit)
            .map(show)
            .collect();
        Ok(self.page_of(items, start, found.len(), n_files))
    }

    pub(crate) fn page_of<R>(
        &self,
        items: Vec<R>,
        start: usize,
        n_matches: usize,
        n_files: usize,
    ) -> Page<R> {
        Page {
            items,
            n_matches,
            next_cursor: self.options.next_cursor(start, n_matches),
            is_partial: self.is_partial(),
            n_files_searched: n_files.saturating_sub(self.n_unsearched.load(Ordering::Relaxed)),
            n_files,
        }
    }

    pub(crate) fn location(&self, idx: FileIdx, line: u32, column: u32) -> Location {
        let file = self.tree.file(idx);
        let root = &self.tree.roots[file.root];
        Location {
            path: file.shown.clone(),
            root: root.label.clone(),
            origin: file.origin,
            line,
            column,
        }
    }
}

/// The texts that one answer shows lines of.
#[derive(Default)]
pub(crate) struct Texts {
    texts: RefCell<HashMap<FileIdx, Arc<str>>>,
}

impl Texts {
    /// Returns the text of a file; one that has vanished since is empty.
    pub(crate) fn text(&self, session: &Session<'_>, idx: FileIdx) -> Arc<str> {
        let mut texts = self.texts.borrow_mut();
        let text = texts.entry(idx).or_insert_with(|| {
            match session.index.source.read(&session.tree.file(idx).path) {
                Content::Text(text, _) => text.into(),
                _ => "".into(),
            }
        });
        Arc::clone(text)
    }

    /// Returns where a place is, and its line.
    pub(crate) fn at(&self, session: &Session<'_>, idx: FileIdx, place: Place) -> (Location, String) {
        let text = self.text(session, idx);
        let (column, line) = shown_line(&text, place.offset as usize);
        (session.location(idx, place.line, column), line)
    }
}

/// Returns a definition as an answer shows it.
pub(crate) fn symbol_hit(
    session: &Session<'_>,
    texts: &Texts,
    facts: &FileFacts,
    symbol: SymbolId,
    fit: crate::answer::Fit,
) -> SymbolHit {
    let definition = &facts.definitions[symbol.definition as usize];
    let (location, text) = texts.at(session, symbol.file, definition.name_at);
    let list = |names: &[crate::facts::NameId]| names.iter().map(|name| facts.text(*name).into()).collect();
    SymbolHit {
        name: facts.qualified_name(symbol.definition),
        module: session.tree.file(symbol.file).module.clone(),
        kind: definition.kind,
        location,
        first_line: definition.lines.0,
        last_line: definition.lines.1,
        text,
        bases: list(&definition.bases),
        decorators: list(&definition.decorators),
        doc: definition.doc.map(|doc| facts.text(doc).into()),
        fit,
    }
}
