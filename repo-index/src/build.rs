//! Reads a whole tree into a snapshot.
//!
//! A file that the last snapshot has in the same state is copied; only the others are parsed. Facts go to the disk as
//! they come, so that memory stays small, whatever the size of the tree.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::codec::encode;
use crate::disk::{Blob, SnapshotFile};
use crate::extract::extract;
use crate::index::Index;
use crate::language::Language;
use crate::session::Session;
use crate::snapshot::{Filed, HEADER_LEN, Snapshot, checksum, header, pack, tables};
use crate::source::Content;
use crate::tree::FileIdx;
use crate::work::map_in_parallel;

/// What building an index did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Built {
    /// Files that hold symbols.
    pub n_files: usize,
    /// Files that were parsed, as nothing was known of them.
    pub n_parsed: usize,
    /// Bytes of the index on the disk; none if it has no folder.
    pub n_bytes: u64,
    /// Bytes of the sources.
    pub n_source_bytes: u64,
    /// Whether every file is in it.
    pub is_whole: bool,
}

/// How far a build has come.
#[derive(Debug, Default)]
pub struct Progress {
    pub(crate) n_done: AtomicUsize,
    pub(crate) n_all: AtomicUsize,
}

impl Progress {
    /// Returns how many files are done, and how many there are; nothing is done before it starts.
    #[must_use]
    pub fn get(&self) -> (usize, usize) {
        (
            self.n_done.load(Ordering::Relaxed),
            self.n_all.load(Ordering::Relaxed),
        )
    }
}

/// Builds the snapshot of an index, with so many threads.
pub(crate) fn build(index: &Index, session: &Session<'_>, n_threads: usize) -> Built {
    let mut files = session.source_files();
    files.sort_by(|one, other| session.tree.file(*one).path.cmp(&session.tree.file(*other).path));
    index.progress.n_done.store(0, Ordering::Relaxed);
    index.progress.n_all.store(files.len(), Ordering::Relaxed);
    let mut built = Built {
        n_files: files.len(),
        n_source_bytes: files.iter().map(|idx| session.tree.file(*idx).stamp.size).sum(),
        ..Built::default()
    };
    let Some(writer) = index.store.folder().and_then(SnapshotFile::create) else {
        let done = map_in_parallel(&files, n_threads, |idx| {
            let is_done = session.facts(*idx).is_some();
            session.identifiers(*idx);
            index.progress.n_done.fetch_add(1, Ordering::Relaxed);
            is_done
        });
        built.n_parsed = done.iter().filter(|it| **it).count();
        built.is_whole = !session.is_partial();
        return built;
    };
    let writer = Mutex::new((writer, HEADER_LEN as u64));
    let old = index.store.snapshot();
    let n_parsed = AtomicUsize::new(0);
    let filed = map_in_parallel(&files, n_threads, |idx| {
        let found = file(session, old.as_deref(), *idx, &n_parsed);
        index.progress.n_done.fetch_add(1, Ordering::Relaxed);
        let (mut filed, bytes) = found?;
        let mut writer = writer.lock().ok()?;
        let (file, offset) = &mut *writer;
        filed.offset = *offset;
        file.append(&bytes)?;
        *offset += bytes.len() as u64;
        Some(filed)
    });
    built.n_parsed = n_parsed.load(Ordering::Relaxed);
    if session.is_partial() {
        return built;
    }
    let filed: Vec<Filed> = filed.into_iter().flatten().collect();
    let Ok((writer, offset)) = writer.into_inner() else {
        return built;
    };
    let tables = tables(&filed);
    drop(filed);
    let snapshot = writer
        .finish(&tables, &header(offset, &tables))
        .and_then(|path| Snapshot::read(Blob::open(&path)?));
    if let Some(snapshot) = snapshot {
        built.n_bytes = snapshot.len;
        built.is_whole = true;
        index.store.keep_snapshot(snapshot);
        index.keep_listing();
    }
    built
}

/// Returns the segment of one file, and what it is filed under.
fn file(
    session: &Session<'_>,
    old: Option<&Snapshot>,
    idx: FileIdx,
    n_parsed: &AtomicUsize,
) -> Option<(Filed, Vec<u8>)> {
    let file = session.tree.file(idx);
    let known = old.and_then(|old| Some((old, old.find(&file.path)?)));
    if let Some((old, known)) = known
        && old.entry(known).stamp == file.stamp
        && let (Some(bytes), Some(facts)) = (old.segment(known), old.facts(known))
    {
        let names = Snapshot::names_of(&facts);
        return Some((
            filed(
                file.path.clone(),
                file.stamp,
                old.entry(known).hash,
                &bytes,
                names,
            ),
            bytes,
        ));
    }
    if (session.options.budget.is_over)() {
        session.leave_out(1);
        return None;
    }
    let Content::Text(text, stamp) = session.index.source.read(&file.path) else {
        return None;
    };
    let language = file.language.or_else(|| Language::of_first_line(&text))?;
    n_parsed.fetch_add(1, Ordering::Relaxed);
    let Some(facts) = extract(language, &text, &|| (session.options.budget.is_over)()) else {
        session.leave_out(1);
        return None;
    };
    let bytes = pack(&encode(&facts));
    let names = Snapshot::names_of(&facts);
    Some((
        filed(file.path.clone(), stamp, checksum(text.as_bytes()), &bytes, names),
        bytes,
    ))
}

fn filed(
    path: std::path::PathBuf,
    stamp: crate::source::Stamp,
    hash: u64,
    bytes: &[u8],
    names: crate::snapshot::Names,
) -> Filed {
    Filed {
        path,
        stamp,
        hash,
        offset: 0,
        len: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
        checksum: checksum(bytes),
        names,
    }
}
