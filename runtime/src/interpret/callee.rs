//! What code of the program that is followed may call: functions of Python, classes, listed functions of C code.

use healcore::tables::{self, Builtin, Member, MemberKind};
use pyo3::exceptions::{PyAttributeError, PyBaseException, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule, PyTuple, PyType};

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

type Value<'py> = Bound<'py, PyAny>;

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
    pub(super) fn by_policy(
        &mut self,
        callable: &Value<'py>,
        name: &str,
        values: &Values<'py>,
    ) -> Eval<Option<Value<'py>>> {
        match self.decision(callable, name)? {
            Decision::Prove => Ok(None),
            Decision::Refuse { rule, message, help } => Err(Stop::refused(&rule, message, help)),
            Decision::Allow | Decision::Once => {
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

    pub(super) fn listed_builtin(&self, callable: &Value<'py>) -> Option<Builtin> {
        let is_it = |builtin: &Builtin| {
            self.facts
                .world
                .builtin(self.py, builtin.name())
                .is_some_and(|known| known.is(callable))
        };
        Builtin::ALL.iter().copied().find(is_it)
    }

    /// The member of a listed module that a function or class is, where the module is loaded.
    pub(super) fn listed_callable(&mut self, callable: &Value<'py>) -> Eval<Option<&'static Member>> {
        let address = callable.as_ptr() as usize;
        if let Some((_, member)) = self.machine.listed.get(&address) {
            return Ok(*member);
        }
        let member = self.find_listed(callable)?;
        self.machine.listed.insert(address, (callable.clone(), member));
        Ok(member)
    }

    fn find_listed(&self, callable: &Value<'py>) -> Eval<Option<&'static Member>> {
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

    pub(super) fn call_listed(
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
                    found.as_ref().map_or(Ok(()), |value| self.note_read(value))?;
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

    pub(super) fn truth_of(&self, value: bool) -> Eval<Value<'py>> {
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
            None if self.decision(callable, own_name)?.is_settled() => {
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
