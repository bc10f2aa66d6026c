//! Instances in code of the program that is followed: made, read, and written where the call has made them.

use healcore::tables::ExceptionName;
use pyo3::exceptions::{PyAttributeError, PyBaseException};
use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple, PyType};

use super::calls::Values;
use super::interpreter::Interpreter;
use super::machine::impure;
use super::native;
use super::stop::Eval;
use super::world::Kind;
use crate::hook::Hook;

type Value<'py> = Bound<'py, PyAny>;

/// Attributes with double underscores that only name or type things.
const NAMING: &[&str] = &["__name__", "__qualname__", "__module__", "__doc__"];

impl<'py> Interpreter<'_, 'py> {
    /// `object.__new__(cls)` and those of other types that instances of the program's classes may have as a base.
    pub(super) fn call_new(
        &mut self,
        base: &Value<'py>,
        callable: &Value<'py>,
        mut values: Values<'py>,
    ) -> Eval<Value<'py>> {
        let Some(class) = values.positional.first().cloned() else {
            return Err(impure("calls `__new__()` without a class"));
        };
        let Ok(class) = class.cast::<PyType>() else {
            return Err(impure("calls `__new__()` without a class"));
        };
        if let Some(value) = self.by_policy(class.as_any(), "__new__", &values)? {
            return Ok(value);
        }
        let facts = self.facts.of_class(class)?;
        if self.facts.lookup(&facts, "__del__")?.is_some() {
            return Err(impure(format!(
                "makes a `{}`, which has a `__del__`",
                class.qualname()?
            )));
        }
        let name = base
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .qualname()?
            .to_string();
        let is_exception = native::is_subtype(base, self.py.get_type::<PyBaseException>().as_any());
        match (name.as_str(), values.positional.len()) {
            ("object", _) => {
                let instance = self.call_values(callable, values)?;
                self.note_fresh(&instance);
                return Ok(instance);
            }
            _ if is_exception => {}
            ("tuple", 2) => {
                let items = self.materialise(&values.positional[1].clone())?;
                values.positional[1] = PyTuple::new(self.py, items)?.into_any();
            }
            ("str" | "int" | "float", 2) if self.facts.kind(&values.positional[1])? == Kind::Atom => {}
            ("list" | "dict" | "set", 1) => {}
            ("tuple" | "str" | "int" | "float" | "frozenset", 1) => {}
            _ => return Err(impure(format!("calls `{name}.__new__()`, which is not followed"))),
        }
        let instance = self.call_values(callable, values)?;
        if callable.getattr("__self__")?.is(instance.get_type()) && !is_exception {
            // `tuple(x)` may give back what exists already.
            return Ok(instance);
        }
        self.note_fresh(&instance);
        Ok(instance)
    }

    /// Makes an instance: `type.__call__`, step by step.
    pub(super) fn call_class(
        &mut self,
        class: &Value<'py>,
        values: Values<'py>,
        name: &str,
    ) -> Eval<Value<'py>> {
        let world = self.facts.world;
        let Ok(class) = class.cast::<PyType>() else {
            return Err(impure(format!("calls `{name}`")));
        };
        let is_listed_exception = ExceptionName::ALL.iter().any(|exception| {
            world
                .builtin(self.py, exception.name())
                .is_some_and(|known| known.is(class))
        });
        let base_group = self.py.import("builtins")?.getattr("BaseExceptionGroup")?;
        if native::is_subtype(class.as_any(), &base_group) {
            return Err(impure("makes a group of exceptions"));
        }
        if is_listed_exception {
            let error = self.call_values(class.as_any(), values)?;
            self.note_fresh(&error);
            return Ok(error);
        }
        if class.is(self.py.import("builtins")?.getattr("super")?) {
            return Err(impure("calls `super` with arguments"));
        }
        if let Some(member) = self.listed_callable(class.as_any())? {
            return self.call_listed(member, class.as_any(), values);
        }
        let meta = self.facts.of(class.as_any())?;
        if let Some((_, call)) = self.facts.lookup(&meta, "__call__")?
            && !self.facts.is_native_callable(&call)
        {
            let mut values = values;
            values.positional.insert(0, class.clone().into_any());
            return self.call_object(&call, values, &format!("{name}.__call__"));
        }
        let facts = self.facts.of_class(class)?;
        let Some((_, maker)) = self.facts.lookup(&facts, "__new__")? else {
            return Err(impure(format!("calls `{name}`, which cannot be made")));
        };
        let is_object_new = maker.is(self
            .py
            .import("builtins")?
            .getattr("object")?
            .getattr("__new__")?);
        let initialiser = self
            .facts
            .lookup(&facts, "__init__")?
            .map(|(_, initialiser)| initialiser);
        let has_own_init = initialiser
            .as_ref()
            .is_some_and(|init| !self.facts.is_native_callable(init));
        let mut given = vec![class.clone().into_any()];
        // `object.__new__` takes no arguments where there is an `__init__`.
        if !(is_object_new && has_own_init) {
            given.extend(values.positional.iter().cloned());
        }
        let keywords = if is_object_new && has_own_init {
            Vec::new()
        } else {
            values.keywords.clone()
        };
        let given = Values {
            positional: given,
            keywords,
        };
        let instance = self.call_object(&maker, given, &format!("{name}.__new__"))?;
        if !native::is_subtype(instance.get_type().as_any(), class.as_any()) {
            return Ok(instance);
        }
        let facts = self.facts.of(&instance)?;
        let Some((_, initialiser)) = self.facts.lookup(&facts, "__init__")? else {
            return Ok(instance);
        };
        let initialiser_name = format!("{name}.__init__");
        let is_tuple_or_number = self.facts.is_native_callable(&initialiser)
            && initialiser
                .getattr("__objclass__")?
                .is(self.py.import("builtins")?.getattr("object")?);
        if is_tuple_or_number {
            return Ok(instance);
        }
        let mut values = values;
        values.positional.insert(0, instance.clone());
        self.call_object(&initialiser, values, &initialiser_name)?;
        Ok(instance)
    }

    /// `object.name` in code of the program.
    pub(super) fn load_attribute(&mut self, object: &Value<'py>, name: &str) -> Eval<Value<'py>> {
        if object.cast_exact::<Hook>().is_ok() {
            // Our own handler: the exception goes on.
            return self.truth_of(true);
        }
        if let Some((class, receiver)) = self.machine.supers.get(&(object.as_ptr() as usize)).cloned() {
            return self.super_attribute(&class, &receiver, name);
        }
        if name.starts_with("__") && name.ends_with("__") {
            return self.load_special(object, name);
        }
        self.any_attribute(object, name)
    }

    fn load_special(&mut self, object: &Value<'py>, name: &str) -> Eval<Value<'py>> {
        let facts = self.facts.of(object)?;
        let is_class = facts.kind == Kind::Class;
        if name == "__class__" {
            let of_object = self.facts.lookup(&facts, name)?;
            let is_plain = of_object
                .is_none_or(|(_, own)| own.get_type().is(&self.facts.world.native_data_descriptors[0]));
            return if is_plain {
                Ok(object.get_type().into_any())
            } else {
                Err(impure("asks for `__class__`"))
            };
        }
        if NAMING.contains(&name) && (is_class || self.is_function_object(object)) {
            return Ok(object.getattr(PyString::new(self.py, name))?);
        }
        if name == "__dict__"
            && !is_class
            && let Some(dict) = native::instance_dict(object)
        {
            return Ok(dict.into_any());
        }
        let found = if is_class {
            let class = object.cast::<PyType>().map_err(PyErr::from)?;
            let own = self.facts.of_class(class)?;
            self.facts.lookup(&own, name)?
        } else {
            self.facts.lookup(&facts, name)?
        };
        match found {
            Some((_, value)) => self.bound(&value, object, is_class, name),
            None => self.any_attribute(object, name),
        }
    }

    fn is_function_object(&self, object: &Value<'py>) -> bool {
        let class = object.get_type();
        class.is(&self.facts.world.function)
            || class.is(&self.facts.world.bound_method)
            || self.facts.is_native_callable(object)
    }

    /// What a class's attribute gives through an instance or a class.
    fn bound(
        &mut self,
        value: &Value<'py>,
        object: &Value<'py>,
        is_class: bool,
        name: &str,
    ) -> Eval<Value<'py>> {
        let world = self.facts.world;
        let class = value.get_type();
        let bind =
            |function: &Value<'py>, to: &Value<'py>| world.bound_method.bind(self.py).call1((function, to));
        let owner = if is_class {
            object.clone()
        } else {
            object.get_type().into_any()
        };
        if class.is(&world.static_method) {
            return Ok(value.getattr("__func__")?);
        }
        if class.is(&world.class_method) {
            return Ok(bind(&value.getattr("__func__")?, &owner)?);
        }
        if class.is(&world.function) {
            return if is_class {
                Ok(value.clone())
            } else {
                Ok(bind(value, object)?)
            };
        }
        if class.is(&world.property) && !is_class {
            let getter = value.getattr("fget")?;
            let path = format!("{}.{name}", self.facts.type_name(object));
            return self.call_object(&getter, Values::of(vec![object.clone()]), &path);
        }
        if self.facts.is_native_callable(value) {
            let is_descriptor = self
                .facts
                .of(value)
                .and_then(|facts| self.facts.lookup(&facts, "__get__"))?
                .is_some();
            return if is_class || !is_descriptor {
                Ok(value.clone())
            } else {
                Ok(value.call_method1("__get__", (object, owner))?)
            };
        }
        let facts = self.facts.of(value)?;
        if self.facts.lookup(&facts, "__get__")?.is_none() {
            return Ok(value.clone());
        }
        Err(impure(format!(
            "asks a `{}` for `{name}`",
            self.facts.type_name(value)
        )))
    }

    /// `super().name`.
    pub(super) fn super_attribute(
        &mut self,
        start: &Value<'py>,
        object: &Value<'py>,
        name: &str,
    ) -> Eval<Value<'py>> {
        let of_class = object
            .cast::<PyType>()
            .ok()
            .filter(|class| native::is_subtype(class.as_any(), start))
            .cloned();
        let is_class = of_class.is_some();
        let class = of_class.unwrap_or_else(|| object.get_type());
        let mro = self.facts.mro(&class)?;
        let after = mro.iter().skip_while(|base| !base.is(start)).skip(1);
        for base in after {
            let Ok(base) = base.cast_into::<PyType>() else {
                continue;
            };
            if let Some(value) = self.facts.own(&base, name)? {
                return self.bound(&value, object, is_class, name);
            }
        }
        let message = format!("'super' object has no attribute '{name}'");
        Err(PyAttributeError::new_err(message).into())
    }

    /// `object.name = value` in code of the program, on an object that the call has made.
    pub(super) fn store_own_attribute(
        &mut self,
        object: &Value<'py>,
        name: &str,
        value: &Value<'py>,
    ) -> Eval<()> {
        if !self.is_fresh(object) {
            return Err(impure(format!(
                "writes `.{name}` of a `{}`",
                self.facts.type_name(object)
            )));
        }
        let facts = self.facts.of(object)?;
        let setter = self
            .facts
            .lookup(&facts, "__setattr__")?
            .map(|(_, setter)| setter);
        if let Some(setter) = setter
            && !self.facts.is_native_callable(&setter)
        {
            let path = format!("{}.__setattr__", self.facts.type_name(object));
            let args = vec![
                object.clone(),
                PyString::new(self.py, name).into_any(),
                value.clone(),
            ];
            return self.call_object(&setter, Values::of(args), &path).map(drop);
        }
        self.store_plainly(object, name, value)
    }

    /// `object.__setattr__(object, name, value)`.
    pub(super) fn store_plainly(&mut self, object: &Value<'py>, name: &str, value: &Value<'py>) -> Eval<()> {
        let type_name = self.facts.type_name(object);
        if !self.is_fresh(object) || object.cast::<PyType>().is_ok() {
            return Err(impure(format!("writes `.{name}` of a `{type_name}`")));
        }
        if name.starts_with("__") && name.ends_with("__") {
            return Err(impure(format!("writes `.{name}`")));
        }
        let facts = self.facts.of(object)?;
        if let Some((_, descriptor)) = self.facts.lookup(&facts, name)? {
            let class = descriptor.get_type();
            if class.is(&self.facts.world.property) {
                let setter = descriptor.getattr("fset")?;
                if setter.is_none() {
                    let message = format!("property '{name}' of '{type_name}' object has no setter");
                    return Err(PyAttributeError::new_err(message).into());
                }
                let args = Values::of(vec![object.clone(), value.clone()]);
                return self
                    .call_object(&setter, args, &format!("{type_name}.{name}"))
                    .map(drop);
            }
            let own = self.facts.of(&descriptor)?;
            if let Some((_, setter)) = self.facts.lookup(&own, "__set__")?
                && !self.facts.is_native_callable(&setter)
            {
                let args = Values::of(vec![descriptor.clone(), object.clone(), value.clone()]);
                return self
                    .call_object(&setter, args, &format!("{type_name}.{name}"))
                    .map(drop);
            }
        }
        native::generic_setattr(object, &PyString::intern(self.py, name), Some(value))?;
        Ok(())
    }
}
