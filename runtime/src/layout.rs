//! The memory of CPython's frames, by version: what no public function tells.
//!
//! Sources: `Include/cpython/frameobject.h` and `Include/internal/pycore_frame.h` (3.11, 3.12, 3.13),
//! `pycore_interpframe_structs.h` (3.14). Only release builds with the GIL have these layouts; the runtime
//! refuses others when it starts.

use std::ffi::c_void;

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::frames::minor_version;

/// `PyFrameObject.f_frame`: behind the object's head and `f_back`.
const FRAME_OF_OBJECT: usize = 24;

/// The size of a local variable or a value of the stack.
const SLOT: usize = 8;

/// Reads a field.
///
/// # Safety
///
/// At `offset` bytes behind `base` lies an aligned, initialised `T`.
unsafe fn field<T: Copy>(base: *const u8, offset: usize) -> T {
    // SAFETY: by the caller's promise the address lies within the same object.
    let address = unsafe { base.add(offset) };
    // SAFETY: by the caller's promise.
    unsafe { address.cast::<T>().read() }
}

/// Offsets in `_PyInterpreterFrame`, in bytes.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    code: usize,
    globals: usize,
    instruction: usize,
    locals: usize,
    entry: Entry,
    /// The low bits of an object reference that are no address.
    tag: usize,
}

/// How a frame tells that C code called it.
#[derive(Clone, Copy)]
enum Entry {
    /// `is_entry` of the frame itself (3.11).
    Flag(usize),
    /// `owner` of the frame below it, which then belongs to the C stack (3.12 and later).
    Below(usize),
}

/// `_PyInterpreterFrame.previous` on 3.12 and later.
const PREVIOUS: usize = 8;
/// `_PyInterpreterFrame.previous` on 3.11.
const PREVIOUS_11: usize = 48;
/// `FRAME_OWNED_BY_CSTACK` (3.12, 3.13) and `FRAME_OWNED_BY_INTERPRETER` (3.14).
const OWNED_BY_C: u8 = 3;

impl Layout {
    /// Whether C code called the frame; the frame must be running.
    ///
    /// # Safety
    ///
    /// `frame` is a frame object of the running stack.
    pub(crate) unsafe fn is_called_by_c(self, frame: &Bound<'_, PyAny>) -> bool {
        // SAFETY: every frame object holds the address of its interpreter frame here.
        let inner: *mut u8 = unsafe { field(frame.as_ptr().cast(), FRAME_OF_OBJECT) };
        match self.entry {
            // SAFETY: the field lies within the frame.
            Entry::Flag(offset) => unsafe { field::<u8>(inner, offset) != 0 },
            Entry::Below(offset) => {
                // SAFETY: as above.
                let below: *mut u8 = unsafe { field(inner, PREVIOUS) };
                // SAFETY: the frame below a running one is alive, and all frames have this layout.
                below.is_null() || unsafe { field::<u8>(below, offset) == OWNED_BY_C }
            }
        }
    }

    /// The layout of the running interpreter; `None` for a version that we have not seen.
    pub(crate) fn of(py: Python<'_>) -> Option<Self> {
        Some(match minor_version(py) {
            11 => Self {
                code: 32,
                globals: 8,
                instruction: 56,
                locals: 72,
                entry: Entry::Flag(68),
                tag: 0,
            },
            12 | 13 => Self {
                code: 0,
                globals: 24,
                instruction: 56,
                locals: 72,
                entry: Entry::Below(70),
                tag: 0,
            },
            14 => Self {
                code: 0,
                globals: 24,
                instruction: 56,
                locals: 80,
                entry: Entry::Below(74),
                tag: 3,
            },
            _ => return None,
        })
    }

    /// Reads a value of the frame's stack, counted from its bottom; `None` where there is none.
    ///
    /// The caller knows from the exception table that the stack is at least that deep.
    ///
    /// # Safety
    ///
    /// `frame` is a live frame object that has `n_locals` fast locals and more than `depth` values on its stack.
    pub(crate) unsafe fn stack_value<'py>(
        self,
        frame: &Bound<'py, PyAny>,
        n_locals: usize,
        depth: usize,
    ) -> Option<Bound<'py, PyAny>> {
        // SAFETY: every frame object holds the address of its interpreter frame here.
        let inner: *mut u8 = unsafe { field(frame.as_ptr().cast(), FRAME_OF_OBJECT) };
        // SAFETY: locals and stack are one array, and the caller promises that it is long enough.
        let slot: usize = unsafe { field(inner, self.locals + (n_locals + depth) * SLOT) };
        let value = (slot & !self.tag) as *mut PyObject;
        // SAFETY: a slot below the stack's top is null or a reference that the frame owns.
        unsafe { Bound::from_borrowed_ptr_or_opt(frame.py(), value) }
    }
}

/// A frame of the running stack, as the interpreter keeps it: no object is made for it.
#[derive(Clone, Copy)]
pub(crate) struct RawFrame {
    frame: *const u8,
    layout: Layout,
}

impl RawFrame {
    /// The frame that is running; `None` where no code of Python is.
    pub(crate) fn running(_py: Python<'_>, layout: Layout) -> Option<Self> {
        // SAFETY: the interpreter is attached; the reference is borrowed from the running stack.
        let object = unsafe { pyo3::ffi::PyEval_GetFrame() };
        if object.is_null() {
            return None;
        }
        // SAFETY: every frame object holds the address of its interpreter frame here.
        let frame = unsafe { field(object.cast(), FRAME_OF_OBJECT) };
        Some(Self { frame, layout })
    }

    /// The frame behind a frame object, which must be running or suspended.
    pub(crate) fn of(frame: &Bound<'_, PyAny>, layout: Layout) -> Self {
        // SAFETY: as above.
        let frame = unsafe { field(frame.as_ptr().cast(), FRAME_OF_OBJECT) };
        Self { frame, layout }
    }

    /// The frame and its callers, also those that C code has put in between. They last as long as nothing runs.
    pub(crate) fn and_callers(self) -> impl Iterator<Item = Self> {
        let previous = match self.layout.entry {
            Entry::Flag(_) => PREVIOUS_11,
            Entry::Below(_) => PREVIOUS,
        };
        std::iter::successors(Some(self), move |frame| {
            // SAFETY: the field lies within the frame, which is alive, since it runs or a frame above it does.
            let below: *const u8 = unsafe { field(frame.frame, previous) };
            let layout = frame.layout;
            (!below.is_null()).then_some(Self { frame: below, layout })
        })
    }

    /// The address, which no other frame has as long as this one lives.
    pub(crate) fn address(self) -> usize {
        self.frame as usize
    }

    /// The address of its code.
    pub(crate) fn code(self) -> usize {
        // SAFETY: the field lies within the frame.
        let slot: usize = unsafe { field(self.frame, self.layout.code) };
        slot & !self.layout.tag
    }

    /// Its code; `None` where C code has put the frame there.
    pub(crate) fn code_object(self, py: Python<'_>) -> Option<Py<PyAny>> {
        let code = self.code() as *mut PyObject;
        // SAFETY: null or a reference that the frame owns.
        unsafe { Bound::from_borrowed_ptr_or_opt(py, code) }.map(Bound::unbind)
    }

    /// The address of the instruction at which it stands.
    pub(crate) fn instruction(self) -> usize {
        // SAFETY: the field lies within the frame.
        unsafe { field(self.frame, self.layout.instruction) }
    }

    /// Whether C code called it, where the frame itself tells; elsewhere there is a frame of C code below it.
    pub(crate) fn is_entry(self) -> bool {
        match self.layout.entry {
            // SAFETY: the field lies within the frame.
            Entry::Flag(offset) => unsafe { field::<u8>(self.frame, offset) != 0 },
            Entry::Below(_) => false,
        }
    }
}

/// An interpreter frame that has not begun, as an evaluation function receives it.
pub(crate) struct UnstartedFrame {
    frame: *mut u8,
    layout: Layout,
}

impl UnstartedFrame {
    /// # Safety
    ///
    /// `frame` is the `_PyInterpreterFrame` that CPython passed to an evaluation function, of this layout.
    pub(crate) unsafe fn new(frame: *mut c_void, layout: Layout) -> Self {
        Self {
            frame: frame.cast(),
            layout,
        }
    }

    /// The code that it would run.
    pub(crate) fn code<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.object(py, self.layout.code)
    }

    /// Its global variables.
    pub(crate) fn globals<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.object(py, self.layout.globals)
    }

    /// Makes the frame one that has not reached its first traceable instruction, so that an exception thrown into it
    /// leaves no traceback entry: from 3.13 on an unstarted frame already points at that instruction.
    pub(crate) fn step_back(&self, py: Python<'_>) {
        const UNIT: usize = 2;
        if minor_version(py) < 13 {
            return;
        }
        // SAFETY: the field lies within the frame, by the promise of `new`.
        let slot = unsafe { self.frame.add(self.layout.instruction) }.cast::<usize>();
        // SAFETY: as above.
        let instruction = unsafe { slot.read() };
        // SAFETY: as above; with an exception thrown in, the instruction is compared and never run.
        unsafe { slot.write(instruction - UNIT) };
    }

    /// An argument, by the index of its slot.
    pub(crate) fn argument<'py>(&self, py: Python<'py>, index: usize) -> Option<Bound<'py, PyAny>> {
        self.object(py, self.layout.locals + index * SLOT)
    }

    fn object<'py>(&self, py: Python<'py>, offset: usize) -> Option<Bound<'py, PyAny>> {
        // SAFETY: the field lies within the frame, by the promise of `new`.
        let slot: usize = unsafe { field(self.frame, offset) };
        // SAFETY: the field is null or a reference that the frame owns.
        unsafe { Bound::from_borrowed_ptr_or_opt(py, (slot & !self.layout.tag) as *mut PyObject) }
    }

    /// Makes the frame run other code, which needs no more locals and stack than the frame's own.
    pub(crate) fn replace_code(&self, code: Bound<'_, PyAny>) {
        let Some(old) = self.code(code.py()) else { return };
        let tag = self.layout.tag;
        // SAFETY: the field lies within the frame, by the promise of `new`.
        let code_slot = unsafe { self.frame.add(self.layout.code) }.cast::<usize>();
        // SAFETY: as above.
        let instruction_slot = unsafe { self.frame.add(self.layout.instruction) }.cast::<usize>();
        // SAFETY: the slot is readable, as above.
        let instruction = unsafe { instruction_slot.read() };
        let to_instruction = instruction.wrapping_sub(old.as_ptr() as usize);
        let new = code.into_ptr() as usize;
        // SAFETY: as above; the frame takes over the reference that `into_ptr` gave up.
        let old_slot = unsafe { code_slot.replace(new) };
        // SAFETY: every code object has its instructions at the same offset.
        unsafe { instruction_slot.write(new.wrapping_add(to_instruction)) };
        if old_slot & tag == 0 {
            // SAFETY: the frame owned this reference and no longer refers to it.
            unsafe { pyo3::ffi::Py_DECREF(old.as_ptr()) };
        }
    }
}
