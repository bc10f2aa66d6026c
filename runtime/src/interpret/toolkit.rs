//! The toolkit over live values: builtin types only, so that no code of the program runs.

mod clamp;
mod date;
mod default;
mod number;
mod pad;
mod save;

use healcore::toolkit::Tool;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyString};

use super::calls::Values;
use super::interpreter::Interpreter;
use super::stop::{Eval, Stop};

pub(crate) use save::Saved;

impl<'py> Interpreter<'_, 'py> {
    /// Calls a function of the toolkit.
    pub(super) fn call_tool(&mut self, tool: Tool, values: &Values<'py>) -> Eval<Bound<'py, PyAny>> {
        let value = match tool {
            Tool::Clamp => clamp::call(values),
            Tool::Date => date::call(self, values),
            Tool::Default => default::call(values),
            Tool::Number => number::call(self.py, values),
            Tool::Pad => pad::call(self, values),
            Tool::Save => save::call(self, values),
        }?;
        self.made(value)
    }
}

/// An argument that must be given.
fn needed<'a, 'py>(values: &'a Values<'py>, name: &str, position: usize) -> Eval<&'a Bound<'py, PyAny>> {
    values
        .named(name, position)
        .ok_or_else(|| wrong(&format!("the argument `{name}` is missing")))
}

/// A text of exactly `str`.
fn text(value: &Bound<'_, PyAny>, name: &str) -> Eval<String> {
    match value.cast_exact::<PyString>() {
        Ok(text) => Ok(text.to_string_lossy().into_owned()),
        Err(_) => Err(wrong(&format!(
            "`{name}` must be a text, not a {}",
            type_name(value)
        ))),
    }
}

/// Whether a value is exactly an `int` or a `float`.
fn is_number(value: &Bound<'_, PyAny>) -> bool {
    value.cast_exact::<PyInt>().is_ok() || value.cast_exact::<PyFloat>().is_ok()
}

fn wrong(message: &str) -> Stop {
    PyTypeError::new_err(message.to_owned()).into()
}

fn type_name(value: &Bound<'_, PyAny>) -> String {
    let name = value.get_type().qualname();
    name.map_or_else(|_| "?".to_owned(), |name| name.to_string())
}
