//! The names that a frame sees, read without running user code.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyString, PyType};

use super::statics;

/// The names of one frame.
pub(crate) struct Names<'py> {
    /// In the order of definition; without dunders; at module level modules, functions and classes last.
    pub(crate) locals: Vec<(String, Bound<'py, PyAny>)>,
    globals: Bound<'py, PyDict>,
}

impl<'py> Names<'py> {
    /// Reads the names of a frame.
    pub(crate) fn of(frame: &Bound<'py, PyAny>) -> PyResult<Self> {
        let globals = frame.getattr("f_globals")?.cast_into::<PyDict>()?;
        let locals = frame.getattr("f_locals")?;
        let mut names = Self {
            locals: Vec::new(),
            globals,
        };
        let pairs = if let Ok(dict) = locals.cast::<PyDict>() {
            statics::dict_items(dict, 0, usize::MAX)
        } else if statics::qualname(&locals.get_type()) == "FrameLocalsProxy"
            && statics::is_native(&locals.get_type())
        {
            // A proxy of the interpreter's own over the frame's slots.
            let keys = locals
                .call_method0("keys")?
                .try_iter()?
                .collect::<PyResult<Vec<_>>>()?;
            keys.into_iter()
                .filter_map(|key| Some((key.clone(), locals.get_item(&key).ok()?)))
                .collect()
        } else {
            // A class body over a mapping of a metaclass: only its own code could say what is in it.
            Vec::new()
        };
        let is_module = locals.is(&names.globals);
        for (key, value) in pairs {
            let Ok(name) = key
                .cast_exact::<PyString>()
                .map(|name| name.to_string_lossy().into_owned())
            else {
                continue;
            };
            // `__module__`, `__class__` and their like are the interpreter's; they stay in reach by name.
            if !(name.starts_with("__") && name.ends_with("__")) {
                names.locals.push((name, value));
            }
        }
        if is_module {
            names.locals.sort_by_key(|(_, value)| is_definition(value));
        }
        Ok(names)
    }

    /// Returns what a name stands for in the frame: a local, else a global.
    pub(crate) fn get(&self, name: &str) -> Option<Bound<'py, PyAny>> {
        let local = self
            .locals
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.clone());
        local.or_else(|| self.global(name))
    }

    /// Returns a global of the frame's module.
    pub(crate) fn global(&self, name: &str) -> Option<Bound<'py, PyAny>> {
        // A module's dict has text keys, so the lookup compares by content.
        self.globals.get_item(name).ok()?
    }

    /// Returns the names in reach, locals first, for near misses.
    pub(crate) fn all(&self) -> Vec<String> {
        let globals = statics::dict_items(&self.globals, 0, usize::MAX);
        let globals = globals.iter().filter_map(|(key, _)| statics::exact_text(key));
        let locals = self.locals.iter().map(|(name, _)| name.clone());
        locals
            .chain(globals.filter(|name| !name.starts_with("__")))
            .collect()
    }
}

/// Returns whether the value is code that was defined or imported, rather than data.
pub(crate) fn is_definition(value: &Bound<'_, PyAny>) -> bool {
    let class = value.get_type();
    let is_function = statics::module_name(&class) == "builtins"
        && ["function", "builtin_function_or_method"].contains(&statics::qualname(&class).as_str());
    value.cast::<PyModule>().is_ok() || value.cast::<PyType>().is_ok() || is_function
}
