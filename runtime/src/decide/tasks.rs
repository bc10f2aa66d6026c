//! asyncio: an exception that leaves a task goes to whoever awaits it.

use pyo3::prelude::*;

use super::boundary::Between;

/// Where the exception goes that leaves the task which is running now.
pub(super) fn after_current_task(py: Python<'_>) -> PyResult<Between<'_>> {
    let task = py.import("asyncio.tasks")?.getattr("current_task")?.call0()?;
    if task.is_none() { Ok(Between::Passes) } else { after(&task, 0) }
}

/// Where the exception goes that leaves a suspended task, known by its outermost frame.
pub(super) fn after_task<'py>(frame: &Bound<'py, PyAny>) -> PyResult<Between<'py>> {
    let tasks = frame.py().import("asyncio.tasks")?.getattr("all_tasks")?.call0()?;
    for task in tasks.try_iter()? {
        let task = task?;
        let coroutine = task.call_method0("get_coro")?;
        if coroutine.getattr("cr_frame").is_ok_and(|outermost| outermost.is(frame)) {
            return after(&task, 0);
        }
    }
    Ok(Between::Unknown("a coroutine that no task runs".to_owned()))
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
        let name = callback.getattr("__qualname__").and_then(|name| name.extract::<String>()).unwrap_or_default();
        if name.ends_with("_run_until_complete_cb") {
            return Ok(Between::Dies("the main task of the event loop".to_owned()));
        }
        let owner = callback.getattr("__self__").ok().filter(|owner| !owner.is_none());
        if let Some(owner) = owner {
            if owner.hasattr("_parent_task")? {
                return Ok(match frames_of(&owner.getattr("_parent_task")?)? {
                    Some(frames) => Between::Awaited { frames, group: true },
                    None => Between::Unknown("a task group whose task cannot be followed".to_owned()),
                });
            }
            if owner.hasattr("get_coro")? {
                return Ok(match frames_of(&owner)? {
                    Some(frames) => Between::Awaited { frames, group: false },
                    None => Between::Unknown("an awaiting task that cannot be followed".to_owned()),
                });
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

/// The future that `gather` returns, from the callback that it adds to each of its tasks.
fn gathering<'py>(callback: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Ok(closure) = callback.getattr("__closure__") else { return Ok(None) };
    let names: Vec<String> = callback.getattr("__code__")?.getattr("co_freevars")?.extract()?;
    let cell = |name: &str| -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(index) = names.iter().position(|free| free == name) else { return Ok(None) };
        closure.get_item(index)?.getattr("cell_contents").map(Some)
    };
    match (cell("outer")?, cell("return_exceptions")?) {
        (Some(outer), Some(kept)) if !kept.is_truthy()? => Ok(Some(outer)),
        _ => Ok(None),
    }
}

/// The frames of a suspended task, outermost first; `None` where something other than coroutines is awaited.
fn frames_of<'py>(task: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyAny>>>> {
    let mut frames = Vec::new();
    let mut awaited = task.call_method0("get_coro")?;
    loop {
        let fields = [("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom")];
        let Some((frame, next)) = fields.iter().find(|(frame, _)| awaited.hasattr(*frame).unwrap_or(false)) else {
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
