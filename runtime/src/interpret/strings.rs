//! F-strings.

use healcore::tree::{Conversion, FStringPart};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::interpreter::Interpreter;
use super::native;
use super::stop::Eval;

impl<'py> Interpreter<'_, 'py> {
    pub(super) fn f_string(&mut self, parts: &[FStringPart]) -> Eval<Bound<'py, PyAny>> {
        let py = self.py;
        let mut texts = Vec::with_capacity(parts.len());
        let mut length = 0;
        for part in parts {
            let text = match part {
                FStringPart::Text(text) => PyString::new(py, text),
                FStringPart::Value {
                    value,
                    conversion,
                    spec,
                } => {
                    let mut value = self.expr(value)?;
                    value = match conversion {
                        Conversion::None => value,
                        Conversion::Str => self.text_of(&value, |value| Ok(value.str()?.into_any()))?,
                        Conversion::Repr => self.text_of(&value, |value| Ok(value.repr()?.into_any()))?,
                        Conversion::Ascii => {
                            let ascii = self
                                .facts
                                .world
                                .builtin(py, "ascii")
                                .expect("`ascii` is a listed builtin");
                            self.text_of(&value, |value| ascii.call1((value,)))?
                        }
                    };
                    self.vet_spec(spec)?;
                    let spec = PyString::new(py, spec);
                    let before = self.machine.spec.replace(spec.clone().into_any());
                    let text = self.text_of(&value, |value| native::format(value, &spec));
                    self.machine.spec = before;
                    let text = text?;
                    text.cast_into::<PyString>().map_err(PyErr::from)?
                }
            };
            length += native::text_len(&text);
            self.meter.text(length)?;
            texts.push(text);
        }
        let joined = PyString::new(py, "").call_method1("join", (pyo3::types::PyList::new(py, texts)?,))?;
        self.made(joined)
    }
}
