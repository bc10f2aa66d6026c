//! Evaluation functions (PEP 523): we put one in place of CPython's own for the start of the main script, and on 3.11
//! for the gates after a heal.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, OnceLock, PoisonError};

use healguard::Protected;
use pyo3::ffi::{PyInterpreterState, PyObject};
use pyo3::prelude::*;

use crate::frames::symbol;
use crate::layout::{Layout, UnstartedFrame};
use crate::{gate, state};

/// Runs a frame; with the last argument not zero, the exception that is set is raised in it first.
pub(crate) type Evaluate = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int) -> *mut PyObject;
type SetEvaluate = unsafe extern "C" fn(*mut PyInterpreterState, Option<Evaluate>);

/// The interpreter's functions around evaluation.
pub(crate) struct Evaluation {
    /// CPython's own evaluation function.
    pub(crate) default: Evaluate,
    /// The frames that it evaluates.
    pub(crate) layout: Layout,
    set: SetEvaluate,
}

impl Evaluation {
    /// The functions of this interpreter; `None` for a version that we have not seen.
    pub(crate) fn of(py: Python<'_>) -> Option<&'static Self> {
        static EVALUATION: OnceLock<Option<Evaluation>> = OnceLock::new();
        EVALUATION
            .get_or_init(|| {
                let default = symbol(c"_PyEval_EvalFrameDefault")?;
                let set = symbol(c"_PyInterpreterState_SetEvalFrameFunc")?;
                Some(Self {
                    // SAFETY: CPython 3.11 to 3.14 export the function with this signature.
                    default: unsafe { std::mem::transmute::<*mut c_void, Evaluate>(default) },
                    layout: Layout::of(py)?,
                    // SAFETY: as above.
                    set: unsafe { std::mem::transmute::<*mut c_void, SetEvaluate>(set) },
                })
            })
            .as_ref()
    }

    /// Puts an evaluation function in place.
    pub(crate) fn install(&self, py: Python<'_>, evaluate: Evaluate) {
        self.put(py, Some(evaluate));
    }

    /// Takes it away again. None is faster than CPython's own: only then are calls between functions inlined.
    pub(crate) fn uninstall(&self, py: Python<'_>) {
        self.put(py, None);
    }

    fn put(&self, _py: Python<'_>, evaluate: Option<Evaluate>) {
        // SAFETY: the interpreter is attached.
        let interpreter = unsafe { pyo3::ffi::PyInterpreterState_Get() };
        // SAFETY: `evaluate` has the signature of an evaluation function, and null stands for CPython's own.
        unsafe { (self.set)(interpreter, evaluate) };
    }
}

/// Code objects that were looked up, with the protected operation that they are. They are kept alive, so that an
/// address names one code object for good.
static LOOKED_UP: Mutex<Option<HashMap<usize, LookedUp>>> = Mutex::new(None);

type LookedUp = (Py<PyAny>, Option<&'static Protected>);

/// Asks for the start of every function.
pub(crate) fn watch_starts(py: Python<'_>) -> PyResult<()> {
    match Evaluation::of(py) {
        Some(evaluation) => evaluation.install(py, watch),
        None => state::complain("protected operations cannot be gated in this interpreter"),
    }
    Ok(())
}

unsafe extern "C" fn watch(thread: *mut c_void, frame: *mut c_void, throw: c_int) -> *mut PyObject {
    // SAFETY: an evaluation function is called with the interpreter attached.
    let py = unsafe { Python::assume_attached() };
    let Some(evaluation) = Evaluation::of(py) else {
        return std::ptr::null_mut();
    };
    let mut throw_into = throw;
    if throw == 0 {
        // SAFETY: CPython passed the frame, of the layout of this version.
        let unstarted = unsafe { UnstartedFrame::new(frame, evaluation.layout) };
        let checked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(py, &unstarted)));
        if let Ok(Err(denied)) = checked {
            denied.restore(py);
            throw_into = 1;
        }
    }
    // SAFETY: the arguments are CPython's own; with `throw_into` an exception is set.
    unsafe { (evaluation.default)(thread, frame, throw_into) }
}

fn check(py: Python<'_>, frame: &UnstartedFrame) -> PyResult<()> {
    let Some((code, globals)) = frame.code(py).zip(frame.globals(py)) else {
        return Ok(());
    };
    let protected = {
        let mut looked_up = LOOKED_UP.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = looked_up.get_or_insert_default().entry(code.as_ptr() as usize);
        entry
            .or_insert_with(|| {
                let module = globals
                    .get_item("__name__")
                    .and_then(|name| name.extract::<String>());
                (
                    code.clone().unbind(),
                    gate::is_protected(&code, &module.unwrap_or_default()),
                )
            })
            .1
    };
    let Some(protected) = protected else { return Ok(()) };
    gate::check_unstarted(py, frame, protected)
}
