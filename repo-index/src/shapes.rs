//! What expressions look like, and what is bound to what: all that is kept of a text for working out types.
//!
//! A shape says how a value comes about, not what it is: names in it are looked up from the scope that asks.
//! So equal expressions of a file share one shape.

use std::ops::Range;

use crate::facts::NameId;

/// An index into the shapes of a file; the first one is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShapeId(pub(crate) u32);

/// An index into the calls of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub(crate) u32);

impl ShapeId {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self(0);

    /// Whether anything is known.
    #[must_use]
    pub fn is_known(self) -> bool {
        self != Self::UNKNOWN
    }
}

/// How a value comes about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// In no way that is followed.
    Unknown,
    /// `name`.
    Name(NameId),
    /// `x.name`.
    Attribute(ShapeId, NameId),
    /// `x(…)`.
    Call(ShapeId, CallId),
    /// `x[i]`.
    Subscript(ShapeId, ShapeId),
    /// An item that a loop takes from `x`.
    Element(ShapeId),
    /// The n-th part of `x`.
    Part(ShapeId, u32),
    /// What `with x as name` binds.
    Entered(ShapeId),
    /// An instance of `x`: an annotation, or `except x as name`.
    Instance(ShapeId),
    /// `await x`.
    Awaited(ShapeId),
    /// `x or y`, `x if … else y`.
    Either(ShapeId, ShapeId),
    /// `x + y`.
    Binary(ShapeId, ShapeId),
    /// `(x, y)`, the calls' items from the first on.
    Tuple(u32, u32),
    /// `[x]`, `{x}`, `{…: x}` and their comprehensions.
    Container(Literal, ShapeId),
    /// A literal.
    Literal(Literal),
    /// A string that is short enough to be a name.
    Text(NameId),
}

/// The builtin type of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Literal {
    /// `'…'`.
    Str,
    /// `b'…'`.
    Bytes,
    /// A number.
    Number,
    /// `True`, and what comparisons give.
    Bool,
    /// `None`.
    Nothing,
    /// A list.
    List,
    /// A set.
    Set,
    /// A dictionary.
    Dict,
    /// A tuple.
    Tuple,
    /// A generator.
    Generator,
    /// A function without a name.
    Lambda,
}

/// What a call passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallShape {
    /// How many arguments have no name.
    pub n_positional: u32,
    /// Whether it may pass more than is written: `*x`, `**x`.
    pub is_open: bool,
    /// The first arguments without a name, at most two.
    pub first: [ShapeId; 2],
    /// The names of arguments, a range of the shapes' keywords.
    pub keywords: (u32, u32),
}

/// The shapes of a file.
#[derive(Clone, Debug, Default)]
pub struct Shapes {
    pub(crate) shapes: Vec<Shape>,
    pub(crate) calls: Vec<CallShape>,
    pub(crate) keywords: Vec<NameId>,
    pub(crate) items: Vec<ShapeId>,
}

impl Shapes {
    /// Returns a shape.
    #[must_use]
    pub fn get(&self, id: ShapeId) -> Shape {
        self.shapes.get(id.0 as usize).copied().unwrap_or(Shape::Unknown)
    }

    /// Returns what a call passes.
    #[must_use]
    pub fn call(&self, id: CallId) -> CallShape {
        self.calls[id.0 as usize]
    }

    /// Returns the names of a call's arguments.
    #[must_use]
    pub fn keywords(&self, call: CallShape) -> &[NameId] {
        &self.keywords[call.keywords.0 as usize..call.keywords.1 as usize]
    }

    /// Returns the items of a tuple.
    #[must_use]
    pub fn items(&self, first: u32, end: u32) -> &[ShapeId] {
        &self.items[first as usize..end as usize]
    }
}

/// What a name is bound to in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Value {
    /// The scope that binds it.
    pub scope: u32,
    /// The name.
    pub name: NameId,
    /// The offset of the name.
    pub at: u32,
    /// What it is bound to.
    pub value: ShapeId,
}

/// What an attribute is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The object.
    pub receiver: ShapeId,
    /// The attribute.
    pub name: NameId,
    /// What it is set to.
    pub value: ShapeId,
    /// The scope in which it is set.
    pub scope: u32,
    /// The offset of the name.
    pub at: u32,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: NameId,
    /// What it says it is.
    pub annotation: ShapeId,
    /// What it is when nothing is passed.
    pub default: ShapeId,
    /// What may be passed.
    pub kind: ParameterKind,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ParameterKind {
    /// One argument.
    Required,
    /// One argument, or nothing.
    Optional,
    /// `*args`.
    Rest,
    /// `**kwargs`.
    Keywords,
    /// One argument, by name only.
    Named,
    /// One argument by name, or nothing.
    OptionalNamed,
}

/// What a function gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionResult {
    /// The scope of its body.
    pub scope: u32,
    /// Whether it is one of many.
    pub is_yielded: bool,
    /// The value.
    pub value: ShapeId,
}

/// A stretch of text in which something is known to be of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Narrowing {
    /// The text.
    pub range: Range<u32>,
    /// What is known.
    pub subject: ShapeId,
    /// The class, or a tuple of classes.
    pub class: ShapeId,
}

/// The names of a file, each once.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameTable {
    pub(crate) text: String,
    /// Where each name ends.
    pub(crate) ends: Vec<u32>,
    /// The names in the order of their texts.
    pub(crate) sorted: Vec<u32>,
}

impl NameTable {
    pub(crate) fn text(&self, name: NameId) -> &str {
        let idx = name.0 as usize;
        let start = idx.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        &self.text[start..self.ends[idx] as usize]
    }

    pub(crate) fn find(&self, text: &str) -> Option<NameId> {
        let found = self
            .sorted
            .binary_search_by(|idx| self.text(NameId(*idx)).cmp(text));
        found.ok().map(|position| NameId(self.sorted[position]))
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}
