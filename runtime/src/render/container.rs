//! Containers, read through the slots of their builtin type whatever a subclass has put in front of them.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyList, PySet, PyTuple};

use super::statics;

/// A container that is read through the slots of its builtin type.
pub(crate) enum Container<'py> {
    /// A `list`.
    List(Bound<'py, PyList>),
    /// A `tuple`.
    Tuple(Bound<'py, PyTuple>),
    /// A `dict`.
    Dict(Bound<'py, PyDict>),
    /// A `set`.
    Set(Bound<'py, PyAny>),
    /// A `frozenset`.
    FrozenSet(Bound<'py, PyAny>),
}

impl<'py> Container<'py> {
    /// Returns the object as a container when its type is exactly a builtin one.
    pub(crate) fn exact(object: &Bound<'py, PyAny>) -> Option<Self> {
        let class = object.get_type();
        let py = object.py();
        let is_builtin = class.is(py.get_type::<PyList>())
            || class.is(py.get_type::<PyTuple>())
            || class.is(py.get_type::<PyDict>())
            || class.is(py.get_type::<PySet>())
            || class.is(py.get_type::<PyFrozenSet>());
        if is_builtin {
            Self::of_subclass(object)
        } else {
            None
        }
    }

    /// Returns the object as a container when a builtin one is among its bases.
    pub(crate) fn of_subclass(object: &Bound<'py, PyAny>) -> Option<Self> {
        if let Ok(list) = object.cast::<PyList>() {
            return Some(Self::List(list.clone()));
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return Some(Self::Tuple(tuple.clone()));
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            return Some(Self::Dict(dict.clone()));
        }
        if object.cast::<PySet>().is_ok() {
            return Some(Self::Set(object.clone()));
        }
        object
            .cast::<PyFrozenSet>()
            .is_ok()
            .then(|| Self::FrozenSet(object.clone()))
    }

    /// Returns how many items there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Tuple(tuple) => tuple.len(),
            Self::Dict(dict) => dict.len(),
            Self::Set(set) | Self::FrozenSet(set) => statics::set_len(set).unwrap_or(0),
        }
    }

    /// Returns items from `start` on, with their keys where it is a dict.
    pub(crate) fn items(
        &self,
        start: usize,
        count: usize,
    ) -> Vec<(Option<Bound<'py, PyAny>>, Bound<'py, PyAny>)> {
        let end = start.saturating_add(count).min(self.len());
        match self {
            Self::List(list) => (start..end)
                .filter_map(|idx| Some((None, list.get_item(idx).ok()?)))
                .collect(),
            Self::Tuple(tuple) => (start..end)
                .filter_map(|idx| Some((None, tuple.get_item(idx).ok()?)))
                .collect(),
            Self::Dict(dict) => statics::dict_items(dict, start, count)
                .into_iter()
                .map(|(key, value)| (Some(key), value))
                .collect(),
            Self::Set(set) | Self::FrozenSet(set) => match statics::set_iter(set) {
                Ok(items) => items
                    .flatten()
                    .skip(start)
                    .take(count)
                    .map(|item| (None, item))
                    .collect(),
                Err(_) => Vec::new(),
            },
        }
    }

    /// Returns what stands before and after the items, and for no items.
    pub(crate) fn brackets(&self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::List(_) => ("[", "]", "[]"),
            Self::Tuple(_) => ("(", ")", "()"),
            Self::Dict(_) => ("{", "}", "{}"),
            Self::Set(_) => ("{", "}", "set()"),
            Self::FrozenSet(_) => ("frozenset({", "})", "frozenset()"),
        }
    }
}
