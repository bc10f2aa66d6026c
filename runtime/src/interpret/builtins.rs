//! Builtin functions and types: each is the real one, called after its arguments were looked at.

use healcore::tables::Builtin;
use healcore::tree::{BinaryOp, Function};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyList, PyString, PyTuple, PyType};

use super::calls::{Arg, Args, Values};
use super::guards::{self, count, sequence_len};
use super::interpreter::Interpreter;
use super::native;
use super::operators::is_int;
use super::replay::Replay;
use super::stop::{Eval, Stop, rule};
use super::vet::{ANYTHING, HASH, INDEX, NUMBER, ORDER, TEXT};
use super::world::Kind;

/// Digits after the point, or before it.
const MAX_DIGITS: i64 = 4_096;
/// Characters of a number's text.
const MAX_NUMBER_TEXT: usize = 20_000;

impl<'a, 'py> Interpreter<'a, 'py> {
    pub(super) fn call_builtin(
        &mut self,
        builtin: Builtin,
        callable: &Bound<'py, PyAny>,
        mut args: Args<'_, 'py>,
    ) -> Eval<Bound<'py, PyAny>> {
        let py = self.py;
        let truth = |value: bool| PyBool::new(py, value).to_owned().into_any();
        match builtin {
            Builtin::All | Builtin::Any => return self.all_or_any(builtin, callable, args),
            Builtin::Next if matches!(args.positional.first(), Some(Arg::Generator(_))) => {
                return self.first_of_generator(args);
            }
            Builtin::Map | Builtin::Filter => return self.map_or_filter(builtin, args),
            Builtin::Max | Builtin::Min => return self.extreme(callable, args),
            Builtin::Sorted => {
                let key = args.take_function("key");
                let mut values = self.values(args)?;
                let Some(iterable) = values.positional.first() else {
                    return self.call_values(callable, values);
                };
                let items = self.materialise(iterable)?;
                let reverse = match values.keywords.iter().find(|(name, _)| name == "reverse") {
                    Some((_, reverse)) => self.reversed_order(&reverse.clone())?,
                    None => false,
                };
                values.positional.clear();
                let sorted = self.sort(items, key, reverse)?;
                return self.made(PyList::new(py, sorted)?.into_any());
            }
            _ => {}
        }
        let mut values = self.values(args)?;
        let first = values.positional.first().cloned();
        let Some(first) = first else {
            return match builtin {
                Builtin::Print => self.print(&values),
                Builtin::Dict => self.dict(values),
                Builtin::Zip => self.call_iterator(callable, values),
                _ => self.call_values(callable, values),
            };
        };
        match builtin {
            Builtin::Bool => return Ok(truth(self.truth(&first)?)),
            Builtin::Len => {
                let length = self.length(&first)?;
                return Ok(length.into_pyobject(py).map_err(PyErr::from)?.into_any());
            }
            Builtin::Type => return Ok(first.get_type().into_any()),
            Builtin::Print => return self.print(&values),
            Builtin::Dict => return self.dict(values),
            Builtin::Repr => return self.text_of(&first, |value| Ok(value.repr()?.into_any())),
            Builtin::Ascii => {
                self.vet(&first, TEXT)?;
            }
            Builtin::Str if values.positional.len() == 1 && values.keywords.is_empty() => {
                return self.text_of(&first, |value| Ok(value.str()?.into_any()));
            }
            Builtin::Format => {
                let spec = values.positional.get(1).cloned();
                let spec = spec.unwrap_or_else(|| PyString::new(py, "").into_any());
                let before = self.machine.spec.replace(spec);
                let vetted = self.vet(&first, TEXT);
                self.machine.spec = before;
                vetted?;
                if let Some(spec) = values.positional.get(1).and_then(super::statics::text) {
                    guards::spec_widths(&spec)?;
                    guards::widths(&spec)?;
                }
            }
            Builtin::Hasattr => {
                let name = self.attribute_name(values.positional.get(1))?;
                return Ok(truth(self.has_attribute(&first, &name)?));
            }
            Builtin::Getattr => return self.getattr(&first, &values),
            Builtin::Isinstance | Builtin::Issubclass => {
                let Some(class) = values.positional.get(1) else {
                    return self.call_values(callable, values);
                };
                if builtin == Builtin::Isinstance {
                    return Ok(truth(self.is_instance(&first, class)?));
                }
                let Ok(own) = first.cast::<PyType>() else {
                    return Err(PyTypeError::new_err("issubclass() arg 1 must be a class").into());
                };
                let error = "issubclass() arg 2 must be a class, a tuple of classes, or a union";
                return Ok(truth(self.is_subclass(own, class, error, 0)?));
            }
            Builtin::Pow if values.positional.len() == 2 => {
                return self.binary(BinaryOp::Pow, &first, &values.positional[1]);
            }
            Builtin::Pow => self.vet_modular_power(&values)?,
            Builtin::Sum => return self.sum(callable, values),
            Builtin::List => return self.made_list(&first),
            Builtin::Tuple => {
                if first.is_exact_instance_of::<PyTuple>() {
                    return Ok(first);
                }
                let items = self.materialise(&first)?;
                return self.made(PyTuple::new(py, items)?.into_any());
            }
            Builtin::Set | Builtin::Frozenset => {
                let items = PyList::new(py, self.materialise(&first)?)?.into_any();
                self.vet_elements(&items, HASH)?;
                let is_same = builtin == Builtin::Frozenset && callable.is(first.get_type());
                values.positional[0] = if is_same { first } else { items };
            }
            Builtin::Bytes | Builtin::Bytearray => values.positional[0] = self.bytes_source(&first)?,
            Builtin::Enumerate | Builtin::Zip | Builtin::Iter => {
                for value in &values.positional.clone() {
                    if builtin != Builtin::Enumerate || value.is(&first) {
                        self.vet_iterable(value)?;
                    }
                }
                if builtin == Builtin::Iter && self.own_iterator(&first).is_some() {
                    return Ok(first);
                }
                return self.call_iterator(callable, values);
            }
            Builtin::Reversed => {
                self.vet_shallow(&first, &["__reversed__", "__len__", "__getitem__"])?;
                return self.call_iterator(callable, values);
            }
            Builtin::Next => return self.next_value(&first, &values),
            Builtin::Range | Builtin::Slice | Builtin::Bin | Builtin::Hex | Builtin::Oct | Builtin::Chr => {
                for value in &values.positional.clone() {
                    self.vet_shallow(value, INDEX)?;
                }
            }
            Builtin::Abs
            | Builtin::Int
            | Builtin::Float
            | Builtin::Complex
            | Builtin::Round
            | Builtin::Divmod => {
                self.vet_number(builtin, &values)?;
            }
            Builtin::Ord | Builtin::Callable => {}
            Builtin::Str => self.vet(&first, ANYTHING)?,
            Builtin::All
            | Builtin::Any
            | Builtin::Map
            | Builtin::Filter
            | Builtin::Max
            | Builtin::Min
            | Builtin::Sorted => {}
        }
        self.call_values(callable, values)
    }

    fn made_list(&mut self, iterable: &Bound<'py, PyAny>) -> Eval<Bound<'py, PyAny>> {
        let items = self.materialise(iterable)?;
        self.made(PyList::new(self.py, items)?.into_any())
    }

    fn vet_number(&mut self, builtin: Builtin, values: &Values<'py>) -> Eval<()> {
        for value in values.all() {
            if let Some(length) = sequence_len(value)
                && length > MAX_NUMBER_TEXT
            {
                return Err(Stop::limit(
                    rule::STRING,
                    format!("a number of more than {MAX_NUMBER_TEXT} characters"),
                    "cut the text first",
                ));
            }
            match self.facts.kind(value)? {
                Kind::Other if builtin == Builtin::Divmod => {
                    self.vet_shallow(value, &["__divmod__", "__rdivmod__"])?;
                }
                Kind::Other => self.vet_shallow(value, NUMBER)?,
                Kind::Decimal => self.vet(value, ANYTHING)?,
                _ => {}
            }
        }
        if builtin == Builtin::Round
            && let Some(digits) = values.named("ndigits", 1)
        {
            let n_digits = digits.extract::<i64>();
            if is_int(digits) && !n_digits.is_ok_and(|n_digits| n_digits.abs() <= MAX_DIGITS) {
                return Err(Stop::limit(
                    rule::INTEGER,
                    "rounding to too many digits",
                    "use fewer digits",
                ));
            }
        }
        Ok(())
    }

    fn vet_modular_power(&mut self, values: &Values<'py>) -> Eval<()> {
        let mut bits = Vec::new();
        for value in &values.positional {
            self.vet_shallow(value, &["__pow__", "__rpow__"])?;
            bits.push(if is_int(value) {
                native::bit_length(value)?
            } else {
                0
            });
        }
        if let [_, exponent, modulus] = bits.as_slice()
            && exponent.saturating_mul(*modulus) > 1 << 20
        {
            return Err(Stop::limit(
                rule::INTEGER,
                "a power of numbers too large",
                "use smaller numbers",
            ));
        }
        Ok(())
    }

    /// What `bytes(x)` is made of.
    fn bytes_source(&mut self, source: &Bound<'py, PyAny>) -> Eval<Bound<'py, PyAny>> {
        if is_int(source) {
            self.meter.text(count(source))?;
            return Ok(source.clone());
        }
        if source.cast::<PyString>().is_ok()
            || source.cast::<PyBytes>().is_ok()
            || source.cast::<PyByteArray>().is_ok()
        {
            return Ok(source.clone());
        }
        self.vet_shallow(source, &["__bytes__", "__index__", "__buffer__"])?;
        let facts = self.facts.of(source)?;
        if self.facts.lookup(&facts, "__iter__")?.is_none() {
            return Ok(source.clone());
        }
        let items = self.materialise(source)?;
        for item in &items {
            self.vet_shallow(item, INDEX)?;
        }
        Ok(PyList::new(self.py, items)?.into_any())
    }

    fn attribute_name(&self, name: Option<&Bound<'py, PyAny>>) -> Eval<String> {
        match name.and_then(super::statics::text) {
            Some(name) => Ok(name),
            None => Err(PyTypeError::new_err("attribute name must be string").into()),
        }
    }

    fn getattr(&mut self, object: &Bound<'py, PyAny>, values: &Values<'py>) -> Eval<Bound<'py, PyAny>> {
        let name = self.attribute_name(values.positional.get(1))?;
        match values.positional.get(2) {
            Some(default) => self.attribute_or(object, &name, default),
            None => self.attribute(object, &name),
        }
    }

    fn all_or_any(
        &mut self,
        builtin: Builtin,
        callable: &Bound<'py, PyAny>,
        mut args: Args<'_, 'py>,
    ) -> Eval<Bound<'py, PyAny>> {
        let stops_at = builtin == Builtin::Any;
        let mut result = !stops_at;
        match args.positional.pop() {
            Some(Arg::Generator(comprehension)) => self.each(comprehension, &mut |this, element| {
                if this.truth(&element)? == stops_at {
                    result = stops_at;
                    return Ok(false);
                }
                Ok(true)
            })?,
            Some(Arg::Value(iterable)) => {
                let iterator = self.iterate(&iterable)?;
                while let Some(item) = self.next(&iterator)? {
                    if self.truth(&item)? == stops_at {
                        result = stops_at;
                        break;
                    }
                }
            }
            _ => return self.call_values(callable, Values::of(Vec::new())),
        }
        Ok(PyBool::new(self.py, result).to_owned().into_any())
    }

    /// `next((… for …), default)`.
    fn first_of_generator(&mut self, args: Args<'_, 'py>) -> Eval<Bound<'py, PyAny>> {
        let mut positional = args.positional.into_iter();
        let mut found = None;
        if let Some(Arg::Generator(comprehension)) = positional.next() {
            self.each(comprehension, &mut |_, element| {
                found = Some(element);
                Ok(false)
            })?;
        }
        match (found, positional.next()) {
            (Some(found), _) => Ok(found),
            (None, Some(default)) => self.value(default),
            (None, None) => Err(pyo3::exceptions::PyStopIteration::new_err(()).into()),
        }
    }

    fn next_value(&mut self, iterator: &Bound<'py, PyAny>, values: &Values<'py>) -> Eval<Bound<'py, PyAny>> {
        let facts = self.facts.of(iterator)?;
        if self.facts.lookup(&facts, "__next__")?.is_none() {
            let message = format!("'{}' object is not an iterator", self.facts.type_name(iterator));
            return Err(PyTypeError::new_err(message).into());
        }
        let iterator = self.iterate(iterator)?;
        match (self.next(&iterator)?, values.positional.get(1)) {
            (Some(item), _) => Ok(item),
            (None, Some(default)) => Ok(default.clone()),
            (None, None) => Err(pyo3::exceptions::PyStopIteration::new_err(()).into()),
        }
    }

    /// `map` and `filter`: applied at once; an exception waits in the iterator for its turn.
    fn map_or_filter(&mut self, builtin: Builtin, args: Args<'_, 'py>) -> Eval<Bound<'py, PyAny>> {
        let mut positional = args.positional.into_iter();
        let function = positional.next();
        let mut iterators = Vec::new();
        for arg in positional {
            let iterable = self.value(arg)?;
            iterators.push(self.iterate(&iterable)?);
        }
        let identity = Function::Identity(healcore::tree::Span::default());
        let function = match &function {
            Some(Arg::Function(function)) => function,
            Some(Arg::Value(value)) if value.is_none() => &identity,
            _ => {
                return Err(Stop::refused(
                    rule::PROGRAM_CALL,
                    format!("`{}` applies a function that is not listed", builtin.name()),
                    "write a comprehension",
                ));
            }
        };
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
            if row.is_empty() {
                return self.replay(replay);
            }
            let item = row[0].clone();
            let value = match self.apply(function, row) {
                Ok(value) if builtin == Builtin::Map => Ok(Some(value)),
                Ok(value) => self.truth(&value).map(|is_true| is_true.then_some(item)),
                Err(stop) => Err(stop),
            };
            match value {
                Ok(Some(value)) => replay.push(value.unbind()),
                Ok(None) => {}
                Err(stop) => return self.replay_failing(replay, stop),
            }
            self.meter.elements(replay.len())?;
        }
    }

    /// Makes an iterator of values that are known already.
    pub(super) fn replay(&mut self, replay: Replay) -> Eval<Bound<'py, PyAny>> {
        let iterator = Bound::new(self.py, replay)?.into_any();
        self.adopt(&iterator, &[]);
        Ok(iterator)
    }

    pub(super) fn replay_failing(&mut self, mut replay: Replay, stop: Stop) -> Eval<Bound<'py, PyAny>> {
        let Some(error) = stop.exception() else {
            return Err(stop);
        };
        replay.fail(error.clone_ref(self.py));
        self.replay(replay)
    }

    fn extreme(&mut self, callable: &Bound<'py, PyAny>, mut args: Args<'_, 'py>) -> Eval<Bound<'py, PyAny>> {
        let key = args.take_function("key");
        let mut values = self.values(args)?;
        let items = match values.positional.as_slice() {
            [] => return self.call_values(callable, values),
            [iterable] => self.materialise(&iterable.clone())?,
            several => several.to_vec(),
        };
        let Some(key) = key else {
            let list = PyList::new(self.py, &items)?.into_any();
            self.vet_elements(&list, ORDER)?;
            if values.positional.len() == 1 {
                values.positional[0] = list;
            }
            return self.call_values(callable, values);
        };
        if items.is_empty() {
            values.positional = vec![PyList::empty(self.py).into_any()];
            return self.call_values(callable, values);
        }
        let keys = PyList::new(self.py, self.keys(key, &items)?)?;
        self.vet(keys.as_any(), ORDER)?;
        // The real function chooses among the positions, by the keys.
        let positions = PyList::new(self.py, 0..items.len())?;
        let keywords = PyDict::new(self.py);
        keywords.set_item("key", keys.getattr("__getitem__")?)?;
        let position = callable.call((positions,), Some(&keywords))?.extract::<usize>()?;
        Ok(items[position].clone())
    }

    /// `reverse=` takes an integer.
    pub(super) fn reversed_order(&mut self, value: &Bound<'py, PyAny>) -> Eval<bool> {
        if !is_int(value) {
            let message = format!(
                "'{}' object cannot be interpreted as an integer",
                self.facts.type_name(value)
            );
            return Err(PyTypeError::new_err(message).into());
        }
        Ok(value.is_truthy()?)
    }

    /// Sorts by CPython's own sort, with keys computed before.
    pub(super) fn sort(
        &mut self,
        items: Vec<Bound<'py, PyAny>>,
        key: Option<&Function>,
        reverse: bool,
    ) -> Eval<Vec<Bound<'py, PyAny>>> {
        let py = self.py;
        let options = PyDict::new(py);
        options.set_item("reverse", reverse)?;
        let Some(key) = key else {
            let list = PyList::new(py, items)?;
            self.vet_elements(list.as_any(), ORDER)?;
            list.call_method("sort", (), Some(&options))?;
            return Ok(list.iter().collect());
        };
        let keys = PyList::new(py, self.keys(key, &items)?)?;
        self.vet(keys.as_any(), ORDER)?;
        let positions = PyList::new(py, 0..items.len())?;
        options.set_item("key", keys.getattr("__getitem__")?)?;
        positions.call_method("sort", (), Some(&options))?;
        positions
            .iter()
            .map(|position| Ok(items[position.extract::<usize>()?].clone()))
            .collect()
    }

    fn sum(&mut self, callable: &Bound<'py, PyAny>, mut values: Values<'py>) -> Eval<Bound<'py, PyAny>> {
        let items = self.materialise(&values.positional[0].clone())?;
        let mut n_elements = 0_usize;
        let mut is_plain = true;
        for item in &items {
            let kind = self.facts.kind(item)?;
            n_elements = n_elements.saturating_add(match kind {
                Kind::List | Kind::Tuple => sequence_len(item).unwrap_or(0),
                _ => 0,
            });
            is_plain &= matches!(kind, Kind::Atom | Kind::Tuple | Kind::List);
        }
        self.meter.elements(n_elements)?;
        self.meter
            .work((n_elements.saturating_mul(items.len()) >> 14) as u64)?;
        if is_plain {
            let start = values.named("start", 1).cloned();
            if let Some(start) = start {
                self.vet_shallow(&start, &["__add__"])?;
            }
            values.positional[0] = PyList::new(self.py, items)?.into_any();
            return self.call_values(callable, values);
        }
        let mut total = match values.named("start", 1) {
            Some(start) => start.clone(),
            None => 0_i64.into_pyobject(self.py).map_err(PyErr::from)?.into_any(),
        };
        for item in items {
            total = self.binary(BinaryOp::Add, &total, &item)?;
        }
        Ok(total)
    }

    fn dict(&mut self, values: Values<'py>) -> Eval<Bound<'py, PyAny>> {
        let dict = PyDict::new(self.py);
        if let Some(source) = values.positional.first() {
            for (key, value) in self.mapping_or_pairs(source)? {
                self.vet_key(dict.as_any(), &key)?;
                dict.set_item(key, value)?;
            }
        }
        for (name, value) in values.keywords {
            dict.set_item(name, value)?;
        }
        self.made(dict.into_any())
    }

    /// `print` goes to the healing log.
    fn print(&mut self, values: &Values<'py>) -> Eval<Bound<'py, PyAny>> {
        let part = |name: &str, default: &str| {
            let given = values.keywords.iter().find(|(keyword, _)| keyword == name);
            match given {
                None => Ok(default.to_owned()),
                Some((_, value)) if value.is_none() => Ok(default.to_owned()),
                Some((_, value)) => super::statics::text(value).ok_or_else(|| {
                    let class = value
                        .get_type()
                        .qualname()
                        .map_or_else(|_| "?".to_owned(), |name| name.to_string());
                    PyTypeError::new_err(format!("{name} must be None or a string, not {class}"))
                }),
            }
        };
        let (separator, end) = (part("sep", " ")?, part("end", "\n")?);
        let mut texts = Vec::new();
        for value in &values.positional {
            let text = self.text_of(value, |value| Ok(value.str()?.into_any()))?;
            texts.push(
                text.cast_into::<PyString>()
                    .map_err(PyErr::from)?
                    .to_string_lossy()
                    .into_owned(),
            );
        }
        self.printed.push_str(&texts.join(&separator));
        self.printed.push_str(&end);
        self.meter.text(self.printed.len())?;
        Ok(self.py.None().into_bound(self.py))
    }
}
