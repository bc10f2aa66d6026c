//! What the text alone tells of a value: integers, lengths and truth, computed from literals.

use crate::tables::Builtin;
use crate::tree::{
    Argument, BinaryOp, BoolOp, Call, Callee, CompareOp, Constant, Element, Expr, ExprKind, UnaryOp,
};

/// Returns the integer that an expression of literals gives; what is too large is cut to the largest.
pub(crate) fn integer(expr: &Expr) -> Option<i128> {
    match &expr.kind {
        ExprKind::Constant(Constant::Int(value)) => Some(value.to_u64().map_or(i128::MAX, i128::from)),
        ExprKind::Constant(Constant::Bool(value)) => Some(i128::from(*value)),
        ExprKind::Unary {
            op: UnaryOp::Minus,
            operand,
        } => Some(integer(operand)?.saturating_neg()),
        ExprKind::Unary {
            op: UnaryOp::Plus,
            operand,
        } => integer(operand),
        ExprKind::Binary { left, op, right } => {
            let (left, right) = (integer(left)?, integer(right)?);
            match op {
                BinaryOp::Add => Some(left.saturating_add(right)),
                BinaryOp::Sub => Some(left.saturating_sub(right)),
                BinaryOp::Mul => Some(left.saturating_mul(right)),
                BinaryOp::FloorDiv => left.checked_div_euclid(right),
                BinaryOp::Pow => Some(left.saturating_pow(u32::try_from(right).ok()?)),
                BinaryOp::LeftShift if right < 126 => left
                    .checked_mul(1_i128.checked_shl(u32::try_from(right).ok()?)?)
                    .or(Some(i128::MAX)),
                BinaryOp::LeftShift => Some(i128::MAX),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the number of bits of an integer.
pub(crate) fn bits(value: i128) -> u64 {
    u64::from(128 - value.unsigned_abs().leading_zeros())
}

/// Returns the length of a string or container that the text tells.
pub(crate) fn length(expr: &Expr) -> Option<u64> {
    match &expr.kind {
        ExprKind::Constant(Constant::Str(text)) => Some(text.chars().count() as u64),
        ExprKind::Constant(Constant::Bytes(bytes)) => Some(bytes.len() as u64),
        ExprKind::List(elements) | ExprKind::Tuple(elements) => {
            let is_plain = elements.iter().all(|element| matches!(element, Element::One(_)));
            is_plain.then_some(elements.len() as u64)
        }
        ExprKind::Binary {
            left,
            op: BinaryOp::Mul,
            right,
        } => repeat(left, right),
        ExprKind::Binary {
            left,
            op: BinaryOp::Add,
            right,
        } => Some(length(left)?.saturating_add(length(right)?)),
        ExprKind::Call(call) => call_length(call),
        _ => None,
    }
}

/// Returns the length of `left * right` where one is a sequence and the other an integer.
pub(crate) fn repeat(left: &Expr, right: &Expr) -> Option<u64> {
    let (length, times) = match (length(left), length(right)) {
        (Some(length), None) => (length, integer(right)?),
        (None, Some(length)) => (length, integer(left)?),
        _ => return None,
    };
    Some(length.saturating_mul(u64::try_from(times.max(0)).unwrap_or(u64::MAX)))
}

fn call_length(call: &Call) -> Option<u64> {
    match call.callee {
        Callee::Builtin(Builtin::Range) => range(call),
        Callee::Builtin(
            Builtin::Enumerate
            | Builtin::Reversed
            | Builtin::List
            | Builtin::Tuple
            | Builtin::Sorted
            | Builtin::Iter
            | Builtin::Str
            | Builtin::Bytes
            | Builtin::Zip,
        ) => match call.args.first() {
            Some(Argument::One(value)) => length(value),
            _ => None,
        },
        Callee::Builtin(Builtin::Map | Builtin::Filter) => match call.args.get(1) {
            Some(Argument::One(value)) => length(value),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the number of elements of a `range` of literals.
pub(crate) fn range(call: &Call) -> Option<u64> {
    let mut numbers = Vec::new();
    for arg in &call.args {
        match arg {
            Argument::One(value) => numbers.push(integer(value)?),
            _ => return None,
        }
    }
    let (start, stop, step) = match numbers[..] {
        [stop] => (0, stop, 1),
        [start, stop] => (start, stop, 1),
        [start, stop, step] => (start, stop, step),
        _ => return None,
    };
    let distance = if step > 0 {
        stop.saturating_sub(start)
    } else {
        start.saturating_sub(stop)
    };
    let step = i128::try_from(step.unsigned_abs())
        .ok()
        .filter(|step| *step > 0)?;
    let count = distance.max(0).saturating_add(step - 1) / step;
    Some(u64::try_from(count).unwrap_or(u64::MAX))
}

/// Returns the truth of an expression that the text tells.
pub(crate) fn truth(expr: &Expr) -> Option<bool> {
    match &expr.kind {
        ExprKind::Constant(Constant::None) => Some(false),
        ExprKind::Constant(Constant::Bool(value)) => Some(*value),
        ExprKind::Constant(Constant::Int(value)) => Some(value.bits() > 0),
        ExprKind::Constant(Constant::Float(value) | Constant::Imaginary(value)) => Some(*value != 0.0),
        ExprKind::Unary {
            op: UnaryOp::Not,
            operand,
        } => truth(operand).map(|value| !value),
        ExprKind::Bool {
            op: BoolOp::Or,
            values,
        } => values
            .iter()
            .any(|value| truth(value) == Some(true))
            .then_some(true),
        ExprKind::Bool {
            op: BoolOp::And,
            values,
        } => values
            .iter()
            .all(|value| truth(value) == Some(true))
            .then_some(true),
        ExprKind::Compare { first, rest } => match &rest[..] {
            [(op, second)] => compare(integer(first)?, *op, integer(second)?),
            _ => None,
        },
        ExprKind::Dict(items) => items.is_empty().then_some(false),
        ExprKind::Type(_) | ExprKind::Exception(_) => Some(true),
        _ => length(expr)
            .map(|length| length > 0)
            .or_else(|| integer(expr).map(|value| value != 0)),
    }
}

fn compare(left: i128, op: CompareOp, right: i128) -> Option<bool> {
    match op {
        CompareOp::Eq => Some(left == right),
        CompareOp::NotEq => Some(left != right),
        CompareOp::Lt => Some(left < right),
        CompareOp::LtE => Some(left <= right),
        CompareOp::Gt => Some(left > right),
        CompareOp::GtE => Some(left >= right),
        CompareOp::Is | CompareOp::IsNot | CompareOp::In | CompareOp::NotIn => None,
    }
}
