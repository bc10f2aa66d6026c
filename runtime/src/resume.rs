//! Goes on where a heal says.
//!
//! `next` needs nothing: the hook answers that nothing is pending and control falls through. `retry` and `line` are
//! jumps: at the line event of `JUMP_LINE`, the last instruction of our handler, `frame.f_lineno` is assigned.
//! `return` lets the exception unwind the frame's own blocks, with their cleanup, to the handler of ours that stands
//! outermost in the frame, and jumps from there to the function's `return HOOK.value`.

use std::cell::RefCell;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::compile::{JUMP_LINE, RETURN_LINE};
use crate::frames::minor_version;
use crate::passing::Site;
use crate::state;

/// Where the paused frame goes on.
pub(crate) enum Action {
    /// At the next statement.
    Next,
    /// At a line of the frame.
    Jump(u32),
    /// The frame returns this value.
    Return(Py<PyAny>),
    /// The exception goes on.
    Raise,
}

/// A frame that unwinds to its outermost handler of ours in order to return.
struct Returning {
    frame: usize,
    outermost: Site,
    value: Py<PyAny>,
}

/// A jump that waits for its line event.
struct Armed {
    frame: usize,
    line: u32,
}

thread_local! {
    static RETURNING: RefCell<Option<Returning>> = const { RefCell::new(None) };
    static RETURN_VALUE: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
    static ARMED: RefCell<Option<Armed>> = const { RefCell::new(None) };
}

/// Carries out an action in the paused frame; returns whether the exception goes on for now.
///
/// `sites` are the handlers of ours that the exception would meet, the asking one first.
pub(crate) fn go_on(frame: &Bound<'_, PyAny>, sites: &[Site], action: Action) -> PyResult<bool> {
    match action {
        Action::Next => Ok(false),
        Action::Raise => Ok(true),
        Action::Jump(line) => arm(frame, line).map(|()| false),
        Action::Return(value) => {
            let here = sites[0];
            let outermost = sites.iter().rev().find(|site| site.frame == here.frame).copied().unwrap_or(here);
            RETURNING.set(Some(Returning { frame: here.frame, outermost, value }));
            Ok(at_site(frame, here)?.unwrap_or(true))
        }
    }
}

/// What a handler of ours does in a frame that is on its way to return; `None` in every other frame.
pub(crate) fn at_site(frame: &Bound<'_, PyAny>, site: Site) -> PyResult<Option<bool>> {
    let returning = RETURNING.take();
    match returning {
        Some(returning) if returning.outermost == site => {
            RETURN_VALUE.set(Some(returning.value));
            arm(frame, u32::try_from(RETURN_LINE).expect("a line number of ours"))?;
            Ok(Some(false))
        }
        Some(returning) if returning.frame == site.frame => {
            RETURNING.set(Some(returning));
            Ok(Some(true))
        }
        // The frame was left by other means, or cleanup code of another frame runs meanwhile.
        returning => {
            RETURNING.set(returning);
            Ok(None)
        }
    }
}

/// The value for `return HOOK.value`, once.
pub(crate) fn take_return_value(_py: Python<'_>) -> Option<Py<PyAny>> {
    RETURN_VALUE.take()
}

/// Makes the frame jump when it reaches [`JUMP_LINE`], which is the next instruction with a line.
fn arm(frame: &Bound<'_, PyAny>, line: u32) -> PyResult<()> {
    ARMED.set(Some(Armed { frame: frame.as_ptr() as usize, line }));
    if minor_version(frame.py()) >= 12 { watch_by_monitoring(frame, true) } else { watch_by_tracing(frame) }
}

/// Jumps if this is the armed frame at its jump line; says whether it was.
fn jump(frame: &Bound<'_, PyAny>, at_line: i64) -> PyResult<bool> {
    let armed = ARMED.take();
    let Some(armed) = armed else { return Ok(false) };
    if armed.frame != frame.as_ptr() as usize || at_line != JUMP_LINE {
        ARMED.set(Some(armed));
        return Ok(false);
    }
    without_warnings(frame.py(), || frame.setattr("f_lineno", armed.line))?;
    Ok(true)
}

/// A jump turns unbound locals into `None` and warns of it on 3.12+; the check of the heal has said so.
fn without_warnings(py: Python<'_>, act: impl FnOnce() -> PyResult<()>) -> PyResult<()> {
    let warnings = py.import("warnings")?;
    let catch = warnings.getattr("catch_warnings")?.call0()?;
    catch.call_method0("__enter__")?;
    let result = warnings.call_method1("simplefilter", ("ignore",)).and_then(|_| act());
    catch.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
    result
}

/// Tool ids of `sys.monitoring` that no standard tool has claimed.
const FREE_TOOLS: [u8; 2] = [4, 3];

/// Our tool id, once one is taken.
fn tool(py: Python<'_>) -> PyResult<u8> {
    static TOOL: PyOnceLock<u8> = PyOnceLock::new();
    TOOL.get_or_try_init(py, || {
        let monitoring = py.import("sys")?.getattr("monitoring")?;
        let line = monitoring.getattr("events")?.getattr("LINE")?;
        for tool in FREE_TOOLS {
            if monitoring.call_method1("get_tool", (tool,))?.is_none() {
                monitoring.call_method1("use_tool_id", (tool, "healmcp"))?;
                monitoring.call_method1("register_callback", (tool, line, wrap_pyfunction!(on_line, py)?))?;
                return Ok(tool);
            }
        }
        Err(pyo3::exceptions::PyRuntimeError::new_err("no free tool id of sys.monitoring: another tool holds 3 and 4"))
    })
    .copied()
}

fn watch_by_monitoring(frame: &Bound<'_, PyAny>, on: bool) -> PyResult<()> {
    let py = frame.py();
    let tool = tool(py)?;
    let monitoring = py.import("sys")?.getattr("monitoring")?;
    let events: u32 = if on { monitoring.getattr("events")?.getattr("LINE")?.extract()? } else { 0 };
    monitoring.call_method1("set_local_events", (tool, frame.getattr("f_code")?, events))?;
    Ok(())
}

/// The callback of `sys.monitoring`.
#[pyfunction]
fn on_line(code: &Bound<'_, PyAny>, line: i64) {
    let py = code.py();
    let jumped = || -> PyResult<()> {
        let frame = py.import("sys")?.getattr("_getframe")?.call0()?;
        if frame.getattr("f_code")?.is(code) && line == JUMP_LINE && jump(&frame, line)? {
            watch_by_monitoring(&frame, false)?;
        }
        Ok(())
    };
    if let Err(error) = jumped() {
        state::complain(&format!("the jump was refused, so the program goes on at the next statement: {error}"));
    }
}

type TraceFunction = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject, i32, *mut ffi::PyObject) -> i32;
type SetTrace = unsafe extern "C" fn(Option<TraceFunction>, *mut ffi::PyObject);

thread_local! {
    /// The program's own trace function and the frame's, to be put back.
    static TRACED: RefCell<Option<(Py<PyAny>, Py<PyAny>)>> = const { RefCell::new(None) };
}

fn watch_by_tracing(frame: &Bound<'_, PyAny>) -> PyResult<()> {
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
    let address = crate::frames::symbol(c"PyEval_SetTrace")
        .ok_or_else(|| pyo3::exceptions::PyRuntimeError::new_err("this interpreter has no PyEval_SetTrace"))?;
    // SAFETY: CPython exports this symbol with this signature.
    Ok(unsafe { std::mem::transmute::<*mut std::ffi::c_void, SetTrace>(address) })
}

/// The trace function on 3.11, in place for a few instructions only.
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
        let line = frame.getattr("f_lineno")?.extract().unwrap_or_default();
        if jump(&frame, line)? {
            stop_tracing(&frame)?;
        }
        Ok::<_, PyErr>(())
    }));
    match jumped {
        Ok(Ok(())) => {}
        Ok(Err(error)) => {
            let _ = stop_tracing(&frame);
            state::complain(&format!("the jump was refused, so the program goes on at the next statement: {error}"));
        }
        Err(_) => state::complain("the jump panicked, so the program goes on at the next statement"),
    }
    0
}

fn stop_tracing(frame: &Bound<'_, PyAny>) -> PyResult<()> {
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
