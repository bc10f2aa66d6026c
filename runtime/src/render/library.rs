//! Values of known libraries: their own code may run, no code of the program's.
//!
//! A library is known by the identity of its types in the modules that are already loaded; nothing is imported.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use super::container::Container;
use super::redact;
use super::statics;
use super::value::{self, Line};

/// Arrays and frames beyond this many elements are described without looking at each.
const MAX_COUNTED: u64 = 2_000_000;

/// Formats an instance of a known type; `None` for all others, and where the library itself fails.
pub(crate) fn format(
    line: &mut Line<'_>,
    object: &Bound<'_, PyAny>,
    depth: usize,
    width: usize,
) -> Option<String> {
    let class = object.get_type();
    let module = statics::module_name(&class);
    let first = module.split('.').next().unwrap_or_default();
    let text = match first {
        "numpy" => numpy(line, object).transpose(),
        "pandas" => pandas(line, object).transpose(),
        "torch" => torch(object).transpose(),
        _ => None,
    };
    if let Some(text) = text {
        return text.ok();
    }
    code(object).or_else(|| standard(line, object, depth, width))
}

/// Returns what an array, frame or series of a known library holds under an index, computed by that library.
pub(crate) fn item<'py>(
    object: &Bound<'py, PyAny>,
    index: &Bound<'py, PyAny>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let py = object.py();
    let class = object.get_type();
    let is_known = [
        ("numpy", "ndarray"),
        ("pandas", "DataFrame"),
        ("pandas", "Series"),
    ]
    .iter()
    .any(|(module, member)| statics::loaded(py, module, member).is_some_and(|known| class.is(&known)));
    is_known.then(|| object.get_item(index))
}

/// Functions, methods, modules: code is named, not shown.
fn code(object: &Bound<'_, PyAny>) -> Option<String> {
    let class = object.get_type();
    if !statics::is_native(&class) || statics::module_name(&class) != "builtins" {
        return module_subclass(object);
    }
    // All of these are the interpreter's own types, so their attributes are read by its own code.
    let text_of = |name: &str| {
        object
            .getattr(name)
            .ok()
            .and_then(|text| statics::exact_text(&text))
            .unwrap_or_else(|| "?".to_owned())
    };
    match statics::qualname(&class).as_str() {
        "function" => {
            let place = object.getattr("__code__").ok().and_then(|code| {
                let file = statics::exact_text(&code.getattr("co_filename").ok()?)?;
                let line: u32 = code.getattr("co_firstlineno").ok()?.extract().ok()?;
                Some(format!(" {}:{line}", file.rsplit('/').next().unwrap_or_default()))
            });
            let name = object
                .getattr("__qualname__")
                .ok()
                .and_then(|name| statics::exact_text(&name));
            Some(format!(
                "<function {}{}>",
                name.unwrap_or_else(|| "?".to_owned()),
                place.unwrap_or_default()
            ))
        }
        "method" => {
            let function = statics::native_attribute(object, "__func__")?;
            let receiver = statics::native_attribute(object, "__self__")?;
            let is_function = statics::qualname(&function.get_type()) == "function";
            let name = match is_function.then(|| function.getattr("__name__")) {
                Some(Ok(name)) => statics::exact_text(&name).unwrap_or_else(|| "?".to_owned()),
                _ => "?".to_owned(),
            };
            Some(format!("<method {name} of {}>", statics::type_name(&receiver)))
        }
        "builtin_function_or_method" => Some(format!("<built-in {}>", text_of("__qualname__"))),
        "module" => module_subclass(object),
        "generator" | "coroutine" | "async_generator" => Some(format!(
            "<{} {}>",
            statics::qualname(&class),
            text_of("__qualname__")
        )),
        "frame" | "traceback" => Some(format!("<{} object>", statics::qualname(&class))),
        "range" => Some(statics::builtin_repr(object)),
        "code" => Some(format!("<code {}>", text_of("co_qualname"))),
        _ => None,
    }
}

fn module_subclass(object: &Bound<'_, PyAny>) -> Option<String> {
    let module = object.cast::<PyModule>().ok()?;
    let name = statics::dict_get(&module.dict(), "__name__").and_then(|name| statics::exact_text(&name));
    Some(format!("<module {}>", name.unwrap_or_else(|| "?".to_owned())))
}

/// Types of the standard library that hold one plain value.
fn standard(line: &mut Line<'_>, object: &Bound<'_, PyAny>, depth: usize, width: usize) -> Option<String> {
    let py = object.py();
    let class = object.get_type();
    if let Some(enumeration) = statics::loaded(py, "enum", "Enum")
        && statics::is_instance(object, &enumeration)
    {
        let dict = statics::instance_dict(object)?;
        let name = statics::exact_text(&statics::dict_get(&dict, "_name_")?)?;
        let value = line.format(&statics::dict_get(&dict, "_value_")?, 1, 40);
        return Some(format!("<{}.{name}: {value}>", statics::type_name(object)));
    }
    if let Some(path) = statics::loaded(py, "pathlib", "PurePath")
        && statics::is_instance(object, &path)
    {
        let text = path_text(object)?;
        return Some(format!(
            "{}({})",
            statics::qualname(&class),
            line.format(&text, 1, width)
        ));
    }
    if !statics::is_native(&class) {
        return None;
    }
    let module = statics::module_name(&class);
    match (module.as_str(), statics::qualname(&class).as_str()) {
        ("datetime", "date" | "timedelta" | "timezone") | ("decimal", "Decimal") => {
            Some(statics::builtin_repr(object))
        }
        ("datetime", "datetime" | "time") => {
            // A time zone of the program's would be asked for its `repr`.
            let zone = statics::native_attribute(object, "tzinfo")?;
            let is_plain = zone.is_none() || statics::is_native(&zone.get_type());
            is_plain.then(|| statics::builtin_repr(object))
        }
        ("collections", "deque") => {
            // The list is a copy; what it holds is what the deque holds.
            let Some(Container::List(list)) = items(object) else {
                return None;
            };
            Some(format!("deque({})", line.format(list.as_any(), depth, width)))
        }
        _ => None,
    }
}

fn path_text<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = object.py();
    let text = |value: Bound<'py, PyAny>| value.cast_into_exact::<PyString>().ok().map(Bound::into_any);
    if let Some(known) = statics::native_attribute(object, "_str").and_then(text) {
        return Some(known);
    }
    if let Some(parts) = statics::native_attribute(object, "_raw_paths") {
        let parts = parts.cast_into_exact::<PyList>().ok()?;
        let parts: Option<Vec<String>> = parts.iter().map(|part| statics::exact_text(&part)).collect();
        let parts = parts?;
        // A part that starts at the root replaces what stands before it.
        let from = parts.iter().rposition(|part| part.starts_with('/')).unwrap_or(0);
        return Some(PyString::new(py, &parts[from..].join("/").replace("//", "/")).into_any());
    }
    let root = statics::exact_text(&statics::native_attribute(object, "_root")?)?;
    let parts = statics::native_attribute(object, "_parts")?
        .cast_into_exact::<PyList>()
        .ok()?;
    let parts: Option<Vec<String>> = parts.iter().map(|part| statics::exact_text(&part)).collect();
    let parts = parts?;
    let skipped = usize::from(!root.is_empty());
    let text = format!("{root}{}", parts.get(skipped..).unwrap_or_default().join("/"));
    Some(PyString::new(py, if text.is_empty() { "." } else { &text }).into_any())
}

fn numpy(line: &mut Line<'_>, object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = object.py();
    let class = object.get_type();
    let Some(ndarray) = statics::loaded(py, "numpy", "ndarray") else {
        return Ok(None);
    };
    let dtype_text = |dtype: &Bound<'_, PyAny>| dtype.str().map(|text| text.to_string_lossy().into_owned());
    if !class.is(&ndarray) {
        let is_scalar = statics::loaded(py, "numpy", "generic")
            .is_some_and(|generic| statics::is_native(&class) && statics::is_instance(object, &generic));
        if !is_scalar {
            return Ok(None);
        }
        let item = object.call_method0("item")?;
        let item = if item.is(object) {
            "…".to_owned()
        } else {
            line.format(&item, 1, 60)
        };
        return Ok(Some(format!(
            "{item} ({})",
            dtype_text(&object.getattr("dtype")?)?
        )));
    }
    let dtype = object.getattr("dtype")?;
    let shape = statics::builtin_repr(&object.getattr("shape")?);
    let size: u64 = object.getattr("size")?.extract()?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    let mut text = format!("ndarray {shape} {}", dtype_text(&dtype)?);
    if ["f", "i", "u"].contains(&kind.as_str()) && (1..=MAX_COUNTED).contains(&size) {
        text.push_str(&numpy_range(object, &kind, size)?);
    }
    if size > 0 {
        let first = object
            .call_method1("reshape", (-1,))?
            .get_item(pyo3::types::PySlice::new(py, 0, 6, 1))?;
        let first = if dtype.getattr("hasobject")?.extract()? || kind == "U" || kind == "S" {
            // The elements are the program's objects: shown as its other values are.
            line.format(&first.call_method0("tolist")?, 1, 80)
        } else {
            let options = PyDict::new(py);
            options.set_item("threshold", 6)?;
            options.set_item("precision", 4)?;
            options.set_item("separator", ", ")?;
            options.set_item("max_line_width", 200)?;
            // No function of the program's formats an element: the options are ours for this call.
            options.set_item("formatter", PyDict::new(py))?;
            let Some(array2string) = statics::loaded(py, "numpy", "array2string") else {
                return Ok(Some(text));
            };
            array2string.call((first,), Some(&options))?.extract::<String>()?
        };
        text.push_str(&format!(" first={first}"));
    }
    Ok(Some(text))
}

fn numpy_range(object: &Bound<'_, PyAny>, kind: &str, size: u64) -> PyResult<String> {
    let py = object.py();
    let function = |name: &str| {
        statics::loaded(py, "numpy", name)
            .ok_or_else(|| pyo3::exceptions::PyLookupError::new_err(format!("numpy.{name} is not loaded")))
    };
    let n_nan: u64 = if kind == "f" {
        function("isnan")?
            .call1((object,))?
            .call_method0("sum")?
            .call_method0("item")?
            .extract()?
    } else {
        0
    };
    let (smallest, largest) = if n_nan < size {
        // `fmin` and `fmax` pass over NaN without a warning.
        let (smallest, largest) = if kind == "f" {
            ("fmin", "fmax")
        } else {
            ("minimum", "maximum")
        };
        let flat = object.call_method1("reshape", (-1,))?;
        let reduce = |name: &str| {
            function(name)?
                .call_method1("reduce", (&flat,))?
                .call_method0("item")
        };
        (reduce(smallest)?, reduce(largest)?)
    } else {
        let nan = pyo3::types::PyFloat::new(py, f64::NAN).into_any();
        (nan.clone(), nan)
    };
    let short = |value: &Bound<'_, PyAny>| value.call_method1("__format__", (".4g",))?.extract::<String>();
    let nan = if n_nan > 0 {
        format!(" nan={n_nan}")
    } else {
        String::new()
    };
    Ok(format!(
        " min={} max={}{nan}",
        short(&smallest)?,
        short(&largest)?
    ))
}

fn pandas(line: &mut Line<'_>, object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let py = object.py();
    let class = object.get_type();
    let is = |member: &str| statics::loaded(py, "pandas", member).is_some_and(|known| class.is(&known));
    if is("DataFrame") {
        return data_frame(line, object).map(Some);
    }
    if is("Series") {
        let length: u64 = object.getattr("index")?.len()? as u64;
        let label = object.getattr("name")?;
        let secrecy =
            statics::exact_text(&label).map_or(redact::Secrecy::Open, |label| redact::of_name(&label));
        let name = line.format(&label, 1, 40);
        let head = line.under(
            secrecy,
            &object.call_method1("head", (5,))?.call_method0("tolist")?,
            1,
            60,
        );
        let dtype = dtype_name(&object.getattr("dtype")?);
        let mut text = format!("Series len={length} {dtype} name={name} head={head}");
        if length <= MAX_COUNTED {
            let n_missing: i64 = object
                .call_method0("isna")?
                .call_method0("sum")?
                .call_method0("item")?
                .extract()?;
            text.push_str(&format!(" na={n_missing}"));
        }
        return Ok(Some(text));
    }
    let is_index =
        statics::loaded(py, "pandas", "Index").is_some_and(|index| statics::is_instance(object, &index));
    if is_index {
        let length = object.len()?;
        let head = object
            .get_item(pyo3::types::PySlice::new(py, 0, 5, 1))?
            .call_method0("tolist")?;
        let dtype = dtype_name(&object.getattr("dtype")?);
        let head = line.format(&head, 1, 60);
        return Ok(Some(format!(
            "{} len={length} {dtype} head={head}",
            statics::qualname(&class)
        )));
    }
    if is("Timestamp") || is("Timedelta") {
        return Ok(Some(statics::builtin_repr(object)));
    }
    Ok(None)
}

fn data_frame(line: &mut Line<'_>, object: &Bound<'_, PyAny>) -> PyResult<String> {
    const MAX_COLUMNS: usize = 12;
    let (n_rows, n_columns): (usize, usize) = object.getattr("shape")?.extract()?;
    let names: Vec<String> = (object.getattr("columns")?.try_iter()?)
        .take(MAX_COLUMNS)
        .map(|name| name.map(|name| label(line, &name)))
        .collect::<PyResult<_>>()?;
    let dtypes = object.getattr("dtypes")?.getattr("array")?;
    let mut columns = Vec::new();
    for (name, dtype) in names.iter().zip(dtypes.try_iter()?) {
        columns.push(format!("{name}:{}", dtype_name(&dtype?)));
    }
    let more = match n_columns.saturating_sub(MAX_COLUMNS) {
        0 => String::new(),
        more => format!(", … +{more} cols"),
    };
    let mut text = format!("DataFrame {n_rows}x{n_columns} [{}{more}]", columns.join(", "));
    if (n_rows * n_columns) as u64 <= MAX_COUNTED {
        let sums = object.call_method0("isna")?.call_method0("sum")?;
        let counts: Vec<i64> = sums.call_method0("tolist")?.extract()?;
        let mut missing = Vec::new();
        for (count, name) in counts.iter().zip(object.getattr("columns")?.try_iter()?) {
            let name = name?;
            if *count > 0 && missing.len() < 6 {
                missing.push(format!("{}: {count}", label(line, &name)));
            }
        }
        if !missing.is_empty() {
            text.push_str(&format!(" na={{{}}}", missing.join(", ")));
        }
    }
    Ok(format!(
        "{text} index={}",
        statics::qualname(&object.getattr("index")?.get_type())
    ))
}

fn label(line: &mut Line<'_>, name: &Bound<'_, PyAny>) -> String {
    let text = statics::exact_text(name).unwrap_or_else(|| line.format(name, 1, 20));
    value::short(&text, 20)
}

fn dtype_name(dtype: &Bound<'_, PyAny>) -> String {
    let module = statics::module_name(&dtype.get_type());
    let is_known = ["numpy", "pandas"].contains(&module.split('.').next().unwrap_or_default());
    match is_known.then(|| dtype.str()) {
        Some(Ok(text)) => text.to_string_lossy().into_owned(),
        _ => statics::type_name(dtype),
    }
}

fn torch(object: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let class = object.get_type();
    let is =
        |member: &str| statics::loaded(object.py(), "torch", member).is_some_and(|known| class.is(&known));
    let is_parameter =
        statics::qualname(&class) == "Parameter" && statics::module_name(&class) == "torch.nn.parameter";
    if !is("Tensor") && !is_parameter {
        return Ok(None);
    }
    let shape: Vec<i64> = object.getattr("shape")?.extract()?;
    let shape = statics::builtin_repr(PyTuple::new(object.py(), shape)?.as_any());
    let text_of = |name: &str| {
        object
            .getattr(name)?
            .str()
            .map(|text| text.to_string_lossy().into_owned())
    };
    let grad = if object.getattr("requires_grad")?.extract()? {
        " grad"
    } else {
        ""
    };
    let dtype = text_of("dtype")?.replace("torch.", "");
    Ok(Some(format!(
        "Tensor {shape} {dtype} {}{grad}",
        text_of("device")?
    )))
}

/// Returns the container that a value of the standard library keeps its items in.
pub(crate) fn items<'py>(object: &Bound<'py, PyAny>) -> Option<Container<'py>> {
    let class = object.get_type();
    let is_deque = statics::is_native(&class)
        && statics::module_name(&class) == "collections"
        && statics::qualname(&class) == "deque";
    if !is_deque {
        return None;
    }
    let iter = class
        .getattr("__iter__")
        .ok()?
        .call1((object,))
        .ok()?
        .try_iter()
        .ok()?;
    PyList::new(object.py(), iter.flatten().collect::<Vec<_>>())
        .ok()
        .map(Container::List)
}
