//! Code that is known by name: bootstraps and test runners that let a program die although they catch, and calls
//! in C between two frames that swallow.

use pyo3::exceptions::{PyAttributeError, PyIndexError, PyStopAsyncIteration, PyStopIteration};
use pyo3::prelude::*;

use super::code::Code;
use super::opcodes::Op;
use super::{LiveStack, module_name, tasks};

/// What a frame known by name does with an exception, whatever its handlers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boundary {
    /// It catches, and the thread, process or test dies.
    Dies(&'static str),
    /// It catches and raises again elsewhere.
    Transparent,
}

/// Frames known by name: module, qualified name, what they do.
const FRAMES: [(&str, &str, Boundary); 6] = [
    ("threading", "Thread._bootstrap_inner", Boundary::Dies("the end of the thread")),
    ("multiprocessing.process", "BaseProcess._bootstrap", Boundary::Dies("the end of the worker process")),
    ("_pytest.runner", "CallInfo.from_call", Boundary::Dies("the test runner")),
    ("unittest.case", "_Outcome.testPartExecutor", Boundary::Dies("the test runner")),
    ("pluggy._callers", "_multicall", Boundary::Transparent),
    ("pluggy._hooks", "HookCaller.__call__", Boundary::Transparent),
];

/// Exceptions with which a test says something other than that it failed: module and name.
const TEST_OUTCOMES: [(&str, &str); 5] = [
    ("_pytest.outcomes", "Skipped"),
    ("_pytest.outcomes", "Exit"),
    ("_pytest.outcomes", "XFailed"),
    ("unittest.case", "SkipTest"),
    ("unittest.case", "_ShouldStop"),
];

/// Returns what is known of the frame by its name.
pub(super) fn of_frame(frame: &Bound<'_, PyAny>, code: &Code, exception: &Bound<'_, PyAny>) -> Option<Boundary> {
    let candidates = FRAMES.iter().filter(|(_, qualified_name, _)| code.qualified_name == *qualified_name);
    let module = module_name(frame);
    let (.., boundary) = candidates.into_iter().find(|(name, ..)| module == *name)?;
    let is_outcome = matches!(boundary, Boundary::Dies("the test runner")) && is_test_outcome(exception);
    (!is_outcome).then_some(*boundary)
}

fn is_test_outcome(exception: &Bound<'_, PyAny>) -> bool {
    exception.get_type().mro().iter().any(|class| {
        let is = |module: &str, name: &str| Ok::<_, PyErr>(
            class.getattr("__name__")?.eq(name)? && class.getattr("__module__")?.eq(module)?,
        );
        TEST_OUTCOMES.iter().any(|(module, name)| is(module, name).unwrap_or(false))
    })
}

/// What happens to an exception between a frame that it leaves and the next one.
pub(super) enum Between<'py> {
    /// It reaches the next frame.
    Passes,
    /// C code in between swallows it.
    Swallowed(String),
    /// Only running on can tell.
    Unknown(String),
    /// It ends something that nobody waits for.
    Dies(String),
    /// It is thrown into another task, which waits for this one.
    Awaited {
        /// The frames of that task, outermost first.
        frames: Vec<Bound<'py, PyAny>>,
        /// Whether it arrives in an exception group.
        group: bool,
    },
}

/// Says what lies between the frame that the exception has just left and the rest of the stack.
pub(super) fn between<'py>(
    frame: &Bound<'py, PyAny>,
    code: &Code,
    stack: &LiveStack<'py>,
    exception: &Bound<'py, PyAny>,
) -> PyResult<Between<'py>> {
    let Some(caller) = &stack.next else {
        // The outermost frame of a suspended task: its exception is the task's.
        return if code.is_resumable() && stack.suspended.is_empty() { tasks::after_task(frame) } else { Ok(Between::Passes) };
    };
    let caller_code = Code::of(caller)?;
    if caller_code.qualified_name == "Handle._run" && module_name(caller) == "asyncio.events" {
        return if code.is_resumable() { tasks::after_current_task(frame.py()) } else { Ok(Between::Passes) };
    }
    Ok(match swallowed_by_caller(code, caller, &caller_code, exception)? {
        Some(why) => Between::Swallowed(why),
        None => Between::Passes,
    })
}

/// C code that the caller runs, if it swallows this exception.
fn swallowed_by_caller(
    code: &Code,
    caller: &Bound<'_, PyAny>,
    caller_code: &Code,
    exception: &Bound<'_, PyAny>,
) -> PyResult<Option<String>> {
    let name = code.qualified_name.rsplit('.').next().unwrap_or_default();
    let is = |class: bool, names: &[&str]| class && names.contains(&name);
    let stops = exception.is_instance_of::<PyStopIteration>() && !code.is_resumable();
    let stops_async = exception.is_instance_of::<PyStopAsyncIteration>() && !code.is_resumable();
    let has_no = exception.is_instance_of::<PyAttributeError>();
    let is_getter = is(true, &["__getattr__", "__getattribute__", "__get__"]);
    if !(stops || stops_async || has_no || exception.is_instance_of::<PyIndexError>()) {
        return Ok(None);
    }
    let Some(call) = CallSite::of(caller, caller_code)? else { return Ok(None) };
    let swallowed = match call {
        CallSite::Named { name: "hasattr", .. } => has_no,
        CallSite::Named { name: "getattr", n_arguments: 3 } => has_no,
        CallSite::Named { name: "next", n_arguments } => stops && n_arguments == 2,
        CallSite::Named { name: "isinstance" | "issubclass", .. } => has_no && is_getter,
        CallSite::Named { name: callee, .. } => {
            stops && name == "__next__" && callee != "__next__"
                || exception.is_instance_of::<PyIndexError>() && name == "__getitem__" && ITERATING.contains(&callee)
        }
        CallSite::Loop => {
            stops && name == "__next__"
                || stops_async && name == "__anext__"
                || exception.is_instance_of::<PyIndexError>() && name == "__getitem__"
        }
        CallSite::Attribute => false,
    };
    Ok(swallowed.then(|| format!("C code called by {} swallows it", caller_code.qualified_name)))
}

/// Builtins that iterate over their argument.
const ITERATING: [&str; 16] = [
    "list", "tuple", "set", "frozenset", "dict", "sum", "min", "max", "sorted", "any", "all", "enumerate", "zip",
    "map", "filter", "iter",
];

/// What the caller's current instruction is doing.
enum CallSite<'a> {
    /// It calls something by a plain name.
    Named { name: &'a str, n_arguments: u32 },
    /// It takes the next element of a loop or unpacks.
    Loop,
    /// It reads an attribute.
    Attribute,
}

impl<'a> CallSite<'a> {
    /// Reads the instruction at which the caller stands; `None` where it is none of these.
    fn of(caller: &Bound<'_, PyAny>, code: &'a Code) -> PyResult<Option<Self>> {
        let offset: u32 = caller.getattr("f_lasti")?.extract()?;
        let Some(index) = code.index_at(offset) else { return Ok(None) };
        let instruction = code.instructions[index];
        let opcode = code.opcode_name(caller, offset)?;
        Ok(match opcode.as_str() {
            "FOR_ITER" | "UNPACK_SEQUENCE" | "UNPACK_EX" | "LIST_EXTEND" | "SET_UPDATE" | "GET_ITER" | "CONTAINS_OP"
            | "SEND" | "END_ASYNC_FOR" | "GET_ANEXT" => Some(Self::Loop),
            "LOAD_ATTR" | "LOAD_METHOD" => Some(Self::Attribute),
            "CALL" | "CALL_KW" => {
                let name = called_name(caller, code, index)?;
                name.map(|name| Self::Named { name, n_arguments: instruction.argument })
            }
            _ => None,
        })
    }
}

/// The plain name that a call calls: the load whose source starts where the call's does.
fn called_name<'a>(caller: &Bound<'_, PyAny>, code: &'a Code, call: usize) -> PyResult<Option<&'a str>> {
    let positions: Vec<Bound<'_, PyAny>> = caller
        .getattr("f_code")?
        .call_method0("co_positions")?
        .try_iter()?
        .collect::<PyResult<_>>()?;
    let start = |index: usize| -> Option<(u32, u32)> {
        let position = positions.get(code.instructions[index].offset as usize / 2)?;
        Some((position.get_item(0).ok()?.extract().ok()?, position.get_item(2).ok()?.extract().ok()?))
    };
    let Some(call_start) = start(call) else { return Ok(None) };
    for index in (0..call).rev() {
        let instruction = code.instructions[index];
        if start(index) != Some(call_start) {
            continue;
        }
        return Ok(match instruction.op {
            Op::LoadGlobal => code.names.get(instruction.argument as usize >> 1).map(String::as_str),
            Op::LoadName => code.names.get(instruction.argument as usize).map(String::as_str),
            Op::Nop => continue,
            _ => None,
        });
    }
    Ok(None)
}
