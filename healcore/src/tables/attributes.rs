//! Attribute names that open the inside of Python.

/// Prefixes of the attributes of generators, coroutines, frames, tracebacks, code objects and functions.
pub const FORBIDDEN_PREFIXES: &[&str] = &["gi_", "cr_", "ag_", "f_", "tb_", "co_", "func_", "im_"];

/// Names that walk from a value to classes, cells or the objects behind an error.
pub const FORBIDDEN_ATTRIBUTES: &[&str] =
    &["add_note", "cell_contents", "format_map", "mro", "with_traceback"];

/// Why an attribute may not be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeFault {
    /// It starts with two underscores.
    Dunder,
    /// It is the mangled form of a private name, `_Class__name`.
    Mangled,
    /// It belongs to frames, code, generators, cells or classes.
    Inspection,
}

/// Returns why `name` may not stand as an attribute, or nothing where it may.
pub fn attribute_fault(name: &str) -> Option<AttributeFault> {
    if name.starts_with("__") {
        return Some(AttributeFault::Dunder);
    }
    let is_mangled = name
        .strip_prefix('_')
        .is_some_and(|rest| rest.find("__").is_some_and(|at| at > 0 && rest.len() > at + 2));
    if is_mangled {
        return Some(AttributeFault::Mangled);
    }
    let is_inspection = FORBIDDEN_ATTRIBUTES.contains(&name)
        || FORBIDDEN_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix) && name.len() > prefix.len());
    is_inspection.then_some(AttributeFault::Inspection)
}
