//! Calls: what is called is named, listed, and called in a listed way.

use super::define_rules;
use crate::context::Context;
use crate::tables::{Builtin, Shape};
use crate::tree::{Argument, Call, Constant, Expr, ExprKind, Keyword, Span};

define_rules! {
    PROGRAM_CALL = "HC501" "program-call": "a call of a function of the program, where it is not known to be safe";
    COMPUTED_CALLEE = "HC502" "computed-callee": "a call of a value that is not a name or an attribute";
    UNLISTED_METHOD = "HC503" "unlisted-method": "a call of a method that is not listed";
    ARGUMENTS = "HC504" "arguments": "arguments that the callee may not be given";
    HIDDEN_CALL = "HC505" "hidden-call": "a function that a call would apply and that is not listed";
    DYNAMIC_ATTRIBUTE = "HC506" "dynamic-attribute": "`getattr` or `hasattr` with a name that is not a literal";
    TOOLKIT = "HC507" "toolkit-function": "a function that the toolkit does not have";
}

/// Checks number and kinds of the arguments.
pub(crate) fn check_shape(cx: &mut Context<'_>, call: &Call, callee: &str, shape: Shape) {
    let n_positional = call.args.len();
    let has_star = call.args.iter().any(|arg| matches!(arg, Argument::Star(_)));
    if has_star && !shape.star {
        cx.report(
            &ARGUMENTS,
            call.span,
            format!("`{callee}` may not be called with `*`"),
            "write the arguments one by one",
        );
    } else if !has_star && n_positional > shape.max {
        let message = format!(
            "`{callee}` is called with {n_positional} arguments, at most {} are allowed",
            shape.max
        );
        cx.report(&ARGUMENTS, call.span, message, arguments_help(callee));
    } else if !has_star && call.keywords.is_empty() && n_positional < shape.min {
        let message = format!(
            "`{callee}` is called with {n_positional} arguments, it needs {}",
            shape.min
        );
        cx.report(&ARGUMENTS, call.span, message, "add what is missing");
    }
    check_keywords(cx, call, callee, shape.keywords);
}

fn arguments_help(callee: &str) -> &'static str {
    match callee {
        "type" => "`type(x)` gives the type of a value; classes cannot be created",
        "iter" => {
            "`iter(x)` takes an iterable; loop with `while` instead of calling a function again and again"
        }
        _ => "leave out the others",
    }
}

/// Checks the names of the keyword arguments.
pub(crate) fn check_keywords(cx: &mut Context<'_>, call: &Call, callee: &str, allowed: &[&str]) {
    for keyword in &call.keywords {
        let name = match keyword {
            Keyword::One { name, .. } | Keyword::Function { name, .. } => name.as_str(),
            Keyword::Star(_) => "**",
        };
        if !allowed.contains(&name) && !allowed.contains(&"*") {
            let help = if allowed.is_empty() {
                "leave it out".to_owned()
            } else {
                format!("the keywords are: {}", allowed.join(", "))
            };
            cx.report(
                &ARGUMENTS,
                call.span,
                format!("`{callee}` may not be called with `{name}`"),
                help,
            );
        }
    }
}

/// Checks that the attribute of `getattr` and `hasattr` is a literal, and one that may stand after a dot.
pub(crate) fn check_attribute_argument(cx: &mut Context<'_>, call: &Call, builtin: Builtin) {
    let span = call.span;
    match call.args.get(1) {
        Some(Argument::One(name)) => match &name.kind {
            ExprKind::Constant(Constant::Str(name)) if is_identifier(name) => {
                super::attributes::check_name(cx, name, span);
                if let Some(Argument::One(Expr {
                    kind: ExprKind::Name(object),
                    ..
                })) = call.args.first()
                    && cx.caught.contains(object)
                {
                    super::attributes::check_exception(cx, name, span);
                }
            }
            _ => report_dynamic(cx, builtin, span),
        },
        Some(_) => report_dynamic(cx, builtin, span),
        None => {}
    }
}

fn report_dynamic(cx: &mut Context<'_>, builtin: Builtin, span: Span) {
    cx.report(
        &DYNAMIC_ATTRIBUTE,
        span,
        format!("the attribute of `{}` is not a literal name", builtin.name()),
        "write the name as a literal: `getattr(x, 'name', None)`",
    );
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|character: char| character.is_ascii_digit())
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_')
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_with};
    use crate::{FrameName, Options, ProgramCalls};

    #[test]
    fn program_functions_are_refused() {
        check("charge()", "HC501");
        check("x = [charge(a) for a in rows]", "HC501");
        check("x = f'{charge()}'", "HC501");
        check("x = a[charge()]", "HC501");
        check("x = {**load()}", "HC501");
        check("assert charge()", "HC501");
        check("del rows[charge()]", "HC501");
        check("rows[charge()] += 1", "HC501");
        check("for a in charge():\n    pass", "HC501");
        check("return charge()", "HC501");
        check("raise ValueError(charge())", "HC501");
        check("x = int(charge)", "");
    }

    #[test]
    fn program_functions_become_nodes_where_allowed() {
        let options = Options {
            program_calls: ProgramCalls::Allow,
            ..Options::default()
        };
        check_with("x = charge(1, *a, k=2, **b)", &options, "");
        check_with("self.shop.refresh()", &options, "");
        check_with("f()()", &options, "HC502");
        check_with("f = handlers['pay']\nf(order)", &options, "HC502");
        check_with("x = [f(1) for f in handlers]", &options, "HC502");
        check_with("for f in handlers:\n    f()", &options, "HC502");
        check_with("x = ValueError('a')", &options, "HC203");
        check_with("x = SystemExit()", &options, "HC105");
        check_with("x = __import__('os')", &options, "HC104");
        check_with("x = eval('1')", &options, "HC105");
        check_with("a[0].save()", &options, "HC503");
        check_with("x = sorted(rows, key=lambda r: charge(r))", &options, "HC402");
        check_with("x = sorted(rows, key=charge)", &options, "HC505");
        check_with("x = f(a for a in rows)", &options, "HC404");
        check_with("self.__reduce__()", &options, "HC101");
        check_with("os.remove('a')", &options, "HC106");
        check_with("json.load(f)", &options, "HC203");
    }

    #[test]
    fn computed_callees_are_refused() {
        check("x = a[0]()", "HC502");
        check("x = (a or b)()", "HC502");
        check("x = type(a)()", "HC502");
        check("x = getattr(a, 'save')()", "HC502");
        check("x = 'a'()", "HC502");
    }

    #[test]
    fn methods_are_listed() {
        check("user.save()", "HC503");
        check("x = a[0].save()", "HC503");
        check("x = 'a'.format_map(b)", "HC103");
        check("x = a.translate(b)", "HC503");
        check("rows.append(1)", "");
        check("x = object.__new__(A)", "HC105 HC101");
        check("x = str.mro()", "HC103");
        check("x = list.append(rows, 1)", "HC503");
        check("x = str.format('{}', 1)", "HC503");
        check("x = str.upper('a')", "");
        check("x = dict.fromkeys(names, 0)", "");
    }

    #[test]
    fn builtins_are_called_in_their_safe_form() {
        check("x = type('A', (int,), {})", "HC504");
        check("x = type(*a)", "HC504");
        check("x = iter(f, 0)", "HC504");
        check("print('a', file=f)", "HC504");
        check("print('a', flush=True)", "HC504");
        check("print(**a)", "HC504");
        check("x = sorted(rows, **a)", "HC504");
        check("x = getattr(a, name)", "HC506");
        check("x = getattr(a, 'b' + 'c')", "HC506");
        check("x = getattr(a, f'b')", "HC506");
        check("x = getattr(a, '__class__')", "HC101");
        check("x = hasattr(a, 'gi_frame')", "HC103");
        check("x = getattr(a, 'b.c')", "HC506");
        check("x = getattr(*a)", "HC504");
        check("x = getattr(a, *b)", "HC504 HC506");
        check("x = getattr(a, 'b', None)", "");
        check("x = list(zip(*rows))", "");
    }

    #[test]
    fn functions_that_a_call_applies_are_listed() {
        check("x = list(map(charge, rows))", "HC505");
        check("x = sorted(rows, key=charge)", "HC505");
        check("x = max(rows, key=eval)", "HC105 HC505");
        check("rows.sort(key=user.save)", "HC505");
        check("x = list(filter(getattr, rows))", "HC505");
        check("x = list(map(str.format, rows))", "HC505");
        check("x = list(map(list.append, a, b))", "HC505");
        check(
            "from collections import defaultdict\nx = defaultdict(charge)",
            "HC505",
        );
        check(
            "from collections import defaultdict\nx = defaultdict(lambda: 0)",
            "HC402",
        );
        check(
            "import itertools\nx = list(itertools.takewhile(charge, rows))",
            "HC505",
        );
        check("import json\nx = json.dumps(a, default=charge)", "HC505");
        check("import json\nx = json.loads(a, object_hook=charge)", "HC504");
        check("import json\nx = json.loads(a, parse_int=eval)", "HC105 HC505");
        check("import re\nx = re.sub('a', charge, b)", "HC712");
        check("import textwrap\nx = textwrap.indent(a, b, charge)", "HC504");
        check(
            "from urllib.parse import urlencode\nx = urlencode(a, quote_via=charge)",
            "HC504",
        );
        check(
            "x = list(map(int, parts)) + sorted(rows, key=str.lower) + list(filter(None, rows))",
            "",
        );
        check("import math\nx = list(map(math.sqrt, rows))", "");
        check("x = sorted(rows, key=None)", "");
        check("x = max(rows, key=len)", "");
        check("import re\nx = list(map(re.compile, rows))", "HC505");
    }

    #[test]
    fn names_of_the_frame_are_known() {
        let mut options = Options::default();
        options.names.insert("max".to_owned(), FrameName::Value);
        options.names.insert("json".to_owned(), FrameName::Value);
        options.names.insert("größe".to_owned(), FrameName::Value);
        check_with("max = max + 1", &options, "");
        check_with("x = max(1, 2)", &options, "HC501");
        check_with("json = json or {}", &options, "");
        check_with("größe = 1", &options, "");
        check_with("höhe = 1", &options, "HC605");
        options.names.insert(
            "dt".to_owned(),
            FrameName::Module(crate::tables::Module::Datetime),
        );
        check_with("x = dt.date(2020, 1, 1)", &options, "");
        check_with("x = dt.sys", &options, "HC203");
        options.names.insert("np".to_owned(), FrameName::Foreign);
        check_with("x = np.nan", &options, "HC106");
        check_with("x = np.copy(y)", &options, "HC106");
        check_with("np.x = 1", &options, "HC106");
        check_with("np = 1", &options, "HC107");
        check_with("try:\n    x = 1\nexcept np.Error:\n    x = 2", &options, "");
    }
}
