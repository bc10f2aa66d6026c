//! Methods of the program that code in C, or Python code of the library, calls back: a subclass of `date` that overrides
//! `isoformat` runs it in `str(day)`, one of `OrderedDict` its `__init__` in `a | b`, and a `slice` asks its parts.

use pyo3::exceptions::PyBaseException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use super::interpreter::{Interpreter, Mode};
use super::native;
use super::statics::{Overridden, TypeFacts};
use super::stop::{Eval, Stop, rule};
use super::vet::Specials;
use super::world::Kind;

/// Methods that show a value: nobody compares or computes by them.
const TEXT_NAMES: &[&str] = &[
    "__format__",
    "__repr__",
    "__str__",
    "ctime",
    "isoformat",
    "strftime",
];

/// Methods that compare: nobody shows or computes by them.
const COMPARING_NAMES: &[&str] = &[
    "__eq__", "__ge__", "__gt__", "__hash__", "__le__", "__lt__", "__ne__",
];

/// Methods that only a statement, or whoever makes an instance, calls.
const MAKING_NAMES: &[&str] = &[
    "__call__",
    "__class_getitem__",
    "__copy__",
    "__deepcopy__",
    "__del__",
    "__dir__",
    "__enter__",
    "__exit__",
    "__getnewargs__",
    "__getstate__",
    "__init__",
    "__init_subclass__",
    "__new__",
    "__post_init__",
    "__reduce__",
    "__reduce_ex__",
    "__set_name__",
    "__setstate__",
    "__sizeof__",
    "_missing_",
    "with_segments",
];

/// Methods that change a container: nobody who reads it calls them.
const CHANGING_NAMES: &[&str] = &[
    "__delattr__",
    "__delitem__",
    "__setattr__",
    "__setitem__",
    "add",
    "append",
    "clear",
    "discard",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "setdefault",
    "update",
];

/// What an exception shows of itself besides its arguments.
const EXCEPTION_FIELDS: &[&str] = &[
    "encoding",
    "errno",
    "filename",
    "filename2",
    "msg",
    "object",
    "reason",
    "strerror",
    "text",
];

/// What a special method is for, which says whom its code in C may ask.
fn may_ask(special: &str, name: &str) -> bool {
    // Only the `class` statement itself asks it.
    if name == "_generate_next_value_" {
        return false;
    }
    let is_text = TEXT_NAMES.contains(&name);
    let is_comparing = COMPARING_NAMES.contains(&name);
    let is_making = MAKING_NAMES.contains(&name);
    let is_changing = CHANGING_NAMES.contains(&name);
    if TEXT_NAMES.contains(&special) {
        !is_comparing && !is_making && !is_changing
    } else if COMPARING_NAMES.contains(&special) {
        !is_text && !is_making && !is_changing
    } else if is_operator(special) {
        !is_text && !is_comparing
    } else {
        !is_text && !is_comparing && !is_making && !is_changing
    }
}

/// Whether a special method makes a value of the same type, or changes the one that it is called on.
fn is_operator(special: &str) -> bool {
    const OPERATORS: &[&str] = &[
        "add", "and", "floordiv", "lshift", "mod", "mul", "or", "pow", "rshift", "sub", "truediv", "xor",
    ];
    let Some(name) = special
        .strip_prefix("__")
        .and_then(|name| name.strip_suffix("__"))
    else {
        return false;
    };
    let is_unary = matches!(name, "abs" | "neg" | "pos" | "invert" | "round");
    let base = |prefix| {
        name.strip_prefix(prefix)
            .is_some_and(|base| OPERATORS.contains(&base))
    };
    is_unary || OPERATORS.contains(&name) || base("r") || base("i")
}

impl<'py> Interpreter<'_, 'py> {
    /// A special method that is not the program's own, found at a position of the MRO: may it call back the program?
    pub(super) fn vet_called_back(
        &mut self,
        object: &Bound<'py, PyAny>,
        facts: &TypeFacts<'py>,
        special: &str,
    ) -> Eval<()> {
        let overridden = self.facts.overridden(facts)?;
        if overridden.is_empty() {
            return Ok(());
        }
        let Some((mut position, _)) = self.facts.lookup(facts, special)? else {
            return Ok(());
        };
        if !self.facts.is_foreign_at(facts, position)? {
            // The library has put a method of its own into a class of the program, as `enum` does.
            position = usize::MAX;
        } else if self.facts.asks_nobody(facts, position)? {
            return Ok(());
        }
        for method in overridden.iter() {
            if method.position < position && may_ask(special, &method.name) {
                self.may_call_back(object, method)?;
            }
        }
        Ok(())
    }

    /// An argument of a function of the library, which may call whatever its type has.
    pub(super) fn vet_argument(
        &mut self,
        object: &Bound<'py, PyAny>,
        facts: &TypeFacts<'py>,
        specials: Specials,
    ) -> Eval<()> {
        for method in self.facts.overridden(facts)?.iter() {
            let name = method.name.as_str();
            if !specials.contains(&name) && !MAKING_NAMES.contains(&name) && name != "_generate_next_value_" {
                self.may_call_back(object, method)?;
            }
        }
        Ok(())
    }

    /// Python code of the library asks the other operand for what it needs.
    pub(super) fn vet_operands(
        &mut self,
        (left_kind, left): (Kind, &Bound<'py, PyAny>),
        (right_kind, right): (Kind, &Bound<'py, PyAny>),
    ) -> Eval<()> {
        let is_computed = |kind, value: &Bound<'py, PyAny>| match kind {
            Kind::Data | Kind::Decimal | Kind::ChainMap => true,
            Kind::Dict => !value.is_exact_instance_of::<PyDict>(),
            Kind::Other => self.facts.of(value).is_ok_and(|facts| !facts.is_of_program()),
            _ => false,
        };
        let (by_left, by_right) = (is_computed(left_kind, left), is_computed(right_kind, right));
        if right_kind == Kind::Other && by_left {
            self.vet_operand(right)?;
        }
        if left_kind == Kind::Other && by_right {
            self.vet_operand(left)?;
        }
        Ok(())
    }

    /// An operand of an operator that Python code of the library computes, as `Fraction` and `Counter` do.
    fn vet_operand(&mut self, object: &Bound<'py, PyAny>) -> Eval<()> {
        let facts = self.facts.of(object)?;
        for method in self.facts.overridden(&facts)?.iter() {
            if may_ask("__len__", &method.name) {
                self.may_call_back(object, method)?;
            }
        }
        Ok(())
    }

    fn may_call_back(&mut self, object: &Bound<'py, PyAny>, method: &Overridden<'py>) -> Eval<()> {
        let path = format!("{}.{}", self.facts.type_name(object), method.name);
        self.program_call(&method.value, &path)
    }

    /// The values behind an object of a type in C that is not known, which its methods may ask: a `slice` its parts, a
    /// `SimpleNamespace` its attributes, a weak reference the object it refers to.
    pub(super) fn values_behind(
        &mut self,
        object: &Bound<'py, PyAny>,
        specials: Specials,
    ) -> Eval<Vec<Bound<'py, PyAny>>> {
        if object.cast::<PyBaseException>().is_ok() {
            let fields = EXCEPTION_FIELDS.iter().filter_map(|name| {
                let value = native::generic_getattr(object, &PyString::new(self.py, name)).ok()?;
                (!self.facts.is_native_callable(&value)).then_some(value)
            });
            return Ok(fields.collect());
        }
        let facts = self.facts.of(object)?;
        let mut is_asked = false;
        for name in specials {
            let Some((position, value)) = self.facts.lookup(&facts, name)? else {
                continue;
            };
            is_asked |= !value.is_none() && !self.facts.asks_nobody(&facts, position)?;
        }
        if !is_asked {
            return Ok(Vec::new());
        }
        if self.facts.is_by_key_function(&facts) {
            self.program_call(object, "a comparison by a function of the program")?;
        }
        if let Some(referent) = native::weak_referent(object) {
            return Ok(vec![referent]);
        }
        const WITH_FRAMES: &[&str] = &["async_generator", "coroutine", "frame", "generator", "traceback"];
        if WITH_FRAMES.contains(&self.facts.type_name(object).as_str()) {
            return Ok(Vec::new());
        }
        let mut values = native::referents(object);
        values.retain(|value| value.cast::<PyType>().is_err());
        Ok(values)
    }

    /// Whether an argument may be asked for anything.
    pub(super) fn is_argument(specials: Specials) -> bool {
        specials.contains(&"__fspath__") || specials.contains(&"items")
    }

    /// The parts of a slice are asked for `__index__`.
    pub(super) fn vet_slice(&mut self, index: &Bound<'py, PyAny>) -> Eval<()> {
        for name in ["start", "stop", "step"] {
            let part = index.getattr(name)?;
            if self.facts.kind(&part)? == Kind::Other {
                self.vet_shallow(&part, super::vet::INDEX)?;
            }
        }
        Ok(())
    }

    /// A `ChainMap` asks the mappings in it.
    pub(super) fn vet_chain(&mut self, chain: &Bound<'py, PyAny>) -> Eval<()> {
        for mapping in chain.getattr("maps")?.try_iter()? {
            let mapping = mapping?;
            self.meter.step()?;
            match self.facts.kind(&mapping)? {
                Kind::Dict => {}
                Kind::ChainMap => self.vet_chain(&mapping)?,
                _ => {
                    let path = format!("`{}` in a `ChainMap`", self.facts.type_name(&mapping));
                    self.program_call(&mapping, &path)?;
                }
            }
        }
        Ok(())
    }

    /// `isinstance` asks `__class__` where the type does not tell.
    pub(super) fn vet_class_of(&mut self, object: &Bound<'py, PyAny>) -> Eval<()> {
        if self.facts.kind(object)? != Kind::Other {
            return Ok(());
        }
        let facts = self.facts.of(object)?;
        let Some((position, value)) = self.facts.lookup(&facts, "__class__")? else {
            return Ok(());
        };
        if self.facts.is_foreign_at(&facts, position)? {
            return Ok(());
        }
        let path = format!("{}.__class__", self.facts.type_name(object));
        self.program_call(&value, &path)
    }

    /// An operator of a flag makes members that are kept by their class: what it keeps is taken back, too.
    pub(super) fn save_members(&mut self, flag: &Bound<'py, PyAny>) -> Eval<()> {
        if self.mode != Mode::Heal || !self.facts.descends_from(flag, "enum", "Flag") {
            return Ok(());
        }
        let facts = self.facts.of(flag)?;
        for name in ["_value2member_map_", "_unhashable_values_"] {
            if let Some((_, members)) = self.facts.lookup(&facts, name)? {
                self.save(&members, name)?;
            }
        }
        Ok(())
    }

    /// The clock in an instance of a subclass of `datetime` or `time` asks its time zone.
    pub(super) fn is_clock(&self, object: &Bound<'py, PyAny>) -> bool {
        ["datetime", "time"]
            .iter()
            .any(|name| self.facts.descends_from(object, "datetime", name))
    }

    /// Objects of `ctypes` are memory of C: a wild pointer would end the process, and fields share what they hold.
    pub(super) fn vet_memory(&mut self, object: &Bound<'py, PyAny>, facts: &TypeFacts<'py>) -> Eval<()> {
        if facts.kind != Kind::Other || !self.facts.is_memory_of_c(facts)? {
            return Ok(());
        }
        Err(Stop::refused(
            rule::ATTRIBUTE,
            format!(
                "a `{}` of `ctypes` is memory of C, which a heal neither reads nor writes",
                self.facts.type_name(object)
            ),
            "use a value of Python",
        ))
    }

    /// A container that keeps its own way to be copied and filled must be the library's, not one that overrides it.
    pub(super) fn vet_own_way(&mut self, object: &Bound<'py, PyAny>) -> Eval<()> {
        let facts = self.facts.of(object)?;
        for method in self.facts.overridden(&facts)?.iter() {
            if matches!(
                method.name.as_str(),
                "__array_finalize__"
                    | "__getitem__"
                    | "__iter__"
                    | "__setitem__"
                    | "clear"
                    | "copy"
                    | "extend"
                    | "nbytes"
            ) {
                return Err(Stop::refused(
                    rule::PROGRAM_CALL,
                    format!(
                        "`{}` has its own `{}`, which would run to keep a copy",
                        self.facts.type_name(object),
                        method.name
                    ),
                    "build a new value and assign it",
                ));
            }
        }
        Ok(())
    }
}
