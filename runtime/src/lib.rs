//! The extension inside the target process: it pauses, shows, heals and resumes a program that would die.

mod compile;
pub mod control;
mod decide;
pub mod exception_table;
mod fork;
mod frames;
mod gate;
mod hook;
mod interpret;
mod layout;
mod loaders;
pub mod location_table;
mod main_script;
mod passing;
mod pause;
mod render;
mod resume;
mod scope;
mod start;
mod state;

use pyo3::prelude::*;

/// The module that the injected `sitecustomize` loads.
#[pymodule]
fn healmcp_runtime(module: &Bound<'_, PyModule>) -> PyResult<()> {
    render::probe::register(module)?;
    module.add_function(wrap_pyfunction!(start::start, module)?)
}
