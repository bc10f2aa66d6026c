//! Gives hooks to the modules whose assertions pytest rewrites.
//!
//! pytest compiles, caches and loads them on its own, and all of that stays as it is: only where its import hook
//! executes the code, the same module with hooks takes its place. It is rewritten by pytest's own rewriter after it
//! was wrapped, so that all that an `assert` turns into is one statement.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::compile::{self, Transformation};
use crate::{scope, state};

/// The module with pytest's import hook.
pub(crate) const REWRITE: &str = "_pytest.assertion.rewrite";

/// How the import hook executes a module, in pytest 7 to 9: by a builtin, which a global of the module can hide.
const EXECUTES: &[u8] = b"exec(co, module.__dict__)";

/// Puts our `exec` into the still empty module of pytest's import hook.
pub(crate) fn prepare(loader: &Bound<'_, PyAny>, fullname: &str) {
    let complain = |reason: &str| state::note_unwrapped("test modules rewritten by pytest", reason);
    match try_prepare(loader, fullname) {
        Ok(true) => {}
        Ok(false) => complain("this version of pytest loads them in an unknown way"),
        Err(error) => complain(&error.to_string()),
    }
}

fn try_prepare(loader: &Bound<'_, PyAny>, fullname: &str) -> PyResult<bool> {
    let py = loader.py();
    let filename = loader.call_method1("get_filename", (fullname,))?;
    let source = loader.call_method1("get_data", (filename,))?;
    let source: &[u8] = source.extract()?;
    if !source.windows(EXECUTES.len()).any(|window| window == EXECUTES) {
        return Ok(false);
    }
    let execute = wrap_pyfunction!(execute, py)?;
    py.import("sys")?
        .getattr("modules")?
        .get_item(fullname)?
        .setattr("exec", execute)?;
    Ok(true)
}

/// Executes a module that pytest has rewritten, with hooks where it is in scope.
#[pyfunction(name = "exec")]
fn execute<'py>(code: &Bound<'py, PyAny>, namespace: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    let hooked = hooked(code, namespace).unwrap_or_else(|error| {
        state::note_unwrapped("a test module rewritten by pytest", &error.to_string());
        None
    });
    code.py()
        .import("builtins")?
        .getattr("exec")?
        .call1((hooked.as_ref().unwrap_or(code), namespace))
}

fn hooked<'py>(
    code: &Bound<'py, PyAny>,
    namespace: &Bound<'py, PyDict>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = code.py();
    let filename: String = code.getattr("co_filename")?.extract()?;
    let global = |name: &str| {
        namespace
            .get_item(name)?
            .ok_or_else(|| PyErr::new::<pyo3::exceptions::PyKeyError, _>(name.to_owned()))
    };
    let module: String = global("__name__")?.extract()?;
    if !scope::contains(&module, &scope::absolute(&filename)) {
        return Ok(None);
    }
    let config = global("__spec__")?.getattr("loader")?.getattr("config")?;
    let rewrite = py.import("sys")?.getattr("modules")?.get_item(REWRITE)?;
    let version: String = rewrite.getattr("version")?.extract()?;
    let reports_passed: bool = config
        .call_method1("getini", ("enable_assertion_pass_hook",))?
        .extract()?;
    let transformation = Transformation {
        key: format!("pytest {version} {reports_passed}"),
        function: rewrite.getattr("rewrite_asserts")?,
        argument: config,
    };
    let source = PyBytes::new(py, &std::fs::read(&filename)?).into_any();
    Ok(compile::transformed(&source, &filename, Some(&transformation)).map(|wrapped| wrapped.code))
}
