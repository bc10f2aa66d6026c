//! Attributes: read statically, so that no property, descriptor or `__getattr__` of the program runs unasked.

use healcore::tables::{self, EXCEPTION_ATTRIBUTES};
use pyo3::exceptions::{PyAttributeError, PyBaseException};
use pyo3::prelude::*;
use pyo3::types::{PyModule, PyString, PyType};

use super::calls::Values;
use super::interpreter::Interpreter;
use super::journal::{Change, New, Was};
use super::native;
use super::operators::function_value;
use super::statics::{Special, TypeFacts};
use super::stop::{Eval, Stop, rule};
use super::world::Kind;

/// What a name of an object leads to.
enum Found<'py> {
    /// A plain value.
    Value(Bound<'py, PyAny>),
    /// A function of the class, bound or not.
    Method,
    /// A C descriptor, or one of the library: reading it runs no code of the program.
    Native,
    /// Code of the program that would give the value, how it is named, and what it would get.
    Program(Bound<'py, PyAny>, String, Vec<Bound<'py, PyAny>>),
    /// Nothing.
    Missing,
}

impl<'py> Interpreter<'_, 'py> {
    /// `object.name` as a value.
    pub(super) fn attribute(&mut self, object: &Bound<'py, PyAny>, name: &str) -> Eval<Bound<'py, PyAny>> {
        match self.find_attribute(object, name)? {
            Found::Method => Err(function_value(&format!(
                "{}.{name}",
                self.facts.type_name(object)
            ))),
            found => self.read_found(object, name, found),
        }
    }

    /// `getattr(object, name, default)`.
    pub(super) fn attribute_or(
        &mut self,
        object: &Bound<'py, PyAny>,
        name: &str,
        default: &Bound<'py, PyAny>,
    ) -> Eval<Bound<'py, PyAny>> {
        let value = match self.find_attribute(object, name) {
            Ok(Found::Missing) => return Ok(default.clone()),
            Ok(Found::Method) => Err(function_value(&format!(
                "{}.{name}",
                self.facts.type_name(object)
            ))),
            Ok(found) => self.read_found(object, name, found),
            Err(stop) => Err(stop),
        };
        match value {
            Err(stop)
                if stop
                    .exception()
                    .is_some_and(|error| error.is_instance_of::<PyAttributeError>(self.py)) =>
            {
                Ok(default.clone())
            }
            value => value,
        }
    }

    /// `object.name` where a method may stand, before a call.
    pub(super) fn attribute_or_method(
        &mut self,
        object: &Bound<'py, PyAny>,
        name: &str,
    ) -> Eval<Bound<'py, PyAny>> {
        let found = self.find_attribute(object, name)?;
        self.read_found(object, name, found)
    }

    fn read_found(
        &mut self,
        object: &Bound<'py, PyAny>,
        name: &str,
        found: Found<'py>,
    ) -> Eval<Bound<'py, PyAny>> {
        let key = PyString::new(self.py, name);
        match found {
            Found::Value(value) => Ok(value),
            Found::Native | Found::Method => Ok(object.getattr(key)?),
            Found::Program(callable, path, args) => {
                match self.program_value(&callable, Values::of(args), &path)? {
                    Some(value) => Ok(value),
                    None => Ok(object.getattr(key)?),
                }
            }
            Found::Missing => Err(self.missing(object, &key)),
        }
    }

    /// The error of CPython itself, without its detours.
    fn missing(&self, object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Stop {
        if object.cast::<PyType>().is_ok() {
            let class = object
                .cast::<PyType>()
                .ok()
                .and_then(|class| class.qualname().ok());
            let class = class.map_or_else(|| "?".to_owned(), |class| class.to_string_lossy().into_owned());
            return PyAttributeError::new_err(format!("type object '{class}' has no attribute '{name}'"))
                .into();
        }
        match native::generic_getattr(object, name) {
            Err(error) => error.into(),
            Ok(_) => PyAttributeError::new_err(format!(
                "'{}' object has no attribute '{name}'",
                self.facts.type_name(object)
            ))
            .into(),
        }
    }

    /// Whether `hasattr(object, name)`.
    pub(super) fn has_attribute(&mut self, object: &Bound<'py, PyAny>, name: &str) -> Eval<bool> {
        match self.find_attribute(object, name)? {
            Found::Missing => Ok(false),
            Found::Value(_) | Found::Method => Ok(true),
            Found::Native => match object.getattr(name) {
                Ok(_) => Ok(true),
                Err(error) if error.is_instance_of::<PyAttributeError>(self.py) => Ok(false),
                Err(error) => Err(error.into()),
            },
            Found::Program(callable, path, args) => {
                match self.program_value(&callable, Values::of(args), &path) {
                    Ok(Some(_)) => Ok(true),
                    Ok(None) => Ok(object.hasattr(name)?),
                    Err(stop)
                        if stop
                            .exception()
                            .is_some_and(|error| error.is_instance_of::<PyAttributeError>(self.py)) =>
                    {
                        Ok(false)
                    }
                    Err(stop) => Err(stop),
                }
            }
        }
    }

    fn find_attribute(&mut self, object: &Bound<'py, PyAny>, name: &str) -> Eval<Found<'py>> {
        if tables::attribute_fault(name).is_some() {
            return Err(Stop::refused(
                rule::ATTRIBUTE,
                format!("`.{name}` opens the inside of Python"),
                "use the public attributes of the value",
            ));
        }
        self.find_any(object, name)
    }

    /// `object.name` in code of the program itself, where no name is out of bounds.
    pub(super) fn any_attribute(
        &mut self,
        object: &Bound<'py, PyAny>,
        name: &str,
    ) -> Eval<Bound<'py, PyAny>> {
        let found = self.find_any(object, name)?;
        self.read_found(object, name, found)
    }

    fn find_any(&mut self, object: &Bound<'py, PyAny>, name: &str) -> Eval<Found<'py>> {
        let facts = self.facts.of(object)?;
        self.vet_memory(object, &facts)?;
        if object.cast::<PyBaseException>().is_ok() && !EXCEPTION_ATTRIBUTES.contains(&name) {
            let own = native::instance_dict(object).and_then(|dict| dict.get_item(name).ok().flatten());
            let (_, value) = self.facts.lookup(&facts, name)?.unzip();
            if own.is_none() && value.is_some_and(|value| self.is_native_data(&value)) {
                return Err(Stop::refused(
                    rule::ATTRIBUTE,
                    format!("`.{name}` of an exception is not read"),
                    format!("read one of {}", EXCEPTION_ATTRIBUTES.join(", ")),
                ));
            }
        }
        if let Some((_, getter)) = self.facts.lookup(&facts, "__getattribute__")?
            && !self.facts.is_native_callable(&getter)
            && !self.facts.is_library_function(&getter)
        {
            let path = format!("{}.__getattribute__", self.facts.type_name(object));
            let args = vec![object.clone(), PyString::new(self.py, name).into_any()];
            return Ok(Found::Program(getter, path, args));
        }
        if facts.kind == Kind::Class {
            return self.find_in_class(object, &facts, name);
        }
        let in_class = self.facts.lookup(&facts, name)?.map(|(_, value)| value);
        if let Some(descriptor) = &in_class {
            if self.is_native_data(descriptor) {
                return Ok(Found::Native);
            }
            if self.is_data_descriptor(descriptor)? {
                return self.through_descriptor(object, descriptor, name);
            }
        }
        if let Some(dict) = native::instance_dict(object)
            && let Some(value) = dict.get_item(name)?
        {
            return Ok(Found::Value(value));
        }
        match in_class {
            Some(value) => self.through_descriptor(object, &value, name),
            None => self.through_fallback(object, &facts, name),
        }
    }

    /// An attribute of a class: of its metaclass if that is a data descriptor, of its MRO, of its metaclass.
    fn find_in_class(
        &mut self,
        object: &Bound<'py, PyAny>,
        meta: &TypeFacts<'py>,
        name: &str,
    ) -> Eval<Found<'py>> {
        let Ok(class) = object.cast::<PyType>() else {
            return Ok(Found::Missing);
        };
        let in_meta = self.facts.lookup(meta, name)?.map(|(_, value)| value);
        if let Some(descriptor) = &in_meta {
            if self.is_native_data(descriptor) {
                return Ok(Found::Native);
            }
            if self.is_data_descriptor(descriptor)? {
                return self.through_descriptor(object, descriptor, name);
            }
        }
        let facts = self.facts.of_class(class)?;
        if let Some((_, value)) = self.facts.lookup(&facts, name)? {
            // A property of the class stays a property; a slot's descriptor, too.
            if self.is_native_data(&value) || value.get_type().is(&self.facts.world.property) {
                return Err(function_value(&format!("{}.{name}", class.qualname()?)));
            }
            return self.through_descriptor(object, &value, name);
        }
        match in_meta {
            Some(value) => self.through_descriptor(object, &value, name),
            None => self.through_fallback(object, meta, name),
        }
    }

    /// A setter in C may do more than to store: `sqlite3` commits a transaction by one.
    fn vet_native_store(
        &self,
        object: &Bound<'py, PyAny>,
        descriptor: &Bound<'py, PyAny>,
        type_name: &str,
        name: &str,
    ) -> Eval<()> {
        let world = self.facts.world;
        let is_setter = descriptor.get_type().is(&world.native_data_descriptors[0]);
        if !is_setter || object.cast::<PyBaseException>().is_ok() {
            return Ok(());
        }
        Err(Stop::refused(
            rule::STORE,
            format!("`{type_name}.{name}` is stored by C code, whose effects cannot be taken back"),
            "store an attribute of the program's own objects",
        ))
    }

    fn is_native_data(&self, descriptor: &Bound<'py, PyAny>) -> bool {
        let class = descriptor.get_type();
        self.facts
            .world
            .native_data_descriptors
            .iter()
            .any(|known| class.is(known))
    }

    fn is_data_descriptor(&self, descriptor: &Bound<'py, PyAny>) -> Eval<bool> {
        let facts = self.facts.of(descriptor)?;
        Ok(self.facts.lookup(&facts, "__set__")?.is_some()
            || self.facts.lookup(&facts, "__delete__")?.is_some())
    }

    /// What a value of the class's dict gives when it is read through an instance.
    fn through_descriptor(
        &mut self,
        object: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        name: &str,
    ) -> Eval<Found<'py>> {
        let class = value.get_type();
        let world = self.facts.world;
        let is_method = class.is(&world.function)
            || class.is(&world.static_method)
            || class.is(&world.class_method)
            || self.facts.is_native_callable(value);
        if is_method {
            return Ok(Found::Method);
        }
        let facts = self.facts.of(value)?;
        let path = || format!("{}.{name}", self.facts.type_name(object));
        if class.is(&world.property) {
            let getter = value.getattr("fget")?;
            let is_plain = self.facts.is_library_function(&getter) || self.facts.is_native_callable(&getter);
            return Ok(if is_plain {
                Found::Native
            } else {
                Found::Program(getter, path(), vec![object.clone()])
            });
        }
        match self.facts.special(&facts, "__get__")? {
            Special::Missing => Ok(Found::Value(value.clone())),
            Special::Native => {
                let getter = match native::instance_dict(value) {
                    Some(dict) => dict.get_item("fget")?,
                    None => None,
                };
                // `enum.property` is written in the library, and gives what a function of the program may compute.
                match getter {
                    Some(getter) if !getter.is_none() && !self.facts.is_library_function(&getter) => {
                        Ok(Found::Program(getter, path(), vec![object.clone()]))
                    }
                    _ => Ok(Found::Native),
                }
            }
            Special::Fields => Ok(Found::Program(value.clone(), path(), Vec::new())),
            Special::Program(getter) if object.cast::<PyType>().is_err() => {
                let args = vec![value.clone(), object.clone(), object.get_type().into_any()];
                Ok(Found::Program(getter, path(), args))
            }
            Special::Program(getter) => Ok(Found::Program(getter, path(), Vec::new())),
        }
    }

    /// `__getattr__` of the class, or of the module.
    fn through_fallback(
        &mut self,
        object: &Bound<'py, PyAny>,
        facts: &TypeFacts<'py>,
        name: &str,
    ) -> Eval<Found<'py>> {
        if let Ok(module) = object.cast::<PyModule>()
            && let Some(getter) = module.dict().get_item("__getattr__")?
        {
            return Ok(Found::Program(
                getter,
                format!("{}.__getattr__({name:?})", self.facts.type_name(object)),
                vec![PyString::new(self.py, name).into_any()],
            ));
        }
        match self.facts.special(facts, "__getattr__")? {
            Special::Missing => Ok(Found::Missing),
            Special::Native => Ok(Found::Native),
            Special::Fields => Ok(Found::Missing),
            Special::Program(getter) => Ok(Found::Program(
                getter,
                format!("{}.__getattr__", self.facts.type_name(object)),
                vec![object.clone(), PyString::new(self.py, name).into_any()],
            )),
        }
    }

    /// `object.name = value`.
    pub(super) fn store_attribute(
        &mut self,
        object: &Bound<'py, PyAny>,
        name: &str,
        value: &Bound<'py, PyAny>,
        text: &str,
    ) -> Eval<()> {
        let place = format!("{text}.{name}");
        self.forget_hashes();
        self.may_write(format_args!("`{place} = …`"))?;
        if tables::attribute_fault(name).is_some() {
            return Err(Stop::refused(
                rule::ATTRIBUTE,
                format!("`.{name}` opens the inside of Python"),
                "store a public attribute",
            ));
        }
        let facts = self.facts.of(object)?;
        let key = PyString::intern(self.py, name);
        let old = match facts.kind {
            Kind::Class => self.store_in_class(object, &facts, &key, value, &place)?,
            Kind::Module => self.store_in_module(object, &key, value, &place)?,
            _ if self.is_function(object) => {
                return Err(Stop::refused(
                    rule::STORE,
                    format!("`{place}`: functions are not changed"),
                    "change the values that the function reads",
                ));
            }
            _ => self.store_in_instance(object, &facts, &key, value)?,
        };
        let line = self.line;
        self.journal.wrote(&place, value);
        self.journal.wrote_attribute(object, name);
        let was = old.clone().map_or(Was::Unset, Was::Value);
        let old = self.old_value(name, old.as_ref());
        let new = New::Value(value.clone());
        self.journal.tell(object, name, line, new, || Change {
            kind: "attribute",
            place,
            secret: name.to_owned(),
            old,
            was,
        });
        Ok(())
    }

    fn is_function(&self, object: &Bound<'py, PyAny>) -> bool {
        let class = object.get_type();
        class.is(&self.facts.world.function)
            || class.is(&self.facts.world.bound_method)
            || self.facts.is_native_callable(object)
    }

    fn store_in_class(
        &mut self,
        object: &Bound<'py, PyAny>,
        meta: &TypeFacts<'py>,
        name: &Bound<'py, PyString>,
        value: &Bound<'py, PyAny>,
        place: &str,
    ) -> Eval<Option<Bound<'py, PyAny>>> {
        let class = object.cast::<PyType>().map_err(PyErr::from)?;
        if !self.in_scope(object) {
            return Err(Stop::refused(
                rule::STORE,
                format!("`{place}`: the class is not the program's own"),
                "store on an instance, or on a class of the project",
            ));
        }
        let text = name.to_string_lossy().into_owned();
        let own_setter = match self.facts.special(meta, "__setattr__")? {
            Special::Program(setter) => Some(setter),
            Special::Native => {
                // `EnumType.__setattr__` guards the members.
                let (_, setter) = self.facts.lookup(meta, "__setattr__")?.unzip();
                setter.filter(|setter| !self.facts.is_native_callable(setter))
            }
            Special::Missing | Special::Fields => None,
        };
        let in_meta = self.facts.lookup(meta, &text)?.map(|(_, value)| value);
        let is_described = match &in_meta {
            Some(descriptor) => self.is_data_descriptor(descriptor)?,
            None => false,
        };
        if own_setter.is_some() || is_described {
            return Err(Stop::refused(
                rule::STORE,
                format!("`{place}`: the metaclass has its own way to store attributes"),
                "store on an instance",
            ));
        }
        let old = self.facts.own(class, &text)?;
        let setter = self.py.get_type::<PyType>();
        setter.call_method1("__setattr__", (class, name, value))?;
        self.journal.class(class, name, old.clone());
        self.facts.forget();
        Ok(old)
    }

    fn store_in_module(
        &mut self,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
        value: &Bound<'py, PyAny>,
        place: &str,
    ) -> Eval<Option<Bound<'py, PyAny>>> {
        let module = object.cast::<PyModule>().map_err(PyErr::from)?;
        if !self.in_scope(object) {
            return Err(Stop::refused(
                rule::STORE,
                format!("`{place}`: the module is not the program's own"),
                "store on an object or a module of the project",
            ));
        }
        let dict = module.dict();
        let old = dict.get_item(name)?;
        dict.set_item(name, value)?;
        self.journal.module(&dict, name, old.clone());
        self.names.forget();
        Ok(old)
    }

    fn store_in_instance(
        &mut self,
        object: &Bound<'py, PyAny>,
        facts: &TypeFacts<'py>,
        name: &Bound<'py, PyString>,
        value: &Bound<'py, PyAny>,
    ) -> Eval<Option<Bound<'py, PyAny>>> {
        let text = name.to_string_lossy().into_owned();
        let type_name = self.facts.type_name(object);
        let setter = self.facts.lookup(facts, "__setattr__")?.map(|(_, setter)| setter);
        if let Some(setter) = setter
            && !self.facts.is_native_callable(&setter)
            && !self.facts.is_library_function(&setter)
        {
            self.program_call(&setter, &format!("{type_name}.__setattr__"))?;
            object.setattr(name, value)?;
            return Ok(None);
        }
        let in_class = self.facts.lookup(facts, &text)?.map(|(_, value)| value);
        let mut old = None;
        match in_class {
            Some(descriptor) if self.is_native_data(&descriptor) => {
                self.vet_native_store(object, &descriptor, &type_name, &text)?;
                // A slot, or a field of a builtin type.
                old = native::generic_getattr(object, name).ok();
            }
            Some(descriptor) if self.is_data_descriptor(&descriptor)? => {
                self.program_call(&descriptor, &format!("{type_name}.{text}"))?;
                object.setattr(name, value)?;
                return Ok(None);
            }
            _ => {
                if let Some(dict) = native::instance_dict(object) {
                    old = dict.get_item(name)?;
                }
            }
        }
        native::generic_setattr(object, name, Some(value))?;
        self.journal.attribute(object, name, old.clone());
        Ok(old)
    }
}
