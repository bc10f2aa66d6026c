//! Expressions.

use healcore::tree::{
    BinaryOp, Binding, BoolOp, Clause, CompareOp, Comprehension, Constant, DictComprehension, DictItem,
    Element, Expr, ExprKind, Index, Path, UnaryOp, UnpackBinding,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyComplex, PyDict, PyFloat, PyInt, PyList, PySet, PySlice, PyString, PyTuple,
};

use super::interpreter::Interpreter;
use super::names::Scope;
use super::stop::{Eval, Stop};

/// Takes one round of a comprehension; false ends it.
type Collect<'c, 's, 'a, 'py> = dyn FnMut(&mut Interpreter<'a, 'py>) -> Eval<bool> + 'c;

impl<'a, 'py> Interpreter<'a, 'py> {
    pub(super) fn expr(&mut self, expr: &Expr) -> Eval<Bound<'py, PyAny>> {
        self.meter.step()?;
        let py = self.py;
        match &expr.kind {
            ExprKind::Constant(constant) => self.constant(constant),
            ExprKind::Name(name) => self.names.get(name),
            ExprKind::Type(class) => self.builtin(class.name()),
            ExprKind::Exception(class) => self.builtin(class.name()),
            ExprKind::Member(member) => self.member(member),
            ExprKind::Attribute { value, name } => {
                let value = self.expr(value)?;
                self.attribute(&value, name)
            }
            ExprKind::Subscript { value, index } => {
                let value = self.expr(value)?;
                let index = self.index(index)?;
                self.item(&value, &index)
            }
            ExprKind::Binary { left, op, right } => {
                let left = self.expr(left)?;
                let right = self.expr(right)?;
                self.binary(*op, &left, &right)
            }
            ExprKind::Unary { op, operand } => {
                let operand = self.expr(operand)?;
                self.unary(*op, &operand)
            }
            ExprKind::Bool { op, values } => self.bool_op(*op, values),
            ExprKind::Compare { first, rest } => self.compare(first, rest),
            ExprKind::Conditional { test, body, orelse } => {
                if self.condition(test)? {
                    self.expr(body)
                } else {
                    self.expr(orelse)
                }
            }
            ExprKind::List(elements) => {
                let elements = self.display(elements)?;
                self.made(PyList::new(py, elements)?.into_any())
            }
            ExprKind::Tuple(elements) => {
                let elements = self.display(elements)?;
                self.made(PyTuple::new(py, elements)?.into_any())
            }
            ExprKind::Set(elements) => {
                let elements = self.display(elements)?;
                let set = PySet::empty(py)?;
                for element in elements {
                    self.vet_key(set.as_any(), &element)?;
                    set.add(element)?;
                }
                self.made(set.into_any())
            }
            ExprKind::Dict(items) => self.dict_display(items),
            ExprKind::FString(parts) => self.f_string(parts),
            ExprKind::ListComp(comprehension) => {
                let items = self.collect(comprehension)?;
                self.made(PyList::new(py, items)?.into_any())
            }
            ExprKind::SetComp(comprehension) => {
                let set = PySet::empty(py)?;
                self.each(comprehension, &mut |this, element| {
                    this.vet_key(set.as_any(), &element)?;
                    set.add(element)?;
                    this.meter.elements(set.len())?;
                    Ok(true)
                })?;
                self.made(set.into_any())
            }
            ExprKind::DictComp(comprehension) => self.dict_comprehension(comprehension),
            ExprKind::Call(call) => self.call(call),
        }
    }

    fn constant(&mut self, constant: &Constant) -> Eval<Bound<'py, PyAny>> {
        let py = self.py;
        Ok(match constant {
            Constant::None => py.None().into_bound(py),
            Constant::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
            Constant::Int(integer) => match integer.to_u64() {
                Some(value) => value.into_pyobject(py).map_err(PyErr::from)?.into_any(),
                None => {
                    let bytes = PyBytes::new(py, integer.to_le_bytes());
                    py.get_type::<PyInt>()
                        .call_method1("from_bytes", (bytes, "little"))?
                }
            },
            Constant::Float(value) => PyFloat::new(py, *value).into_any(),
            Constant::Imaginary(value) => PyComplex::from_doubles(py, 0.0, *value).into_any(),
            Constant::Str(text) => PyString::new(py, text).into_any(),
            Constant::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        })
    }

    /// A dotted name of the frame; a function may stand at its end.
    pub(super) fn path(&mut self, path: &Path) -> Eval<Bound<'py, PyAny>> {
        let mut value = self.names.get(&path.root)?;
        for name in &path.attributes {
            self.meter.step()?;
            value = self.attribute_or_method(&value, name)?;
        }
        Ok(value)
    }

    pub(super) fn index(&mut self, index: &Index) -> Eval<Bound<'py, PyAny>> {
        let py = self.py;
        match index {
            Index::Value(value) => self.expr(value),
            Index::Slice(slice) => {
                let bound = |this: &mut Self, bound: &Option<Expr>| match bound {
                    Some(bound) => this.expr(bound),
                    None => Ok(py.None().into_bound(py)),
                };
                let lower = bound(self, &slice.lower)?;
                let upper = bound(self, &slice.upper)?;
                let step = bound(self, &slice.step)?;
                for part in [&lower, &upper, &step] {
                    self.vet_shallow(part, super::vet::INDEX)?;
                }
                Ok(py.get_type::<PySlice>().call1((lower, upper, step))?)
            }
            Index::Tuple(parts) => {
                let parts = parts
                    .iter()
                    .map(|part| self.index(part))
                    .collect::<Eval<Vec<_>>>()?;
                Ok(PyTuple::new(py, parts)?.into_any())
            }
        }
    }

    fn bool_op(&mut self, op: BoolOp, values: &[Expr]) -> Eval<Bound<'py, PyAny>> {
        let (last, firsts) = values
            .split_last()
            .expect("a boolean operation has two or more values");
        for value in firsts {
            let value = self.expr(value)?;
            let is_true = self.truth(&value)?;
            if is_true == (op == BoolOp::Or) {
                return Ok(value);
            }
        }
        self.expr(last)
    }

    fn compare(&mut self, first: &Expr, rest: &[(CompareOp, Expr)]) -> Eval<Bound<'py, PyAny>> {
        let mut left = self.expr(first)?;
        let mut result = None;
        for (op, right) in rest {
            if let Some(result) = result
                && !self.truth(&result)?
            {
                return Ok(result);
            }
            let right = self.expr(right)?;
            result = Some(self.comparison(*op, &left, &right)?);
            left = right;
        }
        Ok(result.expect("a comparison has an operator"))
    }

    pub(super) fn unary(&mut self, op: UnaryOp, operand: &Bound<'py, PyAny>) -> Eval<Bound<'py, PyAny>> {
        let value = match op {
            UnaryOp::Not => PyBool::new(self.py, !self.truth(operand)?).to_owned().into_any(),
            UnaryOp::Minus => {
                self.vet_shallow(operand, &["__neg__"])?;
                operand.neg()?
            }
            UnaryOp::Plus => {
                self.vet_shallow(operand, &["__pos__"])?;
                operand.pos()?
            }
            UnaryOp::Invert => {
                self.vet_shallow(operand, &["__invert__"])?;
                operand.bitnot()?
            }
        };
        self.made(value)
    }

    fn display(&mut self, elements: &[Element]) -> Eval<Vec<Bound<'py, PyAny>>> {
        let mut values = Vec::with_capacity(elements.len());
        for element in elements {
            match element {
                Element::One(expr) => values.push(self.expr(expr)?),
                Element::Star(expr) => {
                    let iterable = self.expr(expr)?;
                    values.extend(self.starred(&iterable)?);
                }
            }
            self.meter.elements(values.len())?;
        }
        Ok(values)
    }

    fn starred(&mut self, iterable: &Bound<'py, PyAny>) -> Eval<Vec<Bound<'py, PyAny>>> {
        match self.materialise(iterable) {
            Err(stop)
                if stop
                    .exception()
                    .is_some_and(|error| error.is_instance_of::<PyTypeError>(self.py)) =>
            {
                let message = format!(
                    "Value after * must be an iterable, not {}",
                    self.facts.type_name(iterable)
                );
                Err(PyTypeError::new_err(message).into())
            }
            values => values,
        }
    }

    fn dict_display(&mut self, items: &[DictItem]) -> Eval<Bound<'py, PyAny>> {
        let dict = PyDict::new(self.py);
        for item in items {
            match item {
                DictItem::Pair(key, value) => {
                    let key = self.expr(key)?;
                    let value = self.expr(value)?;
                    self.vet_key(dict.as_any(), &key)?;
                    dict.set_item(key, value)?;
                }
                DictItem::Star(expr) => {
                    let mapping = self.expr(expr)?;
                    for (key, value) in self.mapping_items(&mapping)? {
                        self.vet_key(dict.as_any(), &key)?;
                        dict.set_item(key, value)?;
                    }
                }
            }
        }
        self.made(dict.into_any())
    }

    fn dict_comprehension(&mut self, comprehension: &DictComprehension) -> Eval<Bound<'py, PyAny>> {
        let dict = PyDict::new(self.py);
        let first = self.first_iterable(&comprehension.clauses)?;
        self.names.enter(scope_of(&comprehension.clauses));
        let done = self.clauses(&comprehension.clauses, Some(first), &mut |this| {
            let key = this.expr(&comprehension.key)?;
            let value = this.expr(&comprehension.value)?;
            this.vet_key(dict.as_any(), &key)?;
            dict.set_item(key, value)?;
            this.meter.elements(dict.len())?;
            Ok(true)
        });
        self.names.leave();
        done?;
        self.made(dict.into_any())
    }

    /// All elements of a comprehension.
    pub(super) fn collect(&mut self, comprehension: &Comprehension) -> Eval<Vec<Bound<'py, PyAny>>> {
        let mut items = Vec::new();
        self.each(comprehension, &mut |this, element| {
            items.push(element);
            this.meter.elements(items.len())?;
            Ok(true)
        })?;
        Ok(items)
    }

    /// The elements of a comprehension, one by one, until `take` says false.
    pub(super) fn each(
        &mut self,
        comprehension: &Comprehension,
        take: &mut dyn FnMut(&mut Self, Bound<'py, PyAny>) -> Eval<bool>,
    ) -> Eval<()> {
        let first = self.first_iterable(&comprehension.clauses)?;
        self.names.enter(scope_of(&comprehension.clauses));
        let done = self.clauses(&comprehension.clauses, Some(first), &mut |this| {
            let element = this.expr(&comprehension.element)?;
            take(this, element)
        });
        self.names.leave();
        done.map(drop)
    }

    /// The first clause's iterable is evaluated outside the comprehension's scope.
    fn first_iterable(&mut self, clauses: &[Clause]) -> Eval<Bound<'py, PyAny>> {
        let first = clauses.first().expect("a comprehension has a clause");
        self.expr(&first.iterable)
    }

    fn clauses(
        &mut self,
        clauses: &[Clause],
        evaluated: Option<Bound<'py, PyAny>>,
        collect: &mut Collect<'_, '_, 'a, 'py>,
    ) -> Eval<bool> {
        let Some((clause, rest)) = clauses.split_first() else {
            return collect(self);
        };
        let iterable = match evaluated {
            Some(iterable) => iterable,
            None => self.expr(&clause.iterable)?,
        };
        let iterator = self.iterate(&iterable)?;
        'rounds: while let Some(item) = self.next(&iterator)? {
            self.bind_inner(&clause.target, item)?;
            for condition in &clause.conditions {
                if !self.condition(condition)? {
                    continue 'rounds;
                }
            }
            if !self.clauses(rest, None, collect)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `left op right`, within limits.
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: &Bound<'py, PyAny>,
        right: &Bound<'py, PyAny>,
    ) -> Eval<Bound<'py, PyAny>> {
        self.guard_binary(op, left, right)?;
        let value = super::native::binary(op, left, right).map_err(Stop::from)?;
        self.made(value)
    }
}

/// The variables of a comprehension, unbound yet.
fn scope_of<'py>(clauses: &[Clause]) -> Scope<'py> {
    let mut scope = Vec::new();
    for clause in clauses {
        declare(&clause.target, &mut scope);
    }
    scope
}

fn declare(binding: &Binding, scope: &mut Scope<'_>) {
    match binding {
        Binding::Name(name) => scope.push((name.id.clone(), None)),
        Binding::Unpack { bindings, .. } => {
            for binding in bindings {
                let (UnpackBinding::One(binding) | UnpackBinding::Rest(binding)) = binding;
                declare(binding, scope);
            }
        }
    }
}
