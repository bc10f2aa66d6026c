//! The interpreters of this machine that healmcp serves, and the extension that serves them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::program::HEALMCP;

/// One CPython.
#[derive(Clone, Debug)]
pub(crate) struct Python {
    /// 11 for 3.11.
    pub(crate) minor: u8,
    pub(crate) path: PathBuf,
}

/// The versions that are served.
const MINORS: [u8; 4] = [11, 12, 13, 14];

/// One interpreter of each version that is found; there must be one.
pub(crate) fn pythons() -> &'static [Python] {
    static FOUND: OnceLock<Vec<Python>> = OnceLock::new();
    FOUND.get_or_init(|| {
        build_extension();
        let found: Vec<Python> = MINORS
            .iter()
            .filter_map(|minor| {
                let path = candidates(*minor)
                    .into_iter()
                    .find(|path| answers(path, *minor))?;
                Some(Python { minor: *minor, path })
            })
            .collect();
        assert!(!found.is_empty(), "no python3.11 or later on PATH or in pyenv");
        let told: Vec<String> = found
            .iter()
            .map(|python| python.path.display().to_string())
            .collect();
        eprintln!("interpreters: {}", told.join(", "));
        found
    })
}

/// The newest interpreter.
pub(crate) fn newest() -> &'static Python {
    pythons().last().expect("there is one")
}

/// Runs a test on every interpreter, all at once: most of the time is waiting.
pub(crate) fn on_each(test: impl Fn(&Python) + Sync) {
    std::thread::scope(|scope| {
        for python in pythons() {
            let test = &test;
            let name = format!("on Python 3.{}", python.minor);
            let thread = std::thread::Builder::new().name(name);
            thread.spawn_scoped(scope, move || test(python)).unwrap();
        }
    });
}

/// Whether an interpreter can import a module.
pub(crate) fn has_module(python: &Python, name: &str) -> bool {
    let output = Command::new(&python.path)
        .args(["-c", &format!("import {name}")])
        .output();
    output.unwrap().status.success()
}

fn candidates(minor: u8) -> Vec<PathBuf> {
    let name = format!("python3.{minor}");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path: Vec<PathBuf> = std::env::split_paths(&path)
        .map(|folder| folder.join(&name))
        .collect();
    // Environments on PATH come first: they were put there for their packages.
    let is_environment = |python: &&PathBuf| python.with_file_name("../pyvenv.cfg").exists();
    let mut candidates: Vec<PathBuf> = on_path.iter().filter(is_environment).cloned().collect();
    if let Some(home) = std::env::var_os("HOME") {
        let versions = Path::new(&home).join(".pyenv/versions").read_dir();
        let versions = versions.into_iter().flatten().flatten();
        candidates.extend(
            versions
                .filter(|version| {
                    version
                        .file_name()
                        .to_string_lossy()
                        .starts_with(&format!("3.{minor}."))
                })
                .map(|version| version.path().join("bin/python")),
        );
    }
    candidates.extend(on_path);
    candidates
}

/// Whether the file is a Python of that version: a shim of pyenv may stand for none.
fn answers(path: &Path, minor: u8) -> bool {
    let output = Command::new(path)
        .args(["-c", "import sys; print(sys.version_info.minor)"])
        .output();
    output.is_ok_and(|output| output.stdout == format!("{minor}\n").as_bytes())
}

/// Builds the extension beside the command: cargo builds only the command for a test of this package alone.
fn build_extension() {
    let folder = Path::new(HEALMCP).parent().unwrap();
    let mut command = Command::new(env!("CARGO"));
    command
        .args(["build", "--package", "runtime", "--quiet", "--target-dir"])
        .arg(folder.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    if folder.ends_with("release") {
        command.arg("--release");
    }
    assert!(command.status().unwrap().success(), "the extension is built");
}
