//! The source text of code objects: from `linecache` for code without a file, else from the file as Python decodes it.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use std::ffi::CString;
use std::path::Path;

use super::statics;

/// Source beyond this size is not read.
const MAX_BYTES: u64 = 20_000_000;

/// Returns the source of `file`, a code object's `co_filename`.
pub(crate) fn source(py: Python<'_>, file: &str) -> Option<String> {
    from_file(py, file)
        .or_else(|| from_linecache(py, file))
        .or_else(|| from_zip(py, file))
}

/// A module in a zip file, which the importer of zip files reads.
fn from_zip(py: Python<'_>, file: &str) -> Option<String> {
    let archive = Path::new(file)
        .ancestors()
        .skip(1)
        .find(|folder| folder.is_file())?;
    let importer = statics::loaded(py, "zipimport", "zipimporter")?
        .call1((archive.to_str()?,))
        .ok()?;
    let bytes: Vec<u8> = importer.call_method1("get_data", (file,)).ok()?.extract().ok()?;
    decode(py, bytes)
}

fn from_linecache(py: Python<'_>, file: &str) -> Option<String> {
    // 3.13 keeps the code of `-c` and of the prompt in a cache of its own.
    ["cache", "_interactive_cache"].iter().find_map(|cache| {
        let cache = statics::loaded(py, "linecache", cache)?
            .cast_into_exact::<PyDict>()
            .ok()?;
        let entry = statics::dict_get(&cache, file)?
            .cast_into_exact::<PyTuple>()
            .ok()?;
        let lines = entry.get_item(2).ok()?.cast_into_exact::<PyList>().ok()?;
        let lines: Option<Vec<String>> = lines.iter().map(|line| statics::exact_text(&line)).collect();
        Some(lines?.concat())
    })
}

fn from_file(py: Python<'_>, file: &str) -> Option<String> {
    let metadata = std::fs::metadata(file).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return None;
    }
    decode(py, std::fs::read(file).ok()?)
}

fn decode(py: Python<'_>, bytes: Vec<u8>) -> Option<String> {
    let bytes = match bytes.strip_prefix(b"\xef\xbb\xbf") {
        Some(rest) => rest.to_vec(),
        None => bytes,
    };
    let encoding = cookie(&bytes).unwrap_or_else(|| "utf-8".to_owned());
    let is_utf8 = ["utf-8", "utf8", "u8", "ascii", "us-ascii"].contains(&encoding.replace('_', "-").as_str());
    if is_utf8 {
        return Some(String::from_utf8_lossy(&bytes).into_owned());
    }
    let encoding = CString::new(encoding).ok()?;
    let length = isize::try_from(bytes.len()).ok()?;
    // SAFETY: the pointer and length are those of a live vector, and both names are terminated by zero.
    let text = unsafe {
        ffi::PyUnicode_Decode(
            bytes.as_ptr().cast(),
            length,
            encoding.as_ptr(),
            c"replace".as_ptr(),
        )
    };
    // SAFETY: the call returns a new reference, or null with an error set.
    let text = unsafe { Bound::from_owned_ptr_or_err(py, text) }.ok()?;
    text.cast_into::<PyString>()
        .ok()
        .map(|text| text.to_string_lossy().into_owned())
}

/// Returns the encoding that one of the first two lines declares, as PEP 263 defines it.
fn cookie(bytes: &[u8]) -> Option<String> {
    for line in bytes.split(|byte| *byte == b'\n').take(2) {
        let line = String::from_utf8_lossy(line);
        let trimmed = line.trim_start_matches([' ', '\t', '\x0c']);
        if !trimmed.starts_with('#') {
            // A second line counts only below a blank or comment line.
            if !trimmed.trim_end().is_empty() {
                return None;
            }
            continue;
        }
        let Some(after) = trimmed.find("coding").map(|at| &trimmed[at + "coding".len()..]) else {
            continue;
        };
        let Some(name) = after.strip_prefix([':', '=']) else {
            continue;
        };
        let is_part = |char: &char| char.is_ascii_alphanumeric() || "-_.".contains(*char);
        let name: String = name
            .trim_start_matches([' ', '\t'])
            .chars()
            .take_while(is_part)
            .collect();
        if !name.is_empty() {
            return Some(name.to_lowercase());
        }
    }
    None
}
