//! The longer instructions of the machine: calls, operators, conversions, functions made, exceptions raised.

use healcore::tree::{BinaryOp, UnaryOp};
use pyo3::exceptions::{PyBaseException, PyRuntimeError, PyStopIteration, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyString, PyTuple, PyType};

use super::{Frame, Value, broken, impure};
use crate::frames::minor_version;
use crate::interpret::calls::Values;
use crate::interpret::instructions::{self, Act, Instruction};
use crate::interpret::interpreter::Interpreter;
use crate::interpret::native;
use crate::interpret::replay::Replay;
use crate::interpret::stop::{Eval, Stop};
use crate::interpret::world::Kind;

impl<'py> Interpreter<'_, 'py> {
    pub(super) fn popped_index(&self, frame: &mut Frame<'py>, is_slice: bool) -> Eval<Value<'py>> {
        let last = frame.pop()?;
        if !is_slice {
            return Ok(last);
        }
        let first = frame.pop()?;
        Ok(self
            .py
            .get_type::<PySlice>()
            .call1((first, last, self.py.None()))?)
    }

    /// Puts what may be called on the stack, as the calls of this version find it.
    pub(super) fn push_callable(&self, frame: &mut Frame<'py>, value: Value<'py>, is_callee: bool) {
        let null_is_first = minor_version(self.py) < 13;
        if is_callee && null_is_first {
            frame.stack.push(None);
        }
        frame.push(value);
        if is_callee && !null_is_first {
            frame.stack.push(None);
        }
    }

    /// The callable below the arguments, and the first argument where it stands apart.
    pub(super) fn pop_callable(&self, frame: &mut Frame<'py>) -> Eval<(Value<'py>, Option<Value<'py>>)> {
        let upper = frame.stack.pop().ok_or_else(broken)?;
        let lower = frame.stack.pop().ok_or_else(broken)?;
        match (lower, upper) {
            (Some(callable), first) if minor_version(self.py) >= 13 => Ok((callable, first)),
            (Some(callable), Some(first)) => Ok((callable, Some(first))),
            (None, Some(callable)) => Ok((callable, None)),
            _ => Err(broken()),
        }
    }

    /// A call from a frame: `super()` needs to know it, and what it does with generators.
    pub(super) fn call_from(
        &mut self,
        frame: &Frame<'py>,
        callable: &Value<'py>,
        values: Values<'py>,
    ) -> Eval<Value<'py>> {
        if values.positional.is_empty() && callable.is(self.py.import("builtins")?.getattr("super")?) {
            return self.super_object(frame);
        }
        let name = self.callable_name(callable);
        let generators: Vec<_> = values
            .all()
            .filter_map(|value| value.cast::<Replay>().ok().cloned())
            .collect();
        let value = self.call_object(callable, values, &name)?;
        // C code that gives no iterator has done with a generator that nobody else knows.
        let is_done = self.own_iterator(&value).is_none()
            && (self.facts.is_native_callable(callable) || self.facts.kind(callable)? == Kind::Class);
        if is_done {
            let held = |generator: &Bound<'py, Replay>| {
                let values = frame.slots.iter().chain(&frame.stack).flatten();
                values.into_iter().any(|value| value.is(generator))
            };
            let gone: Vec<_> = generators
                .into_iter()
                .filter(|generator| !held(generator))
                .collect();
            self.machine
                .waiting
                .retain(|waiting| !gone.iter().any(|generator| generator.is(waiting)));
        }
        Ok(value)
    }

    pub(super) fn super_object(&mut self, frame: &Frame<'py>) -> Eval<Value<'py>> {
        let at = frame
            .routine
            .code
            .locals
            .iter()
            .position(|name| name == "__class__");
        let class = at.and_then(|at| frame.slots[at].clone());
        let (Some(class), Some(Some(first))) = (class, frame.slots.first().cloned()) else {
            return Err(impure("calls `super()` where it is not followed"));
        };
        let class = class.getattr("cell_contents")?;
        let is_cell = first.get_type().is(self.py.import("types")?.getattr("CellType")?);
        let object = if is_cell {
            first.getattr("cell_contents")?
        } else {
            first
        };
        let proxy = self
            .py
            .import("builtins")?
            .getattr("super")?
            .call1((&class, &object))?;
        self.note_fresh(&proxy);
        self.machine
            .supers
            .insert(proxy.as_ptr() as usize, (class, object));
        Ok(proxy)
    }

    pub(super) fn binary_instruction(
        &mut self,
        argument: u32,
        left: &Value<'py>,
        right: Value<'py>,
    ) -> Eval<Value<'py>> {
        const IN_PLACE: u32 = 13;
        if argument >= 2 * IN_PLACE {
            return Err(broken());
        }
        let op = match argument % IN_PLACE {
            0 => BinaryOp::Add,
            1 => BinaryOp::BitAnd,
            2 => BinaryOp::FloorDiv,
            3 => BinaryOp::LeftShift,
            5 => BinaryOp::Mul,
            6 => BinaryOp::Mod,
            7 => BinaryOp::BitOr,
            8 => BinaryOp::Pow,
            9 => BinaryOp::RightShift,
            10 => BinaryOp::Sub,
            11 => BinaryOp::Div,
            12 => BinaryOp::BitXor,
            _ => return Err(impure("multiplies matrices")),
        };
        let is_plain = matches!(
            self.facts.kind(left)?,
            Kind::Atom | Kind::Tuple | Kind::Decimal | Kind::Clock
        );
        if argument >= IN_PLACE && !is_plain {
            let what = format!("changes a `{}` in place", self.facts.type_name(left));
            return self.on_fresh(left, || what, |this| this.in_place(op, left, right, "…"));
        }
        let value = self.binary(op, left, &right)?;
        let is_new = !value.is(left) && !value.is(&right);
        if is_new && matches!(self.facts.kind(&value)?, Kind::List | Kind::Dict | Kind::Set) {
            self.note_fresh(&value);
        }
        Ok(value)
    }

    pub(super) fn intrinsic(&mut self, number: u32, operand: Value<'py>) -> Eval<Value<'py>> {
        let py = self.py;
        match number {
            3 if operand.is_instance_of::<PyStopIteration>() => {
                let error = PyRuntimeError::new_err("generator raised StopIteration");
                Ok(error.value(py).clone().into_any())
            }
            3 => Ok(operand),
            5 => self.unary(UnaryOp::Plus, &operand),
            6 => Ok(operand
                .cast_into::<PyList>()
                .map_err(PyErr::from)?
                .to_tuple()
                .into_any()),
            _ => Err(impure("does what is not followed")),
        }
    }

    pub(super) fn converted(&mut self, conversion: u32, value: Value<'py>) -> Eval<Value<'py>> {
        match conversion {
            0 => Ok(value),
            1 => self.text_of(&value, |value| Ok(value.str()?.into_any())),
            2 => self.text_of(&value, |value| Ok(value.repr()?.into_any())),
            _ => Err(impure("formats with `!a`")),
        }
    }

    pub(super) fn formatted(&mut self, value: &Value<'py>, spec: Option<Value<'py>>) -> Eval<Value<'py>> {
        let spec = match spec {
            Some(spec) => spec.cast_into::<PyString>().map_err(PyErr::from)?,
            None => PyString::new(self.py, ""),
        };
        self.vet_spec(&spec.to_string_lossy())?;
        let before = self.machine.spec.replace(spec.clone().into_any());
        let text = self.text_of(value, |value| native::format(value, &spec));
        self.machine.spec = before;
        text
    }

    pub(super) fn unpack_onto(
        &mut self,
        frame: &mut Frame<'py>,
        at: &Instruction,
        items: Vec<Value<'py>>,
    ) -> Eval<()> {
        let argument = at.argument as usize;
        if at.act == Act::Unpack {
            if items.len() != argument {
                let what = if items.len() > argument {
                    format!("too many values to unpack (expected {argument})")
                } else {
                    format!(
                        "not enough values to unpack (expected {argument}, got {})",
                        items.len()
                    )
                };
                return Err(PyValueError::new_err(what).into());
            }
            items.into_iter().rev().for_each(|item| frame.push(item));
            return Ok(());
        }
        let (n_before, n_after) = (argument & 255, argument >> 8);
        if items.len() < n_before + n_after {
            let what = format!(
                "not enough values to unpack (expected at least {}, got {})",
                n_before + n_after,
                items.len()
            );
            return Err(PyValueError::new_err(what).into());
        }
        let n_rest = items.len() - n_before - n_after;
        let rest = self.new_list(items[n_before..n_before + n_rest].to_vec())?;
        items[n_before + n_rest..]
            .iter()
            .rev()
            .for_each(|item| frame.push(item.clone()));
        frame.push(rest);
        items[..n_before]
            .iter()
            .rev()
            .for_each(|item| frame.push(item.clone()));
        Ok(())
    }

    pub(super) fn make_function(&mut self, frame: &mut Frame<'py>, flags: u32) -> Eval<Value<'py>> {
        let code = frame.pop()?;
        let functions = self.facts.world.function.bind(self.py).clone();
        if !instructions::is_code(&code) {
            return Err(broken());
        }
        let is_old = minor_version(self.py) < 13;
        let mut take = |bit: u32| -> Eval<Option<Value<'py>>> {
            if is_old && flags & bit != 0 {
                frame.pop().map(Some)
            } else {
                Ok(None)
            }
        };
        let closure = take(8)?;
        take(4)?;
        let keyword_defaults = take(2)?;
        let defaults = take(1)?;
        let n_free = code.getattr("co_freevars")?.len()?;
        if closure.is_none() && n_free > 0 {
            // 3.13 sets the closure afterwards: until then the code itself stands for the function.
            return Ok(code);
        }
        let function = functions.call1((code, &frame.globals, self.py.None(), defaults, closure))?;
        if let Some(defaults) = keyword_defaults {
            function.setattr("__kwdefaults__", defaults)?;
        }
        self.note_fresh(&function);
        Ok(function)
    }

    /// `SET_FUNCTION_ATTRIBUTE` of 3.13.
    pub(super) fn with_attribute(
        &mut self,
        frame: &Frame<'py>,
        function: &Value<'py>,
        which: u32,
        value: Value<'py>,
    ) -> Eval<Value<'py>> {
        if which == 8 && instructions::is_code(function) {
            let functions = self.facts.world.function.bind(self.py).clone();
            let none = self.py.None();
            let function = functions.call1((function, &frame.globals, &none, &none, value))?;
            self.note_fresh(&function);
            return Ok(function);
        }
        match which {
            1 if !instructions::is_code(function) => function.setattr("__defaults__", value)?,
            2 if !instructions::is_code(function) => function.setattr("__kwdefaults__", value)?,
            // Annotations, and the function that makes them.
            4 | 16 => {}
            _ => return Err(impure("makes a function with a closure and defaults")),
        }
        Ok(function.clone())
    }

    pub(super) fn is_caught(&mut self, error: &Value<'py>, class: &Value<'py>) -> Eval<bool> {
        if let Ok(classes) = class.cast_exact::<PyTuple>() {
            for class in classes.iter() {
                if self.is_caught(error, &class)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let is_exception = class.cast::<PyType>().is_ok_and(|class| {
            native::is_subtype(class.as_any(), self.py.get_type::<PyBaseException>().as_any())
        });
        if !is_exception {
            let message = "catching classes that do not inherit from BaseException is not allowed";
            return Err(PyTypeError::new_err(message).into());
        }
        Ok(native::is_subtype(error.get_type().as_any(), class))
    }

    /// The exception of `raise`, on its way.
    pub(super) fn raised(&mut self, frame: &mut Frame<'py>, argument: u32) -> Eval<Stop> {
        let py = self.py;
        if argument == 0 {
            return Ok(match &frame.handled {
                Some(error) => PyErr::from_value(error.clone()).into(),
                None => PyRuntimeError::new_err("No active exception to reraise").into(),
            });
        }
        let cause = if argument == 2 { Some(frame.pop()?) } else { None };
        let raised = frame.pop()?;
        let error = self.raisable(raised)?;
        if let Some(cause) = cause {
            let cause = if cause.is_none() {
                None
            } else {
                Some(PyErr::from_value(self.raisable(cause)?))
            };
            PyErr::from_value(error.clone()).set_cause(py, cause);
        }
        Ok(PyErr::from_value(error).into())
    }

    /// An exception that the call itself has made.
    pub(super) fn raisable(&mut self, raised: Value<'py>) -> Eval<Value<'py>> {
        let error = if raised.cast::<PyType>().is_ok() {
            let name = self.callable_name(&raised);
            self.call_object(&raised, Values::of(Vec::new()), &name)?
        } else {
            raised
        };
        if error.cast::<PyBaseException>().is_err() {
            return Err(PyTypeError::new_err("exceptions must derive from BaseException").into());
        }
        if !self.is_fresh(&error) {
            return Err(impure("raises an exception that exists already"));
        }
        Ok(error)
    }
}
