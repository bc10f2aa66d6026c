//! What a decision has read of the program's state, which tells whether it may be remembered.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A global name that was read, and what it meant.
pub(super) struct Reading {
    pub(super) globals: Py<PyDict>,
    /// Where the name is looked up next, if it is not among the globals.
    pub(super) builtins: Option<Py<PyDict>>,
    pub(super) name: Py<PyAny>,
    /// The address of the object, 0 where there was none; it only tells whether the name still means the same.
    pub(super) value: usize,
}

/// Everything that was read from [`begin`] on.
#[derive(Default)]
pub(super) struct Reads {
    names: Vec<Reading>,
    /// The addresses of values of variables that no decision has used yet.
    variables: Vec<usize>,
    /// Whether anything else than names was used.
    state: bool,
}

impl Reads {
    /// The names that were read; `None` where other state was, too.
    pub(super) fn only_names(self) -> Option<Vec<Reading>> {
        (!self.state).then_some(self.names)
    }
}

thread_local! {
    static READS: RefCell<Reads> = RefCell::new(Reads::default());
}

/// Forgets what this thread has read before.
pub(super) fn begin() {
    READS.set(Reads::default());
}

/// Returns what this thread has read since it began.
pub(super) fn end() -> Reads {
    READS.take()
}

/// Notes a name that was looked up among the globals, then among the builtins.
pub(super) fn name(
    globals: &Bound<'_, PyDict>,
    builtins: Option<&Bound<'_, PyDict>>,
    name: &str,
    value: Option<&Bound<'_, PyAny>>,
) {
    let reading = Reading {
        globals: globals.clone().unbind(),
        builtins: builtins.map(|builtins| builtins.clone().unbind()),
        name: pyo3::types::PyString::intern(globals.py(), name)
            .into_any()
            .unbind(),
        value: value.map_or(0, |value| value.as_ptr() as usize),
    };
    READS.with_borrow_mut(|reads| reads.names.push(reading));
}

/// Notes the value of a variable, which matters only once it is used.
pub(super) fn variable(value: &Bound<'_, PyAny>) {
    READS.with_borrow_mut(|reads| reads.variables.push(value.as_ptr() as usize));
}

/// Notes that the decision depends on this object.
pub(super) fn used(value: &Bound<'_, PyAny>) {
    let address = value.as_ptr() as usize;
    READS.with_borrow_mut(|reads| reads.state |= reads.variables.contains(&address));
}

/// Notes that the decision depends on something that is no name.
pub(super) fn state() {
    READS.with_borrow_mut(|reads| reads.state = true);
}
