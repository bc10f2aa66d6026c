//! Asks an interpreter once what it is, and finds one of a given version.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::folders::{make, write_whole};

/// The file of the cache that remembers the answers.
const KNOWN_FILE: &str = "interpreters.json";

/// What an interpreter says of itself.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub(crate) struct Interpreter {
    /// `cpython`, `pypy`.
    pub(crate) implementation: String,
    /// Major, minor, micro.
    pub(crate) version: (u32, u32, u32),
    /// Whether it is a free-threaded build.
    pub(crate) free_threaded: bool,
    /// Its own idea of its file.
    pub(crate) executable: String,
}

/// Python 2 must be able to say who it is, too.
const QUESTION: &str = "import sys\n\
    print('%s|%d|%d|%d|%s|%s' % ((getattr(getattr(sys, 'implementation', None), 'name', 'python'),) \
    + tuple(sys.version_info[:3]) + (getattr(sys, 'abiflags', ''), sys.executable)))";

impl Interpreter {
    /// Returns `CPython 3.12.1`.
    pub(crate) fn name(&self) -> String {
        let (major, minor, micro) = self.version;
        let implementation = match self.implementation.as_str() {
            "cpython" => "CPython",
            "pypy" => "PyPy",
            _ => "Python",
        };
        let build = if self.free_threaded {
            " (free-threaded)"
        } else {
            ""
        };
        format!("{implementation} {major}.{minor}.{micro}{build}")
    }

    /// Says why the runtime cannot work in it.
    pub(crate) fn refuse(&self, file: &Path) -> Result<()> {
        let (major, minor, _) = self.version;
        if self.implementation == "cpython" && (major, minor) >= (3, 11) && !self.free_threaded {
            return Ok(());
        }
        Err(Error::usage(
            format!(
                "`{}` is {}; healmcp needs CPython 3.11 or later, with its global lock",
                file.display(),
                self.name()
            ),
            "name another interpreter, such as `healmcp run -- python3.12 …`, \
             or make the program's virtual environment with one",
        ))
    }

    fn from_answer(answer: &str) -> Option<Self> {
        let mut parts = answer.trim().splitn(6, '|');
        let implementation = parts.next()?.to_owned();
        let mut number = || parts.next()?.parse().ok();
        let version = (number()?, number()?, number()?);
        let free_threaded = parts.next()?.contains('t');
        Some(Self {
            implementation,
            version,
            free_threaded,
            executable: parts.next()?.to_owned(),
        })
    }
}

/// Asks the interpreter at `file`, or remembers its last answer while the file is unchanged.
pub(crate) fn probe(file: &Path, cache: &Path) -> Result<Interpreter> {
    let known_path = cache.join(KNOWN_FILE);
    let mut known: BTreeMap<String, Interpreter> = fs::read_to_string(&known_path)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let key = key_of(file);
    if let Some(found) = key.as_ref().and_then(|key| known.get(key)) {
        return Ok(found.clone());
    }
    let interpreter = ask(file)?;
    if let Some(key) = key {
        known.insert(key, interpreter.clone());
        if let Ok(text) = serde_json::to_string(&known) {
            make(cache)?;
            write_whole(&known_path, &text)?;
        }
    }
    Ok(interpreter)
}

/// Names a file in its present state. A shim (a script that chooses an interpreter by the current folder) has no name.
fn key_of(file: &Path) -> Option<String> {
    let mut start = [0; 2];
    let mut opened = fs::File::open(file).ok()?;
    std::io::Read::read_exact(&mut opened, &mut start).ok()?;
    if &start == b"#!" {
        return None;
    }
    let found = opened.metadata().ok()?;
    let absolute = std::path::absolute(file).ok()?;
    Some(format!(
        "{} {}.{} {}",
        absolute.display(),
        found.mtime(),
        found.mtime_nsec(),
        found.len()
    ))
}

fn ask(file: &Path) -> Result<Interpreter> {
    let answer = Command::new(file)
        .args(["-E", "-S", "-c", QUESTION])
        .env_remove("PYTHONPATH")
        .stdin(Stdio::null())
        .output();
    let said = match answer {
        Ok(answer) => match Interpreter::from_answer(&String::from_utf8_lossy(&answer.stdout)) {
            Some(interpreter) => return Ok(interpreter),
            None => first_or_last(&String::from_utf8_lossy(&answer.stderr)),
        },
        Err(error) => error.to_string(),
    };
    Err(Error::usage(
        format!("`{}` does not say which Python it is: {said}", file.display()),
        format!("try `{} --version`", file.display()),
    ))
}

/// A traceback says it in its last line, anything else in its first.
fn first_or_last(said: &str) -> String {
    let mut lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next().unwrap_or("no answer");
    let line = if first.starts_with("Traceback") {
        lines.next_back().unwrap_or(first)
    } else {
        first
    };
    line.to_owned()
}

/// Finds an interpreter of a version such as `3.12`: on the path, among pyenv's, then in `folder`.
pub(crate) fn find_version(
    version: &str,
    search: &[PathBuf],
    home: Option<&Path>,
    folder: Option<&Path>,
) -> Result<PathBuf> {
    let name = format!("python{version}");
    let on_path = search.iter().map(|entry| entry.join(&name));
    let pyenv = home
        .map(|home| home.join(".pyenv/versions"))
        .into_iter()
        .flat_map(|versions| {
            let mut found = numbered(&versions, version);
            found.sort();
            found.into_iter().rev().map(|(_, path)| path.join("bin/python"))
        });
    let told = folder.into_iter().flat_map(|folder| {
        let nested = numbered(folder, version)
            .into_iter()
            .map(|(_, path)| path.join("bin/python"));
        [folder.join(&name), folder.join("bin").join(&name)]
            .into_iter()
            .chain(nested)
    });
    let mut candidates = on_path.chain(pyenv).chain(told).filter(|path| path.is_file());
    let wanted = |path: &PathBuf| {
        ask(path).is_ok_and(|found| format!("{}.{}", found.version.0, found.version.1) == version)
    };
    candidates.find(wanted).ok_or_else(|| {
        Error::usage(
            format!("no Python {version} was found on PATH or among pyenv's versions"),
            format!("install it (`pyenv install {version}`), or give its folder with --python-dir"),
        )
    })
}

/// Lists the folders of `versions` that are named `VERSION.MICRO`, with the micro number.
fn numbered(versions: &Path, version: &str) -> Vec<(u32, PathBuf)> {
    let Ok(entries) = versions.read_dir() else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let micro = name.strip_prefix(version)?.strip_prefix('.')?.parse().ok()?;
            Some((micro, entry.path()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, expect: &str) {
        let interpreter = Interpreter::from_answer(answer).unwrap();
        let said = match interpreter.refuse(Path::new("python")) {
            Ok(()) => interpreter.name(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said, expect);
    }

    #[test]
    fn old_and_other_interpreters_are_refused() {
        let needs = "healmcp needs CPython 3.11 or later, with its global lock";
        check("cpython|3|12|1||/usr/bin/python", "CPython 3.12.1");
        check(
            "cpython|3|10|13||/usr/bin/python",
            &format!("`python` is CPython 3.10.13; {needs}"),
        );
        check(
            "python|2|7|18||/usr/bin/python",
            &format!("`python` is Python 2.7.18; {needs}"),
        );
        check(
            "pypy|3|11|9||/usr/bin/pypy",
            &format!("`python` is PyPy 3.11.9; {needs}"),
        );
        check(
            "cpython|3|13|0|t|/p",
            &format!("`python` is CPython 3.13.0 (free-threaded); {needs}"),
        );
    }

    #[test]
    fn pyenv_versions_are_ordered_by_number() {
        let temporary = tempfile::tempdir().unwrap();
        for name in ["3.12.9", "3.12.10", "3.1.2", "3.12-dev"] {
            fs::create_dir(temporary.path().join(name)).unwrap();
        }
        let mut found: Vec<u32> = numbered(temporary.path(), "3.12")
            .into_iter()
            .map(|(micro, _)| micro)
            .collect();
        found.sort_unstable();
        assert_eq!(found, [9, 10]);
    }
}
