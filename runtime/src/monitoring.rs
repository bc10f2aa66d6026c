//! `sys.monitoring` (3.12 and later): our tool, its line events for jumps and its start events for gates.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::compile::JUMP_LINE;
use crate::{gate, resume};

/// Tool ids that no standard tool has claimed.
const FREE_TOOLS: [u8; 2] = [4, 3];

/// Our tool id, once one is taken.
fn tool(py: Python<'_>) -> PyResult<u8> {
    static TOOL: PyOnceLock<u8> = PyOnceLock::new();
    TOOL.get_or_try_init(py, || {
        let monitoring = monitoring(py)?;
        for tool in FREE_TOOLS {
            if monitoring.call_method1("get_tool", (tool,))?.is_none() {
                monitoring.call_method1("use_tool_id", (tool, "healmcp"))?;
                let callbacks = [
                    ("LINE", wrap_pyfunction!(on_line, py)?),
                    ("PY_START", wrap_pyfunction!(on_start, py)?),
                ];
                for (name, callback) in callbacks {
                    monitoring.call_method1("register_callback", (tool, event(py, name)?, callback))?;
                }
                return Ok(tool);
            }
        }
        Err(pyo3::exceptions::PyRuntimeError::new_err(
            "no free tool id of sys.monitoring: other tools hold 3 and 4",
        ))
    })
    .copied()
}

fn monitoring(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("sys")?.getattr("monitoring")
}

fn event(py: Python<'_>, name: &str) -> PyResult<u32> {
    monitoring(py)?.getattr("events")?.getattr(name)?.extract()
}

/// Asks for line events of the frame's code.
pub(crate) fn watch_lines(frame: &Bound<'_, PyAny>) -> PyResult<()> {
    set_lines(frame, event(frame.py(), "LINE")?)
}

fn set_lines(frame: &Bound<'_, PyAny>, events: u32) -> PyResult<()> {
    let py = frame.py();
    monitoring(py)?.call_method1("set_local_events", (tool(py)?, frame.getattr("f_code")?, events))?;
    Ok(())
}

/// Asks for the start of every function; those that are not protected are asked once.
pub(crate) fn watch_starts(py: Python<'_>) -> PyResult<()> {
    monitoring(py)?.call_method1("set_events", (tool(py)?, event(py, "PY_START")?))?;
    // Code that was looked up before another heal may have been switched off for good reason: nothing changes it.
    Ok(())
}

#[pyfunction]
fn on_line(code: &Bound<'_, PyAny>, line: i64) -> PyResult<()> {
    let py = code.py();
    let jumped = || -> PyResult<()> {
        let frame = py.import("sys")?.getattr("_getframe")?.call0()?;
        if line == JUMP_LINE && frame.getattr("f_code")?.is(code) && resume::jump(&frame)? {
            set_lines(&frame, 0)?;
        }
        Ok(())
    };
    match jumped() {
        Ok(()) => Ok(()),
        Err(error) => resume::after_refusal(py, &error).map_or(Ok(()), Err),
    }
}

/// Raises `HealDenied` into a protected function before its first statement.
#[pyfunction]
fn on_start<'py>(code: &Bound<'py, PyAny>, _offset: u32) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = code.py();
    let frame = py.import("sys")?.getattr("_getframe")?.call0()?;
    let module = crate::frames::lookup_global(&frame, "__name__")?;
    let module = module
        .and_then(|module| module.extract::<String>().ok())
        .unwrap_or_default();
    match gate::is_protected(code, &module) {
        Some(protected) => gate::check_start(&frame, protected).map(|()| None),
        None => monitoring(py)?.getattr("DISABLE").map(Some),
    }
}
