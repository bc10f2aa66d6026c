//! Code of the program that provably changes nothing: followed instruction by instruction over the live objects.
//!
//! A check must leave the program as it was, and what CPython runs cannot be taken back. So a function of the program
//! is not run by CPython: [`super::machine`] follows its bytecode, and each instruction does what the interpreter of
//! healing code does for the same operation, under the same limits. What is written must be an object that the same
//! call has made; any other write, and whatever is not known, ends the call before anything was changed.
//!
//! Where C code is going to call a special method, as a dict calls `__hash__`, the method is followed first with the
//! very arguments that it will get; then C code may call it, since it would do the same again.

use std::rc::Rc;

use healcore::tables::Member;
use pyo3::prelude::*;
use rustc_hash::FxHashMap as HashMap;

use super::calls::Values;
use super::instructions::Routine;
use super::interpreter::{Interpreter, Mode};
use super::policy::Decision;
use super::replay::Replay;
use super::stop::{Eval, HealErrorKind, Stop, rule};
use super::vet::{EQUAL, HASH, Specials};
use super::world::Kind;

/// Calls of the program in one another.
pub(super) const MAX_DEPTH: usize = 16;

/// Values that the elements of another one are compared with.
const MAX_OPPOSITE: usize = 256;

/// The state of the calls that are followed.
#[derive(Default)]
pub(super) struct Machine<'py> {
    /// How many calls of the program are open.
    pub(super) depth: usize,
    /// What the outermost call has made, by address: it may be written.
    pub(super) fresh: HashMap<usize, Bound<'py, PyAny>>,
    /// The `super()` objects among it: from which class on they look, and for whom.
    pub(super) supers: HashMap<usize, (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    /// Generators whose elements were computed when they were made: until they are read, nothing may be written.
    pub(super) waiting: Vec<Bound<'py, Replay>>,
    /// The iterator that was begun last.
    pub(super) begun: Option<Bound<'py, PyAny>>,
    /// Callables that the policy wants followed, by address.
    pub(super) followed: HashMap<usize, Bound<'py, PyAny>>,
    /// What functions and classes are among the listed ones, by address.
    pub(super) listed: HashMap<usize, (Bound<'py, PyAny>, Option<&'static Member>)>,
    /// Hashes that follow from attributes alone, by the object's address; they hold until an attribute is written.
    pub(super) hashes: HashMap<usize, (Bound<'py, PyAny>, isize)>,
    /// Containers all of whose keys have such hashes, or plain ones, by address.
    pub(super) tables: HashMap<usize, Table<'py>>,
    /// Whether the call that is followed has read no value that can change but attributes.
    pub(super) reads_attributes_only: bool,
    /// Code that was read.
    pub(super) routines: HashMap<usize, Rc<Routine>>,
    /// The other operands that a special method may get; nothing where they are not known.
    opposite: Option<Rc<Vec<Bound<'py, PyAny>>>>,
    /// The format that `__format__` gets.
    pub(super) spec: Option<Bound<'py, PyAny>>,
    /// How many special methods of the program were followed.
    pub(super) n_proofs: usize,
}

/// The keys of a container by their hashes.
pub(super) struct Table<'py> {
    _container: Bound<'py, PyAny>,
    length: usize,
    keys: HashMap<isize, Vec<Bound<'py, PyAny>>>,
}

/// Special methods that get nothing but the object itself.
const UNARY: &[&str] = &[
    "__abs__",
    "__bool__",
    "__bytes__",
    "__ceil__",
    "__complex__",
    "__float__",
    "__floor__",
    "__fspath__",
    "__hash__",
    "__index__",
    "__int__",
    "__invert__",
    "__iter__",
    "__len__",
    "__neg__",
    "__pos__",
    "__repr__",
    "__reversed__",
    "__str__",
    "__trunc__",
];

/// Special methods that get one operand more.
const BINARY: &[&str] = &[
    "__add__",
    "__and__",
    "__contains__",
    "__divmod__",
    "__eq__",
    "__floordiv__",
    "__ge__",
    "__getitem__",
    "__gt__",
    "__le__",
    "__lshift__",
    "__lt__",
    "__mod__",
    "__mul__",
    "__ne__",
    "__or__",
    "__pow__",
    "__radd__",
    "__rand__",
    "__rdivmod__",
    "__rfloordiv__",
    "__rlshift__",
    "__rmod__",
    "__rmul__",
    "__ror__",
    "__rpow__",
    "__rrshift__",
    "__rshift__",
    "__rsub__",
    "__rtruediv__",
    "__rxor__",
    "__sub__",
    "__truediv__",
    "__xor__",
];

impl<'py> Interpreter<'_, 'py> {
    /// The value that code of the program gives; nothing where the policy has it that CPython may run it.
    pub(super) fn program_value(
        &mut self,
        callable: &Bound<'py, PyAny>,
        values: Values<'py>,
        path: &str,
    ) -> Eval<Option<Bound<'py, PyAny>>> {
        match self.decision(callable, path)? {
            Decision::Allow | Decision::Once => {
                self.forget();
                Ok(None)
            }
            Decision::Refuse { rule, message, help } => Err(Stop::refused(&rule, message, help)),
            Decision::Prove => self.follow(callable, values, path).map(Some),
        }
    }

    /// Follows a call, and gives what it returns or raises.
    pub(super) fn follow(
        &mut self,
        callable: &Bound<'py, PyAny>,
        values: Values<'py>,
        path: &str,
    ) -> Eval<Bound<'py, PyAny>> {
        let is_outermost = self.machine.depth == 0;
        let mode = std::mem::replace(&mut self.mode, Mode::Read);
        let opposite = self.machine.opposite.take();
        let spec = self.machine.spec.take();
        self.machine.depth += 1;
        let value = self.call_object(callable, values, path);
        self.machine.depth -= 1;
        self.machine.spec = spec;
        self.machine.opposite = opposite;
        self.mode = mode;
        let value = value.map_err(|stop| self.named(stop, path));
        if is_outermost {
            self.machine.supers.clear();
            self.machine.fresh.clear();
            self.machine.waiting.clear();
            self.machine.begun = None;
        }
        value
    }

    /// Says of a refusal without a place, such as that of a class, which call it was.
    fn named(&self, stop: Stop, path: &str) -> Stop {
        if stop.exception().is_some() {
            return stop;
        }
        let error = stop.into_error(self.py);
        match &error.kind {
            HealErrorKind::Refused { rule } if rule == rule::PROGRAM_CALL || rule.starts_with("HG") => {
                Stop::refused(rule, error.message, error.hint)
            }
            HealErrorKind::Limit { rule } => Stop::limit(rule, error.message, error.hint),
            _ => unproven(path, &format!("it {}", error.message)),
        }
    }

    /// Makes sure that CPython may call a special method of the program with an object.
    pub(super) fn prove_special(
        &mut self,
        object: &Bound<'py, PyAny>,
        method: &Bound<'py, PyAny>,
        name: &'static str,
        path: &str,
    ) -> Eval<()> {
        match self.decision(method, path)? {
            Decision::Allow | Decision::Once => {
                self.forget();
                return Ok(());
            }
            Decision::Refuse { rule, message, help } => return Err(Stop::refused(&rule, message, help)),
            Decision::Prove => {}
        }
        self.machine.n_proofs += 1;
        if name == "__hash__" {
            return self.prove_hash(object, method, path);
        }
        if UNARY.contains(&name) {
            let value = self.rehearse(method, vec![object.clone()], path)?;
            return match value {
                Some(value) if matches!(name, "__iter__" | "__reversed__") => self.vet_iterator(&value, path),
                _ => Ok(()),
            };
        }
        if name == "__format__"
            && let Some(spec) = self.machine.spec.clone()
        {
            return self.rehearse(method, vec![object.clone(), spec], path).map(drop);
        }
        let opposite = self.machine.opposite.clone();
        let (true, Some(opposite)) = (BINARY.contains(&name), opposite) else {
            return Err(unproven(path, "what it gets as arguments is not known here"));
        };
        for other in opposite.iter() {
            self.rehearse(method, vec![object.clone(), other.clone()], path)?;
        }
        Ok(())
    }

    fn prove_hash(&mut self, object: &Bound<'py, PyAny>, method: &Bound<'py, PyAny>, path: &str) -> Eval<()> {
        let address = object.as_ptr() as usize;
        if self.machine.hashes.contains_key(&address) {
            return Ok(());
        }
        let before = std::mem::replace(&mut self.machine.reads_attributes_only, true);
        let value = self.rehearse(method, vec![object.clone()], path);
        let is_lasting = std::mem::replace(&mut self.machine.reads_attributes_only, before);
        self.machine.reads_attributes_only &= is_lasting;
        if value?.is_some()
            && is_lasting
            && self.inner_values(object, false).is_empty()
            && let Ok(hash) = object.hash()
        {
            self.machine.hashes.insert(address, (object.clone(), hash));
        }
        Ok(())
    }

    /// Notes a value that a followed call has found somewhere.
    pub(super) fn note_read(&mut self, value: &Bound<'py, PyAny>) -> Eval<()> {
        let is_lasting = matches!(self.facts.kind(value)?, Kind::Atom | Kind::Class | Kind::Module);
        self.machine.reads_attributes_only &= is_lasting;
        Ok(())
    }

    /// An attribute was written, or the program has run: hashes may be others now.
    pub(super) fn forget_hashes(&mut self) {
        self.machine.hashes.clear();
        self.machine.tables.clear();
    }

    /// The keys with the hash of a key, where the container's are known.
    pub(super) fn keys_like(
        &self,
        key: &Bound<'py, PyAny>,
        container: usize,
        length: usize,
    ) -> Eval<Option<Vec<Bound<'py, PyAny>>>> {
        let table = self.machine.tables.get(&container);
        let Some(table) = table.filter(|table| table.length == length) else {
            return Ok(None);
        };
        // What has no hash meets no key.
        let same = self.hash_of(key).ok().and_then(|hash| table.keys.get(&hash));
        Ok(Some(same.cloned().unwrap_or_default()))
    }

    /// Remembers the keys of a container, where their hashes last.
    pub(super) fn note_keys(
        &mut self,
        container: &Bound<'py, PyAny>,
        keys: Vec<Bound<'py, PyAny>>,
    ) -> Eval<()> {
        let length = keys.len();
        let mut table: HashMap<isize, Vec<Bound<'py, PyAny>>> = HashMap::default();
        for key in keys {
            let is_known = self.machine.hashes.contains_key(&(key.as_ptr() as usize));
            if !is_known && self.facts.kind(&key)? != Kind::Atom {
                return Ok(());
            }
            table.entry(self.hash_of(&key)?).or_default().push(key);
        }
        let table = Table {
            _container: container.clone(),
            length,
            keys: table,
        };
        self.machine.tables.insert(container.as_ptr() as usize, table);
        Ok(())
    }

    fn hash_of(&self, object: &Bound<'py, PyAny>) -> PyResult<isize> {
        match self.machine.hashes.get(&(object.as_ptr() as usize)) {
            Some((_, hash)) => Ok(*hash),
            None => object.hash(),
        }
    }

    /// Follows a call that CPython is going to make itself; an exception is one that it will raise again.
    fn rehearse(
        &mut self,
        callable: &Bound<'py, PyAny>,
        args: Vec<Bound<'py, PyAny>>,
        path: &str,
    ) -> Eval<Option<Bound<'py, PyAny>>> {
        // What the calls around this one have made existed before it: the second time it would be written again.
        let fresh = std::mem::take(&mut self.machine.fresh);
        let waiting = std::mem::take(&mut self.machine.waiting);
        let value = self.follow(callable, Values::of(args), path);
        self.machine.waiting = waiting;
        self.machine.fresh = fresh;
        match value {
            Ok(value) => Ok(Some(value)),
            Err(stop) if stop.exception().is_some() => Ok(None),
            Err(stop) => Err(stop),
        }
    }

    /// What `__iter__` gives must be an iterator of C code over a container.
    fn vet_iterator(&mut self, iterator: &Bound<'py, PyAny>, path: &str) -> Eval<()> {
        const NATIVE: &[&str] = &[
            "bytes_iterator",
            "dict_itemiterator",
            "dict_keyiterator",
            "dict_valueiterator",
            "list_iterator",
            "list_reverseiterator",
            "range_iterator",
            "set_iterator",
            "str_ascii_iterator",
            "str_iterator",
            "tuple_iterator",
        ];
        let class = iterator.get_type();
        let name = class.qualname()?.to_string();
        if self.facts.module_name(&class) == "builtins" && NATIVE.contains(&name.as_str()) {
            return Ok(());
        }
        Err(unproven(
            path,
            &format!("it gives a `{name}`, not an iterator over a container"),
        ))
    }

    /// Does something of which it is known what the special methods' other operand may be.
    pub(super) fn opposite<T>(
        &mut self,
        others: Vec<Bound<'py, PyAny>>,
        work: impl FnOnce(&mut Self) -> Eval<T>,
    ) -> Eval<T> {
        let before = self.machine.opposite.replace(Rc::new(others));
        let done = work(self);
        self.machine.opposite = before;
        done
    }

    /// As [`Self::opposite`], with a value and everything in it; unknown where that is too much.
    pub(super) fn opposite_of<T>(
        &mut self,
        values: &[&Bound<'py, PyAny>],
        work: impl FnOnce(&mut Self) -> Eval<T>,
    ) -> Eval<T> {
        let others = self.parts(values)?;
        let before = std::mem::replace(&mut self.machine.opposite, others.map(Rc::new));
        let done = work(self);
        self.machine.opposite = before;
        done
    }

    /// The values and everything in them.
    fn parts(&self, values: &[&Bound<'py, PyAny>]) -> Eval<Option<Vec<Bound<'py, PyAny>>>> {
        let mut parts: Vec<Bound<'py, PyAny>> = values.iter().map(|value| (*value).clone()).collect();
        let mut next = 0;
        while let Some(part) = parts.get(next).cloned() {
            next += 1;
            let kind = self.facts.kind(&part)?;
            let inner = match kind {
                Kind::Other => self.inner_values(&part, true),
                _ => self.elements_of(&part, kind)?,
            };
            for value in inner {
                if !parts.iter().any(|known| known.is(&value)) {
                    parts.push(value);
                }
            }
            if parts.len() > MAX_OPPOSITE {
                return Ok(None);
            }
        }
        Ok(Some(parts))
    }

    /// Makes sure that keys with special methods of the program may be looked up: the key, and those it may meet.
    pub(super) fn vet_program_key(
        &mut self,
        key: &Bound<'py, PyAny>,
        keys: &[Bound<'py, PyAny>],
    ) -> Eval<()> {
        // CPython compares keys only where the hashes are equal.
        let Ok(hash) = self.hash_of(key) else {
            return Ok(());
        };
        for other in keys {
            if other.is(key) || self.hash_of(other).is_ok_and(|other| other != hash) {
                continue;
            }
            self.opposite_of(&[key], |this| this.vet(other, EQUAL))?;
            self.opposite_of(&[other], |this| this.vet(key, EQUAL))?;
        }
        Ok(())
    }

    /// Makes sure that the elements of a container may be compared with one another.
    pub(super) fn vet_elements(&mut self, container: &Bound<'py, PyAny>, specials: Specials) -> Eval<()> {
        self.opposite_of(&[container], |this| this.vet(container, specials))
    }

    /// As `vet(key, HASH)`, before it is known which keys it meets.
    pub(super) fn vet_hash(&mut self, key: &Bound<'py, PyAny>) -> Eval<()> {
        self.opposite(Vec::new(), |this| this.vet(key, HASH))
    }
}

/// The refusal of code that could not be shown to change nothing.
pub(super) fn unproven(path: &str, why: &str) -> Stop {
    Stop::refused(
        rule::PROGRAM_CALL,
        format!("`{path}` is code of the program, and it is not shown to change nothing: {why}"),
        "read attributes that are plain values, or write the value that it would give",
    )
}
