//! The files of all roots at one moment: what they are called, and which modules they are.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use crate::language::Language;
use crate::source::{Found, FoundFile, Origin, Root, Skipped, Stamp};

/// An index into the files of a tree.
pub(crate) type FileIdx = u32;

/// The files of all roots, those of projects first.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) roots: Vec<Root>,
    pub(crate) files: Vec<File>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) is_partial: bool,
    modules: HashMap<String, Vec<FileIdx>>,
    paths: HashMap<PathBuf, FileIdx>,
}

/// A file as the index sees it.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    /// What answers call it: below its project, or below the folder that holds its package.
    pub(crate) shown: String,
    pub(crate) root: usize,
    pub(crate) origin: Origin,
    pub(crate) stamp: Stamp,
    /// By its ending; a file without one may still be a script.
    pub(crate) language: Option<&'static Language>,
    /// The dotted name by which it is imported.
    pub(crate) module: String,
    /// Whether it stands for its folder.
    pub(crate) is_package: bool,
}

impl File {
    /// Whether it may hold symbols.
    pub(crate) fn may_be_source(&self) -> bool {
        self.language.is_some() || self.path.extension().is_none()
    }
}

impl Tree {
    pub(crate) fn new(found: Vec<(Root, Found)>) -> Self {
        let mut tree = Self::default();
        for (root, found) in found {
            let packages = package_folders(&found.files);
            let root_idx = tree.roots.len();
            tree.files.extend(
                found
                    .files
                    .into_iter()
                    .map(|file| new_file(file, &root, root_idx, &packages)),
            );
            tree.skipped.extend(found.skipped);
            tree.is_partial |= found.is_partial;
            tree.roots.push(root);
        }
        tree.files
            .sort_by(|one, other| (one.origin, &one.shown).cmp(&(other.origin, &other.shown)));
        // A package in a project is listed once, as the project's.
        let mut seen = HashSet::new();
        tree.files.retain(|file| seen.insert(file.path.clone()));
        for (idx, file) in (0..).zip(&tree.files) {
            tree.paths.insert(file.path.clone(), idx);
            if file.language.is_some() {
                tree.modules.entry(file.module.clone()).or_default().push(idx);
                if let Some(name) = name_from_root(file) {
                    tree.modules.entry(name).or_default().push(idx);
                }
            }
        }
        tree
    }

    pub(crate) fn file(&self, idx: FileIdx) -> &File {
        &self.files[idx as usize]
    }

    pub(crate) fn file_at(&self, path: &Path) -> Option<FileIdx> {
        self.paths.get(path).copied()
    }

    /// Returns the files that a module name means when it is written in the file `from`, the nearest ones only.
    pub(crate) fn modules(&self, name: &str, from: FileIdx) -> Vec<FileIdx> {
        let Some(found) = self.modules.get(name) else {
            return Vec::new();
        };
        let from = self.file(from);
        let n_shared = |idx: FileIdx| {
            let pairs = self.file(idx).path.components().zip(from.path.components());
            pairs.take_while(|(one, other)| one == other).count()
        };
        let Some(nearest) = found.iter().map(|idx| n_shared(*idx)).max() else {
            return Vec::new();
        };
        found
            .iter()
            .copied()
            .filter(|idx| n_shared(*idx) == nearest)
            .collect()
    }

    /// Returns the files that have a module name.
    pub(crate) fn modules_anywhere(&self, name: &str) -> &[FileIdx] {
        self.modules.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns whether a module, or one below it, is in the tree.
    pub(crate) fn knows_package(&self, name: &str) -> bool {
        self.modules.contains_key(name)
            || self.modules.keys().any(|module| {
                module
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('.'))
            })
    }
}

/// Returns the folders that hold the file that makes them a package.
fn package_folders(files: &[FoundFile]) -> HashSet<PathBuf> {
    let folder = |file: &FoundFile| {
        let language = language_of(&file.path)?;
        let is_package = file
            .path
            .file_stem()
            .is_some_and(|stem| stem == language.package_file);
        is_package
            .then(|| file.path.parent().map(Path::to_owned))
            .flatten()
    };
    files.iter().filter_map(folder).collect()
}

fn new_file(found: FoundFile, root: &Root, root_idx: usize, packages: &HashSet<PathBuf>) -> File {
    let base = match root.origin {
        Origin::Project => &root.path,
        Origin::Package => root.path.parent().unwrap_or(&root.path),
    };
    let relative = found.path.strip_prefix(base).unwrap_or(&found.path);
    let language = language_of(&found.path);
    let stem = found
        .path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let is_package = language.is_some_and(|language| stem == language.package_file);
    let mut parts = Vec::new();
    if !is_package {
        parts.push(stem);
    }
    let mut folder = found.path.parent();
    while let Some(current) = folder {
        // Below an installed package each folder is a part of it, with or without a file that says so.
        if current == base || !(packages.contains(current) || root.origin == Origin::Package) {
            break;
        }
        parts.extend(
            current
                .file_name()
                .map(|name| name.to_string_lossy().into_owned()),
        );
        folder = current.parent();
    }
    parts.reverse();
    File {
        shown: relative.to_string_lossy().into_owned(),
        root: root_idx,
        origin: root.origin,
        stamp: found.stamp,
        language,
        module: parts.join("."),
        is_package,
        path: found.path,
    }
}

/// Returns the name of a module in folders that nothing marks as packages, where it has one of those.
fn name_from_root(file: &File) -> Option<String> {
    let (stem, _) = file.shown.rsplit_once('.')?;
    let name = stem.replace('/', ".");
    (!file.is_package && name != file.module).then_some(name)
}

fn language_of(path: &Path) -> Option<&'static Language> {
    path.extension()
        .and_then(|extension| extension.to_str())
        .and_then(Language::of_extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(root: &Root, paths: &[&str], expect: &[(&str, &str)]) {
        let file = |path: &&str| FoundFile {
            path: path.into(),
            stamp: Stamp::default(),
        };
        let found = Found {
            files: paths.iter().map(file).collect(),
            ..Found::default()
        };
        let tree = Tree::new(vec![(root.clone(), found)]);
        let names: Vec<_> = tree
            .files
            .iter()
            .map(|file| (&*file.shown, &*file.module))
            .collect();
        assert_eq!(names, expect);
    }

    #[test]
    fn a_module_is_called_from_its_outermost_package() {
        check(
            &Root::project("/p", "p"),
            &[
                "/p/run.py",
                "/p/src/shop/__init__.py",
                "/p/src/shop/models.py",
                "/p/tools/x.py",
            ],
            &[
                ("run.py", "run"),
                ("src/shop/__init__.py", "shop"),
                ("src/shop/models.py", "shop.models"),
                ("tools/x.py", "x"),
            ],
        );
    }

    #[test]
    fn a_package_keeps_its_name() {
        let paths = ["/site/jinja2/__init__.py", "/site/jinja2/env.py"];
        let expect = [("jinja2/__init__.py", "jinja2"), ("jinja2/env.py", "jinja2.env")];
        check(&Root::package("/site/jinja2", "jinja2"), &paths, &expect);
        check(
            &Root::package("/site/six.py", "six"),
            &["/site/six.py"],
            &[("six.py", "six")],
        );
    }
}
