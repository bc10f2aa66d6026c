//! Which exception takes the place of another one: read off the code that raises it, without running code of the
//! program.

use pyo3::exceptions::{PyBaseException, PyOSError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyTuple, PyType};

use super::code::Code;
use super::opcodes::Op;
use super::{reads, static_read};

/// What `raise` makes of an object: an exception, or one of the class.
pub(super) fn raised<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    reads::used(object);
    if object.is_instance_of::<PyBaseException>() {
        return Some(object.clone());
    }
    instance_of(object)
}

/// An exception of a class, of which only the class counts: its `__init__` has not run.
pub(super) fn instance_of<'py>(class: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let class = class.cast::<PyType>().ok()?;
    if !class.is_subclass_of::<PyBaseException>().ok()?
        || static_read::class_attribute(class, "__del__").is_some()
    {
        return None;
    }
    // Its arguments make an OSError one of its subclasses.
    if class.is(class.py().get_type::<PyOSError>()) {
        return None;
    }
    // The nearest base that is written in C makes it; a `__new__` of the program's own is not called.
    let builtin = class.mro().iter().find(|base| {
        base.cast::<PyType>()
            .is_ok_and(|base| static_read::module_of(base).is_some_and(|module| module == "builtins"))
    })?;
    builtin.getattr("__new__").ok()?.call1((class,)).ok()
}

/// What is known of a value on the stack of a function that is read.
enum Value<'py> {
    Known(Bound<'py, PyAny>),
    /// An exception that the function has made.
    Made(Bound<'py, PyAny>),
    Unknown,
}

/// The exception that a function raises which never returns; `None` where it raises the present one on, as far as
/// its code tells.
///
/// Read in the order of the instructions: what counts is a class that is called just before it is raised.
pub(super) fn raised_by<'py>(
    function: &Bound<'py, PyAny>,
    receiver: Option<&Bound<'py, PyAny>>,
    code: &Code,
) -> Option<Bound<'py, PyAny>> {
    reads::state();
    let py = function.py();
    let globals = function.getattr("__globals__").ok()?.cast_into::<PyDict>().ok()?;
    let global = |name: &str| {
        let builtin = || py.import("builtins").ok()?.dict().get_item(name).ok()?;
        globals.get_item(name).ok()?.or_else(builtin)
    };
    let mut stack: Vec<Value<'_>> = Vec::new();
    let mut found: Option<Bound<'_, PyAny>> = None;
    let mut in_ours = false;
    for (index, instruction) in code.instructions.iter().enumerate() {
        let argument = instruction.argument as usize;
        match instruction.op {
            Op::LoadGlobal => {
                let value = code.names.get(argument >> 1).and_then(|name| global(name));
                stack.push(value.map_or(Value::Unknown, Value::Known));
            }
            Op::LoadLocal => {
                let value = match receiver {
                    Some(receiver) if argument == 0 => Some(receiver.clone()),
                    _ => default_of(function, code, argument),
                };
                stack.push(value.map_or(Value::Unknown, Value::Known));
            }
            Op::LoadAttr if code.is_hook_load(py, index, "pending") => in_ours = true,
            // The handler of ours around a statement: it raises on what the statement has raised.
            Op::RaiseVarargs if std::mem::take(&mut in_ours) => stack.clear(),
            Op::LoadAttr => {
                let value = match stack.pop() {
                    Some(Value::Known(object)) => {
                        code.attribute_name(instruction.argument).and_then(|name| {
                            static_read::attribute(&object, name)
                                .or_else(|| static_read::class_attribute(&object.get_type(), name))
                        })
                    }
                    _ => None,
                };
                stack.push(value.map_or(Value::Unknown, Value::Known));
            }
            Op::LoadConst => stack.push(Value::Unknown),
            Op::LoadTwoLocals => stack.extend([Value::Unknown, Value::Unknown]),
            Op::Call | Op::CallNamed | Op::CallUnpacked => {
                let n_above = match instruction.op {
                    Op::Call => argument,
                    Op::CallNamed => argument + 1,
                    _ => 1 + (argument & 1),
                };
                let at = stack.len().checked_sub(n_above + 1);
                let callee = at.and_then(|at| stack.drain(at..).next());
                if callee.is_none() {
                    stack.clear();
                }
                stack.push(match callee {
                    Some(Value::Known(class)) => instance_of(&class).map_or(Value::Unknown, Value::Made),
                    _ => Value::Unknown,
                });
            }
            Op::RaiseVarargs => {
                if instruction.argument == 2 {
                    stack.pop();
                }
                let raised = match stack.pop() {
                    _ if instruction.argument == 0 => None,
                    Some(Value::Made(raised)) => Some(raised),
                    Some(Value::Known(class)) => instance_of(&class),
                    _ => None,
                };
                let raised = raised?;
                if found
                    .as_ref()
                    .is_some_and(|found| !found.get_type().is(raised.get_type()))
                {
                    return None;
                }
                found = Some(raised);
                stack.clear();
            }
            Op::Nop | Op::Cache | Op::ExtendedArg => {}
            Op::Other if instruction.growth == Some(1) => stack.push(Value::Unknown),
            Op::Other => match instruction.growth {
                Some(growth) if growth <= 0 => {
                    stack.truncate(stack.len().saturating_sub(growth.unsigned_abs() as usize + 1));
                    stack.push(Value::Unknown);
                }
                _ => stack.clear(),
            },
            // Tests and jumps leave alone what lies below, but for what they take.
            Op::JumpIf(_) | Op::PopTop => {
                stack.pop();
            }
            _ => stack.clear(),
        }
    }
    found
}

/// The default of a parameter.
fn default_of<'py>(function: &Bound<'py, PyAny>, code: &Code, slot: usize) -> Option<Bound<'py, PyAny>> {
    let function = function.cast::<PyFunction>().ok()?;
    let defaults = function.getattr("__defaults__").ok()?.cast_into::<PyTuple>().ok();
    if let Some(defaults) = defaults.filter(|_| slot < code.n_arguments) {
        let first = code.n_arguments.checked_sub(defaults.len())?;
        return defaults.get_item(slot.checked_sub(first)?).ok();
    }
    let named = function
        .getattr("__kwdefaults__")
        .ok()?
        .cast_into::<PyDict>()
        .ok()?;
    named.get_item(code.locals.get(slot)?).ok()?
}
