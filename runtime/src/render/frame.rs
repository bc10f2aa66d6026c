//! One frame for the report, and the inside of its values on request.

use protocol::{Failure, FailureKind, FrameQuery, FrameReport, FrameView, Location, Variable};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use super::container::Container;
use super::library;
use super::place::{Key, Place, Step};
use super::resolve;
use super::scope::{self, Names};
use super::statement::{self, Statement};
use super::statics;
use super::value::{self, Limits};

/// A frame and where in it the exception stands.
pub(crate) struct FrameAt<'py> {
    /// The frame.
    pub(crate) frame: Bound<'py, PyAny>,
    /// The failing instruction: the traceback's `tb_lasti`, not the handler's.
    pub(crate) lasti: i32,
    /// The failing line.
    pub(crate) line: u32,
    /// The number in the report.
    pub(crate) index: usize,
    /// Whether the frame's file is in scope.
    pub(crate) in_scope: bool,
}

/// Characters of a text that count as one item of a view.
const CHARS_PER_ITEM: usize = 40;

/// Returns the place at which a frame stands.
pub(crate) fn location(at: &FrameAt<'_>) -> Location {
    // Frames and code objects are the interpreter's own: their attributes are there, and are texts.
    let text = |name: &str| {
        let found = at
            .frame
            .getattr("f_code")
            .and_then(|code| code.getattr(name))
            .ok();
        found
            .and_then(|text| statics::exact_text(&text))
            .unwrap_or_else(|| "?".to_owned())
    };
    Location {
        file: text("co_filename"),
        line: at.line,
        function: text("co_qualname"),
    }
}

/// Renders a variable; its name may make it a secret.
pub(crate) fn variable(
    name: &str,
    object: &Bound<'_, PyAny>,
    in_statement: bool,
    limits: &Limits,
) -> Variable {
    let rendered = value::named_value(name, object, limits);
    Variable {
        name: name.to_owned(),
        type_name: rendered.type_name,
        value: rendered.text,
        in_statement,
    }
}

/// Returns a frame with at most `max_variables` variables, and the statement with the lines around it.
pub(crate) fn frame_report(
    at: &FrameAt<'_>,
    max_variables: usize,
    with_source: bool,
) -> PyResult<FrameReport> {
    let statement = Statement::of(at)?;
    let names = Names::of(&at.frame)?;
    let ordered = ordered(&names, &statement);
    let limits = Limits::default();
    let (shown, folded) = ordered.split_at(max_variables.min(ordered.len()));
    Ok(FrameReport {
        index: at.index,
        location: location(at),
        in_scope: at.in_scope,
        source: if with_source {
            statement.lines_around()
        } else {
            statement.one_line()
        },
        variables: shown
            .iter()
            .map(|(name, object)| variable(name, object, statement.reads(name), &limits))
            .collect(),
        more_names: folded.iter().map(|(name, _)| name.clone()).collect(),
        sub_expressions: if max_variables > 0 {
            statement.sub_expressions(&names)
        } else {
            Vec::new()
        },
        calls_made: statement.calls_made(),
    })
}

/// Returns the names of the failing statement first, then the other locals.
fn ordered<'py>(names: &Names<'py>, statement: &Statement) -> Vec<(String, Bound<'py, PyAny>)> {
    let mut ordered: Vec<(String, Bound<'py, PyAny>)> = Vec::new();
    for name in &statement.failing.names {
        let local = names
            .locals
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.clone());
        // Of the globals only data is worth a line; functions and modules are in the source.
        let found = local.or_else(|| names.global(name).filter(|value| !scope::is_definition(value)));
        ordered.extend(found.map(|value| (name.clone(), value)));
    }
    let rest = names.locals.iter().filter(|(name, _)| !statement.reads(name));
    ordered.extend(rest.cloned());
    ordered
}

/// Returns the variables of a frame, or the inside of the value at the query's path.
pub(crate) fn frame_view(at: &FrameAt<'_>, query: &FrameQuery) -> Result<FrameView, Failure> {
    let internal = |error: PyErr| {
        Failure::new(
            FailureKind::Internal,
            format!("the frame cannot be read: {error}"),
            "try another frame",
        )
    };
    let statement = Statement::of(at).map_err(internal)?;
    let names = Names::of(&at.frame).map_err(internal)?;
    let limits = Limits::with_depth(query.depth);
    let mut view = FrameView {
        index: at.index,
        location: location(at),
        path: String::new(),
        value: None,
        items: Vec::new(),
        n_items: 0,
        start: query.start,
        source: statement.lines_around(),
    };
    let Some(path) = &query.path else {
        let chosen = chosen(&names, &statement, &query.names)?;
        view.n_items = chosen.len();
        let page = chosen.iter().skip(query.start).take(query.count);
        view.items = page
            .map(|(name, object)| variable(name, object, statement.reads(name), &limits))
            .collect();
        return Ok(view);
    };
    let place = place_of(&names, path)?;
    let object = resolve::resolve(&names, &place)?;
    let secret_name = secret_name(&place);
    let rendered = value::named_value(&secret_name, &object, &limits);
    view.path = place.to_string();
    view.value = Some(Variable {
        name: view.path.clone(),
        type_name: rendered.type_name,
        value: rendered.text,
        in_statement: statement.reads(&place.root),
    });
    (view.items, view.n_items) = inside(&object, &secret_name, query, &limits);
    Ok(view)
}

fn place_of(names: &Names<'_>, path: &str) -> Result<Place, Failure> {
    // Names such as `.0`, the iterator of a comprehension, are no expressions.
    if names.locals.iter().any(|(name, _)| name == path) {
        return Ok(Place {
            root: path.to_owned(),
            steps: Vec::new(),
        });
    }
    Place::parse(path).ok_or_else(|| {
        Failure::new(
            FailureKind::BadRequest,
            format!("`{path}` is no path"),
            "write a name with attributes, literal keys and indices: `order.lines[3].price`, `cfg[\"key\"]`, \
             `text[3000:3200]`; anything else is for `evaluate`",
        )
    })
}

fn chosen<'py>(
    names: &Names<'py>,
    statement: &Statement,
    wanted: &[String],
) -> Result<Vec<(String, Bound<'py, PyAny>)>, Failure> {
    if wanted.is_empty() {
        return Ok(ordered(names, statement));
    }
    let one = |name: &String| match names.get(name) {
        Some(value) => Ok((name.clone(), value)),
        None => Err(resolve::unknown_name(names, name)),
    };
    wanted.iter().map(one).collect()
}

/// Returns the name of a place that says most about its secrecy: one secret name makes all below it secret.
pub(crate) fn secret_name(place: &Place) -> String {
    let mut names = vec![place.root.as_str()];
    for step in &place.steps {
        match step {
            Step::Attribute(name) | Step::Item(Key::Text(name)) => names.push(name),
            Step::Item(_) | Step::ItemAt(_) | Step::Slice(..) => {}
        }
    }
    let secret = names.iter().find(|name| statement::is_secret(name));
    // An item has no name of its own: a list of tokens holds tokens.
    secret
        .or(names.last())
        .map_or_else(String::new, |name| (*name).to_owned())
}

fn inside(
    object: &Bound<'_, PyAny>,
    secret_name: &str,
    query: &FrameQuery,
    limits: &Limits,
) -> (Vec<Variable>, usize) {
    let name_for = |own: &str| {
        if statement::is_secret(secret_name) {
            secret_name.to_owned()
        } else {
            own.to_owned()
        }
    };
    let item = |label: String, own: &str, value: &Bound<'_, PyAny>| {
        let rendered = value::named_value(&name_for(own), value, limits);
        Variable {
            name: label,
            type_name: rendered.type_name,
            value: rendered.text,
            in_statement: false,
        }
    };
    if let Some((part, end, length)) = text_part(object, query) {
        let max_chars = (end - query.start.min(end)) * 4 + 80;
        let mut whole = Limits::wide(max_chars);
        (whole.head, whole.line) = (max_chars, max_chars);
        let rendered = value::named_value(secret_name, &part, &whole);
        let name = format!("[{}:{end}]", query.start.min(end));
        let shown = Variable {
            name,
            type_name: rendered.type_name,
            value: rendered.text,
            in_statement: false,
        };
        return (vec![shown], length);
    }
    let container = Container::of_subclass(object).or_else(|| library::items(object));
    if let Some(container) = container
        && value::namedtuple_fields(object).is_none()
    {
        let is_set = matches!(container, Container::Set(_) | Container::FrozenSet(_));
        let items = container.items(query.start, query.count).into_iter().enumerate();
        let items = items.map(|(offset, (key, value))| {
            let position = query.start + offset;
            match key {
                Some(key) => {
                    let own = statics::exact_text(&key).unwrap_or_default();
                    item(format!("[{}]", resolve::shown_key(&key)), &own, &value)
                }
                None if is_set => item(format!("item {position}"), secret_name, &value),
                None => item(format!("[{position}]"), secret_name, &value),
            }
        });
        return (items.collect(), container.len());
    }
    let attributes = value::namedtuple_fields(object).unwrap_or_else(|| value::attributes(object));
    let n_attributes = attributes.len();
    let page = attributes.iter().skip(query.start).take(query.count);
    (
        page.map(|(name, value)| item(format!(".{name}"), name, value))
            .collect(),
        n_attributes,
    )
}

/// Returns the asked part of a text or of bytes, where it ends, and how long the whole is.
fn text_part<'py>(
    object: &Bound<'py, PyAny>,
    query: &FrameQuery,
) -> Option<(Bound<'py, PyAny>, usize, usize)> {
    let count = query.count.saturating_mul(CHARS_PER_ITEM);
    if let Ok(text) = object.cast::<PyString>() {
        let length = statics::text_len(text);
        let end = query.start.saturating_add(count).min(length);
        let part = value::text_part(text, query.start.min(end), end).ok()?;
        return Some((part.into_any(), end, length));
    }
    let bytes = object.cast::<PyBytes>().ok()?;
    let length = bytes.as_bytes().len();
    let end = query.start.saturating_add(count).min(length);
    Some((
        value::bytes_part(bytes, query.start.min(end), end).into_any(),
        end,
        length,
    ))
}
