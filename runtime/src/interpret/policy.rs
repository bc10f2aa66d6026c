//! What the guard and the configuration say of calls and stores that only a run can see.

use pyo3::prelude::*;

use super::stop::rule;

/// Whether code of the program may run.
#[derive(Clone, Debug)]
pub(crate) enum Decision {
    /// It may; what it does cannot be taken back.
    Allow,
    /// It may, once: the program's developers vouch for it, and what it does cannot be taken back.
    Once,
    /// It may where it is shown to change nothing.
    Prove,
    /// It may not.
    Refuse {
        /// The rule's id.
        rule: String,
        /// What is wrong.
        message: String,
        /// What to write instead.
        help: String,
    },
}

impl Decision {
    /// Whether nothing is left to be shown.
    pub(crate) fn is_settled(&self) -> bool {
        !matches!(self, Self::Prove)
    }

    /// The refusal of any call of the program's code.
    pub(crate) fn refuse_program_call(path: &str) -> Self {
        Self::Refuse {
            rule: rule::PROGRAM_CALL.to_owned(),
            message: format!("`{path}` is code of the program; healing code does not run it"),
            help: "read attributes that are plain values, or write the value that it would give".to_owned(),
        }
    }
}

/// Decides upon calls and stores that only a run can see.
pub(crate) trait CallPolicy {
    /// Whether a function of the program may run. `path` is how the heal, or the operation it wrote, names it:
    /// `shop.total`, `Order.__eq__`, `Order.total`.
    fn program_call(&self, _callable: &Bound<'_, PyAny>, path: &str) -> Decision {
        Decision::refuse_program_call(path)
    }

    /// A function that the program's developers added to the toolkit under this name; the error says why it is not there.
    fn own_tool<'py>(&self, _py: Python<'py>, _name: &str) -> Option<Result<Bound<'py, PyAny>, String>> {
        None
    }

    /// Whether a class or module is the program's own, so that its attributes may be stored.
    fn in_scope(&self, object: &Bound<'_, PyAny>) -> bool;
}
