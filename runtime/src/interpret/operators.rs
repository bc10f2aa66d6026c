//! Operators: each is bounded before it computes, and runs no code of the program unasked.

use healcore::tree::{BinaryOp, CompareOp};
use pyo3::basic;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyDict, PyFloat, PyInt, PyList, PySet, PyString, PyTuple};

use super::guards::{self, sequence_len};
use super::interpreter::Interpreter;
use super::journal::{Change, New, Old, OwnWay, Was, render};
use super::native;
use super::stop::{Eval, Stop, rule};
use super::vet::{ANYTHING, EQUAL, HASH, LENGTH, ORDER, SHOWN, TEXT, TRUTH};
use super::world::Kind;

impl<'py> Interpreter<'_, 'py> {
    /// Whether a value counts as true.
    pub(super) fn truth(&mut self, value: &Bound<'py, PyAny>) -> Eval<bool> {
        if let Ok(value) = value.cast_exact::<PyBool>() {
            return Ok(value.is_true());
        }
        self.vet_shallow(value, TRUTH)?;
        Ok(value.is_truthy()?)
    }

    /// Makes sure that `left op right` ends soon and runs no code of the program.
    pub(super) fn guard_binary(
        &mut self,
        op: BinaryOp,
        left: &Bound<'py, PyAny>,
        right: &Bound<'py, PyAny>,
    ) -> Eval<()> {
        if self.is_atom(left) && self.is_atom(right) {
            return self.guard_operands(op, left, right);
        }
        self.opposite_of(&[left, right], |this| this.guard_operands(op, left, right))
    }

    fn guard_operands(
        &mut self,
        op: BinaryOp,
        left: &Bound<'py, PyAny>,
        right: &Bound<'py, PyAny>,
    ) -> Eval<()> {
        let (left_kind, right_kind) = (self.facts.kind(left)?, self.facts.kind(right)?);
        for (kind, value) in [(left_kind, left), (right_kind, right)] {
            if matches!(kind, Kind::Decimal | Kind::Clock) {
                self.vet(value, ANYTHING)?;
            }
        }
        if left_kind == Kind::Other {
            self.opposite(vec![right.clone()], |this| this.vet_shallow(left, forward(op)))?;
        }
        if right_kind == Kind::Other {
            self.opposite(vec![left.clone()], |this| this.vet_shallow(right, reflected(op)))?;
        }
        if left_kind == Kind::Other {
            self.save_members(left)?;
        }
        self.vet_operands((left_kind, left), (right_kind, right))?;
        if left_kind == Kind::Class || right_kind == Kind::Class {
            // `int | None`; a metaclass of the program may define it.
            self.vet_shallow(left, forward(op))?;
            self.vet_shallow(right, reflected(op))?;
        }
        if (left_kind == Kind::Set && right_kind == Kind::Set)
            || left_kind == Kind::View
            || right_kind == Kind::View
        {
            self.vet(left, HASH)?;
            self.vet(right, HASH)?;
        }
        if left_kind == Kind::Dict && right_kind == Kind::Dict {
            self.vet(left, if op == BinaryOp::BitOr { HASH } else { ANYTHING })?;
            self.vet(right, if op == BinaryOp::BitOr { HASH } else { ANYTHING })?;
        }
        if op == BinaryOp::Mod && (left.cast::<PyString>().is_ok() || left.cast::<PyBytes>().is_ok()) {
            self.vet(right, ANYTHING)?;
            guards::percent_format(&self.meter, left, right)?;
            return Ok(());
        }
        guards::arithmetic(&self.meter, op, left, right)
    }

    /// `left op= right`, in place where Python does so; returns what the target is bound to.
    pub(super) fn in_place(
        &mut self,
        op: BinaryOp,
        left: &Bound<'py, PyAny>,
        right: Bound<'py, PyAny>,
        place: &str,
    ) -> Eval<Bound<'py, PyAny>> {
        let kind = self.facts.kind(left)?;
        let changes = match kind {
            Kind::List => matches!(op, BinaryOp::Add | BinaryOp::Mul),
            Kind::Deque => matches!(op, BinaryOp::Add | BinaryOp::Mul),
            Kind::Bytearray => matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::Mod),
            Kind::Dict => true,
            Kind::Set => left.cast::<PySet>().is_ok(),
            Kind::Other => return self.in_place_other(op, left, right, place),
            _ => false,
        };
        if !changes {
            return self.binary(op, left, &right);
        }
        self.may_write(format_args!("`{place} {op}= …`", op = symbol(op)))?;
        let right = match (kind, op) {
            (Kind::List | Kind::Deque, BinaryOp::Add) => {
                let items = self.materialise(&right)?;
                self.meter
                    .elements(sequence_len(left).unwrap_or(0) + items.len())?;
                PyList::new(self.py, items)?.into_any()
            }
            (Kind::Dict, BinaryOp::BitOr) => {
                let merged = PyDict::new(self.py);
                for (key, value) in self.mapping_or_pairs(&right)? {
                    self.vet_key(left, &key)?;
                    merged.set_item(key, value)?;
                }
                merged.into_any()
            }
            _ => {
                self.guard_binary(op, left, &right)?;
                right
            }
        };
        let old = self.save_telling(left, place)?;
        let value = native::in_place(op, left, &right)?;
        self.meter.created(&value)?;
        self.forget_keys(left);
        self.told_mutation(left, place, old);
        self.journal.wrote(place, left);
        Ok(value)
    }

    /// An object of an unknown type: in place only where its type's own code says so.
    fn in_place_other(
        &mut self,
        op: BinaryOp,
        left: &Bound<'py, PyAny>,
        right: Bound<'py, PyAny>,
        place: &str,
    ) -> Eval<Bound<'py, PyAny>> {
        let facts = self.facts.of(left)?;
        let Some((_, method)) = self.facts.lookup(&facts, in_place_name(op))? else {
            return self.binary(op, left, &right);
        };
        if self.facts.is_native_callable(&method) {
            self.guard_binary(op, left, &right)?;
            let old = self.save_telling(left, place)?;
            let right = if left.cast::<PyList>().is_ok() && op == BinaryOp::Add {
                PyList::new(self.py, self.materialise(&right)?)?.into_any()
            } else {
                right
            };
            let value = native::in_place(op, left, &right)?;
            self.told_mutation(left, place, old);
            return Ok(value);
        }
        let path = format!("{}.{}", self.facts.type_name(left), in_place_name(op));
        self.program_call(&method, &path)?;
        Ok(native::in_place(op, left, &right)?)
    }

    /// Keeps a copy of a container before a mutation.
    pub(super) fn save(&mut self, object: &Bound<'py, PyAny>, place: &str) -> Eval<()> {
        let how = self.own_way(object)?;
        if how.is_some() {
            self.vet_own_way(object)?;
        }
        if !self.journal.is_saved(object) {
            let length = sequence_len(object).unwrap_or(0);
            self.meter.bytes(length.saturating_mul(8))?;
            if let Some(OwnWay::NdArray) = how {
                let bytes = object.getattr("nbytes")?.extract::<usize>()?;
                self.meter.bytes(bytes)?;
            }
        }
        if self.journal.save(object, how)? {
            return Ok(());
        }
        Err(Stop::unsupported(
            format!(
                "`{place}` is a {}, whose changes cannot be taken back",
                self.facts.type_name(object)
            ),
            "build a new value and assign it",
        ))
    }

    /// How a container of the library is restored; nothing for the builtin ones and for what is no container.
    fn own_way(&self, object: &Bound<'py, PyAny>) -> Eval<Option<OwnWay>> {
        let is_builtin = object.is_exact_instance_of::<PyList>()
            || object.is_exact_instance_of::<PyDict>()
            || object.is_exact_instance_of::<PySet>()
            || object.is_exact_instance_of::<PyByteArray>();
        if is_builtin {
            return Ok(None);
        }
        let class = object.get_type();
        for base in self.facts.mro(&class)?.iter() {
            let Ok(base) = base.cast_into::<pyo3::types::PyType>() else {
                continue;
            };
            let name = base
                .qualname()
                .map_or_else(|_| String::new(), |name| name.to_string());
            // A class of the program may say that it is the library's.
            let is_own = |module: &str| {
                let own = super::world::loaded(base.py(), module)
                    .and_then(|module| module.dict().get_item(&name).ok().flatten());
                own.is_some_and(|own| own.is(&base))
            };
            let how = match (name.as_str(), self.facts.module_name(&base).as_str()) {
                ("deque", "collections") => OwnWay::Deque,
                ("OrderedDict", "collections") => OwnWay::OrderedDict,
                ("array", "array") => OwnWay::Slice,
                ("ndarray", "numpy") => OwnWay::NdArray,
                _ => continue,
            };
            if !is_own(&self.facts.module_name(&base)) {
                continue;
            }
            return Ok(Some(how));
        }
        Ok(None)
    }

    /// Tells of a mutation of a whole container.
    pub(super) fn told_mutation(&mut self, object: &Bound<'py, PyAny>, place: &str, old: Old<'py>) {
        let line = self.line;
        let was = Was::Container(self.journal.length_before(object).unwrap_or(0));
        let new = New::Value(object.clone());
        self.journal.tell(object, "", line, new, || Change {
            kind: "call",
            place: place.to_owned(),
            secret: place.to_owned(),
            old,
            was,
        });
    }

    /// Keeps a copy of a container before a mutation, and what to tell of it as it was.
    pub(super) fn save_telling(&mut self, object: &Bound<'py, PyAny>, place: &str) -> Eval<Old<'py>> {
        if self.journal.tells_of(object) {
            self.save(object, place)?;
            return Ok(Old::Unset);
        }
        if !self.journal.is_saved(object) && self.holds_few_atoms(object) {
            self.save(object, place)?;
            if let Some(copy) = self.journal.last_copy() {
                return Ok(Old::Value(copy));
            }
        }
        let old = render(place, object);
        self.save(object, place)?;
        Ok(Old::Text(old))
    }

    /// Whether a value is a list or dict of some values that cannot change: a copy shows later what it shows now.
    fn holds_few_atoms(&self, object: &Bound<'py, PyAny>) -> bool {
        const FEW: usize = 32;
        let is_atom = |value: &Bound<'py, PyAny>| self.is_atom(value);
        if let Ok(list) = object.cast_exact::<PyList>() {
            return list.len() <= FEW && list.iter().all(|item| is_atom(&item));
        }
        if let Ok(dict) = object.cast_exact::<PyDict>() {
            return dict.len() <= FEW && dict.iter().all(|(key, value)| is_atom(&key) && is_atom(&value));
        }
        false
    }

    fn is_atom(&self, value: &Bound<'py, PyAny>) -> bool {
        self.facts.world.kind(value.get_type_ptr() as usize) == Some(Kind::Atom)
    }

    /// What to tell of a value that something else takes the place of.
    pub(super) fn old_value(&self, secret: &str, old: Option<&Bound<'py, PyAny>>) -> Old<'py> {
        match old {
            None => Old::Unset,
            Some(old) if self.is_atom(old) => Old::Value(old.clone()),
            Some(old) => Old::Text(render(secret, old)),
        }
    }

    pub(super) fn comparison(
        &mut self,
        op: CompareOp,
        left: &Bound<'py, PyAny>,
        right: &Bound<'py, PyAny>,
    ) -> Eval<Bound<'py, PyAny>> {
        let truth = |value: bool| PyBool::new(left.py(), value).to_owned().into_any();
        let op = match op {
            CompareOp::Is => return Ok(truth(left.is(right))),
            CompareOp::IsNot => return Ok(truth(!left.is(right))),
            CompareOp::In => return Ok(truth(self.contains(right, left)?)),
            CompareOp::NotIn => return Ok(truth(!self.contains(right, left)?)),
            CompareOp::Eq => basic::CompareOp::Eq,
            CompareOp::NotEq => basic::CompareOp::Ne,
            CompareOp::Lt => basic::CompareOp::Lt,
            CompareOp::LtE => basic::CompareOp::Le,
            CompareOp::Gt => basic::CompareOp::Gt,
            CompareOp::GtE => basic::CompareOp::Ge,
        };
        let specials = if matches!(op, basic::CompareOp::Eq | basic::CompareOp::Ne) {
            EQUAL
        } else {
            ORDER
        };
        let (left_kind, right_kind) = (self.facts.kind(left)?, self.facts.kind(right)?);
        self.vet_operands((left_kind, left), (right_kind, right))?;
        if left_kind != Kind::Atom {
            self.opposite_of(&[right], |this| this.vet(left, specials))?;
        }
        if right_kind != Kind::Atom {
            self.opposite_of(&[left], |this| this.vet(right, specials))?;
        }
        Ok(left.rich_compare(right, op)?)
    }

    /// `value in container`.
    fn contains(&mut self, container: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> Eval<bool> {
        match self.facts.kind(container)? {
            Kind::Dict | Kind::Set => self.is_element(container, value),
            _ => self.opposite_of(&[container, value], |this| this.is_element(container, value)),
        }
    }

    fn is_element(&mut self, container: &Bound<'py, PyAny>, value: &Bound<'py, PyAny>) -> Eval<bool> {
        if let Some(mapping) = self.behind_proxy(container) {
            return self.is_element(&mapping, value);
        }
        match self.facts.kind(container)? {
            Kind::Class => {
                self.vet_shallow(container, &["__contains__", "__iter__", "__getitem__"])?;
                self.vet(value, EQUAL)?;
                Ok(container.contains(value)?)
            }
            Kind::ChainMap => {
                self.vet_chain(container)?;
                self.vet(value, HASH)?;
                self.vet(container, HASH)?;
                Ok(container.contains(value)?)
            }
            Kind::Dict | Kind::Set => {
                self.vet_key(container, value)?;
                Ok(container.contains(value)?)
            }
            Kind::Other if self.own_iterator(container).is_some() => {
                self.vet(value, EQUAL)?;
                let items = self.materialise(container)?;
                let items = PyList::new(self.py, items)?;
                self.vet(items.as_any(), EQUAL)?;
                Ok(items.contains(value)?)
            }
            Kind::Other => {
                let facts = self.facts.of(container)?;
                if self.facts.lookup(&facts, "__contains__")?.is_some() {
                    self.opposite(vec![value.clone()], |this| {
                        this.vet_shallow(container, &["__contains__"])
                    })?;
                    self.vet(value, ANYTHING)?;
                    self.vet(container, HASH)?;
                    return Ok(container.contains(value)?);
                }
                let items = self.materialise(container)?;
                let items = PyList::new(self.py, items)?;
                self.vet(items.as_any(), EQUAL)?;
                self.vet(value, EQUAL)?;
                Ok(items.contains(value)?)
            }
            kind => {
                self.vet(value, EQUAL)?;
                if kind.is_container() {
                    self.vet(container, HASH)?;
                    self.meter
                        .work((sequence_len(container).unwrap_or(0) / 64) as u64)?;
                }
                guards::range_search(&self.meter, container, value)?;
                Ok(container.contains(value)?)
            }
        }
    }

    /// `len(value)`.
    pub(super) fn length(&mut self, value: &Bound<'py, PyAny>) -> Eval<usize> {
        self.vet_shallow(value, LENGTH)?;
        Ok(value.len()?)
    }

    /// `str(value)`, `repr(value)`, `format(value, spec)`: whatever `show` does with it.
    pub(super) fn text_of(
        &mut self,
        value: &Bound<'py, PyAny>,
        show: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> Eval<Bound<'py, PyAny>> {
        if !value.is_exact_instance_of::<PyString>() && !value.is_exact_instance_of::<PyFloat>() {
            // Only where a format is known is it about `__format__`.
            let is_format = self.machine.spec.is_some();
            self.vet(value, if is_format { TEXT } else { SHOWN })?;
        }
        let text = show(value)?;
        self.made(text)
    }
}

/// Whether a value is an int or of a subclass.
pub(super) fn is_int(value: &Bound<'_, PyAny>) -> bool {
    value.cast::<PyInt>().is_ok()
}

/// Whether `*` repeats the value.
pub(super) fn is_sequence(value: &Bound<'_, PyAny>) -> bool {
    value.cast::<PyString>().is_ok()
        || value.cast::<PyBytes>().is_ok()
        || value.cast::<PyByteArray>().is_ok()
        || value.cast::<PyList>().is_ok()
        || value.cast::<PyTuple>().is_ok()
}

/// The refusal of a program's function as a value.
pub(super) fn function_value(path: &str) -> Stop {
    Stop::refused(
        rule::FUNCTION_VALUE,
        format!("`{path}` is a function or method, which healing code does not use as a value"),
        "store the value that it would give",
    )
}

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::FloorDiv => "//",
        BinaryOp::Mod => "%",
        BinaryOp::Pow => "**",
        BinaryOp::LeftShift => "<<",
        BinaryOp::RightShift => ">>",
        BinaryOp::BitAnd => "&",
        BinaryOp::BitOr => "|",
        BinaryOp::BitXor => "^",
    }
}

fn forward(op: BinaryOp) -> &'static [&'static str] {
    match op {
        BinaryOp::Add => &["__add__"],
        BinaryOp::Sub => &["__sub__"],
        BinaryOp::Mul => &["__mul__"],
        BinaryOp::Div => &["__truediv__"],
        BinaryOp::FloorDiv => &["__floordiv__"],
        BinaryOp::Mod => &["__mod__"],
        BinaryOp::Pow => &["__pow__"],
        BinaryOp::LeftShift => &["__lshift__"],
        BinaryOp::RightShift => &["__rshift__"],
        BinaryOp::BitAnd => &["__and__"],
        BinaryOp::BitOr => &["__or__"],
        BinaryOp::BitXor => &["__xor__"],
    }
}

/// What the right operand is asked, `__index__` included where the left one may be a sequence.
fn reflected(op: BinaryOp) -> &'static [&'static str] {
    match op {
        BinaryOp::Add => &["__radd__", "__buffer__"],
        BinaryOp::Sub => &["__rsub__"],
        BinaryOp::Mul => &["__rmul__", "__index__"],
        BinaryOp::Div => &["__rtruediv__"],
        BinaryOp::FloorDiv => &["__rfloordiv__"],
        BinaryOp::Mod => &["__rmod__"],
        BinaryOp::Pow => &["__rpow__"],
        BinaryOp::LeftShift => &["__rlshift__"],
        BinaryOp::RightShift => &["__rrshift__"],
        BinaryOp::BitAnd => &["__rand__"],
        BinaryOp::BitOr => &["__ror__"],
        BinaryOp::BitXor => &["__rxor__"],
    }
}

fn in_place_name(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "__iadd__",
        BinaryOp::Sub => "__isub__",
        BinaryOp::Mul => "__imul__",
        BinaryOp::Div => "__itruediv__",
        BinaryOp::FloorDiv => "__ifloordiv__",
        BinaryOp::Mod => "__imod__",
        BinaryOp::Pow => "__ipow__",
        BinaryOp::LeftShift => "__ilshift__",
        BinaryOp::RightShift => "__irshift__",
        BinaryOp::BitAnd => "__iand__",
        BinaryOp::BitOr => "__ior__",
        BinaryOp::BitXor => "__ixor__",
    }
}
