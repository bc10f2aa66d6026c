//! Starts the runtime in a process: the injected `sitecustomize` calls it before any code of the program runs.

use protocol::Settings;
use pyo3::prelude::*;

use crate::{loaders, main_script, scope, state};

/// Starts the runtime with the settings as JSON; does nothing in a process that has started it already.
#[pyfunction]
pub(crate) fn start(py: Python<'_>, settings: &str) -> PyResult<()> {
    let settings: Settings = serde_json::from_str(settings)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(format!("bad settings: {error}")))?;
    if settings.version != protocol::VERSION {
        return Err(pyo3::exceptions::PyValueError::new_err(format!(
            "the command speaks version {} and the extension {}: install both from one release",
            settings.version,
            protocol::VERSION
        )));
    }
    state::set_settings(settings);
    crate::fork::note_process();
    scope::learn_library(py)?;
    loaders::install(py)?;
    main_script::expect(py)
}
