//! Follows the bytecode of one function, each instruction by the operation of healing code that it stands for.

mod parts;

use std::rc::Rc;

use healcore::tree::{CompareOp, UnaryOp};
use pyo3::exceptions::{PyAssertionError, PyNameError, PyTypeError, PyUnboundLocalError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyIterator, PyList, PySet, PySlice, PyString, PyTuple};

use super::calls::Values;
use super::instructions::{self, Act, Instruction, Routine};
use super::interpreter::{Interpreter, Mode};
use super::purity::MAX_DEPTH;
use super::replay::Replay;
use super::stop::{Eval, HealErrorKind, Stop, rule};
use crate::exception_table::covering;
use crate::frames::minor_version;

type Value<'py> = Bound<'py, PyAny>;

/// A call that is followed.
pub(super) struct Frame<'py> {
    routine: Rc<Routine>,
    globals: Bound<'py, PyDict>,
    builtins: Bound<'py, PyDict>,
    slots: Vec<Option<Value<'py>>>,
    /// CPython's null is nothing.
    stack: Vec<Option<Value<'py>>>,
    /// The names of the next call's keyword arguments.
    keywords: Option<Value<'py>>,
    /// The exception that is being handled.
    handled: Option<Value<'py>>,
    yielded: Option<Replay>,
}

/// Where to go on.
enum Step<'py> {
    Next,
    To(u32),
    Return(Value<'py>),
}

impl<'py> Frame<'py> {
    fn pop(&mut self) -> Eval<Value<'py>> {
        self.stack.pop().flatten().ok_or_else(broken)
    }

    fn push(&mut self, value: Value<'py>) {
        self.stack.push(Some(value));
    }

    /// The elements of a new container; a generator in it would be lost sight of.
    fn pop_elements(&mut self, count: u32) -> Eval<Vec<Value<'py>>> {
        let elements = self.pop_many(count)?;
        if elements.iter().any(|element| element.cast::<Replay>().is_ok()) {
            return Err(impure("keeps a generator"));
        }
        Ok(elements)
    }

    fn pop_many(&mut self, count: u32) -> Eval<Vec<Value<'py>>> {
        let start = self.stack.len().checked_sub(count as usize).ok_or_else(broken)?;
        self.stack
            .drain(start..)
            .map(|value| value.ok_or_else(broken))
            .collect()
    }

    /// The value so many places below the top, which is place 1.
    fn peek(&self, place: u32) -> Eval<Value<'py>> {
        let at = self.stack.len().checked_sub(place as usize).ok_or_else(broken)?;
        self.stack[at].clone().ok_or_else(broken)
    }

    fn slot(&mut self, index: u32) -> Eval<&mut Option<Value<'py>>> {
        self.slots.get_mut(index as usize).ok_or_else(broken)
    }

    fn local(&self, index: u32) -> Eval<Value<'py>> {
        match self.slots.get(index as usize) {
            Some(Some(value)) => Ok(value.clone()),
            _ => {
                let name = self
                    .routine
                    .code
                    .locals
                    .get(index as usize)
                    .map_or("?", String::as_str);
                let message =
                    format!("cannot access local variable '{name}' where it is not associated with a value");
                Err(PyUnboundLocalError::new_err(message).into())
            }
        }
    }

    fn constant(&self, py: Python<'py>, index: u32) -> Eval<Value<'py>> {
        Ok(self.routine.code.constants.bind(py).get_item(index as usize)?)
    }

    fn name(&self, index: u32) -> Eval<String> {
        self.routine
            .code
            .names
            .get(index as usize)
            .cloned()
            .ok_or_else(broken)
    }
}

/// Bytecode that does not fit what is known of it.
fn broken() -> Stop {
    Stop::refused(rule::PROGRAM_CALL, "bytecode that is not understood", HELP)
}

const HELP: &str = "read attributes that are plain values, or write the value that it would give";

/// The newest minor version whose bytecode is understood.
const NEWEST: u8 = 14;

/// What `LOAD_COMMON_CONSTANT` of 3.14 loads, by its argument (`Include/internal/pycore_opcode_utils.h`).
const COMMON_CONSTANTS: [&str; 5] = ["AssertionError", "NotImplementedError", "tuple", "all", "any"];

/// A refusal of what an instruction does; its place is added on the way out.
pub(super) fn impure(what: impl Into<String>) -> Stop {
    Stop::refused(IMPURE, what, HELP)
}

/// Stands for [`rule::PROGRAM_CALL`] until the place has been added.
const IMPURE: &str = "";

impl<'py> Interpreter<'_, 'py> {
    /// Follows a call of a Python function.
    pub(super) fn run_function(&mut self, function: &Value<'py>, values: Values<'py>) -> Eval<Value<'py>> {
        if self.machine.depth > MAX_DEPTH {
            return Err(Stop::limit(
                rule::DEPTH,
                format!("more than {MAX_DEPTH} calls of the program in one another"),
                HELP,
            ));
        }
        if minor_version(self.py) > NEWEST {
            return Err(impure("has the bytecode of a Python that is not followed"));
        }
        let routine = self.routine(function)?;
        let is_expression = routine.name == "<genexpr>";
        if routine.is_resumable() && !is_expression {
            return Err(Stop::refused(
                rule::PROGRAM_CALL,
                format!("`{}()` is a generator or coroutine", routine.code.qualified_name),
                HELP,
            ));
        }
        if is_expression {
            let iterator = values.positional.first();
            let is_new = iterator
                .zip(self.machine.begun.as_ref())
                .is_some_and(|(iterator, begun)| iterator.is(begun));
            if !is_new {
                return Err(impure("has a generator over an iterator"));
            }
        }
        let slots = self.bind_parameters(function, &routine, values)?;
        let field = |name: &str| function.getattr(name)?.cast_into::<PyDict>().map_err(PyErr::from);
        let mut frame = Frame {
            globals: field("__globals__")?,
            builtins: field("__builtins__")?,
            slots,
            stack: Vec::new(),
            keywords: None,
            handled: None,
            yielded: is_expression.then(Replay::default),
            routine,
        };
        self.machine.depth += 1;
        let value = self.run_frame(&mut frame);
        self.machine.depth -= 1;
        match (frame.yielded.take(), value) {
            (None, value) => value,
            (Some(replay), Ok(_)) => {
                let generator = self.replay(replay)?;
                self.waits(generator)
            }
            (Some(replay), Err(stop)) => {
                let generator = self.replay_failing(replay, stop)?;
                self.waits(generator)
            }
        }
    }

    /// Remembers a generator whose elements are known already.
    pub(super) fn waits(&mut self, generator: Value<'py>) -> Eval<Value<'py>> {
        if let Ok(generator) = generator.cast::<Replay>() {
            self.machine.waiting.push(generator.clone());
        }
        Ok(generator)
    }

    /// Nothing is written while a generator waits: it would have computed its elements afterwards.
    fn may_write_own(&mut self) -> Eval<()> {
        self.machine
            .waiting
            .retain(|generator| !generator.borrow().is_exhausted());
        if self.machine.waiting.is_empty() {
            Ok(())
        } else {
            Err(impure("writes while a generator is open"))
        }
    }

    fn routine(&mut self, function: &Value<'py>) -> Eval<Rc<Routine>> {
        let code = function.getattr("__code__")?;
        let address = code.as_ptr() as usize;
        if let Some(routine) = self.machine.routines.get(&address) {
            return Ok(Rc::clone(routine));
        }
        let routine = Routine::read(&code)?;
        self.machine.routines.insert(address, Rc::clone(&routine));
        Ok(routine)
    }

    /// Binds arguments to parameters, as CPython does.
    fn bind_parameters(
        &mut self,
        function: &Value<'py>,
        routine: &Routine,
        values: Values<'py>,
    ) -> Eval<Vec<Option<Value<'py>>>> {
        const VARARGS: u32 = 4;
        const VARKEYWORDS: u32 = 8;
        let py = self.py;
        let name = &routine.code.qualified_name;
        let fault = |what: String| Stop::from(PyTypeError::new_err(format!("{name}() {what}")));
        let (n_positional, n_named) = (
            routine.n_positional,
            routine.n_positional + routine.n_keyword_only,
        );
        let (has_rest, has_keywords) = (
            routine.code.flags & VARARGS != 0,
            routine.code.flags & VARKEYWORDS != 0,
        );
        let mut slots = vec![None; routine.code.locals.len()];
        let mut positional = values.positional.into_iter();
        for slot in slots.iter_mut().take(n_positional) {
            *slot = positional.next();
        }
        let rest: Vec<_> = positional.collect();
        if has_rest {
            slots[n_named] = Some(PyTuple::new(py, rest)?.into_any());
        } else if !rest.is_empty() {
            return Err(fault(format!(
                "takes {n_positional} positional arguments but more were given"
            )));
        }
        let others = PyDict::new(py);
        for (keyword, value) in values.keywords {
            let at = (routine.n_positional_only..n_named).find(|at| routine.code.locals[*at] == keyword);
            match at {
                Some(at) if slots[at].is_some() => {
                    return Err(fault(format!("got multiple values for argument '{keyword}'")));
                }
                Some(at) => slots[at] = Some(value),
                None if has_keywords => others.set_item(keyword, value)?,
                None => return Err(fault(format!("got an unexpected keyword argument '{keyword}'"))),
            }
        }
        if has_keywords {
            self.note_fresh(others.as_any());
            slots[n_named + usize::from(has_rest)] = Some(others.into_any());
        }
        if let Ok(defaults) = function.getattr("__defaults__")?.cast_into::<PyTuple>() {
            let first = n_positional.saturating_sub(defaults.len());
            for (at, value) in (first..n_positional).zip(defaults.iter()) {
                if slots[at].is_none() {
                    self.note_read(&value)?;
                    slots[at] = Some(value);
                }
            }
        }
        if let Ok(defaults) = function.getattr("__kwdefaults__")?.cast_into::<PyDict>() {
            #[expect(clippy::needless_range_loop, reason = "the index also names the parameter")]
            for at in n_positional..n_named {
                if slots[at].is_none() {
                    slots[at] = defaults.get_item(&routine.code.locals[at])?;
                    slots[at].as_ref().map_or(Ok(()), |value| self.note_read(value))?;
                }
            }
        }
        if let Some(at) = slots.iter().take(n_named).position(Option::is_none) {
            return Err(fault(format!(
                "missing a required argument: '{}'",
                routine.code.locals[at]
            )));
        }
        if routine.n_free > 0 {
            let closure = function
                .getattr("__closure__")?
                .cast_into::<PyTuple>()
                .map_err(PyErr::from)?;
            let first = slots.len() - routine.n_free;
            for (at, cell) in (first..).zip(closure.iter()) {
                slots[at] = Some(cell);
            }
        }
        Ok(slots)
    }

    fn run_frame(&mut self, frame: &mut Frame<'py>) -> Eval<Value<'py>> {
        let mut index = 0;
        loop {
            let Some(instruction) = frame.routine.instructions.get(index).copied() else {
                return Err(broken());
            };
            self.meter.step()?;
            let step = match self.step(frame, &instruction) {
                Ok(step) => step,
                Err(stop) => Step::To(self.unwind(frame, &instruction, stop)?),
            };
            index = match step {
                Step::Next => index + 1,
                Step::To(offset) => frame.routine.index_at(offset).ok_or_else(broken)?,
                Step::Return(value) => return Ok(value),
            };
        }
    }

    /// The handler of the frame that an exception goes to, or the exception on its way out.
    fn unwind(&mut self, frame: &mut Frame<'py>, at: &Instruction, stop: Stop) -> Eval<u32> {
        let Some(error) = stop.exception() else {
            return Err(self.placed(frame, at, stop));
        };
        let error = error.value(self.py).clone().into_any();
        self.note_fresh(&error);
        let Some(region) = covering(&frame.routine.code.regions, at.offset).copied() else {
            return Err(stop);
        };
        frame.stack.truncate(region.depth as usize);
        if region.has_offset {
            let offset = at.offset.into_pyobject(self.py).map_err(PyErr::from)?;
            frame.push(offset.into_any());
        }
        frame.push(error);
        Ok(region.target)
    }

    /// Adds the place to what says why code cannot be followed.
    fn placed(&self, frame: &Frame<'py>, at: &Instruction, stop: Stop) -> Stop {
        let error = stop.into_error(self.py);
        let HealErrorKind::Refused { rule: broken_rule } = &error.kind else {
            return match &error.kind {
                HealErrorKind::Limit { rule } => Stop::limit(rule, error.message, error.hint),
                _ => self.told(frame, at, &error.message),
            };
        };
        if broken_rule == rule::PROGRAM_CALL || broken_rule.starts_with("HG") {
            return Stop::refused(broken_rule, error.message, error.hint);
        }
        self.told(frame, at, &error.message)
    }

    fn told(&self, frame: &Frame<'py>, at: &Instruction, what: &str) -> Stop {
        let place = frame.routine.place(self.py, at.offset);
        let name = &frame.routine.code.qualified_name;
        Stop::refused(rule::PROGRAM_CALL, format!("`{name}()` at {place} {what}"), HELP)
    }

    /// An object that the call itself has made may be written.
    pub(super) fn note_fresh(&mut self, object: &Value<'py>) {
        self.machine
            .fresh
            .insert(object.as_ptr() as usize, object.clone());
    }

    pub(super) fn is_fresh(&self, object: &Value<'py>) -> bool {
        self.machine.fresh.contains_key(&(object.as_ptr() as usize))
    }

    /// Writes an object of the call's own.
    pub(super) fn on_fresh<T>(
        &mut self,
        object: &Value<'py>,
        what: impl FnOnce() -> String,
        work: impl FnOnce(&mut Self) -> Eval<T>,
    ) -> Eval<T> {
        if !self.is_fresh(object) {
            return Err(impure(what()));
        }
        self.may_write_own()?;
        let journal = std::mem::take(&mut self.journal);
        let mode = std::mem::replace(&mut self.mode, Mode::Heal);
        let done = work(self);
        self.mode = mode;
        // Nobody but this call knows the object.
        std::mem::replace(&mut self.journal, journal).commit();
        done
    }

    fn truth_value(&self, value: bool) -> Value<'py> {
        PyBool::new(self.py, value).to_owned().into_any()
    }

    fn new_list(&mut self, items: Vec<Value<'py>>) -> Eval<Value<'py>> {
        let list = PyList::new(self.py, items)?.into_any();
        self.note_fresh(&list);
        self.made(list)
    }

    fn set_key(&mut self, dict: &Value<'py>, key: &Value<'py>, value: &Value<'py>) -> Eval<()> {
        self.on_fresh(
            dict,
            || "changes a dict".to_owned(),
            |this| this.store_item(dict, key, value, "a new dict"),
        )
    }

    fn add_to_set(&mut self, set: &Value<'py>, element: &Value<'py>) -> Eval<()> {
        self.may_write_own()?;
        self.vet_key(set, element)?;
        let set = set.cast::<PySet>().map_err(PyErr::from)?;
        set.add(element)?;
        self.forget_keys(set.as_any());
        self.meter.elements(set.len())
    }

    fn append(&mut self, list: &Value<'py>, items: Vec<Value<'py>>) -> Eval<()> {
        self.may_write_own()?;
        let list = list.cast::<PyList>().map_err(PyErr::from)?;
        self.meter.elements(list.len() + items.len())?;
        for item in items {
            list.append(item)?;
        }
        Ok(())
    }

    fn step(&mut self, frame: &mut Frame<'py>, instruction: &Instruction) -> Eval<Step<'py>> {
        let py = self.py;
        let argument = instruction.argument;
        match instruction.act {
            Act::Cache | Act::ExtendedArg | Act::Nop => {}
            Act::PushNull => frame.stack.push(None),
            Act::PopTop => drop(frame.stack.pop()),
            Act::EndFor => drop(frame.stack.pop()),
            Act::Copy => {
                let at = frame
                    .stack
                    .len()
                    .checked_sub(argument as usize)
                    .ok_or_else(broken)?;
                frame.stack.push(frame.stack[at].clone());
            }
            Act::Swap => {
                let top = frame.stack.len();
                let at = top.checked_sub(argument as usize).ok_or_else(broken)?;
                frame.stack.swap(at, top - 1);
            }
            Act::LoadConst => frame.push(frame.constant(py, argument)?),
            Act::ReturnConst => return Ok(Step::Return(frame.constant(py, argument)?)),
            Act::ReturnValue => return Ok(Step::Return(frame.pop()?)),
            Act::ReturnGenerator => frame.push(py.None().into_bound(py)),
            Act::YieldValue => {
                let value = frame.pop()?;
                let Some(replay) = &mut frame.yielded else {
                    return Err(impure("is a generator"));
                };
                replay.push(value.unbind());
                self.meter.elements(replay.len())?;
                frame.push(py.None().into_bound(py));
            }
            Act::LoadFast => frame.push(frame.local(argument)?),
            Act::LoadFastAndClear => {
                let value = frame.slot(argument)?.take();
                frame.stack.push(value);
            }
            Act::LoadFastLoadFast => {
                frame.push(frame.local(argument >> 4)?);
                frame.push(frame.local(argument & 15)?);
            }
            Act::StoreFast => *frame.slot(argument)? = frame.stack.pop().ok_or_else(broken)?,
            Act::StoreFastStoreFast => {
                *frame.slot(argument >> 4)? = frame.stack.pop().ok_or_else(broken)?;
                *frame.slot(argument & 15)? = frame.stack.pop().ok_or_else(broken)?;
            }
            Act::StoreFastLoadFast => {
                *frame.slot(argument >> 4)? = frame.stack.pop().ok_or_else(broken)?;
                frame.push(frame.local(argument & 15)?);
            }
            Act::DeleteFast => {
                frame.local(argument)?;
                *frame.slot(argument)? = None;
            }
            Act::MakeCell => {
                let cells = py.import("types")?.getattr("CellType")?;
                let cell = match frame.slot(argument)?.take() {
                    Some(value) => cells.call1((value,))?,
                    None => cells.call0()?,
                };
                self.note_fresh(&cell);
                *frame.slot(argument)? = Some(cell);
            }
            Act::LoadDeref => {
                let value = frame.local(argument)?.getattr("cell_contents").map_err(|_| {
                    let name = frame
                        .routine
                        .code
                        .locals
                        .get(argument as usize)
                        .map_or("?", String::as_str);
                    PyNameError::new_err(format!(
                        "cannot access free variable '{name}' where it is not associated with a value in \
                         enclosing scope"
                    ))
                })?;
                self.note_read(&value)?;
                frame.push(value);
            }
            Act::StoreDeref => {
                let value = frame.pop()?;
                let cell = frame.local(argument)?;
                if !self.is_fresh(&cell) {
                    let name = &frame.routine.code.locals[argument as usize];
                    return Err(impure(format!("writes the outer variable `{name}`")));
                }
                self.may_write_own()?;
                cell.setattr("cell_contents", value)?;
            }
            Act::LoadGlobal => {
                let name = frame.name(argument >> 1)?;
                let value = match frame.globals.get_item(&name)? {
                    Some(value) => Some(value),
                    None => frame.builtins.get_item(&name)?,
                };
                let value =
                    value.ok_or_else(|| PyNameError::new_err(format!("name '{name}' is not defined")))?;
                self.note_read(&value)?;
                self.push_callable(frame, value, argument & 1 != 0);
            }
            Act::LoadAttr | Act::LoadMethod => {
                let object = frame.pop()?;
                let has_flag = instruction.act == Act::LoadAttr && minor_version(py) >= 12;
                let name = frame.name(if has_flag { argument >> 1 } else { argument })?;
                let value = self.load_attribute(&object, &name)?;
                self.note_read(&value)?;
                let is_method = instruction.act == Act::LoadMethod || has_flag && argument & 1 != 0;
                self.push_callable(frame, value, is_method);
            }
            Act::LoadSuperAttr => {
                let object = frame.pop()?;
                let class = frame.pop()?;
                let callable = frame.pop()?;
                if !callable.is(py.import("builtins")?.getattr("super")?) {
                    return Err(impure("has its own `super`"));
                }
                let name = frame.name(argument >> 2)?;
                let value = self.super_attribute(&class, &object, &name)?;
                self.note_read(&value)?;
                self.push_callable(frame, value, argument & 1 != 0);
            }
            Act::StoreAttr => {
                let object = frame.pop()?;
                let value = frame.pop()?;
                let name = frame.name(argument)?;
                self.store_own_attribute(&object, &name, &value)?;
            }
            Act::DeleteAttr => {
                return Err(impure(format!(
                    "deletes the attribute `{}`",
                    frame.name(argument)?
                )));
            }
            Act::LoadItem | Act::LoadSlice => {
                let index = self.popped_index(frame, instruction.act == Act::LoadSlice)?;
                let container = frame.pop()?;
                let value = if self.is_fresh(&container) {
                    self.on_fresh(&container, String::new, |this| this.item(&container, &index))?
                } else {
                    self.item(&container, &index)?
                };
                if index.is_exact_instance_of::<PySlice>() && value.is_exact_instance_of::<PyList>() {
                    self.note_fresh(&value);
                }
                frame.push(value);
            }
            Act::StoreItem | Act::StoreSlice => {
                let index = self.popped_index(frame, instruction.act == Act::StoreSlice)?;
                let (container, value) = (frame.pop()?, frame.pop()?);
                let what = format!("writes an item of a `{}`", self.facts.type_name(&container));
                self.on_fresh(
                    &container,
                    || what,
                    |this| this.store_item(&container, &index, &value, "…"),
                )?;
            }
            Act::DeleteItem => return Err(impure("deletes an item")),
            Act::Binary => {
                let (right, left) = (frame.pop()?, frame.pop()?);
                let value = self.binary_instruction(argument, &left, right)?;
                frame.push(value);
            }
            Act::Compare => {
                let (right, left) = (frame.pop()?, frame.pop()?);
                let (kind, is_condition) = match minor_version(py) {
                    11 => (argument, false),
                    12 => (argument >> 4, false),
                    _ => (argument >> 5, argument & 16 != 0),
                };
                let op = [
                    CompareOp::Lt,
                    CompareOp::LtE,
                    CompareOp::Eq,
                    CompareOp::NotEq,
                    CompareOp::Gt,
                    CompareOp::GtE,
                ];
                let op = op.get(kind as usize).copied().ok_or_else(broken)?;
                let mut value = self.comparison(op, &left, &right)?;
                if is_condition {
                    let truth = self.truth(&value)?;
                    value = self.truth_value(truth);
                }
                frame.push(value);
            }
            Act::Is => {
                let (right, left) = (frame.pop()?, frame.pop()?);
                frame.push(self.truth_value(left.is(&right) != (argument == 1)));
            }
            Act::Contains => {
                let (right, left) = (frame.pop()?, frame.pop()?);
                let op = if argument == 1 {
                    CompareOp::NotIn
                } else {
                    CompareOp::In
                };
                let value = self.comparison(op, &left, &right)?;
                frame.push(value);
            }
            Act::Not | Act::Negative | Act::Positive | Act::Invert => {
                let operand = frame.pop()?;
                let op = match instruction.act {
                    Act::Not => UnaryOp::Not,
                    Act::Negative => UnaryOp::Minus,
                    Act::Positive => UnaryOp::Plus,
                    _ => UnaryOp::Invert,
                };
                let value = self.unary(op, &operand)?;
                frame.push(value);
            }
            Act::ToBool => {
                let value = frame.pop()?;
                let truth = self.truth(&value)?;
                frame.push(self.truth_value(truth));
            }
            Act::BuildTuple => {
                let items = frame.pop_elements(argument)?;
                frame.push(PyTuple::new(py, items)?.into_any());
            }
            Act::BuildList => {
                let items = frame.pop_elements(argument)?;
                let list = self.new_list(items)?;
                frame.push(list);
            }
            Act::BuildSet => {
                let items = frame.pop_elements(argument)?;
                let set = PySet::empty(py)?.into_any();
                self.note_fresh(&set);
                for item in items {
                    self.add_to_set(&set, &item)?;
                }
                frame.push(set);
            }
            Act::BuildMap | Act::BuildConstKeyMap => {
                let dict = PyDict::new(py).into_any();
                self.note_fresh(&dict);
                if instruction.act == Act::BuildMap {
                    let items = frame.pop_elements(argument * 2)?;
                    for pair in items.chunks_exact(2) {
                        self.set_key(&dict, &pair[0], &pair[1])?;
                    }
                } else {
                    let keys = frame.pop()?.cast_into::<PyTuple>().map_err(PyErr::from)?;
                    let values = frame.pop_elements(argument)?;
                    for (key, value) in keys.iter().zip(values) {
                        self.set_key(&dict, &key, &value)?;
                    }
                }
                frame.push(dict);
            }
            Act::BuildString => {
                let texts = PyList::new(py, frame.pop_many(argument)?)?;
                let text = PyString::new(py, "").call_method1("join", (texts,))?;
                let text = self.made(text)?;
                frame.push(text);
            }
            Act::BuildSlice => {
                let parts = frame.pop_many(argument)?;
                frame.push(py.get_type::<PySlice>().call1(PyTuple::new(py, parts)?)?);
            }
            Act::ListAppend => {
                let value = frame.pop()?;
                let list = frame.peek(argument)?;
                self.append(&list, vec![value])?;
            }
            Act::ListExtend => {
                let iterable = frame.pop()?;
                let items = self.materialise(&iterable)?;
                let list = frame.peek(argument)?;
                self.append(&list, items)?;
            }
            Act::SetAdd => {
                let value = frame.pop()?;
                let set = frame.peek(argument)?;
                self.add_to_set(&set, &value)?;
            }
            Act::SetUpdate => {
                let iterable = frame.pop()?;
                let set = frame.peek(argument)?;
                for item in self.materialise(&iterable)? {
                    self.add_to_set(&set, &item)?;
                }
            }
            Act::MapAdd => {
                let (value, key) = (frame.pop()?, frame.pop()?);
                let dict = frame.peek(argument)?;
                self.set_key(&dict, &key, &value)?;
            }
            Act::DictUpdate | Act::DictMerge => {
                let mapping = frame.pop()?;
                let dict = frame.peek(argument)?;
                for (key, value) in self.mapping_items(&mapping)? {
                    if instruction.act == Act::DictMerge
                        && dict
                            .cast::<PyDict>()
                            .is_ok_and(|dict| dict.contains(&key).unwrap_or(true))
                    {
                        return Err(PyTypeError::new_err("got multiple values for a keyword argument").into());
                    }
                    self.set_key(&dict, &key, &value)?;
                }
            }
            Act::ListToTuple => {
                let list = frame.pop()?.cast_into::<PyList>().map_err(PyErr::from)?;
                frame.push(list.to_tuple().into_any());
            }
            Act::Intrinsic => {
                let operand = frame.pop()?;
                let value = self.intrinsic(argument, operand)?;
                frame.push(value);
            }
            Act::FormatValue => {
                let spec = if argument & 4 != 0 {
                    Some(frame.pop()?)
                } else {
                    None
                };
                let value = frame.pop()?;
                let value = self.converted(argument & 3, value)?;
                let text = self.formatted(&value, spec)?;
                frame.push(text);
            }
            Act::ConvertValue => {
                let value = frame.pop()?;
                let value = self.converted(argument, value)?;
                frame.push(value);
            }
            Act::FormatSimple | Act::FormatWithSpec => {
                let spec = if instruction.act == Act::FormatWithSpec {
                    Some(frame.pop()?)
                } else {
                    None
                };
                let value = frame.pop()?;
                let text = self.formatted(&value, spec)?;
                frame.push(text);
            }
            Act::Jump | Act::JumpBack => return Ok(Step::To(instruction.target())),
            Act::PopJumpIf(when) | Act::PopJumpBackIf(when) => {
                let value = frame.pop()?;
                if self.truth(&value)? == when {
                    return Ok(Step::To(instruction.target()));
                }
            }
            Act::PopJumpIfNone(when) | Act::PopJumpBackIfNone(when) => {
                if frame.pop()?.is_none() == when {
                    return Ok(Step::To(instruction.target()));
                }
            }
            Act::JumpIfOrPop(when) => {
                let value = frame.peek(1)?;
                if self.truth(&value)? == when {
                    return Ok(Step::To(instruction.target()));
                }
                frame.pop()?;
            }
            Act::GetIter => {
                let iterable = frame.pop()?;
                let iterator = self.iterate(&iterable)?.into_any();
                let is_new = !iterator.is(&iterable);
                if frame.yielded.is_some() && !is_new {
                    return Err(impure("has a generator over an iterator"));
                }
                self.machine.begun = is_new.then(|| iterator.clone());
                if self.own_iterator(&iterator).is_none() {
                    self.note_fresh(&iterator);
                }
                frame.push(iterator);
            }
            Act::ForIter => {
                let iterator = frame.peek(1)?;
                if !self.is_fresh(&iterator) && self.own_iterator(&iterator).is_none() {
                    return Err(impure("takes elements from an iterator that exists already"));
                }
                let iterator = iterator.cast_into::<PyIterator>().map_err(PyErr::from)?;
                match self.next(&iterator)? {
                    Some(item) => frame.push(item),
                    None => {
                        frame.pop()?;
                        return Ok(Step::To(behind_loop(&frame.routine, instruction)));
                    }
                }
            }
            Act::GetLen => {
                let value = frame.peek(1)?;
                let length = self.length(&value)?;
                frame.push(length.into_pyobject(py).map_err(PyErr::from)?.into_any());
            }
            Act::Unpack | Act::UnpackEx => {
                let iterable = frame.pop()?;
                let items = match self.materialise(&iterable) {
                    Err(stop)
                        if stop
                            .exception()
                            .is_some_and(|error| error.is_instance_of::<PyTypeError>(py)) =>
                    {
                        let message = format!(
                            "cannot unpack non-iterable {} object",
                            self.facts.type_name(&iterable)
                        );
                        return Err(PyTypeError::new_err(message).into());
                    }
                    items => items?,
                };
                self.unpack_onto(frame, instruction, items)?;
            }
            Act::KwNames => frame.keywords = Some(frame.constant(py, argument)?),
            Act::Call | Act::CallKw => {
                let names = if instruction.act == Act::CallKw {
                    Some(frame.pop()?)
                } else {
                    frame.keywords.take()
                };
                let mut positional = frame.pop_many(argument)?;
                let (callable, first) = self.pop_callable(frame)?;
                let mut keywords = Vec::new();
                if let Some(names) = names {
                    let names: Vec<String> = names.extract()?;
                    let start = positional.len().checked_sub(names.len()).ok_or_else(broken)?;
                    keywords = names.into_iter().zip(positional.drain(start..)).collect();
                }
                positional.splice(0..0, first);
                let value = self.call_from(frame, &callable, Values { positional, keywords })?;
                frame.push(value);
            }
            Act::CallEx => {
                let mut keywords = Vec::new();
                // From 3.14 on there is always a place for them, which may be empty.
                let mapping = match minor_version(py) {
                    ..14 if argument & 1 == 0 => None,
                    ..14 => Some(frame.pop()?),
                    _ => frame.stack.pop().flatten(),
                };
                if let Some(mapping) = mapping {
                    for (name, value) in self.mapping_items(&mapping)? {
                        let name = super::statics::text(&name)
                            .ok_or_else(|| PyTypeError::new_err("keywords must be strings"))?;
                        keywords.push((name, value));
                    }
                }
                let iterable = frame.pop()?;
                let mut positional = self.materialise(&iterable)?;
                let (callable, first) = self.pop_callable(frame)?;
                positional.splice(0..0, first);
                let value = self.call_from(frame, &callable, Values { positional, keywords })?;
                frame.push(value);
            }
            Act::MakeFunction => {
                let value = self.make_function(frame, argument)?;
                frame.push(value);
            }
            Act::SetFunctionAttribute => {
                let (function, value) = (frame.pop()?, frame.pop()?);
                let function = self.with_attribute(frame, &function, argument, value)?;
                frame.push(function);
            }
            Act::PushExcInfo => {
                let error = frame.pop()?;
                let before = frame.handled.replace(error.clone());
                frame.stack.push(before);
                frame.push(error);
            }
            Act::PopExcept => frame.handled = frame.stack.pop().ok_or_else(broken)?,
            Act::CheckExcMatch => {
                let class = frame.pop()?;
                let error = frame.peek(1)?;
                let matches = self.is_caught(&error, &class)?;
                frame.push(self.truth_value(matches));
            }
            Act::Reraise => {
                let error = frame.pop()?;
                return Err(PyErr::from_value(error).into());
            }
            Act::Raise => return Err(self.raised(frame, argument)?),
            Act::LoadSmallInt => frame.push(pyo3::types::PyInt::new(py, argument).into_any()),
            Act::LoadCommonConstant => {
                let name = COMMON_CONSTANTS.get(argument as usize).ok_or_else(broken)?;
                frame.push(py.import("builtins")?.getattr(*name)?);
            }
            Act::LoadAssertionError => frame.push(py.get_type::<PyAssertionError>().into_any()),
            Act::StoreGlobal => return Err(impure(format!("writes the global `{}`", frame.name(argument)?))),
            Act::Import => return Err(impure("imports a module")),
            Act::With => return Err(impure("has a `with` statement")),
            Act::Match => return Err(impure("has a `match` statement")),
            Act::Other => {
                let name = instructions::opcode_name(py, instruction.opcode);
                return Err(impure(format!("does {name}, which is not followed")));
            }
        }
        Ok(Step::Next)
    }
}

/// Behind the instructions that end a `for` loop whose iterator is exhausted.
fn behind_loop(routine: &Routine, instruction: &Instruction) -> u32 {
    let target = instruction.target();
    let Some(index) = routine.index_at(target) else {
        return target;
    };
    let Some(end) = routine
        .instructions
        .get(index)
        .filter(|end| end.act == Act::EndFor)
    else {
        return target;
    };
    match routine.instructions.get(index + 1) {
        // 3.13 ends the loop by END_FOR and POP_TOP, 3.12 by END_FOR alone, which pops both.
        Some(pop) if pop.act == Act::PopTop && routine.has_pop_behind_loops => pop.next,
        _ => end.next,
    }
}
