//! Gives modules in scope their hooks: compiles them with `wrap.py`, keeps the result in a cache of our own.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};
use sha2::{Digest, Sha256};

use crate::{hook, location_table, state};

/// Stands in compiled code for the hook object until the code is loaded; `wrap.py` has the same.
const HOOK_CONSTANT: &str = "\0healmcp";
/// The line of instructions that tracers must not see; `wrap.py` has the same.
const HOOK_LINE: i64 = 1_000_000;
/// The line at which a resumed statement leaves its handler: where a jump may start.
pub(crate) const JUMP_LINE: i64 = 1_000_001;
/// The line of a function's `return HOOK.value`.
pub(crate) const RETURN_LINE: i64 = 1_000_002;

const WRAP_SOURCE: &str = include_str!("python/wrap.py");

/// A module's code with hooks.
pub(crate) struct Wrapped<'py> {
    /// The code object.
    pub(crate) code: Bound<'py, PyAny>,
    /// Whether CPython's compiler has warnings about the module; ours keeps them to itself.
    pub(crate) warns: bool,
}

/// What happens to the tree between wrapping and compiling: `function(tree, source, filename, argument)`.
pub(crate) struct Transformation<'py> {
    /// Names what it does, for the cache.
    pub(crate) key: String,
    pub(crate) function: Bound<'py, PyAny>,
    pub(crate) argument: Bound<'py, PyAny>,
}

/// Returns the module's code with hooks, from the cache or newly compiled.
///
/// `None` where it cannot be had: the caller goes on with CPython's own code, and the reason is kept for `doctor`.
pub(crate) fn wrapped<'py>(source: &Bound<'py, PyAny>, filename: &str) -> Option<Wrapped<'py>> {
    transformed(source, filename, None)
}

/// Like [`wrapped`], with a transformation of the wrapped tree.
pub(crate) fn transformed<'py>(
    source: &Bound<'py, PyAny>,
    filename: &str,
    transformation: Option<&Transformation<'py>>,
) -> Option<Wrapped<'py>> {
    let py = source.py();
    match try_wrapped(source, filename, transformation) {
        Ok(wrapped) => Some(wrapped),
        Err(error) => {
            // A syntax error is the program's own: the import machinery is about to raise it itself.
            if !error.is_instance_of::<pyo3::exceptions::PySyntaxError>(py) {
                state::note_unwrapped(filename, &error.to_string());
            }
            None
        }
    }
}

fn try_wrapped<'py>(
    source: &Bound<'py, PyAny>,
    filename: &str,
    transformation: Option<&Transformation<'py>>,
) -> PyResult<Wrapped<'py>> {
    let py = source.py();
    let marshal = py.import("marshal")?;
    let key = transformation.map_or("", |transformation| &transformation.key);
    let cache = source
        .extract::<&[u8]>()
        .ok()
        .map(|bytes| cache_path(py, bytes, filename, key));
    let cached = cache.as_ref().and_then(|path| std::fs::read(path).ok());
    if let Some(entry) =
        cached.and_then(|bytes| marshal.call_method1("loads", (PyBytes::new(py, &bytes),)).ok())
    {
        return Ok(Wrapped {
            code: with_hook(&entry.get_item(0)?)?,
            warns: entry.get_item(1)?.extract()?,
        });
    }
    let (code, warns) = compile_with_hooks(source, filename, transformation)?;
    let code = without_hook_line(&code)?;
    if let Some(path) = cache {
        let bytes = marshal.call_method1("dumps", ((&code, warns),))?;
        write_cache(&path, bytes.extract()?);
    }
    Ok(Wrapped {
        code: with_hook(&code)?,
        warns,
    })
}

/// Names a cache entry by all that its content depends on.
fn cache_path(py: Python<'_>, source: &[u8], filename: &str, transformation: &str) -> PathBuf {
    let version = py.version_info();
    let mut hash = Sha256::new();
    hash.update(env!("CARGO_PKG_VERSION"));
    hash.update(WRAP_SOURCE);
    hash.update([
        version.major,
        version.minor,
        version.patch,
        state::optimize_level(py),
    ]);
    hash.update(version.suffix.unwrap_or_default());
    hash.update(filename);
    hash.update([0]);
    hash.update(transformation);
    hash.update([0]);
    hash.update(source);
    let name = hash
        .finalize()
        .iter()
        .fold(String::new(), |name, byte| name + &format!("{byte:02x}"));
    PathBuf::from(&state::settings().cache)
        .join("code")
        .join(&name[..2])
        .join(&name[2..])
}

/// Writes the entry whole or not at all; a cache that cannot be written is no error.
fn write_cache(path: &std::path::Path, bytes: &[u8]) {
    let temporary = path.with_extension(std::process::id().to_string());
    let written = path
        .parent()
        .map(std::fs::create_dir_all)
        .is_some_and(|made| made.is_ok())
        .then(|| std::fs::write(&temporary, bytes).and_then(|()| std::fs::rename(&temporary, path)));
    if !matches!(written, Some(Ok(()))) {
        let _ = std::fs::remove_file(&temporary);
    }
}

/// Compiles source; returns the code and whether CPython's compiler warned.
fn compile_with_hooks<'py>(
    source: &Bound<'py, PyAny>,
    filename: &str,
    transformation: Option<&Transformation<'py>>,
) -> PyResult<(Bound<'py, PyAny>, bool)> {
    let compile = wrap_namespace(source.py())?
        .get_item("compile_wrapped")?
        .expect("wrap.py defines it");
    let compiled = match transformation {
        None => compile.call1((source, filename)),
        Some(Transformation {
            function, argument, ..
        }) => compile.call1((source, filename, function, argument)),
    };
    compiled?.extract()
}

/// The namespace of `wrap.py`, run once a process, when the first module misses the cache.
fn wrap_namespace(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    static NAMESPACE: pyo3::sync::PyOnceLock<Py<PyDict>> = pyo3::sync::PyOnceLock::new();
    let namespace = NAMESPACE.get_or_try_init(py, || {
        let namespace = PyDict::new(py);
        namespace.set_item("__name__", "healmcp_runtime.wrap")?;
        let compile = py.import("builtins")?.getattr("compile")?;
        let code = compile.call1((WRAP_SOURCE, "<healmcp wrap>", "exec"))?;
        py.import("builtins")?
            .getattr("exec")?
            .call1((code, &namespace))?;
        Ok::<_, PyErr>(namespace.unbind())
    })?;
    Ok(namespace.bind(py).clone())
}

/// Takes the location off the instructions at [`HOOK_LINE`], in the code and all code within it.
fn without_hook_line<'py>(code: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = code.py();
    let table = code.getattr("co_linetable")?;
    let first_line = code.getattr("co_firstlineno")?.extract()?;
    let table = location_table::without_line(table.extract()?, first_line, HOOK_LINE)
        .ok_or_else(|| pyo3::exceptions::PyValueError::new_err("malformed location table"))?;
    let changes = PyDict::new(py);
    changes.set_item("co_linetable", PyBytes::new(py, &table))?;
    if let Some(constants) = map_constants(code, |constant| {
        if is_code(&constant, code) {
            without_hook_line(&constant).map(Some)
        } else {
            Ok(None)
        }
    })? {
        changes.set_item("co_consts", constants)?;
    }
    code.call_method("replace", (), Some(&changes))
}

/// Puts the hook object where the code and all code within it has [`HOOK_CONSTANT`].
fn with_hook<'py>(code: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = code.py();
    let constants = map_constants(code, |constant| {
        if is_code(&constant, code) {
            return with_hook(&constant).map(Some);
        }
        match constant.cast_exact::<PyString>() {
            Ok(text) if text.to_str()? == HOOK_CONSTANT => Ok(Some(hook::object(py)?)),
            _ => Ok(None),
        }
    })?;
    match constants {
        None => Ok(code.clone()),
        Some(constants) => {
            let changes = PyDict::new(py);
            changes.set_item("co_consts", constants)?;
            code.call_method("replace", (), Some(&changes))
        }
    }
}

/// Returns the constants with some replaced; `None` where none is.
fn map_constants<'py>(
    code: &Bound<'py, PyAny>,
    replace: impl Fn(Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let constants = code.getattr("co_consts")?.cast_into::<PyTuple>()?;
    let mut changed = false;
    let mut mapped = Vec::with_capacity(constants.len());
    for constant in constants.iter() {
        mapped.push(match replace(constant.clone())? {
            Some(new) => {
                changed = true;
                new
            }
            None => constant,
        });
    }
    if changed {
        PyTuple::new(code.py(), mapped).map(Some)
    } else {
        Ok(None)
    }
}

fn is_code(object: &Bound<'_, PyAny>, code: &Bound<'_, PyAny>) -> bool {
    object.get_type().is(code.get_type())
}
