//! Which source files are in scope: the project's own and the packages that the user included.

use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use pyo3::prelude::*;

use crate::state;

/// Folders of a project that hold other people's code or none at all.
const FOREIGN: [&str; 5] = ["site-packages", "dist-packages", ".git", ".tox", ".nox"];

/// Where this interpreter and what is installed for it live.
static INSTALLED: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Reads where the interpreter's library and installed packages are: they are in scope only when included.
pub(crate) fn learn_installed(py: Python<'_>) -> PyResult<()> {
    let os_file: String = py.import("os")?.getattr("__file__")?.extract()?;
    let mut installed: Vec<PathBuf> = Path::new(&os_file)
        .parent()
        .map(Path::to_path_buf)
        .into_iter()
        .collect();
    let sys = py.import("sys")?;
    for name in ["prefix", "base_prefix", "exec_prefix", "base_exec_prefix"] {
        installed.push(PathBuf::from(sys.getattr(name)?.extract::<String>()?));
    }
    let real = installed
        .iter()
        .filter_map(|folder| std::fs::canonicalize(folder).ok())
        .collect();
    let _ = INSTALLED.set(real);
    Ok(())
}

/// Whether a file is the user's own: in the project's folder, or anywhere that nothing is installed to.
///
/// A program may bring its modules from wherever it likes, by `sys.path` or PYTHONPATH.
pub(crate) fn is_project_file(filename: &str) -> bool {
    let settings = state::settings();
    let path = Path::new(filename);
    if filename.starts_with('<') {
        return false;
    }
    let root = Path::new(&settings.scope.root);
    let inside = path.strip_prefix(root).ok();
    let foreign = |part: Component<'_>| FOREIGN.iter().any(|name| part.as_os_str() == *name);
    if inside.unwrap_or(path).components().any(foreign) {
        return false;
    }
    // An environment may lie within the project, and a project within a prefix such as `/usr`.
    let installed = INSTALLED.get().is_some_and(|installed| {
        installed
            .iter()
            .any(|folder| path.starts_with(folder) && !(inside.is_some() && root.starts_with(folder)))
    });
    !installed
}

/// Whether the module belongs to a package that the user included.
pub(crate) fn is_included(module: &str) -> bool {
    state::settings().scope.include.iter().any(|name| {
        module
            .strip_prefix(name.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Whether a module is in scope.
pub(crate) fn contains(module: &str, filename: &str) -> bool {
    is_included(module) || is_project_file(filename)
}

/// Whether a frame runs code in scope.
pub(crate) fn contains_frame(frame: &Bound<'_, PyAny>) -> PyResult<bool> {
    let filename: String = frame.getattr("f_code")?.getattr("co_filename")?.extract()?;
    if is_project_file(&absolute(&filename)) {
        return Ok(true);
    }
    let module = crate::frames::lookup_global(frame, "__name__")?;
    Ok(module
        .and_then(|name| name.extract::<String>().ok())
        .is_some_and(|name| is_included(&name)))
}

/// The file's real name, in which the scope's root is written too: absolute, without links and `..`.
pub(crate) fn absolute(filename: &str) -> String {
    if filename.starts_with('<') {
        return filename.to_owned();
    }
    let real = std::fs::canonicalize(filename).or_else(|_| std::path::absolute(filename));
    real.map_or_else(|_| filename.to_owned(), |path| path.display().to_string())
}
