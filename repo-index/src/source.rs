//! Where texts come from: the one trait through which the index sees files.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// A folder, or a single file, that questions are about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Root {
    /// Where it is.
    pub path: PathBuf,
    /// What answers call it.
    pub label: String,
    /// Whose code it is.
    pub origin: Origin,
}

/// Whose code a root holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The project's own: what its `.gitignore` names is left out, and it is looked at anew for each question.
    Project,
    /// An installed package's: all of it counts, and it is taken to stay as it is.
    Package,
}

impl Root {
    /// Returns the root of a project.
    #[must_use]
    pub fn project(path: impl Into<PathBuf>, label: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            label: label.into(),
            origin: Origin::Project,
        }
    }

    /// Returns the root of an installed package: its folder, or its only module.
    #[must_use]
    pub fn package(path: impl Into<PathBuf>, label: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            label: label.into(),
            origin: Origin::Package,
        }
    }
}

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Nanoseconds since 1970 of the last change.
    pub modified: u128,
    /// Its size in bytes.
    pub size: u64,
}

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its state.
    pub stamp: Stamp,
}

/// The files of a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// In no order.
    pub files: Vec<FoundFile>,
    /// Files that are left out, and why.
    pub skipped: Vec<Skipped>,
    /// Folders, and files that say what to leave out: while these stay as they are, no file comes or goes.
    pub watched: Vec<FoundFile>,
    /// Whether the search was stopped before its end.
    pub is_partial: bool,
}

/// A file or folder that no question sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Where it is.
    pub path: PathBuf,
    /// Why it is left out.
    pub why: String,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text, with `U+FFFD` for what is not UTF-8, without a byte order mark.
    Text(String, Stamp),
    /// It has vanished.
    Gone,
    /// It is too large to be looked at.
    TooLarge(u64),
    /// It is not text.
    Binary,
    /// The system does not give it, for this reason.
    Refused(String),
}

/// Gives files and their texts.
pub trait Source: Send + Sync {
    /// Lists the files of a root, until `is_over` says so.
    fn list(&self, root: &Root, is_over: &dyn Fn() -> bool) -> Found;

    /// Returns what was listed before as it is now, if that can be told without listing it all again.
    fn refresh(&self, before: &Found) -> Option<Found> {
        let _ = before;
        None
    }

    /// Returns what is in a file now.
    fn read(&self, path: &Path) -> Content;

    /// Returns the path of an existing file without links and `..`.
    fn real_path(&self, path: &Path) -> Option<PathBuf>;
}
