//! Where values are stored: names, attributes, items, and unpacking over them.

use healcore::tree::{BinaryOp, Binding, Expr, ExprKind, Index, Place, Target, UnpackBinding, UnpackTarget};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;

use super::interpreter::Interpreter;
use super::stop::Eval;

/// Binds one variable.
type Bind<'b, 'py, I> = dyn FnMut(&mut I, &str, Bound<'py, PyAny>) -> Eval<()> + 'b;

impl<'py> Interpreter<'_, 'py> {
    pub(super) fn store(&mut self, target: &Target, value: Bound<'py, PyAny>) -> Eval<()> {
        self.meter.step()?;
        match target {
            Target::Place(place) => self.store_place(place, value),
            Target::Unpack { targets, .. } => {
                let star = targets
                    .iter()
                    .position(|target| matches!(target, UnpackTarget::Rest(_)));
                let values = self.unpack(&value, targets.len(), star)?;
                for (target, value) in targets.iter().zip(values) {
                    let (UnpackTarget::One(target) | UnpackTarget::Rest(target)) = target;
                    self.store(target, value)?;
                }
                Ok(())
            }
        }
    }

    fn store_place(&mut self, place: &Place, value: Bound<'py, PyAny>) -> Eval<()> {
        match place {
            Place::Name(name) => self.store_name(&name.id, value),
            Place::Attribute {
                object: expr, name, ..
            } => {
                let object = self.expr(expr)?;
                self.store_attribute(&object, name, &value, &shown(expr))
            }
            Place::Item(item) => {
                let object = self.expr(&item.object)?;
                let index = self.index(&item.index)?;
                self.store_item(&object, &index, &value, &shown(&item.object))
            }
        }
    }

    pub(super) fn store_name(&mut self, name: &str, value: Bound<'py, PyAny>) -> Eval<()> {
        self.names.set(name, value, self.line)
    }

    /// Binds the variables of a loop.
    pub(super) fn bind(&mut self, binding: &Binding, value: Bound<'py, PyAny>) -> Eval<()> {
        self.each_binding(binding, value, &mut |this, name, value| {
            this.store_name(name, value)
        })
    }

    /// Binds the variables of a comprehension.
    pub(super) fn bind_inner(&mut self, binding: &Binding, value: Bound<'py, PyAny>) -> Eval<()> {
        self.each_binding(binding, value, &mut |this, name, value| {
            this.names.bind_inner(name, value);
            Ok(())
        })
    }

    fn each_binding(
        &mut self,
        binding: &Binding,
        value: Bound<'py, PyAny>,
        bind: &mut Bind<'_, 'py, Self>,
    ) -> Eval<()> {
        match binding {
            Binding::Name(name) => bind(self, &name.id, value),
            Binding::Unpack { bindings, .. } => {
                let star = bindings
                    .iter()
                    .position(|binding| matches!(binding, UnpackBinding::Rest(_)));
                let values = self.unpack(&value, bindings.len(), star)?;
                for (binding, value) in bindings.iter().zip(values) {
                    let (UnpackBinding::One(binding) | UnpackBinding::Rest(binding)) = binding;
                    self.each_binding(binding, value, bind)?;
                }
                Ok(())
            }
        }
    }

    /// `a, b, *c = value`: as many values as targets, the starred one a list.
    fn unpack(
        &mut self,
        value: &Bound<'py, PyAny>,
        n_targets: usize,
        star: Option<usize>,
    ) -> Eval<Vec<Bound<'py, PyAny>>> {
        let n_needed = n_targets - usize::from(star.is_some());
        let iterator = match self.iterate(value) {
            Err(stop)
                if stop
                    .exception()
                    .is_some_and(|error| error.is_instance_of::<PyTypeError>(self.py)) =>
            {
                let message = format!(
                    "cannot unpack non-iterable {} object",
                    self.facts.type_name(value)
                );
                return Err(PyTypeError::new_err(message).into());
            }
            iterator => iterator?,
        };
        let mut values = Vec::new();
        while let Some(item) = self.next(&iterator)? {
            values.push(item);
            if star.is_none() && values.len() > n_needed {
                let message = format!("too many values to unpack (expected {n_needed})");
                return Err(PyValueError::new_err(message).into());
            }
            self.meter.elements(values.len())?;
        }
        if values.len() < n_needed {
            let at_least = if star.is_some() { "at least " } else { "" };
            let message = format!(
                "not enough values to unpack (expected {at_least}{n_needed}, got {})",
                values.len()
            );
            return Err(PyValueError::new_err(message).into());
        }
        if let Some(star) = star {
            let n_rest = values.len() - n_needed;
            let rest: Vec<_> = values.drain(star..star + n_rest).collect();
            let rest = self.made(PyList::new(self.py, rest)?.into_any())?;
            values.insert(star, rest);
        }
        Ok(values)
    }

    pub(super) fn aug_assign(&mut self, place: &Place, op: BinaryOp, value: &Expr) -> Eval<()> {
        match place {
            Place::Name(name) => {
                let old = self.names.get(&name.id)?;
                let right = self.expr(value)?;
                let new = self.in_place(op, &old, right, &name.id)?;
                self.store_name(&name.id, new)
            }
            Place::Attribute {
                object: expr, name, ..
            } => {
                let object = self.expr(expr)?;
                let text = shown(expr);
                let old = self.attribute(&object, name)?;
                let right = self.expr(value)?;
                let new = self.in_place(op, &old, right, &format!("{text}.{name}"))?;
                self.store_attribute(&object, name, &new, &text)
            }
            Place::Item(item) => {
                let object = self.expr(&item.object)?;
                let index = self.index(&item.index)?;
                let text = shown(&item.object);
                let old = self.item(&object, &index)?;
                let right = self.expr(value)?;
                let new = self.in_place(op, &old, right, &format!("{text}[…]"))?;
                self.store_item(&object, &index, &new, &text)
            }
        }
    }
}

/// An expression as a place is told: names, attributes and constant items; what is longer is left out.
pub(super) fn shown(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Name(name) => name.clone(),
        ExprKind::Attribute { value, name } => format!("{}.{name}", shown(value)),
        ExprKind::Subscript { value, index } => {
            let index = match &**index {
                Index::Value(Expr {
                    kind: ExprKind::Constant(constant),
                    ..
                }) => shown_constant(constant),
                Index::Value(Expr {
                    kind: ExprKind::Name(name),
                    ..
                }) => name.clone(),
                _ => "…".to_owned(),
            };
            format!("{}[{index}]", shown(value))
        }
        ExprKind::Call(_) => "(…)".to_owned(),
        _ => "…".to_owned(),
    }
}

fn shown_constant(constant: &healcore::tree::Constant) -> String {
    use healcore::tree::Constant;
    match constant {
        Constant::Int(integer) => integer
            .to_u64()
            .map_or_else(|| "…".to_owned(), |value| value.to_string()),
        Constant::Str(text) if text.len() <= 40 => format!("{text:?}"),
        Constant::None => "None".to_owned(),
        Constant::Bool(value) => if *value { "True" } else { "False" }.to_owned(),
        _ => "…".to_owned(),
    }
}
