//! The resume action `raise-new`: another exception in the crash's place, which a handler of the program takes.
//!
//! `value` is a HealCore expression, or a call of a builtin exception, as HealCore allows it in `raise` alone. Before
//! anything happens, the unwinding is simulated with it: where nobody would handle it, it is refused.

use healcore::Options;
use healcore::tree::{Cause, Element, Expr, ExprKind, Raise, Stmt, StmtKind};
use pyo3::exceptions::{PyBaseException, PyException};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use crate::control::NoJump;
use crate::decide::{self, Outcome};
use crate::plan::Route;
use crate::render;
use crate::resume::Action;

/// How the value of the healing code becomes an exception.
#[derive(Clone, Copy)]
pub(crate) enum Making {
    /// It is one, or a class of one.
    AsIs,
    /// It holds the arguments for a builtin class.
    Builtin(&'static str),
}

/// Reads `value` as what `raise` may call: a builtin exception and its arguments.
pub(crate) fn read_builtin(value: &str, options: &Options) -> Option<(Making, Expr)> {
    let program = healcore::check(&format!("raise {value}"), options).program?;
    let [Stmt { span, kind }] = &program.body[..] else {
        return None;
    };
    match kind {
        StmtKind::Raise(Raise::New {
            class,
            args,
            cause: Cause::Absent,
        }) => {
            let arguments = args.iter().cloned().map(Element::One).collect();
            let kind = ExprKind::Tuple(arguments);
            Some((Making::Builtin(class.name()), Expr { span: *span, kind }))
        }
        _ => None,
    }
}

/// Where the frame goes on that raises the exception; `is_running` says whether it is on the running stack.
pub(crate) fn route<'py>(
    frame: &Bound<'py, PyAny>,
    line: Option<u32>,
    making: Making,
    value: &Bound<'py, PyAny>,
    is_running: bool,
) -> Result<Route, NoJump> {
    let failed = |error: PyErr| NoJump {
        message: format!("`value` cannot be raised: {error}"),
        hint: "give an exception, such as KeyError('id')".to_owned(),
    };
    let exception = match making {
        Making::Builtin(name) => builtin(value, name).map_err(failed)?,
        Making::AsIs => as_is(value)?,
    };
    let shown = render::exception_summary(&exception);
    let shown = match shown.1.as_str() {
        "" => shown.0,
        message => format!("{}: {message}", shown.0),
    };
    let decision = if is_running {
        let decision = decide::foresee(frame, &exception).map_err(failed)?;
        (decision.outcome, decision.why)
    } else {
        (Outcome::Maybe, "a waiting task takes it".to_owned())
    };
    let mut notes = Vec::new();
    let taken = match decision {
        (Outcome::Handled, why) => why,
        (Outcome::Maybe, why) => {
            notes.push(
                "only running on can tell whether it is handled; if not, the program pauses again".to_owned(),
            );
            why
        }
        (Outcome::Unhandled, why) => {
            return Err(NoJump {
                message: format!("{shown} would not be handled either: {why}"),
                hint:
                    "give an exception that a handler around the frame names, or choose next, retry or return"
                        .to_owned(),
            });
        }
    };
    let place = line.map_or_else(String::new, |line| format!(" at line {line}"));
    Ok(Route {
        action: Action::RaiseNew(exception.unbind()),
        effect: format!("raises {shown}{place} instead; {taken}"),
        line: None,
        notes,
    })
}

fn builtin<'py>(arguments: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let class = arguments.py().import("builtins")?.getattr(name)?;
    class.call1(arguments.cast::<PyTuple>()?.clone())
}

fn as_is<'py>(value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, NoJump> {
    if value.is_instance_of::<PyException>() {
        return Ok(value.clone());
    }
    let class = value.cast::<PyType>().ok();
    let is_exception = class.is_some_and(|class| class.is_subclass_of::<PyBaseException>().unwrap_or(false));
    Err(NoJump {
        message: format!(
            "`value` is no exception but {}",
            render::value(value, &render::Limits::default()).text
        ),
        hint: if is_exception {
            "call the class, such as KeyError('id')".to_owned()
        } else {
            "give an exception, such as KeyError('id'), or one of the program's own classes".to_owned()
        },
    })
}

/// Puts the exception in the place of the one that the frame's handler is handling; a bare `raise` then raises it.
pub(crate) fn put_in_place(frame: &Bound<'_, PyAny>, exception: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = frame.py();
    let Some(original) = crate::hook::handled_exception(py) else {
        return Ok(());
    };
    if exception.getattr("__context__")?.is_none() && !exception.is(&original) {
        exception.setattr("__context__", &original)?;
    }
    let mut entry = original.getattr("__traceback__")?;
    while !entry.is_none() && !entry.getattr("tb_frame")?.is(frame) {
        entry = entry.getattr("tb_next")?;
    }
    if !entry.is_none() {
        let own = py.import("types")?.getattr("TracebackType")?.call1((
            py.None(),
            frame,
            entry.getattr("tb_lasti")?,
            entry.getattr("tb_lineno")?,
        ))?;
        exception.setattr("__traceback__", own)?;
    }
    // SAFETY: the interpreter is attached; the function takes a reference of its own.
    unsafe { pyo3::ffi::PyErr_SetHandledException(exception.as_ptr()) };
    Ok(())
}
