//! Follows the bytecode of one handler: does it let the exception go on, swallow it, or can only running tell?

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFunction, PyTuple, PyType};

use super::code::Code;
use super::opcodes::{Instruction, Op};
use super::{Trail, manager, raising, reads, static_read};
use crate::exception_table::Region;
use crate::hook::Hook;
use crate::passing::Site;

/// What a handler can do with the exception.
#[derive(Debug, Default)]
pub(super) struct Exits<'py> {
    /// Some path ends with the exception gone.
    pub(super) swallows: bool,
    /// Some path raises it on, at this offset.
    pub(super) reraises: Option<u32>,
    /// Some path raises another exception in its place.
    pub(super) converts: Option<Conversion<'py>>,
    /// Some path could not be followed.
    pub(super) unknown: bool,
}

/// Another exception in the place of the one that is followed.
#[derive(Debug)]
pub(super) struct Conversion<'py> {
    /// Where it is raised.
    pub(super) offset: u32,
    /// It, or one of its type.
    pub(super) exception: Bound<'py, PyAny>,
    /// Whether the frame itself raises it, and not a function that it calls.
    pub(super) is_raised_here: bool,
}

impl<'py> Exits<'py> {
    /// What cannot be followed.
    fn unknown() -> Self {
        Self {
            unknown: true,
            ..Self::default()
        }
    }

    /// Notes that another exception is raised; of two types of them only running on can tell which.
    fn convert(&mut self, conversion: Conversion<'py>) {
        match &self.converts {
            Some(known) if !known.exception.get_type().is(conversion.exception.get_type()) => {
                self.unknown = true;
            }
            _ => self.converts = Some(conversion),
        }
    }
}

/// Instructions followed in one handler; a longer one is not decided.
const MAX_STEPS: usize = 20_000;

/// A value on the part of the stack that we follow.
#[derive(Clone)]
enum Value<'py> {
    /// The exception itself.
    Exception,
    /// Our hook.
    Hook,
    /// A known object.
    Known(Bound<'py, PyAny>),
    /// A function of Python, bound to a known object.
    Method {
        receiver: Bound<'py, PyAny>,
        function: Bound<'py, PyAny>,
    },
    /// The exception of an `assert`, or its class.
    Assertion,
    Unknown,
}

/// A path through the handler.
#[derive(Clone)]
struct Path<'py> {
    index: usize,
    stack: Vec<Value<'py>>,
    /// The outcome of the test just made, where it is known.
    test: Option<bool>,
    /// The previous instruction was the `COPY` that opens CPython's own cleanup.
    in_cleanup: bool,
}

/// Follows handlers of one frame with one exception.
pub(super) struct Follower<'a, 'py> {
    pub(super) frame: &'a Bound<'py, PyAny>,
    pub(super) code: &'a Code,
    pub(super) exception: &'a Bound<'py, PyAny>,
    /// Collects what the exception meets.
    pub(super) trail: &'a mut Trail,
    /// What a manager's exit raises in the exception's place.
    pub(super) raised_by_exit: Option<Bound<'py, PyAny>>,
}

impl<'py> Follower<'_, 'py> {
    /// Follows every path from the region's handler.
    pub(super) fn follow(&mut self, region: &Region) -> Exits<'py> {
        let mut exits = Exits::default();
        let Some(index) = self.code.index_at(region.target) else {
            return Exits::unknown();
        };
        if let Some(group_exits) = self.follow_groups(index, region) {
            return group_exits;
        }
        // CPython starts the handler with the exception on the stack; PUSH_EXC_INFO puts the previous one below it.
        let start = Path {
            index,
            stack: vec![Value::Exception],
            test: None,
            in_cleanup: false,
        };
        let mut todo = vec![start];
        let mut seen = vec![false; self.code.instructions.len()];
        let mut caught_as = Vec::new();
        let mut asserts = None;
        let mut steps = 0;
        while let Some(mut path) = todo.pop() {
            while let Some(instruction) = self.code.instructions.get(path.index).copied() {
                steps += 1;
                if std::mem::replace(&mut seen[path.index], true) {
                    break;
                }
                if steps > MAX_STEPS {
                    exits.unknown = true;
                    return exits;
                }
                if instruction.op == Op::RaiseVarargs && is_assertion(&path) {
                    // What is asserted holds, as a rule.
                    asserts = Some(instruction.offset);
                    break;
                }
                match self.step(&mut path, instruction, region, &mut caught_as, &mut exits) {
                    Step::Next => path.index += 1,
                    Step::Jump(target) => match self.code.index_at(target) {
                        Some(index) => path.index = index,
                        None => break,
                    },
                    Step::Both(target) => {
                        if let Some(index) = self.code.index_at(target) {
                            todo.push(Path {
                                index,
                                ..path.clone()
                            });
                        }
                        path.index += 1;
                    }
                    Step::End => break,
                }
            }
        }
        if let (Some(offset), false, None, None) = (asserts, exits.swallows, exits.reraises, &exits.converts)
        {
            let error = pyo3::exceptions::PyAssertionError::new_err(());
            let error = error.into_value(self.frame.py()).into_bound(self.frame.py());
            exits.convert(Conversion {
                offset,
                exception: error.into_any(),
                is_raised_here: true,
            });
        }
        exits
    }

    fn step(
        &mut self,
        path: &mut Path<'py>,
        instruction: Instruction,
        region: &Region,
        caught_as: &mut Vec<String>,
        exits: &mut Exits<'py>,
    ) -> Step {
        let test = path.test.take();
        let in_cleanup = std::mem::take(&mut path.in_cleanup);
        match instruction.op {
            Op::Nop | Op::PushExcInfo | Op::Cache | Op::ExtendedArg => path.test = test,
            Op::Not => {
                let test = test.or_else(|| path.stack.pop().and_then(|value| truth(&value)));
                path.test = test.map(|test| !test);
            }
            Op::LoadConst => path.stack.push(self.constant(instruction.argument)),
            Op::LoadGlobal => {
                let name = self.code.names.get(instruction.argument as usize >> 1);
                path.stack
                    .push(known(name.and_then(|name| static_read::global(self.frame, name))));
            }
            Op::LoadName => {
                let name = self.code.names.get(instruction.argument as usize);
                path.stack.push(match name {
                    Some(name) if caught_as.contains(name) => Value::Exception,
                    name => known(name.and_then(|name| static_read::name(self.frame, name))),
                });
            }
            Op::LoadLocal => path.stack.push(self.local(instruction.argument, caught_as)),
            Op::LoadTwoLocals => {
                path.stack.push(self.local(instruction.argument >> 4, caught_as));
                path.stack.push(self.local(instruction.argument & 15, caught_as));
            }
            Op::LoadAttr => match path.stack.pop() {
                Some(Value::Hook) => {
                    // Our own handler: it raises on, after it has asked us.
                    let frame = self.frame.as_ptr() as usize;
                    self.trail.sites.push(Site {
                        frame,
                        offset: instruction.offset,
                    });
                    path.test = Some(true);
                }
                Some(Value::Known(object)) => {
                    let name = self.code.attribute_name(instruction.argument);
                    path.stack
                        .push(name.map_or(Value::Unknown, |name| attribute(&object, name)));
                }
                _ => path.stack.push(Value::Unknown),
            },
            Op::LoadAssertionError => path.stack.push(Value::Assertion),
            Op::Call => return self.call(path, instruction.argument as usize, instruction.offset, exits),
            Op::CallNamed => {
                path.stack.pop();
                return self.call(path, instruction.argument as usize, instruction.offset, exits);
            }
            Op::CallUnpacked => {
                let n_arguments = 1 + (instruction.argument & 1) as usize;
                return self.call(path, n_arguments, instruction.offset, exits);
            }
            Op::Swap => {
                let top = path.stack.len().checked_sub(1);
                let other = path.stack.len().checked_sub(instruction.argument as usize);
                match top.zip(other) {
                    Some((top, other)) => path.stack.swap(top, other),
                    None => path.stack.clear(),
                }
            }
            Op::GetAwaitable => {}
            Op::BuildTuple => {
                let tuple = self.tuple(&mut path.stack, instruction.argument as usize);
                path.stack.push(tuple);
            }
            Op::StoreLocal | Op::StoreName => {
                let names = if instruction.op == Op::StoreLocal {
                    &self.code.locals
                } else {
                    &self.code.names
                };
                if let (Some(Value::Exception), Some(name)) =
                    (path.stack.pop(), names.get(instruction.argument as usize))
                {
                    caught_as.push(name.clone());
                }
            }
            Op::Copy => {
                path.in_cleanup = instruction.argument == 3;
                let copied = path.stack.len().checked_sub(instruction.argument as usize);
                path.stack
                    .push(copied.map_or(Value::Unknown, |index| path.stack[index].clone()));
            }
            Op::PopTop => {
                path.stack.pop();
            }
            Op::CheckExcMatch => {
                path.test = match path.stack.pop() {
                    Some(Value::Known(operand)) => {
                        let matches = static_read::matches(self.exception, &operand);
                        self.trail.caught_by_type |= matches == Some(true) && !catches_all(&operand);
                        matches
                    }
                    _ => None,
                };
            }
            Op::WithExceptStart => {
                let exit = self.code.following(path.index);
                let is_async = exit.is_some_and(|next| next.op == Op::GetAwaitable);
                let name = if is_async { "__aexit__" } else { "__exit__" };
                let swallows = manager::swallows(self, region, name);
                path.stack.clear();
                path.test = swallows;
                if swallows.is_some() && is_async {
                    // To the test of what the exit has given, once it is awaited.
                    let rest = &self.code.instructions[path.index..];
                    let test = rest.iter().position(|next| matches!(next.op, Op::JumpIf(_)));
                    return test.map_or(Step::End, |test| Step::Jump(rest[test].offset));
                }
            }
            Op::CheckEgMatch => exits.unknown = true,
            Op::PopExcept if in_cleanup => {}
            Op::PopExcept | Op::Return | Op::ReturnConst => {
                exits.swallows = true;
                return Step::End;
            }
            Op::Reraise => {
                match self.raised_by_exit.take() {
                    Some(exception) => exits.convert(Conversion {
                        offset: instruction.offset,
                        exception,
                        is_raised_here: false,
                    }),
                    None => exits.reraises = Some(instruction.offset),
                }
                return Step::End;
            }
            Op::RaiseVarargs => {
                if instruction.argument == 2 {
                    path.stack.pop();
                }
                let raised = match instruction.argument {
                    0 => Some(Value::Exception),
                    _ => path.stack.pop(),
                };
                let other = match raised {
                    Some(Value::Exception) => None,
                    Some(Value::Known(raised)) => Some(raising::raised(&raised)),
                    _ => Some(None),
                };
                match other {
                    None => exits.reraises = Some(instruction.offset),
                    Some(Some(other)) if other.is(self.exception) => {
                        exits.reraises = Some(instruction.offset);
                    }
                    Some(Some(exception)) => exits.convert(Conversion {
                        offset: instruction.offset,
                        exception,
                        is_raised_here: true,
                    }),
                    // Which exception takes its place is seen when it is raised.
                    Some(None) => exits.swallows = true,
                }
                return Step::End;
            }
            Op::EndAsyncFor => {
                return self.ends_at::<pyo3::exceptions::PyStopAsyncIteration>(instruction, exits);
            }
            Op::CleanupThrow => return self.ends_at::<pyo3::exceptions::PyStopIteration>(instruction, exits),
            Op::Jump | Op::JumpBack => return Step::Jump(instruction.target()),
            Op::JumpIf(when) | Op::JumpBackIf(when) => {
                let test = test.or_else(|| path.stack.pop().and_then(|value| truth(&value)));
                return match test {
                    Some(test) if test == when => Step::Jump(instruction.target()),
                    Some(_) => Step::Next,
                    None => Step::Both(instruction.target()),
                };
            }
            Op::Branch | Op::BranchBack => {
                path.stack.clear();
                return Step::Both(instruction.target());
            }
            Op::Other => grow(&mut path.stack, instruction.growth),
        }
        Step::Next
    }

    /// Follows a call with so many values above the callee.
    fn call(&self, path: &mut Path<'py>, n_arguments: usize, offset: u32, exits: &mut Exits<'py>) -> Step {
        let callee = path.stack.len().checked_sub(n_arguments + 1);
        let callee = callee.map(|at| path.stack.drain(at..).next().unwrap_or(Value::Unknown));
        if callee.is_none() {
            path.stack.clear();
        }
        match callee.map_or(Called::Unknown, |callee| called(&callee)) {
            // It raises the exception on.
            Called::Raises(None) => {
                exits.reraises = Some(offset);
                return Step::End;
            }
            Called::Raises(Some(exception)) => {
                exits.convert(Conversion {
                    offset,
                    exception,
                    is_raised_here: false,
                });
                return Step::End;
            }
            Called::Asserts => path.stack.push(Value::Assertion),
            Called::Returns(value) => path.stack.push(Value::Known(value)),
            Called::Unknown => path.stack.push(Value::Unknown),
        }
        Step::Next
    }

    /// An instruction that ends a loop at one type of exception and raises all others on.
    fn ends_at<T: pyo3::type_object::PyTypeInfo>(
        &self,
        instruction: Instruction,
        exits: &mut Exits<'py>,
    ) -> Step {
        if self.exception.is_instance_of::<T>() {
            exits.swallows = true;
        } else {
            exits.reraises = Some(instruction.offset);
        }
        Step::End
    }

    fn constant(&self, index: u32) -> Value<'py> {
        let constants = self.code.constants.bind(self.frame.py());
        match constants.get_item(index as usize) {
            Ok(constant) if constant.cast_exact::<Hook>().is_ok() => Value::Hook,
            Ok(constant) => Value::Known(constant),
            Err(_) => Value::Unknown,
        }
    }

    fn local(&self, slot: u32, caught_as: &[String]) -> Value<'py> {
        match self.code.locals.get(slot as usize) {
            Some(name) if caught_as.contains(name) => Value::Exception,
            name => known(name.and_then(|name| static_read::local(self.frame, name))),
        }
    }

    fn tuple(&self, stack: &mut Vec<Value<'py>>, length: usize) -> Value<'py> {
        let Some(start) = stack.len().checked_sub(length) else {
            stack.clear();
            return Value::Unknown;
        };
        let items: Option<Vec<_>> = stack
            .drain(start..)
            .map(|value| match value {
                Value::Known(object) => Some(object),
                _ => None,
            })
            .collect();
        known(items.and_then(|items| Some(PyTuple::new(self.frame.py(), items).ok()?.into_any())))
    }

    /// `except*`: splits the exception by each clause in turn; `None` where the handler is another one.
    fn follow_groups(&mut self, start: usize, region: &Region) -> Option<Exits<'py>> {
        let instructions = &self.code.instructions[start..];
        let outer = crate::exception_table::covering(&self.code.regions, region.target).copied();
        // The clauses follow each other up to the RERAISE 0 that raises what is left.
        let end = instructions.iter().position(|instruction| {
            instruction.op == Op::Reraise
                && instruction.argument == 0
                && crate::exception_table::covering(&self.code.regions, instruction.offset).copied() == outer
        });
        let instructions = &instructions[..end.unwrap_or(instructions.len())];
        if !instructions
            .iter()
            .any(|instruction| instruction.op == Op::CheckEgMatch)
        {
            return None;
        }
        reads::state();
        let is_group = super::is_exact_group(self.exception);
        let mut stack = Vec::new();
        let mut left = Some(self.exception.clone());
        let mut split = false;
        for instruction in instructions {
            match instruction.op {
                Op::LoadGlobal => {
                    let name = self.code.names.get(instruction.argument as usize >> 1);
                    stack.push(known(name.and_then(|name| static_read::global(self.frame, name))));
                }
                Op::LoadName => {
                    let name = self.code.names.get(instruction.argument as usize);
                    stack.push(known(name.and_then(|name| static_read::name(self.frame, name))));
                }
                Op::LoadLocal => stack.push(self.local(instruction.argument, &[])),
                Op::LoadAttr => {
                    let value = match stack.pop() {
                        Some(Value::Known(object)) => {
                            let name = self.code.attribute_name(instruction.argument);
                            known(name.and_then(|name| static_read::attribute(&object, name)))
                        }
                        _ => Value::Unknown,
                    };
                    stack.push(value);
                }
                Op::BuildTuple => {
                    let tuple = self.tuple(&mut stack, instruction.argument as usize);
                    stack.push(tuple);
                }
                Op::CheckEgMatch => {
                    let Some(Value::Known(operand)) = stack.pop() else {
                        return Some(Exits::unknown());
                    };
                    let Some(exception) = left.clone() else { break };
                    if !is_group {
                        if static_read::matches(&exception, &operand)? {
                            left = None;
                        }
                        continue;
                    }
                    let parts = exception.call_method1("split", (operand,)).ok()?;
                    split |= !parts.get_item(0).ok()?.is_none();
                    left = Some(parts.get_item(1).ok()?).filter(|rest| !rest.is_none());
                }
                _ => {}
            }
        }
        Some(match left {
            None => Exits {
                swallows: true,
                ..Exits::default()
            },
            // A part goes on as a new group, which only running on can show.
            Some(_) if split => Exits::unknown(),
            Some(_) => {
                let offset = self.code.instructions.get(start + end?)?.offset;
                Exits {
                    reraises: Some(offset),
                    ..Exits::default()
                }
            }
        })
    }
}

enum Step {
    Next,
    Jump(u32),
    Both(u32),
    End,
}

/// What a call in a handler comes to, as far as the callee's code tells without running it.
enum Called<'py> {
    /// No path through the callee returns: it raises this exception, or the present one on.
    Raises(Option<Bound<'py, PyAny>>),
    /// It makes the exception of an `assert`.
    Asserts,
    /// The callee only hands out an attribute, or makes an exception.
    Returns(Bound<'py, PyAny>),
    Unknown,
}

fn called<'py>(callee: &Value<'py>) -> Called<'py> {
    if let Value::Known(object) = callee {
        reads::used(object);
    }
    let (receiver, function) = match callee {
        Value::Known(function) if function.is_exact_instance_of::<PyFunction>() => (None, function),
        Value::Known(class) if class.is_instance_of::<PyType>() => {
            return raising::instance_of(class).map_or(Called::Unknown, Called::Returns);
        }
        Value::Method { receiver, function } => (Some(receiver), function),
        Value::Assertion => return Called::Asserts,
        _ => return Called::Unknown,
    };
    let Ok(code) = Code::of_function(function) else {
        return Called::Unknown;
    };
    if code.is_resumable() {
        return Called::Unknown;
    }
    if !code.returns(function.py()) {
        return Called::Raises(raising::raised_by(function, receiver, &code));
    }
    let attribute = receiver.zip(code.handed_out_attribute());
    let value = attribute.and_then(|(receiver, name)| static_read::instance_attribute(receiver, name));
    value.map_or(Called::Unknown, Called::Returns)
}

/// Whether the path is about to raise the exception of an `assert`.
fn is_assertion(path: &Path<'_>) -> bool {
    matches!(path.stack.last(), Some(Value::Assertion))
}

/// What an instruction that we know only by its size does to the stack.
fn grow(stack: &mut Vec<Value<'_>>, growth: Option<i32>) {
    let Some(growth) = growth else {
        stack.clear();
        return;
    };
    if growth == 1 {
        stack.push(Value::Unknown);
        return;
    }
    if growth < 0 {
        stack.truncate(stack.len().saturating_sub(growth.unsigned_abs() as usize));
    }
    // It may have taken what lies below as well, and put something else there.
    stack.pop();
    for _ in 0..growth.max(0) + 1 {
        stack.push(Value::Unknown);
    }
}

/// An attribute of a known object, read without running code of the program.
fn attribute<'py>(object: &Bound<'py, PyAny>, name: &str) -> Value<'py> {
    reads::used(object);
    if let Some(value) = static_read::attribute(object, name) {
        return Value::Known(value);
    }
    if object.is_instance_of::<PyType>() {
        return Value::Unknown;
    }
    let of_class = static_read::class_attribute(&object.get_type(), name);
    match (static_read::instance_attribute(object, name), of_class) {
        (Some(value), None) => Value::Known(value),
        (None, Some(function)) if function.is_exact_instance_of::<PyFunction>() => Value::Method {
            receiver: object.clone(),
            function,
        },
        // A descriptor of the class may stand in front of what the instance holds.
        _ => Value::Unknown,
    }
}

/// Whether the operand of an `except` clause is `Exception` or `BaseException`, alone or among others.
fn catches_all(operand: &Bound<'_, PyAny>) -> bool {
    let py = operand.py();
    let is_base = |class: &Bound<'_, PyAny>| {
        class.is(py.get_type::<pyo3::exceptions::PyException>())
            || class.is(py.get_type::<pyo3::exceptions::PyBaseException>())
    };
    match operand.cast_exact::<PyTuple>() {
        Ok(classes) => classes.iter().any(|class| is_base(&class)),
        Err(_) => is_base(operand),
    }
}

/// The truth of a value whose type says it alone.
fn truth(value: &Value<'_>) -> Option<bool> {
    if let Value::Known(object) = value {
        reads::used(object);
    }
    match value {
        Value::Known(object) if object.is_none() => Some(false),
        Value::Known(object) => object.cast_exact::<PyBool>().ok().map(|truth| truth.is_true()),
        _ => None,
    }
}

fn known(object: Option<Bound<'_, PyAny>>) -> Value<'_> {
    object.map_or(Value::Unknown, Value::Known)
}
