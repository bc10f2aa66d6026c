//! Stops protected operations while values of a heal are among their arguments.

use pyo3::prelude::*;

/// Whether the exception is our own refusal of a protected operation.
pub(crate) fn is_denial(exception: &Bound<'_, PyAny>) -> bool {
    let _ = exception;
    false
}
