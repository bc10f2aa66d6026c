//! Trace functions: ours on 3.11, in place for the few instructions before a jump, and silence for the program's own
//! while we work.

use std::cell::RefCell;
use std::ffi::c_void;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::compile::JUMP_LINE;
use crate::frames::symbol;
use crate::resume;

type TraceFunction =
    unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject, i32, *mut ffi::PyObject) -> i32;
type SetTrace = unsafe extern "C" fn(Option<TraceFunction>, *mut ffi::PyObject);
type ThreadSwitch = unsafe extern "C" fn(*mut ffi::PyThreadState);

thread_local! {
    /// The program's own trace function and the frame's, to be put back.
    static TRACED: RefCell<Option<(Py<PyAny>, Py<PyAny>)>> = const { RefCell::new(None) };
}

/// Keeps the program's trace and profile functions from seeing what we do in its thread, while it lives.
pub(crate) struct Silence {
    leave: Option<ThreadSwitch>,
}

impl Silence {
    /// Begins the silence of this thread.
    pub(crate) fn begin(_py: Python<'_>) -> Self {
        let addresses = symbol(c"PyThreadState_EnterTracing").zip(symbol(c"PyThreadState_LeaveTracing"));
        let Some((enter, leave)) = addresses else {
            return Self { leave: None };
        };
        // SAFETY: CPython 3.11 and later export both with this signature.
        let enter = unsafe { std::mem::transmute::<*mut c_void, ThreadSwitch>(enter) };
        // SAFETY: as above.
        let leave = unsafe { std::mem::transmute::<*mut c_void, ThreadSwitch>(leave) };
        // SAFETY: the interpreter is attached, so this thread has a state.
        let thread = unsafe { ffi::PyThreadState_Get() };
        // SAFETY: `thread` is this thread's state; `drop` leaves again.
        unsafe { enter(thread) };
        Self { leave: Some(leave) }
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let Some(leave) = self.leave else { return };
        // SAFETY: a `Silence` lives within one call into us, during which the interpreter is attached again.
        let thread = unsafe { ffi::PyThreadState_Get() };
        // SAFETY: this thread entered in `begin`.
        unsafe { leave(thread) };
    }
}

/// Asks for the line events of this thread.
pub(crate) fn watch_lines(frame: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = frame.py();
    let set_trace = set_trace()?;
    let own = py.import("sys")?.getattr("gettrace")?.call0()?;
    TRACED.set(Some((own.unbind(), frame.getattr("f_trace")?.unbind())));
    // CPython assigns `f_lineno` only where the frame has a trace function; ours in C is asked instead of it.
    frame.setattr("f_trace", py.get_type::<PyDict>())?;
    // SAFETY: the interpreter is attached, and `on_trace` has the signature of a trace function.
    unsafe { set_trace(Some(on_trace), std::ptr::null_mut()) };
    Ok(())
}

fn set_trace() -> PyResult<SetTrace> {
    let address = symbol(c"PyEval_SetTrace").ok_or_else(|| {
        pyo3::exceptions::PyRuntimeError::new_err("this interpreter has no PyEval_SetTrace")
    })?;
    // SAFETY: CPython exports this symbol with this signature.
    Ok(unsafe { std::mem::transmute::<*mut c_void, SetTrace>(address) })
}

unsafe extern "C" fn on_trace(
    _argument: *mut ffi::PyObject,
    frame: *mut ffi::PyObject,
    event: i32,
    _value: *mut ffi::PyObject,
) -> i32 {
    const LINE_EVENT: i32 = 2;
    if event != LINE_EVENT {
        return 0;
    }
    // SAFETY: a trace function is called with the interpreter attached.
    let py = unsafe { Python::assume_attached() };
    // SAFETY: CPython passes the live frame object.
    let frame = unsafe { Bound::from_borrowed_ptr(py, frame) };
    let jumped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let line: i64 = frame.getattr("f_lineno")?.extract().unwrap_or_default();
        if line == JUMP_LINE && resume::jump(&frame)? {
            stop(&frame)?;
        }
        Ok::<_, PyErr>(())
    }));
    if let Ok(Err(error)) = jumped {
        let _ = stop(&frame);
        if let Some(exception) = resume::after_refusal(py, &error) {
            exception.restore(py);
            return -1;
        }
    }
    0
}

fn stop(frame: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = frame.py();
    let (own, of_frame) = TRACED.take().unwrap_or_else(|| (py.None(), py.None()));
    // SAFETY: the interpreter is attached; no function and no argument take the trace function away.
    unsafe { set_trace()?(None, std::ptr::null_mut()) };
    frame.setattr("f_trace", of_frame)?;
    if !own.is_none(py) {
        py.import("sys")?.getattr("settrace")?.call1((own,))?;
    }
    Ok(())
}
