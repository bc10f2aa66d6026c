//! What the instructions of the running interpreter mean, as far as unwinding is concerned.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

use crate::frames::minor_version;

/// The meaning of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Room for the specialising interpreter behind an instruction.
    Cache,
    /// The high bits of the next instruction's argument.
    ExtendedArg,
    /// Pushes a constant.
    LoadConst,
    /// Pushes a global; the argument is twice the name's index, plus a flag.
    LoadGlobal,
    /// Pushes a name of a module or class body.
    LoadName,
    /// Pushes one local, cell or free variable.
    LoadLocal,
    /// Pushes two locals, four bits of the argument each.
    LoadTwoLocals,
    /// Replaces an object by its attribute.
    LoadAttr,
    /// Pops into a local, cell or free variable.
    StoreLocal,
    /// Pops into a global or a name of a module or class body.
    StoreName,
    /// Makes a tuple.
    BuildTuple,
    /// Pushes the class AssertionError.
    LoadAssertionError,
    /// Calls with so many arguments.
    Call,
    /// Calls with so many arguments, the names of some of which lie on top.
    CallNamed,
    /// Calls with a tuple of arguments and, by the lowest bit of its argument, a dict.
    CallUnpacked,
    /// Swaps the top with a value of the stack.
    Swap,
    /// Takes what an object awaits.
    GetAwaitable,
    /// Duplicates a value of the stack.
    Copy,
    /// Drops the top.
    PopTop,
    /// Does nothing to what we follow.
    Nop,
    /// Inverts the test.
    Not,
    /// Starts a handler.
    PushExcInfo,
    /// Ends a handler.
    PopExcept,
    /// Tests the exception against a class.
    CheckExcMatch,
    /// Splits a group by a class.
    CheckEgMatch,
    /// Calls `__exit__`.
    WithExceptStart,
    /// Raises the exception on.
    Reraise,
    /// `raise`.
    RaiseVarargs,
    /// Leaves the frame with the top of the stack.
    Return,
    /// Leaves the frame with a constant.
    ReturnConst,
    /// Ends an `async for` at StopAsyncIteration.
    EndAsyncFor,
    /// Ends a `yield from` at StopIteration.
    CleanupThrow,
    /// Jumps forward.
    Jump,
    /// Jumps backward.
    JumpBack,
    /// Jumps forward where the test is true or false.
    JumpIf(bool),
    /// Jumps backward where the test is true or false.
    JumpBackIf(bool),
    /// Jumps forward or not; we do not follow why.
    Branch,
    /// Jumps backward or not; we do not follow why.
    BranchBack,
    /// Anything else: goes on with the next instruction.
    Other,
}

static TABLE: PyOnceLock<Box<[Op; 256]>> = PyOnceLock::new();

/// The table from opcode to meaning.
pub(crate) fn table(py: Python<'_>) -> PyResult<&'static [Op; 256]> {
    let table = TABLE.get_or_try_init(py, || {
        let mut table = Box::new([Op::Other; 256]);
        let opmap = py.import("opcode")?.getattr("opmap")?.cast_into::<PyDict>()?;
        for (name, number) in opmap.iter() {
            if let Ok(number) = number.extract::<u8>() {
                table[usize::from(number)] = meaning(&name.extract::<String>()?);
            }
        }
        Ok::<_, PyErr>(table)
    })?;
    Ok(table)
}

fn meaning(name: &str) -> Op {
    match name {
        "CACHE" => Op::Cache,
        "EXTENDED_ARG" => Op::ExtendedArg,
        "LOAD_CONST" | "LOAD_CONST_IMMORTAL" => Op::LoadConst,
        "LOAD_GLOBAL" => Op::LoadGlobal,
        "LOAD_NAME" => Op::LoadName,
        "LOAD_FAST" | "LOAD_FAST_CHECK" | "LOAD_FAST_BORROW" | "LOAD_DEREF" | "LOAD_CLASSDEREF" => {
            Op::LoadLocal
        }
        "LOAD_FAST_LOAD_FAST" | "LOAD_FAST_BORROW_LOAD_FAST_BORROW" => Op::LoadTwoLocals,
        "LOAD_ATTR" | "LOAD_METHOD" => Op::LoadAttr,
        "LOAD_ASSERTION_ERROR" => Op::LoadAssertionError,
        "CALL" => Op::Call,
        "CALL_KW" => Op::CallNamed,
        "CALL_FUNCTION_EX" => Op::CallUnpacked,
        "SWAP" => Op::Swap,
        "GET_AWAITABLE" => Op::GetAwaitable,
        "STORE_FAST" | "STORE_DEREF" => Op::StoreLocal,
        "STORE_NAME" | "STORE_GLOBAL" => Op::StoreName,
        "BUILD_TUPLE" => Op::BuildTuple,
        "COPY" => Op::Copy,
        "POP_TOP" => Op::PopTop,
        "NOP" | "RESUME" | "TO_BOOL" | "NOT_TAKEN" | "PUSH_NULL" | "PRECALL" | "KW_NAMES" => Op::Nop,
        "UNARY_NOT" => Op::Not,
        "PUSH_EXC_INFO" => Op::PushExcInfo,
        "POP_EXCEPT" => Op::PopExcept,
        "CHECK_EXC_MATCH" => Op::CheckExcMatch,
        "CHECK_EG_MATCH" => Op::CheckEgMatch,
        "WITH_EXCEPT_START" => Op::WithExceptStart,
        "RERAISE" => Op::Reraise,
        "RAISE_VARARGS" => Op::RaiseVarargs,
        "RETURN_VALUE" => Op::Return,
        "RETURN_CONST" => Op::ReturnConst,
        "END_ASYNC_FOR" => Op::EndAsyncFor,
        "CLEANUP_THROW" => Op::CleanupThrow,
        "JUMP_FORWARD" => Op::Jump,
        "JUMP_BACKWARD" | "JUMP_BACKWARD_NO_INTERRUPT" => Op::JumpBack,
        "POP_JUMP_IF_TRUE" | "POP_JUMP_FORWARD_IF_TRUE" => Op::JumpIf(true),
        "POP_JUMP_IF_FALSE" | "POP_JUMP_FORWARD_IF_FALSE" => Op::JumpIf(false),
        "POP_JUMP_BACKWARD_IF_TRUE" => Op::JumpBackIf(true),
        "POP_JUMP_BACKWARD_IF_FALSE" => Op::JumpBackIf(false),
        "POP_JUMP_BACKWARD_IF_NONE" | "POP_JUMP_BACKWARD_IF_NOT_NONE" => Op::BranchBack,
        "POP_JUMP_IF_NONE"
        | "POP_JUMP_IF_NOT_NONE"
        | "POP_JUMP_FORWARD_IF_NONE"
        | "POP_JUMP_FORWARD_IF_NOT_NONE"
        | "JUMP_IF_TRUE_OR_POP"
        | "JUMP_IF_FALSE_OR_POP"
        | "FOR_ITER"
        | "SEND" => Op::Branch,
        _ => Op::Other,
    }
}

/// One instruction of a code object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Instruction {
    /// Its byte offset, without extensions of the argument.
    pub(crate) offset: u32,
    /// The byte offset behind it and its caches.
    pub(crate) next: u32,
    /// What it means.
    pub(crate) op: Op,
    /// Its argument.
    pub(crate) argument: u32,
    /// By how much it grows the stack, where that is known; only for [`Op::Other`].
    pub(crate) growth: Option<i32>,
}

impl Instruction {
    /// The target of a jump.
    pub(crate) fn target(&self) -> u32 {
        let distance = self.argument * 2;
        match self.op {
            Op::JumpBack | Op::JumpBackIf(_) | Op::BranchBack => self.next.saturating_sub(distance),
            _ => self.next + distance,
        }
    }
}

/// Decodes `co_code`.
pub(crate) fn decode(py: Python<'_>, code: &[u8]) -> PyResult<Vec<Instruction>> {
    let table = table(py)?;
    let growth = Growth::of(py)?;
    let mut instructions: Vec<Instruction> = Vec::with_capacity(code.len() / 2);
    let mut high = 0;
    for (unit, pair) in code.chunks_exact(2).enumerate() {
        let offset = (unit * 2) as u32;
        let argument = high << 8 | u32::from(pair[1]);
        match table[usize::from(pair[0])] {
            Op::ExtendedArg => {
                high = argument;
                continue;
            }
            Op::Cache => {
                if let Some(last) = instructions.last_mut() {
                    last.next = offset + 2;
                }
            }
            op => instructions.push(Instruction {
                offset,
                next: offset + 2,
                op,
                argument,
                growth: (op == Op::Other).then(|| growth.by(pair[0], argument)).flatten(),
            }),
        }
        high = 0;
    }
    Ok(instructions)
}

/// CPython's own word on how instructions change the stack.
struct Growth<'py> {
    effect: Bound<'py, PyAny>,
    have_argument: u8,
    load_super: Option<u8>,
}

impl<'py> Growth<'py> {
    fn of(py: Python<'py>) -> PyResult<Self> {
        let opcode = py.import("opcode")?;
        let load_super = opcode
            .getattr("opmap")?
            .cast_into::<PyDict>()?
            .get_item("LOAD_SUPER_ATTR")?;
        Ok(Self {
            effect: opcode.getattr("stack_effect")?,
            have_argument: opcode.getattr("HAVE_ARGUMENT")?.extract()?,
            load_super: load_super.and_then(|number| number.extract().ok()),
        })
    }

    fn by(&self, opcode: u8, argument: u32) -> Option<i32> {
        // The room for a method's receiver is no value to us.
        if Some(opcode) == self.load_super {
            return Some(-2);
        }
        let argument = (opcode >= self.have_argument).then_some(argument);
        self.effect.call1((opcode, argument)).ok()?.extract().ok()
    }
}

/// Whether `LOAD_ATTR` keeps a flag in the low bit of its argument.
pub(crate) fn attribute_has_flag(py: Python<'_>) -> bool {
    minor_version(py) >= 12
}
