//! Methods of pure data: the receiver's type decides when it runs.

use healcore::tables::{self, Receiver};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySet, PyString, PyType};

use super::calls::{Arg, Args, Values};
use super::guards::{self, count, sequence_len};
use super::interpreter::Interpreter;
use super::native;
use super::stop::{Eval, Stop, rule};
use super::vet::{ANYTHING, EQUAL, HASH, INDEX, ORDER};
use super::world::{Kind, ListedMethod};

/// A method that was found on a receiver.
pub(super) enum Method<'py> {
    /// Of a listed type, unbound: its own code, whatever a subclass says.
    Listed {
        function: Bound<'py, PyAny>,
        of: &'static Receiver,
        name: &'static str,
    },
    /// Of the program, bound.
    Program {
        function: Bound<'py, PyAny>,
        path: String,
    },
}

/// Methods that change their receiver.
const MUTATING: &[&str] = &[
    "add",
    "append",
    "appendleft",
    "clear",
    "difference_update",
    "discard",
    "extend",
    "extendleft",
    "insert",
    "intersection_update",
    "move_to_end",
    "pop",
    "popitem",
    "popleft",
    "remove",
    "reverse",
    "rotate",
    "setdefault",
    "sort",
    "subtract",
    "symmetric_difference_update",
    "update",
];

impl<'a, 'py> Interpreter<'a, 'py> {
    /// Finds a method before its arguments are evaluated, as Python does.
    pub(super) fn resolve_method(
        &mut self,
        object: &Bound<'py, PyAny>,
        name: &str,
        text: &str,
    ) -> Eval<Method<'py>> {
        if let Some((function, of, name)) = self.facts.world.method(object, name) {
            return Ok(Method::Listed { function, of, name });
        }
        if let Ok(class) = object.cast::<PyType>() {
            return self.resolve_class_method(object, class, name, text);
        }
        let facts = self.facts.of(object)?;
        let found = self.facts.lookup(&facts, name)?;
        if let Some((position, function)) = &found
            && let Some((of, name)) = self.listed(object, *position, name)?
            && !self.is_shadowed(object, name)
        {
            let method = ListedMethod {
                function: function.clone().unbind(),
                of,
                name,
            };
            self.facts.world.note_method(object, method);
            return Ok(Method::Listed {
                function: function.clone(),
                of,
                name,
            });
        }
        let function = self.attribute_or_method(object, name)?;
        if !matches!(facts.kind, Kind::Other | Kind::Module) && function.is_callable() {
            return Err(Stop::refused(
                rule::RECEIVER,
                format!(
                    "`{name}` of a `{}` is not a listed method",
                    self.facts.type_name(object)
                ),
                "convert the value first, or compute the result another way",
            ));
        }
        Ok(Method::Program {
            function,
            path: format!("{text}.{name}"),
        })
    }

    /// The listed type that defines the method at this place of the MRO, if it is one.
    fn listed(
        &self,
        object: &Bound<'py, PyAny>,
        position: usize,
        name: &str,
    ) -> Eval<Option<(&'static Receiver, &'static str)>> {
        let class = object.get_type();
        let base = self
            .facts
            .mro(&class)?
            .get_item(position)?
            .cast_into::<PyType>()
            .map_err(PyErr::from)?;
        let module = self.facts.module_name(&base);
        let qualname = base.qualname()?.to_string_lossy().into_owned();
        let own = match (module.as_str(), qualname.as_str()) {
            ("builtins", name) => {
                (name == "dict_keys" || name == "dict_items")
                    || self
                        .facts
                        .world
                        .builtin(self.py, name)
                        .is_some_and(|builtin| builtin.is(&base))
            }
            (module, name) => super::world::loaded(self.py, module).is_some_and(|module| {
                self.facts.world.is_library(&module)
                    && module
                        .dict()
                        .get_item(name)
                        .ok()
                        .flatten()
                        .is_some_and(|known| known.is(&base))
            }),
        };
        // A base class of the library whose methods a listed type inherits: `date` of `datetime`, `dict` of `Counter`.
        let exact_module = self.facts.module_name(&class);
        let exact_name = class.qualname()?.to_string_lossy().into_owned();
        let listed = tables::methods_of(&exact_module, &exact_name)
            .filter(|_| {
                self.facts.world.kind(class.as_ptr() as usize).is_some()
                    || self.facts.kind(object).is_ok_and(|kind| kind != Kind::Other)
            })
            .or_else(|| tables::methods_of(&module, &qualname));
        let method = listed.and_then(|of| {
            of.methods
                .iter()
                .find(|method| **method == name)
                .map(|method| (of, *method))
        });
        Ok(method.filter(|_| own || self.facts.is_data_base(&module)))
    }

    /// An attribute of the instance stands in front of a method of its class.
    fn is_shadowed(&self, object: &Bound<'py, PyAny>, name: &str) -> bool {
        native::instance_dict(object).is_some_and(|dict| dict.get_item(name).ok().flatten().is_some())
    }

    /// A method called on a class that a variable of the frame holds.
    fn resolve_class_method(
        &mut self,
        object: &Bound<'py, PyAny>,
        class: &Bound<'py, PyType>,
        name: &str,
        text: &str,
    ) -> Eval<Method<'py>> {
        let function = self.attribute_or_method(object, name)?;
        let module = self.facts.module_name(class);
        let is_program = !super::world::loaded(self.py, &module)
            .is_some_and(|module| self.facts.world.is_library(&module));
        if is_program {
            return Ok(Method::Program {
                function,
                path: format!("{text}.{name}"),
            });
        }
        Err(Stop::refused(
            rule::RECEIVER,
            format!("`{text}.{name}` is a method of a class"),
            "call it on a value, or name the class in the healing code",
        ))
    }

    pub(super) fn call_method(
        &mut self,
        object: &Bound<'py, PyAny>,
        method: Method<'py>,
        mut args: Args<'_, 'py>,
        text: &str,
    ) -> Eval<Bound<'py, PyAny>> {
        match method {
            Method::Program { function, path } => {
                let values = self.values(args)?;
                self.call_program(&function, values, &path)
            }
            Method::Listed { function, of, name } => {
                let place = format!("{text}.{name}(…)");
                if is_mutation(object, name) {
                    self.may_write(format_args!("`{place}`"))?;
                    return self.mutate(object, &function, name, args, &place);
                }
                if let Some(Arg::Function(_)) = args.positional.first() {
                    args = self
                        .values(args)
                        .map(|values| super::calls::as_args(values.positional))?;
                }
                let mut values = self.values(args)?;
                self.vet_method(object, of, name, &mut values)?;
                let value = self.call_unbound(object, &function, values, name)?;
                Ok(value)
            }
        }
    }

    fn call_unbound(
        &mut self,
        object: &Bound<'py, PyAny>,
        function: &Bound<'py, PyAny>,
        mut values: Values<'py>,
        name: &str,
    ) -> Eval<Bound<'py, PyAny>> {
        if object.is_exact_instance_of::<pyo3::types::PySlice>() {
            self.vet_slice(object)?;
        }
        let world = self.facts.world;
        let is_pattern = self.facts.kind(object)? == Kind::Data && guards::is_named(object, "Pattern");
        let is_static = !function.get_type().is(&world.method_descriptor)
            && (function.get_type().is(&world.class_method)
                || guards::is_named(function, "classmethod_descriptor")
                || function.get_type().is(&world.static_method));
        if is_static {
            let bound = object.getattr(name)?;
            return self.call_values(&bound, values);
        }
        if is_pattern {
            let bound = object.getattr(name)?;
            return self.call_regex(&bound, values, true);
        }
        values.positional.insert(0, object.clone());
        match name {
            "elements" => self.call_iterator(function, values),
            _ => self.call_values(function, values),
        }
    }

    /// `str.upper(x)`, `dict.fromkeys(names)`: a method called on its type.
    pub(super) fn call_type_method(
        &mut self,
        class: &Bound<'py, PyAny>,
        name: &str,
        mut values: Values<'py>,
    ) -> Eval<Bound<'py, PyAny>> {
        let function = class.getattr(name)?;
        match name {
            "fromkeys" => {
                if let Some(iterable) = values.positional.first().cloned() {
                    let keys = self.materialise(&iterable)?;
                    for key in &keys {
                        self.vet(key, HASH)?;
                    }
                    values.positional[0] = PyList::new(self.py, keys)?.into_any();
                }
                return self.call_values(&function, values);
            }
            "fromhex" => return self.call_values(&function, values),
            "from_bytes" => {
                if let Some(bytes) = values.positional.first().cloned() {
                    let length = sequence_len(&bytes).unwrap_or(0);
                    self.meter.integer((length as u64).saturating_mul(8))?;
                    if sequence_len(&bytes).is_none() {
                        values.positional[0] = PyList::new(self.py, self.materialise(&bytes)?)?.into_any();
                    }
                }
                return self.call_values(&function, values);
            }
            _ => {}
        }
        let Some(receiver) = values.positional.first().cloned() else {
            return self.call_values(&function, values);
        };
        let facts = self.facts.of(&receiver)?;
        let is_own = native::is_subtype(facts.class.as_any(), class);
        if !is_own {
            // CPython's own error.
            return self.call_values(&function, values);
        }
        values.positional.remove(0);
        let class_name = class
            .cast::<PyType>()
            .map_err(PyErr::from)?
            .qualname()?
            .to_string_lossy()
            .into_owned();
        let listed = tables::methods_of("builtins", &class_name).and_then(|of| {
            of.methods
                .iter()
                .find(|method| **method == name)
                .map(|method| (of, *method))
        });
        let Some((of, name)) = listed else {
            return Err(Stop::refused(
                rule::RECEIVER,
                format!("`{class_name}.{name}` is not a listed method"),
                "compute the result another way",
            ));
        };
        let method = Method::Listed { function, of, name };
        let args = Args {
            positional: values.positional.into_iter().map(Arg::Value).collect(),
            keywords: values
                .keywords
                .into_iter()
                .map(|(name, value)| (name, Arg::Value(value)))
                .collect(),
        };
        self.call_method(&receiver, method, args, &class_name)
    }

    /// Looks at the arguments of a method that changes nothing.
    fn vet_method(
        &mut self,
        object: &Bound<'py, PyAny>,
        of: &'static Receiver,
        name: &str,
        values: &mut Values<'py>,
    ) -> Eval<()> {
        match (of.name, name) {
            ("str" | "bytes" | "bytearray", _) => self.vet_text_method(object, name, values),
            ("dict" | "Counter" | "defaultdict" | "OrderedDict" | "ChainMap", "get") => {
                match values.positional.first().cloned() {
                    Some(key) => self.vet_key(object, &key),
                    None => Ok(()),
                }
            }
            ("Counter", "most_common" | "total" | "elements") => self.vet(object, ANYTHING),
            ("dict" | "Counter" | "defaultdict" | "OrderedDict" | "ChainMap", _) => {
                self.meter.elements(sequence_len(object).unwrap_or(0) / 16)
            }
            ("list" | "tuple" | "deque" | "range", "count" | "index") => {
                if let Some(value) = values.positional.first().cloned() {
                    self.vet(&value, EQUAL)?;
                    guards::range_search(&self.meter, object, &value)?;
                }
                self.meter.work((sequence_len(object).unwrap_or(0) / 64) as u64)?;
                self.vet(object, EQUAL)
            }
            ("set" | "frozenset" | "dict_keys" | "dict_items", "copy") => Ok(()),
            ("set" | "frozenset" | "dict_keys" | "dict_items", _) => {
                self.vet(object, HASH)?;
                for value in &mut values.positional {
                    let items = self.materialise(value)?;
                    for item in &items {
                        self.vet(item, HASH)?;
                    }
                    if self.facts.kind(value)? != Kind::Set {
                        *value = PyList::new(self.py, items)?.into_any();
                    }
                }
                Ok(())
            }
            ("list" | "deque", "copy") => self.meter.elements(object.len()?),
            ("int", "to_bytes") => match values.named("length", 0) {
                Some(length) => self.meter.text(count(length)),
                None => Ok(()),
            },
            ("datetime" | "date" | "time", "strftime") => {
                self.vet(object, ANYTHING)?;
                if let Some(format) = values.positional.first().and_then(super::statics::text) {
                    guards::widths(&format)?;
                }
                Ok(())
            }
            ("Fraction", _) => Ok(()),
            _ => {
                self.vet(object, ANYTHING)?;
                for value in &values.positional.clone() {
                    self.vet(value, ANYTHING)?;
                }
                Ok(())
            }
        }
    }

    fn vet_text_method(
        &mut self,
        object: &Bound<'py, PyAny>,
        name: &str,
        values: &mut Values<'py>,
    ) -> Eval<()> {
        let length = sequence_len(object).unwrap_or(0);
        self.meter.work((length >> 10) as u64)?;
        // What is cut out of a text, or made of it, is about as large.
        self.meter.text(length / 8)?;
        if name == "join" {
            if let Some(iterable) = values.positional.first().cloned() {
                let items = self.materialise(&iterable)?;
                for item in &items {
                    self.vet_shallow(item, &["__buffer__"])?;
                }
                let total = items
                    .iter()
                    .map(|item| sequence_len(item).unwrap_or(0))
                    .sum::<usize>();
                self.meter
                    .text(total.saturating_add(length.saturating_mul(items.len())))?;
                values.positional[0] = PyList::new(self.py, items)?.into_any();
            }
            return Ok(());
        }
        let all: Vec<_> = values.all().cloned().collect();
        for value in &all {
            self.vet(value, ANYTHING)?;
        }
        match name {
            "center" | "ljust" | "rjust" | "zfill" => values
                .positional
                .first()
                .map_or(Ok(()), |width| self.meter.text(count(width))),
            "expandtabs" => {
                let size = values.named("tabsize", 0).map_or(8, count);
                self.meter.text(length.saturating_mul(size.max(1)))
            }
            "replace" => {
                let (Some(old), Some(new)) = (values.positional.first(), values.positional.get(1)) else {
                    return Ok(());
                };
                let (old_length, new_length) =
                    (sequence_len(old).unwrap_or(0), sequence_len(new).unwrap_or(0));
                if new_length > old_length {
                    let n_times = length.checked_div(old_length).unwrap_or(length + 1);
                    let rough = length.saturating_add(n_times.saturating_mul(new_length - old_length));
                    if self.meter.text(rough).is_err() && old_length > 0 {
                        let n_times = object.call_method1("count", (old,))?.extract::<usize>()?;
                        return self
                            .meter
                            .text(length.saturating_add(n_times.saturating_mul(new_length - old_length)));
                    }
                    return self.meter.text(rough);
                }
                Ok(())
            }
            "format" => {
                if let Some(text) = super::statics::text(object) {
                    guards::spec_widths(&text)?;
                }
                Ok(())
            }
            // Quadratic in bad cases: what is looked for is long, and so is the text.
            "count" | "find" | "index" | "rfind" | "rindex" | "split" | "rsplit" | "partition"
            | "rpartition" => {
                let pattern = values.positional.first().and_then(sequence_len).unwrap_or(0);
                self.meter
                    .work((length.saturating_mul(pattern.min(length)) >> 16) as u64)
            }
            _ => Ok(()),
        }
    }

    /// Calls a method that changes its receiver, with a copy kept.
    fn mutate(
        &mut self,
        object: &Bound<'py, PyAny>,
        function: &Bound<'py, PyAny>,
        name: &str,
        mut args: Args<'_, 'py>,
        place: &str,
    ) -> Eval<Bound<'py, PyAny>> {
        if name == "sort" {
            return self.sort_list(object, args, place);
        }
        let key_function = args.take_function("key");
        debug_assert!(key_function.is_none(), "only `sort` takes a key");
        let mut values = self.values(args)?;
        let is_mapping = object.cast::<PyDict>().is_ok();
        let is_set = object.cast::<PySet>().is_ok();
        match name {
            "extend" | "extendleft" => {
                if let Some(iterable) = values.positional.first().cloned() {
                    let items = self.materialise(&iterable)?;
                    self.meter
                        .elements(items.len() + sequence_len(object).unwrap_or(0))?;
                    values.positional[0] = PyList::new(self.py, items)?.into_any();
                }
            }
            "update" | "subtract" if is_mapping => self.update_source(object, &mut values)?,
            "update" | "difference_update" | "intersection_update" | "symmetric_difference_update" => {
                self.vet(object, HASH)?;
                for value in &mut values.positional {
                    let items = self.materialise(value)?;
                    for item in &items {
                        self.vet(item, HASH)?;
                    }
                    if self.facts.kind(value)? != Kind::Set {
                        *value = PyList::new(self.py, items)?.into_any();
                    }
                }
            }
            "add" | "discard" | "remove" if is_set => {
                if let Some(key) = values.positional.first().cloned() {
                    self.vet_key(object, &key)?;
                }
            }
            "pop" | "setdefault" | "move_to_end" if is_mapping => {
                if let Some(key) = values.positional.first().cloned() {
                    self.vet_key(object, &key)?;
                }
            }
            "remove" => {
                self.vet(object, EQUAL)?;
                if let Some(value) = values.positional.first().cloned() {
                    self.vet(&value, EQUAL)?;
                }
            }
            "append" | "appendleft" => {}
            "insert" | "pop" | "rotate" => {
                if let Some(index) = values.positional.first().cloned() {
                    self.vet_shallow(&index, INDEX)?;
                }
            }
            _ => {}
        }
        let old = self.save_telling(object, place)?;
        for value in values.all() {
            self.journal.wrote(place, value);
        }
        values.positional.insert(0, object.clone());
        let value = self.call_values(function, values)?;
        self.meter.bytes(64)?;
        if let Some(length) = sequence_len(object) {
            self.meter
                .elements(length.saturating_sub(1).min(self.meter.limits().container))?;
        }
        self.forget_keys(object);
        self.told_mutation(object, place, old);
        Ok(value)
    }

    /// The argument of `dict.update`, as an exact dict or a list of pairs whose keys were looked at.
    fn update_source(&mut self, object: &Bound<'py, PyAny>, values: &mut Values<'py>) -> Eval<()> {
        let Some(source) = values.positional.first().cloned() else {
            return Ok(());
        };
        let is_counter = guards::is_named(object, "Counter");
        if is_counter && source.is_none() {
            // A counter takes `None` for nothing.
            return Ok(());
        }
        let facts = self.facts.of(&source)?;
        let is_mapping = source.cast::<PyDict>().is_ok() || self.facts.lookup(&facts, "keys")?.is_some();
        if is_counter && !is_mapping {
            let items = self.materialise(&source)?;
            for item in &items {
                self.vet_key(object, item)?;
            }
            values.positional[0] = PyList::new(self.py, items)?.into_any();
            return Ok(());
        }
        if is_counter {
            self.vet(&source, ANYTHING)?;
            self.vet(object, ANYTHING)?;
        }
        let items = PyDict::new(self.py);
        for (key, value) in self.mapping_or_pairs(&source)? {
            self.vet_key(object, &key)?;
            items.set_item(key, value)?;
        }
        values.positional[0] = items.into_any();
        Ok(())
    }

    fn sort_list(
        &mut self,
        object: &Bound<'py, PyAny>,
        mut args: Args<'_, 'py>,
        place: &str,
    ) -> Eval<Bound<'py, PyAny>> {
        let key = args.take_function("key");
        let values = self.values(args)?;
        let list = object.cast::<PyList>().map_err(PyErr::from)?;
        if !values.positional.is_empty() {
            return Ok(object
                .py()
                .get_type::<PyList>()
                .call_method1("sort", (object, &values.positional[0]))?);
        }
        let reverse = match values.keywords.iter().find(|(name, _)| name == "reverse") {
            Some((_, reverse)) => self.reversed_order(&reverse.clone())?,
            None => false,
        };
        let items: Vec<_> = list.get_slice(0, list.len()).iter().collect();
        self.meter.elements(items.len())?;
        let sorted = self.sort(items, key, reverse)?;
        let old = self.save_telling(object, place)?;
        native::refill_list(list, &PyList::new(self.py, sorted)?)?;
        self.told_mutation(object, place, old);
        Ok(self.py.None().into_bound(self.py))
    }

    /// A call into the regular expression engine, which may backtrack for ages.
    pub(super) fn call_regex(
        &mut self,
        function: &Bound<'py, PyAny>,
        values: Values<'py>,
        is_of_program: bool,
    ) -> Eval<Bound<'py, PyAny>> {
        use super::regex::{SHORT_TEXT, UNWATCHED_PROGRAM_TEXT, UNWATCHED_TEXT, Watched, watched};
        // The checker has looked at the patterns of the heal, and at none in a function that the heal calls.
        let is_of_program = is_of_program || self.machine.depth > 0;
        for value in &values.positional.clone() {
            self.vet(value, ANYTHING)?;
        }
        let length = values.all().filter_map(sequence_len).max().unwrap_or(0);
        self.meter.text(length)?;
        if length <= SHORT_TEXT && !is_of_program {
            return self.call_values(function, values);
        }
        let time = self.meter.time_left();
        let args = pyo3::types::PyTuple::new(self.py, &values.positional)?;
        let keywords = PyDict::new(self.py);
        for (name, value) in &values.keywords {
            keywords.set_item(name, value)?;
        }
        match watched(self.py, time, || function.call(args, Some(&keywords)))? {
            Watched::TooLong => Err(self.meter.too_long()),
            Watched::NotHere if is_of_program && length > UNWATCHED_PROGRAM_TEXT => Err(Stop::limit(
                rule::TIME,
                "a pattern of the program on a long text, in a thread that cannot be interrupted",
                "write the pattern in the healing code, or cut the text",
            )),
            Watched::NotHere if length > UNWATCHED_TEXT => Err(Stop::limit(
                rule::TIME,
                format!(
                    "a pattern on more than {UNWATCHED_TEXT} characters, in a thread that cannot be interrupted"
                ),
                "cut the text",
            )),
            Watched::NotHere => self.call_values(function, values),
            Watched::Done(value) => {
                let value = value?;
                let facts = self.facts.of(&value)?;
                if self.facts.lookup(&facts, "__next__")?.is_some() {
                    self.adopt(&value, &[]);
                }
                self.made(value)
            }
        }
    }
}

pub(super) fn is_mutation(object: &Bound<'_, PyAny>, name: &str) -> bool {
    if !MUTATING.contains(&name) {
        return false;
    }
    object.cast::<PyList>().is_ok()
        || object.cast::<PyDict>().is_ok()
        || object.cast::<PySet>().is_ok()
        || object.cast::<pyo3::types::PyByteArray>().is_ok()
        || guards::is_named(object, "deque")
        || sequence_len(object).is_none() && object.cast::<PyString>().is_err()
}

/// Ordering is asked of elements by these, too.
pub(super) const ORDERED: super::vet::Specials = ORDER;
