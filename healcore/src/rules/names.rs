//! Names: which variables may be read and bound.

use super::define_rules;
use crate::context::Context;
use crate::options::FrameName;
use crate::tables::{
    AMBIGUOUS_MODULES, Builtin, ExceptionName, FORBIDDEN_BUILTINS, FORBIDDEN_MODULES, Module,
    REBINDABLE_BUILTINS, REFUSED_EXCEPTIONS,
};
use crate::tree::Span;

define_rules! {
    DUNDER_NAME = "HC104" "dunder-name": "a name that starts with two underscores";
    FORBIDDEN_BUILTIN = "HC105" "forbidden-builtin": "a builtin that healing code may not use";
    FORBIDDEN_MODULE = "HC106" "forbidden-module": "a module that healing code may not use, imported by the program";
    REBOUND = "HC107" "rebound-name": "an allowed builtin, exception or module that is bound to something else";
    BUILTIN_VALUE = "HC109" "builtin-as-value": "a builtin function that is used as a value";
    MODULE_VALUE = "HC110" "module-as-value": "a module, or a function of a module, that is used as a value";
}

/// Says whether the frame is known to hold a variable of that name.
pub(crate) fn is_variable(cx: &Context<'_>, name: &str) -> bool {
    cx.is_local(name)
        || matches!(cx.options.names.get(name), Some(FrameName::Value)) && !cx.imports.contains_key(name)
}

/// Checks a name that is read; says whether it is a plain variable.
pub(crate) fn check_read(cx: &mut Context<'_>, name: &str, span: Span) -> bool {
    if check_dunder(cx, name, span) {
        return false;
    }
    if is_variable(cx, name) {
        return true;
    }
    if matches!(cx.options.names.get(name), Some(FrameName::Foreign)) && !cx.imports.contains_key(name) {
        report_module(cx, name, span);
        return false;
    }
    if Builtin::from_name(name).is_some() {
        cx.report(
            &BUILTIN_VALUE,
            span,
            format!("the builtin `{name}` is used as a value"),
            format!("call it where it stands: `{name}(…)`"),
        );
        return false;
    }
    if REFUSED_EXCEPTIONS.contains(&name) {
        cx.report(
            &FORBIDDEN_BUILTIN,
            span,
            format!("`{name}` may not be used"),
            "use `Exception` or the listed class that fits",
        );
        return false;
    }
    if cx.bound.contains(name) {
        return true;
    }
    check_forbidden(cx, name, span)
}

/// Checks a name against the builtins and modules that are refused; says whether it is none of them.
pub(crate) fn check_forbidden(cx: &mut Context<'_>, name: &str, span: Span) -> bool {
    if let Some((_, help)) = FORBIDDEN_BUILTINS.iter().find(|(builtin, _)| *builtin == name) {
        cx.report(
            &FORBIDDEN_BUILTIN,
            span,
            format!("the builtin `{name}` may not be used"),
            *help,
        );
        return false;
    }
    check_module(cx, name, span)
}

fn check_module(cx: &mut Context<'_>, name: &str, span: Span) -> bool {
    if FORBIDDEN_MODULES.contains(&name) {
        report_module(cx, name, span);
        return false;
    }
    true
}

fn report_module(cx: &mut Context<'_>, name: &str, span: Span) {
    cx.report(
        &FORBIDDEN_MODULE,
        span,
        format!("the module `{name}` may not be used, even where the program has imported it"),
        "compute the value with builtins and listed modules, or write the value itself",
    );
}

/// Checks a name that stands before a dot.
pub(crate) fn check_root(cx: &mut Context<'_>, name: &str, span: Span) {
    let is_known =
        cx.options.names.contains_key(name) || cx.imports.contains_key(name) || cx.bound.contains(name);
    if AMBIGUOUS_MODULES.contains(&name) && !is_known && !cx.is_local(name) {
        cx.report(
            &FORBIDDEN_MODULE,
            span,
            format!("`{name}` is the name of a module that may not be used"),
            "compute the value with builtins and listed modules, or write the value itself",
        );
    }
}

/// Checks a name that is bound.
pub(crate) fn check_bind(cx: &mut Context<'_>, name: &str, span: Span) {
    if check_dunder(cx, name, span) || matches!(cx.options.names.get(name), Some(FrameName::Value)) {
        return;
    }
    let is_builtin = Builtin::from_name(name).is_some()
        || ExceptionName::from_name(name).is_some()
        || REFUSED_EXCEPTIONS.contains(&name)
        || FORBIDDEN_BUILTINS.iter().any(|(builtin, _)| *builtin == name)
            && !REBINDABLE_BUILTINS.contains(&name);
    let is_module = Module::from_name(name).is_some()
        || name == "urllib"
        || FORBIDDEN_MODULES.contains(&name)
        || cx.imports.contains_key(name)
        || cx.options.names.contains_key(name);
    if is_builtin || is_module {
        let kind = if is_builtin {
            "builtin"
        } else {
            "module or imported"
        };
        cx.report(
            &REBOUND,
            span,
            format!("the {kind} name `{name}` is bound to something else"),
            format!("use another name, such as `{name}_value`"),
        );
    }
}

fn check_dunder(cx: &mut Context<'_>, name: &str, span: Span) -> bool {
    let is_dunder = name.starts_with("__");
    if is_dunder {
        cx.report(
            &DUNDER_NAME,
            span,
            format!("`{name}` starts with two underscores"),
            "use a name of your own or a variable of the program",
        );
    }
    is_dunder
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn forbidden_builtins_are_refused_as_values_and_calls() {
        check("x = eval", "HC105");
        check("x = [exec]", "HC105");
        check("x = open('f')", "HC105");
        check("x = {'f': compile}", "HC105");
        check("exec = 1", "HC107");
        check("x = super().total", "HC105");
        check("x = BaseException", "HC105");
    }

    #[test]
    fn allowed_builtins_are_called_and_not_kept() {
        check("f = len", "HC109");
        check("f = [getattr][0]", "HC109");
        check("kinds = (int, str)", "");
        check("len = 1", "HC107");
        check("for len in rows:\n    pass", "HC107");
        check("x = [1 for int in rows]", "HC107");
        check("try:\n    x = 1\nexcept ValueError as str:\n    pass", "HC107");
        check("ValueError = KeyError", "HC107");
    }

    #[test]
    fn dunder_names_are_refused() {
        check("x = __builtins__", "HC104");
        check("__name__ = 'x'", "HC104");
        check("global __doc__", "HC104");
        check("x = [__x for __x in rows]", "HC104");
    }

    #[test]
    fn forbidden_modules_are_refused_by_name() {
        check("x = sys.path", "HC106");
        check("os.environ['A'] = 'b'", "HC106");
        check("x = [os]", "HC106");
        check("os = 1", "HC107");
        check("x = time.time()", "HC106");
        check("time = 0.5\nx = time + 1", "");
        check("x = f'{os.environ}'", "HC106");
    }

    #[test]
    fn names_that_are_free_may_be_bound() {
        check("id = id or 0", "");
        check("input = ''", "");
    }
}
