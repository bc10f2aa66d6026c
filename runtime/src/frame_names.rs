//! What the names of a frame mean to the checker of HealCore: listed modules and members keep their meaning under
//! whatever name the program gave them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use healcore::tables::{MODULES, Member, Module};
use healcore::{FrameName, Options, ProgramCalls};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

use crate::frames::{self, minor_version};
use crate::scope;

/// The options for checking code that runs in a frame.
pub(crate) fn options(frame: &Bound<'_, PyAny>) -> PyResult<Options> {
    Ok(Options {
        allow_empty: true,
        // The interpreter and the guard decide, so that a protected operation is called one.
        program_calls: ProgramCalls::Allow,
        names: names(frame)?,
        toolkit: own_tools(),
        python_minor: healcore::PythonMinor(minor_version(frame.py())),
        ..Options::default()
    })
}

/// The functions that the program's developers added to the toolkit, by their last names.
fn own_tools() -> BTreeSet<String> {
    let toolkit = crate::state::toolkit();
    let names = toolkit.iter().filter_map(|entry| entry.rsplit([':', '.']).next());
    names.map(str::to_owned).collect()
}

fn names(frame: &Bound<'_, PyAny>) -> PyResult<BTreeMap<String, FrameName>> {
    let listed = Listed::read(frame.py())?;
    let mut names = BTreeMap::new();
    for namespace in ["f_globals", "f_locals"] {
        let namespace = frame.getattr(namespace)?;
        for name in namespace.call_method0("keys")?.try_iter()? {
            let Ok(name) = name?.extract::<String>() else {
                continue;
            };
            let value = match namespace.cast::<PyDict>() {
                Ok(dict) => dict.get_item(&name)?,
                Err(_) => frames::lookup_local(frame, &name)?,
            };
            if let Some(value) = value {
                names.insert(name, listed.meaning(&value));
            }
        }
    }
    Ok(names)
}

/// The listed modules that are loaded, and their members, by address.
struct Listed {
    modules: HashMap<usize, Module>,
    members: HashMap<usize, &'static Member>,
}

impl Listed {
    fn read(py: Python<'_>) -> PyResult<Self> {
        let loaded = py.import("sys")?.getattr("modules")?.cast_into::<PyDict>()?;
        let mut listed = Self {
            modules: HashMap::new(),
            members: HashMap::new(),
        };
        for table in MODULES {
            let Some(module) = loaded.get_item(table.module.name())? else {
                continue;
            };
            let Ok(namespace) = module.cast_exact::<PyModule>().map(|module| module.dict()) else {
                continue;
            };
            listed.modules.insert(module.as_ptr() as usize, table.module);
            for member in table.members.iter().filter(|member| !member.path.contains('.')) {
                // Small constants are shared with all sorts of values, so only what has a name of its own is one.
                if let Some(value) = namespace
                    .get_item(member.path)?
                    .filter(|value| value.is_callable())
                {
                    listed.members.insert(value.as_ptr() as usize, member);
                }
            }
        }
        Ok(listed)
    }

    fn meaning(&self, value: &Bound<'_, PyAny>) -> FrameName {
        let address = value.as_ptr() as usize;
        if let Some(module) = self.modules.get(&address) {
            return FrameName::Module(*module);
        }
        if let Some(member) = self.members.get(&address) {
            return FrameName::Member(member);
        }
        match value.cast::<PyModule>() {
            Ok(module) if !is_own(module) => FrameName::Foreign,
            _ => FrameName::Value,
        }
    }
}

/// Whether a module is the program's own.
fn is_own(module: &Bound<'_, PyModule>) -> bool {
    let text = |name: &str| module.dict().get_item(name).ok()??.extract::<String>().ok();
    let (Some(name), Some(file)) = (text("__name__"), text("__file__")) else {
        return false;
    };
    scope::contains(&name, &scope::absolute(&file))
}
