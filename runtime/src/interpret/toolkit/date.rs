//! `heal.date(text, dayfirst=None)`.

use healcore::toolkit::{DateError, date};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict};

use super::super::calls::Values;
use super::super::interpreter::Interpreter;
use super::super::stop::Eval;
use super::{needed, text, wrong};

pub(super) fn call<'py>(
    interpreter: &mut Interpreter<'_, 'py>,
    values: &Values<'py>,
) -> Eval<Bound<'py, PyAny>> {
    let written = text(needed(values, "text", 0)?, "text")?;
    let day_first = match values.named("dayfirst", 1) {
        None => None,
        Some(value) if value.is_none() => None,
        Some(value) => match value.cast_exact::<PyBool>() {
            Ok(value) => Some(value.is_true()),
            Err(_) => return Err(wrong("`dayfirst` must be True, False or None")),
        },
    };
    let moment = date(&written, day_first).map_err(|error| {
        let message = match error {
            DateError::Unknown => format!("{written:.64?} is no date in a known form"),
            DateError::Ambiguous => {
                format!("{written:?} may mean two days: say dayfirst=True or dayfirst=False")
            }
        };
        PyValueError::new_err(message)
    })?;
    let module = interpreter.library_module("datetime")?;
    let keywords = PyDict::new(interpreter.py);
    if let Some(minutes) = moment.offset {
        let delta = PyDict::new(interpreter.py);
        delta.set_item("minutes", minutes)?;
        let delta = module.getattr("timedelta")?.call((), Some(&delta))?;
        keywords.set_item("tzinfo", module.getattr("timezone")?.call1((delta,))?)?;
    }
    let parts = (
        moment.year,
        moment.month,
        moment.day,
        moment.hour,
        moment.minute,
        moment.second,
        moment.microsecond,
    );
    Ok(module.getattr("datetime")?.call(parts, Some(&keywords))?)
}
