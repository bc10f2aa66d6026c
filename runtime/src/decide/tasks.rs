//! asyncio: an exception that leaves a task goes to whoever awaits it.

use pyo3::prelude::*;
use pyo3::types::PyFunction;

use super::boundary::Between;
use super::reads;

/// Where the exception goes that leaves the task which is running now.
pub(super) fn after_current_task(py: Python<'_>) -> PyResult<Between<'_>> {
    reads::state();
    let task = py.import("asyncio.tasks")?.getattr("current_task")?.call0()?;
    if task.is_none() {
        Ok(Between::Passes)
    } else {
        after(&task, 0)
    }
}

/// Where the exception goes that leaves a suspended task.
pub(super) fn after_task<'py>(task: &Bound<'py, PyAny>) -> PyResult<Between<'py>> {
    reads::state();
    after(task, 0)
}

/// Where the exception goes that a pool of threads keeps in a future: to a task, where one awaits the future.
///
/// `frame` is that of `concurrent.futures.thread._WorkItem.run`.
pub(super) fn after_work_item<'py>(frame: &Bound<'py, PyAny>) -> PyResult<Option<Between<'py>>> {
    reads::state();
    let Some(item) = crate::frames::lookup_local(frame, "self")? else {
        return Ok(None);
    };
    let future = item.getattr("future")?;
    for tick in 0..MAX_TICKS {
        // `asyncio.wrap_future` chains the pool's future to one of the event loop, which a task then awaits.
        let destination = destination_of(&future)?;
        let is_awaited = |future: &Bound<'py, PyAny>| {
            let callbacks = future.getattr("_callbacks");
            callbacks.and_then(|callbacks| callbacks.is_truthy())
        };
        match destination {
            Some(destination) if tick + 1 == MAX_TICKS || is_awaited(&destination)? => {
                return after(&destination, 1).map(Some);
            }
            None if !is_being_handed_over(frame.py())? => break,
            _ => frame.py().detach(|| std::thread::sleep(TICK)),
        }
    }
    Ok(None)
}

fn destination_of<'py>(future: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    for callback in future.getattr("_done_callbacks")?.try_iter()? {
        if let Some(destination) = free_variable(&callback?, "destination")? {
            return Ok(Some(destination));
        }
    }
    Ok(None)
}

/// How long, in ticks, an event loop may take to chain the future of work that it has just handed over.
const MAX_TICKS: usize = 200;
const TICK: std::time::Duration = std::time::Duration::from_millis(1);

/// Whether an event loop, in another thread, is just handing work to a pool.
fn is_being_handed_over(py: Python<'_>) -> PyResult<bool> {
    const MAX_FRAMES: usize = 12;
    let frames = py
        .import("sys")?
        .getattr("_current_frames")?
        .call0()?
        .call_method0("values")?;
    for frame in frames.try_iter()? {
        let mut frame = frame?;
        for _ in 0..MAX_FRAMES {
            if frame.is_none() {
                break;
            }
            if frame
                .getattr("f_code")?
                .getattr("co_qualname")?
                .eq("BaseEventLoop.run_in_executor")?
            {
                return Ok(true);
            }
            frame = frame.getattr("f_back")?;
        }
    }
    Ok(false)
}

/// So many futures are followed from one to the next.
const MAX_DEPTH: usize = 64;

/// Follows the callbacks of a task or future to a task that waits for it.
fn after<'py>(future: &Bound<'py, PyAny>, depth: usize) -> PyResult<Between<'py>> {
    let nobody = || Between::Swallowed("the task keeps it: nothing awaits the task yet".to_owned());
    let callbacks = future.getattr("_callbacks")?;
    if callbacks.is_none() || depth > MAX_DEPTH {
        return Ok(nobody());
    }
    let mut unknown = None;
    for entry in callbacks.try_iter()? {
        let callback = entry?.get_item(0)?;
        let name = callback
            .getattr("__qualname__")
            .and_then(|name| name.extract::<String>())
            .unwrap_or_default();
        if name.ends_with("_run_until_complete_cb") {
            return Ok(match runner_of(future)? {
                Some(frame) => Between::Raised(frame),
                None => Between::Dies("the main task of the event loop".to_owned()),
            });
        }
        let owner = callback.getattr("__self__").ok().filter(|owner| !owner.is_none());
        if let Some(owner) = owner {
            if owner.hasattr("_parent_task")? {
                return awaited(owner.getattr("_parent_task")?, true);
            }
            if owner.hasattr("get_coro")? {
                return awaited(owner, false);
            }
        }
        if let Some(outer) = gathering(&callback)? {
            return after(&outer, depth + 1);
        }
        unknown.get_or_insert(name);
    }
    Ok(match unknown {
        Some(name) => Between::Unknown(format!("a callback of the task: {name}")),
        None => nobody(),
    })
}

/// The frame that runs the event loop until `future` is done, in this thread, and then raises its exception.
fn runner_of<'py>(future: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let mut frame = future.py().import("sys")?.getattr("_getframe")?.call0()?;
    while !frame.is_none() {
        if frame
            .getattr("f_code")?
            .getattr("co_qualname")?
            .eq("BaseEventLoop.run_until_complete")?
        {
            let runs = crate::frames::lookup_local(&frame, "future")?.is_some_and(|own| own.is(future));
            return Ok(Some(frame).filter(|_| runs));
        }
        frame = frame.getattr("f_back")?;
    }
    Ok(None)
}

fn awaited(task: Bound<'_, PyAny>, group: bool) -> PyResult<Between<'_>> {
    Ok(match frames_of(&task)? {
        Some(frames) => Between::Awaited { task, frames, group },
        None => Between::Unknown("an awaiting task that cannot be followed".to_owned()),
    })
}

/// The future that `gather` returns, from the callback that it adds to each of its tasks.
fn gathering<'py>(callback: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match (
        free_variable(callback, "outer")?,
        free_variable(callback, "return_exceptions")?,
    ) {
        (Some(outer), Some(kept)) if !kept.is_truthy()? => Ok(Some(outer)),
        _ => Ok(None),
    }
}

/// A variable that a function of asyncio's has closed over.
fn free_variable<'py>(function: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if !function.is_exact_instance_of::<PyFunction>() {
        return Ok(None);
    }
    let names: Vec<String> = function.getattr("__code__")?.getattr("co_freevars")?.extract()?;
    let Some(index) = names.iter().position(|free| free == name) else {
        return Ok(None);
    };
    function
        .getattr("__closure__")?
        .get_item(index)?
        .getattr("cell_contents")
        .map(Some)
}

/// The frames of a suspended task, outermost first; `None` where something other than coroutines is awaited.
fn frames_of<'py>(task: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let mut frames = Vec::new();
    let mut awaited = task.call_method0("get_coro")?;
    loop {
        let fields = [("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom")];
        let Some((frame, next)) = fields
            .iter()
            .find(|(frame, _)| awaited.hasattr(*frame).unwrap_or(false))
        else {
            // A future ends the chain; an async generator hides its frames.
            let is_future = awaited.get_type().name()?.to_string().ends_with("FutureIter");
            return Ok((is_future || awaited.hasattr("_asyncio_future_blocking")?).then_some(frames));
        };
        let frame = awaited.getattr(*frame)?;
        if frame.is_none() {
            return Ok(None);
        }
        frames.push(frame);
        awaited = awaited.getattr(*next)?;
        if awaited.is_none() {
            return Ok(Some(frames));
        }
    }
}
