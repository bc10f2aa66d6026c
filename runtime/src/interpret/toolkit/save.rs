//! `heal.save(value, name)`: rendered while the heal runs, written when it is resumed.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString, PyTuple,
    PyType,
};

use super::super::calls::Values;
use super::super::interpreter::Interpreter;
use super::super::native;
use super::super::stop::Eval;
use super::{needed, text};

/// A file that the resume writes.
#[derive(Clone, Debug)]
pub(crate) struct Saved {
    /// Its name, without folder and ending.
    pub(crate) name: String,
    /// The value as JSON.
    pub(crate) json: String,
}

/// Bytes of one file.
const MAX_BYTES: usize = 1 << 20;
/// Levels of values in one another.
const MAX_LEVELS: usize = 40;
/// Files of one heal.
const MAX_FILES: usize = 10;

pub(super) fn call<'py>(
    interpreter: &mut Interpreter<'_, 'py>,
    values: &Values<'py>,
) -> Eval<Bound<'py, PyAny>> {
    interpreter.may_write(format_args!("`heal.save(…)`"))?;
    let name = text(needed(values, "name", 1)?, "name")?;
    let Some(name) = healcore::toolkit::file_name(&name) else {
        return Err(PyValueError::new_err("`name` has no letter or digit to name a file by").into());
    };
    if interpreter.saved.len() == MAX_FILES {
        return Err(PyValueError::new_err(format!("a heal saves at most {MAX_FILES} values")).into());
    }
    let mut json = Json { text: String::new() };
    json.value(needed(values, "value", 0)?, 0)?;
    json.text.push('\n');
    interpreter.saved.push(Saved {
        name,
        json: json.text,
    });
    Ok(interpreter.py.None().into_bound(interpreter.py))
}

struct Json {
    text: String,
}

impl Json {
    fn value(&mut self, value: &Bound<'_, PyAny>, level: usize) -> PyResult<()> {
        if level > MAX_LEVELS {
            let message = format!("the value has more than {MAX_LEVELS} levels, or contains itself");
            return Err(PyValueError::new_err(message));
        }
        if self.text.len() > MAX_BYTES {
            let message = format!(
                "the value has more than {} MiB as JSON: save a part of it",
                MAX_BYTES >> 20
            );
            return Err(PyValueError::new_err(message));
        }
        if value.is_none() {
            self.text.push_str("null");
        } else if let Ok(truth) = value.cast_exact::<PyBool>() {
            self.text.push_str(if truth.is_true() { "true" } else { "false" });
        } else if value.cast_exact::<PyInt>().is_ok() || value.cast_exact::<PyFloat>().is_ok() {
            // `nan` and `inf` are no JSON: a text says what they are.
            let written = value.str()?.to_string_lossy().into_owned();
            let is_plain = written.bytes().any(|byte| byte.is_ascii_digit());
            if is_plain {
                self.text.push_str(&written);
            } else {
                self.string(&written);
            }
        } else if let Ok(text) = value.cast_exact::<PyString>() {
            self.string(&text.to_string_lossy());
        } else if let Ok(list) = value.cast_exact::<PyList>() {
            self.list(list.iter(), level)?;
        } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            self.list(tuple.iter(), level)?;
        } else if let Ok(set) = value.cast_exact::<PySet>() {
            self.list(set.iter(), level)?;
        } else if let Ok(set) = value.cast_exact::<PyFrozenSet>() {
            self.list(set.iter(), level)?;
        } else if let Ok(dict) = value.cast_exact::<PyDict>() {
            self.dict(dict, None, level)?;
        } else {
            self.other(value, level)?;
        }
        Ok(())
    }

    /// An instance by the attributes that it holds itself; what holds none by its type and safe text.
    fn other(&mut self, value: &Bound<'_, PyAny>, level: usize) -> PyResult<()> {
        let class = class_name(&value.get_type());
        let is_bytes = value.cast_exact::<PyBytes>().is_ok() || value.cast_exact::<PyByteArray>().is_ok();
        let is_class = value.cast::<PyType>().is_ok();
        match crate::render::instance_dict(value).filter(|_| !is_bytes && !is_class) {
            Some(attributes) => self.dict(&attributes, Some(&class), level),
            None => {
                let text = crate::render::value(value, &crate::render::Limits::default()).text;
                self.string(&text);
                Ok(())
            }
        }
    }

    fn list<'py>(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>, level: usize) -> PyResult<()> {
        self.text.push('[');
        for (item_idx, item) in items.enumerate() {
            if item_idx > 0 {
                self.text.push_str(", ");
            }
            self.value(&item, level + 1)?;
        }
        self.text.push(']');
        Ok(())
    }

    fn dict(&mut self, dict: &Bound<'_, PyDict>, class: Option<&str>, level: usize) -> PyResult<()> {
        self.text.push('{');
        let mut is_first = true;
        if let Some(class) = class {
            self.text.push_str("\"$type\": ");
            self.string(class);
            is_first = false;
        }
        for (key, item) in native::dict_items(dict) {
            if !is_first {
                self.text.push_str(", ");
            }
            is_first = false;
            match key.cast_exact::<PyString>() {
                Ok(key) => self.string(&key.to_string_lossy()),
                Err(_) => {
                    let mut written = Self { text: String::new() };
                    written.value(&key, level + 1)?;
                    self.string(&written.text);
                }
            }
            self.text.push_str(": ");
            self.value(&item, level + 1)?;
        }
        self.text.push('}');
        Ok(())
    }

    fn string(&mut self, text: &str) {
        self.text.push_str(&serde_json::Value::from(text).to_string());
    }
}

/// `module.Class`, of what the class itself says in plain texts.
fn class_name(class: &Bound<'_, PyType>) -> String {
    class
        .fully_qualified_name()
        .map_or_else(|_: PyErr| "?".to_owned(), |name| name.to_string())
}
