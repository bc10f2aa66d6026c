//! An iterator over values that are known already, as `map` and `filter` of a heal give.

use std::collections::VecDeque;

use pyo3::prelude::*;

/// The iterator. It holds nothing of the run that made it, so that a heal may leave it in the program's state.
#[pyclass(name = "healed_iterator", module = "healmcp_runtime")]
#[derive(Default)]
pub(super) struct Replay {
    items: VecDeque<Py<PyAny>>,
    error: Option<PyErr>,
}

impl Replay {
    pub(super) fn push(&mut self, item: Py<PyAny>) {
        self.items.push_back(item);
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing is left in it.
    pub(super) fn is_exhausted(&self) -> bool {
        self.items.is_empty() && self.error.is_none()
    }

    /// After the last item the iterator raises this.
    pub(super) fn fail(&mut self, error: PyErr) {
        self.error = Some(error);
    }
}

#[pymethods]
impl Replay {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&mut self) -> PyResult<Option<Py<PyAny>>> {
        match self.items.pop_front() {
            Some(item) => Ok(Some(item)),
            None => self.error.take().map_or(Ok(None), Err),
        }
    }
}
