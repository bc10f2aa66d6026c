//! How a heal ends before its end: an exception of Python, a limit, a refusal.

use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::render;

/// The ids of the rules that only a running heal can break.
pub(crate) mod rule {
    use healcore::running;

    pub(crate) const PROGRAM_CALL: &str = running::PROGRAM_CALL.id;
    pub(crate) const RECEIVER: &str = running::RECEIVER.id;
    pub(crate) const FOREIGN_ITERATOR: &str = running::FOREIGN_ITERATOR.id;
    pub(crate) const STORE: &str = running::STORE.id;
    pub(crate) const REBOUND: &str = running::REBOUND.id;
    pub(crate) const FUNCTION_VALUE: &str = running::FUNCTION_VALUE.id;
    pub(crate) const PURE: &str = running::PURE.id;
    pub(crate) const EXCEPT: &str = running::EXCEPT.id;
    pub(crate) const ATTRIBUTE: &str = running::ATTRIBUTE.id;
    pub(crate) const UNDO: &str = running::UNDO.id;
    pub(crate) const STEPS: &str = running::STEPS.id;
    pub(crate) const TIME: &str = running::TIME.id;
    pub(crate) const MEMORY: &str = running::MEMORY.id;
    pub(crate) const CONTAINER: &str = running::CONTAINER.id;
    pub(crate) const INTEGER: &str = running::INTEGER.id;
    pub(crate) const STRING: &str = running::STRING.id;
    pub(crate) const DEPTH: &str = running::DEPTH.id;
    pub(crate) const PANIC: &str = running::PANIC.id;
}

/// A heal that did not run to its end; the program is as it was.
#[derive(Clone, Debug)]
pub(crate) struct HealError {
    /// What happened.
    pub(crate) message: String,
    /// What to write instead; may be empty.
    pub(crate) hint: String,
    /// The line of the heal, 0 where there is none.
    pub(crate) line: u32,
    /// Which kind of end it is.
    pub(crate) kind: HealErrorKind,
}

/// Which kind of end it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HealErrorKind {
    /// The code raised and did not handle an exception; its text is `Type: message`.
    Raised {
        /// The name of the exception's class.
        exception: String,
    },
    /// A limit on its work was reached.
    Limit {
        /// The rule's id.
        rule: &'static str,
    },
    /// It does something that a heal may not do, which only its run could show.
    Refused {
        /// The rule's id.
        rule: String,
    },
    /// It meets something that cannot be taken back.
    Unsupported,
    /// It comes to a call that a check does not make: the function, as the heal names it.
    Horizon(String),
}

impl HealErrorKind {
    /// Returns its name for tests and benchmarks.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Raised { .. } => "raised",
            Self::Limit { .. } => "limit",
            Self::Refused { .. } => "refused",
            Self::Unsupported | Self::Horizon(_) => "unsupported",
        }
    }
}

impl HealError {
    /// Returns the id of the broken rule, where one was broken.
    pub(crate) fn rule(&self) -> Option<&str> {
        match &self.kind {
            HealErrorKind::Limit { rule } => Some(rule),
            HealErrorKind::Refused { rule } => Some(rule),
            HealErrorKind::Unsupported => Some(rule::UNDO),
            HealErrorKind::Raised { .. } | HealErrorKind::Horizon(_) => None,
        }
    }
}

/// A result of running a part of a heal.
pub(super) type Eval<T> = Result<T, Stop>;

/// Why a part of a heal stopped; boxed, so that results stay small.
#[derive(Debug)]
pub(super) struct Stop(Box<Inner>);

#[derive(Debug)]
struct Inner {
    cause: Cause,
    line: u32,
}

#[derive(Debug)]
enum Cause {
    /// A Python exception: the heal's own `except` may catch it.
    Raise(PyErr),
    /// Anything else: nothing in the heal catches it.
    End {
        message: String,
        hint: String,
        kind: HealErrorKind,
    },
}

impl From<PyErr> for Stop {
    fn from(error: PyErr) -> Self {
        Self(Box::new(Inner {
            cause: Cause::Raise(error),
            line: 0,
        }))
    }
}

impl Stop {
    fn end(message: String, hint: String, kind: HealErrorKind) -> Self {
        Self(Box::new(Inner {
            cause: Cause::End { message, hint, kind },
            line: 0,
        }))
    }

    pub(super) fn limit(rule: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::end(message.into(), hint.into(), HealErrorKind::Limit { rule })
    }

    pub(super) fn refused(rule: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::end(
            message.into(),
            hint.into(),
            HealErrorKind::Refused {
                rule: rule.to_owned(),
            },
        )
    }

    pub(super) fn unsupported(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::end(message.into(), hint.into(), HealErrorKind::Unsupported)
    }

    /// The end of what a check can do: a call that only the resume makes.
    pub(super) fn horizon(path: &str) -> Self {
        Self::end(
            format!("`{path}` has effects that cannot be taken back"),
            "write it as healing code: it is called when the heal is resumed".to_owned(),
            HealErrorKind::Horizon(path.to_owned()),
        )
    }

    /// The call at which a check ends, and its line.
    pub(super) fn as_horizon(&self) -> Option<(&str, u32)> {
        match &self.0.cause {
            Cause::End {
                kind: HealErrorKind::Horizon(path),
                ..
            } => Some((path, self.0.line)),
            _ => None,
        }
    }

    /// Remembers the innermost line on the way out.
    pub(super) fn at(mut self, line: u32) -> Self {
        if self.0.line == 0 {
            self.0.line = line;
        }
        self
    }

    /// The Python exception, where the heal may catch it.
    pub(super) fn exception(&self) -> Option<&PyErr> {
        match &self.0.cause {
            Cause::Raise(error) => Some(error),
            Cause::End { .. } => None,
        }
    }

    /// Turns it into what the caller sees.
    pub(super) fn into_error(self, py: Python<'_>) -> HealError {
        let line = self.0.line;
        match self.0.cause {
            Cause::End { message, hint, kind } => HealError {
                message,
                hint,
                line,
                kind,
            },
            Cause::Raise(error) => {
                let exception = error
                    .get_type(py)
                    .qualname()
                    .map_or_else(|_| "?".to_owned(), |name| name.to_string());
                HealError {
                    message: exception_text(&exception, error.value(py).as_any()),
                    hint: "handle it with `try`, or write code that does not raise".to_owned(),
                    line,
                    kind: HealErrorKind::Raised { exception },
                }
            }
        }
    }
}

/// `Type: message`, without running code of the program: only texts among the arguments are shown as they are.
fn exception_text(class: &str, exception: &Bound<'_, PyAny>) -> String {
    let args = super::statics::exception_args(exception);
    let text = match args.as_slice() {
        [] => return class.to_owned(),
        [only] => match only.cast_exact::<PyString>() {
            Ok(text) if class != "KeyError" => text.to_string_lossy().into_owned(),
            _ => render::value(only, &render::Limits::default()).text,
        },
        several => {
            let texts: Vec<String> = several
                .iter()
                .map(|arg| render::value(arg, &render::Limits::default()).text)
                .collect();
            format!("({})", texts.join(", "))
        }
    };
    format!("{class}: {text}")
}
