//! What an operation would cost, from its operands, before it computes.

use healcore::tree::BinaryOp;
use pyo3::prelude::*;
use pyo3::types::{
    PyByteArray, PyBytes, PyDict, PyFrozenSet, PyInt, PyList, PyRange, PySet, PyString, PyTuple,
};

use super::limits::Meter;
use super::native;
use super::operators::{is_int, is_sequence};
use super::stop::{Eval, Stop, rule};

/// Digits of a width or precision in a format.
const MAX_WIDTH: usize = 1_000;

/// The length of a builtin value or of an instance of a subclass, past its own `__len__`.
pub(super) fn sequence_len(value: &Bound<'_, PyAny>) -> Option<usize> {
    if let Ok(text) = value.cast::<PyString>() {
        return Some(native::text_len(text));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Some(bytes.as_bytes().len());
    }
    if let Ok(list) = value.cast::<PyList>() {
        return Some(list.len());
    }
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return Some(tuple.len());
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        return Some(dict.len());
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Some(bytes.len());
    }
    if value.cast::<PySet>().is_ok() || value.cast::<PyFrozenSet>().is_ok() {
        return native::set_len(value);
    }
    None
}

/// Refuses what `left op right` must not compute.
pub(super) fn arithmetic(
    meter: &Meter,
    op: BinaryOp,
    left: &Bound<'_, PyAny>,
    right: &Bound<'_, PyAny>,
) -> Eval<()> {
    match op {
        BinaryOp::Mul if is_int(left) && is_int(right) => {
            meter.integer((native::bit_length(left)? + native::bit_length(right)?).saturating_sub(1))
        }
        BinaryOp::Mul if is_sequence(left) && is_int(right) => repeat(meter, left, right),
        BinaryOp::Mul if is_int(left) && is_sequence(right) => repeat(meter, right, left),
        BinaryOp::Mul if is_int(right) && is_library(left, "collections", "deque") => {
            meter.elements(left.len()?.saturating_mul(count(right)))
        }
        BinaryOp::Mul if is_int(left) && is_library(right, "collections", "deque") => {
            meter.elements(right.len()?.saturating_mul(count(left)))
        }
        BinaryOp::Add if is_sequence(left) && is_sequence(right) => {
            let length = sequence_len(left).unwrap_or(0) + sequence_len(right).unwrap_or(0);
            size(meter, left, length)
        }
        BinaryOp::Pow if is_int(left) && is_int(right) => power(meter, native::bit_length(left)?, right),
        BinaryOp::Pow if is_int(right) && is_library(left, "fractions", "Fraction") => {
            let numerator = native::bit_length(&left.getattr("numerator")?)?;
            let denominator = native::bit_length(&left.getattr("denominator")?)?;
            power(meter, numerator.max(denominator), right)
        }
        BinaryOp::Mul | BinaryOp::Add | BinaryOp::Sub | BinaryOp::Div
            if is_library(left, "fractions", "Fraction") || is_library(right, "fractions", "Fraction") =>
        {
            let mut bits = 0;
            for value in [left, right] {
                if is_library(value, "fractions", "Fraction") {
                    bits += native::bit_length(&value.getattr("numerator")?)?;
                    bits += native::bit_length(&value.getattr("denominator")?)?;
                } else if is_int(value) {
                    bits += native::bit_length(value)?;
                }
            }
            meter.integer(bits.saturating_sub(2))
        }
        BinaryOp::Div | BinaryOp::FloorDiv | BinaryOp::Mod if is_int(left) && is_int(right) => {
            // Quadratic; the program itself may hold large integers.
            let digits = (native::bit_length(left)? >> 6).saturating_mul(native::bit_length(right)? >> 6);
            meter.integer(digits >> 10)
        }
        BinaryOp::LeftShift if is_int(left) && is_int(right) => {
            let bits = native::bit_length(left)?;
            let shift = u64::try_from(count(right)).unwrap_or(u64::MAX);
            meter.integer(if bits == 0 { 0 } else { bits.saturating_add(shift) })
        }
        _ => Ok(()),
    }
}

/// `base ** exponent` for integers.
pub(super) fn power(meter: &Meter, bits: u64, exponent: &Bound<'_, PyAny>) -> Eval<()> {
    let exponent = u64::try_from(count(exponent)).unwrap_or(u64::MAX);
    // 0 and 1 stay what they are, whatever the exponent.
    meter.integer(if bits <= 1 {
        bits
    } else {
        (bits - 1).saturating_mul(exponent)
    })
}

fn repeat(meter: &Meter, sequence: &Bound<'_, PyAny>, n_times: &Bound<'_, PyAny>) -> Eval<()> {
    size(
        meter,
        sequence,
        sequence_len(sequence).unwrap_or(0).saturating_mul(count(n_times)),
    )
}

fn size(meter: &Meter, sequence: &Bound<'_, PyAny>, length: usize) -> Eval<()> {
    if sequence.cast::<PyList>().is_ok() || sequence.cast::<PyTuple>().is_ok() {
        meter.elements(length)
    } else {
        meter.text(length)
    }
}

/// A count as an integer: 0 for negative ones, as much as can be for huge ones.
pub(super) fn count(value: &Bound<'_, PyAny>) -> usize {
    match value.extract::<i64>() {
        Ok(value) => usize::try_from(value).unwrap_or(0),
        Err(_) => {
            let is_negative = value.cast::<PyInt>().is_ok() && value.lt(0).unwrap_or(false);
            if is_negative { 0 } else { usize::MAX }
        }
    }
}

/// Whether a value's type is exactly that one of the library, and not one that says so.
fn is_library(value: &Bound<'_, PyAny>, module: &str, name: &str) -> bool {
    is_named(value, name)
        && super::world::loaded(value.py(), module)
            .and_then(|module| module.dict().get_item(name).ok().flatten())
            .is_some_and(|class| class.is(value.get_type()))
}

/// Whether a value's type has that name.
pub(super) fn is_named(value: &Bound<'_, PyAny>, name: &str) -> bool {
    value
        .get_type()
        .qualname()
        .is_ok_and(|qualname| qualname.to_string_lossy() == name)
}

/// Widths and precisions of a `%` format.
pub(super) fn percent_format(meter: &Meter, format: &Bound<'_, PyAny>, args: &Bound<'_, PyAny>) -> Eval<()> {
    let text = if let Ok(text) = format.cast::<PyString>() {
        text.to_string_lossy().into_owned()
    } else if let Ok(bytes) = format.cast::<PyBytes>() {
        String::from_utf8_lossy(bytes.as_bytes()).into_owned()
    } else {
        return Ok(());
    };
    widths(&text)?;
    if text.contains('*') {
        // Each `*` takes its width from the arguments.
        let args: Vec<_> = match args.cast::<PyTuple>() {
            Ok(tuple) => tuple.iter().collect(),
            Err(_) => vec![args.clone()],
        };
        if args.iter().any(|arg| is_int(arg) && count(arg) > MAX_WIDTH) {
            return Err(too_wide());
        }
    }
    meter.text(text.len())
}

/// Widths and precisions after each `%` of a format text.
pub(super) fn widths(format: &str) -> Eval<()> {
    for directive in format.split('%').skip(1) {
        let directive = match directive.strip_prefix('(') {
            Some(named) => named.split_once(')').map_or("", |(_, rest)| rest),
            None => directive,
        };
        let end = directive.find(|character: char| character.is_alphabetic() && !"hlL".contains(character));
        spec_widths(&directive[..end.unwrap_or(directive.len()).min(directive.len())])?;
    }
    Ok(())
}

/// Widths and precisions in a format spec, which holds nothing else.
pub(super) fn spec_widths(spec: &str) -> Eval<()> {
    let runs = spec.split(|character: char| !character.is_ascii_digit());
    if runs
        .into_iter()
        .any(|run| run.len() > 6 || run.parse::<usize>().is_ok_and(|width| width > MAX_WIDTH))
    {
        return Err(too_wide());
    }
    Ok(())
}

fn too_wide() -> Stop {
    Stop::limit(
        rule::STRING,
        format!("a format with a width or precision beyond {MAX_WIDTH}"),
        "use a smaller width",
    )
}

/// A search for something that is no int goes through the whole range.
pub(super) fn range_search(
    meter: &Meter,
    container: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> Eval<()> {
    if container.cast::<PyRange>().is_ok() && !value.is_exact_instance_of::<PyInt>() {
        return meter.elements(container.len().unwrap_or(usize::MAX));
    }
    Ok(())
}
