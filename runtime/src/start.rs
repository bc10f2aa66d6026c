//! Starts the runtime in a process: the injected `sitecustomize` calls it before any code of the program runs.

use protocol::Settings;
use pyo3::prelude::*;

use crate::{announce, crashes, fork, loaders, main_script, scope, socket, state, workers};

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
    fork::prepare(py)?;
    // Registered before the program's own, so it runs after them.
    py.import("atexit")?
        .call_method1("register", (wrap_pyfunction!(at_exit, py)?,))?;
    scope::learn_installed(py)?;
    loaders::install(py)?;
    workers::prepare(py)?;
    main_script::expect(py)
}

/// Says what was healed, tells waiting clients that the program ends, and takes the socket away.
#[pyfunction]
fn at_exit(py: Python<'_>) {
    if fork::is_off() {
        return;
    }
    announce::end_of_run(py);
    py.detach(crashes::announce_exit);
    socket::close();
}
