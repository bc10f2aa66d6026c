//! `heal.clamp(value, low, high)`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::super::calls::Values;
use super::super::stop::Eval;
use super::{is_number, needed, type_name, wrong};

pub(super) fn call<'py>(values: &Values<'py>) -> Eval<Bound<'py, PyAny>> {
    let value = needed(values, "value", 0)?;
    let low = needed(values, "low", 1)?;
    let high = needed(values, "high", 2)?;
    for (name, number) in [("value", value), ("low", low), ("high", high)] {
        if !is_number(number) {
            return Err(wrong(&format!(
                "`{name}` must be an int or a float, not a {}",
                type_name(number)
            )));
        }
        // Only NaN is not equal to itself.
        if number.ne(number)? {
            return Err(PyValueError::new_err(format!("`{name}` is not a number (NaN)")).into());
        }
    }
    if low.gt(high)? {
        return Err(PyValueError::new_err("`low` is greater than `high`").into());
    }
    let bound = if value.lt(low)? {
        low
    } else if value.gt(high)? {
        high
    } else {
        value
    };
    Ok(bound.clone())
}
