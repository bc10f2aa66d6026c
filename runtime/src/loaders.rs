//! Hands code with hooks to the import system.
//!
//! The loaders stay CPython's own: only `SourceLoader.get_code` asks us first. `__spec__`, `__loader__` and
//! `__cached__` look as always, and nothing of ours reaches a `__pycache__`.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{compile, pytest, scope};

/// The new method carries the file name of the import system, so that CPython trims its frame from tracebacks too.
const GET_CODE: &str = r#"
def get_code(self, fullname, *, _load=load, _original=original):
    code = _load(self, fullname, _original)
    return _original(self, fullname) if code is None else code
"#;

/// Puts our question in front of `SourceLoader.get_code`, and of that of zip files.
pub(crate) fn install(py: Python<'_>) -> PyResult<()> {
    let external = py.import("_frozen_importlib_external")?;
    install_in(&external.getattr("SourceLoader")?)?;
    install_in(&py.import("zipimport")?.getattr("zipimporter")?)
}

fn install_in(loader: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = loader.py();
    let namespace = PyDict::new(py);
    namespace.set_item("load", wrap_pyfunction!(load, py)?)?;
    namespace.set_item("original", loader.getattr("get_code")?)?;
    let builtins = py.import("builtins")?;
    let code =
        builtins
            .getattr("compile")?
            .call1((GET_CODE, "<frozen importlib._bootstrap_external>", "exec"))?;
    builtins.getattr("exec")?.call1((code, &namespace))?;
    let get_code = namespace.get_item("get_code")?.expect("GET_CODE defines it");
    for name in ["__qualname__", "__module__", "__doc__"] {
        get_code.setattr(name, loader.getattr("get_code")?.getattr(name)?)?;
    }
    loader.setattr("get_code", get_code)
}

/// Returns the code with hooks of a module in scope, `None` for every other module.
#[pyfunction]
fn load<'py>(
    loader: &Bound<'py, PyAny>,
    fullname: &str,
    original: &Bound<'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    if fullname == pytest::REWRITE {
        pytest::prepare(loader, fullname);
    }
    let Some(compile::Wrapped { code, warns }) = hooked(loader, fullname) else {
        return Ok(None);
    };
    if warns {
        // CPython warns where it has no valid `.pyc` of its own: it compiles, and raises what a filter makes of that.
        original.call1((loader, fullname))?;
    }
    Ok(Some(code))
}

fn hooked<'py>(loader: &Bound<'py, PyAny>, fullname: &str) -> Option<compile::Wrapped<'py>> {
    let filename: String = loader
        .call_method1("get_filename", (fullname,))
        .ok()?
        .extract()
        .ok()?;
    if !filename.ends_with(".py") || !scope::contains(fullname, &scope::absolute(&filename)) {
        return None;
    }
    let source = loader.call_method1("get_data", (&filename,)).ok()?;
    compile::wrapped(&source, &filename)
}
