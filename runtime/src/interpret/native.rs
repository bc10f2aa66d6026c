//! Operations of CPython that PyO3 does not wrap, and reads that ask only the base type's own slots.

use healcore::tree::BinaryOp;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{
    PyDict, PyFrozenSet, PyInt, PyList, PySet, PyString, PyType, PyWeakrefMethods, PyWeakrefReference,
};

fn owned<'py>(py: Python<'py>, pointer: *mut ffi::PyObject) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: each caller passes what a call just returned: a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, pointer) }
}

fn done(py: Python<'_>, status: i32) -> PyResult<()> {
    if status < 0 { Err(PyErr::fetch(py)) } else { Ok(()) }
}

/// `object.__getattribute__(object, name)`: no `__getattr__`, no `__getattribute__` of the class.
pub(super) fn generic_getattr<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: both are live objects, and the name is a str.
    let found = unsafe { ffi::PyObject_GenericGetAttr(object.as_ptr(), name.as_ptr()) };
    owned(object.py(), found)
}

/// `object.__setattr__(object, name, value)`, or `object.__delattr__` without a value.
pub(super) fn generic_setattr(
    object: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let value = value.map_or(std::ptr::null_mut(), Bound::as_ptr);
    // SAFETY: all are live objects, the name is a str, and null deletes.
    let status = unsafe { ffi::PyObject_GenericSetAttr(object.as_ptr(), name.as_ptr(), value) };
    done(object.py(), status)
}

/// The instance's own dict, where its type gives it one.
pub(super) fn instance_dict<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    // SAFETY: the object is live; the call looks for the dict at its type's offset and runs no code.
    let dict = unsafe { ffi::PyObject_GenericGetDict(object.as_ptr(), std::ptr::null_mut()) };
    owned(object.py(), dict).ok()?.cast_into::<PyDict>().ok()
}

/// `format(object, spec)`.
pub(super) fn format<'py>(
    object: &Bound<'py, PyAny>,
    spec: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: both are live objects, and the spec is a str.
    let text = unsafe { ffi::PyObject_Format(object.as_ptr(), spec.as_ptr()) };
    owned(object.py(), text)
}

/// `left op= right`.
pub(super) fn in_place<'py>(
    op: BinaryOp,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    type Operator = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;
    let operator: Operator = match op {
        BinaryOp::Add => ffi::PyNumber_InPlaceAdd,
        BinaryOp::Sub => ffi::PyNumber_InPlaceSubtract,
        BinaryOp::Mul => ffi::PyNumber_InPlaceMultiply,
        BinaryOp::Div => ffi::PyNumber_InPlaceTrueDivide,
        BinaryOp::FloorDiv => ffi::PyNumber_InPlaceFloorDivide,
        BinaryOp::Mod => ffi::PyNumber_InPlaceRemainder,
        BinaryOp::LeftShift => ffi::PyNumber_InPlaceLshift,
        BinaryOp::RightShift => ffi::PyNumber_InPlaceRshift,
        BinaryOp::BitAnd => ffi::PyNumber_InPlaceAnd,
        BinaryOp::BitOr => ffi::PyNumber_InPlaceOr,
        BinaryOp::BitXor => ffi::PyNumber_InPlaceXor,
        BinaryOp::Pow => {
            let none = left.py().None();
            // SAFETY: all three are live objects.
            let power = unsafe { ffi::PyNumber_InPlacePower(left.as_ptr(), right.as_ptr(), none.as_ptr()) };
            return owned(left.py(), power);
        }
    };
    // SAFETY: both are live objects.
    let value = unsafe { operator(left.as_ptr(), right.as_ptr()) };
    owned(left.py(), value)
}

/// `left op right`.
pub(super) fn binary<'py>(
    op: BinaryOp,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match op {
        BinaryOp::Add => left.add(right),
        BinaryOp::Sub => left.sub(right),
        BinaryOp::Mul => left.mul(right),
        BinaryOp::Div => left.div(right),
        BinaryOp::FloorDiv => left.floor_div(right),
        BinaryOp::Mod => left.rem(right),
        BinaryOp::Pow => left.pow(right, left.py().None()),
        BinaryOp::LeftShift => left.lshift(right),
        BinaryOp::RightShift => left.rshift(right),
        BinaryOp::BitAnd => left.bitand(right),
        BinaryOp::BitOr => left.bitor(right),
        BinaryOp::BitXor => left.bitxor(right),
    }
}

/// Replaces all items of a list, keeping the list.
pub(super) fn refill_list(list: &Bound<'_, PyList>, items: &Bound<'_, PyList>) -> PyResult<()> {
    // SAFETY: both are live lists; the bound is cut to the list's length.
    let status = unsafe { ffi::PyList_SetSlice(list.as_ptr(), 0, ffi::Py_ssize_t::MAX, items.as_ptr()) };
    done(list.py(), status)
}

/// Copies a dict or an instance of a subclass into an exact dict, past its methods.
pub(super) fn copy_dict<'py>(dict: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    let copy = PyDict::new(dict.py());
    for (key, value) in dict_items(dict) {
        copy.set_item(key, value)?;
    }
    Ok(copy)
}

/// Where the items of a dict stand: deleted ones leave holes, and an iterator counts them.
pub(super) fn dict_places(dict: &Bound<'_, PyDict>) -> Vec<usize> {
    let mut places = Vec::with_capacity(dict.len());
    let mut position: ffi::Py_ssize_t = 0;
    loop {
        let (mut key, mut value) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: `dict` is a live dict, and nothing runs between two steps that could change it.
        let more = unsafe { ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) };
        if more == 0 {
            return places;
        }
        places.push(usize::try_from(position - 1).unwrap_or(0));
    }
}

/// Fills a dict that was just cleared as it was before, holes included: iterators of the program find their place.
pub(super) fn refill_dict(
    dict: &Bound<'_, PyDict>,
    items: &Bound<'_, PyDict>,
    places: &[usize],
) -> PyResult<()> {
    let py = dict.py();
    let object = py.get_type::<PyAny>();
    let mut fillers = Vec::new();
    let mut next = 0;
    for ((key, value), place) in dict_items(items).into_iter().zip(places) {
        while next < *place {
            let filler = object.call0()?;
            dict.set_item(&filler, py.None())?;
            fillers.push(filler);
            next += 1;
        }
        dict.set_item(key, value)?;
        next += 1;
    }
    for filler in fillers {
        dict.del_item(filler)?;
    }
    Ok(())
}

/// The items of a dict or an instance of a subclass, past its methods.
pub(super) fn dict_items<'py>(dict: &Bound<'py, PyDict>) -> Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = dict.py();
    let mut items = Vec::with_capacity(dict.len());
    let mut position: ffi::Py_ssize_t = 0;
    let mut key = std::ptr::null_mut();
    let mut value = std::ptr::null_mut();
    loop {
        // SAFETY: `dict` is a live dict, and nothing runs between two steps that could change it.
        let more = unsafe { ffi::PyDict_Next(dict.as_ptr(), &mut position, &mut key, &mut value) };
        if more == 0 {
            return items;
        }
        // SAFETY: a step that says 1 has set `key` to a borrowed reference.
        let owned_key = unsafe { Bound::from_borrowed_ptr(py, key) };
        // SAFETY: a step that says 1 has set `value` to a borrowed reference.
        let owned_value = unsafe { Bound::from_borrowed_ptr(py, value) };
        items.push((owned_key, owned_value));
    }
}

/// The length of a container, past the methods of a subclass of a builtin one.
pub(super) fn len(object: &Bound<'_, PyAny>) -> Option<usize> {
    if let Ok(list) = object.cast::<PyList>() {
        return Some(list.len());
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        return Some(dict.len());
    }
    set_len(object).or_else(|| object.len().ok())
}

/// The length of a set or frozenset or of an instance of a subclass.
pub(super) fn set_len(object: &Bound<'_, PyAny>) -> Option<usize> {
    object
        .cast::<PySet>()
        .map(|set| set.len())
        .or_else(|_| object.cast::<PyFrozenSet>().map(|set| set.len()))
        .ok()
}

/// The length of a str or of an instance of a subclass.
pub(super) fn text_len(text: &Bound<'_, PyString>) -> usize {
    // SAFETY: `text` is a live str; the call reads its length.
    let length = unsafe { ffi::PyUnicode_GetLength(text.as_ptr()) };
    usize::try_from(length).unwrap_or(0)
}

/// The bits of an int or of an instance of a subclass.
pub(super) fn bit_length(object: &Bound<'_, PyAny>) -> PyResult<u64> {
    if object.cast::<PyInt>().is_ok() {
        let mut overflow = 0;
        // SAFETY: the object is a live int or of a subclass, whose own digits the call reads.
        let small = unsafe { ffi::PyLong_AsLongLongAndOverflow(object.as_ptr(), &mut overflow) };
        if overflow == 0 {
            return Ok(u64::from(64 - small.unsigned_abs().leading_zeros()));
        }
    }
    super::world::world(object.py())?
        .int_bit_length
        .bind(object.py())
        .call1((object,))?
        .extract()
}

/// Whether the class is `base` or derives from it.
pub(super) fn is_subtype(class: &Bound<'_, PyAny>, base: &Bound<'_, PyAny>) -> bool {
    // SAFETY: every caller has seen that both are type objects; the call walks the MRO only.
    unsafe { ffi::PyType_IsSubtype(class.as_ptr().cast(), base.as_ptr().cast()) != 0 }
}

/// The object that a weak reference refers to, where it is one and the object lives.
pub(super) fn weak_referent<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    object.cast::<PyWeakrefReference>().ok()?.upgrade()
}

/// The address of the function that ends a type's instances.
pub(super) fn end_of_instances(class: &Bound<'_, PyType>) -> usize {
    // SAFETY: `class` is a live type object; the call only reads the slot.
    unsafe { ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_dealloc) as usize }
}

/// The objects that an object in C holds, as its type tells the garbage collector.
pub(super) fn referents<'py>(object: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    extern "C" fn visit(found: *mut ffi::PyObject, into: *mut std::ffi::c_void) -> std::ffi::c_int {
        // SAFETY: `into` is the vector that `referents` passes, which outlives the traversal.
        let into = unsafe { &mut *into.cast::<Vec<*mut ffi::PyObject>>() };
        into.push(found);
        0
    }
    let mut pointers: Vec<*mut ffi::PyObject> = Vec::new();
    let class = object.get_type_ptr();
    // SAFETY: `class` is the live type of a live object; the call only reads the slot.
    let slot = unsafe { ffi::PyType_GetSlot(class, ffi::Py_tp_traverse) };
    // SAFETY: `class` is a live type object and the call only reads its flags.
    let is_collected = unsafe { ffi::PyType_GetFlags(class) } & ffi::Py_TPFLAGS_HAVE_GC != 0;
    if slot.is_null() || !is_collected {
        return Vec::new();
    }
    // SAFETY: a slot `Py_tp_traverse` that is not null holds a function of this type.
    let traverse = unsafe { std::mem::transmute::<*mut std::ffi::c_void, ffi::traverseproc>(slot) };
    // SAFETY: the object is live, and `visit` only collects what it is given.
    unsafe { traverse(object.as_ptr(), visit, (&raw mut pointers).cast()) };
    let owned = pointers.into_iter().map(|pointer| {
        // SAFETY: the object holds what its type tells of, and nothing has run in between.
        unsafe { Bound::from_borrowed_ptr(object.py(), pointer) }
    });
    owned.collect()
}
