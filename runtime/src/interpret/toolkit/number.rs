//! `heal.number(value, default)`.

use healcore::toolkit::{Number, number};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};

use super::super::calls::Values;
use super::super::stop::Eval;
use super::{is_number, needed, type_name};

pub(super) fn call<'py>(py: Python<'py>, values: &Values<'py>) -> Eval<Bound<'py, PyAny>> {
    let value = needed(values, "value", 0)?;
    if is_number(value) {
        return Ok(value.clone());
    }
    if let Ok(truth) = value.cast_exact::<PyBool>() {
        return Ok(i32::from(truth.is_true())
            .into_pyobject(py)
            .map_err(PyErr::from)?
            .into_any());
    }
    let read = value
        .cast_exact::<PyString>()
        .ok()
        .and_then(|text| number(&text.to_string_lossy()));
    match (read, values.named("default", 1)) {
        (Some(Number::Int(digits)), _) => Ok(py.get_type::<PyInt>().call1((digits,))?),
        (Some(Number::Float(digits)), _) => Ok(py.get_type::<PyFloat>().call1((digits,))?),
        (Some(Number::Percent(digits)), _) => Ok(py.get_type::<PyFloat>().call1((digits,))?.div(100)?),
        (None, Some(default)) => Ok(default.clone()),
        (None, None) => {
            let message = match value.cast_exact::<PyString>() {
                Ok(text) => format!("{:.64?} is no number", text.to_string_lossy()),
                Err(_) => format!("a {} is no number", type_name(value)),
            };
            Err(PyValueError::new_err(message).into())
        }
    }
}
