//! `heal.pad(sequence, length, fill=None)`.

use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList, PyString, PyTuple};

use super::super::calls::Values;
use super::super::interpreter::Interpreter;
use super::super::stop::Eval;
use super::{needed, text, type_name, wrong};

pub(super) fn call<'py>(
    interpreter: &mut Interpreter<'_, 'py>,
    values: &Values<'py>,
) -> Eval<Bound<'py, PyAny>> {
    let py = interpreter.py;
    let sequence = needed(values, "sequence", 0)?;
    let length = needed(values, "length", 1)?;
    let none = py.None().into_bound(py);
    let fill = values.named("fill", 2).unwrap_or(&none);
    let length: usize = match length.cast_exact::<PyInt>() {
        Ok(length) => length
            .extract()
            .map_err(|_| wrong("`length` must be a number from 0 on"))?,
        Err(_) => {
            return Err(wrong(&format!(
                "`length` must be an int, not a {}",
                type_name(length)
            )));
        }
    };
    if let Ok(written) = sequence.cast_exact::<PyString>() {
        let fill = if fill.is_none() {
            " ".to_owned()
        } else {
            text(fill, "fill")?
        };
        if fill.chars().count() != 1 {
            return Err(wrong("`fill` of a text must be one character"));
        }
        interpreter.meter.text(length)?;
        return Ok(written.call_method1("ljust", (length, fill))?);
    }
    let (list, is_tuple) = match (sequence.cast_exact::<PyList>(), sequence.cast_exact::<PyTuple>()) {
        (Ok(list), _) => (list.get_slice(0, list.len()), false),
        (_, Ok(tuple)) => (tuple.to_list(), true),
        _ => {
            let message = format!(
                "`sequence` must be a list, a tuple or a text, not a {}",
                type_name(sequence)
            );
            return Err(wrong(&message));
        }
    };
    interpreter.meter.elements(length)?;
    while list.len() < length {
        list.append(fill)?;
    }
    Ok(if is_tuple {
        list.to_tuple().into_any()
    } else {
        list.into_any()
    })
}
