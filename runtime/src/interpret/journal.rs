//! What a heal has written to live objects: how to take it back, and how to tell it.

use std::collections::BTreeSet;

use healguard::Behaviour;
use protocol::StateChange;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict, PyList, PySet, PyString, PyType};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::render;

use super::behaviours::of_replacing;
use super::native;
use super::world;

/// One way back.
enum Undo<'py> {
    /// An attribute of an instance.
    Attribute {
        object: Bound<'py, PyAny>,
        name: Bound<'py, PyString>,
        old: Option<Bound<'py, PyAny>>,
    },
    /// An attribute of a class.
    Class {
        class: Bound<'py, PyType>,
        name: Bound<'py, PyString>,
        old: Option<Bound<'py, PyAny>>,
    },
    /// A variable of a module.
    Module {
        dict: Bound<'py, PyDict>,
        name: Bound<'py, PyString>,
        old: Option<Bound<'py, PyAny>>,
    },
    /// One element of a list.
    Element {
        list: Bound<'py, PyList>,
        index: usize,
        old: Bound<'py, PyAny>,
    },
    /// One key of a dict.
    Key {
        dict: Bound<'py, PyDict>,
        key: Bound<'py, PyAny>,
        old: Option<Bound<'py, PyAny>>,
    },
    /// A whole container.
    List {
        list: Bound<'py, PyList>,
        items: Bound<'py, PyList>,
    },
    Dict {
        dict: Bound<'py, PyDict>,
        items: Bound<'py, PyDict>,
        /// Where its items stand, which iterators of the program go by.
        places: Vec<usize>,
    },
    Set {
        set: Bound<'py, PySet>,
        items: Bound<'py, PySet>,
    },
    Bytes {
        bytes: Bound<'py, PyByteArray>,
        items: Vec<u8>,
    },
    /// A container that only its own methods fill: `deque`, `OrderedDict`, an array.
    Own {
        object: Bound<'py, PyAny>,
        copy: Bound<'py, PyAny>,
        how: OwnWay,
    },
}

/// How a container of the library is filled again.
#[derive(Clone, Copy)]
pub(super) enum OwnWay {
    Deque,
    OrderedDict,
    Slice,
    NdArray,
}

/// One write as it is told.
pub(super) struct Change<'py> {
    pub(super) kind: &'static str,
    pub(super) place: String,
    /// The last name of the place, which may make its value a secret.
    pub(super) secret: String,
    pub(super) old: Old<'py>,
    pub(super) was: Was<'py>,
}

/// The old value of a change.
pub(super) enum Old<'py> {
    /// There was none.
    Unset,
    /// A text of it, as it may change.
    Text(String),
    /// What cannot change: an atom, or a copy of the journal's own.
    Value(Bound<'py, PyAny>),
}

/// What stood in a place before.
pub(super) enum Was<'py> {
    /// An attribute that had no value.
    Unset,
    /// A key or element that was not there.
    Absent,
    /// A value.
    Value(Bound<'py, PyAny>),
    /// The container itself, of so many elements.
    Container(usize),
}

/// The new value of a change.
pub(super) enum New<'py> {
    /// A value, rendered when the heal is over.
    Value(Bound<'py, PyAny>),
    /// There is none any more.
    Removed,
}

/// A write, and what came out of the last one to its place.
struct Told<'py> {
    change: Change<'py>,
    new: New<'py>,
    line: u32,
}

/// Changes that are told one by one.
const MAX_TOLD: usize = 200;

/// The journal of one run.
#[derive(Default)]
pub(super) struct Journal<'py> {
    undo: Vec<Undo<'py>>,
    saved: HashSet<usize>,
    /// The elements of each container before its first mutation.
    lengths: HashMap<usize, usize>,
    changes: Vec<Told<'py>>,
    change_at: HashMap<(usize, String), usize>,
    n_untold: usize,
    untold: BTreeSet<Behaviour>,
    values: Vec<(String, Bound<'py, PyAny>)>,
    value_at: HashSet<(String, usize)>,
    attributes: Vec<(Bound<'py, PyAny>, String)>,
}

/// What is shown for nothing.
pub(super) const UNSET: &str = "<unset>";
/// What is shown for something that is gone.
pub(super) const REMOVED: &str = "<removed>";

impl<'py> Journal<'py> {
    pub(super) fn attribute(
        &mut self,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
        old: Option<Bound<'py, PyAny>>,
    ) {
        self.undo.push(Undo::Attribute {
            object: object.clone(),
            name: name.clone(),
            old,
        });
    }

    pub(super) fn class(
        &mut self,
        class: &Bound<'py, PyType>,
        name: &Bound<'py, PyString>,
        old: Option<Bound<'py, PyAny>>,
    ) {
        self.undo.push(Undo::Class {
            class: class.clone(),
            name: name.clone(),
            old,
        });
    }

    pub(super) fn module(
        &mut self,
        dict: &Bound<'py, PyDict>,
        name: &Bound<'py, PyString>,
        old: Option<Bound<'py, PyAny>>,
    ) {
        self.undo.push(Undo::Module {
            dict: dict.clone(),
            name: name.clone(),
            old,
        });
    }

    /// Whether the whole container can be restored already.
    pub(super) fn is_saved(&self, object: &Bound<'py, PyAny>) -> bool {
        self.saved.contains(&(object.as_ptr() as usize))
    }

    pub(super) fn element(&mut self, list: &Bound<'py, PyList>, index: usize, old: Bound<'py, PyAny>) {
        if !self.is_saved(list.as_any()) {
            self.undo.push(Undo::Element {
                list: list.clone(),
                index,
                old,
            });
        }
    }

    pub(super) fn key(
        &mut self,
        dict: &Bound<'py, PyDict>,
        key: &Bound<'py, PyAny>,
        old: Option<Bound<'py, PyAny>>,
    ) {
        if !self.is_saved(dict.as_any()) {
            self.undo.push(Undo::Key {
                dict: dict.clone(),
                key: key.clone(),
                old,
            });
        }
    }

    /// Keeps a copy of a container before its first mutation; the undo entry keeps the container alive.
    pub(super) fn save(&mut self, object: &Bound<'py, PyAny>, how: Option<OwnWay>) -> PyResult<bool> {
        if self.is_saved(object) {
            return Ok(true);
        }
        let entry = if let Some(how) = how {
            let copy = match how {
                OwnWay::NdArray => object.call_method0("copy")?,
                OwnWay::Deque => {
                    PyList::new(object.py(), object.try_iter()?.collect::<PyResult<Vec<_>>>()?)?.into_any()
                }
                OwnWay::OrderedDict => native_items(object)?,
                OwnWay::Slice => {
                    let all = pyo3::types::PySlice::full(object.py());
                    object.get_item(all)?
                }
            };
            Undo::Own {
                object: object.clone(),
                copy,
                how,
            }
        } else if let Ok(list) = object.cast::<PyList>() {
            Undo::List {
                list: list.clone(),
                items: list.get_slice(0, list.len()),
            }
        } else if let Ok(dict) = object.cast::<PyDict>() {
            Undo::Dict {
                dict: dict.clone(),
                items: native::copy_dict(dict)?,
                places: native::dict_places(dict),
            }
        } else if let Ok(set) = object.cast::<PySet>() {
            let copy = object.py().get_type::<PySet>().call_method1("copy", (object,))?;
            Undo::Set {
                set: set.clone(),
                items: copy.cast_into::<PySet>()?,
            }
        } else if let Ok(bytes) = object.cast::<PyByteArray>() {
            Undo::Bytes {
                bytes: bytes.clone(),
                items: bytes.to_vec(),
            }
        } else {
            return Ok(false);
        };
        self.saved.insert(object.as_ptr() as usize);
        let length = native::len(object).unwrap_or(0);
        self.lengths.insert(object.as_ptr() as usize, length);
        self.undo.push(entry);
        Ok(true)
    }

    /// Tells of a write; further writes to the same place change only what came out.
    pub(super) fn tell(
        &mut self,
        owner: &Bound<'py, PyAny>,
        key: &str,
        line: u32,
        new: New<'py>,
        change: impl FnOnce() -> Change<'py>,
    ) {
        let at = (owner.as_ptr() as usize, key.to_owned());
        if let Some(known) = self.change_at.get(&at) {
            let known = &mut self.changes[*known];
            known.new = new;
            known.line = line;
            return;
        }
        if self.changes.len() >= MAX_TOLD {
            self.n_untold += 1;
            self.untold.insert(behaviour(&change().was, &new));
            return;
        }
        self.change_at.insert(at, self.changes.len());
        self.changes.push(Told {
            change: change(),
            new,
            line,
        });
    }

    /// Whether a write to the whole container is told already, so that what it was before matters no more.
    pub(super) fn tells_of(&self, owner: &Bound<'py, PyAny>) -> bool {
        self.change_at
            .contains_key(&(owner.as_ptr() as usize, String::new()))
    }

    /// The copy of a list or dict that was just saved.
    pub(super) fn last_copy(&self) -> Option<Bound<'py, PyAny>> {
        match self.undo.last()? {
            Undo::List { items, .. } => Some(items.clone().into_any()),
            Undo::Dict { items, .. } => Some(items.clone().into_any()),
            _ => None,
        }
    }

    /// What kinds of writes there were.
    pub(super) fn behaviours(&self) -> BTreeSet<Behaviour> {
        let told = self
            .changes
            .iter()
            .map(|told| behaviour(&told.change.was, &told.new));
        told.chain(self.untold.iter().copied()).collect()
    }

    /// How many elements a container had before the first mutation; nothing where it was not saved.
    pub(super) fn length_before(&self, object: &Bound<'py, PyAny>) -> Option<usize> {
        self.lengths.get(&(object.as_ptr() as usize)).copied()
    }

    /// Remembers a value that the heal wrote, by its place.
    pub(super) fn wrote(&mut self, place: &str, value: &Bound<'py, PyAny>) {
        if self.value_at.insert((place.to_owned(), value.as_ptr() as usize)) {
            self.values.push((place.to_owned(), value.clone()));
        }
    }

    /// Remembers an attribute that the heal wrote.
    pub(super) fn wrote_attribute(&mut self, owner: &Bound<'py, PyAny>, name: &str) {
        let is_known = self
            .attributes
            .iter()
            .any(|(known, its_name)| known.is(owner) && its_name == name);
        if !is_known {
            self.attributes.push((owner.clone(), name.to_owned()));
        }
    }

    /// All values that were written, each with its place.
    pub(super) fn values(&self) -> &[(String, Bound<'py, PyAny>)] {
        &self.values
    }

    /// All attributes that were written, each with its owner.
    pub(super) fn attributes(&self) -> &[(Bound<'py, PyAny>, String)] {
        &self.attributes
    }

    /// Whether nothing was written to live objects.
    pub(super) fn is_empty(&self) -> bool {
        self.undo.is_empty()
    }

    /// What was written, with the values as they are now.
    pub(super) fn told(&self) -> Vec<(u32, StateChange)> {
        let mut told: Vec<(u32, StateChange)> = Vec::new();
        for Told { change, new, line } in &self.changes {
            let old = match &change.old {
                Old::Unset => UNSET.to_owned(),
                Old::Text(text) => text.clone(),
                Old::Value(value) => render(&change.secret, value),
            };
            let new = match new {
                New::Value(value) => render(&change.secret, value),
                New::Removed => REMOVED.to_owned(),
            };
            told.push((
                *line,
                StateChange {
                    kind: change.kind.to_owned(),
                    place: change.place.clone(),
                    old,
                    new,
                    heal_line: *line,
                },
            ));
        }
        if self.n_untold > 0 {
            told.push((
                u32::MAX,
                StateChange {
                    kind: "item".to_owned(),
                    place: "…".to_owned(),
                    old: String::new(),
                    new: format!("{} further writes", self.n_untold),
                    heal_line: self.changes.last().map_or(0, |told| told.line),
                },
            ));
        }
        told
    }

    /// Takes everything back, the last write first. Goes on where one step fails, and returns the first failure.
    pub(super) fn rollback(&mut self) -> PyResult<()> {
        let mut failure = Ok(());
        while let Some(undo) = self.undo.pop() {
            let done = undo.run();
            if failure.is_ok() {
                failure = done;
            }
        }
        self.saved.clear();
        failure
    }

    /// Keeps everything.
    pub(super) fn commit(&mut self) {
        self.undo.clear();
        self.saved.clear();
    }
}

/// What kind of write it is, by what came out.
fn behaviour(was: &Was<'_>, new: &New<'_>) -> Behaviour {
    let New::Value(new) = new else {
        return Behaviour::ChangeValue;
    };
    match was {
        Was::Unset => Behaviour::InitialiseVariable,
        Was::Absent => Behaviour::FillContainer,
        Was::Value(old) => of_replacing(old, new),
        Was::Container(length) if native::len(new).is_some_and(|now| now > *length) => {
            Behaviour::FillContainer
        }
        Was::Container(_) => Behaviour::ChangeValue,
    }
}

/// Renders a value of a place by the rules for values, with secrets hidden.
pub(super) fn render(secret: &str, value: &Bound<'_, PyAny>) -> String {
    render::named_value(secret, value, &render::Limits::default()).text
}

/// The items of an `OrderedDict` in its own order, as a list of pairs.
fn native_items<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let class = ordered_dict(object.py())?;
    let items = class.call_method1("items", (object,))?;
    Ok(PyList::new(object.py(), items.try_iter()?.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

fn ordered_dict(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    match world::loaded(py, "collections") {
        Some(module) => module.getattr("OrderedDict"),
        None => py.import("collections")?.getattr("OrderedDict"),
    }
}

impl<'py> Undo<'py> {
    fn run(self) -> PyResult<()> {
        match self {
            Self::Attribute { object, name, old } => native::generic_setattr(&object, &name, old.as_ref()),
            Self::Class { class, name, old } => {
                let meta = class.py().get_type::<PyType>();
                match old {
                    Some(old) => meta.call_method1("__setattr__", (class, name, old)).map(drop),
                    None => meta.call_method1("__delattr__", (class, name)).map(drop),
                }
            }
            Self::Module { dict, name, old } => match old {
                Some(old) => dict.set_item(name, old),
                None => dict.del_item(name),
            },
            Self::Element { list, index, old } => list.set_item(index, old),
            Self::Key { dict, key, old } => {
                // Past the methods of a subclass.
                match old {
                    Some(old) => dict.set_item(key, old),
                    None => dict.del_item(key),
                }
            }
            Self::List { list, items } => native::refill_list(&list, &items),
            Self::Dict { dict, items, places } => {
                dict.clear();
                native::refill_dict(&dict, &items, &places)
            }
            Self::Set { set, items } => {
                // Element by element, so that those which were left alone stay in their places.
                let now = set.py().get_type::<PySet>().call_method1("copy", (&set,))?;
                for item in now.cast_into::<PySet>()?.iter() {
                    if !items.contains(&item)? {
                        set.discard(item)?;
                    }
                }
                for item in items.iter() {
                    set.add(item)?;
                }
                Ok(())
            }
            Self::Bytes { bytes, items } => {
                let old = PyByteArray::new(bytes.py(), &items);
                bytes.set_item(pyo3::types::PySlice::full(bytes.py()), old)
            }
            Self::Own { object, copy, how } => match how {
                OwnWay::Deque => {
                    object.call_method0("clear")?;
                    object.call_method1("extend", (copy,)).map(drop)
                }
                OwnWay::OrderedDict => {
                    let class = ordered_dict(object.py())?;
                    class.call_method1("clear", (&object,))?;
                    for pair in copy.try_iter()? {
                        let (key, value) = pair?.extract::<(Bound<'py, PyAny>, Bound<'py, PyAny>)>()?;
                        class.call_method1("__setitem__", (&object, key, value))?;
                    }
                    Ok(())
                }
                OwnWay::Slice => object.set_item(pyo3::types::PySlice::full(object.py()), copy),
                OwnWay::NdArray => object.set_item(object.py().Ellipsis(), copy),
            },
        }
    }
}
