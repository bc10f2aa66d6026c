//! Gives the main script its hooks.
//!
//! `python x.py` and `python -c` compile `__main__` in C, where no import hook sees it. So the first evaluation is
//! watched (PEP 523): when the script's own frame is about to start, the code with hooks runs in its place, under
//! the same globals and with nothing else on the stack; the frame itself then runs to its end with nothing to do.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::evaluation::Evaluation;
use crate::layout::UnstartedFrame;
use crate::tracing::Silence;
use crate::{compile, scope, state};

/// The script that is waited for: its real name, or what CPython calls the text of `-c`.
static EXPECTED: OnceLock<String> = OnceLock::new();

/// Watches for the main script if it is in scope; modules, folders and archives come by the import system.
pub(crate) fn expect(py: Python<'_>) -> PyResult<()> {
    let Some(filename) = script_name(py)? else {
        return Ok(());
    };
    match Evaluation::of(py) {
        Some(evaluation) => {
            let _ = EXPECTED.set(filename);
            evaluation.install(py, watch);
        }
        None => state::note_unwrapped(
            &filename,
            "this interpreter does not let the main script be replaced",
        ),
    }
    Ok(())
}

/// The real name of the main script, if that is in scope.
fn script_name(py: Python<'_>) -> PyResult<Option<String>> {
    let argv = py.import("sys")?.getattr("argv")?.cast_into::<PyList>()?;
    let Some(script) = argv
        .iter()
        .next()
        .and_then(|first| first.extract::<String>().ok())
    else {
        return Ok(None);
    };
    Ok(match script.as_str() {
        "" | "-m" | "-" => None,
        "-c" => Some("<string>".to_owned()),
        _ if !std::path::Path::new(&script).is_file() => None,
        _ => Some(scope::absolute(&script)).filter(|script| scope::is_project_file(script)),
    })
}

/// The evaluation function until the main script starts.
unsafe extern "C" fn watch(thread: *mut c_void, frame: *mut c_void, throw: c_int) -> *mut PyObject {
    // SAFETY: an evaluation function is called with the interpreter attached.
    let py = unsafe { Python::assume_attached() };
    let Some(evaluation) = Evaluation::of(py) else {
        return std::ptr::null_mut();
    };
    let mut throw_into = throw;
    let mut silence = None;
    if throw == 0 {
        // SAFETY: CPython passed the frame, of the layout of this version.
        let unstarted = unsafe { UnstartedFrame::new(frame, evaluation.layout) };
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            run_script(py, evaluation, &unstarted)
        }));
        let ran = ran.unwrap_or(Ran::NotIt);
        if !matches!(ran, Ran::NotIt) {
            // The program's tracers have seen its own frame return; they must not be told of a frame without code.
            silence = Some(Silence::begin(py));
        }
        if let Ran::Raised(error) = ran {
            error.restore(py);
            throw_into = 1;
        }
    }
    // SAFETY: the arguments are CPython's own; with `throw_into` an exception is set.
    let result = unsafe { (evaluation.default)(thread, frame, throw_into) };
    drop(silence);
    result
}

enum Ran {
    /// Another frame, or code that cannot have hooks: it runs as it is.
    NotIt,
    /// The frame has nothing left to do.
    ToItsEnd,
    /// The exception must leave the frame; it has not begun, so it adds no traceback entry.
    Raised(PyErr),
}

fn run_script(py: Python<'_>, evaluation: &Evaluation, frame: &UnstartedFrame) -> Ran {
    let Some((code, globals)) = frame.code(py).zip(frame.globals(py)) else {
        return Ran::NotIt;
    };
    let Some(filename) = EXPECTED.get() else {
        return Ran::NotIt;
    };
    if !is_main(&code, &globals).unwrap_or(false) {
        return Ran::NotIt;
    }
    evaluation.uninstall(py);
    let Some(own_name) = own_name(&code).filter(|name| scope::absolute(name) == *filename) else {
        return Ran::NotIt;
    };
    let Some((hooked, empty)) = source(py, filename)
        .and_then(|source| Some((compile::wrapped(&source, &own_name)?.code, empty_module(py).ok()?)))
    else {
        return Ran::NotIt;
    };
    // SAFETY: `hooked` is a code object and `globals` the namespace that the frame would have used.
    let result = unsafe { pyo3::ffi::PyEval_EvalCode(hooked.as_ptr(), globals.as_ptr(), globals.as_ptr()) };
    // SAFETY: a new reference, or null with an exception set.
    let result = unsafe { Bound::from_owned_ptr_or_err(py, result) };
    frame.replace_code(empty);
    match result {
        Ok(_) => Ran::ToItsEnd,
        Err(error) => {
            frame.step_back(py);
            Ran::Raised(error)
        }
    }
}

/// Whether the frame is that of `__main__`.
fn is_main(code: &Bound<'_, PyAny>, globals: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(code.getattr("co_name")?.eq("<module>")? && globals.get_item("__name__")?.eq("__main__")?)
}

/// What the code calls its file; CPython makes it absolute, and keeps links.
fn own_name(code: &Bound<'_, PyAny>) -> Option<String> {
    code.getattr("co_filename").ok()?.extract().ok()
}

/// The bytes of the script's file, or what stands behind `-c`.
fn source<'py>(py: Python<'py>, filename: &str) -> Option<Bound<'py, PyAny>> {
    if filename != "<string>" {
        return Some(PyBytes::new(py, &std::fs::read(filename).ok()?).into_any());
    }
    let arguments: Vec<String> = py.import("sys").ok()?.getattr("orig_argv").ok()?.extract().ok()?;
    // `-c` may stand at the end of joined flags, as in `-uc`.
    let flag = arguments
        .iter()
        .skip(1)
        .position(|word| word.starts_with('-') && word.ends_with('c'))?
        + 1;
    Some(PyBytes::new(py, arguments.get(flag + 1)?.as_bytes()).into_any())
}

/// The code of an empty module, without a line that a tracer could see again.
fn empty_module(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("builtins")?
        .getattr("compile")?
        .call1(("", "<healmcp>", "exec"))
}
