//! Literals: numbers, strings, f-strings.

use ruff_python_ast::{
    BytesLiteral, ConversionFlag, ExprFString, ExprNumberLiteral, FStringPart as AstPart,
    InterpolatedElement, InterpolatedStringElement, Number, StringLiteral,
};
use ruff_text_size::{Ranged, TextRange};

use crate::context::Context;
use crate::rules::{formats, numbers};
use crate::tree::{Constant, Conversion, ExprKind, FStringPart, Integer};

/// Lowers a number.
pub(super) fn number(cx: &mut Context<'_>, node: &ExprNumberLiteral) -> Constant {
    match &node.value {
        Number::Float(value) => Constant::Float(*value),
        Number::Complex { imag, .. } => Constant::Imaginary(*imag),
        Number::Int(value) => {
            let integer = match value.as_u64() {
                Some(value) => Integer::from(value),
                None => big(cx.text(node.range()), cx.options.limits.integer_bits),
            };
            let limit = cx.options.limits.integer_bits;
            if integer.bits() > limit {
                let span = cx.span(node.range());
                let message = format!("the integer has more than {limit} bits");
                cx.report(
                    &numbers::INTEGER_LITERAL,
                    span,
                    message,
                    "use a smaller number, or a float: `1e300`",
                );
            }
            Constant::Int(integer)
        }
    }
}

/// Reads an integer of more than 64 bits; beyond some length, only that it is too large counts.
fn big(text: &str, limit: u64) -> Integer {
    let (radix, digits) = match text.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => (16, &text[2..]),
        Some("0o") => (8, &text[2..]),
        Some("0b") => (2, &text[2..]),
        _ => (10, text),
    };
    let digits = digits.trim_start_matches(['0', '_']);
    // Each digit but underscores is at least one bit.
    let most = usize::try_from(limit).unwrap_or(usize::MAX).saturating_add(64);
    let digits: String = digits.chars().filter(|digit| *digit != '_').take(most).collect();
    Integer::from_digits(&digits, radix).expect("the parser has read the digits")
}

/// Lowers string literals that stand side by side.
pub(super) fn string<'s>(cx: &mut Context<'_>, parts: impl Iterator<Item = &'s StringLiteral>) -> Constant {
    let mut text = String::new();
    for part in parts {
        if !part.flags.prefix().is_raw() {
            check_escapes(cx, part.range());
        }
        text.push_str(&part.value);
    }
    Constant::Str(text)
}

/// Lowers bytes literals that stand side by side.
pub(super) fn bytes<'s>(parts: impl Iterator<Item = &'s BytesLiteral>) -> Constant {
    Constant::Bytes(parts.flat_map(|part| part.value.iter().copied()).collect())
}

fn check_escapes(cx: &mut Context<'_>, range: TextRange) {
    let span = cx.span(range);
    let text = cx.text(range);
    formats::check_escapes(cx, text, span);
}

/// Lowers an f-string.
pub(super) fn fstring(cx: &mut Context<'_>, node: &ExprFString) -> ExprKind {
    let mut parts: Vec<FStringPart> = Vec::new();
    for part in &node.value {
        match part {
            AstPart::Literal(literal) => {
                if !literal.flags.prefix().is_raw() {
                    check_escapes(cx, literal.range());
                }
                push_text(&mut parts, &literal.value);
            }
            AstPart::FString(fstring) => {
                let is_raw = fstring.flags.prefix().is_raw();
                for element in &fstring.elements {
                    match element {
                        InterpolatedStringElement::Literal(literal) => {
                            if !is_raw {
                                check_escapes(cx, literal.range());
                            }
                            push_text(&mut parts, &literal.value);
                        }
                        InterpolatedStringElement::Interpolation(element) => field(cx, &mut parts, element),
                    }
                }
            }
        }
    }
    ExprKind::FString(parts)
}

fn push_text(parts: &mut Vec<FStringPart>, text: &str) {
    match parts.last_mut() {
        Some(FStringPart::Text(last)) => last.push_str(text),
        _ if text.is_empty() => {}
        _ => parts.push(FStringPart::Text(text.to_owned())),
    }
}

fn field(cx: &mut Context<'_>, parts: &mut Vec<FStringPart>, element: &InterpolatedElement) {
    let span = cx.span(element.range());
    cx.count(element);
    let value = super::expr(cx, &element.expression);
    let mut spec = String::new();
    for part in element.format_spec.iter().flat_map(|spec| spec.elements.iter()) {
        match part {
            InterpolatedStringElement::Literal(literal) => {
                check_escapes(cx, literal.range());
                spec.push_str(&literal.value);
            }
            InterpolatedStringElement::Interpolation(_) => cx.report(
                &formats::FORMAT_WIDTH,
                span,
                "the format spec is computed",
                "write width and precision as numbers, or use `str.ljust`, `str.rjust` or `round`",
            ),
        }
    }
    formats::check_spec(cx, &spec, span);
    let conversion = match element.conversion {
        // `{value=}` shows the repr unless a conversion or a spec says otherwise.
        ConversionFlag::None if element.debug_text.is_some() && element.format_spec.is_none() => {
            Conversion::Repr
        }
        ConversionFlag::None => Conversion::None,
        ConversionFlag::Str => Conversion::Str,
        ConversionFlag::Repr => Conversion::Repr,
        ConversionFlag::Ascii => Conversion::Ascii,
    };
    if let Some(debug) = &element.debug_text {
        push_text(parts, debug.as_str());
    }
    parts.push(FStringPart::Value {
        value,
        conversion,
        spec,
    });
}
