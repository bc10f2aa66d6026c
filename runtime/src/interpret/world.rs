//! What is known of the interpreter before a heal runs, fetched once: types, their readers, trusted modules.

use std::sync::{Mutex, MutexGuard, PoisonError};

use healcore::tables::{Builtin, BuiltinType, ExceptionName, Receiver};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyModule, PyString, PyType};
use rustc_hash::FxHashMap as HashMap;

/// What a type's instances are to the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Immutable and without parts that could run code: `int`, `str`, `range`, functions.
    Atom,
    /// `decimal.Decimal`: an atom whose exponent may be huge.
    Decimal,
    /// `datetime.datetime`, `datetime.time`: atoms with a time zone.
    Clock,
    /// Plain data of the standard library, some of it written in Python.
    Data,
    /// `list`.
    List,
    /// `tuple`.
    Tuple,
    /// `collections.deque`.
    Deque,
    /// `dict` and the dicts of `collections`.
    Dict,
    /// `set` and `frozenset`.
    Set,
    /// The views of a dict, and read-only proxies.
    View,
    /// `collections.ChainMap`.
    ChainMap,
    /// `bytearray`.
    Bytearray,
    /// A class.
    Class,
    /// A module.
    Module,
    /// Anything else.
    Other,
}

impl Kind {
    /// Whether an instance has elements that may be anything.
    pub(super) fn is_container(self) -> bool {
        matches!(
            self,
            Self::List | Self::Tuple | Self::Deque | Self::Dict | Self::Set | Self::View | Self::ChainMap
        )
    }
}

/// A method of a listed type.
pub(super) struct ListedMethod {
    pub(super) function: Py<PyAny>,
    pub(super) of: &'static Receiver,
    pub(super) name: &'static str,
}

/// Facts of the interpreter.
pub(super) struct World {
    pub(super) int_bit_length: Py<PyAny>,
    pub(super) type_mro: Py<PyAny>,
    pub(super) type_dict: Py<PyAny>,
    pub(super) function: Py<PyAny>,
    pub(super) property: Py<PyAny>,
    pub(super) native_callables: Vec<Py<PyAny>>,
    pub(super) native_data_descriptors: Vec<Py<PyAny>>,
    pub(super) static_method: Py<PyAny>,
    pub(super) class_method: Py<PyAny>,
    pub(super) union_type: Option<Py<PyAny>>,
    pub(super) bound_method: Py<PyAny>,
    pub(super) weak_proxies: Vec<Py<PyAny>>,
    pub(super) mapping_proxy: Py<PyAny>,
    pub(super) key_wrapper: Py<PyAny>,
    /// How instances of classes that are written in Python end.
    pub(super) end_of_instances: usize,
    builtins: HashMap<&'static str, Py<PyAny>>,
    kinds: HashMap<usize, Kind>,
    pub(super) method_descriptor: Py<PyAny>,
    /// What stands in the classes that nothing can change.
    fixed: Mutex<HashMap<usize, Py<PyDict>>>,
    /// The listed methods of such classes, as far as they were called.
    methods: Mutex<HashMap<usize, HashMap<&'static str, ListedMethod>>>,
    _kept: Vec<Py<PyAny>>,
    stdlib: String,
}

static WORLD: PyOnceLock<World> = PyOnceLock::new();

/// Returns the facts of this interpreter.
pub(super) fn world(py: Python<'_>) -> PyResult<&World> {
    WORLD.get_or_try_init(py, || World::learn(py))
}

/// Modules whose Python functions are part of plain data, and whose classes are plain data.
const DATA_MODULES: &[&str] = &[
    "_pydatetime",
    "_pydecimal",
    "collections",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "ipaddress",
    "pathlib",
    "pathlib._abc",
    "pathlib._local",
    "re",
    "reprlib",
    "types",
    "urllib.parse",
    "uuid",
    "zoneinfo",
    "zoneinfo._zoneinfo",
    "_collections",
    "_decimal",
    "array",
];

impl World {
    fn learn(py: Python<'_>) -> PyResult<Self> {
        let types = py.import("types")?;
        let collections = py.import("collections")?;
        let builtins = py.import("builtins")?;
        // `type` is the metaclass of itself, so that nothing of the program stands in front of these.
        let of_type = py.get_type::<PyType>().getattr("__dict__")?;
        let names = Builtin::ALL.iter().map(|builtin| builtin.name());
        let names = names.chain(BuiltinType::ALL.iter().map(|class| class.name()));
        let names = names.chain(ExceptionName::ALL.iter().map(|exception| exception.name()));
        let mut known = HashMap::default();
        for name in names {
            known.insert(name, builtins.getattr(name)?.unbind());
        }
        let mut kinds = HashMap::default();
        let mut kept = Vec::new();
        let mut note = |class: Bound<'_, PyAny>, kind: Kind| {
            kinds.insert(class.as_ptr() as usize, kind);
            kept.push(class.unbind());
        };
        for name in ["bool", "int", "float", "complex", "str", "bytes", "range"] {
            note(builtins.getattr(name)?, Kind::Atom);
        }
        for name in [
            "NoneType",
            "EllipsisType",
            "NotImplementedType",
            "FunctionType",
            "BuiltinFunctionType",
            "MethodType",
            "CodeType",
        ] {
            note(types.getattr(name)?, Kind::Atom);
        }
        for (name, kind) in [
            ("list", Kind::List),
            ("tuple", Kind::Tuple),
            ("dict", Kind::Dict),
            ("set", Kind::Set),
            ("frozenset", Kind::Set),
            ("bytearray", Kind::Bytearray),
            ("type", Kind::Class),
        ] {
            note(builtins.getattr(name)?, kind);
        }
        for (name, kind) in [
            ("deque", Kind::Deque),
            ("defaultdict", Kind::Dict),
            ("OrderedDict", Kind::Dict),
            ("Counter", Kind::Dict),
            ("ChainMap", Kind::ChainMap),
        ] {
            note(collections.getattr(name)?, kind);
        }
        note(types.getattr("ModuleType")?, Kind::Module);
        let empty = PyDict::new(py);
        for view in ["keys", "values", "items"] {
            note(empty.call_method0(view)?.get_type().into_any(), Kind::View);
        }
        let ordered = collections.getattr("OrderedDict")?.call0()?;
        for view in ["keys", "values", "items"] {
            note(ordered.call_method0(view)?.get_type().into_any(), Kind::View);
        }
        let library = py.import("os")?.getattr("__file__")?.extract::<String>()?;
        let one = |name: &str| Ok::<_, PyErr>(types.getattr(name)?.unbind());
        Ok(Self {
            int_bit_length: builtins.getattr("int")?.getattr("bit_length")?.unbind(),
            type_mro: of_type.get_item("__mro__")?.unbind(),
            type_dict: of_type.get_item("__dict__")?.unbind(),
            function: one("FunctionType")?,
            property: builtins.getattr("property")?.unbind(),
            native_callables: vec![
                one("WrapperDescriptorType")?,
                one("MethodDescriptorType")?,
                one("ClassMethodDescriptorType")?,
                one("BuiltinFunctionType")?,
                one("MethodWrapperType")?,
            ],
            native_data_descriptors: vec![one("GetSetDescriptorType")?, one("MemberDescriptorType")?],
            static_method: builtins.getattr("staticmethod")?.unbind(),
            class_method: builtins.getattr("classmethod")?.unbind(),
            union_type: types.getattr("UnionType").ok().map(Bound::unbind),
            bound_method: one("MethodType")?,
            mapping_proxy: one("MappingProxyType")?,
            end_of_instances: {
                let class = collections.getattr("UserDict")?;
                super::native::end_of_instances(class.cast::<PyType>().map_err(PyErr::from)?)
            },
            key_wrapper: {
                let function = py.import("functools")?.getattr("cmp_to_key")?;
                function.call1((py.None(),))?.get_type().into_any().unbind()
            },
            weak_proxies: vec![
                py.import("weakref")?.getattr("ProxyType")?.unbind(),
                py.import("weakref")?.getattr("CallableProxyType")?.unbind(),
            ],
            builtins: known,
            kinds,
            method_descriptor: one("MethodDescriptorType")?,
            fixed: Mutex::default(),
            methods: Mutex::default(),
            _kept: kept,
            stdlib: library
                .rsplit_once('/')
                .map_or_else(String::new, |(folder, _)| format!("{folder}/")),
        })
    }

    /// The builtin of that name, as it was when the extension was loaded.
    pub(super) fn builtin<'py>(&self, py: Python<'py>, name: &str) -> Option<Bound<'py, PyAny>> {
        self.builtins.get(name).map(|builtin| builtin.bind(py).clone())
    }

    /// The kind of a type that is known from the start.
    pub(super) fn kind(&self, class: usize) -> Option<Kind> {
        self.kinds.get(&class).copied()
    }

    /// A class's own dict, which can only be read, past its metaclass.
    pub(super) fn class_dict<'py>(&self, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
        if has_plain_metaclass(class) {
            return class.getattr(intern!(class.py(), "__dict__"));
        }
        self.type_dict
            .bind(class.py())
            .call_method1(intern!(class.py(), "__get__"), (class, class.get_type()))
    }

    /// What stands in a class's own dict now.
    pub(super) fn class_items<'py>(&self, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyDict>> {
        let py = class.py();
        let address = class.as_ptr() as usize;
        let is_fixed = is_fixed(class);
        if is_fixed && let Some(items) = lock(&self.fixed).get(&address) {
            return Ok(items.bind(py).clone());
        }
        let items = self
            .class_dict(class)?
            .call_method0(intern!(py, "copy"))?
            .cast_into::<PyDict>()?;
        if is_fixed {
            lock(&self.fixed).insert(address, items.clone().unbind());
        }
        Ok(items)
    }

    /// A listed method of a value's type, where it was called before and nothing can have changed it.
    pub(super) fn method<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        name: &str,
    ) -> Option<(Bound<'py, PyAny>, &'static Receiver, &'static str)> {
        let methods = lock(&self.methods);
        let method = methods.get(&(object.get_type_ptr() as usize))?.get(name)?;
        Some((method.function.bind(object.py()).clone(), method.of, method.name))
    }

    /// Remembers a listed method of a value's type, where nothing can change it.
    pub(super) fn note_method(&self, object: &Bound<'_, PyAny>, method: ListedMethod) {
        let class = object.get_type();
        let address = class.as_ptr() as usize;
        if self.kinds.contains_key(&address) && is_fixed(&class) {
            lock(&self.methods)
                .entry(address)
                .or_default()
                .insert(method.name, method);
        }
    }

    /// Whether a module is the standard library's own: nothing of the program stands in its place.
    pub(super) fn is_library(&self, module: &Bound<'_, PyModule>) -> bool {
        let Ok(Some(spec)) = module.dict().get_item("__spec__") else {
            return false;
        };
        match spec.getattr("origin") {
            Ok(origin) if origin.is_none() => true,
            Ok(origin) => self.is_library_file(&origin),
            Err(_) => false,
        }
    }

    fn is_library_file(&self, origin: &Bound<'_, PyAny>) -> bool {
        let Ok(origin) = origin.cast_exact::<PyString>() else {
            return false;
        };
        let origin = origin.to_string_lossy();
        origin == "built-in" || origin == "frozen" || self.is_library_path(&origin)
    }

    /// Whether a file of source is the standard library's, by the path that its code objects name.
    pub(super) fn is_library_path(&self, path: &str) -> bool {
        let is_package = path.contains("/site-packages/") || path.contains("/dist-packages/");
        let is_made = path.starts_with("<frozen ") || path == "<string>";
        is_made || (path.starts_with(&self.stdlib) && !is_package)
    }

    /// Imports a module of the standard library; one that the program put in its place gives nothing.
    pub(super) fn import<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyModule>>> {
        let module = match loaded(py, name) {
            Some(module) => module,
            None => {
                // Asks where the module would come from before it runs.
                let finder = py.import("importlib.machinery")?.getattr("PathFinder")?;
                let (parent, _) = name.rsplit_once('.').unwrap_or(("", name));
                let path = if parent.is_empty() {
                    py.None().into_bound(py)
                } else {
                    match self.import(py, parent)? {
                        Some(parent) => parent
                            .dict()
                            .get_item("__path__")?
                            .unwrap_or_else(|| py.None().into_bound(py)),
                        None => return Ok(None),
                    }
                };
                let spec = finder.call_method1("find_spec", (name, path))?;
                if !spec.is_none() && !self.is_library_file(&spec.getattr("origin")?) {
                    return Ok(None);
                }
                py.import(name)?
            }
        };
        Ok(self.is_library(&module).then_some(module))
    }
}

/// Whether a class is read by `type` itself: its metaclass cannot stand in front.
pub(super) fn has_plain_metaclass(class: &Bound<'_, PyType>) -> bool {
    class.get_type().is(class.py().get_type::<PyType>())
}

/// Whether no code can change a class, and it lives as long as the interpreter.
fn is_fixed(class: &Bound<'_, PyType>) -> bool {
    // `Py_TPFLAGS_IMMUTABLETYPE`.
    const IMMUTABLE: std::ffi::c_ulong = 1 << 8;
    // SAFETY: `class` is a live type object and the call only reads its flags.
    let flags = unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) };
    flags & IMMUTABLE != 0 && flags & ffi::Py_TPFLAGS_HEAPTYPE == 0
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A module that is loaded already.
pub(super) fn loaded<'py>(py: Python<'py>, name: &str) -> Option<Bound<'py, PyModule>> {
    // SAFETY: the call returns a borrowed reference to the interpreter's `sys.modules`.
    let modules = unsafe { ffi::PyImport_GetModuleDict() };
    // SAFETY: the reference is borrowed from the interpreter, which outlives this call; null is turned into `None`.
    let modules = unsafe { Bound::from_borrowed_ptr_or_opt(py, modules) }?;
    modules
        .cast_into::<PyDict>()
        .ok()?
        .get_item(name)
        .ok()??
        .cast_into::<PyModule>()
        .ok()
}

/// Whether a module's Python functions are part of plain data.
pub(super) fn is_data_module(name: &str) -> bool {
    DATA_MODULES.contains(&name)
}
