//! A bound on the time of one call into the regular expression engine, which polls for signals while it backtracks.
//!
//! A thread waits for the deadline and then trips a signal that nobody sends: its handler, which stands only while
//! the call runs, raises. Only the main thread handles signals; elsewhere the text is kept short instead.

use std::ffi::c_int;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use nix::libc;
use pyo3::exceptions::PyTimeoutError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use super::stop::Eval;

/// The signal whose handler is borrowed.
const SIGNAL: c_int = libc::SIGVTALRM;

/// Characters of a text for which no watch is needed where the pattern was checked.
pub(super) const SHORT_TEXT: usize = 64;
/// Characters of a text for a pattern of the program on a thread that handles no signals: however it backtracks, it ends.
pub(super) const UNWATCHED_PROGRAM_TEXT: usize = 16;
/// Characters of a text on a thread that handles no signals.
pub(super) const UNWATCHED_TEXT: usize = 4_096;

/// What became of a guarded call.
pub(super) enum Watched<'py> {
    /// It ended.
    Done(PyResult<Bound<'py, PyAny>>),
    /// It was interrupted.
    TooLong,
    /// This thread cannot be interrupted; nothing was called.
    NotHere,
}

/// Runs a call that raises when the time is over.
pub(super) fn watched<'py>(
    py: Python<'py>,
    time: Duration,
    call: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
) -> Eval<Watched<'py>> {
    let threading = py.import("threading")?;
    let main = threading
        .call_method0("main_thread")?
        .getattr("ident")?
        .extract::<u64>()?;
    if threading.call_method0("get_ident")?.extract::<u64>()? != main {
        return Ok(Watched::NotHere);
    }
    let signal = py.import("signal")?;
    let old = signal.call_method1("getsignal", (SIGNAL,))?;
    if old.is_none() {
        // A handler that C code installed cannot be put back.
        return Ok(Watched::NotHere);
    }
    let handler = PyCFunction::new_closure(py, None, None, |_args, _keywords| -> PyResult<()> {
        Err(PyTimeoutError::new_err("the regular expression took too long"))
    })?;
    signal.call_method1("signal", (SIGNAL, &handler))?;
    let (stop, stopped) = channel::<()>();
    let watch = thread::Builder::new()
        .name("healmcp-regex".to_owned())
        .spawn(move || {
            let is_late = stopped.recv_timeout(time) == Err(RecvTimeoutError::Timeout);
            if is_late {
                // SAFETY: the call only sets flags, and may come from any thread.
                unsafe { ffi::PyErr_SetInterruptEx(SIGNAL) };
            }
            is_late
        });
    let result = match &watch {
        Ok(_) => call(),
        Err(error) => Err(PyTimeoutError::new_err(error.to_string())),
    };
    let is_late = finish(stop, watch.ok());
    if is_late {
        // The signal may still be pending: it is taken here, while its handler stands.
        // SAFETY: the interpreter is attached.
        if unsafe { ffi::PyErr_CheckSignals() } < 0 {
            drop(PyErr::take(py));
        }
    }
    signal.call_method1("signal", (SIGNAL, old))?;
    Ok(if is_late {
        Watched::TooLong
    } else {
        Watched::Done(result)
    })
}

fn finish(stop: Sender<()>, watch: Option<thread::JoinHandle<bool>>) -> bool {
    // Nobody listens any more where the time is over.
    let _ = stop.send(());
    watch.is_some_and(|watch| watch.join().unwrap_or(false))
}
