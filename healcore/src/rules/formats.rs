//! Text built from templates, and codecs: templates, widths and codecs are literals within limits.

use super::define_rules;
use crate::context::Context;
use crate::tables::{CODEC_ERRORS, codec};
use crate::tree::{Argument, BinaryOp, Call, Constant, Expr, ExprKind, Keyword, Span};

define_rules! {
    TEMPLATE = "HC707" "format-template": "a format template that is not a literal with plain fields";
    FORMAT_WIDTH = "HC708" "format-width": "a width or precision that is computed, or more than 1,000";
    CODEC = "HC709" "codec": "a codec or error handler that is not a listed literal";
    SURROGATE = "HC715" "surrogate-escape": "a string literal with half of a surrogate pair";
    LITERAL_SIZE = "HC716" "literal-size": "a string or bytes literal that is too long";
}

/// Checks a format spec: no number in it may be large.
pub(crate) fn check_spec(cx: &mut Context<'_>, spec: &str, span: Span) {
    let limit = cx.options.limits.format_width;
    if largest_number(spec) > limit {
        cx.report(
            &FORMAT_WIDTH,
            span,
            format!(
                "the format spec `{}` has a width or precision of more than {limit}",
                shorten(spec)
            ),
            "use a smaller width",
        );
    }
}

/// Checks the template of `str.format`.
pub(crate) fn check_template(cx: &mut Context<'_>, template: &str, span: Span) {
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        let after = &rest[at + 1..];
        if after.as_bytes().first() == Some(&rest.as_bytes()[at]) {
            rest = &after[1..];
            continue;
        }
        if rest.as_bytes()[at] == b'}' {
            return report_template(cx, span, "a single `}` stands in the template");
        }
        let Some(end) = after.find('}') else {
            return report_template(cx, span, "a field of the template is not closed");
        };
        let field = &after[..end];
        let (head, spec) = field.split_once(':').unwrap_or((field, ""));
        let (name, conversion) = head.split_once('!').unwrap_or((head, "s"));
        let is_plain = name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_')
            && !name.starts_with("__")
            && matches!(conversion, "s" | "r" | "a")
            && !spec.contains('{');
        if !is_plain {
            return report_template(
                cx,
                span,
                &format!("the field `{{{}}}` is not plain", shorten(field)),
            );
        }
        check_spec(cx, spec, span);
        rest = &after[end + 1..];
    }
}

/// Notes a template that may not be used.
pub(crate) fn report_template(cx: &mut Context<'_>, span: Span, message: &str) {
    cx.report(
        &TEMPLATE,
        span,
        message,
        "use an f-string, or a literal template whose fields are `{}`, `{0}` or `{name}`",
    );
}

/// Checks the left side of `%`: a literal, or text that is built from literals; anything else is checked while it runs.
pub(crate) fn check_percent_left(cx: &mut Context<'_>, left: &Expr) {
    match &left.kind {
        ExprKind::Constant(Constant::Str(template)) => check_percent(cx, template, left.span),
        ExprKind::Constant(Constant::Bytes(template)) => {
            let template: String = template.iter().map(|byte| char::from(*byte)).collect();
            check_percent(cx, &template, left.span);
        }
        _ if is_built(left) => report_template(cx, left.span, "the template of `%` is computed"),
        _ => {}
    }
}

/// Says whether text is put together from literals and values.
fn is_built(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::FString(_) => true,
        ExprKind::Binary {
            left,
            op: BinaryOp::Add | BinaryOp::Mul | BinaryOp::Mod,
            right,
        } => [left, right].into_iter().any(|part| {
            matches!(
                part.kind,
                ExprKind::Constant(Constant::Str(_) | Constant::Bytes(_))
            ) || is_built(part)
        }),
        _ => false,
    }
}

fn check_percent(cx: &mut Context<'_>, template: &str, span: Span) {
    let mut rest = template;
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        let name_len = if rest.starts_with('(') {
            rest.find(')').map_or(rest.len(), |end| end + 1)
        } else {
            0
        };
        rest = &rest[name_len..];
        let end = rest
            .find(|character: char| !"0123456789.*+-# ".contains(character))
            .unwrap_or(rest.len());
        let flags = &rest[..end];
        if flags.contains('*') {
            cx.report(
                &FORMAT_WIDTH,
                span,
                "a width of the template is computed",
                "write the width as a number",
            );
        }
        check_spec(cx, flags, span);
        rest = rest.get(end.max(1)..).unwrap_or_default();
    }
}

/// Checks the codec and the error handler of a call; `first` is the position of the codec.
pub(crate) fn check_codec(cx: &mut Context<'_>, call: &Call, first: usize) {
    for (position, name) in [(first, "encoding"), (first + 1, "errors")] {
        let Some(value) = argument(call, position, name) else {
            continue;
        };
        let is_listed = match &value.kind {
            ExprKind::Constant(Constant::Str(text)) if name == "encoding" => codec(text).is_some(),
            ExprKind::Constant(Constant::Str(text)) => CODEC_ERRORS.contains(&text.as_str()),
            _ => false,
        };
        if !is_listed {
            let (what, help) = if name == "encoding" {
                (
                    "codec",
                    "use a literal such as 'utf-8', 'latin-1', 'ascii' or 'cp1252'",
                )
            } else {
                (
                    "error handler",
                    "use a literal such as 'strict', 'replace' or 'ignore'",
                )
            };
            cx.report(
                &CODEC,
                value.span,
                format!("the {what} is not a listed literal"),
                help,
            );
        }
    }
}

/// Returns the argument at a position or with a name.
pub(crate) fn argument<'c>(call: &'c Call, position: usize, name: &str) -> Option<&'c Expr> {
    let by_name = call.keywords.iter().find_map(|keyword| match keyword {
        Keyword::One { name: keyword, value } if keyword == name => Some(value),
        _ => None,
    });
    by_name.or_else(|| match call.args.get(position) {
        Some(Argument::One(value)) => Some(value),
        _ => None,
    })
}

/// Checks the escapes of a string literal: Python's half surrogates are no Unicode text.
pub(crate) fn check_escapes(cx: &mut Context<'_>, literal: &str, span: Span) {
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at + 1..];
        let digits = match escape.as_bytes().first() {
            Some(b'u') => escape.get(1..5),
            Some(b'U') => escape.get(1..9),
            _ => None,
        };
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        if code.is_some_and(|code| (0xd800..0xe000).contains(&code)) {
            cx.report(
                &SURROGATE,
                span,
                "the literal holds half of a surrogate pair",
                "write the whole character, such as '\\U0001f600'",
            );
            return;
        }
        rest = escape
            .get(escape.chars().next().map_or(0, char::len_utf8)..)
            .unwrap_or_default();
    }
}

fn largest_number(text: &str) -> u64 {
    text.split(|character: char| !character.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse().unwrap_or(u64::MAX))
        .max()
        .unwrap_or(0)
}

fn shorten(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn templates_are_literal_and_plain() {
        check("x = '{} {0} {name!r:>10} {{}}'.format(a)", "");
        check("x = '{0.a}'.format(a)", "HC707");
        check("x = '{0[a]}'.format(a)", "HC707");
        check("x = '{:{}}'.format(a, b)", "HC707");
        check("x = '{a.__class__.__init__}'.format(a=b)", "HC707");
        check("x = '{{{0.a}}}'.format(a)", "HC707");
        check("x = ('{0.' 'a}').format(a)", "HC707");
        check("x = ('{0' + '.a}').format(a)", "HC707");
        check("x = f'{a}'.format(b)", "HC707");
        check("x = template.format(a)", "HC707");
        check("x = '{'.format(a)", "HC707");
        check("x = format(a, spec)", "HC707");
        check("x = format(a, '.2f')", "");
    }

    #[test]
    fn widths_are_literal_and_small() {
        check("x = f'{a:>1000}'", "");
        check("x = f'{a:>1001}'", "HC708");
        check("x = f'{a:.99999999999999999999}'", "HC708");
        check("x = f'{a:{b}}'", "HC708");
        check("x = f'{a:>{10}}'", "HC708");
        check("x = format(a, '9999d')", "HC708");
        check("x = '{:9999}'.format(a)", "HC708");
        check("x = '%9999d' % a", "HC708");
        check("x = '%(a)9999d' % a", "HC708");
        check("x = '%*d' % (a, b)", "HC708");
        check("x = '%.9999f' % a", "HC708");
        check("x = b'%9999d' % a", "HC708");
        check("x = '100%% of %d, %(a)s' % a", "");
        check("x = '%' % a", "");
        check("x = f'%{n}d' % a", "HC707");
        check("x = ('%' + n + 'd') % a", "HC707");
        check("x = '%%%dd' % n % a", "HC707");
        check("x = n % 3 % 2", "");
    }

    #[test]
    fn codecs_are_listed_literals() {
        check("x = a.decode('UTF8')", "");
        check("x = a.decode('rot13')", "HC709");
        check("x = a.decode(b)", "HC709");
        check("x = a.encode('idna')", "HC709");
        check("x = a.encode('utf-8', b)", "HC709");
        check("x = a.encode(errors='own')", "HC709");
        check("x = str(a, 'unicode_escape')", "HC709");
        check("x = bytes(a, encoding='hex')", "HC709");
        check("x = bytearray(a, b)", "HC709");
        check(
            "from urllib.parse import unquote\nx = unquote(a, encoding='zlib')",
            "HC709",
        );
        check(
            "from urllib.parse import quote\nx = quote(a, '', 'zlib')",
            "HC504",
        );
    }

    #[test]
    fn surrogates_are_refused() {
        check("x = '\\ud800'", "HC715");
        check("x = '\\U0000dfff'", "HC715");
        check("x = f'\\ud800{a}'", "HC715");
        check("x = r'\\ud800' + b'\\ud800'.decode('ascii') + '\\\\ud800'", "");
    }
}
