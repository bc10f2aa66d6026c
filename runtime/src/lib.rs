//! The extension inside the target process: it pauses, shows, heals and resumes a program that would die.

mod start;
mod state;
mod scope;
mod fork;

mod compile;
mod location_table;
mod loaders;
mod pytest;
mod main_script;
mod evaluation;
mod layout;

mod hook;
mod passing;
mod decide;
mod exception_table;

mod pause;
mod announce;
mod crashes;
mod socket;
mod frames;
mod render;

mod heal;
mod frame_names;
mod plan;
mod control;
mod landing;
mod interpret;
mod gate;
mod journal;

mod resume;
mod location_swap;
mod monitoring;
mod tracing;
mod workers;

use pyo3::prelude::*;

/// The module that the injected `sitecustomize` loads.
#[pymodule]
fn healmcp_runtime(module: &Bound<'_, PyModule>) -> PyResult<()> {
    render::probe::register(module)?;
    interpret::probe::register(module)?;
    module.add("HealDenied", module.py().get_type::<gate::HealDenied>())?;
    module.add_function(wrap_pyfunction!(start::start, module)?)
}
