//! The object that compiled code asks when a statement raised: shall the exception go on?
//!
//! Everything here runs inside the handler of the statement, with its frame alive. Nothing of ours may raise into
//! the program: whatever goes wrong on our side lets the exception go on as plain Python.

use pyo3::exceptions::{PyGeneratorExit, PyKeyboardInterrupt, PyRecursionError, PySystemExit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::decide::{self, Decision};
use crate::passing::{self, Site};
use crate::pause::Way;
use crate::tracing::Silence;
use crate::{pause, resume, state};

/// The constant in compiled code.
#[pyclass(frozen, module = "healmcp_runtime")]
pub(crate) struct Hook;

static OBJECT: PyOnceLock<Py<Hook>> = PyOnceLock::new();

/// The one hook object of the process.
pub(crate) fn object(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let hook = OBJECT.get_or_try_init(py, || Py::new(py, Hook))?;
    Ok(hook.bind(py).clone().into_any())
}

#[pymethods]
impl Hook {
    /// Whether the handler must raise the exception on. This is where a program pauses.
    #[getter]
    fn pending(&self, py: Python<'_>) -> bool {
        let settings = state::settings();
        if settings.timeout_s == 0 && settings.decisions.is_none()
            || goes_on_as_before(py)
            || crate::fork::is_off()
        {
            return true;
        }
        // Code of the program that we run ourselves, such as a `repr` that a client asked for, does not pause.
        let Some(_alone) = Alone::enter() else { return true };
        let asked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _room = Room::make(py);
            goes_on(py)
        }));
        match asked {
            Ok(Ok(goes_on)) => goes_on,
            Ok(Err(error)) => {
                state::complain(&format!(
                    "the exception goes on, since deciding about it failed: {error}"
                ));
                true
            }
            Err(_) => {
                state::complain("the exception goes on, since deciding about it panicked");
                true
            }
        }
    }

    /// What the frame returns, where the resume action is `return`; `None` behind a skipped last statement.
    #[getter]
    fn value(&self, py: Python<'_>) -> Py<PyAny> {
        resume::take_return_value(py).unwrap_or_else(|| py.None())
    }

    /// Stands in front of code that only a jump enters.
    #[getter]
    fn returning(&self) -> bool {
        false
    }

    /// Code that is pickled by value is loaded by a process that may know nothing of us.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (), Bound<'py, PyAny>)> {
        let inert = pyo3::types::PyDict::new(py);
        inert.set_item("pending", true)?;
        inert.set_item("returning", false)?;
        inert.set_item("value", py.None())?;
        Ok((
            py.import("types")?.getattr("SimpleNamespace")?,
            (),
            inert.into_any(),
        ))
    }
}

/// Whether the exception goes on for a reason that is known at once: the same was decided here before.
fn goes_on_as_before(py: Python<'_>) -> bool {
    !resume::is_waiting() && handled_exception(py).is_some_and(|exception| decide::goes_on(py, &exception))
}

fn goes_on(py: Python<'_>) -> PyResult<bool> {
    let _silence = Silence::begin(py);
    let Some(exception) = handled_exception(py) else {
        return Ok(true);
    };
    if never_pauses(&exception) {
        return Ok(true);
    }
    let frame = current_frame(py)?;
    let site = Site::of(&frame)?;
    if let Some(goes_on) = resume::at_site(&exception, &frame, site)? {
        return Ok(goes_on);
    }
    if passing::is_expected(&exception, site) || passing::was_released(&exception) {
        return Ok(true);
    }
    let Decision {
        outcome,
        sites,
        frames,
        becomes,
        why,
    } = decide::decide(&frame, &exception)?;
    if !outcome.pauses() {
        passing::expect(&exception, sites);
        return Ok(true);
    }
    if let Some(file) = &state::settings().decisions {
        note_decision(file, &exception, &frame, &why)?;
        passing::release(&exception, &becomes)?;
        return Ok(true);
    }
    pause::pause(&Way {
        exception: &exception,
        frame: &frame,
        sites: &sites,
        frames: &frames,
        becomes: &becomes,
        why: &why,
    })
}

/// Appends the decision to pause, as one line of JSON, with the test that pytest says is running.
fn note_decision(
    file: &str,
    exception: &Bound<'_, PyAny>,
    frame: &Bound<'_, PyAny>,
    why: &str,
) -> PyResult<()> {
    use std::io::Write;
    let code = frame.getattr("f_code")?;
    let line = serde_json::json!({
        "exception": exception.get_type().name()?.to_string(),
        "file": code.getattr("co_filename")?.extract::<String>()?,
        "line": exception.getattr("__traceback__")?.getattr("tb_lineno")?.extract::<Option<u32>>()?,
        "function": code.getattr("co_qualname")?.extract::<String>()?,
        "why": why,
        "test": std::env::var("PYTEST_CURRENT_TEST").ok(),
    });
    let file = std::fs::OpenOptions::new().create(true).append(true).open(file);
    file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()))
        .map_err(PyErr::from)
}

/// The exception that the handler is handling.
pub(crate) fn handled_exception(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    // SAFETY: the interpreter is attached.
    let exception = unsafe { pyo3::ffi::PyErr_GetHandledException() };
    // SAFETY: a new reference or null.
    unsafe { Bound::from_owned_ptr_or_opt(py, exception) }
}

/// Exceptions that end a program on purpose or that we raised ourselves.
fn never_pauses(exception: &Bound<'_, PyAny>) -> bool {
    exception.is_instance_of::<PySystemExit>()
        || exception.is_instance_of::<PyKeyboardInterrupt>()
        || exception.is_instance_of::<PyGeneratorExit>()
        || crate::gate::is_denial(exception)
}

/// The frame whose code asks.
fn current_frame(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("sys")?.getattr("_getframe")?.call0()
}

/// More room on the stack while we work, for an exception that came since there was none left.
struct Room {
    limit: Option<i32>,
}

impl Room {
    const FRAMES: i32 = 200;

    fn make(py: Python<'_>) -> Self {
        let overflowed =
            handled_exception(py).is_some_and(|error| error.is_instance_of::<PyRecursionError>());
        if !overflowed {
            return Self { limit: None };
        }
        // SAFETY: the interpreter is attached.
        let limit = unsafe { pyo3::ffi::Py_GetRecursionLimit() };
        // SAFETY: as above; the limit only grows, until `drop`.
        unsafe { pyo3::ffi::Py_SetRecursionLimit(limit + Self::FRAMES) };
        Self { limit: Some(limit) }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Some(limit) = self.limit {
            // SAFETY: a `Room` lives within one call into us, during which the interpreter is attached.
            unsafe { pyo3::ffi::Py_SetRecursionLimit(limit) };
        }
    }
}

thread_local! {
    static INSIDE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Says that this thread is inside us, while it lives.
struct Alone;

impl Alone {
    fn enter() -> Option<Self> {
        (!INSIDE.replace(true)).then_some(Self)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        INSIDE.set(false);
    }
}
