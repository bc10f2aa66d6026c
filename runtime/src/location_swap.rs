//! Jumps to one instruction through `frame.f_lineno`, which knows only lines.
//!
//! While the assignment runs, the code object has a location table in which the target alone has a line. CPython
//! still checks that the value stack fits, and does the jump.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::location_table;

/// Within so many words from its start a code object keeps its location table.
const MAX_WORDS: usize = 28;

/// Jumps to the instruction at a byte offset; must run in a line event of the frame.
pub(crate) fn jump_to(frame: &Bound<'_, PyAny>, offset: u32) -> PyResult<()> {
    let code = frame.getattr("f_code")?;
    let table = code.getattr("co_linetable")?;
    let first_line: u32 = code.getattr("co_firstlineno")?.extract()?;
    let n_units = code.getattr("co_code")?.len()? / 2;
    let only = location_table::only_at(offset as usize / 2, n_units);
    let only = PyBytes::new(frame.py(), &only);
    let slot = find_slot(&code, table.as_ptr()).ok_or_else(|| {
        pyo3::exceptions::PyRuntimeError::new_err(
            "the location table of this interpreter's code was not found",
        )
    })?;
    // SAFETY: `slot` lies in the live code object and holds the table.
    unsafe { slot.write(only.as_ptr()) };
    let jumped = frame.setattr("f_lineno", first_line);
    // SAFETY: as above; `table` is still alive, since we hold a reference.
    unsafe { slot.write(table.as_ptr()) };
    jumped
}

/// Finds where a code object keeps a reference.
fn find_slot(code: &Bound<'_, PyAny>, value: *mut PyObject) -> Option<*mut *mut PyObject> {
    let words = code.as_ptr().cast::<*mut PyObject>();
    (2..MAX_WORDS).find_map(|index| {
        // SAFETY: a code object is longer than MAX_WORDS words in all versions (its fields and first instructions,
        // take 200 bytes and more); the search ends at the first match.
        let slot = unsafe { words.add(index) };
        // SAFETY: as above.
        let held = unsafe { slot.read() };
        (held == value).then_some(slot)
    })
}
