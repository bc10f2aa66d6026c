//! The instructions of the running interpreter, as far as code that changes nothing uses them.

use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyCode, PyDict};

use crate::decide::Code;
use crate::frames::minor_version;

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Room behind an instruction.
    Cache,
    /// High bits of the next argument.
    ExtendedArg,
    Nop,
    PushNull,
    PopTop,
    Copy,
    Swap,
    EndFor,
    LoadConst,
    ReturnConst,
    ReturnValue,
    ReturnGenerator,
    YieldValue,
    LoadFast,
    LoadFastAndClear,
    LoadFastLoadFast,
    StoreFast,
    StoreFastStoreFast,
    StoreFastLoadFast,
    DeleteFast,
    MakeCell,
    LoadDeref,
    StoreDeref,
    LoadGlobal,
    LoadAttr,
    LoadMethod,
    LoadSuperAttr,
    StoreAttr,
    DeleteAttr,
    LoadItem,
    LoadSlice,
    StoreItem,
    StoreSlice,
    DeleteItem,
    Binary,
    Compare,
    Is,
    Contains,
    Not,
    Negative,
    Positive,
    Invert,
    ToBool,
    BuildTuple,
    BuildList,
    BuildSet,
    BuildMap,
    BuildConstKeyMap,
    BuildString,
    BuildSlice,
    ListAppend,
    SetAdd,
    MapAdd,
    ListExtend,
    SetUpdate,
    DictUpdate,
    DictMerge,
    ListToTuple,
    Intrinsic,
    FormatValue,
    ConvertValue,
    FormatSimple,
    FormatWithSpec,
    Jump,
    JumpBack,
    PopJumpIf(bool),
    PopJumpBackIf(bool),
    PopJumpIfNone(bool),
    PopJumpBackIfNone(bool),
    JumpIfOrPop(bool),
    GetIter,
    ForIter,
    GetLen,
    Unpack,
    UnpackEx,
    KwNames,
    Call,
    CallKw,
    CallEx,
    MakeFunction,
    SetFunctionAttribute,
    PushExcInfo,
    PopExcept,
    CheckExcMatch,
    Reraise,
    Raise,
    LoadAssertionError,
    /// Pushes one of the objects that the compiler knows by number.
    LoadCommonConstant,
    /// Pushes the argument itself.
    LoadSmallInt,
    /// Writes a global name.
    StoreGlobal,
    Import,
    With,
    Match,
    /// Anything else, which is not followed.
    Other,
}

/// One instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    pub(super) offset: u32,
    /// The offset behind it and its caches.
    pub(super) next: u32,
    pub(super) act: Act,
    pub(super) opcode: u8,
    pub(super) argument: u32,
}

impl Instruction {
    /// Where a jump goes.
    pub(super) fn target(&self) -> u32 {
        let distance = self.argument * 2;
        match self.act {
            Act::JumpBack | Act::PopJumpBackIf(_) | Act::PopJumpBackIfNone(_) => {
                self.next.saturating_sub(distance)
            }
            _ => self.next + distance,
        }
    }
}

/// A code object, ready to be followed.
pub(super) struct Routine {
    pub(super) code: Code,
    pub(super) object: Py<PyAny>,
    pub(super) instructions: Vec<Instruction>,
    pub(super) file: String,
    pub(super) name: String,
    pub(super) n_positional: usize,
    pub(super) n_positional_only: usize,
    pub(super) n_keyword_only: usize,
    pub(super) n_free: usize,
    /// Whether END_FOR leaves the iterator to a POP_TOP.
    pub(super) has_pop_behind_loops: bool,
}

impl Routine {
    pub(super) fn read(function_code: &Bound<'_, PyAny>) -> PyResult<Rc<Self>> {
        let py = function_code.py();
        let number = |name: &str| function_code.getattr(name)?.extract::<usize>();
        let bytes = function_code
            .getattr("co_code")?
            .cast_into::<PyBytes>()
            .map_err(PyErr::from)?;
        Ok(Rc::new(Self {
            code: Code::read(function_code)?,
            object: function_code.clone().unbind(),
            instructions: decode(py, bytes.as_bytes())?,
            file: function_code.getattr("co_filename")?.extract()?,
            name: function_code.getattr("co_name")?.extract()?,
            n_positional: number("co_argcount")?,
            n_positional_only: number("co_posonlyargcount")?,
            n_keyword_only: number("co_kwonlyargcount")?,
            n_free: function_code.getattr("co_freevars")?.len()?,
            has_pop_behind_loops: minor_version(py) >= 13,
        }))
    }

    /// The index of the instruction at an offset, which may be that of its extended argument.
    pub(super) fn index_at(&self, offset: u32) -> Option<usize> {
        let index = self
            .instructions
            .partition_point(|instruction| instruction.offset < offset);
        (index < self.instructions.len()).then_some(index)
    }

    /// `shop.py:12`, by the instruction.
    pub(super) fn place(&self, py: Python<'_>, offset: u32) -> String {
        type Position = (Option<u32>, Option<u32>, Option<u32>, Option<u32>);
        let file = self.file.rsplit('/').next().unwrap_or(&self.file);
        let positions = self.object.bind(py).call_method0("co_positions");
        let position = positions.and_then(|positions| {
            let position = positions.try_iter()?.nth(offset as usize / 2).transpose()?;
            position
                .map(|position| position.extract::<Position>())
                .transpose()
        });
        match position {
            Ok(Some((Some(line), ..))) => format!("{file}:{line}"),
            _ => file.to_owned(),
        }
    }

    /// Whether calling it makes a generator or coroutine.
    pub(super) fn is_resumable(&self) -> bool {
        self.code.is_resumable()
    }
}

/// The argument of `BINARY_OP` that stands for `BINARY_SUBSCR`, from 3.14 on (`Include/opcode.h`).
const NB_SUBSCR: u32 = 26;

static TABLE: PyOnceLock<Box<[Act; 256]>> = PyOnceLock::new();

fn decode(py: Python<'_>, code: &[u8]) -> PyResult<Vec<Instruction>> {
    let table = TABLE.get_or_try_init(py, || {
        let mut table = Box::new([Act::Other; 256]);
        let opmap = py.import("opcode")?.getattr("opmap")?.cast_into::<PyDict>()?;
        for (name, number) in opmap.iter() {
            if let Ok(number) = number.extract::<u8>() {
                table[usize::from(number)] = meaning(&name.extract::<String>()?);
            }
        }
        Ok::<_, PyErr>(table)
    })?;
    let mut instructions: Vec<Instruction> = Vec::with_capacity(code.len() / 2);
    let mut high = 0;
    for (unit, pair) in code.chunks_exact(2).enumerate() {
        let offset = (unit * 2) as u32;
        let argument = high << 8 | u32::from(pair[1]);
        match table[usize::from(pair[0])] {
            Act::ExtendedArg => {
                high = argument;
                continue;
            }
            Act::Cache => {
                if let Some(last) = instructions.last_mut() {
                    last.next = offset + 2;
                }
            }
            act => instructions.push(Instruction {
                offset,
                next: offset + 2,
                act: if act == Act::Binary && argument == NB_SUBSCR {
                    Act::LoadItem
                } else {
                    act
                },
                opcode: pair[0],
                argument,
            }),
        }
        high = 0;
    }
    Ok(instructions)
}

/// The name of an opcode, for people.
pub(super) fn opcode_name(py: Python<'_>, opcode: u8) -> String {
    let names = py.import("opcode").and_then(|module| module.getattr("opname"));
    let name = names.and_then(|names| names.get_item(opcode)?.extract::<String>());
    name.unwrap_or_else(|_| opcode.to_string())
}

/// Whether an object is a code object.
pub(super) fn is_code(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PyCode>()
}

fn meaning(name: &str) -> Act {
    match name {
        "CACHE" => Act::Cache,
        "EXTENDED_ARG" => Act::ExtendedArg,
        "NOP" | "RESUME" | "PRECALL" | "COPY_FREE_VARS" | "NOT_TAKEN" => Act::Nop,
        "PUSH_NULL" => Act::PushNull,
        "POP_TOP" | "POP_ITER" => Act::PopTop,
        "COPY" => Act::Copy,
        "SWAP" => Act::Swap,
        "END_FOR" => Act::EndFor,
        "LOAD_CONST" => Act::LoadConst,
        "RETURN_CONST" => Act::ReturnConst,
        "RETURN_VALUE" => Act::ReturnValue,
        "RETURN_GENERATOR" => Act::ReturnGenerator,
        "YIELD_VALUE" => Act::YieldValue,
        "LOAD_FAST" | "LOAD_FAST_CHECK" | "LOAD_FAST_BORROW" | "LOAD_CLOSURE" => Act::LoadFast,
        "LOAD_FAST_AND_CLEAR" => Act::LoadFastAndClear,
        "LOAD_FAST_LOAD_FAST" | "LOAD_FAST_BORROW_LOAD_FAST_BORROW" => Act::LoadFastLoadFast,
        "STORE_FAST" => Act::StoreFast,
        "STORE_FAST_STORE_FAST" => Act::StoreFastStoreFast,
        "STORE_FAST_LOAD_FAST" => Act::StoreFastLoadFast,
        "DELETE_FAST" => Act::DeleteFast,
        "MAKE_CELL" => Act::MakeCell,
        "LOAD_DEREF" => Act::LoadDeref,
        "STORE_DEREF" => Act::StoreDeref,
        "LOAD_GLOBAL" => Act::LoadGlobal,
        "LOAD_ATTR" => Act::LoadAttr,
        "LOAD_METHOD" => Act::LoadMethod,
        "LOAD_SUPER_ATTR" => Act::LoadSuperAttr,
        "STORE_ATTR" => Act::StoreAttr,
        "DELETE_ATTR" => Act::DeleteAttr,
        "BINARY_SUBSCR" => Act::LoadItem,
        "BINARY_SLICE" => Act::LoadSlice,
        "STORE_SUBSCR" => Act::StoreItem,
        "STORE_SLICE" => Act::StoreSlice,
        "DELETE_SUBSCR" => Act::DeleteItem,
        "BINARY_OP" => Act::Binary,
        "COMPARE_OP" => Act::Compare,
        "IS_OP" => Act::Is,
        "CONTAINS_OP" => Act::Contains,
        "UNARY_NOT" => Act::Not,
        "UNARY_NEGATIVE" => Act::Negative,
        "UNARY_POSITIVE" => Act::Positive,
        "UNARY_INVERT" => Act::Invert,
        "TO_BOOL" => Act::ToBool,
        "BUILD_TUPLE" => Act::BuildTuple,
        "BUILD_LIST" => Act::BuildList,
        "BUILD_SET" => Act::BuildSet,
        "BUILD_MAP" => Act::BuildMap,
        "BUILD_CONST_KEY_MAP" => Act::BuildConstKeyMap,
        "BUILD_STRING" => Act::BuildString,
        "BUILD_SLICE" => Act::BuildSlice,
        "LIST_APPEND" => Act::ListAppend,
        "SET_ADD" => Act::SetAdd,
        "MAP_ADD" => Act::MapAdd,
        "LIST_EXTEND" => Act::ListExtend,
        "SET_UPDATE" => Act::SetUpdate,
        "DICT_UPDATE" => Act::DictUpdate,
        "DICT_MERGE" => Act::DictMerge,
        "LIST_TO_TUPLE" => Act::ListToTuple,
        "CALL_INTRINSIC_1" => Act::Intrinsic,
        "FORMAT_VALUE" => Act::FormatValue,
        "CONVERT_VALUE" => Act::ConvertValue,
        "FORMAT_SIMPLE" => Act::FormatSimple,
        "FORMAT_WITH_SPEC" => Act::FormatWithSpec,
        "JUMP_FORWARD" => Act::Jump,
        "JUMP_BACKWARD" | "JUMP_BACKWARD_NO_INTERRUPT" => Act::JumpBack,
        "POP_JUMP_IF_TRUE" | "POP_JUMP_FORWARD_IF_TRUE" => Act::PopJumpIf(true),
        "POP_JUMP_IF_FALSE" | "POP_JUMP_FORWARD_IF_FALSE" => Act::PopJumpIf(false),
        "POP_JUMP_BACKWARD_IF_TRUE" => Act::PopJumpBackIf(true),
        "POP_JUMP_BACKWARD_IF_FALSE" => Act::PopJumpBackIf(false),
        "POP_JUMP_IF_NONE" | "POP_JUMP_FORWARD_IF_NONE" => Act::PopJumpIfNone(true),
        "POP_JUMP_IF_NOT_NONE" | "POP_JUMP_FORWARD_IF_NOT_NONE" => Act::PopJumpIfNone(false),
        "POP_JUMP_BACKWARD_IF_NONE" => Act::PopJumpBackIfNone(true),
        "POP_JUMP_BACKWARD_IF_NOT_NONE" => Act::PopJumpBackIfNone(false),
        "JUMP_IF_TRUE_OR_POP" => Act::JumpIfOrPop(true),
        "JUMP_IF_FALSE_OR_POP" => Act::JumpIfOrPop(false),
        "GET_ITER" => Act::GetIter,
        "FOR_ITER" => Act::ForIter,
        "GET_LEN" => Act::GetLen,
        "UNPACK_SEQUENCE" => Act::Unpack,
        "UNPACK_EX" => Act::UnpackEx,
        "KW_NAMES" => Act::KwNames,
        "CALL" => Act::Call,
        "CALL_KW" => Act::CallKw,
        "CALL_FUNCTION_EX" => Act::CallEx,
        "MAKE_FUNCTION" => Act::MakeFunction,
        "SET_FUNCTION_ATTRIBUTE" => Act::SetFunctionAttribute,
        "PUSH_EXC_INFO" => Act::PushExcInfo,
        "POP_EXCEPT" => Act::PopExcept,
        "CHECK_EXC_MATCH" => Act::CheckExcMatch,
        "RERAISE" => Act::Reraise,
        "RAISE_VARARGS" => Act::Raise,
        "LOAD_ASSERTION_ERROR" => Act::LoadAssertionError,
        "LOAD_COMMON_CONSTANT" => Act::LoadCommonConstant,
        "LOAD_SMALL_INT" => Act::LoadSmallInt,
        "STORE_GLOBAL" | "DELETE_GLOBAL" | "STORE_NAME" | "DELETE_NAME" => Act::StoreGlobal,
        "IMPORT_NAME" | "IMPORT_FROM" | "IMPORT_STAR" => Act::Import,
        "BEFORE_WITH" | "BEFORE_ASYNC_WITH" | "LOAD_SPECIAL" => Act::With,
        "MATCH_CLASS" | "MATCH_KEYS" | "MATCH_MAPPING" | "MATCH_SEQUENCE" => Act::Match,
        _ => Act::Other,
    }
}
