//! Would the exception be handled? Decided before anything unwinds, by simulating the unwinding over the live stack.
//!
//! No user code runs for it. Frame by frame, from the crashed one outwards, the exception table says which handler
//! covers the instruction, and [`handler`] follows that handler's bytecode. Our own handlers are transparent and are
//! collected as the [`Site`]s that the exception will meet. Where only running on can tell, nothing pauses: the next
//! handler of ours further out decides again, the second chance.

mod boundary;
mod code;
mod handler;
mod manager;
mod opcodes;
mod raising;
mod reads;
mod remembered;
mod static_read;
mod tasks;

use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::exception_table::covering;
use crate::passing::Site;
pub(crate) use code::Code;
pub(crate) use opcodes::Op;
pub(crate) use remembered::goes_on;

use handler::Follower;

/// What was decided about an exception.
pub(crate) struct Decision<'py> {
    /// Whether anything would handle it.
    pub(crate) outcome: Outcome,
    /// The handlers of ours that it will meet until then, the asking one first.
    pub(crate) sites: Vec<Site>,
    /// The frames that it will leave, nearest first; those of tasks that await the present one are among them.
    pub(crate) frames: Vec<Bound<'py, PyAny>>,
    /// The types of the exceptions that take its place on the way.
    pub(crate) becomes: Vec<Bound<'py, PyType>>,
    /// Why, for the report.
    pub(crate) why: String,
}

/// Whether anything would handle the exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Nothing would: the program, its thread, task or test would die of it.
    Unhandled,
    /// Something would.
    Handled,
    /// Only running on can tell.
    Maybe,
}

impl Outcome {
    /// Whether the program pauses.
    pub(crate) fn pauses(self) -> bool {
        self == Self::Unhandled
    }
}

/// Decides about an exception that a handler of ours in `frame` is asking about.
pub(crate) fn decide<'py>(
    frame: &Bound<'py, PyAny>,
    exception: &Bound<'py, PyAny>,
) -> PyResult<Decision<'py>> {
    reads::begin();
    let decided = simulate(frame, exception);
    let reads = reads::end();
    let (decision, asks_caller) = decided?;
    if !decision.outcome.pauses() {
        remembered::remember(exception, &decision.frames, asks_caller, &decision.sites, reads)?;
    }
    Ok(decision)
}

/// Decides about an exception that is not raised yet, in a frame of the running stack.
pub(crate) fn foresee<'py>(
    frame: &Bound<'py, PyAny>,
    exception: &Bound<'py, PyAny>,
) -> PyResult<Decision<'py>> {
    simulate(frame, exception).map(|(decision, _)| decision)
}

/// Simulates the unwinding; says also whether what the last frame's caller calls has counted.
fn simulate<'py>(
    frame: &Bound<'py, PyAny>,
    exception: &Bound<'py, PyAny>,
) -> PyResult<(Decision<'py>, bool)> {
    let mut trail = Trail {
        sites: vec![Site::of(frame)?],
        converted_at: None,
        dies: None,
        caught_by_type: false,
    };
    let mut exception = exception.clone();
    let mut becomes: Vec<Bound<'py, PyType>> = Vec::new();
    let mut stack = LiveStack {
        next: Some(frame.clone()),
        suspended: Vec::new(),
        task: None,
    };
    let mut frames = Vec::new();
    let mut asks_caller = false;
    let (outcome, why) = loop {
        let Some(frame) = stack.pop()? else {
            break (
                Outcome::Unhandled,
                String::from("nothing up to the end of the stack handles it"),
            );
        };
        frames.push(frame.clone());
        let code = Code::of(&frame)?;
        let offset = frame.getattr("f_lasti")?.extract()?;
        let before = exception.clone();
        let is_first = frames.len() == 1;
        trail.caught_by_type = false;
        let through = through_frame(&frame, &code, offset, &mut exception, &mut trail);
        if let Some(what) = trail.dies {
            break (Outcome::Unhandled, format!("nothing up to {what} handles it"));
        }
        let place = || format!("{} in {}", code.qualified_name, module_name(&frame));
        let mut note = |exception: &Bound<'py, PyAny>| {
            if !exception.get_type().is(before.get_type()) {
                becomes.push(exception.get_type());
            }
        };
        note(&exception);
        let between = match (through, boundary::of_frame(&frame, &code, &exception)) {
            // What lets others die knows this one: a signal of its own, such as the end of a queue.
            (Through::Handled, Some(boundary::Boundary::Dies(_))) if trail.caught_by_type => {
                break (Outcome::Handled, format!("{} handles it", place()));
            }
            (_, Some(boundary::Boundary::Dies(what))) => boundary::Between::Dies(what.to_owned()),
            (_, Some(boundary::Boundary::Handles)) => {
                break (
                    Outcome::Handled,
                    format!("{} handles it, as the project says", place()),
                );
            }
            (Through::Handled, None) => match boundary::handed_on(&frame, &code)? {
                Some(between) => between,
                None => break (Outcome::Handled, format!("{} handles it", place())),
            },
            // Its own frame raises another one in its place: nothing is lost until that asks.
            (Through::Leaves, None) if is_first && !exception.is(&before) && raises_itself(&trail) => {
                break (
                    Outcome::Handled,
                    format!("{} raises another one in its place", place()),
                );
            }
            (Through::Maybe, None) => break (Outcome::Maybe, format!("{} may handle it", place())),
            (_, Some(boundary::Boundary::Transparent)) | (Through::Leaves, _) => {
                exception = converted(&frame, &code, &exception);
                note(&exception);
                boundary::between(&frame, &code, &stack, &exception)?
            }
        };
        match between {
            boundary::Between::Passes => {}
            boundary::Between::Swallowed(why) => {
                asks_caller = true;
                break (Outcome::Handled, why);
            }
            boundary::Between::Unknown(why) => {
                asks_caller = true;
                break (Outcome::Maybe, why);
            }
            boundary::Between::Dies(what) => {
                break (Outcome::Unhandled, format!("nothing up to {what} handles it"));
            }
            boundary::Between::Raised(frame) => {
                let next = Some(frame.getattr("f_back")?).filter(|back| !back.is_none());
                stack = LiveStack {
                    next,
                    suspended: Vec::new(),
                    task: None,
                };
            }
            boundary::Between::Awaited { task, frames, group } => {
                stack = LiveStack {
                    next: None,
                    suspended: frames,
                    task: Some(task),
                };
                if group {
                    exception = in_group(&exception)?;
                    becomes.push(exception.get_type());
                }
            }
        }
    };
    let decision = Decision {
        outcome,
        sites: trail.sites,
        frames,
        becomes,
        why,
    };
    Ok((decision, asks_caller))
}

/// What the simulated exception has met so far.
struct Trail {
    /// The handlers of ours, the asking one first.
    sites: Vec<Site>,
    /// How many handlers of ours it had met when a handler of the program raised another one in its place.
    converted_at: Option<usize>,
    /// What dies of it, where code known by name says so.
    dies: Option<&'static str>,
    /// Whether a clause of the last frame names the exception's type, more closely than `Exception`.
    caught_by_type: bool,
}

/// Whether the other exception that takes the place of the present one will ask us in the same frame: its first site.
fn raises_itself(trail: &Trail) -> bool {
    trail
        .converted_at
        .is_some_and(|n_sites| trail.sites.len() > n_sites)
}

/// What becomes of an exception in one frame.
enum Through {
    Leaves,
    Handled,
    Maybe,
}

/// Follows the exception from an instruction out of the frame; on the way another one may take its place.
fn through_frame<'py>(
    frame: &Bound<'py, PyAny>,
    code: &Code,
    offset: u32,
    exception: &mut Bound<'py, PyAny>,
    trail: &mut Trail,
) -> Through {
    let mut offset = offset;
    // Each handler covers another one further out, so there are no more rounds than regions.
    for _ in 0..=code.regions.len() {
        let Some(region) = covering(&code.regions, offset) else {
            return Through::Leaves;
        };
        let exits = Follower {
            frame,
            code,
            exception: &exception.clone(),
            trail: &mut *trail,
            raised_by_exit: None,
        }
        .follow(region);
        match (exits.swallows, exits.reraises, exits.converts) {
            _ if exits.unknown => return Through::Maybe,
            (false, Some(reraise), None) => offset = reraise,
            (false, None, Some(conversion)) => {
                offset = conversion.offset;
                *exception = conversion.exception;
                if conversion.is_raised_here {
                    trail.converted_at = Some(trail.sites.len());
                }
            }
            (_, None, None) => return Through::Handled,
            _ => return Through::Maybe,
        }
    }
    Through::Maybe
}

/// What CPython makes of an exception that leaves a frame.
fn converted<'py>(
    frame: &Bound<'py, PyAny>,
    code: &Code,
    exception: &Bound<'py, PyAny>,
) -> Bound<'py, PyAny> {
    use pyo3::exceptions::{PyRuntimeError, PyStopAsyncIteration, PyStopIteration};
    const ASYNC_GENERATOR: u32 = 0x200;
    // PEP 479.
    let stops = code.is_resumable() && exception.is_instance_of::<PyStopIteration>()
        || code.flags & ASYNC_GENERATOR != 0 && exception.is_instance_of::<PyStopAsyncIteration>();
    let message = if stops {
        "generator raised StopIteration"
    } else if boundary::is_set_name(frame, code) {
        "Error calling __set_name__"
    } else {
        return exception.clone();
    };
    PyRuntimeError::new_err(message)
        .into_value(exception.py())
        .into_bound(exception.py())
        .into_any()
}

/// The group in which a task group raises the exception of one of its tasks.
fn in_group<'py>(exception: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let group = exception.py().import("builtins")?.getattr("BaseExceptionGroup")?;
    group.call1(("unhandled errors in a TaskGroup", vec![exception]))
}

/// Whether the exception is a group whose methods are CPython's own.
pub(crate) fn is_exact_group(exception: &Bound<'_, PyAny>) -> bool {
    reads::state();
    let is = |name: &str| {
        let group = exception
            .py()
            .import("builtins")
            .and_then(|builtins| builtins.getattr(name));
        group.is_ok_and(|group| exception.get_type().is(&group))
    };
    is("ExceptionGroup") || is("BaseExceptionGroup")
}

/// The frames that the exception has still to pass, nearest first.
struct LiveStack<'py> {
    /// The next frame of the running stack.
    next: Option<Bound<'py, PyAny>>,
    /// Frames of a suspended task, outermost first; used once the running stack has ended.
    suspended: Vec<Bound<'py, PyAny>>,
    /// The task whose frames `suspended` are.
    task: Option<Bound<'py, PyAny>>,
}

impl<'py> LiveStack<'py> {
    fn pop(&mut self) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(frame) = self.next.take() else {
            return Ok(self.suspended.pop());
        };
        self.next = Some(frame.getattr("f_back")?).filter(|back| !back.is_none());
        Ok(Some(frame))
    }
}

fn module_name(frame: &Bound<'_, PyAny>) -> String {
    let name = crate::frames::lookup_global(frame, "__name__").ok().flatten();
    name.and_then(|name| name.extract().ok())
        .unwrap_or_else(|| "?".to_owned())
}
