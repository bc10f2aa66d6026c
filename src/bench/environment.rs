//! One virtual environment an instance, made once and kept in the user's cache.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use super::instance::Instance;
use crate::error::{Error, Result};
use crate::folders::{cannot, make};
use crate::launch;

/// The versions of Python that are looked for where none is named, newest first.
const VERSIONS: [&str; 4] = ["3.14", "3.13", "3.12", "3.11"];

/// The folder of the cache that holds the environments.
const BENCH_FOLDER: &str = "bench";

/// Finds interpreters by version, each once.
#[derive(Debug)]
pub(crate) struct Interpreters {
    /// The folders of `$PATH`.
    pub(crate) search: Vec<PathBuf>,
    /// The user's home, for pyenv's versions.
    pub(crate) home: Option<PathBuf>,
    /// `--python-dir`.
    pub(crate) told: Option<PathBuf>,
    /// What was found before.
    pub(crate) found: Mutex<HashMap<String, PathBuf>>,
}

impl Interpreters {
    /// Finds the newest interpreter that healmcp works in.
    pub(crate) fn newest(&self) -> Result<PathBuf> {
        let found = VERSIONS.iter().find_map(|version| self.find(version).ok());
        found.ok_or_else(|| {
            Error::usage(
                "no Python 3.11 or later was found on PATH or among pyenv's versions",
                "name one with --python",
            )
        })
    }

    fn find(&self, version: &str) -> Result<PathBuf> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = found.get(version) {
            return Ok(path.clone());
        }
        let path = launch::find_version(version, &self.search, self.home.as_deref(), self.told.as_deref())?;
        found.insert(version.to_owned(), path.clone());
        Ok(path)
    }
}

/// Returns the interpreter of an instance's environment, which is made unless a complete one is there.
pub(crate) fn prepare(instance: &Instance, cache: &Path, interpreters: &Interpreters) -> Result<PathBuf> {
    let folder = cache.join(BENCH_FOLDER).join(&instance.id);
    let python = folder.join("bin/python");
    // Written last: an environment without it, or of other packages, is made again.
    let complete = folder.join("complete");
    let wanted = format!(
        "{}\n{}\n{}\n",
        instance.python,
        instance.buggy,
        instance.requires.join("\n")
    );
    if fs::read_to_string(&complete).is_ok_and(|text| text == wanted) && python.exists() {
        return Ok(python);
    }
    let interpreter = interpreters.find(&instance.python)?;
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|error| cannot("remove", &folder, &error))?;
    }
    make(&folder)?;
    execute(Command::new(interpreter).args(["-m", "venv"]).arg(&folder))?;
    execute(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .arg(&instance.buggy)
            .args(&instance.requires),
    )?;
    fs::write(&complete, wanted).map_err(|error| cannot("write", &complete, &error))?;
    Ok(python)
}

fn execute(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    let failed = |why: &str| {
        Error::failed(
            format!("`{shown}` failed: {why}"),
            "the package index must be reachable the first time; environments are kept in the cache",
        )
    };
    let output = command
        .env_remove("PYTHONPATH")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(&error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(failed(
        said.lines()
            .rfind(|line| !line.trim().is_empty())
            .unwrap_or("it says nothing"),
    ))
}
