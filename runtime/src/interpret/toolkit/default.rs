//! `heal.default(kind)`.

use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyByteArray, PyBytes, PyComplex, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PySet, PyString,
    PyTuple, PyType,
};

use super::super::calls::Values;
use super::super::stop::Eval;
use super::{needed, type_name, wrong};

pub(super) fn call<'py>(values: &Values<'py>) -> Eval<Bound<'py, PyAny>> {
    let kind = needed(values, "kind", 0)?;
    let py = kind.py();
    if kind.is_none() {
        return Ok(kind.clone());
    }
    let class = kind
        .cast::<PyType>()
        .map_or_else(|_| kind.get_type(), Bound::clone);
    let known = [
        py.get_type::<PyBool>(),
        py.get_type::<PyInt>(),
        py.get_type::<PyFloat>(),
        py.get_type::<PyComplex>(),
        py.get_type::<PyString>(),
        py.get_type::<PyBytes>(),
        py.get_type::<PyByteArray>(),
        py.get_type::<PyList>(),
        py.get_type::<PyTuple>(),
        py.get_type::<PyDict>(),
        py.get_type::<PySet>(),
        py.get_type::<PyFrozenSet>(),
    ];
    if known.iter().any(|known| known.is(&class)) {
        Ok(class.call0()?)
    } else {
        let name = if kind.is(&class) {
            class
                .qualname()
                .map_or_else(|_| "?".to_owned(), |name| name.to_string())
        } else {
            type_name(kind)
        };
        Err(wrong(&format!(
            "`{name}` has no default: it is no builtin type of plain data"
        )))
    }
}
