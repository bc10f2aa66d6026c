//! Text in: what the checker is told of a frame, and expressions that clients ask for.

use std::collections::BTreeMap;

use healcore::tables::{self, MODULES, Module};
use healcore::{FrameName, Options, ProgramCalls, PythonMinor, check_expression};
use protocol::{Failure, FailureKind};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

use crate::{frames, gate};

use super::stop::HealErrorKind;
use super::{Limits, evaluate, world};

/// What the checker is told of a frame: its Python, and which of its names stand for listed modules and members.
pub(crate) fn options(frame: &Bound<'_, PyAny>) -> Options {
    Options {
        allow_empty: true,
        program_calls: ProgramCalls::Allow,
        names: names(frame).unwrap_or_default(),
        python_minor: PythonMinor(frames::minor_version(frame.py())),
        ..Options::default()
    }
}

fn names(frame: &Bound<'_, PyAny>) -> PyResult<BTreeMap<String, FrameName>> {
    let mut names = BTreeMap::new();
    let listed = Listed::loaded(frame.py());
    for field in ["f_globals", "f_locals"] {
        let mapping = frame.getattr(field)?;
        let dict = match mapping.cast_into::<PyDict>() {
            Ok(dict) => dict,
            // The proxy of a function's variables on 3.13 and later.
            Err(other) => match frame.py().get_type::<PyDict>().call1((other.into_inner(),)) {
                Ok(copy) => copy.cast_into::<PyDict>()?,
                Err(_) => continue,
            },
        };
        for (name, value) in super::native::dict_items(&dict) {
            if let Some(name) = super::statics::text(&name) {
                names.insert(name, listed.name_of(&value));
            }
        }
    }
    Ok(names)
}

/// The listed modules that are loaded, and their members.
struct Listed<'py> {
    modules: Vec<(Module, Bound<'py, PyModule>)>,
}

impl<'py> Listed<'py> {
    fn loaded(py: Python<'py>) -> Self {
        let modules = MODULES.iter().filter_map(|table| {
            let module = world::loaded(py, table.module.name())?;
            world::world(py).ok()?.is_library(&module).then_some((table.module, module))
        });
        Self { modules: modules.collect() }
    }

    fn name_of(&self, value: &Bound<'py, PyAny>) -> FrameName {
        for (module, object) in &self.modules {
            if value.is(object) {
                return FrameName::Module(*module);
            }
        }
        // Only functions and classes are told apart by identity; a constant may be equal to any value.
        if !value.is_callable() {
            return FrameName::Value;
        }
        for (module, object) in &self.modules {
            for member in tables::module(*module).members {
                let found = match member.path.contains('.') {
                    true => None,
                    false => object.dict().get_item(member.path).ok().flatten(),
                };
                if found.is_some_and(|found| found.is(value)) {
                    return FrameName::Member(member);
                }
            }
        }
        FrameName::Value
    }
}

/// Evaluates an expression of a client in a frame; it can change nothing.
pub(crate) fn evaluate_text<'py>(expression: &str, frame: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Failure> {
    let checked = check_expression(expression, &options(frame));
    let Some(tree) = checked.expression else {
        let first = checked.violations.into_iter().next();
        let (message, help) = first.map_or_else(
            || ("no expression".to_owned(), "write an expression".to_owned()),
            |violation| (format!("{} ({})", violation.message, violation.rule), violation.help),
        );
        return Err(Failure::new(FailureKind::BadRequest, message, help));
    };
    evaluate(&tree, frame, &gate::Calls, &Limits::default()).map_err(|error| {
        let kind = match error.kind {
            HealErrorKind::Raised { ref exception } if exception == "NameError" || exception == "UnboundLocalError" => {
                FailureKind::UnknownPlace
            }
            HealErrorKind::Raised { .. } => FailureKind::BadRequest,
            _ => FailureKind::NotAllowed,
        };
        let rule = error.rule();
        let message = if rule.is_empty() { error.message().to_owned() } else { format!("{} ({rule})", error.message()) };
        Failure::new(kind, message, error.hint())
    })
}
