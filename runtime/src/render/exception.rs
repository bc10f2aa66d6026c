//! Exceptions in words, without running a `__str__` of the program's.

use protocol::{ChainedException, Location};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::redact;
use super::statics;
use super::value::{self, Limits};

/// The most characters of a message.
const MAX_MESSAGE: usize = 600;
/// The most links of a chain.
const MAX_CHAIN: usize = 10;

/// Returns the exception's type, as a traceback names it, and its text.
pub(crate) fn exception_summary(exception: &Bound<'_, PyAny>) -> (String, String) {
    let mut text = message(exception);
    for note in notes(exception) {
        text.push('\n');
        text.push_str(&note);
    }
    let text = redact::text(&text).unwrap_or(text);
    (
        statics::class_name(&exception.get_type()),
        value::short(&text, MAX_MESSAGE),
    )
}

/// Returns the exceptions that led to this one, nearest first.
pub(crate) fn chain(exception: &Bound<'_, PyAny>) -> Vec<ChainedException> {
    let mut links = Vec::new();
    let mut seen = vec![exception.as_ptr() as usize];
    let mut current = exception.clone();
    while links.len() < MAX_CHAIN {
        let Some((link, next)) = next_link(&current) else {
            break;
        };
        if seen.contains(&(next.as_ptr() as usize)) {
            break;
        }
        seen.push(next.as_ptr() as usize);
        let (exception_type, message) = exception_summary(&next);
        links.push(ChainedException {
            link: link.to_owned(),
            exception_type,
            message,
            location: raised_at(&next),
        });
        current = next;
    }
    links
}

fn next_link<'py>(exception: &Bound<'py, PyAny>) -> Option<(&'static str, Bound<'py, PyAny>)> {
    let field = |name: &str| statics::exception_field(exception, name).filter(|value| !value.is_none());
    if let Some(cause) = field("__cause__") {
        return Some(("cause", cause));
    }
    let is_suppressed = field("__suppress_context__").is_some_and(|flag| flag.is_truthy().unwrap_or(false));
    if is_suppressed {
        None
    } else {
        field("__context__").map(|context| ("context", context))
    }
}

fn raised_at(exception: &Bound<'_, PyAny>) -> Option<Location> {
    let mut traceback = statics::exception_field(exception, "__traceback__")?;
    if traceback.is_none() {
        return None;
    }
    // Tracebacks, frames and code are the interpreter's own.
    for _ in 0..10_000 {
        let next = traceback.getattr("tb_next").ok()?;
        if next.is_none() {
            break;
        }
        traceback = next;
    }
    let code = traceback.getattr("tb_frame").ok()?.getattr("f_code").ok()?;
    Some(Location {
        file: statics::exact_text(&code.getattr("co_filename").ok()?)?,
        line: traceback.getattr("tb_lineno").ok()?.extract().ok()?,
        function: statics::exact_text(&code.getattr("co_qualname").ok()?)?,
    })
}

fn notes(exception: &Bound<'_, PyAny>) -> Vec<String> {
    let notes = statics::instance_dict(exception).and_then(|dict| statics::dict_get(&dict, "__notes__"));
    let Some(Ok(notes)) = notes.map(|notes| notes.cast_into_exact::<PyList>()) else {
        return Vec::new();
    };
    notes
        .iter()
        .take(5)
        .filter_map(|note| statics::exact_text(&note))
        .collect()
}

fn message(exception: &Bound<'_, PyAny>) -> String {
    let class = exception.get_type();
    let Some(args) =
        statics::exception_field(exception, "args").and_then(|args| args.cast_into::<PyTuple>().ok())
    else {
        return String::new();
    };
    let owner = statics::class_attribute(&class, "__str__").ok().flatten();
    let Some((owner, text_of)) = owner else {
        return plain(&args);
    };
    if let Some(group) = group_message(exception) {
        return group;
    }
    let is_native = owner.cast::<pyo3::types::PyType>().is_ok_and(statics::is_native);
    if !is_native {
        // The program's own text would have to be run.
        let details = value::attributes(exception);
        let mut text = format!("{} (its own __str__ was not run)", plain(&args));
        for (name, value) in details.iter().filter(|(name, _)| !name.starts_with("__")).take(6) {
            text.push_str(&format!(
                " {name}={}",
                value::named_value(name, value, &Limits::with_depth(1)).text
            ));
        }
        return text.trim_start().to_owned();
    }
    let is_base = owner.is(exception.py().get_type::<pyo3::exceptions::PyBaseException>());
    if is_base || !args.iter().all(|arg| is_plain(&arg)) || !fields_are_plain(exception) {
        return plain(&args);
    }
    // `KeyError`, `OSError`, `UnicodeDecodeError` and their like put plain values into words of their own.
    let text = text_of
        .call1((exception,))
        .ok()
        .and_then(|text| statics::exact_text(&text));
    text.unwrap_or_else(|| plain(&args))
}

/// Returns what `BaseException.__str__` would, with values rendered our way.
fn plain(args: &Bound<'_, PyTuple>) -> String {
    let limits = Limits::wide(MAX_MESSAGE);
    match args.len() {
        0 => String::new(),
        1 => match args.get_item(0) {
            Ok(arg) => match arg.cast::<PyString>() {
                Ok(text) => statics::text_part(text, 0, 4096)
                    .map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned()),
                Err(_) => value::value(&arg, &limits).text,
            },
            Err(_) => String::new(),
        },
        _ => value::value(args.as_any(), &limits).text,
    }
}

fn group_message(exception: &Bound<'_, PyAny>) -> Option<String> {
    let group = statics::loaded(exception.py(), "builtins", "BaseExceptionGroup")?;
    if !statics::is_instance(exception, &group) {
        return None;
    }
    let text = statics::exact_text(&statics::native_attribute(exception, "message")?)?;
    let members = statics::native_attribute(exception, "exceptions")?
        .cast_into::<PyTuple>()
        .ok()?;
    let shown: Vec<String> = (members.iter().take(3))
        .map(|member| {
            let (name, text) = exception_summary(&member);
            if text.is_empty() {
                name
            } else {
                format!("{name}: {text}")
            }
        })
        .collect();
    let more = if members.len() > shown.len() { ", …" } else { "" };
    let plural = if members.len() == 1 { "" } else { "s" };
    Some(format!(
        "{text} ({} sub-exception{plural}: {}{more})",
        members.len(),
        shown.join("; ")
    ))
}

/// Returns whether a value's text is the interpreter's own.
fn is_plain(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBytes>()
        // `SyntaxError` holds its place in a tuple; deeper ones are not its own.
        || value.cast_exact::<PyTuple>().is_ok_and(|items| {
            items.iter().all(|item| !item.is_exact_instance_of::<PyTuple>() && is_plain(&item))
        })
}

/// Returns whether the fields that a native `__str__` puts into words are plain: they can be set after the fact.
fn fields_are_plain(exception: &Bound<'_, PyAny>) -> bool {
    let read = |name: &str| statics::native_attribute(exception, name);
    // `print_file_and_line`, `name_from`, `errno` and so on: whichever of these the class has.
    [
        "strerror",
        "errno",
        "filename",
        "filename2",
        "msg",
        "name",
        "path",
        "lineno",
        "reason",
        "object",
        "encoding",
    ]
    .iter()
    .filter_map(|name| read(name))
    .all(|value| is_plain(&value))
}
