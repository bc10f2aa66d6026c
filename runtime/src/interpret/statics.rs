//! What types say, read without asking the object and kept for the run: MRO, class attributes, special methods.

use std::cell::{Cell, RefCell};
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

/// A method of the program that stands before one of the same name in C or of the library.
#[derive(Clone)]
pub(super) struct Overridden<'py> {
    pub(super) name: String,
    /// What stands there: a function, a property, any descriptor.
    pub(super) value: Bound<'py, PyAny>,
    /// Where along the MRO it stands.
    pub(super) position: usize,
}

/// One type.
pub(super) struct TypeFacts<'py> {
    pub(super) class: Bound<'py, PyType>,
    pub(super) kind: Kind,
    dicts: Vec<Bound<'py, PyDict>>,
    found: RefCell<HashMap<String, Position<'py>>>,
    specials: RefCell<HashMap<&'static str, Special<'py>>>,
    overridden: RefCell<Option<Rc<Vec<Overridden<'py>>>>>,
    is_memory_of_c: Cell<Option<bool>>,
}

impl TypeFacts<'_> {
    /// Whether the type is made by a `class` statement of whomever: heap types of C count, too.
    pub(super) fn is_of_program(&self) -> bool {
        // SAFETY: the class is a live type object and the call only reads its flags.
        let flags = unsafe { ffi::PyType_GetFlags(self.class.as_type_ptr()) };
        flags & ffi::Py_TPFLAGS_HEAPTYPE != 0
    }
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
            overridden: RefCell::default(),
            is_memory_of_c: Cell::default(),
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

    /// The methods of the program that stand before methods of the same name in C or of the library.
    pub(super) fn overridden(&self, facts: &TypeFacts<'py>) -> PyResult<Rc<Vec<Overridden<'py>>>> {
        if let Some(known) = &*facts.overridden.borrow() {
            return Ok(known.clone());
        }
        let mut overridden = Vec::new();
        // The last one is `object`, whose methods ask nobody.
        let n_bases = facts.dicts.len().saturating_sub(1);
        if n_bases > 1 {
            let mut is_foreign = Vec::new();
            for base in self.mro(&facts.class)?.iter().take(n_bases) {
                is_foreign.push(self.is_foreign(&base.cast_into::<PyType>()?));
            }
            for position in (0..n_bases).filter(|position| !is_foreign[*position]) {
                for item in facts.dicts[position].call_method0("items")?.try_iter()? {
                    let (name, value) = item?.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
                    let Some(name) = text(&name) else { continue };
                    if !self.is_code(&value)? {
                        continue;
                    }
                    let mut stands_before = false;
                    for (later, _) in is_foreign
                        .iter()
                        .enumerate()
                        .skip(position + 1)
                        .filter(|(_, is)| **is)
                    {
                        // What bases ask without having it themselves.
                        let is_asked = matches!(name.as_str(), "__init__" | "__missing__" | "__new__");
                        stands_before |= is_asked || read(&facts.dicts[later], &name)?.is_some();
                    }
                    if stands_before {
                        overridden.push(Overridden {
                            name,
                            value,
                            position,
                        });
                    }
                }
            }
        }
        let overridden = Rc::new(overridden);
        *facts.overridden.borrow_mut() = Some(overridden.clone());
        Ok(overridden)
    }

    /// Whether a value of a class's dict runs code of the program when it is called or read.
    fn is_code(&self, value: &Bound<'py, PyAny>) -> PyResult<bool> {
        let class = value.get_type();
        if class.is(&self.world.function) {
            return Ok(!self.is_library_function(value));
        }
        Ok(!self.is_native_callable(value)
            && !self
                .world
                .native_data_descriptors
                .iter()
                .any(|known| class.is(known))
            && self.kind(value)? == Kind::Other)
    }

    /// Whether the class at a position of the MRO is written in C, or in Python by the standard library.
    pub(super) fn is_foreign_at(&self, facts: &TypeFacts<'py>, position: usize) -> PyResult<bool> {
        let base = self.mro(&facts.class)?.get_item(position)?;
        Ok(self.is_foreign(&base.cast_into::<PyType>()?))
    }

    /// Whether a class is written in C, or in Python by the standard library.
    fn is_foreign(&self, class: &Bound<'py, PyType>) -> bool {
        // SAFETY: `class` is a live type object and the call only reads its flags.
        let flags = unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) };
        if flags & ffi::Py_TPFLAGS_HEAPTYPE == 0 || self.world.kind(class.as_ptr() as usize).is_some() {
            return true;
        }
        // All classes that a `class` statement makes end their instances in the same way; those in C have their own.
        if native::end_of_instances(class) != self.world.end_of_instances {
            return true;
        }
        let name = class
            .qualname()
            .map_or_else(|_| String::new(), |name| name.to_string());
        let module = world::loaded(self.py, &self.module_name(class));
        module.is_some_and(|module| {
            self.world.is_library(&module)
                && module
                    .dict()
                    .get_item(name)
                    .ok()
                    .flatten()
                    .is_some_and(|own| own.is(class))
        })
    }

    /// Whether the methods of a base class, in C, ask neither other methods nor values that are not looked at anyway.
    pub(super) fn asks_nobody(&self, facts: &TypeFacts<'py>, position: usize) -> PyResult<bool> {
        if position + 1 >= facts.dicts.len() {
            return Ok(true);
        }
        let base = self.mro(&facts.class)?.get_item(position)?;
        let base = base.cast_into::<PyType>()?;
        // SAFETY: `base` is a live type object and the call only reads its flags.
        let flags = unsafe { ffi::PyType_GetFlags(base.as_type_ptr()) };
        let is_plain_dict = base.is(self.py.get_type::<PyDict>());
        Ok(match self.world.kind(base.as_ptr() as usize) {
            Some(Kind::Atom | Kind::List | Kind::Tuple | Kind::Set | Kind::Bytearray | Kind::Class) => true,
            Some(Kind::Dict) => is_plain_dict,
            _ => {
                flags & ffi::Py_TPFLAGS_BASE_EXC_SUBCLASS != 0 && flags & ffi::Py_TPFLAGS_HEAPTYPE == 0
                    || !self.is_foreign(&base)
            }
        })
    }

    /// Whether a type derives from one of the library.
    pub(super) fn descends_from(&self, object: &Bound<'py, PyAny>, module: &str, name: &str) -> bool {
        let base =
            world::loaded(self.py, module).and_then(|module| module.dict().get_item(name).ok().flatten());
        base.is_some_and(|base| {
            base.cast::<PyType>().is_ok() && native::is_subtype(object.get_type().as_any(), &base)
        })
    }

    /// Whether a type derives from one of `ctypes`.
    pub(super) fn is_memory_of_c(&self, facts: &TypeFacts<'py>) -> PyResult<bool> {
        if let Some(known) = facts.is_memory_of_c.get() {
            return Ok(known);
        }
        let mut is_memory = false;
        for base in self.mro(&facts.class)?.iter() {
            is_memory |= self.module_name(&base.cast_into::<PyType>()?) == "_ctypes";
        }
        facts.is_memory_of_c.set(Some(is_memory));
        Ok(is_memory)
    }

    /// Whether instances compare by a function, as those of `functools.cmp_to_key` do.
    pub(super) fn is_by_key_function(&self, facts: &TypeFacts<'py>) -> bool {
        facts.class.is(&self.world.key_wrapper)
    }

    /// The names of the slots along the MRO.
    pub(super) fn slots(&self, facts: &TypeFacts<'py>) -> Vec<Bound<'py, PyString>> {
        let mut slots = Vec::new();
        for dict in &facts.dicts {
            for (name, value) in dict.iter() {
                // What C code computes is no slot, and a slot that something stands before is not read by its name.
                let is_slot = value.get_type().is(&self.world.native_data_descriptors[1]);
                if is_slot
                    && let Ok(name) = name.cast_into_exact::<PyString>()
                    && !name.to_string_lossy().starts_with("__")
                    && matches!(self.lookup(facts, &name.to_string_lossy()), Ok(Some((_, found))) if found.is(&value))
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
