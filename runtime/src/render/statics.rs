//! Reads of live objects that run no user code.
//!
//! An object may lie about its class, raise in `__len__` or count every attribute access. So nothing here asks the
//! object: its type comes from the object's header, the type's facts from `type`'s own descriptors, attributes from
//! genuine `getset` and `member` descriptors found along the type's MRO, and items from the base class's slots.

use std::ops::ControlFlow;

use pyo3::exceptions::PyBaseException;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{
    PyDict, PyFloat, PyFrozenSet, PyInt, PyIterator, PyModule, PySet, PyString, PyTuple, PyType,
};

/// Descriptors and types of the interpreter's own, fetched once.
struct Known {
    type_mro: Py<PyAny>,
    type_dict: Py<PyAny>,
    type_module: Py<PyAny>,
    getset_descriptor: Py<PyType>,
    member_descriptor: Py<PyType>,
    set_iter: Py<PyAny>,
    frozenset_iter: Py<PyAny>,
    int_bit_length: Py<PyAny>,
    int_repr: Py<PyAny>,
    float_repr: Py<PyAny>,
}

static KNOWN: PyOnceLock<Known> = PyOnceLock::new();

fn known(py: Python<'_>) -> PyResult<&Known> {
    KNOWN.get_or_try_init(py, || {
        // Attributes of the builtin types themselves: their metaclass is `type`.
        let type_dict = py.get_type::<PyType>().getattr("__dict__")?;
        // The program may have put a function of its own in the place of `__import__`.
        let descriptor_type = |name: &str| match loaded(py, "types", name) {
            Some(class) => Ok::<_, PyErr>(class.cast_into::<PyType>()?.unbind()),
            None => Ok(py.import("types")?.getattr(name)?.cast_into::<PyType>()?.unbind()),
        };
        Ok(Known {
            type_mro: type_dict.get_item("__mro__")?.unbind(),
            type_dict: type_dict.get_item("__dict__")?.unbind(),
            type_module: type_dict.get_item("__module__")?.unbind(),
            getset_descriptor: descriptor_type("GetSetDescriptorType")?,
            member_descriptor: descriptor_type("MemberDescriptorType")?,
            set_iter: py.get_type::<PySet>().getattr("__iter__")?.unbind(),
            frozenset_iter: py.get_type::<PyFrozenSet>().getattr("__iter__")?.unbind(),
            int_bit_length: py.get_type::<PyInt>().getattr("bit_length")?.unbind(),
            int_repr: py.get_type::<PyInt>().getattr("__repr__")?.unbind(),
            float_repr: py.get_type::<PyFloat>().getattr("__repr__")?.unbind(),
        })
    })
}

fn bind<'py>(descriptor: &Bound<'py, PyAny>, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    descriptor.call_method1("__get__", (object, object.get_type()))
}

/// Returns the type's method resolution order.
pub(crate) fn mro<'py>(class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyTuple>> {
    let getter = known(class.py())?.type_mro.bind(class.py());
    Ok(bind(getter, class.as_any())?.cast_into::<PyTuple>()?)
}

/// Returns whether the object is an instance of `class`, whatever it says of itself.
pub(crate) fn is_instance(object: &Bound<'_, PyAny>, class: &Bound<'_, PyAny>) -> bool {
    mro(&object.get_type()).is_ok_and(|mro| mro.iter().any(|base| base.is(class)))
}

/// Returns what stands under `name` in the type's own dict.
pub(crate) fn own_class_attribute<'py>(
    class: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = class.py();
    let proxy = bind(known(py)?.type_dict.bind(py), class)?;
    let missing = py.Ellipsis();
    let found = proxy.call_method1("get", (name, &missing))?;
    Ok((!found.is(&missing)).then_some(found))
}

/// Returns what stands under `name` in the first dict of the type's MRO that has it, with the class that has it.
pub(crate) fn class_attribute<'py>(
    class: &Bound<'py, PyType>,
    name: &str,
) -> PyResult<Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    for base in mro(class)?.iter() {
        if let Some(found) = own_class_attribute(&base, name)? {
            return Ok(Some((base, found)));
        }
    }
    Ok(None)
}

/// Returns whether the object is a descriptor that C code made: reading through it runs no user code.
pub(crate) fn is_native_descriptor(object: &Bound<'_, PyAny>) -> bool {
    known(object.py()).is_ok_and(|known| {
        let class = object.get_type();
        class.is(&known.getset_descriptor) || class.is(&known.member_descriptor)
    })
}

/// Reads an attribute through a native descriptor found under `name`, skipping what hides it.
pub(crate) fn native_attribute<'py>(object: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    for base in mro(&object.get_type()).ok()?.iter() {
        if let Ok(Some(found)) = own_class_attribute(&base, name)
            && is_native_descriptor(&found)
        {
            return bind(&found, object).ok();
        }
    }
    None
}

/// Returns the instance's `__dict__`, if it has one.
pub(crate) fn instance_dict<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    native_attribute(object, "__dict__")?.cast_into::<PyDict>().ok()
}

/// Returns the instance's attributes that are kept in slots and set, in the order of their classes from the base up.
pub(crate) fn slots<'py>(object: &Bound<'py, PyAny>) -> Vec<(String, Bound<'py, PyAny>)> {
    let py = object.py();
    let mut slots = Vec::new();
    let (Ok(known), Ok(mro)) = (known(py), mro(&object.get_type())) else {
        return slots;
    };
    for base in mro.iter().collect::<Vec<_>>().iter().rev() {
        let Ok(proxy) = bind(known.type_dict.bind(py), base) else {
            continue;
        };
        // The proxy of a type's dict copies it by the dict's own code.
        let Ok(Ok(dict)) = proxy
            .call_method0("copy")
            .map(|copy| copy.cast_into_exact::<PyDict>())
        else {
            continue;
        };
        let mut members = Vec::new();
        visit_dict(&dict, |name, descriptor| {
            if descriptor.get_type().is(&known.member_descriptor) {
                members.push((name.clone(), descriptor.clone()));
            }
            ControlFlow::Continue(())
        });
        for (name, descriptor) in members {
            let Some(name) = exact_text(&name).filter(|name| !name.starts_with("__")) else {
                continue;
            };
            if let Ok(value) = bind(&descriptor, object) {
                slots.push((name, value));
            }
        }
    }
    slots
}

/// Returns the type's qualified name.
pub(crate) fn qualname(class: &Bound<'_, PyType>) -> String {
    // `PyType_GetQualName` reads the type's own field.
    class
        .qualname()
        .map_or_else(|_| "?".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Returns the name of the type's module.
pub(crate) fn module_name(class: &Bound<'_, PyType>) -> String {
    let module = known(class.py()).and_then(|known| bind(known.type_module.bind(class.py()), class.as_any()));
    module
        .ok()
        .and_then(|module| exact_text(&module))
        .unwrap_or_else(|| "?".to_owned())
}

/// Returns whether the type is written in C: nobody can change it, and its methods are its own.
pub(crate) fn is_native(class: &Bound<'_, PyType>) -> bool {
    // SAFETY: `class` is a live type object and the call only reads its flags.
    let flags = unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) };
    flags & ffi::Py_TPFLAGS_IMMUTABLETYPE != 0
}

/// Returns the type's name as values show it: the module's first part, none for builtins and `__main__`.
pub(crate) fn type_name(object: &Bound<'_, PyAny>) -> String {
    let class = object.get_type();
    let module = module_name(&class);
    match module.as_str() {
        "builtins" | "__main__" => qualname(&class),
        _ => format!("{}.{}", module.split('.').next().unwrap_or("?"), qualname(&class)),
    }
}

/// Returns the class's name in full, without the module for builtins and `__main__`.
pub(crate) fn class_name(class: &Bound<'_, PyType>) -> String {
    let module = module_name(class);
    match module.as_str() {
        "builtins" | "__main__" => qualname(class),
        _ => format!("{module}.{}", qualname(class)),
    }
}

/// Returns the text of an exact `str`.
pub(crate) fn exact_text(object: &Bound<'_, PyAny>) -> Option<String> {
    object
        .cast_exact::<PyString>()
        .ok()
        .map(|text| text.to_string_lossy().into_owned())
}

/// Returns the length of a `str` or of an instance of a subclass, in characters.
pub(crate) fn text_len(text: &Bound<'_, PyString>) -> usize {
    // SAFETY: `text` is a live str; the call reads its length.
    let length = unsafe { ffi::PyUnicode_GetLength(text.as_ptr()) };
    usize::try_from(length).unwrap_or(0)
}

/// Returns a part of a `str` or of an instance of a subclass as an exact `str`; the bounds are in characters.
pub(crate) fn text_part<'py>(
    text: &Bound<'py, PyString>,
    start: usize,
    end: usize,
) -> PyResult<Bound<'py, PyString>> {
    let py = text.py();
    // SAFETY: `text` is a live str, and the call cuts both bounds to its length.
    let part = unsafe { ffi::PyUnicode_Substring(text.as_ptr(), start as isize, end as isize) };
    // SAFETY: the call returns a new reference, or null with an error set.
    let part = unsafe { Bound::from_owned_ptr_or_err(py, part) }?;
    Ok(part.cast_into::<PyString>()?)
}

/// Visits the items of a dict, or of an instance of a subclass, until `visit` breaks; `visit` runs no Python code.
fn visit_dict<'py>(
    dict: &Bound<'py, PyDict>,
    mut visit: impl FnMut(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> ControlFlow<()>,
) {
    let py = dict.py();
    let mut position: ffi::Py_ssize_t = 0;
    let mut key = std::ptr::null_mut();
    let mut value = std::ptr::null_mut();
    loop {
        // SAFETY: `dict` is a live dict, and nothing runs between two steps that could change it.
        let more = unsafe { ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) };
        if more == 0 {
            return;
        }
        // SAFETY: a step that says 1 has set `key` to a borrowed reference.
        let key = unsafe { Bound::from_borrowed_ptr(py, key) };
        // SAFETY: a step that says 1 has set `value` to a borrowed reference.
        let value = unsafe { Bound::from_borrowed_ptr(py, value) };
        if visit(&key, &value).is_break() {
            return;
        }
    }
}

/// Returns items of a dict, or of an instance of a subclass, from `start` on.
pub(crate) fn dict_items<'py>(
    dict: &Bound<'py, PyDict>,
    start: usize,
    count: usize,
) -> Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let mut items = Vec::new();
    let mut n_seen = 0;
    visit_dict(dict, |key, value| {
        if items.len() >= count {
            return ControlFlow::Break(());
        }
        if n_seen >= start {
            items.push((key.clone(), value.clone()));
        }
        n_seen += 1;
        ControlFlow::Continue(())
    });
    items
}

/// Returns the value of the first key that `is_key` accepts; `is_key` runs no Python code.
pub(crate) fn dict_find<'py>(
    dict: &Bound<'py, PyDict>,
    is_key: impl Fn(&Bound<'py, PyAny>) -> bool,
) -> Option<Bound<'py, PyAny>> {
    let mut found = None;
    visit_dict(dict, |key, value| {
        if is_key(key) {
            found = Some(value.clone());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    });
    found
}

/// Returns what stands under a text key, comparing with exact `str` keys only.
pub(crate) fn dict_get<'py>(dict: &Bound<'py, PyDict>, name: &str) -> Option<Bound<'py, PyAny>> {
    dict_find(dict, |key| {
        key.cast_exact::<PyString>()
            .is_ok_and(|key| text_len(key) <= name.len() && key.to_string_lossy() == name)
    })
}

/// Returns the iterator of `set` or `frozenset` itself over an instance of it or of a subclass.
pub(crate) fn set_iter<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyIterator>> {
    let py = object.py();
    let known = known(py)?;
    let iter = if object.cast::<PySet>().is_ok() {
        &known.set_iter
    } else {
        &known.frozenset_iter
    };
    Ok(iter.bind(py).call1((object,))?.cast_into::<PyIterator>()?)
}

/// Returns how many items a `set` or `frozenset` or an instance of a subclass has.
pub(crate) fn set_len(object: &Bound<'_, PyAny>) -> Option<usize> {
    object
        .cast::<PySet>()
        .map(|set| set.len())
        .or_else(|_| object.cast::<PyFrozenSet>().map(|set| set.len()))
        .ok()
}

/// Returns the bit length of an `int` or an instance of a subclass.
pub(crate) fn bit_length(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    known(object.py())?
        .int_bit_length
        .bind(object.py())
        .call1((object,))?
        .extract()
}

/// Returns `int.__repr__` of an `int` or an instance of a subclass.
pub(crate) fn int_repr(object: &Bound<'_, PyAny>) -> PyResult<String> {
    known(object.py())?
        .int_repr
        .bind(object.py())
        .call1((object,))?
        .extract()
}

/// Returns `float.__repr__` of a `float` or an instance of a subclass.
pub(crate) fn float_repr(object: &Bound<'_, PyAny>) -> PyResult<String> {
    known(object.py())?
        .float_repr
        .bind(object.py())
        .call1((object,))?
        .extract()
}

/// Returns the `repr` of an instance of an exact builtin type.
///
/// The caller has seen that the type is a builtin whose `repr` asks nothing else.
pub(crate) fn builtin_repr(object: &Bound<'_, PyAny>) -> String {
    object.repr().map_or_else(
        |_| format!("<{}>", type_name(object)),
        |text| text.to_string_lossy().into_owned(),
    )
}

/// Returns a member of a module that is already loaded; nothing is imported and no module's `__getattr__` runs.
pub(crate) fn loaded<'py>(py: Python<'py>, module: &str, member: &str) -> Option<Bound<'py, PyAny>> {
    // SAFETY: the call returns a borrowed reference to the interpreter's `sys.modules`.
    let modules = unsafe { ffi::PyImport_GetModuleDict() };
    // SAFETY: the reference is borrowed from the interpreter, which outlives this call; null is turned into `None`.
    let modules = unsafe { Bound::from_borrowed_ptr_or_opt(py, modules) }?;
    let modules = modules.cast_into::<PyDict>().ok()?;
    // Its keys are strings, so the lookup compares by content.
    let module = modules.get_item(module).ok()??.cast_into::<PyModule>().ok()?;
    module.dict().get_item(member).ok()?
}

/// Reads a field of an exception that is kept in C: `args`, `__cause__`, `__context__`, `__suppress_context__`.
pub(crate) fn exception_field<'py>(exception: &Bound<'py, PyAny>, name: &str) -> Option<Bound<'py, PyAny>> {
    let base = exception.py().get_type::<PyBaseException>();
    let descriptor = own_class_attribute(base.as_any(), name).ok()??;
    bind(&descriptor, exception).ok()
}
