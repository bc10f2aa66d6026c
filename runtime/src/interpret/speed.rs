//! A way for benchmarks to time the parts of a heal in a frame of theirs.

use std::hint::black_box;
use std::time::Instant;

use healcore::check;
use pyo3::prelude::*;

use super::probe::{TestPolicy, options};
use super::{run, with_room};

/// Adds the function to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_probe_time, module)?)
}

/// How a heal ended and the nanoseconds for its parts: the check of its text, the run of the checked tree with all rules,
/// limits and the journal, telling what it changed, and writing its names to the frame.
type Timed = (&'static str, u64, u64, u64, u64);

/// Checks, runs and commits a heal.
#[pyfunction]
fn _probe_time(py: Python<'_>, code: &str, frame: &Bound<'_, PyAny>) -> PyResult<Timed> {
    let options = options(py, false);
    let (checked, check_ns) = with_room(|| {
        let started = Instant::now();
        let checked = check(code, &options);
        (checked, since(started))
    })?;
    let Some(program) = checked.program else {
        return Ok(("violations", check_ns, 0, 0, 0));
    };
    let policy = TestPolicy {
        allows_calls: false,
        guard: None,
    };
    let started = Instant::now();
    let done = run(&program, frame, &policy, super::Purpose::ForGood);
    let run_ns = since(started);
    let done = match done {
        Ok(done) => done,
        Err(error) => return Ok((error.kind.name(), check_ns, run_ns, 0, 0)),
    };
    let started = Instant::now();
    black_box(done.changes());
    let tell_ns = since(started);
    let started = Instant::now();
    done.commit(frame)?;
    Ok(("ran", check_ns, run_ns, tell_ns, since(started)))
}

fn since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
