//! Places in live state as they are written: `order.lines[3].price`, `cfg["key"]`, `text[3000:3200]`.
//!
//! Pure: a place is read from text or from a tree, and resolved elsewhere.

use std::fmt;

use ruff_python_ast::{Expr, Number, UnaryOp};
use ruff_python_parser::parse_expression;

/// A name and the loads after it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// The variable.
    pub(crate) root: String,
    /// In order; empty for the variable itself.
    pub(crate) steps: Vec<Step>,
}

/// One load.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Step {
    /// `.name`
    Attribute(String),
    /// `[literal]`
    Item(Key),
    /// `[place]`
    ItemAt(Place),
    /// `[start:stop]`
    Slice(Option<i64>, Option<i64>),
}

/// A literal key or index.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Key {
    /// `None`
    None,
    /// `True`, `False`
    Bool(bool),
    /// A small integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A tuple of literals.
    Tuple(Vec<Key>),
}

impl Place {
    /// Returns the place that `text` writes.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parsed = parse_expression(text.trim()).ok()?;
        Self::from_expr(parsed.expr())
    }

    /// Returns the place that an expression is, if it is nothing but loads.
    pub(crate) fn from_expr(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::Name(name) => Some(Self {
                root: name.id.to_string(),
                steps: Vec::new(),
            }),
            Expr::Attribute(attribute) => {
                let mut place = Self::from_expr(&attribute.value)?;
                place.steps.push(Step::Attribute(attribute.attr.to_string()));
                Some(place)
            }
            Expr::Subscript(subscript) => {
                let mut place = Self::from_expr(&subscript.value)?;
                place.steps.push(step_of(&subscript.slice)?);
                Some(place)
            }
            _ => None,
        }
    }
}

fn step_of(index: &Expr) -> Option<Step> {
    if let Expr::Slice(slice) = index {
        let bound = |expr: &Option<Box<Expr>>| match expr {
            None => Some(None),
            Some(expr) => match Key::from_expr(expr)? {
                Key::Int(value) => Some(Some(value)),
                _ => None,
            },
        };
        return slice
            .step
            .is_none()
            .then_some(Step::Slice(bound(&slice.lower)?, bound(&slice.upper)?));
    }
    match Key::from_expr(index) {
        Some(key) => Some(Step::Item(key)),
        None => Place::from_expr(index).map(Step::ItemAt),
    }
}

impl Key {
    /// Returns the key that a literal is.
    pub(crate) fn from_expr(expr: &Expr) -> Option<Self> {
        match expr {
            Expr::NoneLiteral(_) => Some(Self::None),
            Expr::BooleanLiteral(literal) => Some(Self::Bool(literal.value)),
            Expr::StringLiteral(literal) => Some(Self::Text(literal.value.to_str().to_owned())),
            Expr::BytesLiteral(literal) => Some(Self::Bytes(literal.value.bytes().collect())),
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(int) => int.as_i64().map(Self::Int),
                Number::Float(value) => Some(Self::Float(*value)),
                Number::Complex { .. } => None,
            },
            Expr::UnaryOp(unary) if unary.op == UnaryOp::USub => match Self::from_expr(&unary.operand)? {
                Self::Int(value) => Some(Self::Int(-value)),
                Self::Float(value) => Some(Self::Float(-value)),
                _ => None,
            },
            Expr::Tuple(tuple) => tuple
                .elts
                .iter()
                .map(Self::from_expr)
                .collect::<Option<Vec<_>>>()
                .map(Self::Tuple),
            _ => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.root)?;
        self.steps.iter().try_for_each(|step| write!(formatter, "{step}"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |value: &Option<i64>| value.map(|value| value.to_string()).unwrap_or_default();
        match self {
            Self::Attribute(name) => write!(formatter, ".{name}"),
            Self::Item(key) => write!(formatter, "[{key}]"),
            Self::ItemAt(place) => write!(formatter, "[{place}]"),
            Self::Slice(start, stop) => write!(formatter, "[{}:{}]", bound(start), bound(stop)),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("None"),
            Self::Bool(true) => formatter.write_str("True"),
            Self::Bool(false) => formatter.write_str("False"),
            Self::Int(value) => write!(formatter, "{value}"),
            Self::Float(value) => write!(formatter, "{value:?}"),
            Self::Text(text) => write!(formatter, "{text:?}"),
            Self::Bytes(bytes) => write!(formatter, "b\"{}\"", bytes.escape_ascii()),
            Self::Tuple(keys) => {
                let keys: Vec<String> = keys.iter().map(Self::to_string).collect();
                formatter.write_str(&keys.join(", "))
            }
        }
    }
}
