//! Before C code may touch a value: would that run code of the program? Would it ever end?

use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet, PyInt, PyList, PySet, PyTuple};
use rustc_hash::FxHashSet as HashSet;

use super::interpreter::Interpreter;
use super::native;
use super::statics::{self, Special, TypeFacts};
use super::stop::{Eval, Stop, rule};
use super::world::Kind;

/// Special methods that an operation may call.
pub(super) type Specials = &'static [&'static str];

/// `repr`, `str`, `format`.
pub(super) const TEXT: Specials = &["__repr__", "__str__", "__format__"];
/// `repr`, `str`.
pub(super) const SHOWN: Specials = &["__repr__", "__str__"];
/// `==`, `in`.
pub(super) const EQUAL: Specials = &["__eq__", "__ne__", "__buffer__"];
/// `<`, sorting.
pub(super) const ORDER: Specials = &[
    "__lt__",
    "__gt__",
    "__le__",
    "__ge__",
    "__eq__",
    "__ne__",
    "__buffer__",
];
/// Keys.
pub(super) const HASH: Specials = &["__hash__", "__eq__"];
/// Conditions.
pub(super) const TRUTH: Specials = &["__bool__", "__len__"];
/// `len`.
pub(super) const LENGTH: Specials = &["__len__"];
/// Indices and counts.
pub(super) const INDEX: Specials = &["__index__"];
/// Conversions to numbers.
pub(super) const NUMBER: Specials = &[
    "__int__",
    "__index__",
    "__trunc__",
    "__float__",
    "__complex__",
    "__abs__",
    "__round__",
    "__floor__",
    "__ceil__",
    "__buffer__",
];
/// Everything that functions of the library may ask a value.
pub(super) const ANYTHING: Specials = &[
    "__abs__",
    "__add__",
    "__and__",
    "__bool__",
    "__bytes__",
    "__ceil__",
    "__complex__",
    "__contains__",
    "__eq__",
    "__float__",
    "__floor__",
    "__floordiv__",
    "__format__",
    "__fspath__",
    "__ge__",
    "__getattr__",
    "__getattribute__",
    "__getitem__",
    "__gt__",
    "__hash__",
    "__iadd__",
    "__index__",
    "__int__",
    "__iter__",
    "__le__",
    "__len__",
    "__lt__",
    "__mod__",
    "__mul__",
    "__ne__",
    "__neg__",
    "__pow__",
    "__radd__",
    "__repr__",
    "__reversed__",
    "__rfloordiv__",
    "__rmod__",
    "__rmul__",
    "__round__",
    "__rpow__",
    "__rsub__",
    "__rtruediv__",
    "__str__",
    "__sub__",
    "__truediv__",
    "__trunc__",
    "__missing__",
    "__buffer__",
];

/// What `json.dumps` may ask.
pub(super) const JSON: Specials = &[
    "__str__",
    "__repr__",
    "__iter__",
    "__len__",
    "keys",
    "items",
    "__getitem__",
    "__lt__",
];

/// A decimal exponent beyond which a conversion to an integer or a text would not end.
const MAX_EXPONENT: i64 = 4_000;

/// Bits of an integer of the program that may be shown, or be an argument of a function.
const MAX_SHOWN_BITS: u64 = 65_536;

/// One walk over a value.
struct Walk {
    specials: Specials,
    /// The containers around the present value.
    path: Vec<usize>,
    seen: HashSet<usize>,
    n_values: usize,
}

impl<'py> Interpreter<'_, 'py> {
    /// Makes sure that an operation which asks only the value itself runs no code of the program.
    pub(super) fn vet_shallow(&mut self, object: &Bound<'py, PyAny>, specials: Specials) -> Eval<()> {
        match self.facts.kind(object)? {
            Kind::Other => {
                let facts = self.facts.of(object)?;
                self.vet_specials(object, &facts, specials)?;
                if self.is_clock(object) {
                    return self.vet_clock(object, specials);
                }
                Ok(())
            }
            Kind::Class => self.vet_class(object, specials),
            Kind::ChainMap => self.vet_chain(object),
            Kind::Decimal if specials.len() > 2 => self.vet_decimal(object),
            _ => Ok(()),
        }
    }

    /// Makes sure that an operation which goes into the value's elements runs no code of the program, and ends.
    pub(super) fn vet(&mut self, object: &Bound<'py, PyAny>, specials: Specials) -> Eval<()> {
        match self.facts.kind(object)? {
            Kind::Atom => return self.vet_digits(object, specials),
            Kind::Bytearray | Kind::Module => return Ok(()),
            _ => {}
        }
        let mut walk = Walk {
            specials,
            path: Vec::new(),
            seen: HashSet::default(),
            n_values: 0,
        };
        self.walk(object, &mut walk)?;
        self.meter.work((walk.n_values / 16) as u64)
    }

    /// The digits of an integer of the program take time that grows with their square, and so does much of `math`.
    fn vet_digits(&self, object: &Bound<'py, PyAny>, specials: Specials) -> Eval<()> {
        let is_slow = specials.contains(&"__repr__") || specials.contains(&"__trunc__");
        if !is_slow || object.cast::<PyInt>().is_err() {
            return Ok(());
        }
        match native::bit_length(object)? {
            bits if bits > MAX_SHOWN_BITS => self.meter.integer(bits),
            _ => Ok(()),
        }
    }

    fn walk(&mut self, object: &Bound<'py, PyAny>, walk: &mut Walk) -> Eval<()> {
        let kind = self.facts.kind(object)?;
        match kind {
            Kind::Atom | Kind::Bytearray | Kind::Module => return Ok(()),
            Kind::Class => return self.vet_class(object, walk.specials),
            Kind::Decimal => return self.vet_decimal(object),
            Kind::Clock => return self.vet_clock(object, walk.specials),
            Kind::Data => return Ok(()),
            Kind::ChainMap => self.vet_chain(object)?,
            _ => {}
        }
        let identity = object.as_ptr() as usize;
        if walk.path.contains(&identity) {
            return Err(Stop::limit(
                rule::DEPTH,
                "a value that contains itself",
                "compare or show a part of it",
            ));
        }
        if !walk.seen.insert(identity) {
            return Ok(());
        }
        walk.n_values += 1;
        self.meter.elements(walk.n_values / 8)?;
        if walk.path.len() >= self.meter.limits().depth {
            return Err(Stop::limit(
                rule::DEPTH,
                format!(
                    "values nested more than {} levels deep",
                    self.meter.limits().depth
                ),
                "work on an inner value",
            ));
        }
        let children = if kind == Kind::Other {
            let facts = self.facts.of(object)?;
            let asks_fields = self.vet_specials(object, &facts, walk.specials)?;
            if self.is_clock(object) {
                return self.vet_clock(object, walk.specials);
            }
            let mut values = self.inner_values(object, asks_fields);
            if values.is_empty() || object.cast::<PyBaseException>().is_ok() {
                values.extend(self.values_behind(object, walk.specials)?);
            }
            values
        } else {
            self.elements_of(object, kind)?
        };
        if children.is_empty() {
            return Ok(());
        }
        walk.path.push(identity);
        // Most elements are atoms: told apart without a call.
        for child in children {
            walk.n_values += 1;
            if self.facts.world.kind(child.get_type_ptr() as usize) != Some(Kind::Atom) {
                self.walk(&child, walk)?;
            } else if child.is_exact_instance_of::<PyInt>() {
                self.vet_digits(&child, walk.specials)?;
            }
        }
        walk.path.pop();
        Ok(())
    }

    /// Asks what the special methods of a type are; returns whether one of them asks the fields.
    fn vet_specials(
        &mut self,
        object: &Bound<'py, PyAny>,
        facts: &TypeFacts<'py>,
        specials: Specials,
    ) -> Eval<bool> {
        let mut asks_fields = false;
        if self.facts.is_weak_proxy(facts) {
            let path = format!("{} of an object of the program", self.facts.type_name(object));
            self.program_call(object, &path)?;
        }
        for name in specials {
            match self.facts.special(facts, name)? {
                Special::Missing => {}
                Special::Native => self.vet_called_back(object, facts, name)?,
                Special::Fields => asks_fields = true,
                Special::Program(callable) => {
                    let path = format!("{}.{name}", self.facts.type_name(object));
                    self.prove_special(object, &callable, name, &path)?;
                }
            }
        }
        if Self::is_argument(specials) {
            self.vet_argument(object, facts, specials)?;
        }
        if let Some(mapping) = self.behind_proxy(object) {
            self.vet_shallow(&mapping, specials)?;
        }
        Ok(asks_fields)
    }

    /// The mapping behind a read-only proxy, which asks it for everything.
    pub(super) fn behind_proxy(&self, object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        if !object.get_type().is(&self.facts.world.mapping_proxy) {
            return None;
        }
        native::referents(object).into_iter().next()
    }

    /// A class is compared, hashed and shown by its metaclass.
    fn vet_class(&mut self, object: &Bound<'py, PyAny>, specials: Specials) -> Eval<()> {
        let facts = self.facts.of(object)?;
        self.vet_specials(object, &facts, specials).map(drop)
    }

    fn vet_decimal(&mut self, object: &Bound<'py, PyAny>) -> Eval<()> {
        // The program may compute with as many digits as it likes, and its context is that of its thread.
        if let Some(decimal) = super::world::loaded(self.py, "decimal") {
            let n_digits = decimal.getattr("getcontext")?.call0()?.getattr("prec")?;
            if n_digits.extract::<i64>()? > MAX_EXPONENT {
                return Err(Stop::limit(
                    rule::INTEGER,
                    format!("a Decimal where the program computes with more than {MAX_EXPONENT} digits"),
                    "use an int or a float",
                ));
            }
        }
        let exponent = object.call_method0("adjusted")?.extract::<i64>()?;
        if exponent.abs() > MAX_EXPONENT {
            return Err(Stop::limit(
                rule::INTEGER,
                format!("a Decimal with an exponent beyond {MAX_EXPONENT}"),
                "use a smaller number or a float",
            ));
        }
        Ok(())
    }

    /// The time zone of a date may be a class of the program.
    fn vet_clock(&mut self, object: &Bound<'py, PyAny>, specials: Specials) -> Eval<()> {
        let zone = object.getattr("tzinfo")?;
        if zone.is_none() || self.facts.kind(&zone)? != Kind::Other || specials.is_empty() {
            return Ok(());
        }
        let facts = self.facts.of(&zone)?;
        self.vet_specials(&zone, &facts, &["utcoffset", "dst", "tzname"])
            .map(drop)
    }

    /// The values inside an object of an unknown type that its C methods may reach.
    pub(super) fn inner_values(
        &self,
        object: &Bound<'py, PyAny>,
        asks_fields: bool,
    ) -> Vec<Bound<'py, PyAny>> {
        if let Ok(list) = object.cast::<PyList>() {
            return list.get_slice(0, list.len()).iter().collect();
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return tuple.get_slice(0, tuple.len()).iter().collect();
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            return native::dict_items(dict)
                .into_iter()
                .flat_map(|(key, value)| [key, value])
                .collect();
        }
        if object.cast::<PySet>().is_ok() || object.cast::<PyFrozenSet>().is_ok() {
            return self.set_elements(object).unwrap_or_default();
        }
        if object.cast::<PyBaseException>().is_ok() {
            return statics::exception_args(object);
        }
        if let Some(iterator) = self.own_iterator(object) {
            return iterator.sources.clone();
        }
        if asks_fields {
            self.fields(object)
        } else {
            Vec::new()
        }
    }

    /// The values of an instance's dict and slots.
    fn fields(&self, object: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
        let dict = native::instance_dict(object)
            .map(|dict| native::dict_items(&dict))
            .unwrap_or_default();
        let mut values: Vec<_> = dict.into_iter().map(|(_, value)| value).collect();
        let Ok(facts) = self.facts.of(object) else {
            return values;
        };
        values.extend(
            self.facts
                .slots(&facts)
                .iter()
                .filter_map(|slot| native::generic_getattr(object, slot).ok()),
        );
        values
    }

    fn set_elements(&self, object: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let py = object.py();
        let class = if object.cast::<PySet>().is_ok() {
            "set"
        } else {
            "frozenset"
        };
        let class = self.facts.world.builtin(py, class);
        let Some(class) = class else { return Ok(Vec::new()) };
        class.call_method1("__iter__", (object,))?.try_iter()?.collect()
    }

    /// The elements of an exact container.
    pub(super) fn elements_of(&self, object: &Bound<'py, PyAny>, kind: Kind) -> Eval<Vec<Bound<'py, PyAny>>> {
        Ok(match kind {
            Kind::List | Kind::Tuple | Kind::Dict | Kind::Set => self.inner_values(object, false),
            Kind::Deque | Kind::View => {
                let items: Vec<_> = object.try_iter()?.collect::<PyResult<_>>()?;
                items
            }
            Kind::ChainMap => vec![object.getattr("maps")?],
            _ => Vec::new(),
        })
    }

    /// Makes sure that a key may be looked up in, or stored to, a dict or set.
    pub(super) fn vet_key(&mut self, container: &Bound<'py, PyAny>, key: &Bound<'py, PyAny>) -> Eval<()> {
        let n_proofs = self.machine.n_proofs;
        self.vet_hash(key)?;
        let key_is_plain = self.machine.n_proofs == n_proofs;
        // A key of the program with the same hash would be asked whether it is equal.
        let identity = container.as_ptr() as usize;
        // Past a `__len__` of the program.
        let length = match container.cast::<PyDict>() {
            Ok(dict) => dict.len(),
            Err(_) => native::set_len(container).unwrap_or(0),
        };
        if let Some(keys) = self.keys_like(key, identity, length)? {
            return self.vet_program_key(key, &keys);
        }
        if self
            .plain_keys
            .get(&identity)
            .is_some_and(|(_, known)| *known == length)
            && key_is_plain
        {
            return Ok(());
        }
        let keys: Vec<Bound<'py, PyAny>> = if let Ok(dict) = container.cast::<PyDict>() {
            native::dict_items(dict).into_iter().map(|(key, _)| key).collect()
        } else if native::set_len(container).is_some() {
            self.set_elements(container)?
        } else {
            return Ok(());
        };
        self.meter.work((keys.len() / 64) as u64)?;
        for key in &keys {
            if self.facts.world.kind(key.get_type_ptr() as usize) != Some(Kind::Atom) {
                self.vet_hash(key)?;
            }
        }
        if self.machine.n_proofs != n_proofs {
            self.plain_keys.remove(&identity);
            self.vet_program_key(key, &keys)?;
            return self.note_keys(container, keys);
        }
        self.plain_keys.insert(identity, (container.clone(), length));
        Ok(())
    }
}
