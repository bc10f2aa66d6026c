//! An interpreter of Python in this process, with objects of a program in it, that heals run over.

use std::ffi::CString;
use std::path::Path;
use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyModule;

static RUN: OnceLock<Py<PyAny>> = OnceLock::new();

/// Runs a heal over the objects, and panics where it escapes, hangs or leaves a trace.
pub fn run(source: &str) {
    let run = RUN.get_or_init(|| {
        start().unwrap_or_else(|error| {
            Python::attach(|py| error.display(py));
            panic!("the interpreter does not start")
        })
    });
    Python::attach(|py| {
        let found = run.call1(py, (source,)).unwrap_or_else(|error| {
            error.display(py);
            panic!("the harness failed on {source:?}")
        });
        let found: Option<String> = found
            .extract(py)
            .expect("the harness answers with text or nothing");
        if let Some(found) = found {
            panic!("{found}\n{source}");
        }
    });
}

fn start() -> PyResult<Py<PyAny>> {
    // The interpreter that the targets are linked with, wherever they lie.
    // SAFETY: there is one thread yet.
    unsafe { std::env::set_var("PYTHONHOME", env!("FUZZ_PYTHON_HOME")) };
    Python::initialize();
    Python::attach(|py| {
        let here = env!("CARGO_MANIFEST_DIR");
        let extension = PyModule::new(py, "healmcp_runtime")?;
        healmcp_runtime::fuzzing::register(&extension)?;
        let text =
            std::fs::read(Path::new(here).join("harness.py")).expect("the harness lies beside the targets");
        let text = CString::new(text).expect("a script has no NUL");
        let harness = PyModule::from_code(py, &text, c"harness.py", c"harness")?;
        Ok(harness.call_method1("start", (extension, here))?.unbind())
    })
}
