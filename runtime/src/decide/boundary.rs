//! Code that is known by name: bootstraps and test runners that let a program die although they catch, and calls
//! in C between two frames that swallow.

use std::sync::OnceLock;

use pyo3::exceptions::{PyAttributeError, PyIndexError, PyStopAsyncIteration, PyStopIteration, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyType};

use super::code::Code;
use super::opcodes::Op;
use crate::frames::minor_version;
use crate::layout::Layout;
use crate::state;

use super::{LiveStack, module_name, reads, static_read, tasks};

/// What a frame known by name does with an exception, whatever its handlers say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Boundary {
    /// It catches, and the thread, process or test dies.
    Dies(&'static str),
    /// It catches and raises again elsewhere.
    Transparent,
    /// The project says that what it catches is handled.
    Handles,
}

/// Frames known by name: module, qualified name, what they do.
const FRAMES: [(&str, &str, Boundary); 15] = [
    (
        "threading",
        "Thread._bootstrap_inner",
        Boundary::Dies("the end of the thread"),
    ),
    (
        "multiprocessing.process",
        "BaseProcess._bootstrap",
        Boundary::Dies("the end of the worker process"),
    ),
    (
        "_pytest.runner",
        "CallInfo.from_call",
        Boundary::Dies("the test runner"),
    ),
    (
        "unittest.case",
        "_Outcome.testPartExecutor",
        Boundary::Dies("the test runner"),
    ),
    (
        "coverage.execfile",
        "PyRunner.run",
        Boundary::Dies("the end of the program"),
    ),
    (
        "textual.timer",
        "Timer._tick",
        Boundary::Dies("the Textual application"),
    ),
    (
        "textual.message_pump",
        "MessagePump._pre_process",
        Boundary::Dies("the Textual application"),
    ),
    (
        "textual.message_pump",
        "MessagePump._process_messages_loop",
        Boundary::Dies("the Textual application"),
    ),
    (
        "textual.message_pump",
        "MessagePump._flush_next_callbacks",
        Boundary::Dies("the Textual application"),
    ),
    ("_pytest.runner", "pytest_runtest_call", Boundary::Transparent),
    ("_pytest.runner", "SetupState.setup", Boundary::Transparent),
    ("_pytest.fixtures", "pytest_fixture_setup", Boundary::Transparent),
    ("pluggy._callers", "_multicall", Boundary::Transparent),
    ("pluggy._execution", "_multicall", Boundary::Transparent),
    ("pluggy._hooks", "HookCaller.__call__", Boundary::Transparent),
];

/// Exceptions with which a test says something other than that it failed: module and name.
const TEST_OUTCOMES: [(&str, &str); 6] = [
    ("_pytest.outcomes", "Skipped"),
    // Where pytest says that it is from, to be shown by its name alone.
    ("builtins", "Skipped"),
    ("_pytest.outcomes", "Exit"),
    ("_pytest.outcomes", "XFailed"),
    ("unittest.case", "SkipTest"),
    ("unittest.case", "_ShouldStop"),
];

/// Returns what is known of the frame by its name.
pub(super) fn of_frame(
    frame: &Bound<'_, PyAny>,
    code: &Code,
    exception: &Bound<'_, PyAny>,
) -> Option<Boundary> {
    if let Some(boundary) = of_project(frame, code) {
        return Some(boundary);
    }
    let candidates = FRAMES
        .iter()
        .filter(|(_, qualified_name, _)| code.qualified_name == *qualified_name);
    let module = module_name(frame);
    let (.., boundary) = candidates.into_iter().find(|(name, ..)| module == *name)?;
    let is_expected = matches!(boundary, Boundary::Dies("the test runner"))
        && (is_test_outcome(exception) || is_expected_failure(frame, exception));
    (!is_expected).then_some(*boundary)
}

/// What the project's configuration says of a frame.
fn of_project(frame: &Bound<'_, PyAny>, code: &Code) -> Option<Boundary> {
    static NAMES: OnceLock<Vec<String>> = OnceLock::new();
    let boundaries = &state::settings().boundaries;
    if boundaries.is_empty() {
        return None;
    }
    let names = NAMES.get_or_init(|| {
        let name = |boundary: &protocol::Boundary| format!("{}:{}", boundary.module, boundary.function);
        boundaries.iter().map(name).collect()
    });
    let module = module_name(frame);
    let index = boundaries.iter().position(|boundary| {
        matches_pattern(&boundary.function, &code.qualified_name)
            && matches_pattern(&boundary.module, &module)
    })?;
    Some(if boundaries[index].dies {
        Boundary::Dies(&names[index])
    } else {
        Boundary::Handles
    })
}

/// Whether a name is what the pattern says, in which `*` stands for any text.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(rest) = name.strip_prefix(before) else {
        return false;
    };
    (0..=rest.len())
        .filter(|start| rest.is_char_boundary(*start))
        .any(|start| matches_pattern(after, &rest[start..]))
}

/// Whether the test that pytest runs in this frame is marked `xfail` for such an exception.
fn is_expected_failure(frame: &Bound<'_, PyAny>, exception: &Bound<'_, PyAny>) -> bool {
    reads::state();
    let mark = || -> PyResult<Option<Bound<'_, PyAny>>> {
        let caller = frame.getattr("f_back")?;
        let (Some(item), Some(skipping)) = (
            static_read::local(&caller, "item"),
            frame
                .py()
                .import("sys")?
                .getattr("modules")?
                .get_item("_pytest.skipping")
                .ok(),
        ) else {
            return Ok(None);
        };
        let key = skipping.getattr("xfailed_key")?;
        let mark = item
            .getattr("stash")?
            .call_method1("get", (key, frame.py().None()))?;
        let runs_them = item.getattr("config")?.getattr("option")?.getattr("runxfail")?;
        Ok((!mark.is_none() && !runs_them.is_truthy()?).then_some(mark))
    };
    // Only pytest's own code runs here, and older versions of it have other attributes.
    let Ok(Some(mark)) = mark() else { return false };
    match mark.getattr("raises") {
        Ok(raises) if raises.is_none() => true,
        Ok(raises) => static_read::matches(exception, &raises).unwrap_or(false),
        Err(_) => false,
    }
}

fn is_test_outcome(exception: &Bound<'_, PyAny>) -> bool {
    exception.get_type().mro().iter().any(|class| {
        let name = class.cast::<PyType>().ok().and_then(|class| class.name().ok());
        let is = |module: &str, expected: &str| {
            name.as_ref().is_some_and(|name| name == expected)
                && static_read::module_of(&class).is_some_and(|found| found == module)
        };
        TEST_OUTCOMES.iter().any(|(module, name)| is(module, name))
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
    /// This frame further out raises it once what it called has returned: the caller of this one is next.
    Raised(Bound<'py, PyAny>),
    /// It is thrown into another task, which waits for this one.
    Awaited {
        /// That task.
        task: Bound<'py, PyAny>,
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
        if !stack.suspended.is_empty() {
            return Ok(Between::Passes);
        }
        // The outermost frame of a suspended task: its exception is the task's.
        return match &stack.task {
            Some(task) => tasks::after_task(task),
            None => outermost(frame, code),
        };
    };
    let caller_code = Code::of(caller)?;
    if caller_code.qualified_name == "Handle._run" && module_name(caller) == "asyncio.events" {
        return if code.is_resumable() {
            tasks::after_current_task(frame.py())
        } else {
            Ok(Between::Passes)
        };
    }
    by_caller(frame, code, caller, &caller_code, exception)
}

/// Where a frame that catches the exception hands it on to somebody who waits for it.
pub(super) fn handed_on<'py>(frame: &Bound<'py, PyAny>, code: &Code) -> PyResult<Option<Between<'py>>> {
    let is_work_item =
        code.qualified_name == "_WorkItem.run" && module_name(frame) == "concurrent.futures.thread";
    if is_work_item {
        tasks::after_work_item(frame)
    } else {
        Ok(None)
    }
}

/// The outermost frame of a thread: what started it?
fn outermost<'py>(frame: &Bound<'py, PyAny>, code: &Code) -> PyResult<Between<'py>> {
    reads::state();
    const STARTS: [&str; 3] = ["<module>", "_run_module_as_main", "_get_main_module_details"];
    let threading = frame.py().import("threading")?;
    let thread = threading.getattr("current_thread")?.call0()?;
    let is_main = thread.is(&threading.call_method0("main_thread")?);
    Ok(if is_main && !STARTS.contains(&code.qualified_name.as_str()) {
        Between::Swallowed(format!(
            "{} is called by the ending interpreter, which prints the exception",
            code.qualified_name
        ))
    } else {
        Between::Passes
    })
}

/// Whether C code called the function of a frame of the running stack.
fn is_called_by_c(frame: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the frame belongs to the running stack, so the frame below it is alive.
    Layout::of(frame.py()).is_none_or(|layout| unsafe { layout.is_called_by_c(frame) })
}

/// Whether a class is being made that calls this `__set_name__`: up to 3.11 its exceptions become RuntimeErrors.
pub(super) fn is_set_name(frame: &Bound<'_, PyAny>, code: &Code) -> bool {
    code.qualified_name.ends_with("__set_name__") && minor_version(frame.py()) < 12 && is_called_by_c(frame)
}

/// What C code that the caller runs does with the exception.
fn by_caller<'py>(
    frame: &Bound<'py, PyAny>,
    code: &Code,
    caller: &Bound<'py, PyAny>,
    caller_code: &Code,
    exception: &Bound<'py, PyAny>,
) -> PyResult<Between<'py>> {
    if !is_called_by_c(frame) {
        return Ok(Between::Passes);
    }
    let name = code.qualified_name.rsplit('.').next().unwrap_or_default();
    let site = CallSite::of(caller, caller_code)?;
    let stops = exception.is_instance_of::<PyStopIteration>();
    let stops_async = exception.is_instance_of::<PyStopAsyncIteration>() && name == "__anext__";
    let has_no = exception.is_instance_of::<PyAttributeError>();
    let out_of_range = exception.is_instance_of::<PyIndexError>() && name == "__getitem__";
    let no_length =
        exception.is_instance_of::<PyTypeError>() && matches!(name, "__len__" | "__length_hint__");
    let swallowed = match &site {
        CallSite::Named { name: "hasattr", .. } => has_no,
        CallSite::Named {
            name: "getattr",
            n_arguments: 3,
        } => has_no,
        CallSite::Named {
            name: "next",
            n_arguments,
        } => stops && *n_arguments == 2,
        CallSite::Named {
            name: "isinstance" | "issubclass",
            ..
        } => has_no && matches!(name, "__getattr__" | "__getattribute__" | "__get__" | "__class__"),
        CallSite::Named { name: callee, .. } if ITERATING.contains(callee) => {
            stops || out_of_range || no_length
        }
        CallSite::Loop => stops || stops_async || out_of_range || no_length,
        // A property that fails in this way makes CPython ask the class's `__getattr__`.
        CallSite::Attribute(attribute) => has_no && *attribute == name && has_fallback(frame, code),
        CallSite::Frees => true,
        CallSite::Named { .. } | CallSite::Other => {
            let by_name = matches!(&site, CallSite::Named { name: callee, .. } if *callee == name);
            name == "__del__" && !by_name || calls_back(caller, caller_code)?
        }
    };
    if swallowed {
        return Ok(Between::Swallowed(format!(
            "C code called by {} swallows it",
            caller_code.qualified_name
        )));
    }
    let is_next = matches!(&site, CallSite::Named { name: "next", .. });
    let by_itself = matches!(&site, CallSite::Named { name: callee, .. } if *callee == name);
    if stops && !is_next && !by_itself {
        // Iterators in C call functions, and take this exception of theirs for the end.
        return Ok(Between::Unknown(format!(
            "C code called by {} may take it for the end of an iteration",
            caller_code.qualified_name
        )));
    }
    if has_no && matches!(name, "__getattr__" | "__getattribute__") && !asks_for(frame, code, &site) {
        // Imports, abstract classes, copies and much else only look whether there is such an attribute.
        return Ok(Between::Unknown(format!(
            "C code called by {} may only ask for it",
            caller_code.qualified_name
        )));
    }
    Ok(Between::Passes)
}

/// Whether the caller itself reads the attribute that the frame was asked for.
fn asks_for(frame: &Bound<'_, PyAny>, code: &Code, site: &CallSite<'_>) -> bool {
    reads::state();
    let asked = code
        .n_arguments
        .checked_sub(1)
        .and_then(|last| code.locals.get(last));
    let asked = asked
        .and_then(|name| static_read::local(frame, name))
        .and_then(|name| name.extract::<String>().ok());
    match site {
        CallSite::Attribute(attribute) => asked.is_none_or(|asked| asked == *attribute),
        CallSite::Named {
            name: "getattr",
            n_arguments,
        } => *n_arguments == 2,
        CallSite::Named { .. } | CallSite::Loop | CallSite::Frees | CallSite::Other => false,
    }
}

/// Whether the class of the method's first argument has a `__getattr__`.
fn has_fallback(frame: &Bound<'_, PyAny>, code: &Code) -> bool {
    let receiver = code
        .locals
        .first()
        .and_then(|name| static_read::local(frame, name));
    receiver
        .is_some_and(|receiver| static_read::class_attribute(&receiver.get_type(), "__getattr__").is_some())
}

/// Whether the caller calls C code that keeps the exceptions of its callbacks to itself.
fn calls_back(caller: &Bound<'_, PyAny>, code: &Code) -> PyResult<bool> {
    let Some(callee) = called_object(caller, code)? else {
        return Ok(false);
    };
    let is_native_method = callee.get_type().is(caller.py().get_type::<PyCFunction>());
    let owner = if is_native_method {
        callee.getattr("__self__")?
    } else {
        callee
    };
    Ok(owner
        .get_type()
        .mro()
        .iter()
        .any(|class| static_read::module_of(&class).is_some_and(|module| KEEPING.contains(&module.as_str()))))
}

/// Modules in C that keep the exceptions of their callbacks to themselves.
const KEEPING: [&str; 2] = ["sqlite3", "_ctypes"];

/// Builtins that iterate over their argument.
const ITERATING: [&str; 16] = [
    "list",
    "tuple",
    "set",
    "frozenset",
    "dict",
    "sum",
    "min",
    "max",
    "sorted",
    "any",
    "all",
    "enumerate",
    "zip",
    "map",
    "filter",
    "iter",
];

/// What the caller's current instruction is doing.
enum CallSite<'a> {
    /// It calls something by a plain name.
    Named { name: &'a str, n_arguments: u32 },
    /// It takes the next element of a loop or unpacks.
    Loop,
    /// It reads this attribute.
    Attribute(&'a str),
    /// It calls nothing: only an object that goes away can have called.
    Frees,
    /// Anything else.
    Other,
}

impl<'a> CallSite<'a> {
    /// Reads the instruction at which the caller stands.
    fn of(caller: &Bound<'_, PyAny>, code: &'a Code) -> PyResult<Self> {
        let offset: u32 = caller.getattr("f_lasti")?.extract()?;
        let Some(index) = code.index_at(offset) else {
            return Ok(Self::Other);
        };
        let instruction = code.instructions[index];
        let opcode = code.opcode_name(caller, offset)?;
        Ok(match opcode.as_str() {
            "FOR_ITER" | "UNPACK_SEQUENCE" | "UNPACK_EX" | "LIST_EXTEND" | "SET_UPDATE" | "GET_ITER"
            | "CONTAINS_OP" | "SEND" | "END_ASYNC_FOR" | "GET_ANEXT" => Self::Loop,
            "LOAD_ATTR" | "LOAD_METHOD" => code
                .attribute_name(instruction.argument)
                .map_or(Self::Other, Self::Attribute),
            // A specialised PRECALL of 3.11 makes the call itself.
            "CALL" | "CALL_KW" | "PRECALL" => match called_name(caller, code, index)? {
                Some(name) => Self::Named {
                    name,
                    n_arguments: instruction.argument,
                },
                None => Self::Other,
            },
            "POP_TOP" | "STORE_FAST" | "STORE_DEREF" | "DELETE_FAST" | "DELETE_DEREF" | "RETURN_VALUE"
            | "RETURN_CONST" => Self::Frees,
            // In a module or a class body with a plain dict; a namespace of another kind is no C function's caller.
            "STORE_NAME" | "DELETE_NAME" | "STORE_GLOBAL" | "DELETE_GLOBAL" => Self::Frees,
            _ => Self::Other,
        })
    }
}

/// The load of what a call calls, or of the object whose method it calls.
fn first_load(caller: &Bound<'_, PyAny>, code: &Code, call: usize) -> PyResult<Option<usize>> {
    let is_load = |op: Op| matches!(op, Op::LoadGlobal | Op::LoadName | Op::LoadLocal);
    // Where all arguments are plain loads, counting them is enough.
    let mut wanted = code.instructions[call].argument + 1;
    for index in (0..call).rev() {
        match code.instructions[index].op {
            op if is_load(op) || op == Op::LoadConst => wanted -= 1,
            Op::LoadAttr | Op::Nop => {}
            _ => break,
        }
        if wanted == 0 {
            return Ok(Some(index));
        }
    }
    // Elsewhere the source tells: it starts where the call's does.
    let starts = code.starts(caller)?;
    let start = |index: usize| {
        starts
            .get(code.instructions[index].offset as usize / 2)
            .copied()
            .flatten()
    };
    let Some(call_start) = start(call) else {
        return Ok(None);
    };
    Ok((0..call)
        .rev()
        .find(|index| is_load(code.instructions[*index].op) && start(*index) == Some(call_start)))
}

/// The plain name that a call calls.
fn called_name<'a>(caller: &Bound<'_, PyAny>, code: &'a Code, call: usize) -> PyResult<Option<&'a str>> {
    let Some(load) = first_load(caller, code, call)? else {
        return Ok(None);
    };
    let follows_attribute = code.instructions[load + 1..call]
        .iter()
        .take_while(|next| next.op == Op::LoadAttr)
        .count();
    let instruction = code.instructions[load];
    Ok(match instruction.op {
        _ if follows_attribute > 0 => None,
        Op::LoadGlobal => code
            .names
            .get(instruction.argument as usize >> 1)
            .map(String::as_str),
        Op::LoadName => code.names.get(instruction.argument as usize).map(String::as_str),
        _ => None,
    })
}

/// The object that the caller's current instruction calls, or whose method it calls, where that is a plain path.
fn called_object<'py>(caller: &Bound<'py, PyAny>, code: &Code) -> PyResult<Option<Bound<'py, PyAny>>> {
    let offset: u32 = caller.getattr("f_lasti")?.extract()?;
    let Some(call) = code.index_at(offset) else {
        return Ok(None);
    };
    let Some(load) = first_load(caller, code, call)? else {
        return Ok(None);
    };
    let instruction = code.instructions[load];
    let slot = instruction.argument as usize;
    Ok(match instruction.op {
        Op::LoadGlobal => code
            .names
            .get(slot >> 1)
            .and_then(|name| static_read::global(caller, name)),
        Op::LoadName => code
            .names
            .get(slot)
            .and_then(|name| static_read::name(caller, name)),
        _ => {
            reads::state();
            code.locals
                .get(slot)
                .and_then(|name| static_read::local(caller, name))
        }
    })
}
