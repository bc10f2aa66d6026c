//! What types say, read without asking the object and kept for the run: MRO, class attributes, special methods.

use std::cell::RefCell;
use std::rc::Rc;

use pyo3::exceptions::PyBaseException;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use rustc_hash::FxHashMap as HashMap;

use super::native;
use super::world::{self, Kind, World};

/// What a special method of a type is.
#[derive(Clone)]
pub(super) enum Special<'py> {
    /// There is none.
    Missing,
    /// It runs no code of the program: written in C, or in Python by the standard library.
    Native,
    /// Code that `dataclass` made: it asks the fields.
    Fields,
    /// Code of the program.
    Program(Bound<'py, PyAny>),
}

/// Where along the MRO a name stands, and what stands there.
type Position<'py> = Option<(usize, Bound<'py, PyAny>)>;

/// One type.
pub(super) struct TypeFacts<'py> {
    pub(super) class: Bound<'py, PyType>,
    pub(super) kind: Kind,
    dicts: Vec<Bound<'py, PyDict>>,
    found: RefCell<HashMap<String, Position<'py>>>,
    specials: RefCell<HashMap<&'static str, Special<'py>>>,
}

/// All types that a run has met.
pub(super) struct Facts<'py> {
    py: Python<'py>,
    pub(super) world: &'py World,
    types: RefCell<HashMap<usize, Rc<TypeFacts<'py>>>>,
}

impl<'py> Facts<'py> {
    pub(super) fn new(py: Python<'py>) -> PyResult<Self> {
        Ok(Self {
            py,
            world: world::world(py)?,
            types: RefCell::default(),
        })
    }

    /// Forgets everything, after a class was changed or the program has run.
    pub(super) fn forget(&self) {
        self.types.borrow_mut().clear();
    }

    /// The kind of an object, by its type.
    pub(super) fn kind(&self, object: &Bound<'py, PyAny>) -> PyResult<Kind> {
        let pointer = object.get_type_ptr() as usize;
        match self.world.kind(pointer) {
            Some(kind) => Ok(kind),
            None => Ok(self.of(object)?.kind),
        }
    }

    /// The facts of an object's type.
    pub(super) fn of(&self, object: &Bound<'py, PyAny>) -> PyResult<Rc<TypeFacts<'py>>> {
        self.of_class(&object.get_type())
    }

    /// The facts of a type.
    pub(super) fn of_class(&self, class: &Bound<'py, PyType>) -> PyResult<Rc<TypeFacts<'py>>> {
        let pointer = class.as_ptr() as usize;
        if let Some(facts) = self.types.borrow().get(&pointer) {
            return Ok(facts.clone());
        }
        let facts = Rc::new(self.learn(class)?);
        self.types.borrow_mut().insert(pointer, facts.clone());
        Ok(facts)
    }

    fn learn(&self, class: &Bound<'py, PyType>) -> PyResult<TypeFacts<'py>> {
        let mut dicts = Vec::new();
        for base in self.mro(class)?.iter() {
            let base = base.cast_into::<PyType>()?;
            dicts.push(self.world.class_items(&base)?);
        }
        let kind = match self.world.kind(class.as_ptr() as usize) {
            Some(kind) => kind,
            None => self.learn_kind(class),
        };
        Ok(TypeFacts {
            class: class.clone(),
            kind,
            dicts,
            found: RefCell::default(),
            specials: RefCell::default(),
        })
    }

    fn learn_kind(&self, class: &Bound<'py, PyType>) -> Kind {
        // SAFETY: `class` is a live type object and the call only reads its flags.
        let flags = unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) };
        if flags & ffi::Py_TPFLAGS_TYPE_SUBCLASS != 0 {
            return Kind::Class;
        }
        let module = self.module_name(class);
        let name = class
            .qualname()
            .map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned());
        let is_known = world::is_data_module(&module)
            && world::loaded(self.py, &module)
                .and_then(|module| module.dict().get_item(&name).ok().flatten())
                .is_some_and(|known| known.is(class));
        match (is_known, module.as_str(), name.as_str()) {
            (true, "decimal" | "_pydecimal", "Decimal") => Kind::Decimal,
            (true, "datetime", "datetime" | "time") => Kind::Clock,
            (
                true,
                "datetime" | "fractions" | "re" | "uuid" | "ipaddress" | "urllib.parse" | "pathlib"
                | "pathlib._local",
                _,
            ) => Kind::Data,
            _ => Kind::Other,
        }
    }

    /// The MRO of a class, past its metaclass.
    pub(super) fn mro(&self, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyTuple>> {
        if world::has_plain_metaclass(class) {
            return Ok(class
                .getattr(intern!(self.py, "__mro__"))?
                .cast_into::<PyTuple>()?);
        }
        let reader = self.world.type_mro.bind(self.py);
        Ok(reader
            .call_method1("__get__", (class, class.get_type()))?
            .cast_into::<PyTuple>()?)
    }

    /// What stands in the class's own dict.
    pub(super) fn own(&self, class: &Bound<'py, PyType>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        read(&self.world.class_dict(class)?, name)
    }

    /// The name of the class's module.
    pub(super) fn module_name(&self, class: &Bound<'py, PyType>) -> String {
        // SAFETY: `class` is a live type object and the call only reads its flags.
        let flags = unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) };
        let own = if flags & ffi::Py_TPFLAGS_HEAPTYPE != 0 {
            self.own(class, "__module__").ok().flatten()
        } else {
            // A static type's module is a part of its name; its metaclass is `type`.
            class.module().ok().map(Bound::into_any)
        };
        own.and_then(|own| text(&own))
            .unwrap_or_else(|| "builtins".to_owned())
    }

    /// `Type`, or `module.Type` for those of the library.
    pub(super) fn type_name(&self, object: &Bound<'py, PyAny>) -> String {
        object
            .get_type()
            .qualname()
            .map_or_else(|_| "?".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// What stands under a name along the MRO, with the position of the class that has it.
    pub(super) fn lookup(
        &self,
        facts: &TypeFacts<'py>,
        name: &str,
    ) -> PyResult<Option<(usize, Bound<'py, PyAny>)>> {
        if let Some(found) = facts.found.borrow().get(name) {
            return Ok(found.clone());
        }
        let mut found = None;
        for (position, dict) in facts.dicts.iter().enumerate() {
            if let Some(value) = dict.get_item(name)? {
                found = Some((position, value));
                break;
            }
        }
        facts.found.borrow_mut().insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// The names of the slots along the MRO.
    pub(super) fn slots(&self, facts: &TypeFacts<'py>) -> Vec<Bound<'py, PyString>> {
        let mut slots = Vec::new();
        for dict in &facts.dicts {
            for (name, value) in dict.iter() {
                let is_slot = self
                    .world
                    .native_data_descriptors
                    .iter()
                    .any(|known| value.get_type().is(known));
                if is_slot
                    && let Ok(name) = name.cast_into_exact::<PyString>()
                    && !name.to_string_lossy().starts_with("__")
                {
                    slots.push(name);
                }
            }
        }
        slots
    }

    /// Whether each operation on an instance is one on the object behind it.
    pub(super) fn is_weak_proxy(&self, facts: &TypeFacts<'py>) -> bool {
        self.world.weak_proxies.iter().any(|known| facts.class.is(known))
    }

    /// What a special method of the type is.
    pub(super) fn special(&self, facts: &TypeFacts<'py>, name: &'static str) -> PyResult<Special<'py>> {
        if let Some(special) = facts.specials.borrow().get(name) {
            return Ok(special.clone());
        }
        let special = match self.lookup(facts, name)? {
            None => Special::Missing,
            Some((_, value)) if value.is_none() => Special::Missing,
            Some((_, value)) => self.special_of(facts, &value)?,
        };
        facts.specials.borrow_mut().insert(name, special.clone());
        Ok(special)
    }

    fn special_of(&self, facts: &TypeFacts<'py>, value: &Bound<'py, PyAny>) -> PyResult<Special<'py>> {
        if self.is_native_callable(value) {
            return Ok(Special::Native);
        }
        let class = value.get_type();
        if class.is(&self.world.class_method) || class.is(&self.world.static_method) {
            let inner = value.getattr("__func__")?;
            return self.special_of(facts, &inner);
        }
        if !class.is(&self.world.function) {
            return Ok(Special::Program(value.clone()));
        }
        if self.is_library_function(value) {
            // A decorator of the library around a function of the program, as of `dataclass`'s own `__repr__`.
            return match native::instance_dict(value)
                .and_then(|dict| dict.get_item("__wrapped__").ok().flatten())
            {
                Some(wrapped) => self.special_of(facts, &wrapped),
                None => Ok(Special::Native),
            };
        }
        let file = value.getattr("__code__")?.getattr("co_filename")?;
        let is_generated = text(&file).is_some_and(|file| file == "<string>")
            && self.lookup(facts, "__dataclass_params__")?.is_some();
        Ok(if is_generated {
            Special::Fields
        } else {
            Special::Program(value.clone())
        })
    }

    /// Whether an object is a function or method descriptor written in C.
    pub(super) fn is_native_callable(&self, value: &Bound<'py, PyAny>) -> bool {
        let class = value.get_type();
        self.world.native_callables.iter().any(|known| class.is(known))
    }

    /// Whether a module's classes are plain data that listed types inherit from.
    pub(super) fn is_data_base(&self, module: &str) -> bool {
        world::is_data_module(module)
    }

    /// Whether a Python function belongs to the plain data of the standard library.
    pub(super) fn is_library_function(&self, value: &Bound<'py, PyAny>) -> bool {
        if !value.get_type().is(&self.world.function) {
            return false;
        }
        // Functions are builtin objects: these are fields of theirs.
        let Ok(globals) = value.getattr("__globals__").map(Bound::cast_into::<PyDict>) else {
            return false;
        };
        let Ok(globals) = globals else { return false };
        let name = globals
            .get_item("__name__")
            .ok()
            .flatten()
            .and_then(|name| text(&name));
        let Some(name) = name else { return false };
        let is_time_zone = ["pytz", "dateutil"]
            .iter()
            .any(|root| name.split('.').next() == Some(root));
        (world::is_data_module(&name) || is_time_zone)
            && world::loaded(self.py, &name).is_some_and(|module| module.dict().is(&globals))
    }
}

/// A class dict's item.
fn read<'py>(dict: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    let missing = dict.py().Ellipsis();
    let found = dict.call_method1("get", (name, &missing))?;
    Ok((!found.is(&missing)).then_some(found))
}

/// The text of an exact str.
pub(super) fn text(object: &Bound<'_, PyAny>) -> Option<String> {
    object
        .cast_exact::<PyString>()
        .ok()
        .map(|text| text.to_string_lossy().into_owned())
}

/// The arguments of an exception, read from its C field.
pub(super) fn exception_args<'py>(exception: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    let py = exception.py();
    let args = py
        .get_type::<PyBaseException>()
        .getattr("__dict__")
        .and_then(|dict| dict.get_item("args"));
    let args = args.and_then(|args| args.call_method1("__get__", (exception, exception.get_type())));
    args.ok()
        .and_then(|args| args.cast_into::<PyTuple>().ok())
        .map_or_else(Vec::new, |args| args.iter().collect())
}
