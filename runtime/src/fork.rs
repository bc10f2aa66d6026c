//! What a forked child must not take over from its parent: sockets, crashes, heals.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::{crashes, journal, state};

static STARTED_IN: AtomicU32 = AtomicU32::new(0);

/// Has forked children start afresh.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    STARTED_IN.store(std::process::id(), Ordering::Relaxed);
    let hooks = PyDict::new(py);
    hooks.set_item("after_in_child", wrap_pyfunction!(in_child, py)?)?;
    py.import("posix")?
        .getattr("register_at_fork")?
        .call((), Some(&hooks))?;
    Ok(())
}

#[pyfunction]
fn in_child() {
    STARTED_IN.store(std::process::id(), Ordering::Relaxed);
    crashes::forget_all();
    journal::forget_heals();
    state::forget_unwrapped();
}

/// Whether this process must not pause: it is a copy of a started one that CPython was not told of.
pub(crate) fn is_off() -> bool {
    STARTED_IN.load(Ordering::Relaxed) != std::process::id()
}
