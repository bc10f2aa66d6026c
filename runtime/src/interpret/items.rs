//! Items: `x[i]`, `x[i] = v`, `del x[i]`.

use healcore::tree::Item;
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PySlice, PyString};

use super::calls::Values;
use super::guards::sequence_len;
use super::interpreter::Interpreter;
use super::journal::{Change, New, Was, render};
use super::statics::Special;
use super::stop::{Eval, Stop, rule};
use super::targets::shown;
use super::vet::{ANYTHING, INDEX};
use super::world::Kind;

impl<'py> Interpreter<'_, 'py> {
    /// `container[index]`.
    pub(super) fn item(
        &mut self,
        container: &Bound<'py, PyAny>,
        index: &Bound<'py, PyAny>,
    ) -> Eval<Bound<'py, PyAny>> {
        if let Some(mapping) = self.behind_proxy(container) {
            return self.item(&mapping, index);
        }
        if index.is_exact_instance_of::<PySlice>() {
            self.vet_slice(index)?;
        }
        let kind = self.facts.kind(container)?;
        match kind {
            Kind::Dict | Kind::View | Kind::ChainMap => {
                if kind == Kind::ChainMap {
                    self.vet_chain(container)?;
                }
                self.vet_key(container, index)?;
                if let Ok(dict) = container.cast::<PyDict>() {
                    return self.dict_item(dict, index);
                }
            }
            Kind::Other | Kind::Class => {
                let facts = self.facts.of(container)?;
                self.vet_memory(container, &facts)?;
                self.vet(index, ANYTHING)?;
                if kind == Kind::Class && self.facts.lookup(&facts, "__getitem__")?.is_none() {
                    // `list[int]`, or `__class_getitem__` of the program.
                    self.vet_class_item(container)?;
                } else if let Some((_, getter)) = self.facts.lookup(&facts, "__getitem__")?
                    && !self.facts.is_native_callable(&getter)
                    && !self.facts.is_library_function(&getter)
                {
                    let path = format!("{}.__getitem__", self.facts.type_name(container));
                    let values = Values::of(vec![container.clone(), index.clone()]);
                    if let Some(value) = self.program_value(&getter, values, &path)? {
                        return Ok(value);
                    }
                } else if let Ok(dict) = container.cast::<PyDict>() {
                    self.vet_key(container, index)?;
                    return self.dict_item(dict, index);
                } else {
                    self.vet_called_back(container, &facts, "__getitem__")?;
                }
            }
            _ => self.vet_shallow(index, INDEX)?,
        }
        let value = container.get_item(index)?;
        if index.is_exact_instance_of::<PySlice>() {
            return self.made(value);
        }
        Ok(value)
    }

    fn vet_class_item(&mut self, class: &Bound<'py, PyAny>) -> Eval<()> {
        let Ok(class) = class.cast::<pyo3::types::PyType>() else {
            return Ok(());
        };
        let facts = self.facts.of_class(class)?;
        if let Special::Program(getter) = self.facts.special(&facts, "__class_getitem__")? {
            let path = format!("{}.__class_getitem__", class.qualname()?);
            self.program_call(&getter, &path)?;
        }
        Ok(())
    }

    /// An item of a dict; a missing key may call `__missing__`.
    fn dict_item(&mut self, dict: &Bound<'py, PyDict>, key: &Bound<'py, PyAny>) -> Eval<Bound<'py, PyAny>> {
        if let Some(value) = dict.get_item(key)? {
            return Ok(value);
        }
        let object = dict.as_any();
        let facts = self.facts.of(object)?;
        let Some((_, missing)) = self.facts.lookup(&facts, "__missing__")? else {
            return Err(PyKeyError::new_err((key.clone().unbind(),)).into());
        };
        if !self.facts.is_native_callable(&missing) {
            if !self.facts.is_library_function(&missing) {
                let path = format!("{}.__missing__", self.facts.type_name(object));
                let values = Values::of(vec![object.clone(), key.clone()]);
                if let Some(value) = self.program_value(&missing, values, &path)? {
                    return Ok(value);
                }
            }
            return Ok(object.get_item(key)?);
        }
        // `defaultdict` stores what its factory gives.
        let factory = object.getattr("default_factory")?;
        if factory.is_none() {
            return Err(PyKeyError::new_err((key.clone().unbind(),)).into());
        }
        self.may_write(format_args!("a missing key of a defaultdict"))?;
        let world = self.facts.world;
        let is_plain = [
            "list",
            "dict",
            "set",
            "int",
            "float",
            "str",
            "bool",
            "tuple",
            "frozenset",
            "bytes",
        ]
        .iter()
        .any(|name| {
            world
                .builtin(self.py, name)
                .is_some_and(|class| class.is(&factory))
        }) || self.facts.world.kind(factory.as_ptr() as usize).is_some();
        if !is_plain {
            self.program_call(
                &factory,
                &format!("{}.default_factory", self.facts.type_name(object)),
            )?;
        }
        let value = object.get_item(key)?;
        self.journal.key(dict, key, None);
        self.forget_keys(object);
        self.tell_item(object, key, "…", None, Some(&value));
        Ok(value)
    }

    /// `container[index] = value`.
    pub(super) fn store_item(
        &mut self,
        container: &Bound<'py, PyAny>,
        index: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        text: &str,
    ) -> Eval<()> {
        self.may_write(format_args!("`{text}[…] = …`"))?;
        if index.is_exact_instance_of::<PySlice>() {
            self.vet_slice(index)?;
        }
        let kind = self.facts.kind(container)?;
        match kind {
            Kind::List => {
                let list = container.cast::<PyList>().map_err(PyErr::from)?;
                self.vet_shallow(index, INDEX)?;
                self.store_list_item(list, index, value, text)
            }
            Kind::Dict => {
                self.vet_key(container, index)?;
                self.store_dict_item(container, index, value, text)
            }
            Kind::ChainMap => {
                let maps = container.getattr("maps")?;
                let first = self.item(
                    &maps,
                    &0_i64.into_pyobject(self.py).map_err(PyErr::from)?.into_any(),
                )?;
                self.store_item(&first, index, value, text)
            }
            Kind::Bytearray | Kind::Deque => {
                self.vet_shallow(index, INDEX)?;
                self.vet(value, ANYTHING)?;
                self.store_whole(container, index, value, text)
            }
            Kind::Other => {
                let facts = self.facts.of(container)?;
                self.vet_memory(container, &facts)?;
                let setter = self
                    .facts
                    .lookup(&facts, "__setitem__")?
                    .map(|(_, setter)| setter);
                match setter {
                    Some(setter) if !self.facts.is_native_callable(&setter) => {
                        let path = format!("{}.__setitem__", self.facts.type_name(container));
                        self.program_call(&setter, &path)?;
                        Ok(container.set_item(index, value)?)
                    }
                    Some(_) if container.cast::<PyDict>().is_ok() => {
                        self.vet_key(container, index)?;
                        self.store_dict_item(container, index, value, text)
                    }
                    Some(_) => {
                        self.vet(index, ANYTHING)?;
                        self.vet(value, ANYTHING)?;
                        self.store_whole(container, index, value, text)
                    }
                    // CPython's own error, for which it asks an index.
                    None => {
                        self.vet_shallow(index, INDEX)?;
                        Ok(container.set_item(index, value)?)
                    }
                }
            }
            Kind::Class | Kind::Module => Err(Stop::refused(
                rule::STORE,
                format!("`{text}[…]`: a class or module is not changed by items"),
                "store on a value",
            )),
            _ => {
                self.vet(index, ANYTHING)?;
                Ok(container.set_item(index, value)?)
            }
        }
    }

    fn store_list_item(
        &mut self,
        list: &Bound<'py, PyList>,
        index: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        text: &str,
    ) -> Eval<()> {
        let container = list.as_any();
        if index.cast::<PySlice>().is_ok() {
            let items = match self.materialise(value) {
                Err(stop)
                    if stop
                        .exception()
                        .is_some_and(|error| error.is_instance_of::<PyTypeError>(self.py)) =>
                {
                    return Err(PyTypeError::new_err("can only assign an iterable").into());
                }
                items => items?,
            };
            self.meter.elements(
                items.len()
                    + sequence_len(container)
                        .unwrap_or(0)
                        .min(self.meter.limits().container),
            )?;
            let items = PyList::new(self.py, items)?.into_any();
            return self.store_whole(container, index, &items, text);
        }
        let old = container.get_item(index);
        container.set_item(index, value)?;
        let old = old?;
        let position = index.extract::<isize>()?;
        let position = if position < 0 {
            position + list.len() as isize
        } else {
            position
        };
        self.journal
            .element(list, usize::try_from(position).unwrap_or(0), old.clone());
        self.tell_item(container, index, text, Some(&old), Some(value));
        Ok(())
    }

    fn store_dict_item(
        &mut self,
        container: &Bound<'py, PyAny>,
        key: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        text: &str,
    ) -> Eval<()> {
        let dict = container.cast::<PyDict>().map_err(PyErr::from)?;
        let old = dict.get_item(key)?;
        if self.is_ordered_dict(container)? {
            self.save(container, text)?;
        }
        container.set_item(key, value)?;
        self.journal.key(dict, key, old.clone());
        if old.is_none() {
            self.meter
                .elements(dict.len().saturating_sub(1).min(self.meter.limits().container))?;
            self.meter.bytes(96)?;
            self.key_was_added(container);
        }
        self.tell_item(container, key, text, old.as_ref(), Some(value));
        Ok(())
    }

    /// Stores into a container of which a whole copy is kept.
    fn store_whole(
        &mut self,
        container: &Bound<'py, PyAny>,
        index: &Bound<'py, PyAny>,
        value: &Bound<'py, PyAny>,
        text: &str,
    ) -> Eval<()> {
        let old = self.save_telling(container, text)?;
        container.set_item(index, value)?;
        self.told_mutation(container, text, old);
        self.journal.wrote(text, value);
        Ok(())
    }

    /// `del container[index]`.
    pub(super) fn delete_item(
        &mut self,
        container: &Bound<'py, PyAny>,
        index: &Bound<'py, PyAny>,
        item: &Item,
    ) -> Eval<()> {
        let text = shown(&item.object);
        self.may_write(format_args!("`del {text}[…]`"))?;
        if index.is_exact_instance_of::<PySlice>() {
            self.vet_slice(index)?;
        }
        let kind = self.facts.kind(container)?;
        if kind == Kind::Other {
            let facts = self.facts.of(container)?;
            let deleter = self
                .facts
                .lookup(&facts, "__delitem__")?
                .map(|(_, deleter)| deleter);
            match deleter {
                Some(deleter) if !self.facts.is_native_callable(&deleter) => {
                    let path = format!("{}.__delitem__", self.facts.type_name(container));
                    self.program_call(&deleter, &path)?;
                    return Ok(container.del_item(index)?);
                }
                Some(_) => {}
                None => {
                    self.vet_shallow(index, INDEX)?;
                    return Ok(container.del_item(index)?);
                }
            }
        }
        if let Ok(dict) = container.cast::<PyDict>() {
            self.vet_key(container, index)?;
            if let Some(old) = dict.get_item(index)? {
                // The order of the keys is a part of the state.
                self.save(container, &text)?;
                container.del_item(index)?;
                self.forget_keys(container);
                self.tell_item(container, index, &text, Some(&old), None);
                return Ok(());
            }
            return Ok(container.del_item(index)?);
        }
        self.vet(index, ANYTHING)?;
        if !matches!(kind, Kind::List | Kind::Bytearray | Kind::Deque | Kind::Other) {
            return Ok(container.del_item(index)?);
        }
        let is_element = container.cast::<PyList>().is_ok() && index.cast::<PyInt>().is_ok();
        let element = if is_element {
            container.get_item(index).ok()
        } else {
            None
        };
        let old = self.save_telling(container, &text)?;
        container.del_item(index)?;
        match element {
            Some(element) => self.tell_item(container, index, &text, Some(&element), None),
            None => self.told_mutation(container, &text, old),
        }
        Ok(())
    }

    fn is_ordered_dict(&self, container: &Bound<'py, PyAny>) -> Eval<bool> {
        if container.is_exact_instance_of::<PyDict>() {
            return Ok(false);
        }
        let class = container.get_type();
        for base in self.facts.mro(&class)?.iter() {
            let base = base.cast_into::<pyo3::types::PyType>().map_err(PyErr::from)?;
            if base
                .qualname()
                .is_ok_and(|name| name.to_string_lossy() == "OrderedDict")
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A plain key was added to a container whose keys were plain.
    fn key_was_added(&mut self, container: &Bound<'py, PyAny>) {
        if let Some((_, length)) = self.plain_keys.get_mut(&(container.as_ptr() as usize)) {
            *length += 1;
        }
    }

    /// The keys of a container have changed in a way that is not followed.
    pub(super) fn forget_keys(&mut self, container: &Bound<'py, PyAny>) {
        self.plain_keys.remove(&(container.as_ptr() as usize));
        self.machine.tables.remove(&(container.as_ptr() as usize));
    }

    fn tell_item(
        &mut self,
        container: &Bound<'py, PyAny>,
        index: &Bound<'py, PyAny>,
        text: &str,
        old: Option<&Bound<'py, PyAny>>,
        new: Option<&Bound<'py, PyAny>>,
    ) {
        let shown = shown_index(index);
        let secret = super::statics::text(index).unwrap_or_else(|| text.to_owned());
        if let Some(new) = new {
            self.journal.wrote(&format!("{text}[{shown}]"), new);
        }
        let line = self.line;
        let was = old.map_or(Was::Absent, |old| Was::Value(old.clone()));
        let old = self.old_value(&secret, old);
        let new = new.map_or(New::Removed, |new| New::Value(new.clone()));
        self.journal.tell(container, &shown, line, new, || Change {
            kind: "item",
            place: format!("{text}[{shown}]"),
            was,
            secret,
            old,
        });
    }
}

/// An index as a place shows it; small numbers and short words, which are most, without asking the renderer.
fn shown_index(index: &Bound<'_, PyAny>) -> String {
    const SHORT: usize = 12;
    if index.is_exact_instance_of::<PyInt>()
        && let Ok(number) = index.extract::<i32>()
    {
        return number.to_string();
    }
    if let Ok(word) = index.cast_exact::<PyString>() {
        let word = word.to_string_lossy();
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        if word.len() <= SHORT && word.bytes().all(is_word) {
            return format!("'{word}'");
        }
    }
    render("", index)
}
