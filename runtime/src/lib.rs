//! The extension inside the target process: it pauses, shows, heals and resumes a program that would die.

mod frames;
mod interpret;
mod render;

use pyo3::prelude::*;

/// The module that the injected `sitecustomize` loads.
#[pymodule]
fn healmcp_runtime(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
