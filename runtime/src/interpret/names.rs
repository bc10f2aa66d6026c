//! The names of a heal: those of the frame, read through; those it writes, kept aside until the heal is committed.

use std::collections::{HashMap, HashSet};

use healcore::tree::{Stmt, StmtKind};
use pyo3::exceptions::{PyNameError, PyUnboundLocalError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::frames::{self, NamePlace};

use super::stop::Eval;

/// A name that the heal wrote.
pub(super) struct Name<'py> {
    pub(super) name: String,
    pub(super) place: NamePlace,
    pub(super) old: Option<Bound<'py, PyAny>>,
    pub(super) value: Bound<'py, PyAny>,
    pub(super) line: u32,
}

/// The variables of a comprehension, a lambda or an `except … as` clause.
pub(super) type Scope<'py> = HashMap<String, Option<Bound<'py, PyAny>>>;

/// All names of a run.
pub(super) struct Names<'py> {
    frame: Bound<'py, PyAny>,
    /// The variables of the function; nothing for a module or a class body, whose names live in a mapping.
    locals: Option<HashSet<String>>,
    globals_of_heal: HashSet<String>,
    written: Vec<Name<'py>>,
    written_at: HashMap<String, usize>,
    read: HashMap<String, Option<Bound<'py, PyAny>>>,
    scopes: Vec<Scope<'py>>,
}

impl<'py> Names<'py> {
    pub(super) fn new(frame: &Bound<'py, PyAny>) -> PyResult<Self> {
        const CO_OPTIMIZED: u32 = 1;
        let code = frame.getattr("f_code")?;
        let locals = if code.getattr("co_flags")?.extract::<u32>()? & CO_OPTIMIZED == 0 {
            None
        } else {
            let mut names = HashSet::new();
            for field in ["co_varnames", "co_cellvars", "co_freevars"] {
                for name in code.getattr(field)?.cast_into::<PyTuple>()?.iter() {
                    names.insert(name.extract::<String>()?);
                }
            }
            Some(names)
        };
        Ok(Self {
            frame: frame.clone(),
            locals,
            globals_of_heal: HashSet::new(),
            written: Vec::new(),
            written_at: HashMap::new(),
            read: HashMap::new(),
            scopes: Vec::new(),
        })
    }

    /// Collects the `global` statements, which hold for the whole heal.
    pub(super) fn declare(&mut self, body: &[Stmt]) {
        for stmt in body {
            match &stmt.kind {
                StmtKind::Global(names) => self.globals_of_heal.extend(names.iter().cloned()),
                StmtKind::If { body, orelse, .. }
                | StmtKind::For { body, orelse, .. }
                | StmtKind::While { body, orelse, .. } => {
                    self.declare(body);
                    self.declare(orelse);
                }
                StmtKind::Try {
                    body,
                    handlers,
                    orelse,
                    finalbody,
                } => {
                    self.declare(body);
                    for handler in handlers {
                        self.declare(&handler.body);
                    }
                    self.declare(orelse);
                    self.declare(finalbody);
                }
                _ => {}
            }
        }
    }

    pub(super) fn enter(&mut self, scope: Scope<'py>) {
        self.scopes.push(scope);
    }

    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    /// Binds a variable of the innermost comprehension or lambda.
    pub(super) fn bind_inner(&mut self, name: &str, value: Bound<'py, PyAny>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), Some(value));
        }
    }

    /// Returns what a name means, or raises as Python does.
    pub(super) fn get(&mut self, name: &str) -> Eval<Bound<'py, PyAny>> {
        match self.find(name)? {
            Some(value) => Ok(value),
            None => Err(self.unbound(name).into()),
        }
    }

    fn unbound(&self, name: &str) -> PyErr {
        let is_local = self.is_local(name);
        if is_local {
            let message =
                format!("cannot access local variable '{name}' where it is not associated with a value");
            return PyUnboundLocalError::new_err(message);
        }
        PyNameError::new_err(format!("name '{name}' is not defined"))
    }

    fn is_local(&self, name: &str) -> bool {
        !self.globals_of_heal.contains(name)
            && self.locals.as_ref().is_some_and(|locals| locals.contains(name))
    }

    /// Returns what a name means; `None` where it is unbound.
    pub(super) fn find(&mut self, name: &str) -> Eval<Option<Bound<'py, PyAny>>> {
        for scope in self.scopes.iter().rev() {
            if let Some(value) = scope.get(name) {
                return Ok(value.clone());
            }
        }
        if let Some(at) = self.written_at.get(name) {
            return Ok(Some(self.written[*at].value.clone()));
        }
        self.of_frame(name)
    }

    /// Returns what a name means to the frame itself.
    fn of_frame(&mut self, name: &str) -> Eval<Option<Bound<'py, PyAny>>> {
        if let Some(value) = self.read.get(name) {
            return Ok(value.clone());
        }
        let value = if self.globals_of_heal.contains(name) {
            match frames::lookup_global(&self.frame, name)? {
                Some(value) => Some(value),
                None => self.builtin(name)?,
            }
        } else if self.is_local(name) {
            frames::lookup_local(&self.frame, name)?
        } else if self.locals.is_some() {
            // What a function has no variable for is a global one, even where `f_locals` has an entry of that name.
            match frames::lookup_global(&self.frame, name)? {
                Some(value) => Some(value),
                None => self.builtin(name)?,
            }
        } else {
            frames::lookup(&self.frame, name)?
        };
        self.read.insert(name.to_owned(), value.clone());
        Ok(value)
    }

    fn builtin(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let builtins = self
            .frame
            .getattr("f_builtins")?
            .cast_into::<pyo3::types::PyDict>()?;
        builtins.get_item(name)
    }

    /// Writes a name: a variable of the innermost `except … as` clause, else one of the frame, kept aside.
    pub(super) fn set(&mut self, name: &str, value: Bound<'py, PyAny>, line: u32) -> Eval<()> {
        if let Some(scope) = self
            .scopes
            .iter_mut()
            .rev()
            .find(|scope| scope.contains_key(name))
        {
            scope.insert(name.to_owned(), Some(value));
            return Ok(());
        }
        if let Some(at) = self.written_at.get(name) {
            let written = &mut self.written[*at];
            written.value = value;
            written.line = line;
            return Ok(());
        }
        let place = if self.globals_of_heal.contains(name) {
            NamePlace::Global
        } else {
            frames::place_of(&self.frame, name)?
        };
        let old = match place {
            NamePlace::Local => frames::lookup_local(&self.frame, name)?,
            NamePlace::Global => frames::lookup_global(&self.frame, name)?,
            NamePlace::Temporary => None,
        };
        self.written_at.insert(name.to_owned(), self.written.len());
        self.written.push(Name {
            name: name.to_owned(),
            place,
            old,
            value,
            line,
        });
        Ok(())
    }

    /// Forgets what was read of the frame, after the program has run.
    pub(super) fn forget(&mut self) {
        self.read.clear();
    }

    /// What was written, in the order of the first writes.
    pub(super) fn into_written(self) -> Vec<Name<'py>> {
        self.written
    }
}
