//! What a followed call of the program does with an object: calls it, reads an attribute of it, makes an instance.

use healcore::tables::{self, Builtin, ExceptionName, Member, MemberKind};
use pyo3::exceptions::{PyAttributeError, PyBaseException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule, PyString, PyTuple, PyType};

use super::calls::{Arg, Args, Values};
use super::interpreter::Interpreter;
use super::machine::impure;
use super::methods::{Method, is_mutation};
use super::native;
use super::policy::Decision;
use super::purity::unproven;
use super::replay::Replay;
use super::stop::{Eval, Stop};
use super::vet::ORDER;
use super::world::{Kind, loaded};
use crate::hook::Hook;

type Value<'py> = Bound<'py, PyAny>;

/// Attributes with double underscores that only name or type things.
const NAMING: &[&str] = &["__name__", "__qualname__", "__module__", "__doc__"];

impl<'py> Interpreter<'_, 'py> {
    /// Calls an object as far as that is known to change nothing.
    pub(super) fn call_object(
        &mut self,
        callable: &Value<'py>,
        values: Values<'py>,
        name: &str,
    ) -> Eval<Value<'py>> {
        let world = self.facts.world;
        let class = callable.get_type();
        if class.is(&world.bound_method) {
            let mut values = values;
            values.positional.insert(0, callable.getattr("__self__")?);
            return self.call_object(&callable.getattr("__func__")?, values, name);
        }
        if class.is(&world.static_method) {
            return self.call_object(&callable.getattr("__func__")?, values, name);
        }
        if class.is(&world.function) {
            if let Some(value) = self.by_policy(callable, name, &values)? {
                return Ok(value);
            }
            if let Some(member) = self.listed_callable(callable)? {
                return self.call_listed(member, callable, values);
            }
            return self.run_function(callable, values);
        }
        if let Some(builtin) = self.listed_builtin(callable) {
            return self.call_listed_builtin(builtin, callable, values);
        }
        if callable.cast::<PyType>().is_ok() {
            if let Some(value) = self.by_policy(callable, name, &values)? {
                return Ok(value);
            }
            return self.call_class(callable, values, name);
        }
        if self.facts.is_native_callable(callable) {
            return self.call_native(callable, values, name);
        }
        let facts = self.facts.of(callable)?;
        if let Some((_, method)) = self.facts.lookup(&facts, "__call__")?
            && method.get_type().is(&world.function)
        {
            let mut values = values;
            values.positional.insert(0, callable.clone());
            return self.call_object(&method, values, &format!("{name}.__call__"));
        }
        if !callable.is_callable() {
            let message = format!("'{}' object is not callable", self.facts.type_name(callable));
            return Err(PyTypeError::new_err(message).into());
        }
        Err(impure(format!(
            "calls `{name}`, a `{}`",
            self.facts.type_name(callable)
        )))
    }

    /// Asks the policy about a call inside of the program; one that is marked safe is made.
    fn by_policy(
        &mut self,
        callable: &Value<'py>,
        name: &str,
        values: &Values<'py>,
    ) -> Eval<Option<Value<'py>>> {
        match self.decision(callable, name) {
            Decision::Prove => Ok(None),
            Decision::Refuse { rule, message, help } => Err(Stop::refused(&rule, message, help)),
            Decision::Allow => {
                let copy = Values {
                    positional: values.positional.clone(),
                    keywords: values.keywords.clone(),
                };
                let value = self.call_values(callable, copy)?;
                self.forget();
                Ok(Some(value))
            }
        }
    }

    /// A name for people.
    pub(super) fn callable_name(&self, callable: &Value<'py>) -> String {
        let world = self.facts.world;
        let class = callable.get_type();
        if let Ok(class) = callable.cast::<PyType>() {
            return class
                .qualname()
                .map_or_else(|_| "?".to_owned(), |name| name.to_string());
        }
        let inner = if class.is(&world.bound_method) {
            callable.getattr("__func__").ok()
        } else {
            None
        };
        let function = inner.as_ref().unwrap_or(callable);
        let is_known = function.get_type().is(&world.function) || self.facts.is_native_callable(function);
        let name = if is_known {
            function.getattr("__qualname__").ok()
        } else {
            None
        };
        let name = name.and_then(|name| super::statics::text(&name));
        name.unwrap_or_else(|| self.facts.type_name(callable))
    }

    fn listed_builtin(&self, callable: &Value<'py>) -> Option<Builtin> {
        let is_it = |builtin: &Builtin| {
            self.facts
                .world
                .builtin(self.py, builtin.name())
                .is_some_and(|known| known.is(callable))
        };
        Builtin::ALL.iter().copied().find(is_it)
    }

    /// The member of a listed module that a function or class is, where the module is loaded.
    fn listed_callable(&self, callable: &Value<'py>) -> Eval<Option<&'static Member>> {
        let py = self.py;
        for table in tables::MODULES {
            let Some(module) = loaded(py, table.module.name()) else {
                continue;
            };
            if !self.facts.world.is_library(&module) {
                continue;
            }
            let dict = module.dict();
            for member in table.members {
                let is_called = !matches!(member.kind, MemberKind::Constant | MemberKind::Exception);
                if is_called
                    && !member.path.contains('.')
                    && dict
                        .get_item(member.path)?
                        .is_some_and(|known| known.is(callable))
                {
                    return Ok(Some(member));
                }
            }
        }
        Ok(None)
    }

    fn call_listed(
        &mut self,
        member: &'static Member,
        callable: &Value<'py>,
        values: Values<'py>,
    ) -> Eval<Value<'py>> {
        self.refuse_functions(&values, &self.callable_name(callable))?;
        let value = self.call_member(member, callable, as_args(values))?;
        if member.kind == MemberKind::Container && callable.is(value.get_type()) {
            self.note_fresh(&value);
        }
        Ok(value)
    }

    /// C code would call a function that it gets, and nobody would follow that.
    fn refuse_functions(&self, values: &Values<'py>, name: &str) -> Eval<()> {
        let world = self.facts.world;
        for value in values.all() {
            let class = value.get_type();
            let is_program_class = value.cast::<PyType>().is_ok()
                && self.listed_builtin(value).is_none()
                && self.facts.kind(value)? == Kind::Class;
            if class.is(&world.function) || class.is(&world.bound_method) || is_program_class {
                return Err(impure(format!("hands a function to `{name}()`")));
            }
        }
        Ok(())
    }

    fn call_listed_builtin(
        &mut self,
        builtin: Builtin,
        callable: &Value<'py>,
        mut values: Values<'py>,
    ) -> Eval<Value<'py>> {
        match builtin {
            Builtin::Print => return Err(impure("prints")),
            Builtin::Map | Builtin::Filter => {
                let iterator = self.map_or_filter_by(builtin, values)?;
                return self.waits(iterator);
            }
            Builtin::Iter if values.positional.len() > 1 => {
                return Err(impure("hands a function to `iter()`"));
            }
            Builtin::Type if values.positional.len() != 1 => return Err(impure("makes a class")),
            Builtin::Isinstance | Builtin::Issubclass => {
                if let [object, class] = values.positional.as_slice() {
                    self.vet_class_check(object, class)?;
                }
            }
            Builtin::Sorted | Builtin::Max | Builtin::Min => {
                let at = values.keywords.iter().position(|(name, _)| name == "key");
                if let Some(at) = at.filter(|at| !values.keywords[*at].1.is_none()) {
                    let key = values.keywords.remove(at).1;
                    return self.by_key(builtin, callable, &key, values);
                }
            }
            Builtin::Getattr | Builtin::Hasattr => {
                if let [object, name, rest @ ..] = values.positional.as_slice()
                    && let Some(name) = super::statics::text(name)
                {
                    let found = self.load_attribute(object, &name);
                    let is_missing = found.as_ref().is_err_and(|stop| {
                        stop.exception()
                            .is_some_and(|error| error.is_instance_of::<PyAttributeError>(self.py))
                    });
                    return match (builtin, rest) {
                        (Builtin::Getattr, [default]) if is_missing => Ok(default.clone()),
                        (Builtin::Getattr, _) => found,
                        _ if is_missing => self.truth_of(false),
                        _ => found.and_then(|_| self.truth_of(true)),
                    };
                }
            }
            Builtin::Next => {
                let iterator = values.positional.first();
                if iterator
                    .is_some_and(|iterator| self.own_iterator(iterator).is_none() && !self.is_fresh(iterator))
                {
                    return Err(impure("takes an element from an iterator that exists already"));
                }
            }
            _ => {}
        }
        let value = self.call_builtin(builtin, callable, as_args(values))?;
        if matches!(
            builtin,
            Builtin::List | Builtin::Dict | Builtin::Set | Builtin::Sorted | Builtin::Bytearray
        ) {
            self.note_fresh(&value);
        }
        Ok(value)
    }

    fn truth_of(&self, value: bool) -> Eval<Value<'py>> {
        Ok(pyo3::types::PyBool::new(self.py, value).to_owned().into_any())
    }

    /// `isinstance` must not ask a metaclass of the program, nor a `__class__` of its own.
    fn vet_class_check(&mut self, object: &Value<'py>, class: &Value<'py>) -> Eval<()> {
        if let Ok(classes) = class.cast_exact::<PyTuple>() {
            for class in classes.iter() {
                self.vet_class_check(object, &class)?;
            }
            return Ok(());
        }
        let facts = self.facts.of(object)?;
        if let Some((_, own)) = self.facts.lookup(&facts, "__class__")?
            && own.get_type().is(&self.facts.world.property)
        {
            return Err(impure("asks an object that has its own `__class__`"));
        }
        let meta = self.facts.of(class)?;
        for check in ["__instancecheck__", "__subclasscheck__"] {
            let Some((_, check)) = self.facts.lookup(&meta, check)? else {
                continue;
            };
            if self.facts.is_native_callable(&check) {
                continue;
            }
            let module = if check.get_type().is(&self.facts.world.function) {
                super::statics::text(&check.getattr("__module__")?)
            } else {
                None
            };
            if module.as_deref() != Some("abc") {
                return Err(impure("asks a class that decides itself what its instances are"));
            }
        }
        Ok(())
    }

    /// `map` and `filter`: applied at once, so nothing may be written before they are read.
    fn map_or_filter_by(&mut self, builtin: Builtin, values: Values<'py>) -> Eval<Value<'py>> {
        let Some((function, iterables)) = values.positional.split_first() else {
            return Err(impure(format!("calls `{}()` without a function", builtin.name())));
        };
        let name = self.callable_name(function);
        let mut iterators = Vec::with_capacity(iterables.len());
        for iterable in iterables {
            let iterator = self.iterate(iterable)?;
            if iterator.is(iterable) && iterable.cast::<Replay>().is_err() {
                return Err(impure(format!("has a `{}` over an iterator", builtin.name())));
            }
            iterators.push(iterator);
        }
        let mut replay = Replay::default();
        loop {
            let mut row = Vec::with_capacity(iterators.len());
            for iterator in &iterators {
                match self.next(iterator) {
                    Ok(Some(item)) => row.push(item),
                    Ok(None) => return self.replay(replay),
                    Err(stop) => return self.replay_failing(replay, stop),
                }
            }
            let Some(item) = row.first().cloned() else {
                return self.replay(replay);
            };
            let value = match (builtin, function.is_none()) {
                (Builtin::Filter, true) => Ok(item.clone()),
                _ => self.call_object(function, Values::of(row), &name),
            };
            let value = match (builtin, value) {
                (Builtin::Filter, Ok(value)) => self.truth(&value).map(|is_true| is_true.then_some(item)),
                (_, value) => value.map(Some),
            };
            match value {
                Ok(Some(value)) => replay.push(value.unbind()),
                Ok(None) => {}
                Err(stop) => return self.replay_failing(replay, stop),
            }
            self.meter.elements(replay.len())?;
        }
    }

    /// `sorted`, `min` and `max` with a key of the program.
    fn by_key(
        &mut self,
        builtin: Builtin,
        callable: &Value<'py>,
        key: &Value<'py>,
        mut values: Values<'py>,
    ) -> Eval<Value<'py>> {
        let items = match values.positional.as_slice() {
            [iterable] => self.materialise(&iterable.clone())?,
            several => several.to_vec(),
        };
        let name = self.callable_name(key);
        let mut keys = Vec::with_capacity(items.len());
        for item in &items {
            keys.push(self.call_object(key, Values::of(vec![item.clone()]), &name)?);
        }
        let keys = PyList::new(self.py, keys)?;
        self.opposite_of(&[keys.as_any()], |this| this.vet(keys.as_any(), ORDER))?;
        let options = PyDict::new(self.py);
        options.set_item("key", keys.getattr("__getitem__")?)?;
        let positions = PyList::new(self.py, 0..items.len())?;
        if builtin != Builtin::Sorted {
            if items.is_empty() {
                values.positional = vec![positions.into_any()];
                return self.call_values(callable, values);
            }
            let position = callable.call((positions,), Some(&options))?.extract::<usize>()?;
            return Ok(items[position].clone());
        }
        if let Some((_, reverse)) = values.keywords.iter().find(|(name, _)| name == "reverse") {
            options.set_item("reverse", self.reversed_order(reverse)?)?;
        }
        positions.call_method("sort", (), Some(&options))?;
        let order: Vec<usize> = positions.extract()?;
        let list = PyList::new(self.py, order.into_iter().map(|at| items[at].clone()))?.into_any();
        self.note_fresh(&list);
        self.made(list)
    }

    /// A function, method or method descriptor of C code.
    fn call_native(&mut self, callable: &Value<'py>, values: Values<'py>, name: &str) -> Eval<Value<'py>> {
        let own_name = super::statics::text(&callable.getattr("__name__")?).unwrap_or_default();
        let class = callable.get_type().qualname()?.to_string();
        match class.as_str() {
            "builtin_function_or_method" | "builtin_method" => {
                let receiver = callable.getattr("__self__")?;
                if receiver.is_none() || receiver.cast::<PyModule>().is_ok() {
                    return self.call_function_of_module(callable, &own_name, values);
                }
                if own_name == "__new__" {
                    return self.call_new(&receiver, callable, values);
                }
                if receiver.cast::<PyType>().is_ok() {
                    if self.listed_builtin(&receiver).is_some() {
                        self.refuse_functions(&values, name)?;
                        return self.call_type_method(&receiver, &own_name, values);
                    }
                    return Err(impure(format!(
                        "calls `{name}()`, a C function that is not listed"
                    )));
                }
                self.call_method_of(&receiver, &own_name, values, name)
            }
            "method_descriptor" => {
                let mut values = values;
                if values.positional.is_empty() {
                    return Err(impure(format!("calls `{name}()` without a receiver")));
                }
                let receiver = values.positional.remove(0);
                let facts = self.facts.of(&receiver)?;
                match self.facts.lookup(&facts, &own_name)? {
                    Some((_, found)) if found.is(callable) => {
                        self.call_method_of(&receiver, &own_name, values, name)
                    }
                    _ => Err(impure(format!("calls `{name}()` past the type of its receiver"))),
                }
            }
            "wrapper_descriptor" => {
                let mut values = values;
                if values.positional.is_empty() {
                    return Err(impure(format!("calls `{name}()` without a receiver")));
                }
                let receiver = values.positional.remove(0);
                self.call_special(callable, &receiver, &own_name, values, name)
            }
            "method-wrapper" => {
                let receiver = callable.getattr("__self__")?;
                let facts = self.facts.of(&receiver)?;
                match self.facts.lookup(&facts, &own_name)? {
                    Some((_, wrapper)) if self.facts.is_native_callable(&wrapper) => {
                        self.call_special(&wrapper, &receiver, &own_name, values, name)
                    }
                    // `super().__init__`: the wrapper of a base class.
                    _ => {
                        let owner = callable.getattr("__objclass__")?;
                        let Ok(owner) = owner.cast::<PyType>() else {
                            return Err(impure(format!("calls `{name}()`")));
                        };
                        match self.facts.own(owner, &own_name)? {
                            Some(wrapper) => self.call_special(&wrapper, &receiver, &own_name, values, name),
                            None => Err(impure(format!("calls `{name}()`"))),
                        }
                    }
                }
            }
            _ => Err(impure(format!(
                "calls `{name}()`, a C function that is not listed"
            ))),
        }
    }

    fn call_function_of_module(
        &mut self,
        callable: &Value<'py>,
        own_name: &str,
        values: Values<'py>,
    ) -> Eval<Value<'py>> {
        let is_builtin = loaded(self.py, "builtins")
            .and_then(|builtins| builtins.dict().get_item(own_name).ok().flatten())
            .is_some_and(|known| known.is(callable));
        match (is_builtin, own_name, values.positional.as_slice()) {
            (true, "id", [object]) if !self.is_fresh(object) => return self.call_values(callable, values),
            (true, "hash", [object]) => {
                self.vet_hash(&object.clone())?;
                return self.call_values(callable, values);
            }
            (true, "setattr", [object, name, value]) => {
                if let Some(name) = super::statics::text(name) {
                    self.store_own_attribute(&object.clone(), &name, &value.clone())?;
                    return Ok(self.py.None().into_bound(self.py));
                }
            }
            _ => {}
        }
        match self.listed_callable(callable)? {
            Some(member) => self.call_listed(member, callable, values),
            None if self.decision(callable, own_name).is_settled() => {
                let name = self.callable_name(callable);
                let value = self.by_policy(callable, &name, &values)?;
                value.ok_or_else(|| impure(format!("calls `{name}()`")))
            }
            None => Err(impure(format!(
                "calls `{}()`, which is not known to change nothing",
                self.callable_name(callable)
            ))),
        }
    }

    /// A method of pure data; one that changes its receiver only where the call has made it.
    fn call_method_of(
        &mut self,
        receiver: &Value<'py>,
        method: &str,
        values: Values<'py>,
        name: &str,
    ) -> Eval<Value<'py>> {
        if values
            .keywords
            .iter()
            .any(|(keyword, value)| keyword == "key" && !value.is_none())
        {
            return Err(impure(format!("hands a function to `{name}()`")));
        }
        let found = self.resolve_method(receiver, method, name)?;
        if !matches!(found, Method::Listed { .. }) {
            return Err(impure(format!(
                "calls `{name}()`, a C function that is not listed"
            )));
        }
        let args = as_args(values);
        if is_mutation(receiver, method) {
            let what = format!("changes a `{}` by `{method}`", self.facts.type_name(receiver));
            return self.on_fresh(
                receiver,
                || what,
                |this| this.call_method(receiver, found, args, name),
            );
        }
        let value = self.call_method(receiver, found, args, name)?;
        let is_new = matches!(
            method,
            "copy"
                | "difference"
                | "intersection"
                | "partition"
                | "rsplit"
                | "split"
                | "splitlines"
                | "symmetric_difference"
                | "union"
        );
        if is_new && !value.is(receiver) {
            self.note_fresh(&value);
        }
        Ok(value)
    }

    /// A special method that C code defines, called by its name.
    fn call_special(
        &mut self,
        wrapper: &Value<'py>,
        receiver: &Value<'py>,
        method: &str,
        mut values: Values<'py>,
        name: &str,
    ) -> Eval<Value<'py>> {
        let owner = wrapper.getattr("__objclass__")?;
        let is_object = owner.is(self.py.import("builtins")?.getattr("object")?);
        let is_exception = owner.cast::<PyType>().is_ok_and(|owner| {
            native::is_subtype(owner.as_any(), self.py.get_type::<PyBaseException>().as_any())
        });
        match (method, values.positional.as_slice()) {
            ("__init__", _) if is_object || is_exception => {
                if !self.is_fresh(receiver) {
                    return Err(impure(format!(
                        "calls `{name}()` on an object that exists already"
                    )));
                }
                values.positional.insert(0, receiver.clone());
                self.call_values(wrapper, values)
            }
            ("__setattr__", [attribute, value]) if is_object => {
                let Some(attribute) = super::statics::text(attribute) else {
                    return Err(PyTypeError::new_err("attribute name must be string").into());
                };
                let value = value.clone();
                self.store_plainly(receiver, &attribute, &value)?;
                Ok(self.py.None().into_bound(self.py))
            }
            ("__eq__", [other]) if is_object => Ok(if receiver.is(other) {
                self.truth_of(true)?
            } else {
                self.py.NotImplemented().into_bound(self.py)
            }),
            ("__hash__" | "__repr__", []) if is_object => {
                self.call_values(wrapper, Values::of(vec![receiver.clone()]))
            }
            ("__len__", []) if self.listed_builtin(&owner).is_some() => {
                self.call_values(wrapper, Values::of(vec![receiver.clone()]))
            }
            _ => Err(impure(format!("calls `{name}()`, which is not followed"))),
        }
    }

    /// `object.__new__(cls)` and those of other types that instances of the program's classes may have as a base.
    fn call_new(
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
    fn call_class(&mut self, class: &Value<'py>, values: Values<'py>, name: &str) -> Eval<Value<'py>> {
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
    fn store_plainly(&mut self, object: &Value<'py>, name: &str, value: &Value<'py>) -> Eval<()> {
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

    /// The refusal of a call of the program at a place where it cannot be followed.
    pub(super) fn not_followed(path: &str) -> Stop {
        unproven(path, "it is called where calls are not followed")
    }
}

fn as_args<'t, 'py>(values: Values<'py>) -> Args<'t, 'py> {
    let keywords = values
        .keywords
        .into_iter()
        .map(|(name, value)| (name, Arg::Value(value)));
    Args {
        positional: values.positional.into_iter().map(Arg::Value).collect(),
        keywords: keywords.collect(),
    }
}
