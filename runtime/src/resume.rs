//! Goes on where a heal says.
//!
//! `next` needs nothing: the hook answers that nothing is pending and control falls through. `retry`, `line`, `break`
//! and `continue` are jumps: at the line event of `JUMP_LINE`, the last instruction of our handler, `frame.f_lineno`
//! is assigned, under a location table in which only the landing has a line.
//! `return` lets the exception unwind the frame's own blocks, with their cleanup, to the handler of ours that stands
//! outermost in the frame, and jumps from there to the function's `return HOOK.value`.

use std::cell::RefCell;

use pyo3::prelude::*;

use crate::frames::minor_version;
use crate::landing::Landings;
use crate::passing::Site;
use crate::{location_swap, monitoring, state, tracing};

/// Where the paused frame goes on.
pub(crate) enum Action {
    /// At the next statement.
    Next,
    /// At an instruction of the frame: its byte offset.
    Jump(u32),
    /// The frame returns this value.
    Return(Py<PyAny>),
    /// The exception goes on.
    Raise,
}

/// A frame that unwinds to its outermost handler of ours in order to return.
struct Returning {
    exception: usize,
    frame: usize,
    outermost: Site,
    value: Py<PyAny>,
}

/// A jump that waits for its line event.
struct Armed {
    frame: usize,
    offset: u32,
}

thread_local! {
    static RETURNING: RefCell<Option<Returning>> = const { RefCell::new(None) };
    static RETURN_VALUE: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
    static ARMED: RefCell<Option<Armed>> = const { RefCell::new(None) };
}

/// Carries out an action in the paused frame; returns whether the exception goes on for now.
///
/// `sites` are the handlers of ours that the exception would meet, the asking one first.
pub(crate) fn go_on(
    exception: &Bound<'_, PyAny>,
    frame: &Bound<'_, PyAny>,
    sites: &[Site],
    action: Action,
) -> PyResult<bool> {
    match action {
        Action::Next => Ok(false),
        Action::Raise => Ok(true),
        Action::Jump(offset) => arm(frame, offset).map(|()| false),
        Action::Return(value) => {
            let here = sites[0];
            let outermost = sites.iter().rev().find(|site| site.frame == here.frame).copied().unwrap_or(here);
            let exception_address = exception.as_ptr() as usize;
            RETURNING.set(Some(Returning { exception: exception_address, frame: here.frame, outermost, value }));
            Ok(at_site(exception, frame, here)?.unwrap_or(true))
        }
    }
}

/// What a handler of ours does in a frame that is on its way to return; `None` in every other frame.
pub(crate) fn at_site(
    exception: &Bound<'_, PyAny>,
    frame: &Bound<'_, PyAny>,
    site: Site,
) -> PyResult<Option<bool>> {
    let is_ours = |returning: &Returning| returning.exception == exception.as_ptr() as usize;
    let returning = RETURNING.take();
    match returning {
        Some(returning) if returning.outermost == site && is_ours(&returning) => {
            RETURN_VALUE.set(Some(returning.value));
            match Landings::of(frame)?.epilogue {
                Some(epilogue) => arm(frame, epilogue).map(|()| Some(false)),
                // The check offers `return` only where there is an epilogue.
                None => Ok(Some(true)),
            }
        }
        Some(returning) if returning.frame == site.frame && is_ours(&returning) => {
            RETURNING.set(Some(returning));
            Ok(Some(true))
        }
        // The frame was left by other means, or cleanup code of another frame runs meanwhile.
        returning => {
            RETURNING.set(returning);
            Ok(None)
        }
    }
}

/// The value for `return HOOK.value`, once.
pub(crate) fn take_return_value(_py: Python<'_>) -> Option<Py<PyAny>> {
    RETURN_VALUE.take()
}

/// Makes the frame jump when it reaches [`crate::compile::JUMP_LINE`], which is the next instruction with a line.
fn arm(frame: &Bound<'_, PyAny>, offset: u32) -> PyResult<()> {
    ARMED.set(Some(Armed { frame: frame.as_ptr() as usize, offset }));
    if minor_version(frame.py()) >= 12 { monitoring::watch_lines(frame) } else { tracing::watch_lines(frame) }
}

/// Jumps, in the line event of a frame's jump line, if this is the armed frame; says whether it was.
pub(crate) fn jump(frame: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(armed) = ARMED.take() else { return Ok(false) };
    if armed.frame != frame.as_ptr() as usize {
        ARMED.set(Some(armed));
        return Ok(false);
    }
    without_warnings(frame.py(), || location_swap::jump_to(frame, armed.offset))?;
    Ok(true)
}

/// Says that CPython did not take a jump, although the check had let it pass.
pub(crate) fn complain_of_refusal(error: &PyErr) {
    state::complain(&format!("the jump was refused, so the program goes on at the next statement: {error}"));
}

/// A jump turns unbound locals into `None` and warns of it on 3.12+; the check of the heal has said so.
fn without_warnings(py: Python<'_>, act: impl FnOnce() -> PyResult<()>) -> PyResult<()> {
    let warnings = py.import("warnings")?;
    let catch = warnings.getattr("catch_warnings")?.call0()?;
    catch.call_method0("__enter__")?;
    let result = warnings.call_method1("simplefilter", ("ignore",)).and_then(|_| act());
    catch.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
    result
}
