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

use crate::frames::symbol;
use crate::layout::{Layout, UnstartedFrame};
use crate::{compile, scope, state};

type Evaluate = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int) -> *mut PyObject;
type SetEvaluate = unsafe extern "C" fn(*mut pyo3::ffi::PyInterpreterState, Evaluate);

/// The script that is waited for.
struct Expected {
    /// What its code calls its file.
    filename: String,
    layout: Layout,
    evaluate: Evaluate,
    set_evaluate: SetEvaluate,
}

static EXPECTED: OnceLock<Expected> = OnceLock::new();

/// Watches for the main script if it is in scope; modules, folders and archives come by the import system.
pub(crate) fn expect(py: Python<'_>) -> PyResult<()> {
    let Some(filename) = script_name(py)? else { return Ok(()) };
    let layout = Layout::of(py);
    let addresses = symbol(c"_PyEval_EvalFrameDefault").zip(symbol(c"_PyInterpreterState_SetEvalFrameFunc"));
    let (Some(layout), Some((evaluate, set_evaluate))) = (layout, addresses) else {
        state::note_unwrapped(&filename, "this interpreter does not let the main script be replaced");
        return Ok(());
    };
    // SAFETY: CPython 3.11 to 3.14 export the two functions with these signatures.
    let evaluate = unsafe { std::mem::transmute::<*mut c_void, Evaluate>(evaluate) };
    // SAFETY: as above.
    let set_evaluate = unsafe { std::mem::transmute::<*mut c_void, SetEvaluate>(set_evaluate) };
    let expected = Expected { filename, layout, evaluate, set_evaluate };
    let expected = EXPECTED.get_or_init(|| expected);
    // SAFETY: the interpreter is attached.
    let interpreter = unsafe { pyo3::ffi::PyInterpreterState_Get() };
    // SAFETY: `watch` has the signature of an evaluation function.
    unsafe { (expected.set_evaluate)(interpreter, watch) };
    Ok(())
}

/// What the code of `__main__` will call its file, if that is in scope.
fn script_name(py: Python<'_>) -> PyResult<Option<String>> {
    let argv = py.import("sys")?.getattr("argv")?.cast_into::<PyList>()?;
    let Some(script) = argv.iter().next().and_then(|first| first.extract::<String>().ok()) else { return Ok(None) };
    Ok(match script.as_str() {
        "" | "-m" | "-" => None,
        "-c" => Some("<string>".to_owned()),
        _ if !std::path::Path::new(&script).is_file() => None,
        _ => scope::is_project_file(&scope::absolute(&script)).then_some(script),
    })
}

/// The evaluation function until the main script starts.
unsafe extern "C" fn watch(thread: *mut c_void, frame: *mut c_void, throw: c_int) -> *mut PyObject {
    let Some(expected) = EXPECTED.get() else { return std::ptr::null_mut() };
    let mut throw_into = throw;
    if throw == 0 {
        // SAFETY: an evaluation function is called with the interpreter attached.
        let py = unsafe { Python::assume_attached() };
        // SAFETY: CPython passed the frame, and `expect` chose the layout of this version.
        let unstarted = unsafe { UnstartedFrame::new(frame, expected.layout) };
        let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run_script(py, expected, &unstarted)));
        match ran.unwrap_or(Ran::NotIt) {
            Ran::NotIt | Ran::ToItsEnd => {}
            Ran::Raised(error) => {
                error.restore(py);
                throw_into = 1;
            }
        }
    }
    // SAFETY: the arguments are CPython's own; with `throw` an exception is set.
    unsafe { (expected.evaluate)(thread, frame, throw_into) }
}

enum Ran {
    /// Another frame, or code that cannot have hooks: it runs as it is.
    NotIt,
    /// The frame has nothing left to do.
    ToItsEnd,
    /// The exception must leave the frame; it has not begun, so it adds no traceback entry.
    Raised(PyErr),
}

fn run_script(py: Python<'_>, expected: &Expected, frame: &UnstartedFrame) -> Ran {
    let Some((code, globals)) = frame.code(py).zip(frame.globals(py)) else { return Ran::NotIt };
    if !is_script(&code, &globals, &expected.filename).unwrap_or(false) {
        return Ran::NotIt;
    }
    // SAFETY: the interpreter is attached.
    let interpreter = unsafe { pyo3::ffi::PyInterpreterState_Get() };
    // SAFETY: this is the function that was in place before `expect`.
    unsafe { (expected.set_evaluate)(interpreter, expected.evaluate) };
    let Some((hooked, empty)) = source(py, &expected.filename).and_then(|source| {
        Some((compile::wrapped(&source, &expected.filename)?, empty_module(py).ok()?))
    }) else {
        return Ran::NotIt;
    };
    // SAFETY: `hooked` is a code object and `globals` the namespace that the frame would have used.
    let result = unsafe { pyo3::ffi::PyEval_EvalCode(hooked.as_ptr(), globals.as_ptr(), globals.as_ptr()) };
    // SAFETY: a new reference, or null with an exception set.
    let result = unsafe { Bound::from_owned_ptr_or_err(py, result) };
    frame.replace_code(empty);
    match result {
        Ok(_) => Ran::ToItsEnd,
        Err(error) => Ran::Raised(error),
    }
}

fn is_script(code: &Bound<'_, PyAny>, globals: &Bound<'_, PyAny>, filename: &str) -> PyResult<bool> {
    Ok(code.getattr("co_name")?.eq("<module>")?
        && code.getattr("co_filename")?.eq(filename)?
        && globals.get_item("__name__")?.eq("__main__")?)
}

/// The bytes of the script's file, or what stands behind `-c`.
fn source<'py>(py: Python<'py>, filename: &str) -> Option<Bound<'py, PyAny>> {
    if filename != "<string>" {
        return Some(PyBytes::new(py, &std::fs::read(filename).ok()?).into_any());
    }
    let arguments: Vec<String> = py.import("sys").ok()?.getattr("orig_argv").ok()?.extract().ok()?;
    // `-c` may stand at the end of joined flags, as in `-uc`.
    let flag = arguments.iter().skip(1).position(|word| word.starts_with('-') && word.ends_with('c'))? + 1;
    Some(PyBytes::new(py, arguments.get(flag + 1)?.as_bytes()).into_any())
}

/// The code of an empty module, without a line that a tracer could see again.
fn empty_module(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("builtins")?.getattr("compile")?.call1(("", "<healmcp>", "exec"))
}
