//! One value in one line: bounded, redacted, and without running user code; every cut is announced.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyTuple, PyType};

use super::container::Container;
use super::library;
use super::redact::{self, REDACTED, Secrecy};
use super::statics;

/// How much of a value is shown.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Characters wanted; twice as many are never passed.
    pub(crate) line: usize,
    /// Items of a container.
    pub(crate) items: usize,
    /// Levels of containers.
    pub(crate) depth: usize,
    /// Characters of a text before the cut.
    pub(crate) head: usize,
    /// Characters of a text after the cut.
    pub(crate) tail: usize,
    /// Characters of a key, or of an attribute's value.
    pub(crate) child: usize,
    /// Attributes of an object.
    pub(crate) attributes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            line: 120,
            items: 8,
            depth: 2,
            head: 56,
            tail: 16,
            child: 40,
            attributes: 6,
        }
    }
}

impl Limits {
    /// Returns the limits of one line that shows more levels, and has more room for them.
    pub(crate) fn with_depth(depth: usize) -> Self {
        let depth = depth.min(6);
        let room = depth.saturating_sub(1).max(1);
        Self {
            depth,
            line: 120 * room,
            child: 40 * room,
            ..Self::default()
        }
    }

    /// Returns the limits for one value that may take `max_chars`.
    pub(crate) fn wide(max_chars: usize) -> Self {
        let line = (max_chars / 2).max(60);
        Self {
            line,
            items: (max_chars / 8).max(8),
            depth: 4,
            head: (line * 3 / 2).saturating_sub(40).max(40),
            tail: 16,
            child: (line / 2).max(40),
            attributes: 50,
        }
    }
}

/// A value in one line.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    /// The value's type.
    pub(crate) type_name: String,
    /// The value.
    pub(crate) text: String,
    /// Whether something was left out.
    pub(crate) cut: bool,
}

/// Renders a value.
pub(crate) fn value(object: &Bound<'_, PyAny>, limits: &Limits) -> Rendered {
    named_value("", object, limits)
}

/// Renders what an expression gave; a secret's name in it makes it a secret.
pub(crate) fn evaluated(expression: &str, object: &Bound<'_, PyAny>, limits: &Limits) -> Rendered {
    named_value(
        redact::secret_name_in(expression).unwrap_or_default(),
        object,
        limits,
    )
}

/// Renders a value by its own `repr`, which is code of the program's: only for a caller who asked for it.
pub(crate) fn user_repr(object: &Bound<'_, PyAny>, max_chars: usize) -> PyResult<Rendered> {
    let text = object.repr()?;
    let length = statics::text_len(&text);
    let (head, tail) = (max_chars.saturating_sub(max_chars / 4), max_chars / 4);
    let cut = length > max_chars;
    let (start, end) = redacted_ends(&text, length, cut.then_some((head, tail)));
    let (start, end) = (
        start?.to_string_lossy().into_owned(),
        end?.to_string_lossy().into_owned(),
    );
    let text = if cut {
        format!("{start}…(+{})…{end}", length - head - tail)
    } else {
        start
    };
    Ok(Rendered {
        type_name: statics::type_name(object),
        text,
        cut,
    })
}

/// Renders the value of a name, which may make it a secret.
pub(crate) fn named_value(name: &str, object: &Bound<'_, PyAny>, limits: &Limits) -> Rendered {
    let mut line = Line {
        limits,
        seen: Vec::new(),
        cut: false,
        is_secret: false,
    };
    let text = line.under(redact::of_name(name), object, limits.depth, limits.line);
    let text = line.short(&text, 2 * limits.line);
    Rendered {
        type_name: statics::type_name(object),
        text,
        cut: line.cut,
    }
}

/// Cuts a text in its middle and tells how much is gone.
pub(crate) fn short(text: &str, max: usize) -> String {
    let length = text.chars().count();
    if length <= max {
        return text.to_owned();
    }
    let head = (max.saturating_sub(12) * 3 / 4).max(8);
    let tail = max.saturating_sub(12 + head).max(4);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}…(+{})…{end}", length.saturating_sub(head + tail))
}

/// One line in the making.
pub(crate) struct Line<'a> {
    pub(crate) limits: &'a Limits,
    /// The containers around, by identity.
    seen: Vec<usize>,
    cut: bool,
    /// Whether the texts and numbers inside are secret.
    is_secret: bool,
}

impl Line<'_> {
    /// Formats the value of a name of some secrecy.
    pub(crate) fn under(
        &mut self,
        secrecy: Secrecy,
        object: &Bound<'_, PyAny>,
        depth: usize,
        width: usize,
    ) -> String {
        let is_hidden = match secrecy {
            Secrecy::Open | Secrecy::All => false,
            Secrecy::Texts | Secrecy::RandomTexts => {
                plain_text(object).is_some_and(|text| redact::hides(secrecy, &text))
            }
        };
        if is_hidden {
            return REDACTED.to_owned();
        }
        let before = self.is_secret;
        self.is_secret |= secrecy == Secrecy::All;
        let text = self.format(object, depth, width);
        self.is_secret = before;
        text
    }

    /// Formats any value.
    pub(crate) fn format(&mut self, object: &Bound<'_, PyAny>, depth: usize, width: usize) -> String {
        if object.is_none() || object.is_exact_instance_of::<PyBool>() {
            return statics::builtin_repr(object);
        }
        if let Some(text) = self.scalar(object) {
            return text;
        }
        let identity = object.as_ptr() as usize;
        if self.seen.contains(&identity) {
            return "<cycle>".to_owned();
        }
        self.seen.push(identity);
        let text = self.compound(object, depth, width);
        self.seen.pop();
        text
    }

    /// Formats texts, bytes and numbers of exactly the builtin types.
    fn scalar(&mut self, object: &Bound<'_, PyAny>) -> Option<String> {
        let is_number =
            object.is_exact_instance_of::<PyFloat>() || object.is_exact_instance_of::<PyComplex>();
        if object.is_exact_instance_of::<PyInt>() {
            return Some(self.int(object));
        }
        if is_number {
            return Some(if self.is_secret {
                REDACTED.to_owned()
            } else {
                statics::builtin_repr(object)
            });
        }
        if let Ok(text) = object.cast_exact::<PyString>() {
            return Some(self.text(text));
        }
        if object.is_exact_instance_of::<PyBytes>() || object.is_exact_instance_of::<PyByteArray>() {
            return Some(self.bytes(object));
        }
        if object.is(object.py().Ellipsis()) || object.is(object.py().NotImplemented()) {
            return Some(statics::builtin_repr(object));
        }
        None
    }

    fn int(&mut self, object: &Bound<'_, PyAny>) -> String {
        if self.is_secret {
            return REDACTED.to_owned();
        }
        let Ok(n_bits) = statics::bit_length(object) else {
            return "<int>".to_owned();
        };
        if n_bits < 200 {
            return statics::int_repr(object).unwrap_or_else(|_| "<int>".to_owned());
        }
        self.cut = true;
        format!("<int {n_bits} bits>")
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> String {
        let length = statics::text_len(text);
        if self.is_secret && length > 0 {
            return REDACTED.to_owned();
        }
        let repr = |part: PyResult<Bound<'_, PyString>>| match part {
            Ok(part) => statics::builtin_repr(part.as_any()),
            Err(_) => "'?'".to_owned(),
        };
        let (head, tail) = (self.limits.head, self.limits.tail);
        let is_long = length > head + tail;
        let (start, end) = redacted_ends(text, length, is_long.then_some((head, tail)));
        if !is_long {
            return repr(start);
        }
        self.cut = true;
        format!("{}…{} (str, {length} chars)", repr(start), repr(end))
    }

    fn bytes(&mut self, object: &Bound<'_, PyAny>) -> String {
        let (bytes, length, kind) = bytes_head(object, WINDOW);
        if self.is_secret && length > 0 {
            return REDACTED.to_owned();
        }
        let shown = match redact::text(&String::from_utf8_lossy(&bytes)) {
            Some(text) => text.into_bytes(),
            None => bytes,
        };
        let max = self.limits.head * 24 / 56;
        let repr = |part: &[u8]| statics::builtin_repr(PyBytes::new(object.py(), part).as_any());
        if length <= max + 8 {
            return repr(&shown);
        }
        self.cut = true;
        format!(
            "{}… ({kind}, {length} bytes)",
            repr(&shown[..max.min(shown.len())])
        )
    }

    fn compound(&mut self, object: &Bound<'_, PyAny>, depth: usize, width: usize) -> String {
        if let Some(container) = Container::exact(object) {
            return self.container(&container, depth, width);
        }
        if let Some(text) = library::format(self, object, depth, width) {
            return if self.is_secret && !text.starts_with('<') {
                REDACTED.to_owned()
            } else {
                text
            };
        }
        if let Ok(class) = object.cast::<PyType>() {
            return format!("<class {}>", statics::class_name(class));
        }
        let name = statics::type_name(object);
        if is_exception(object) {
            return match statics::exception_field(object, "args") {
                Some(args) => {
                    let args = self.format(&args, 1, 80);
                    format!(
                        "{name}{}",
                        args.strip_suffix(",)")
                            .map_or(args.clone(), |args| format!("{args})"))
                    )
                }
                None => format!("<{name} object>"),
            };
        }
        if let Some(fields) = namedtuple_fields(object) {
            return self.attributes(&name, fields, width, depth);
        }
        if let Some(container) = Container::of_subclass(object) {
            return format!("{name}:{}", self.container(&container, depth, width));
        }
        if let Some(text) = self.scalar_of_subclass(object) {
            return format!("{name}:{text}");
        }
        let attributes = attributes(object);
        if attributes.is_empty() || depth == 0 {
            self.cut |= !attributes.is_empty();
            return format!("<{name} object>");
        }
        self.attributes(&name, attributes, width, depth)
    }

    fn scalar_of_subclass(&mut self, object: &Bound<'_, PyAny>) -> Option<String> {
        if let Ok(text) = object.cast::<PyString>() {
            return Some(self.text(text));
        }
        if object.cast::<PyInt>().is_ok() {
            return Some(self.int(object));
        }
        if object.cast::<PyFloat>().is_ok() {
            let text = statics::float_repr(object).unwrap_or_else(|_| "<float>".to_owned());
            return Some(if self.is_secret { REDACTED.to_owned() } else { text });
        }
        let is_bytes = object.cast::<PyBytes>().is_ok() || object.cast::<PyByteArray>().is_ok();
        is_bytes.then(|| self.bytes(object))
    }

    fn container(&mut self, container: &Container<'_>, depth: usize, width: usize) -> String {
        let (open, close, empty) = container.brackets();
        let n_items = container.len();
        if n_items == 0 {
            return empty.to_owned();
        }
        if depth == 0 {
            self.cut = true;
            return format!("{open}… {n_items} items{close}");
        }
        let mut pieces: Vec<String> = Vec::new();
        let mut used = open.len() + close.len();
        let mut after = Secrecy::Open;
        for (key, item) in container.items(0, self.limits.items) {
            let piece = match key {
                Some(key) => {
                    let value = self.under(secrecy_of_key(&key), &item, depth - 1, width / 2);
                    // The keys of credentials say what is there.
                    let is_secret = std::mem::replace(&mut self.is_secret, false);
                    let key = self.format(&key, 0, self.limits.child);
                    self.is_secret = is_secret;
                    format!("{key}: {value}")
                }
                None => {
                    let text = self.under(after, &item, depth - 1, width / 2);
                    after = secrecy_after(&item, n_items);
                    text
                }
            };
            let length = piece.chars().count() + 2;
            if !pieces.is_empty() && used + length > width {
                break;
            }
            pieces.push(piece);
            used += length;
        }
        let rest = n_items - pieces.len().min(n_items);
        let tail = match rest {
            0 if n_items == 1 && open == "(" => ",".to_owned(),
            0 => String::new(),
            _ => format!(", … +{rest} of {n_items}"),
        };
        self.cut |= rest > 0;
        format!("{open}{}{tail}{close}", pieces.join(", "))
    }

    /// Formats `Class(name=value, …)`.
    pub(crate) fn attributes(
        &mut self,
        name: &str,
        attributes: Vec<(String, Bound<'_, PyAny>)>,
        width: usize,
        depth: usize,
    ) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut used = 0;
        for (attribute, value) in &attributes {
            let secrecy = redact::of_name(attribute);
            let value = self.under(secrecy, value, depth.saturating_sub(1), self.limits.child);
            let part = format!("{attribute}={value}");
            let length = part.chars().count();
            if parts.len() >= self.limits.attributes || (!parts.is_empty() && used + length > width) {
                break;
            }
            parts.push(part);
            used += length + 2;
        }
        let rest = attributes.len() - parts.len();
        self.cut |= rest > 0;
        let tail = if rest > 0 {
            format!(", … +{rest} attrs")
        } else {
            String::new()
        };
        format!("{name}({}{tail})", parts.join(", "))
    }

    /// Cuts a text in its middle, and remembers it.
    pub(crate) fn short(&mut self, text: &str, max: usize) -> String {
        let short = short(text, max);
        self.cut |= short != text;
        short
    }
}

/// Texts up to this length are searched for secrets as a whole, longer ones so far from both ends.
const WINDOW: usize = 8192;

/// Returns the first and last characters to show, without the secrets that stand there; the whole text as the first
/// part when it is not cut.
fn redacted_ends<'py>(
    text: &Bound<'py, PyString>,
    length: usize,
    cut: Option<(usize, usize)>,
) -> (PyResult<Bound<'py, PyString>>, PyResult<Bound<'py, PyString>>) {
    let py = text.py();
    let empty = || Ok(PyString::new(py, ""));
    // The part to show, and the part around it that must be seen to know a secret in it.
    let redacted = |start: usize, end: usize| -> PyResult<Option<String>> {
        let window = statics::text_part(text, start, end)?;
        Ok(redact::text(&window.to_string_lossy()))
    };
    let Some((head, tail)) = cut else {
        return match redacted(0, length) {
            Ok(Some(changed)) => (Ok(PyString::new(py, &changed)), empty()),
            Ok(None) => (statics::text_part(text, 0, length), empty()),
            Err(error) => (Err(error), empty()),
        };
    };
    let first = redacted(0, length.min(WINDOW.max(head))).and_then(|changed| match changed {
        Some(changed) => Ok(PyString::new(py, &changed.chars().take(head).collect::<String>())),
        None => statics::text_part(text, 0, head),
    });
    let last = redacted(length.saturating_sub(WINDOW), length).and_then(|changed| match changed {
        Some(changed) => {
            let skipped = changed.chars().count().saturating_sub(tail);
            Ok(PyString::new(
                py,
                &changed.chars().skip(skipped).collect::<String>(),
            ))
        }
        None => statics::text_part(text, length - tail, length),
    });
    (first, last)
}

/// Returns a part of a text in which secrets are masked, also those that begin before it or end after it.
pub(crate) fn text_part<'py>(
    text: &Bound<'py, PyString>,
    start: usize,
    end: usize,
) -> PyResult<Bound<'py, PyString>> {
    let before = start.saturating_sub(WINDOW / 2);
    let window = statics::text_part(text, before, end.saturating_add(WINDOW / 2))?;
    match redact::masked(&window.to_string_lossy()) {
        Some(masked) => {
            let part: String = masked.chars().skip(start - before).take(end - start).collect();
            Ok(PyString::new(text.py(), &part))
        }
        None => statics::text_part(text, start, end),
    }
}

/// Returns a part of bytes in which secrets are masked as in [`text_part`].
pub(crate) fn bytes_part<'py>(bytes: &Bound<'py, PyBytes>, start: usize, end: usize) -> Bound<'py, PyBytes> {
    let all = bytes.as_bytes();
    let before = start.saturating_sub(WINDOW / 2);
    let after = end.saturating_add(WINDOW / 2).min(all.len());
    // One character a byte keeps the positions.
    let window: String = all[before..after].iter().map(|byte| char::from(*byte)).collect();
    let part: Vec<u8> = match redact::masked(&window) {
        Some(masked) => masked
            .chars()
            .skip(start - before)
            .take(end - start)
            .map(|char| char as u8)
            .collect(),
        None => all[start..end].to_vec(),
    };
    PyBytes::new(bytes.py(), &part)
}

/// Returns at most `max` bytes, the length of all, and the name of the type.
fn bytes_head(object: &Bound<'_, PyAny>, max: usize) -> (Vec<u8>, usize, &'static str) {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        let all = bytes.as_bytes();
        return (all[..all.len().min(max)].to_vec(), all.len(), "bytes");
    }
    match object.cast::<PyByteArray>() {
        Ok(bytes) => {
            // SAFETY: the GIL is held and nothing runs that could resize the array while the slice lives.
            let all = unsafe { bytes.as_bytes() };
            (all[..all.len().min(max)].to_vec(), all.len(), "bytearray")
        }
        Err(_) => (Vec::new(), 0, "bytes"),
    }
}

/// Returns what an item says of the next one: `("password", "x")`, `["--password", "x"]`.
fn secrecy_after(item: &Bound<'_, PyAny>, n_items: usize) -> Secrecy {
    match plain_text(item) {
        Some(text) if n_items == 2 || text.starts_with("--") => match redact::of_name(&text) {
            Secrecy::All => Secrecy::All,
            _ => Secrecy::Open,
        },
        _ => Secrecy::Open,
    }
}

fn secrecy_of_key(key: &Bound<'_, PyAny>) -> Secrecy {
    plain_text(key).map_or(Secrecy::Open, |key| redact::of_name(&key))
}

/// Returns a short text, or bytes, as text.
fn plain_text(object: &Bound<'_, PyAny>) -> Option<String> {
    if let Ok(text) = object.cast::<PyString>() {
        let part = statics::text_part(text, 0, 400).ok()?;
        return Some(part.to_string_lossy().into_owned());
    }
    object
        .cast::<PyBytes>()
        .ok()
        .map(|_| String::from_utf8_lossy(&bytes_head(object, 400).0).into_owned())
}

/// Returns whether the object is an exception.
pub(crate) fn is_exception(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<pyo3::exceptions::PyBaseException>()
}

/// Returns the attributes of an instance: its `__dict__` first, then its slots.
pub(crate) fn attributes<'py>(object: &Bound<'py, PyAny>) -> Vec<(String, Bound<'py, PyAny>)> {
    let mut attributes = Vec::new();
    if let Some(dict) = statics::instance_dict(object) {
        for (key, value) in statics::dict_items(&dict, 0, usize::MAX) {
            let name = plain_text(&key).unwrap_or_else(|| format!("<{} key>", statics::type_name(&key)));
            attributes.push((name, value));
        }
    }
    attributes.extend(statics::slots(object));
    attributes
}

/// Returns the fields of a named tuple.
pub(crate) fn namedtuple_fields<'py>(object: &Bound<'py, PyAny>) -> Option<Vec<(String, Bound<'py, PyAny>)>> {
    let tuple = object.cast::<PyTuple>().ok()?;
    let (_, fields) = statics::class_attribute(&object.get_type(), "_fields").ok()??;
    let fields = fields.cast_exact::<PyTuple>().ok()?;
    let names: Option<Vec<String>> = fields.iter().map(|field| statics::exact_text(&field)).collect();
    let names = names.filter(|names| names.len() == tuple.len())?;
    Some(names.into_iter().zip(tuple.iter()).collect())
}
