//! The variables of a frame, with what its code says of them read once.

use std::collections::HashSet;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::frames::{self, NamePlace};

/// The variables of a frame.
pub(super) struct Variables<'py> {
    frame: Bound<'py, PyAny>,
    code: Bound<'py, PyAny>,
    globals: Bound<'py, PyDict>,
    builtins: Bound<'py, PyAny>,
    own: Own<'py>,
}

/// The variables that are the frame's own.
enum Own<'py> {
    /// Those of a module: they are the global ones.
    Module,
    /// Those of a class body, or of code that was given a mapping.
    Mapping(Bound<'py, PyAny>),
    /// Those of a function.
    Function(HashSet<String>),
}

impl<'py> Variables<'py> {
    pub(super) fn of(frame: &Bound<'py, PyAny>) -> PyResult<Self> {
        const CO_OPTIMIZED: u32 = 1;
        let py = frame.py();
        let code = frame.getattr(intern!(py, "f_code"))?;
        let globals = frame.getattr(intern!(py, "f_globals"))?.cast_into::<PyDict>()?;
        let is_function = code.getattr(intern!(py, "co_flags"))?.extract::<u32>()? & CO_OPTIMIZED != 0;
        let own = if is_function {
            let mut names = HashSet::new();
            for field in [
                intern!(py, "co_varnames"),
                intern!(py, "co_cellvars"),
                intern!(py, "co_freevars"),
            ] {
                for name in code.getattr(field)?.cast_into::<PyTuple>()?.iter() {
                    names.insert(name.extract::<String>()?);
                }
            }
            Own::Function(names)
        } else {
            let mapping = frame.getattr(intern!(py, "f_locals"))?;
            if mapping.is(&globals) {
                Own::Module
            } else {
                Own::Mapping(mapping)
            }
        };
        Ok(Self {
            frame: frame.clone(),
            code,
            globals,
            builtins: frame.getattr(intern!(py, "f_builtins"))?,
            own,
        })
    }

    /// Whether the frame's code has a variable of its own of that name, as only functions have.
    pub(super) fn is_local(&self, name: &str) -> bool {
        matches!(&self.own, Own::Function(names) if names.contains(name))
    }

    /// What the name means to the frame's code; `None` where it is unbound.
    pub(super) fn lookup(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.own {
            Own::Function(_) if self.is_local(name) => self.local(name),
            // What a function has no variable for is a global one, even where `f_locals` has an entry of that name.
            Own::Function(_) | Own::Module => self.global_or_builtin(name),
            Own::Mapping(_) => match self.local(name)? {
                Some(value) => Ok(Some(value)),
                None => self.global_or_builtin(name),
            },
        }
    }

    pub(super) fn local(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.own {
            Own::Module => self.global(name),
            Own::Mapping(mapping) => frames::item(mapping, name),
            Own::Function(_) => frames::lookup_local(&self.frame, name),
        }
    }

    pub(super) fn global(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.globals.get_item(name)
    }

    pub(super) fn global_or_builtin(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        match self.global(name)? {
            Some(value) => Ok(Some(value)),
            None => frames::item(&self.builtins, name),
        }
    }

    /// Where an assignment to the name must go so that the program sees it.
    ///
    /// A function reads a name that it never assigns as a global one, so that is where a value for it belongs.
    pub(super) fn place_of(&self, name: &str) -> PyResult<NamePlace> {
        match &self.own {
            Own::Module | Own::Mapping(_) => Ok(NamePlace::Local),
            Own::Function(_) if self.is_local(name) => Ok(NamePlace::Local),
            Own::Function(_) => {
                let is_read = self.globals.contains(name)? || frames::reads_global(&self.code, name)?;
                Ok(if is_read {
                    NamePlace::Global
                } else {
                    NamePlace::Temporary
                })
            }
        }
    }
}
