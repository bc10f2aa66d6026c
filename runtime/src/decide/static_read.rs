//! Reads names and attributes in frames without running user code.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyTuple, PyType};

use crate::frames;

/// A global or builtin name of the frame.
pub(super) fn global<'py>(frame: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    let builtin = || {
        frame
            .getattr("f_builtins")
            .ok()?
            .cast_into::<PyDict>()
            .ok()?
            .get_item(name)
            .ok()?
    };
    frames::lookup_global(frame, name).ok()?.or_else(builtin)
}

/// A name of the frame, whatever its scope.
pub(super) fn name<'py>(frame: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    local(frame, name).or_else(|| global(frame, name))
}

/// A local, cell or free variable of the frame.
pub(super) fn local<'py>(frame: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    frames::lookup_local(frame, name).ok()?
}

/// An attribute of a module or class, found in its own dictionaries.
pub(super) fn attribute<'py>(object: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    if let Ok(module) = object.cast_exact::<PyModule>() {
        return module.dict().get_item(name).ok()?;
    }
    let class = object.cast::<PyType>().ok()?;
    class_attribute(class, name)
}

/// An attribute as it stands in the dictionaries of the class and its bases; descriptors are not asked.
pub(super) fn class_attribute<'py>(class: &Bound<'py, PyType>, name: &str) -> Option<Bound<'py, PyAny>> {
    // `type.__dict__["__dict__"]` reads a class's own namespace; no metaclass can stand in front of it.
    let namespaces = class
        .py()
        .get_type::<PyType>()
        .getattr("__dict__")
        .ok()?
        .get_item("__dict__")
        .ok()?;
    class.mro().iter().find_map(|base| {
        namespaces
            .call_method1("__get__", (base,))
            .ok()?
            .get_item(name)
            .ok()
    })
}

/// The module that a class says it is from; types written in C say it in their name alone.
pub(super) fn module_of(class: &Bound<'_, PyAny>) -> Option<String> {
    let class = class.cast::<PyType>().ok()?;
    match class_attribute(class, "__module__").and_then(|module| module.extract::<String>().ok()) {
        Some(module) => Some(module),
        None => class.module().ok().map(|module| module.to_string()),
    }
}

/// An attribute in the instance's own dictionary.
pub(super) fn instance_attribute<'py>(object: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    crate::render::instance_dict(object)?.get_item(name).ok()?
}

/// Whether an `except` clause with this operand catches the exception, as CPython decides it.
pub(super) fn matches(exception: &Bound<'_, PyAny>, operand: &Bound<'_, PyAny>) -> Option<bool> {
    if !is_clause(operand, 0) {
        return None;
    }
    // SAFETY: both are live objects; for classes and tuples of classes no user code runs.
    Some(unsafe { pyo3::ffi::PyErr_GivenExceptionMatches(exception.as_ptr(), operand.as_ptr()) } != 0)
}

fn is_clause(operand: &Bound<'_, PyAny>, depth: usize) -> bool {
    match operand.cast_exact::<PyTuple>() {
        Ok(classes) => depth < 8 && classes.iter().all(|class| is_clause(&class, depth + 1)),
        Err(_) => operand.cast::<PyType>().is_ok(),
    }
}
