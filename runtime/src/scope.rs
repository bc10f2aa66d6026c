//! Which source files are in scope: the project's own and the packages that the user included.

use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use pyo3::prelude::*;

use crate::state;

/// Folders of a project that hold other people's code or none at all.
const FOREIGN: [&str; 5] = ["site-packages", "dist-packages", ".git", ".tox", ".nox"];

static LIBRARY: OnceLock<Vec<PathBuf>> = OnceLock::new();

/// Reads where the interpreter's own library is, which is never in scope.
pub(crate) fn learn_library(py: Python<'_>) -> PyResult<()> {
    let os_file: String = py.import("os")?.getattr("__file__")?.extract()?;
    let library = Path::new(&os_file).parent().map(Path::to_path_buf);
    let _ = LIBRARY.set(library.into_iter().collect());
    Ok(())
}

/// Whether a file of the project's folder belongs to the project.
pub(crate) fn is_project_file(filename: &str) -> bool {
    let settings = state::settings();
    let path = Path::new(filename);
    let Ok(inside) = path.strip_prefix(&settings.scope.root) else { return false };
    let foreign = |part: Component<'_>| FOREIGN.iter().any(|name| part.as_os_str() == *name);
    !inside.components().any(foreign) && !in_library(path)
}

fn in_library(path: &Path) -> bool {
    LIBRARY.get().is_some_and(|library| library.iter().any(|folder| path.starts_with(folder)))
}

/// Whether the module belongs to a package that the user included.
pub(crate) fn is_included(module: &str) -> bool {
    state::settings().scope.include.iter().any(|name| {
        module.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
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
    Ok(module.and_then(|name| name.extract::<String>().ok()).is_some_and(|name| is_included(&name)))
}

/// The file's real name, in which the scope's root is written too: absolute, without links and `..`.
pub(crate) fn absolute(filename: &str) -> String {
    if filename.starts_with('<') {
        return filename.to_owned();
    }
    let real = std::fs::canonicalize(filename).or_else(|_| std::path::absolute(filename));
    real.map_or_else(|_| filename.to_owned(), |path| path.display().to_string())
}
