//! A way for end-to-end tests to run HealCore in a frame of theirs.

use healcore::{Options, PythonMinor, check, check_expression};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde_json::{Value, json};

use crate::frames;

use super::{
    CallPolicy, Decision, Flow, HealError, HealErrorKind, Limits, Purpose, evaluate, run, with_room,
};

/// Adds the functions to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_probe_run, module)?)?;
    module.add_function(wrap_pyfunction!(_probe_evaluate, module)?)?;
    module.add_function(wrap_pyfunction!(_probe_compile, module)?)
}

/// Compiles a module's text with our handlers in it, in a process that never pauses.
#[pyfunction]
fn _probe_compile<'py>(source: &Bound<'py, PyString>, filename: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let settings = serde_json::from_value(json!({
        "version": 0, "extension": "", "inject": "", "sockets": "", "cache": "", "state": "", "timeout_s": 0,
        "scope": {"root": "", "include": [], "exclude": []}, "guard": {}, "command": [], "session": "",
    }));
    crate::state::set_settings(settings.map_err(|error| PyValueError::new_err(error.to_string()))?);
    Ok(crate::compile::wrapped(source.as_any(), filename).map(|wrapped| wrapped.code))
}

/// Everything is in scope; program calls are allowed where the test says so.
pub(super) struct TestPolicy {
    pub(super) allows_calls: bool,
    /// The guard's policy, where calls that change nothing may run.
    pub(super) guard: Option<healguard::Policy>,
}

impl CallPolicy for TestPolicy {
    fn program_call(&self, callable: &Bound<'_, PyAny>, path: &str) -> Decision {
        if self.allows_calls {
            Decision::Allow
        } else if let Some(policy) = &self.guard {
            crate::gate::decide_call(policy, callable, path)
        } else {
            Decision::refuse_program_call(path)
        }
    }

    fn in_scope(&self, object: &Bound<'_, PyAny>) -> bool {
        let module = object
            .getattr("__module__")
            .or_else(|_| object.getattr("__name__"));
        let module = module
            .and_then(|module| module.extract::<String>())
            .unwrap_or_default();
        !matches!(
            module.as_str(),
            "builtins" | "collections" | "json" | "datetime" | "decimal" | "math" | "re" | "sys"
        )
    }
}

pub(super) fn options(py: Python<'_>, allows_calls: bool) -> Options {
    Options {
        allow_empty: true,
        program_calls: if allows_calls {
            healcore::ProgramCalls::Allow
        } else {
            healcore::ProgramCalls::Refuse
        },
        python_minor: PythonMinor(frames::minor_version(py)),
        ..Options::default()
    }
}

/// Checks and runs a heal in a frame, and answers with JSON. `end` is `commit` or `rollback`.
#[pyfunction]
#[pyo3(signature = (code, frame, end="commit", allow_calls=false, guard=None))]
fn _probe_run(
    py: Python<'_>,
    code: &str,
    frame: &Bound<'_, PyAny>,
    end: &str,
    allow_calls: bool,
    guard: Option<&str>,
) -> PyResult<String> {
    let options = options(py, allow_calls || guard.is_some());
    let checked = with_room(|| check(code, &options))?;
    let Some(program) = checked.program else {
        let violations: Vec<Value> = checked
            .violations
            .iter()
            .map(|violation| json!(violation))
            .collect();
        return Ok(json!({"outcome": "violations", "violations": violations}).to_string());
    };
    let guard = match guard {
        None => None,
        Some(text) => {
            let table = serde_json::from_str(text).unwrap_or_default();
            let policy = healguard::Policy::from_json(&table);
            Some(policy.map_err(|error| PyValueError::new_err(error.to_string()))?)
        }
    };
    let policy = TestPolicy {
        allows_calls: allow_calls,
        guard,
    };
    let done = match run(&program, frame, &policy, Purpose::ForGood) {
        Ok(done) => done,
        Err(error) => return Ok(shown(&error).to_string()),
    };
    let changes = done.changes();
    let written: Vec<String> = done
        .written_values()
        .into_iter()
        .map(|(place, _)| place)
        .collect();
    let (flow, value) = match &done.flow {
        Flow::End => ("end", None),
        Flow::Return(value) => ("return", Some(value.repr()?.to_string())),
        Flow::Break => ("break", None),
        Flow::Continue => ("continue", None),
    };
    let answer = json!({
        "outcome": "ran",
        "flow": flow,
        "value": value,
        "printed": done.printed(),
        "temporary": done.temporary_names(),
        "names": done.written_names(),
        "attributes": done.written_attributes().into_iter().map(|(_, name)| name).collect::<Vec<_>>(),
        "written": written,
        "changes": changes,
    });
    match end {
        "commit" => done.commit(frame)?,
        "drop" => drop(done),
        _ => done.rollback()?,
    }
    Ok(answer.to_string())
}

/// Checks and evaluates an expression in a frame; gives JSON and the value.
#[pyfunction]
fn _probe_evaluate<'py>(
    py: Python<'py>,
    code: &str,
    frame: &Bound<'py, PyAny>,
) -> PyResult<(String, Option<Bound<'py, PyAny>>)> {
    let options = options(py, false);
    let checked = with_room(|| check_expression(code, &options))?;
    let Some(expression) = checked.expression else {
        let violations: Vec<Value> = checked
            .violations
            .iter()
            .map(|violation| json!(violation))
            .collect();
        return Ok((
            json!({"outcome": "violations", "violations": violations}).to_string(),
            None,
        ));
    };
    match evaluate(
        &expression,
        frame,
        &TestPolicy {
            allows_calls: false,
            guard: None,
        },
        &Limits::default(),
    ) {
        Ok(value) => Ok((json!({"outcome": "ran"}).to_string(), Some(value))),
        Err(error) => Ok((shown(&error).to_string(), None)),
    }
}

fn shown(error: &HealError) -> Value {
    let exception = match &error.kind {
        HealErrorKind::Raised { exception } => Some(exception.clone()),
        HealErrorKind::Limit { .. }
        | HealErrorKind::Refused { .. }
        | HealErrorKind::Unsupported
        | HealErrorKind::Horizon(_) => None,
    };
    json!({
        "outcome": "error",
        "kind": error.kind.name(),
        "exception": exception,
        "rule": error.rule(),
        "message": error.message,
        "hint": error.hint,
        "line": error.line,
    })
}
