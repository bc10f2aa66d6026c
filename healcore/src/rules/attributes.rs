//! Attribute names: what opens the inside of Python may not stand after a dot.

use super::define_rules;
use crate::context::Context;
use crate::tables::{AttributeFault, EXCEPTION_ATTRIBUTES, MethodName, attribute_fault};
use crate::tree::Span;

define_rules! {
    DUNDER_ATTRIBUTE = "HC101" "dunder-attribute": "an attribute that starts with two underscores";
    MANGLED_ATTRIBUTE = "HC102" "mangled-attribute": "the mangled name of a private attribute, `_Class__name`";
    INSPECTION_ATTRIBUTE = "HC103" "inspection-attribute": "an attribute of frames, tracebacks, code, generators, cells or classes";
    METHOD_VALUE = "HC111" "method-as-value": "a method that is read and not called";
    EXCEPTION_ATTRIBUTE = "HC112" "exception-attribute": "an attribute of a caught exception that is not listed";
}

/// Method names that programs use for plain data, too: they may be read.
const DATA_NAMES: &[&str] = &[
    "center",
    "conjugate",
    "copy",
    "count",
    "date",
    "dst",
    "elements",
    "end",
    "format",
    "get",
    "group",
    "groups",
    "hex",
    "hour",
    "index",
    "items",
    "keys",
    "lower",
    "match",
    "name",
    "partition",
    "pop",
    "replace",
    "search",
    "sort",
    "span",
    "split",
    "start",
    "sub",
    "time",
    "timestamp",
    "title",
    "total",
    "tzname",
    "union",
    "upper",
    "values",
    "weekday",
];

/// Checks the name of an attribute.
pub(crate) fn check_name(cx: &mut Context<'_>, name: &str, span: Span) {
    match attribute_fault(name) {
        None => {}
        Some(AttributeFault::Dunder) => cx.report(
            &DUNDER_ATTRIBUTE,
            span,
            format!("`{name}` starts with two underscores"),
            "use a public attribute or a builtin: `len(x)` for `x.__len__()`, `isinstance(x, T)` for `x.__class__`",
        ),
        Some(AttributeFault::Mangled) => cx.report(
            &MANGLED_ATTRIBUTE,
            span,
            format!("`{name}` is the mangled name of a private attribute"),
            "use a public attribute, or one with a single leading underscore",
        ),
        Some(AttributeFault::Inspection) => cx.report(
            &INSPECTION_ATTRIBUTE,
            span,
            format!("`{name}` reaches into the interpreter's own objects"),
            "work with the values themselves; frames, code, cells and classes are out of reach",
        ),
    }
}

/// Checks an attribute that is read and not called.
pub(crate) fn check_read(cx: &mut Context<'_>, name: &str, span: Span) {
    if MethodName::from_name(name).is_some() && !DATA_NAMES.contains(&name) {
        cx.report(
            &METHOD_VALUE,
            span,
            format!("the method `{name}` is read and not called"),
            format!("call it where it stands: `.{name}(…)`"),
        );
    }
}

/// Notes an attribute that is read from a builtin class.
pub(crate) fn report_class(cx: &mut Context<'_>, name: &str, span: Span) {
    cx.report(
        &METHOD_VALUE,
        span,
        format!("`{name}` of a builtin class is read and not called"),
        format!("call it on a value: `x.{name}(…)`"),
    );
}

/// Checks an attribute of a variable that an enclosing `except … as` has bound.
pub(crate) fn check_exception(cx: &mut Context<'_>, name: &str, span: Span) {
    if !EXCEPTION_ATTRIBUTES.contains(&name) && attribute_fault(name).is_none() {
        cx.report(
            &EXCEPTION_ATTRIBUTE,
            span,
            format!("`{name}` of a caught exception may not be read"),
            format!("use `str(e)` or one of: {}", EXCEPTION_ATTRIBUTES.join(", ")),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn what_opens_the_interpreter_is_refused() {
        check("x = a.__class__", "HC101");
        check("a.__dict__ = {}", "HC101");
        check("x = a.__", "HC101");
        check("x = f'{a.__class__}'", "HC101");
        check("x = [r.__class__ for r in rows]", "HC101");
        check("x = a[b.__class__]", "HC101");
        check("rows.sort(key=lambda r: r.__class__)", "HC101");
        check("x = a._A__b", "HC102");
        check("x = a.gi_frame", "HC103");
        check("x = a.tb_next", "HC103");
        check("x = a.co_consts", "HC103");
        check("x = t.mro", "HC103");
        check("x = cell.cell_contents", "HC103");
        check("x = e.add_note", "HC103");
    }

    #[test]
    fn plain_and_private_attributes_are_accepted() {
        check("self._cache = {}", "");
        check("x = self._total", "");
        check("x = a.f", "");
        check("x = a.f_", "");
        check("x = a.coord", "");
    }

    #[test]
    fn methods_are_called_and_not_kept() {
        check("f = rows.append", "HC111");
        check("self.f = text.strip", "HC111");
        check("f = str.join", "HC111");
        check("f = int.real", "HC111");
        check("f = ValueError.args", "HC111");
        check("x = order.items", "");
    }

    #[test]
    fn caught_exceptions_show_listed_attributes_only() {
        check("try:\n    x = 1\nexcept ValueError as e:\n    y = e.args", "");
        check(
            "try:\n    x = 1\nexcept AttributeError as e:\n    y = e.obj",
            "HC112",
        );
        check(
            "try:\n    x = 1\nexcept KeyError as e:\n    y = e.__traceback__",
            "HC101",
        );
        check(
            "try:\n    x = 1\nexcept NameError as e:\n    y = getattr(e, 'obj')",
            "HC112",
        );
    }
}
