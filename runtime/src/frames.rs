//! Frames of the paused program: what their names mean, and writing to them.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::layout::Layout;

/// The interpreter's minor version; layouts, opcodes and the meaning of `f_locals` differ by it.
pub(crate) fn minor_version(py: Python<'_>) -> u8 {
    static MINOR: OnceLock<u8> = OnceLock::new();
    *MINOR.get_or_init(|| py.version_info().minor)
}

/// Where an assignment to a name goes in a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NamePlace {
    /// A variable of the function, or the namespace of a class body.
    Local,
    /// A variable of the module: the code of the frame reads it as such.
    Global,
    /// Nothing in the frame reads this name: it lives as long as the healing code.
    Temporary,
}

/// Whether the frame runs a module or a class body, whose names live in a mapping.
fn is_namespace(code: &Bound<'_, PyAny>) -> PyResult<bool> {
    const CO_OPTIMIZED: u32 = 1;
    Ok(code.getattr(intern!(code.py(), "co_flags"))?.extract::<u32>()? & CO_OPTIMIZED == 0)
}

/// Whether the code, or a function within it, loads the name as a global or builtin one.
pub(crate) fn reads_global(code: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    if code.getattr("co_names")?.contains(name)? {
        return Ok(true);
    }
    for constant in code.getattr("co_consts")?.try_iter()? {
        let constant = constant?;
        if constant.get_type().is(code.get_type()) && reads_global(&constant, name)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the local variable, `None` where it is unbound or no local one.
pub(crate) fn lookup_local<'py>(
    frame: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    match read_variable(frame, name)? {
        Some(value) => Ok(value),
        None => item(&frame.getattr("f_locals")?, name),
    }
}

/// Reads a variable of a function where it lies; outer `None` where only `f_locals` tells.
///
/// Up to 3.12 `f_locals` leaves a snapshot in the frame, which would keep alive what the program lets go later.
fn read_variable<'py>(frame: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Option<Bound<'py, PyAny>>>> {
    let py = frame.py();
    let code = frame.getattr("f_code")?;
    let Some(layout) = Layout::of(py).filter(|_| minor_version(py) < 13) else {
        return Ok(None);
    };
    if is_namespace(&code)? {
        return Ok(None);
    }
    let names = |field: &str| code.getattr(field)?.extract::<Vec<String>>();
    let variables = names("co_varnames")?;
    // An argument that inner functions use is both, and has one slot.
    let mut cells = names("co_cellvars")?;
    let own_slots: Vec<String> = cells
        .iter()
        .filter(|cell| !variables.contains(cell))
        .cloned()
        .collect();
    let free = names("co_freevars")?;
    let Some(slot) = variables
        .iter()
        .chain(&own_slots)
        .chain(&free)
        .position(|variable| variable == name)
    else {
        return Ok(Some(None));
    };
    cells.extend(free);
    // SAFETY: a frame object has a slot for each of its code's variables.
    let value = unsafe { layout.stack_value(frame, 0, slot) };
    match value {
        Some(cell) if cells.iter().any(|cell| cell == name) && cell.get_type().name()? == "cell" => {
            Ok(Some(cell.getattr("cell_contents").ok()))
        }
        value => Ok(Some(value)),
    }
}

/// Returns the variable of the frame's module, `None` where it is unbound.
pub(crate) fn lookup_global<'py>(
    frame: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    item(&frame.getattr("f_globals")?, name)
}

/// A mapping's item; exact dicts and the frame's proxy run no user code, a class body's own mapping may.
pub(crate) fn item<'py>(mapping: &Bound<'py, PyAny>, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Ok(dict) = mapping.cast::<PyDict>() {
        return dict.get_item(name);
    }
    match mapping.get_item(name) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_instance_of::<pyo3::exceptions::PyKeyError>(mapping.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Assigns a local or global name of the frame so that the running program sees it.
///
/// A [`NamePlace::Temporary`] name is nobody's: assigning it is a no-op.
pub(crate) fn assign(
    frame: &Bound<'_, PyAny>,
    place: NamePlace,
    name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    match place {
        NamePlace::Temporary => Ok(()),
        NamePlace::Global => frame
            .getattr(intern!(frame.py(), "f_globals"))?
            .set_item(PyString::intern(frame.py(), name), value),
        NamePlace::Local => {
            // Read `f_locals` and write it back at once: up to 3.12 it is a snapshot, and a stale one overwrites.
            frame
                .getattr(intern!(frame.py(), "f_locals"))?
                .set_item(PyString::intern(frame.py(), name), value)?;
            if minor_version(frame.py()) < 13
                && !is_namespace(&frame.getattr(intern!(frame.py(), "f_code"))?)?
            {
                locals_to_fast(frame);
            }
            Ok(())
        }
    }
}

/// Copies the snapshot that `f_locals` is up to 3.12 back into the running frame.
fn locals_to_fast(frame: &Bound<'_, PyAny>) {
    type LocalsToFast = unsafe extern "C" fn(*mut pyo3::ffi::PyObject, c_int);
    let Some(address) = symbol(c"PyFrame_LocalsToFast") else {
        return;
    };
    // SAFETY: CPython 3.11 and 3.12 export this symbol with this signature.
    let locals_to_fast: LocalsToFast = unsafe { std::mem::transmute::<*mut c_void, LocalsToFast>(address) };
    // SAFETY: `frame` is a live frame object and the interpreter is attached; 0 keeps unbound names unbound.
    unsafe { locals_to_fast(frame.as_ptr(), 0) };
}

/// The address of a function of the interpreter that the limited API does not declare.
pub(crate) fn symbol(name: &std::ffi::CStr) -> Option<*mut c_void> {
    // SAFETY: `name` is NUL-terminated; RTLD_DEFAULT searches the whole process.
    let address = unsafe { nix::libc::dlsym(nix::libc::RTLD_DEFAULT, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}
