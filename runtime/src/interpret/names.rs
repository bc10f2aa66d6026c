//! The names of a heal: those of the frame, read through; those it writes, kept aside until the heal is committed.

use healcore::tree::{Stmt, StmtKind};
use pyo3::exceptions::{PyNameError, PyUnboundLocalError};
use pyo3::prelude::*;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::frames::NamePlace;

use super::stop::Eval;
use super::variables::Variables;

/// A name that the heal wrote.
pub(super) struct Name<'py> {
    pub(super) name: String,
    pub(super) place: NamePlace,
    pub(super) old: Option<Bound<'py, PyAny>>,
    pub(super) value: Bound<'py, PyAny>,
    pub(super) line: u32,
}

/// The variables of a comprehension, a lambda or an `except … as` clause.
pub(super) type Scope<'py> = Vec<(String, Option<Bound<'py, PyAny>>)>;

/// All names of a run.
pub(super) struct Names<'py> {
    variables: Variables<'py>,
    globals_of_heal: HashSet<String>,
    written: Vec<Name<'py>>,
    written_at: HashMap<String, usize>,
    read: HashMap<String, Option<Bound<'py, PyAny>>>,
    scopes: Vec<Scope<'py>>,
}

impl<'py> Names<'py> {
    pub(super) fn new(frame: &Bound<'py, PyAny>) -> PyResult<Self> {
        Ok(Self {
            variables: Variables::of(frame)?,
            globals_of_heal: HashSet::default(),
            written: Vec::new(),
            written_at: HashMap::default(),
            read: HashMap::default(),
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
            match slot(scope, name) {
                Some(variable) => *variable = Some(value),
                None => scope.push((name.to_owned(), Some(value))),
            }
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
        !self.globals_of_heal.contains(name) && self.variables.is_local(name)
    }

    /// Returns what a name means; `None` where it is unbound.
    pub(super) fn find(&mut self, name: &str) -> Eval<Option<Bound<'py, PyAny>>> {
        for scope in self.scopes.iter().rev() {
            if let Some((_, value)) = scope.iter().find(|(known, _)| known == name) {
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
            self.variables.global_or_builtin(name)?
        } else {
            self.variables.lookup(name)?
        };
        self.read.insert(name.to_owned(), value.clone());
        Ok(value)
    }

    /// Writes a name: a variable of the innermost `except … as` clause, else one of the frame, kept aside.
    pub(super) fn set(&mut self, name: &str, value: Bound<'py, PyAny>, line: u32) -> Eval<()> {
        if let Some(variable) = self.scopes.iter_mut().rev().find_map(|scope| slot(scope, name)) {
            *variable = Some(value);
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
            self.variables.place_of(name)?
        };
        let old = match place {
            NamePlace::Local => self.variables.local(name)?,
            NamePlace::Global => self.variables.global(name)?,
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

/// The variable of a scope. Scopes have few: looking through them is the fastest.
fn slot<'a, 'py>(scope: &'a mut Scope<'py>, name: &str) -> Option<&'a mut Option<Bound<'py, PyAny>>> {
    let variable = scope.iter_mut().find(|(known, _)| known == name);
    variable.map(|(_, value)| value)
}
