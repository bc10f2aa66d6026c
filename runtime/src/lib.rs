//! The extension inside the target process: it pauses, shows, heals and resumes a program that would die.

mod fork;
mod scope;
mod start;
mod state;

mod compile;
mod evaluation;
mod layout;
mod loaders;
mod location_table;
mod main_script;
mod pytest;

mod decide;
mod exception_table;
mod hook;
mod passing;

mod announce;
mod crashes;
mod frames;
mod pause;
mod render;
mod repeats;
mod socket;
mod stack;

mod control;
mod frame_names;
mod gate;
mod heal;
mod interpret;
mod journal;
mod landing;
mod plan;
mod raise_new;

mod location_swap;
mod monitoring;
mod resume;
mod saved;
mod tracing;
mod workers;

use pyo3::prelude::*;

/// What the fuzz targets reach: heals that run in frames of theirs.
#[cfg(feature = "fuzzing")]
pub mod fuzzing {
    use pyo3::prelude::*;

    /// Adds the functions of the probe to a module.
    pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::interpret::probe::register(module)
    }
}

/// The module that the injected `sitecustomize` loads.
#[pymodule]
fn healmcp_runtime(module: &Bound<'_, PyModule>) -> PyResult<()> {
    render::probe::register(module)?;
    interpret::probe::register(module)?;
    interpret::speed::register(module)?;
    module.add("HealDenied", module.py().get_type::<gate::HealDenied>())?;
    module.add_function(wrap_pyfunction!(start::start, module)?)
}
