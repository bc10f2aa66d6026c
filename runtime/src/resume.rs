//! Goes on where a heal says.
//!
//! `next` needs nothing: the hook answers that nothing is pending and control falls through. `retry`, `line`, `break`
//! and `continue` are jumps: at the line event of `JUMP_LINE`, the last instruction of our handler, `frame.f_lineno`
//! is assigned, under a location table in which only the landing has a line.
//! `raise-new` puts another exception in the place of the one that the handler raises on.
//! `return` lets the exception unwind the frame's own blocks, with their cleanup, to the handler of ours that stands
//! outermost in the frame, and jumps from there to the function's `return HOOK.value`. An action in an outer frame
//! waits in the same way until the exception arrives there.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use pyo3::prelude::*;

use crate::frames::minor_version;
use crate::landing::Landings;
use crate::passing::{self, Site};
use crate::pause::Way;
use crate::{journal, location_swap, monitoring, raise_new, state, tracing};

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
    /// The frame raises this exception in its place.
    RaiseNew(Py<PyAny>),
}

/// An action that waits for the exception to arrive at a handler of ours further out.
struct Waiting {
    exception: Py<PyAny>,
    /// The types, by address, of exceptions that are raised in its place on the way.
    becomes: Vec<usize>,
    site: Site,
    action: Action,
}

/// A jump that waits for its line event.
struct Armed {
    frame: usize,
    offset: u32,
}

/// How many threads may have an action that waits: where none has, nobody needs to look.
static N_WAITING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static WAITING: RefCell<Option<Waiting>> = const { RefCell::new(None) };
    static RETURN_VALUE: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
    static ARMED: RefCell<Option<Armed>> = const { RefCell::new(None) };
}

/// Carries out an action in a frame of the stack; returns whether the exception goes on for now.
///
/// Frames within `target`
/// unwind with their cleanup before the action takes place, and so do the target's own blocks where it returns.
pub(crate) fn go_on(way: &Way<'_, '_>, target: &Bound<'_, PyAny>, action: Action) -> PyResult<bool> {
    let Way {
        exception,
        frame,
        sites,
        becomes,
        ..
    } = *way;
    if matches!(action, Action::Raise) {
        return Ok(true);
    }
    let address = target.as_ptr() as usize;
    let mut of_target = sites.iter().copied().filter(|site| site.frame == address);
    let site = match &action {
        Action::Return(_) => of_target.next_back(),
        Action::Next | Action::Jump(_) | Action::Raise | Action::RaiseNew(_) => of_target.next(),
    };
    let Some(site) = site else {
        state::complain("the heal's frame has no handler on the exception's way, so the exception goes on");
        return Ok(true);
    };
    if site == sites[0] {
        return act(frame, action);
    }
    wait(Waiting {
        exception: exception.clone().unbind(),
        becomes: becomes.iter().map(|class| class.as_ptr() as usize).collect(),
        site,
        action,
    });
    Ok(true)
}

/// Whether an action of this thread waits for the exception to arrive at a handler of ours further out.
pub(crate) fn is_waiting() -> bool {
    N_WAITING.load(Ordering::Relaxed) > 0 && WAITING.with_borrow(Option::is_some)
}

fn wait(waiting: Waiting) {
    N_WAITING.fetch_add(1, Ordering::Relaxed);
    if WAITING.replace(Some(waiting)).is_some() {
        N_WAITING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What a handler of ours does while an action waits for the exception to arrive; `None` where it is not concerned.
pub(crate) fn at_site(
    exception: &Bound<'_, PyAny>,
    frame: &Bound<'_, PyAny>,
    site: Site,
) -> PyResult<Option<bool>> {
    let Some(waiting) = WAITING.take() else {
        return Ok(None);
    };
    N_WAITING.fetch_sub(1, Ordering::Relaxed);
    if !comes_from(exception, &waiting) {
        // Cleanup code on the way raised something of its own.
        wait(waiting);
        return Ok(None);
    }
    if waiting.site == site {
        return act(frame, waiting.action).map(Some);
    }
    wait(waiting);
    Ok(Some(true))
}

fn act(frame: &Bound<'_, PyAny>, action: Action) -> PyResult<bool> {
    match action {
        Action::Next => Ok(false),
        Action::Raise => Ok(true),
        Action::RaiseNew(exception) => {
            raise_new::put_in_place(frame, exception.bind(frame.py()))?;
            Ok(true)
        }
        Action::Jump(offset) => arm(frame, offset).map(|()| false),
        Action::Return(value) => match Landings::of(frame)?.epilogue {
            Some(epilogue) => {
                RETURN_VALUE.set(Some(value));
                arm(frame, epilogue).map(|()| false)
            }
            // The check offers `return` only where there is an epilogue.
            None => Ok(true),
        },
    }
}

/// Whether it is the exception that is waited for, or one that was raised in its place on the way.
fn comes_from(exception: &Bound<'_, PyAny>, waiting: &Waiting) -> bool {
    let original = waiting.exception.bind(exception.py());
    exception.is(original)
        || waiting
            .becomes
            .contains(&(exception.get_type().as_ptr() as usize))
            && passing::replaced(exception)
                .iter()
                .any(|replaced| replaced.is(original))
}

/// The value for `return HOOK.value`, once.
pub(crate) fn take_return_value(_py: Python<'_>) -> Option<Py<PyAny>> {
    RETURN_VALUE.take()
}

/// Makes the frame jump when it reaches [`crate::compile::JUMP_LINE`], which is the next instruction with a line.
fn arm(frame: &Bound<'_, PyAny>, offset: u32) -> PyResult<()> {
    ARMED.set(Some(Armed {
        frame: frame.as_ptr() as usize,
        offset,
    }));
    if minor_version(frame.py()) >= 12 {
        monitoring::watch_lines(frame)
    } else {
        tracing::watch_lines(frame)
    }
}

/// Jumps, in the line event of a frame's jump line, if this is the armed frame; says whether it was.
pub(crate) fn jump(frame: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Some(armed) = ARMED.take() else {
        return Ok(false);
    };
    if armed.frame != frame.as_ptr() as usize {
        ARMED.set(Some(armed));
        return Ok(false);
    }
    without_warnings(frame.py(), || location_swap::jump_to(frame, armed.offset))?;
    Ok(true)
}

/// What follows where CPython does not take a jump, although the check had let it pass: the exception, which is still
/// being handled, goes on, and the next handler of ours further out asks again.
pub(crate) fn after_refusal(py: Python<'_>, error: &PyErr) -> Option<PyErr> {
    let reason = error.value(py).to_string();
    journal::note_refusal(&reason);
    journal::write("refused", serde_json::json!({ "reason": reason }));
    state::complain(&format!(
        "CPython refused the jump, so the exception goes on: {reason}"
    ));
    crate::hook::handled_exception(py).map(PyErr::from_value)
}

/// A jump turns unbound locals into `None` and warns of it on 3.12+; the check of the heal has said so.
fn without_warnings(py: Python<'_>, act: impl FnOnce() -> PyResult<()>) -> PyResult<()> {
    let warnings = py.import("warnings")?;
    let catch = warnings.getattr("catch_warnings")?.call0()?;
    catch.call_method0("__enter__")?;
    let result = warnings
        .call_method1("simplefilter", ("ignore",))
        .and_then(|_| act());
    catch.call_method1("__exit__", (py.None(), py.None(), py.None()))?;
    result
}
