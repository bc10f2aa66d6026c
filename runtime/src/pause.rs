//! The pause.
use pyo3::prelude::*;
use crate::passing::Site;
pub(crate) fn pause(py: Python<'_>, exception: &Bound<'_, PyAny>, frame: &Bound<'_, PyAny>, sites: &[Site], why: &str) -> PyResult<bool> {
    let _ = (py, exception);
    crate::state::complain(&format!("PAUSE {why} sites {} at {}", sites.len(), frame.getattr("f_code")?.getattr("co_qualname")?));
    crate::passing::release(exception)?;
    let act = std::env::var("HEAL_ACT").unwrap_or_default();
    let action = match act.split(':').next() {
        Some("next") => crate::resume::Action::Next,
        Some("ret") => crate::resume::Action::Return(py.None()),
        Some("jump") => crate::resume::Action::Jump(act[5..].parse()?),
        _ => crate::resume::Action::Raise,
    };
    crate::resume::go_on(frame, sites, action)
}
