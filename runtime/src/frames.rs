//! Frames of the paused program: what they hold, and writing to them.

use pyo3::prelude::*;

/// The interpreter's version as `(3, minor)`'s minor; layouts and opcodes differ by it.
pub(crate) fn minor_version(py: Python<'_>) -> u8 {
    py.version_info().minor
}
