//! Finds the value at a place without running user code.

use protocol::{Failure, FailureKind};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyModule, PyString, PyTuple, PyType};

use super::container::Container;
use super::library;
use super::place::{Key, Place, Step};
use super::scope::Names;
use super::statics;
use super::value;

/// Returns the value at a place that is rooted at a name of the frame.
pub(crate) fn resolve<'py>(names: &Names<'py>, place: &Place) -> Result<Bound<'py, PyAny>, Failure> {
    let mut value = names
        .get(&place.root)
        .ok_or_else(|| unknown_name(names, &place.root))?;
    let mut path = place.root.clone();
    for step in &place.steps {
        value = match step {
            Step::Attribute(name) => attribute(&value, name, &path)?,
            Step::Item(key) => item(&value, key, &path)?,
            Step::ItemAt(index) => {
                let index = resolve(names, index)?;
                let key = key_of(&index).ok_or_else(|| {
                    let message = format!("the index of `{path}` is no plain value");
                    unknown(message, "write the key or index as a literal")
                })?;
                item(&value, &key, &path)?
            }
            Step::Slice(start, stop) => slice(&value, *start, *stop, &path)?,
        };
        path.push_str(&step.to_string());
    }
    Ok(value)
}

/// Returns the failure for a name that the frame does not know.
pub(crate) fn unknown_name(names: &Names<'_>, name: &str) -> Failure {
    let known = names.all();
    let locals: Vec<&str> = names
        .locals
        .iter()
        .take(12)
        .map(|(name, _)| name.as_str())
        .collect();
    let hint = match near(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{near}`?"),
        None if locals.is_empty() => "the frame has no variables of its own".to_owned(),
        None => format!("the frame has: {}", locals.join(", ")),
    };
    unknown(format!("no variable `{name}` in this frame"), hint)
}

fn unknown(message: impl Into<String>, hint: impl Into<String>) -> Failure {
    Failure::new(FailureKind::UnknownPlace, message, hint)
}

fn near<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, candidate)| *likeness >= 0.8 || strsim::osa_distance(word, candidate) == 1)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

fn attribute<'py>(object: &Bound<'py, PyAny>, name: &str, path: &str) -> Result<Bound<'py, PyAny>, Failure> {
    if let Ok(module) = object.cast::<PyModule>() {
        return statics::dict_get(&module.dict(), name).ok_or_else(|| unknown_attribute(object, name, path));
    }
    if let Ok(class) = object.cast::<PyType>() {
        let found = statics::class_attribute(class, name).ok().flatten();
        return found
            .map(|(_, value)| value)
            .ok_or_else(|| unknown_attribute(object, name, path));
    }
    let in_class = statics::class_attribute(&object.get_type(), name)
        .ok()
        .flatten()
        .map(|(_, value)| value);
    if let Some(descriptor) = &in_class
        && statics::is_native_descriptor(descriptor)
        && let Some(value) = statics::native_attribute(object, name)
    {
        return Ok(value);
    }
    if let Some(value) = statics::instance_dict(object).and_then(|dict| statics::dict_get(&dict, name)) {
        return Ok(value);
    }
    if let Some(fields) = value::namedtuple_fields(object)
        && let Some((_, value)) = fields.into_iter().find(|(field, _)| field == name)
    {
        return Ok(value);
    }
    let Some(found) = in_class else {
        return Err(unknown_attribute(object, name, path));
    };
    let is_function = statics::qualname(&found.get_type()) == "function";
    let is_descriptor =
        statics::class_attribute(&found.get_type(), "__get__").is_ok_and(|getter| getter.is_some());
    if is_descriptor && !is_function {
        return Err(unknown(
            format!("`{path}.{name}` is computed by the program's own code"),
            "look at the attributes it is computed from, or ask for it with `evaluate`",
        ));
    }
    Ok(found)
}

fn unknown_attribute(object: &Bound<'_, PyAny>, name: &str, path: &str) -> Failure {
    let mut known: Vec<String> = value::attributes(object)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    if let Ok(module) = object.cast::<PyModule>() {
        known = names_of(&module.dict());
    }
    let hint = match near(name, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{path}.{near}`?"),
        None if known.is_empty() => format!("`{path}` has no attributes of its own"),
        None => format!(
            "it has: {}",
            known.into_iter().take(12).collect::<Vec<_>>().join(", ")
        ),
    };
    unknown(
        format!(
            "`{path}` ({}) has no attribute `{name}`",
            statics::type_name(object)
        ),
        hint,
    )
}

fn names_of(dict: &Bound<'_, PyDict>) -> Vec<String> {
    statics::dict_items(dict, 0, usize::MAX)
        .iter()
        .filter_map(|(key, _)| statics::exact_text(key))
        .collect()
}

fn item<'py>(object: &Bound<'py, PyAny>, key: &Key, path: &str) -> Result<Bound<'py, PyAny>, Failure> {
    let py = object.py();
    if let Ok(dict) = object.cast::<PyDict>() {
        let found = statics::dict_find(dict, |candidate| is_key(candidate, key));
        return found.ok_or_else(|| unknown_key(dict, key, path));
    }
    let not_indexed = || {
        unknown(
            format!(
                "`{path}` ({}) cannot be indexed by {key} without running its own code",
                statics::type_name(object)
            ),
            "look at its attributes, or ask with `evaluate`",
        )
    };
    let library_item = || {
        let index = index_object(py, key).ok()?;
        library::item(object, &index)?.ok()
    };
    let container = Container::of_subclass(object).or_else(|| library::items(object));
    let Key::Int(index) = key else {
        return library_item().ok_or_else(not_indexed);
    };
    let at = |length: usize| {
        let position = if *index < 0 {
            *index + length as i64
        } else {
            *index
        };
        usize::try_from(position)
            .ok()
            .filter(|position| *position < length)
            .ok_or_else(|| {
                let hint = match length {
                    0 => format!("`{path}` is empty"),
                    _ => format!("`{path}` has the indices 0 to {}", length - 1),
                };
                unknown(format!("`{path}[{index}]` is out of range"), hint)
            })
    };
    match container {
        Some(Container::Set(_) | Container::FrozenSet(_)) => Err(not_indexed()),
        Some(container) => {
            let position = at(container.len())?;
            container
                .items(position, 1)
                .pop()
                .map(|(_, item)| item)
                .ok_or_else(not_indexed)
        }
        None => {
            if let Ok(text) = object.cast::<PyString>() {
                let position = at(statics::text_len(text))?;
                return value::text_part(text, position, position + 1)
                    .map(Bound::into_any)
                    .map_err(|_| not_indexed());
            }
            if let Ok(bytes) = object.cast::<PyBytes>() {
                let position = at(bytes.as_bytes().len())?;
                return Ok(PyInt::new(py, bytes.as_bytes()[position]).into_any());
            }
            library_item().ok_or_else(not_indexed)
        }
    }
}

fn unknown_key(dict: &Bound<'_, PyDict>, key: &Key, path: &str) -> Failure {
    let keys: Vec<String> = statics::dict_items(dict, 0, 200)
        .iter()
        .map(|(key, _)| shown_key(key))
        .collect();
    let hint = match near(&key.to_string(), keys.iter().map(String::as_str)) {
        Some(near) => format!("did you mean `{path}[{near}]`?"),
        None if keys.is_empty() => format!("`{path}` is empty"),
        None => format!(
            "it has: {}",
            keys.into_iter().take(12).collect::<Vec<_>>().join(", ")
        ),
    };
    unknown(format!("`{path}` has no key {key}"), hint)
}

/// Returns a key as a path writes it.
pub(crate) fn shown_key(key: &Bound<'_, PyAny>) -> String {
    match key_of(key) {
        Some(key) if key.to_string().len() <= 60 => key.to_string(),
        _ => value::named_value("", key, &value::Limits::with_depth(1)).text,
    }
}

fn slice<'py>(
    object: &Bound<'py, PyAny>,
    start: Option<i64>,
    stop: Option<i64>,
    path: &str,
) -> Result<Bound<'py, PyAny>, Failure> {
    let bounds = |length: usize| {
        let clamp = |bound: i64| {
            let from_start = if bound < 0 {
                bound.saturating_add(length as i64)
            } else {
                bound
            };
            from_start.clamp(0, length as i64) as usize
        };
        let start = start.map_or(0, clamp);
        (start, stop.map_or(length, clamp).max(start))
    };
    let failed = |_| unknown(format!("`{path}` cannot be cut"), "look at the whole");
    if let Ok(text) = object.cast::<PyString>() {
        let (start, stop) = bounds(statics::text_len(text));
        return value::text_part(text, start, stop)
            .map(Bound::into_any)
            .map_err(failed);
    }
    if let Ok(bytes) = object.cast::<PyBytes>() {
        let (start, stop) = bounds(bytes.as_bytes().len());
        return Ok(value::bytes_part(bytes, start, stop).into_any());
    }
    let container = Container::of_subclass(object).or_else(|| library::items(object));
    match container {
        Some(container @ (Container::List(_) | Container::Tuple(_))) => {
            let (start, stop) = bounds(container.len());
            let items = container
                .items(start, stop - start)
                .into_iter()
                .map(|(_, item)| item);
            PyList::new(object.py(), items.collect::<Vec<_>>())
                .map(Bound::into_any)
                .map_err(failed)
        }
        _ => Err(unknown(
            format!(
                "`{path}` ({}) cannot be cut without running its own code",
                statics::type_name(object)
            ),
            "use `start` and `count`, or name one item",
        )),
    }
}

fn is_key(candidate: &Bound<'_, PyAny>, key: &Key) -> bool {
    key_of(candidate).is_some_and(|candidate| candidate == *key)
}

fn key_of(object: &Bound<'_, PyAny>) -> Option<Key> {
    if object.is_none() {
        return Some(Key::None);
    }
    if object.is_exact_instance_of::<PyBool>() {
        return object.extract().ok().map(Key::Bool);
    }
    if object.is_exact_instance_of::<PyInt>() {
        return object.extract().ok().map(Key::Int);
    }
    if object.is_exact_instance_of::<PyFloat>() {
        return object.extract().ok().map(Key::Float);
    }
    if let Some(text) = statics::exact_text(object) {
        return Some(Key::Text(text));
    }
    if let Ok(bytes) = object.cast_exact::<PyBytes>() {
        return Some(Key::Bytes(bytes.as_bytes().to_vec()));
    }
    let tuple = object.cast_exact::<PyTuple>().ok()?;
    // A key may hold itself no more than a tuple can; its depth is that of the program's literal.
    tuple
        .iter()
        .map(|item| {
            if item.is_exact_instance_of::<PyTuple>() {
                None
            } else {
                key_of(&item)
            }
        })
        .collect::<Option<Vec<_>>>()
        .map(Key::Tuple)
}

fn index_object<'py>(py: Python<'py>, key: &Key) -> PyResult<Bound<'py, PyAny>> {
    Ok(match key {
        Key::None => py.None().into_bound(py),
        Key::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Key::Int(value) => PyInt::new(py, *value).into_any(),
        Key::Float(value) => PyFloat::new(py, *value).into_any(),
        Key::Text(text) => PyString::new(py, text).into_any(),
        Key::Bytes(bytes) => PyBytes::new(py, bytes).into_any(),
        Key::Tuple(keys) => {
            let items = keys
                .iter()
                .map(|key| index_object(py, key))
                .collect::<PyResult<Vec<_>>>()?;
            PyTuple::new(py, items)?.into_any()
        }
    })
}
