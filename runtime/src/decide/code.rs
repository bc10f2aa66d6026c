//! What the decision needs of a code object, read once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use super::opcodes::{Instruction, Op, attribute_has_flag, decode};
use crate::exception_table::{self, Region};
use crate::hook::Hook;

/// A code object, decoded.
pub(crate) struct Code {
    /// In order of their offsets.
    pub(crate) instructions: Vec<Instruction>,
    /// Which handler covers which instruction.
    pub(crate) regions: Vec<Region>,
    /// `co_names`.
    pub(crate) names: Vec<String>,
    /// Local, cell and free variables in the order of their slots.
    pub(crate) locals: Vec<String>,
    /// `co_consts`.
    pub(crate) constants: Py<PyTuple>,
    /// `co_qualname`.
    pub(crate) qualified_name: String,
    /// `co_flags`.
    pub(crate) flags: u32,
    /// `co_argcount`.
    pub(crate) n_arguments: usize,
    attribute_flag: bool,
    starts: OnceLock<Vec<Option<(u32, u32)>>>,
    // Keeps the code object alive, so that its address names it alone.
    _object: Py<PyAny>,
}

/// So many decoded code objects are kept; then all are forgotten.
const MAX_KEPT: usize = 4096;

static KEPT: Mutex<Option<HashMap<usize, Arc<Code>>>> = Mutex::new(None);

impl Code {
    /// Reads the code of a frame.
    pub(crate) fn of(frame: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        Self::of_object(&frame.getattr("f_code")?)
    }

    fn of_object(object: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        let address = object.as_ptr() as usize;
        if let Some(code) = kept().as_ref().and_then(|kept| kept.get(&address)) {
            return Ok(Arc::clone(code));
        }
        let code = Arc::new(Self::read(object)?);
        let mut kept = kept();
        let kept = kept.get_or_insert_default();
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(address, Arc::clone(&code));
        Ok(code)
    }

    /// Reads the code of a Python function.
    pub(crate) fn of_function(function: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        Self::of_object(&function.getattr("__code__")?)
    }

    /// Whether the instruction at `index` loads this attribute of our hook.
    pub(crate) fn is_hook_load(&self, py: Python<'_>, index: usize, attribute: &str) -> bool {
        let load = index.checked_sub(1).map(|before| self.instructions[before]);
        self.attribute_name(self.instructions[index].argument) == Some(attribute)
            && load.filter(|load| load.op == Op::LoadConst).is_some_and(|load| {
                let constant = self.constants.bind(py).get_item(load.argument as usize);
                constant.is_ok_and(|constant| constant.cast_exact::<Hook>().is_ok())
            })
    }

    /// Whether some path through the code returns; a `return` of ours is taken only after a heal.
    pub(crate) fn returns(&self, py: Python<'_>) -> bool {
        self.instructions
            .iter()
            .enumerate()
            .any(|(index, instruction)| match instruction.op {
                Op::Return => index == 0 || !self.is_hook_load(py, index - 1, "value"),
                Op::ReturnConst => true,
                _ => false,
            })
    }

    /// The attribute, where the code is that of `return self.attribute` and no more.
    pub(crate) fn handed_out_attribute(&self) -> Option<&str> {
        // Code behind the first return belongs to handlers of ours.
        let work = self
            .instructions
            .iter()
            .filter(|instruction| instruction.op != Op::Nop);
        let work: Vec<_> = work
            .take(3)
            .map(|instruction| (instruction.op, instruction.argument))
            .collect();
        match work[..] {
            [(Op::LoadLocal, 0), (Op::LoadAttr, name), (Op::Return, _)] => self.attribute_name(name),
            _ => None,
        }
    }

    pub(crate) fn read(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let mut locals: Vec<String> = object.getattr("co_varnames")?.extract()?;
        for name in object.getattr("co_cellvars")?.extract::<Vec<String>>()? {
            // A parameter that is also a cell has one slot.
            if !locals.contains(&name) {
                locals.push(name);
            }
        }
        locals.extend(object.getattr("co_freevars")?.extract::<Vec<String>>()?);
        Ok(Self {
            instructions: decode(py, object.getattr("co_code")?.cast::<PyBytes>()?.as_bytes())?,
            regions: exception_table::read(
                object.getattr("co_exceptiontable")?.cast::<PyBytes>()?.as_bytes(),
            ),
            names: object.getattr("co_names")?.extract()?,
            locals,
            constants: object.getattr("co_consts")?.cast_into::<PyTuple>()?.unbind(),
            qualified_name: object.getattr("co_qualname")?.extract()?,
            flags: object.getattr("co_flags")?.extract()?,
            n_arguments: object.getattr("co_argcount")?.extract()?,
            attribute_flag: attribute_has_flag(py),
            starts: OnceLock::new(),
            _object: object.clone().unbind(),
        })
    }

    /// The index of the instruction at an offset.
    pub(crate) fn index_at(&self, offset: u32) -> Option<usize> {
        // An offset may point at the extensions of an argument, which belong to the instruction behind them.
        let index = self
            .instructions
            .partition_point(|instruction| instruction.offset < offset);
        (index < self.instructions.len()).then_some(index)
    }

    /// The next instruction that does something.
    pub(crate) fn following(&self, index: usize) -> Option<Instruction> {
        let rest = self.instructions.get(index + 1..)?;
        rest.iter().find(|next| next.op != Op::Nop).copied()
    }

    /// The name that a `LOAD_GLOBAL`, `LOAD_ATTR` or `LOAD_NAME` loads.
    pub(crate) fn attribute_name(&self, argument: u32) -> Option<&str> {
        let index = if self.attribute_flag {
            argument >> 1
        } else {
            argument
        };
        self.names.get(index as usize).map(String::as_str)
    }

    /// For each code unit, the line and column at which its source starts.
    pub(crate) fn starts(&self, frame: &Bound<'_, PyAny>) -> PyResult<&[Option<(u32, u32)>]> {
        if let Some(starts) = self.starts.get() {
            return Ok(starts);
        }
        type Position = (Option<u32>, Option<u32>, Option<u32>, Option<u32>);
        let mut starts = Vec::new();
        for position in frame
            .getattr("f_code")?
            .call_method0("co_positions")?
            .try_iter()?
        {
            let (line, _, column, _) = position?.extract::<Position>()?;
            starts.push(line.zip(column));
        }
        Ok(self.starts.get_or_init(|| starts))
    }

    /// The name of the instruction at which a frame of this code stands.
    pub(crate) fn opcode_name(&self, frame: &Bound<'_, PyAny>, offset: u32) -> PyResult<String> {
        let bytes = frame.getattr("f_code")?.getattr("co_code")?;
        let opcode = bytes
            .cast::<PyBytes>()?
            .as_bytes()
            .get(offset as usize)
            .copied()
            .unwrap_or_default();
        frame
            .py()
            .import("opcode")?
            .getattr("opname")?
            .get_item(opcode)?
            .extract()
    }

    /// Whether it is the code of a generator, coroutine or async generator.
    pub(crate) fn is_resumable(&self) -> bool {
        const GENERATOR: u32 = 0x20;
        const COROUTINE: u32 = 0x80;
        const ASYNC_GENERATOR: u32 = 0x200;
        self.flags & (GENERATOR | COROUTINE | ASYNC_GENERATOR) != 0
    }
}

fn kept() -> std::sync::MutexGuard<'static, Option<HashMap<usize, Arc<Code>>>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}
