//! The disk: the only module that touches it. Whatever goes wrong with a file is said as data.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata};
use std::io::{BufWriter, ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use ignore::{DirEntry, WalkBuilder};

use crate::source::{Content, Found, FoundFile, Origin, Root, Skipped, Source, Stamp};

/// Larger files are data, not source.
pub const MAX_FILE_SIZE: u64 = 2 * 1024 * 1024;

/// A file with a zero byte within its first bytes is not text, as git has it.
const SNIFFED: usize = 8000;

/// Files that say what to leave out.
const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

/// Folders that hold other people's code, or nothing to read.
const SKIPPED_FOLDERS: [&str; 3] = ["__pycache__", "node_modules", "site-packages"];

/// The files of this machine.
pub struct Disk;

impl Source for Disk {
    fn list(&self, root: &Root, is_over: &dyn Fn() -> bool) -> Found {
        let mut builder = WalkBuilder::new(&root.path);
        builder.require_git(false).follow_links(false);
        if root.origin == Origin::Package {
            builder.standard_filters(false).hidden(true);
        }
        builder.filter_entry(|entry| entry.depth() == 0 || !is_skipped_folder(entry));
        let mut found = Found::default();
        for entry in builder.build() {
            if is_over() {
                found.is_partial = true;
                break;
            }
            match entry {
                Ok(entry) => {
                    watch(&entry, &mut found);
                    take_entry(root, entry, &mut found);
                }
                Err(error) => found.skipped.push(Skipped {
                    path: root.path.clone(),
                    why: error.to_string(),
                }),
            }
        }
        found
    }

    fn refresh(&self, before: &Found) -> Option<Found> {
        let is_same = |it: &FoundFile| stamp_at(&it.path) == it.stamp;
        // What was too large may no longer be, and a cut list is to be made whole.
        let is_still_large =
            |it: &Skipped| fs::metadata(&it.path).is_ok_and(|it| it.is_file() && it.len() > MAX_FILE_SIZE);
        if before.is_partial || before.watched.is_empty() || !before.skipped.iter().all(is_still_large) {
            return None;
        }
        if !before.watched.iter().all(is_same) {
            return None;
        }
        let mut found = before.clone();
        for file in &mut found.files {
            file.stamp = fs::metadata(&file.path)
                .ok()
                .filter(Metadata::is_file)
                .map(|it| stamp_of(&it))?;
        }
        found
            .files
            .iter()
            .all(|it| it.stamp.size <= MAX_FILE_SIZE)
            .then_some(found)
    }

    fn read(&self, path: &Path) -> Content {
        match read_text(path) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => Content::Gone,
            Err(error) => Content::Refused(error.to_string()),
        }
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        fs::canonicalize(path).ok()
    }
}

/// A file of our own that never changes, read piece by piece.
pub(crate) struct Blob {
    file: File,
    len: u64,
}

impl Blob {
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let metadata = file.metadata().ok().filter(Metadata::is_file)?;
        Some(Self {
            len: metadata.len(),
            file,
        })
    }

    /// Returns the bytes at an offset; nothing if there are not so many.
    pub(crate) fn read(&self, offset: u64, len: usize) -> Option<Vec<u8>> {
        if offset.checked_add(len as u64)? > self.len {
            return None;
        }
        let mut bytes = vec![0; len];
        self.file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

/// A snapshot that is being written; it takes its name when it is whole.
pub(crate) struct SnapshotFile {
    file: BufWriter<File>,
    written: PathBuf,
    path: PathBuf,
}

impl SnapshotFile {
    /// Returns where the snapshot of a folder is.
    pub(crate) fn path_in(folder: &Path) -> PathBuf {
        folder.join("symbols.idx")
    }

    /// Starts a snapshot; nothing if the folder cannot be written.
    pub(crate) fn create(folder: &Path) -> Option<Self> {
        fs::create_dir_all(folder).ok()?;
        // What is made from the sources is not committed with them.
        let _ = fs::write(folder.join(".gitignore"), "*\n");
        remove_leftovers(folder);
        // Two writers do not meet: each has a file of its own.
        static N_CREATED: AtomicUsize = AtomicUsize::new(0);
        let number = N_CREATED.fetch_add(1, Ordering::Relaxed);
        let written = folder.join(format!(".symbols-{}-{number}.part", std::process::id()));
        let mut file = BufWriter::new(File::create(&written).ok()?);
        file.write_all(&[0; crate::snapshot::HEADER_LEN]).ok()?;
        Some(Self {
            file,
            written,
            path: Self::path_in(folder),
        })
    }

    /// Returns what was kept in a folder of what the roots held.
    pub(crate) fn read_listing(folder: &Path) -> Option<Vec<u8>> {
        fs::read(folder.join("listing.idx")).ok()
    }

    /// Keeps what the roots held.
    pub(crate) fn write_listing(folder: &Path, bytes: &[u8]) -> Option<()> {
        let written = folder.join(format!(".listing-{}.part", std::process::id()));
        let kept = fs::write(&written, bytes).and_then(|()| fs::rename(&written, folder.join("listing.idx")));
        if kept.is_err() {
            let _ = fs::remove_file(&written);
        }
        kept.ok()
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> Option<()> {
        self.file.write_all(bytes).ok()
    }

    /// Writes what is left, and gives the file its name.
    pub(crate) fn finish(mut self, tables: &[u8], header: &[u8]) -> Option<PathBuf> {
        self.file.write_all(tables).ok()?;
        self.file.flush().ok()?;
        let file = self.file.get_ref();
        file.write_all_at(header, 0).ok()?;
        // After a power cut the name must not lead to less than was written.
        file.sync_data().ok()?;
        fs::rename(&self.written, &self.path).ok()?;
        Some(self.path.clone())
    }
}

/// Removes what a writer that was killed has left behind.
fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let writer = name.strip_suffix(".part").and_then(|name| name.split('-').nth(1));
        if writer.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

impl Drop for SnapshotFile {
    fn drop(&mut self) {
        // After `finish` it is no longer there.
        let _ = fs::remove_file(&self.written);
    }
}

fn is_skipped_folder(entry: &DirEntry) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    let name = entry.file_name();
    is_folder
        && (SKIPPED_FOLDERS.iter().any(|skipped| name == OsStr::new(skipped))
            || entry.path().join("pyvenv.cfg").exists())
}

/// Notes what has to be looked at to see whether files come or go.
fn watch(entry: &DirEntry, found: &mut Found) {
    if !entry.file_type().is_some_and(|kind| kind.is_dir()) {
        return;
    }
    let folder = entry.path();
    let files = IGNORE_FILES
        .iter()
        .map(|name| folder.join(name))
        .filter(|path| path.exists());
    for path in std::iter::once(folder.to_owned()).chain(files) {
        let stamp = stamp_at(&path);
        found.watched.push(FoundFile { path, stamp });
    }
}

fn take_entry(root: &Root, entry: DirEntry, found: &mut Found) {
    // A link to a file counts as the file while it stays inside; a link to a folder is never followed.
    let is_link = entry.file_type().is_some_and(|kind| kind.is_symlink());
    let metadata = if is_link {
        fs::metadata(entry.path()).ok()
    } else {
        entry.metadata().ok()
    };
    let Some(metadata) = metadata.filter(Metadata::is_file) else {
        return;
    };
    if is_link && !fs::canonicalize(entry.path()).is_ok_and(|real| real.starts_with(&root.path)) {
        return;
    }
    let stamp = stamp_of(&metadata);
    if stamp.size > MAX_FILE_SIZE {
        let why = format!("{} bytes, more than {MAX_FILE_SIZE}", stamp.size);
        found.skipped.push(Skipped {
            path: entry.into_path(),
            why,
        });
    } else {
        found.files.push(FoundFile {
            path: entry.into_path(),
            stamp,
        });
    }
}

fn read_text(path: &Path) -> std::io::Result<Content> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Content::Refused("not a regular file".into()));
    }
    let stamp = stamp_of(&metadata);
    if stamp.size > MAX_FILE_SIZE {
        return Ok(Content::TooLarge(stamp.size));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(stamp.size).unwrap_or(0) + 1);
    // The file may grow while it is read.
    Read::by_ref(&mut file)
        .take(MAX_FILE_SIZE)
        .read_to_end(&mut bytes)?;
    if memchr::memchr(0, &bytes[..bytes.len().min(SNIFFED)]).is_some() {
        return Ok(Content::Binary);
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    Ok(Content::Text(text, stamp))
}

/// Returns the state of a folder or file; one that is gone has none.
fn stamp_at(path: &Path) -> Stamp {
    fs::metadata(path)
        .map(|metadata| stamp_of(&metadata))
        .unwrap_or_default()
}

fn stamp_of(metadata: &Metadata) -> Stamp {
    let since = metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Stamp {
        modified: since.map_or(0, |since| since.as_nanos()),
        size: metadata.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(root: &Root) -> Vec<String> {
        let found = Disk.list(root, &|| false);
        let name = |file: &FoundFile| {
            file.path
                .strip_prefix(&root.path)
                .map(|it| it.display().to_string())
        };
        let mut names: Vec<_> = found.files.iter().filter_map(|file| name(file).ok()).collect();
        names.sort();
        names
    }

    fn write(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn a_project_is_listed_without_what_is_not_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::project(folder.path().canonicalize().unwrap(), "p");
        for name in [
            "a.py",
            "build/out.py",
            "env/lib/x.py",
            "pkg/b.py",
            "pkg/__pycache__/c.py",
        ] {
            write(&root.path, name, b"x = 1\n");
        }
        write(&root.path, ".gitignore", b"build/\n");
        write(&root.path, "env/pyvenv.cfg", b"");
        write(
            &root.path,
            "huge.py",
            &vec![b'x'; usize::try_from(MAX_FILE_SIZE).unwrap() + 1],
        );
        assert_eq!(names(&root), ["a.py", "pkg/b.py"]);
        assert_eq!(Disk.list(&root, &|| false).skipped.len(), 1);
        assert!(Disk.list(&root, &|| true).is_partial);
        assert_eq!(
            names(&Root {
                origin: Origin::Package,
                ..root
            }),
            ["a.py", "build/out.py", "pkg/b.py"]
        );
    }

    #[test]
    fn links_do_not_lead_round_or_out() {
        let outside = tempfile::tempdir().unwrap();
        let secret = write(outside.path(), "secret.py", b"");
        let folder = tempfile::tempdir().unwrap();
        let root = Root::project(folder.path().canonicalize().unwrap(), "p");
        let file = write(&root.path, "pkg/a.py", b"");
        std::os::unix::fs::symlink(&root.path, root.path.join("pkg/loop")).unwrap();
        std::os::unix::fs::symlink(secret, root.path.join("pkg/out.py")).unwrap();
        std::os::unix::fs::symlink(file, root.path.join("again.py")).unwrap();
        std::os::unix::fs::symlink("nowhere", root.path.join("dangling.py")).unwrap();
        assert_eq!(names(&root), ["again.py", "pkg/a.py"]);
    }

    #[test]
    fn what_cannot_be_read_is_data() {
        let folder = tempfile::tempdir().unwrap();
        let check = |name: &str, bytes: &[u8], expect: &str| {
            let content = match Disk.read(&write(folder.path(), name, bytes)) {
                Content::Text(text, _) => text,
                other => format!("{other:?}"),
            };
            assert_eq!(content, expect, "{name}");
        };
        check(
            "latin.py",
            b"# -*- coding: latin-1 -*-\nx = '\xe9'\n",
            "# -*- coding: latin-1 -*-\nx = '\u{fffd}'\n",
        );
        check("mark.py", b"\xef\xbb\xbfx = 1\n", "x = 1\n");
        check("binary.py", b"x\0y", "Binary");
        assert_eq!(Disk.read(&folder.path().join("none.py")), Content::Gone);
        assert!(matches!(Disk.read(folder.path()), Content::Refused(_)));
    }
}
