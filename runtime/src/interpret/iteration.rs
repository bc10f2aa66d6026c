//! Iteration: over values that can be iterated again, and over iterators that the heal itself made.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};

use super::interpreter::Interpreter;
use super::native;
use super::stop::{Eval, Stop, rule};
use super::world::Kind;

/// Iterators of the program cannot be taken back.
fn foreign(type_name: &str) -> Stop {
    Stop::refused(
        rule::FOREIGN_ITERATOR,
        format!("a `{type_name}` of the program cannot be read: what is taken from it cannot be put back"),
        "iterate over the list or dict that it draws from, or write the values",
    )
}

impl<'py> Interpreter<'_, 'py> {
    /// Makes sure that a value can be iterated over without running code of the program or consuming its iterator.
    pub(super) fn vet_iterable(&mut self, iterable: &Bound<'py, PyAny>) -> Eval<()> {
        if let Some(mapping) = self.behind_proxy(iterable) {
            return self.vet_iterable(&mapping);
        }
        match self.facts.kind(iterable)? {
            Kind::ChainMap => return self.vet_chain(iterable),
            Kind::Other | Kind::Class | Kind::Data => {}
            _ => return Ok(()),
        }
        if self.own_iterator(iterable).is_some() {
            return Ok(());
        }
        let facts = self.facts.of(iterable)?;
        if self.facts.lookup(&facts, "__next__")?.is_some() {
            return Err(foreign(&self.facts.type_name(iterable)));
        }
        self.vet_shallow(iterable, &["__iter__"])?;
        if self.facts.lookup(&facts, "__iter__")?.is_none() {
            self.vet_shallow(iterable, &["__getitem__"])?;
        }
        Ok(())
    }

    /// Begins an iteration.
    pub(super) fn iterate(&mut self, iterable: &Bound<'py, PyAny>) -> Eval<Bound<'py, PyIterator>> {
        self.vet_iterable(iterable)?;
        Ok(iterable.try_iter()?)
    }

    /// Takes the next element.
    pub(super) fn next(&mut self, iterator: &Bound<'py, PyIterator>) -> Eval<Option<Bound<'py, PyAny>>> {
        self.meter.step()?;
        let Some(item) = iterator.clone().next() else {
            return Ok(None);
        };
        let item = item?;
        // What `accumulate` and `zip` give is new.
        if self.own_iterator(iterator.as_any()).is_some() {
            self.meter.created(&item)?;
        }
        Ok(Some(item))
    }

    /// All elements, within limits.
    pub(super) fn materialise(&mut self, iterable: &Bound<'py, PyAny>) -> Eval<Vec<Bound<'py, PyAny>>> {
        let iterator = self.iterate(iterable)?;
        let mut items = Vec::new();
        while let Some(item) = self.next(&iterator)? {
            items.push(item);
            self.meter.elements(items.len())?;
        }
        Ok(items)
    }

    /// The items of a mapping, as `**mapping` and `dict(mapping)` take them.
    pub(super) fn mapping_items(
        &mut self,
        mapping: &Bound<'py, PyAny>,
    ) -> Eval<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        if let Ok(dict) = mapping.cast::<PyDict>() {
            self.vet_shallow(mapping, &["keys", "__iter__", "__getitem__"])?;
            self.meter.elements(dict.len())?;
            self.meter.work((dict.len() / 8) as u64)?;
            return Ok(native::dict_items(dict));
        }
        let facts = self.facts.of(mapping)?;
        if self.facts.lookup(&facts, "keys")?.is_none() {
            let message = format!("'{}' object is not a mapping", self.facts.type_name(mapping));
            return Err(PyTypeError::new_err(message).into());
        }
        self.vet_shallow(mapping, &["keys", "__iter__", "__getitem__"])?;
        let keys = mapping.call_method0("keys")?;
        let mut items = Vec::new();
        for key in keys.try_iter()? {
            self.meter.step()?;
            let key = key?;
            let value = mapping.get_item(&key)?;
            items.push((key, value));
            self.meter.elements(items.len())?;
        }
        Ok(items)
    }

    /// The items of a mapping or of an iterable of pairs, as `dict(x)` and `d.update(x)` take them.
    pub(super) fn mapping_or_pairs(
        &mut self,
        source: &Bound<'py, PyAny>,
    ) -> Eval<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
        let facts = self.facts.of(source)?;
        if source.cast::<PyDict>().is_ok() || self.facts.lookup(&facts, "keys")?.is_some() {
            return self.mapping_items(source);
        }
        let elements = self.materialise(source)?;
        let mut items = Vec::with_capacity(elements.len());
        for (position, element) in elements.iter().enumerate() {
            let pair = match self.materialise(element) {
                Err(stop)
                    if stop
                        .exception()
                        .is_some_and(|error| error.is_instance_of::<PyTypeError>(self.py)) =>
                {
                    let message = format!(
                        "cannot convert dictionary update sequence element #{position} to a sequence"
                    );
                    return Err(PyTypeError::new_err(message).into());
                }
                pair => pair?,
            };
            match <[Bound<'py, PyAny>; 2]>::try_from(pair) {
                Ok([key, value]) => items.push((key, value)),
                Err(pair) => {
                    let message = format!(
                        "dictionary update sequence element #{position} has length {}; 2 is required",
                        pair.len()
                    );
                    return Err(PyValueError::new_err(message).into());
                }
            }
        }
        Ok(items)
    }
}
