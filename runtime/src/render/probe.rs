//! A hidden module of the extension through which the end-to-end tests see what a client would see.

use std::fmt::Display;

use protocol::FrameQuery;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

use super::exception;
use super::frame::{self, FrameAt};
use super::value::{self, Limits};

/// Adds the module `_probe`.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let probe = PyModule::new(module.py(), "_probe")?;
    probe.add_function(wrap_pyfunction!(render_value, &probe)?)?;
    probe.add_function(wrap_pyfunction!(render_variable, &probe)?)?;
    probe.add_function(wrap_pyfunction!(render_frame, &probe)?)?;
    probe.add_function(wrap_pyfunction!(view_frame, &probe)?)?;
    probe.add_function(wrap_pyfunction!(render_exception, &probe)?)?;
    module.add_submodule(&probe)
}

fn json(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(failed)
}

fn failed(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// Returns `(type, text, cut)` of a value.
#[pyfunction]
#[pyo3(signature = (object, depth=2, max_chars=0))]
fn render_value(object: &Bound<'_, PyAny>, depth: usize, max_chars: usize) -> (String, String, bool) {
    let limits = if max_chars > 0 {
        Limits::wide(max_chars)
    } else {
        Limits::with_depth(depth)
    };
    let rendered = value::value(object, &limits);
    (rendered.type_name, rendered.text, rendered.cut)
}

/// Returns a variable as JSON.
#[pyfunction]
fn render_variable(name: &str, object: &Bound<'_, PyAny>) -> PyResult<String> {
    json(&frame::variable(name, object, false, &Limits::default()))
}

/// Returns the report of a traceback's frame as JSON.
#[pyfunction]
#[pyo3(signature = (traceback, max_variables=20, with_source=true))]
fn render_frame(traceback: &Bound<'_, PyAny>, max_variables: usize, with_source: bool) -> PyResult<String> {
    json(&frame::frame_report(
        &frame_at(traceback)?,
        max_variables,
        with_source,
    )?)
}

/// Returns the view of a traceback's frame, or the failure, as JSON.
#[pyfunction]
fn view_frame(traceback: &Bound<'_, PyAny>, query: &str) -> PyResult<String> {
    let query: FrameQuery = serde_json::from_str(query).map_err(failed)?;
    match frame::frame_view(&frame_at(traceback)?, &query) {
        Ok(view) => json(&view),
        Err(failure) => json(&failure),
    }
}

/// Returns the exception's type and text, and its chain as JSON.
#[pyfunction]
fn render_exception(exception: &Bound<'_, PyAny>) -> PyResult<(String, String, String)> {
    let (exception_type, message) = exception::exception_summary(exception);
    Ok((exception_type, message, json(&exception::chain(exception))?))
}

fn frame_at<'py>(traceback: &Bound<'py, PyAny>) -> PyResult<FrameAt<'py>> {
    Ok(FrameAt {
        frame: traceback.getattr("tb_frame")?,
        lasti: traceback.getattr("tb_lasti")?.extract()?,
        line: traceback.getattr("tb_lineno")?.extract()?,
        index: 0,
        in_scope: true,
    })
}
