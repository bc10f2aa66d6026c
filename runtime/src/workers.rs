//! Gives the main script its hooks in the workers of multiprocessing.
//!
//! A worker that was not forked runs the script again as `__mp_main__`, by `runpy.run_path`, which compiles it
//! without the import system. A global of `runpy` hides the builtin that it compiles with.

use pyo3::prelude::*;

use crate::{compile, scope};

/// What the code behind `-c` imports where multiprocessing has written it; 3.14 imports `sys` before it.
const STARTS: [&str; 2] = [
    "from multiprocessing.spawn import spawn_main",
    "from multiprocessing.forkserver import main",
];

/// Prepares a process that multiprocessing has started; leaves any other alone.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    let words: Vec<String> = py.import("sys")?.getattr("orig_argv")?.extract()?;
    if !words
        .iter()
        .any(|word| STARTS.iter().any(|start| word.contains(start)))
    {
        return Ok(());
    }
    py.import("runpy")?
        .setattr("compile", wrap_pyfunction!(compile_script, py)?)
}

/// Compiles a script, with hooks where it is in scope.
#[pyfunction(name = "compile")]
fn compile_script<'py>(
    source: &Bound<'py, PyAny>,
    filename: &Bound<'py, PyAny>,
    mode: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let plain = || {
        source
            .py()
            .import("builtins")?
            .getattr("compile")?
            .call1((source, filename, mode))
    };
    let Some(wrapped) = hooked(source, filename) else {
        return plain();
    };
    if wrapped.warns {
        // Only CPython's own compiler warns, and raises what a filter makes of that.
        plain()?;
    }
    Ok(wrapped.code)
}

fn hooked<'py>(source: &Bound<'py, PyAny>, filename: &Bound<'py, PyAny>) -> Option<compile::Wrapped<'py>> {
    let filename: String = filename.extract().ok()?;
    if !scope::contains("__mp_main__", &scope::absolute(&filename)) {
        return None;
    }
    compile::wrapped(source, &filename)
}
