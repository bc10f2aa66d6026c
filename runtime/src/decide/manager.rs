//! `with` blocks: would the manager's `__exit__` swallow the exception?

use pyo3::prelude::*;
use pyo3::types::{PyFunction, PyType};

use super::boundary::{self, Boundary};
use super::code::Code;
use super::handler::Follower;
use super::opcodes::Op;
use super::static_read::{class_attribute, instance_attribute, matches};
use super::{Through, reads, through_frame};
use crate::exception_table::Region;
use crate::frames::minor_version;
use crate::layout::Layout;

/// Says whether the manager of the `with` block swallows the exception; `None` where only running it can tell.
///
/// `region` is the region that led to the handler with `WITH_EXCEPT_START`.
/// `exit` is the name of the method that is called.
pub(super) fn swallows(follower: &mut Follower<'_, '_>, region: &Region, exit: &str) -> Option<bool> {
    reads::state();
    let manager = manager_on_stack(follower.frame, follower.code, region)?;
    manager_swallows(follower, &manager, exit)
}

/// Reads the manager from the stack of the frame, where its `__exit__` waits to be called.
fn manager_on_stack<'py>(
    frame: &Bound<'py, PyAny>,
    code: &Code,
    region: &Region,
) -> Option<Bound<'py, PyAny>> {
    let layout = Layout::of(frame.py())?;
    // The handler's region says how deep the stack is while the block runs.
    let from_top = |place: usize| {
        let depth = (region.depth as usize).checked_sub(place)?;
        // SAFETY: the frame is alive and executes within the region, so its stack holds at least `depth` values.
        unsafe { layout.stack_value(frame, code.locals.len(), depth) }
    };
    // 3.14 keeps a plain function and `self` apart; everything else is one bound method.
    let exit = if minor_version(frame.py()) >= 14 {
        match from_top(1) {
            Some(manager) => {
                let function = from_top(2)?;
                let named = function.get_type().name().ok()?;
                let known = ["function", "method_descriptor", "wrapper_descriptor"];
                return known.iter().any(|name| named == *name).then_some(manager);
            }
            None => from_top(2)?,
        }
    } else {
        from_top(1)?
    };
    is_callable_of_a_manager(&exit).then(|| exit.getattr("__self__").ok())?
}

/// A sanity check of what was read: a bound method or a builtin one.
fn is_callable_of_a_manager(exit: &Bound<'_, PyAny>) -> bool {
    let name = exit.get_type().name();
    name.is_ok_and(|name| {
        ["method", "builtin_function_or_method", "method-wrapper"]
            .iter()
            .any(|known| name == *known)
    })
}

/// Managers of the standard library and of test tools, by what their type is called.
fn manager_swallows<'py>(
    follower: &mut Follower<'_, 'py>,
    manager: &Bound<'py, PyAny>,
    exit: &str,
) -> Option<bool> {
    let class = manager.get_type();
    let exception = follower.exception.clone();
    for base in class.mro().iter() {
        let base = base.cast_into::<PyType>().ok()?;
        // Types written in C keep no `__module__` of their own.
        let module = class_attribute(&base, "__module__").and_then(|module| module.extract::<String>().ok());
        let module = module.unwrap_or_default();
        let name = base.name().ok()?.to_string();
        match (module.as_str(), name.as_str()) {
            ("contextlib", "suppress") => return suppressed(&exception, manager),
            ("contextlib", "_GeneratorContextManager" | "_AsyncGeneratorContextManager") => {
                return generator_swallows(follower, manager);
            }
            ("contextlib", "ExitStack" | "AsyncExitStack") => return stack_swallows(follower, manager),
            ("unittest.case", "_AssertRaisesContext") => {
                return matches(&exception, &instance_attribute(manager, "expected")?);
            }
            ("_pytest.python_api", "RaisesContext") => {
                return matches(&exception, &instance_attribute(manager, "expected_exception")?);
            }
            ("_pytest.raises", "RaisesExc") => {
                return matches(&exception, &instance_attribute(manager, "expected_exceptions")?);
            }
            // Both turn a cancellation of their own into another exception.
            ("asyncio.timeouts" | "asyncio.taskgroups", "Timeout" | "TaskGroup")
                if is_cancellation(&exception) =>
            {
                return None;
            }
            ("asyncio.timeouts", "Timeout") => return Some(false),
            ("asyncio.taskgroups", "TaskGroup") => {
                follower.raised_by_exit = Some(super::in_group(&exception).ok()?);
                return Some(false);
            }
            _ => {}
        }
    }
    exit_swallows(&class, exit)
}

fn is_cancellation(exception: &Bound<'_, PyAny>) -> bool {
    let name = exception.get_type().name();
    name.is_ok_and(|name| name == "CancelledError")
}

/// `contextlib.suppress`.
fn suppressed(exception: &Bound<'_, PyAny>, manager: &Bound<'_, PyAny>) -> Option<bool> {
    let classes = instance_attribute(manager, "_exceptions")?;
    if matches(exception, &classes)? {
        return Some(true);
    }
    if !super::is_exact_group(exception) {
        return Some(false);
    }
    if minor_version(exception.py()) < 12 {
        return Some(false);
    }
    let parts = exception.call_method1("split", (classes,)).ok()?;
    let (caught, rest) = (parts.get_item(0).ok()?, parts.get_item(1).ok()?);
    match (caught.is_none(), rest.is_none()) {
        (_, true) => Some(true),
        (true, false) => Some(false),
        (false, false) => None,
    }
}

/// A generator context manager: the exception is thrown in at its `yield`.
fn generator_swallows<'py>(follower: &mut Follower<'_, 'py>, manager: &Bound<'py, PyAny>) -> Option<bool> {
    let generator = instance_attribute(manager, "gen")?;
    let frame = ["gi_frame", "ag_frame"]
        .iter()
        .find_map(|name| generator.getattr(*name).ok())?;
    if frame.is_none() {
        return Some(false);
    }
    let code = Code::of(&frame).ok()?;
    let offset = frame.getattr("f_lasti").ok()?.extract().ok()?;
    match boundary::of_frame(&frame, &code, follower.exception) {
        Some(Boundary::Dies(what)) => follower.trail.dies = Some(what),
        Some(Boundary::Handles) => return Some(true),
        Some(Boundary::Transparent) | None => {}
    }
    let mut exception = follower.exception.clone();
    match through_frame(&frame, &code, offset, &mut exception, follower.trail) {
        Through::Leaves if exception.is(follower.exception) => Some(false),
        Through::Leaves => {
            // What the generator raises instead leaves the block.
            follower.raised_by_exit = Some(exception);
            Some(false)
        }
        Through::Handled => Some(true),
        Through::Maybe => None,
    }
}

/// An exit stack: its callbacks run from the last to the first.
fn stack_swallows<'py>(follower: &mut Follower<'_, 'py>, manager: &Bound<'py, PyAny>) -> Option<bool> {
    let callbacks = instance_attribute(manager, "_exit_callbacks")?;
    let mut callbacks: Vec<Bound<'_, PyAny>> = callbacks.try_iter().ok()?.collect::<PyResult<_>>().ok()?;
    while let Some(entry) = callbacks.pop() {
        let callback = entry.get_item(1).ok()?;
        let Ok(inner) = callback.getattr("__self__") else {
            // `ExitStack.callback` wraps a function whose result does not count.
            let name: String = callback.getattr("__qualname__").ok()?.extract().ok()?;
            if name.contains("_create_cb_wrapper") {
                continue;
            }
            return None;
        };
        let exit: String = callback.getattr("__name__").ok()?.extract().ok()?;
        if manager_swallows(follower, &inner, &exit)? {
            return Some(true);
        }
    }
    Some(false)
}

/// Any other manager: by the code of its `__exit__`.
fn exit_swallows(class: &Bound<'_, PyType>, exit: &str) -> Option<bool> {
    let exit = class_attribute(class, exit)?;
    let Ok(function) = exit.cast_into::<PyFunction>() else {
        // Managers written in C: files, locks, sockets, decimal contexts. None of them swallows.
        return Some(false);
    };
    let holder = function.into_any();
    let constants = returned_constants(&holder)?;
    let truths: Vec<bool> = constants
        .iter()
        .map(|constant| constant.is_truthy())
        .collect::<PyResult<_>>()
        .ok()?;
    match (
        truths.iter().any(|truth| *truth),
        truths.iter().all(|truth| *truth),
    ) {
        (false, _) => Some(false),
        (true, true) if !truths.is_empty() => Some(true),
        _ => None,
    }
}

/// The constants that a function returns; `None` where it returns anything else.
fn returned_constants<'py>(function: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    let py = function.py();
    let code = Code::of_function(function).ok()?;
    let constants = code.constants.bind(py);
    let mut returned = Vec::new();
    for (index, instruction) in code.instructions.iter().enumerate() {
        let constant = match instruction.op {
            Op::ReturnConst => instruction.argument,
            // `return HOOK.value` runs only after a heal.
            Op::Return if index > 0 && code.is_hook_load(py, index - 1, "value") => continue,
            Op::Return => match index.checked_sub(1).map(|before| code.instructions[before]) {
                Some(before) if before.op == Op::LoadConst => before.argument,
                _ => return None,
            },
            _ => continue,
        };
        returned.push(constants.get_item(constant as usize).ok()?);
    }
    Some(returned)
}
