//! Stops protected operations while values of a heal are among their arguments.
//!
//! Nothing is installed before the first heal. Afterwards every function that starts is looked up once by its own
//! module and qualified name, so that no alias, import or wrapper leads around it; functions that are not protected
//! are then left alone. On 3.12 and later `sys.monitoring` tells of the start (PY_START), on 3.11 an evaluation
//! function (PEP 523) does.

use std::sync::{Mutex, PoisonError};

use healguard::{Denial, Policy, Protected, ReasonId};
use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCFunction, PyDict, PyFrozenSet, PyFunction, PyList, PySet, PyTuple, PyType};

use crate::frames::{self, minor_version};
use crate::heal::{converted, policy};
use crate::interpret::{CallPolicy, Decision, Run};
use crate::layout::UnstartedFrame;
use crate::{evaluation, monitoring, state};

pyo3::create_exception!(
    healmcp_runtime,
    HealDenied,
    PyBaseException,
    "A protected operation was stopped, since a value of a heal was among its arguments."
);

/// A place that a heal wrote, with its value.
pub(crate) struct Written {
    /// Where, as an expression of the crashed frame.
    pub(crate) place: String,
    /// The name of the frame, when the place is one.
    pub(crate) name: Option<String>,
    /// The attribute's owner and name, when the place is one.
    pub(crate) attribute: Option<(Py<PyAny>, String)>,
    /// What was written; `None` where something was removed.
    pub(crate) value: Option<Py<PyAny>>,
}

/// What a heal wrote.
pub(crate) fn written(run: &Run<'_>) -> Vec<Written> {
    let names = run.written_names();
    let values = run.written_values().into_iter().map(|(place, value)| Written {
        name: names.contains(&place).then(|| place.clone()),
        place,
        attribute: None,
        value: Some(value.unbind()),
    });
    let attributes = run.written_attributes().into_iter().map(|(owner, name)| Written {
        place: name.clone(),
        name: None,
        attribute: Some((owner.unbind(), name)),
        value: None,
    });
    values.chain(attributes).collect()
}

/// A heal whose values are in the program.
struct Applied {
    heal_id: String,
    /// The exception that was healed; a denial is chained to it.
    exception: Py<PyAny>,
    /// The code of the healed frame: its names are the heal's.
    code: Py<PyAny>,
    written: Vec<Written>,
}

static APPLIED: Mutex<Vec<Applied>> = Mutex::new(Vec::new());

fn applied() -> std::sync::MutexGuard<'static, Vec<Applied>> {
    APPLIED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the exception is our own refusal of a protected operation.
pub(crate) fn is_denial(exception: &Bound<'_, PyAny>) -> bool {
    exception.is_instance_of::<HealDenied>()
}

/// What healing code may call of the program: what is marked safe, and what is shown to change nothing. A protected
/// operation is neither.
pub(crate) struct Calls;

impl CallPolicy for Calls {
    fn program_call(&self, callable: &Bound<'_, PyAny>, path: &str) -> Decision {
        decide_call(policy(), callable, path)
    }

    fn own_tool<'py>(&self, py: Python<'py>, name: &str) -> Option<Result<Bound<'py, PyAny>, String>> {
        let toolkit = state::toolkit();
        let (entry, module, function) = toolkit.iter().find_map(|entry| {
            let (module, function) = entry.split_once(':')?;
            let own_name = function.rsplit('.').next()?;
            (own_name == name).then_some((entry, module, function))
        })?;
        let found = py
            .import("sys")
            .and_then(|sys| sys.getattr("modules"))
            .and_then(|modules| modules.get_item(module));
        let Ok(mut found) = found else {
            return Some(Err(format!(
                "`{entry}` of the toolkit is not there: the program has not imported {module}"
            )));
        };
        for part in function.split('.') {
            let namespace = match found.cast::<PyType>() {
                Ok(class) => own_attribute(class, part),
                Err(_) => {
                    crate::render::instance_dict(&found).and_then(|own| own.get_item(part).ok().flatten())
                }
            };
            let Some(inner) = namespace else {
                return Some(Err(format!(
                    "`{entry}` of the toolkit is not there: {module} has no {function}"
                )));
            };
            found = inner;
        }
        Some(Ok(found))
    }

    fn in_scope(&self, object: &Bound<'_, PyAny>) -> bool {
        let module = object
            .getattr("__module__")
            .or_else(|_| object.getattr("__name__"));
        let Some(module) = module.ok().and_then(|module| module.extract::<String>().ok()) else {
            return false;
        };
        let modules = object.py().import("sys").and_then(|sys| sys.getattr("modules"));
        let file = modules
            .and_then(|modules| modules.get_item(&module))
            .and_then(|module| module.getattr("__file__"));
        let file = file
            .ok()
            .and_then(|file| file.extract::<String>().ok())
            .unwrap_or_default();
        crate::scope::contains(&module, &crate::scope::absolute(&file))
    }
}

/// What a policy and the program's own marks say of a call.
pub(crate) fn decide_call(policy: &Policy, callable: &Bound<'_, PyAny>, path: &str) -> Decision {
    let function = unbound(callable);
    let name = dotted_name(&function);
    let protected = name
        .as_ref()
        .and_then(|(module, qualified_name)| policy.matching(module, qualified_name));
    if let Some(protected) = protected {
        let reason = ReasonId::ProtectedCallInHeal.reason();
        return Decision::Refuse {
            rule: ReasonId::ProtectedCallInHeal.as_str().to_owned(),
            message: format!("{}: {path} is {}", reason.message, protected.name()),
            help: reason.help.to_owned(),
        };
    }
    if is_marked(&function, "__healmcp_never__") {
        return Decision::refuse_program_call(path);
    }
    // What the configuration calls `pure` is taken at its word.
    let is_tool = name.as_ref().is_some_and(|(module, qualified_name)| {
        let name = format!("{module}:{qualified_name}");
        state::toolkit().contains(&name)
    });
    let is_pure = name.is_some_and(|(module, qualified_name)| {
        policy
            .pure
            .iter()
            .any(|pure| pure.op.matches(&module, &qualified_name))
    });
    if is_pure || is_marked(&function, "__healmcp_safe__") {
        Decision::Allow
    } else if is_tool || is_marked(&function, "__healmcp_toolkit__") {
        Decision::Once
    } else {
        Decision::Prove
    }
}

/// The function of a bound method; anything else is itself.
fn unbound<'py>(callable: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    let is_method = callable
        .get_type()
        .fully_qualified_name()
        .is_ok_and(|name| name == "method");
    let function = if is_method {
        callable.getattr("__func__").ok()
    } else {
        None
    };
    function.unwrap_or_else(|| callable.clone())
}

/// Whether the program's developers marked a function or class themselves; subclasses do not inherit it.
fn is_marked(callable: &Bound<'_, PyAny>, mark: &str) -> bool {
    let own = match callable.cast::<PyType>() {
        Ok(class) => own_attribute(class, mark),
        Err(_) => crate::render::instance_dict(callable).and_then(|own| own.get_item(mark).ok().flatten()),
    };
    own.is_some_and(|own| own.is(PyBool::new(callable.py(), true)))
}

/// An attribute of a class itself, read past its metaclass.
fn own_attribute<'py>(class: &Bound<'py, PyType>, name: &str) -> Option<Bound<'py, PyAny>> {
    let of_type = class
        .py()
        .get_type::<PyType>()
        .getattr("__dict__")
        .ok()?
        .get_item("__dict__")
        .ok()?;
    of_type
        .call_method1("__get__", (class,))
        .ok()?
        .get_item(name)
        .ok()
}

/// The module and qualified name of a function or class; attributes of other objects may be code of the program.
fn dotted_name(function: &Bound<'_, PyAny>) -> Option<(String, String)> {
    if let Ok(class) = function.cast::<PyType>() {
        let module = own_attribute(class, "__module__")?.extract().ok()?;
        return Some((module, class.qualname().ok()?.extract().ok()?));
    }
    if !function.is_exact_instance_of::<PyFunction>() && !function.is_exact_instance_of::<PyCFunction>() {
        return None;
    }
    let text = |name: &str| function.getattr(name).ok()?.extract::<String>().ok();
    Some((text("__module__")?, text("__qualname__")?))
}

/// The verdict on what a heal wrote itself: protected attributes are the program's to write.
pub(crate) fn verdict_on_writes(py: Python<'_>, written: &[Written]) -> Option<protocol::Verdict> {
    for write in written {
        let Some((owner, name)) = &write.attribute else {
            continue;
        };
        let owner = owner.bind(py);
        let class = owner
            .cast::<PyType>()
            .map_or_else(|_| owner.get_type(), Bound::clone);
        for class in class.mro().iter() {
            let text = |name: &str| class.getattr(name).ok()?.extract::<String>().ok();
            let (Some(module), Some(qualified_name)) = (text("__module__"), text("__qualname__")) else {
                continue;
            };
            if let Some(protected) = policy().matching_attribute(&module, &qualified_name, name) {
                let reason = ReasonId::ProtectedAttributeWritten;
                let verdict =
                    healguard::Verdict::because(reason, protected, &write.place, policy().on_unconfirmed);
                return Some(converted(&verdict));
            }
        }
    }
    None
}

/// Gates every protected operation from now on, for the values of one more heal.
pub(crate) fn arm(
    exception: &Bound<'_, PyAny>,
    frame: &Bound<'_, PyAny>,
    written: Vec<Written>,
    heal_id: &str,
) -> PyResult<()> {
    if policy().is_empty() || written.is_empty() {
        return Ok(());
    }
    let py = exception.py();
    applied().push(Applied {
        heal_id: heal_id.to_owned(),
        exception: exception.clone().unbind(),
        code: frame.getattr("f_code")?.unbind(),
        written,
    });
    if minor_version(py) >= 12 {
        monitoring::watch_starts(py)
    } else {
        evaluation::watch_starts(py)
    }
}

/// Whether a function with this code and module is protected.
pub(crate) fn is_protected(code: &Bound<'_, PyAny>, module: &str) -> Option<&'static Protected> {
    let qualified_name: String = code.getattr("co_qualname").ok()?.extract().ok()?;
    policy().matching(module, &qualified_name)
}

/// Stops the protected operation that starts in `frame`, if a heal's value is among its arguments.
pub(crate) fn check_start(frame: &Bound<'_, PyAny>, protected: &Protected) -> PyResult<()> {
    let names = parameters(&frame.getattr("f_code")?)?;
    let mut arguments = Vec::with_capacity(names.len());
    for name in names {
        if let Some(value) = frames::lookup_local(frame, &name)? {
            arguments.push((name, value));
        }
    }
    check(&frame.getattr("f_back")?, &arguments, protected)
}

/// As [`check_start`], for a frame that has not begun and so has no frame object.
pub(crate) fn check_unstarted(py: Python<'_>, frame: &UnstartedFrame, protected: &Protected) -> PyResult<()> {
    let Some(code) = frame.code(py) else { return Ok(()) };
    let names = parameters(&code)?;
    let values = (0..names.len()).filter_map(|index| frame.argument(py, index));
    let arguments: Vec<_> = names.iter().cloned().zip(values).collect();
    // Its caller is the frame that runs now.
    check(
        &py.import("sys")?.getattr("_getframe")?.call0()?,
        &arguments,
        protected,
    )
}

fn check(
    caller: &Bound<'_, PyAny>,
    arguments: &[(String, Bound<'_, PyAny>)],
    protected: &Protected,
) -> PyResult<()> {
    let py = caller.py();
    let caller_names = names_in_call(caller)?;
    for heal in applied().iter() {
        let in_healed_code = !caller.is_none() && caller.getattr("f_code")?.is(heal.code.bind(py));
        for (argument, value) in arguments.iter().filter(|(name, _)| protected.covers(name)) {
            let by_identity = heal.written.iter().find(|write| {
                write
                    .value
                    .as_ref()
                    .is_some_and(|written| holds(value, written.bind(py), 0))
            });
            if let Some(write) = by_identity {
                return Err(deny(
                    py,
                    heal,
                    protected,
                    ReasonId::HealedValueReaches,
                    Some(argument),
                    &write.place,
                ));
            }
        }
        let by_name = heal.written.iter().find(|write| {
            in_healed_code
                && write
                    .name
                    .as_ref()
                    .is_some_and(|name| caller_names.contains(name))
        });
        if let Some(write) = by_name {
            return Err(deny(
                py,
                heal,
                protected,
                ReasonId::HealedNameReaches,
                None,
                &write.place,
            ));
        }
    }
    Ok(())
}

fn deny(
    py: Python<'_>,
    heal: &Applied,
    protected: &Protected,
    reason: ReasonId,
    argument: Option<&str>,
    place: &str,
) -> PyErr {
    let denial = Denial {
        reason,
        protected,
        argument,
        place,
        heal_id: &heal.heal_id,
    };
    let text = denial.to_string();
    crate::journal::write(
        "denied",
        serde_json::json!({ "heal_id": heal.heal_id, "operation": protected.name(), "reason": text }),
    );
    let error = HealDenied::new_err(text);
    let original = heal.exception.bind(py);
    if let Ok(original) = original.clone().cast_into::<PyBaseException>() {
        error.set_cause(py, Some(PyErr::from_value(original.into_any())));
    }
    error
}

/// The names of a function's parameters, in the order of their slots.
fn parameters(code: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    const VARARGS: usize = 4;
    const VARKEYWORDS: usize = 8;
    let number = |name: &str| code.getattr(name)?.extract::<usize>();
    let flags = number("co_flags")?;
    let count = number("co_argcount")? + number("co_kwonlyargcount")?;
    let count = count + usize::from(flags & VARARGS != 0) + usize::from(flags & VARKEYWORDS != 0);
    let names: Vec<String> = code.getattr("co_varnames")?.extract()?;
    Ok(names.into_iter().take(count).collect())
}

/// Whether `value` is `healed` or holds it: in containers, and in the attributes of objects.
fn holds(value: &Bound<'_, PyAny>, healed: &Bound<'_, PyAny>, depth: usize) -> bool {
    const MAX_DEPTH: usize = 4;
    if value.is(healed) {
        return true;
    }
    if depth == MAX_DEPTH {
        return false;
    }
    let within = |item: Bound<'_, PyAny>| holds(&item, healed, depth + 1);
    if let Ok(list) = value.cast_exact::<PyList>() {
        return list.iter().any(within);
    }
    if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        return tuple.iter().any(within);
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        return dict.iter().any(|(key, item)| within(key) || within(item));
    }
    if let Ok(set) = value.cast_exact::<PySet>() {
        return set.iter().any(within);
    }
    if let Ok(set) = value.cast_exact::<PyFrozenSet>() {
        return set.iter().any(within);
    }
    let attributes = crate::render::instance_dict(value);
    attributes.is_some_and(|attributes| attributes.iter().any(|(_, item)| within(item)))
}

/// The names that stand in the call at which the frame stands.
fn names_in_call(caller: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if caller.is_none() {
        return Ok(Vec::new());
    }
    let code = caller.getattr("f_code")?;
    let offset: usize = caller.getattr("f_lasti")?.extract()?;
    let position = code
        .call_method0("co_positions")?
        .try_iter()?
        .nth(offset / 2)
        .transpose()?;
    let filename: String = code.getattr("co_filename")?.extract()?;
    let place = position.and_then(|position| position.extract::<(u32, u32, u32, u32)>().ok());
    let (Some(place), Some(source)) = (place, crate::render::source(caller.py(), &filename)) else {
        return Ok(Vec::new());
    };
    let (first, last, start, end) = place;
    let lines: Vec<&str> = source
        .lines()
        .skip(first as usize - 1)
        .take((last - first + 1) as usize)
        .collect();
    let mut text = lines.join("\n");
    let cut = lines
        .last()
        .map_or(0, |line| line.len().saturating_sub(end as usize));
    text.truncate(text.len() - cut);
    let text = text.get(start as usize..).unwrap_or_default();
    let words = text.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    Ok(words.filter(|word| !word.is_empty()).map(str::to_owned).collect())
}
