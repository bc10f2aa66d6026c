//! Calls: what is called, and its arguments.

use healcore::tables::{Member, MemberKind, Module};
use healcore::tree::{Argument, Call, Callee, Comprehension, Function, Keyword, MemberRef};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyModule, PyTuple, PyType};

use super::interpreter::Interpreter;
use super::native;
use super::policy::Decision;
use super::stop::{Eval, Stop, rule};
use super::targets::shown;

/// One argument.
pub(super) enum Arg<'t, 'py> {
    /// A value.
    Value(Bound<'py, PyAny>),
    /// A generator expression that the call consumes.
    Generator(&'t Comprehension),
    /// A function that the call applies.
    Function(&'t Function),
}

/// The arguments of a call.
pub(super) struct Args<'t, 'py> {
    pub(super) positional: Vec<Arg<'t, 'py>>,
    pub(super) keywords: Vec<(String, Arg<'t, 'py>)>,
}

/// Arguments that are values all.
pub(super) struct Values<'py> {
    pub(super) positional: Vec<Bound<'py, PyAny>>,
    pub(super) keywords: Vec<(String, Bound<'py, PyAny>)>,
}

impl<'py> Values<'py> {
    pub(super) fn of(positional: Vec<Bound<'py, PyAny>>) -> Self {
        Self {
            positional,
            keywords: Vec::new(),
        }
    }

    /// All values, whatever their place.
    pub(super) fn all(&self) -> impl Iterator<Item = &Bound<'py, PyAny>> {
        self.positional
            .iter()
            .chain(self.keywords.iter().map(|(_, value)| value))
    }

    /// A keyword, or the positional argument at a place.
    pub(super) fn named(&self, name: &str, position: usize) -> Option<&Bound<'py, PyAny>> {
        let keyword = self
            .keywords
            .iter()
            .find(|(keyword, _)| keyword == name)
            .map(|(_, value)| value);
        keyword.or_else(|| self.positional.get(position))
    }
}

impl<'t, 'py> Args<'t, 'py> {
    /// Takes the function of a keyword such as `key=`; `key=None` is none.
    pub(super) fn take_function(&mut self, name: &str) -> Option<&'t Function> {
        let at = self.keywords.iter().position(|(keyword, arg)| {
            keyword == name
                && match arg {
                    Arg::Function(_) => true,
                    Arg::Value(value) => value.is_none(),
                    Arg::Generator(_) => false,
                }
        })?;
        match self.keywords.remove(at).1 {
            Arg::Function(function) if !matches!(function, Function::Identity(_)) => Some(function),
            _ => None,
        }
    }
}

impl<'a, 'py> Interpreter<'a, 'py> {
    pub(super) fn call(&mut self, call: &Call) -> Eval<Bound<'py, PyAny>> {
        self.meter.step()?;
        let value = match &call.callee {
            Callee::Builtin(builtin) => {
                let callable = self.builtin(builtin.name())?;
                let args = self.args(call)?;
                self.call_builtin(*builtin, &callable, args)
            }
            Callee::TypeMethod { of, method } => {
                let class = self.builtin(of.name())?;
                let args = self.args(call)?;
                let values = self.values(args)?;
                self.call_type_method(&class, method.name(), values)
            }
            Callee::Member(member) => {
                let callable = self.member(member)?;
                let args = self.args(call)?;
                self.call_member(member.member, &callable, args)
            }
            Callee::Method { receiver, method } => {
                let object = self.expr(receiver)?;
                let text = shown(receiver);
                let callable = self.resolve_method(&object, method.name(), &text)?;
                let args = self.args(call)?;
                self.call_method(&object, callable, args, &text)
            }
            Callee::Toolkit(tool) => {
                let args = self.args(call)?;
                let values = self.values(args)?;
                self.call_tool(*tool, &values)
            }
            Callee::Program(path) => {
                let callable = match self.own_tool(path)? {
                    Some(function) => function,
                    None => self.path(path)?,
                };
                let name = std::iter::once(&path.root)
                    .chain(&path.attributes)
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(".");
                let args = self.args(call)?;
                let values = self.values(args)?;
                self.call_program(&callable, values, &name)
            }
        };
        let value = value.map_err(|stop| stop.at(call.span.line))?;
        self.meter.clock()?;
        Ok(value)
    }

    /// Calls code of the program, as the policy has it.
    pub(super) fn call_program(
        &mut self,
        callable: &Bound<'py, PyAny>,
        values: Values<'py>,
        path: &str,
    ) -> Eval<Bound<'py, PyAny>> {
        if !callable.is_callable() {
            return self.call_values(callable, values);
        }
        match self.decision(callable, path)? {
            Decision::Prove => self.follow(callable, values, path),
            Decision::Refuse { rule, message, help } => Err(Stop::refused(&rule, message, help)),
            Decision::Allow | Decision::Once => {
                let value = self.call_values(callable, values);
                self.forget();
                value
            }
        }
    }

    /// Evaluates arguments in order; generators and functions wait for the call.
    fn args<'t>(&mut self, call: &'t Call) -> Eval<Args<'t, 'py>> {
        let mut positional = Vec::with_capacity(call.args.len());
        for arg in &call.args {
            match arg {
                Argument::One(expr) => positional.push(Arg::Value(self.expr(expr)?)),
                Argument::Star(expr) => {
                    let iterable = self.expr(expr)?;
                    positional.extend(self.materialise(&iterable)?.into_iter().map(Arg::Value));
                }
                Argument::Generator(comprehension) => positional.push(Arg::Generator(comprehension)),
                Argument::Function(function) => positional.push(Arg::Function(function)),
            }
        }
        let mut keywords: Vec<(String, Arg<'t, 'py>)> = Vec::with_capacity(call.keywords.len());
        for keyword in &call.keywords {
            match keyword {
                Keyword::One { name, value } => keywords.push((name.clone(), Arg::Value(self.expr(value)?))),
                Keyword::Function { name, function } => {
                    keywords.push((name.clone(), Arg::Function(function)));
                }
                Keyword::Star(expr) => {
                    let mapping = self.expr(expr)?;
                    for (key, value) in self.mapping_items(&mapping)? {
                        let Some(name) = super::statics::text(&key) else {
                            return Err(PyTypeError::new_err("keywords must be strings").into());
                        };
                        if keywords.iter().any(|(known, _)| *known == name) {
                            let message = format!("got multiple values for keyword argument '{name}'");
                            return Err(PyTypeError::new_err(message).into());
                        }
                        keywords.push((name, Arg::Value(value)));
                    }
                }
            }
        }
        Ok(Args { positional, keywords })
    }

    /// Turns generators into lists and functions into the callables themselves.
    pub(super) fn values(&mut self, args: Args<'_, 'py>) -> Eval<Values<'py>> {
        let mut positional = Vec::with_capacity(args.positional.len());
        for arg in args.positional {
            positional.push(self.value(arg)?);
        }
        let mut keywords = Vec::with_capacity(args.keywords.len());
        for (name, arg) in args.keywords {
            keywords.push((name, self.value(arg)?));
        }
        Ok(Values { positional, keywords })
    }

    pub(super) fn value(&mut self, arg: Arg<'_, 'py>) -> Eval<Bound<'py, PyAny>> {
        match arg {
            Arg::Value(value) => Ok(value),
            Arg::Generator(comprehension) => {
                let items = self.collect(comprehension)?;
                Ok(PyList::new(self.py, items)?.into_any())
            }
            Arg::Function(function) => self.callable(function),
        }
    }

    /// The callable that a function argument names.
    fn callable(&mut self, function: &Function) -> Eval<Bound<'py, PyAny>> {
        match function {
            Function::Builtin(builtin, _) => self.builtin(builtin.name()),
            Function::TypeMethod { of, method, .. } => Ok(self.builtin(of.name())?.getattr(method.name())?),
            Function::Member(member) => self.member(member),
            Function::Identity(_) => Ok(self.py.None().into_bound(self.py)),
            Function::Lambda(lambda) => Err(Stop::unsupported(
                "a lambda that C code would call",
                format!(
                    "leave `lambda {}: …` to `key=` of sorted, min, max and sort",
                    lambda.parameter.id
                ),
            )),
        }
    }

    /// Applies a function to elements.
    pub(super) fn apply(
        &mut self,
        function: &Function,
        args: Vec<Bound<'py, PyAny>>,
    ) -> Eval<Bound<'py, PyAny>> {
        self.meter.step()?;
        match function {
            Function::Builtin(builtin, _) => {
                let callable = self.builtin(builtin.name())?;
                self.call_builtin(*builtin, &callable, as_args(args))
            }
            Function::TypeMethod { of, method, .. } => {
                let class = self.builtin(of.name())?;
                self.call_type_method(&class, method.name(), Values::of(args))
            }
            Function::Member(member) => {
                let callable = self.member(member)?;
                self.call_member(member.member, &callable, as_args(args))
            }
            Function::Lambda(lambda) => {
                let argument = args.into_iter().next();
                self.names.enter([(lambda.parameter.id.clone(), argument)].into());
                let value = self.expr(&lambda.body);
                self.names.leave();
                value
            }
            Function::Identity(_) => match args.into_iter().next() {
                Some(argument) => Ok(argument),
                None => Err(PyTypeError::new_err("'NoneType' object is not callable").into()),
            },
        }
    }

    /// The key of each element.
    pub(super) fn keys(
        &mut self,
        function: &Function,
        items: &[Bound<'py, PyAny>],
    ) -> Eval<Vec<Bound<'py, PyAny>>> {
        items
            .iter()
            .map(|item| self.apply(function, vec![item.clone()]))
            .collect()
    }

    /// Calls what gives a new iterator, and remembers it as the heal's own.
    pub(super) fn call_iterator(
        &mut self,
        callable: &Bound<'py, PyAny>,
        values: Values<'py>,
    ) -> Eval<Bound<'py, PyAny>> {
        let sources: Vec<_> = values.all().cloned().collect();
        let value = self.call_values(callable, values)?;
        let facts = self.facts.of(&value)?;
        if !sources.iter().any(|source| source.is(&value)) && self.facts.lookup(&facts, "__next__")?.is_some()
        {
            self.adopt(&value, &sources);
        }
        Ok(value)
    }

    /// Calls with values and counts the result.
    pub(super) fn call_values(
        &mut self,
        callable: &Bound<'py, PyAny>,
        values: Values<'py>,
    ) -> Eval<Bound<'py, PyAny>> {
        let args = PyTuple::new(self.py, values.positional)?;
        let keywords = match values.keywords.is_empty() {
            true => None,
            false => {
                let dict = PyDict::new(self.py);
                for (name, value) in values.keywords {
                    dict.set_item(name, value)?;
                }
                Some(dict)
            }
        };
        let value = callable.call(args, keywords.as_ref())?;
        self.made(value)
    }

    /// The builtin of that name, which the program must not have put something else in place of.
    pub(super) fn builtin(&mut self, name: &str) -> Eval<Bound<'py, PyAny>> {
        let Some(builtin) = self.facts.world.builtin(self.py, name) else {
            return Err(Stop::unsupported(
                format!("this Python has no `{name}`"),
                "write it another way",
            ));
        };
        match self.names.find(name)? {
            Some(value) if !value.is(&builtin) => Err(Stop::refused(
                rule::REBOUND,
                format!("`{name}` means something else in this frame"),
                format!("the program has rebound `{name}`: write it another way"),
            )),
            _ => Ok(builtin),
        }
    }

    /// A module of the standard library.
    pub(super) fn library_module(&mut self, name: &str) -> Eval<Bound<'py, PyModule>> {
        match self.facts.world.import(self.py, name)? {
            Some(module) => Ok(module),
            None => Err(Stop::refused(
                rule::REBOUND,
                format!("`{name}` is a module of the program, not that of the standard library"),
                "write it without the module",
            )),
        }
    }

    pub(super) fn listed_module(&mut self, module: Module) -> Eval<Bound<'py, PyModule>> {
        self.library_module(module.name())
    }

    /// A member of a listed module, as the standard library defines it.
    pub(super) fn listed_member(&mut self, member: &Member) -> Eval<Bound<'py, PyAny>> {
        let module = self.listed_module(member.module)?;
        let mut value = module.into_any();
        for name in member.path.split('.') {
            value = value.getattr(name)?;
        }
        let is_own = match member.kind {
            MemberKind::Constant => true,
            _ => self.is_of_library(&value)?,
        };
        if !is_own {
            return Err(Stop::refused(
                rule::REBOUND,
                format!(
                    "`{}.{}` has been replaced by the program",
                    member.module.name(),
                    member.path
                ),
                "write it another way",
            ));
        }
        if !matches!(member.kind, MemberKind::Constant | MemberKind::Exception)
            && !self.facts.is_native_callable(&value)
        {
            self.vet_beneath(member)?;
        }
        Ok(value)
    }

    /// Whether a function or class is defined by the standard library.
    fn is_of_library(&self, value: &Bound<'py, PyAny>) -> Eval<bool> {
        let world = self.facts.world;
        if self.facts.is_native_callable(value) {
            return Ok(true);
        }
        let of_module = |name: &str| {
            name == "builtins"
                || super::world::loaded(self.py, name).is_none_or(|module| world.is_library(&module))
        };
        if let Ok(class) = value.cast::<PyType>() {
            return Ok(of_module(&self.facts.module_name(class)));
        }
        if value.get_type().is(&world.function) {
            let globals = value
                .getattr("__globals__")?
                .cast_into::<PyDict>()
                .map_err(PyErr::from)?;
            let name = globals
                .get_item("__name__")?
                .and_then(|name| super::statics::text(&name));
            return Ok(name.is_some_and(|name| {
                super::world::loaded(self.py, &name)
                    .is_some_and(|module| module.dict().is(&globals) && world.is_library(&module))
            }));
        }
        if value.get_type().is(&world.bound_method) {
            return self.is_of_library(&value.getattr("__func__")?);
        }
        // Callable objects of C code, such as `functools.lru_cache`'s wrappers.
        let facts = self.facts.of(value)?;
        let (_, call) = self.facts.lookup(&facts, "__call__")?.unzip();
        Ok(call.is_some_and(|call| self.facts.is_native_callable(&call)))
    }

    /// What a name of a listed member stands for; the variable must hold the listed thing itself.
    pub(super) fn member(&mut self, member: &MemberRef) -> Eval<Bound<'py, PyAny>> {
        let expected = self.listed_member(member.member)?;
        let mut value = self.names.get(&member.root)?;
        for name in &member.attributes {
            // Modules and classes of the library; what a program put there instead is found out below.
            value = match value.cast::<PyModule>() {
                Ok(module) => match module.dict().get_item(name)? {
                    Some(value) => value,
                    None => value.getattr(name)?,
                },
                Err(_) => match self.facts.kind(&value)? {
                    super::world::Kind::Class => value.getattr(name)?,
                    _ => self.attribute_or_method(&value, name)?,
                },
            };
        }
        // Bound class methods are made anew each time they are read.
        let is_same = value.is(&expected)
            || (self.facts.is_native_callable(&value) || value.get_type().is(&self.facts.world.bound_method))
                && value.get_type().is(expected.get_type())
                && value.eq(&expected)?
            || member.member.kind == MemberKind::Constant;
        if !is_same {
            let name = std::iter::once(&member.root)
                .chain(&member.attributes)
                .cloned()
                .collect::<Vec<_>>()
                .join(".");
            return Err(Stop::refused(
                rule::REBOUND,
                format!("`{name}` means something else in this frame"),
                format!(
                    "import it in the healing code under another name: `{}`",
                    import_line(member.member)
                ),
            ));
        }
        Ok(value)
    }

    /// `isinstance(object, class)`, by the type that the object really has.
    pub(super) fn is_instance(
        &mut self,
        object: &Bound<'py, PyAny>,
        class: &Bound<'py, PyAny>,
    ) -> Eval<bool> {
        self.vet_class_of(object)?;
        let object_class = object.get_type();
        self.is_subclass(
            &object_class,
            class,
            "isinstance() arg 2 must be a type, a tuple of types, or a union",
            0,
        )
    }

    /// `issubclass(class, other)`.
    pub(super) fn is_subclass(
        &mut self,
        class: &Bound<'py, PyType>,
        other: &Bound<'py, PyAny>,
        error: &str,
        depth: usize,
    ) -> Eval<bool> {
        self.meter.step()?;
        let world = self.facts.world;
        let parts = if let Ok(tuple) = other.cast_exact::<PyTuple>() {
            Some(tuple.clone())
        } else if world
            .union_type
            .as_ref()
            .is_some_and(|union| other.get_type().is(union))
        {
            Some(
                other
                    .getattr("__args__")?
                    .cast_into::<PyTuple>()
                    .map_err(PyErr::from)?,
            )
        } else {
            None
        };
        if let Some(parts) = parts {
            if depth > 20 {
                return Err(Stop::limit(
                    rule::DEPTH,
                    "a tuple of classes nested too deep",
                    "write the classes in one tuple",
                ));
            }
            for part in parts.iter() {
                let part = if part.is_none() {
                    part.get_type().into_any()
                } else {
                    part
                };
                if self.is_subclass(class, &part, error, depth + 1)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        let Ok(other) = other.cast::<PyType>() else {
            return Err(PyTypeError::new_err(error.to_owned()).into());
        };
        if native::is_subtype(class.as_any(), other.as_any()) {
            return Ok(true);
        }
        // Abstract classes of the library know classes that do not derive from them.
        let meta = self.facts.of(other.as_any())?;
        let Some((_, check)) = self.facts.lookup(&meta, "__subclasscheck__")? else {
            return Ok(false);
        };
        if self.facts.is_native_callable(&check) {
            return Ok(false);
        }
        let own = self.facts.of_class(other)?;
        let hook = self.facts.lookup(&own, "__subclasshook__")?;
        let is_abstract_of_library = ["collections.abc", "numbers", "io", "typing", "os"]
            .contains(&self.facts.module_name(other).as_str())
            && self.is_of_library(other.as_any())?;
        if !is_abstract_of_library {
            let hook_is_plain = match &hook {
                None => true,
                Some((_, hook)) => self.facts.is_native_callable(hook),
            };
            let is_plain_abc = check
                .getattr("__module__")
                .ok()
                .and_then(|name| super::statics::text(&name))
                .as_deref()
                == Some("abc");
            if !(hook_is_plain && is_plain_abc) {
                let path = format!("{}.__subclasscheck__", other.qualname()?);
                self.program_call(&check, &path)?;
            }
        }
        Ok(class.is_subclass(other)?)
    }
}

/// Values as arguments.
pub(super) fn as_args<'t, 'py>(values: Vec<Bound<'py, PyAny>>) -> Args<'t, 'py> {
    Args {
        positional: values.into_iter().map(Arg::Value).collect(),
        keywords: Vec::new(),
    }
}

fn import_line(member: &Member) -> String {
    let first = member.path.split('.').next().unwrap_or(member.path);
    format!("from {} import {first} as listed", member.module.name())
}
