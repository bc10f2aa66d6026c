//! Reads names and attributes in frames without running user code.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyTuple, PyType};

use super::reads;
use crate::frames;

/// A global or builtin name of the frame.
pub(super) fn global<'py>(frame: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    let dict = |field: &str| frame.getattr(field).ok()?.cast_into::<PyDict>().ok();
    let (globals, builtins) = (dict("f_globals")?, dict("f_builtins"));
    let found = match (globals.get_item(name).ok()?, &builtins) {
        (None, Some(builtins)) => builtins.get_item(name).ok()?,
        (found, _) => found,
    };
    if globals.is_exact_instance_of::<PyDict>() {
        reads::name(&globals, builtins.as_ref(), name, found.as_ref());
    } else {
        reads::state();
    }
    found
}

/// A name of the frame, whatever its scope.
pub(super) fn name<'py>(frame: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    let is_module = || {
        Some(
            frame
                .getattr("f_locals")
                .ok()?
                .is(&frame.getattr("f_globals").ok()?),
        )
    };
    if is_module() == Some(true) {
        return global(frame, name);
    }
    local(frame, name).or_else(|| global(frame, name))
}

/// A local, cell or free variable of the frame.
pub(super) fn local<'py>(frame: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    let value = frames::lookup_local(frame, name).ok()?;
    if let Some(value) = &value {
        reads::variable(value);
    }
    value
}

/// An attribute of a module or class, found in its own dictionaries.
pub(super) fn attribute<'py>(object: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    if let Ok(module) = object.cast_exact::<PyModule>() {
        let found = module.dict().get_item(name).ok()?;
        reads::name(&module.dict(), None, name, found.as_ref());
        return found;
    }
    let class = object.cast::<PyType>().ok()?;
    class_attribute(class, name)
}

/// An attribute as it stands in the dictionaries of the class and its bases; descriptors are not asked.
pub(super) fn class_attribute<'py>(class: &Bound<'py, PyType>, name: &str) -> Option<Bound<'py, PyAny>> {
    reads::state();
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
    reads::state();
    crate::render::instance_dict(object)?.get_item(name).ok()?
}

/// Whether an `except` clause with this operand catches the exception, as CPython decides it.
pub(super) fn matches(exception: &Bound<'_, PyAny>, operand: &Bound<'_, PyAny>) -> Option<bool> {
    reads::used(operand);
    if !is_clause(operand, 0) {
        return None;
    }
    // SAFETY: both are live objects; for classes and tuples of classes no user code runs.
    Some(unsafe { pyo3::ffi::PyErr_GivenExceptionMatches(exception.as_ptr(), operand.as_ptr()) } != 0)
}

fn is_clause(operand: &Bound<'_, PyAny>, depth: usize) -> bool {
    match operand.cast_exact::<PyTuple>() {
        Ok(classes) => {
            depth < 8
                && classes.iter().all(|class| {
                    reads::used(&class);
                    is_clause(&class, depth + 1)
                })
        }
        Err(_) => operand.cast::<PyType>().is_ok(),
    }
}
