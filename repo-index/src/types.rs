//! What a value may be, as far as the text tells.

use crate::session::SymbolId;
use crate::shapes::Literal;
use crate::tree::FileIdx;

/// What a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    /// A class itself.
    Class(SymbolId),
    /// An object of a class, or of one derived from it.
    Instance(SymbolId),
    /// The function of a definition.
    Function(SymbolId),
    /// A function, bound to an object or class.
    Method(SymbolId, SymbolId),
    /// `super()`: what follows the first class among the ancestors of the second.
    Super(SymbolId, SymbolId),
    /// A module of the index.
    Module(FileIdx),
    /// A value of a builtin type.
    Builtin(Literal),
    /// Something that is not in the index.
    Outside,
}

/// What a value may be, the likeliest first; none means that nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types {
    pub(crate) found: Vec<Type>,
    /// Whether the text leaves no doubt: names, imports and classes lead there, and nothing was guessed.
    pub(crate) is_sure: bool,
    /// Whether it may be something else as well, of which nothing is known.
    pub(crate) is_open: bool,
}

/// More alternatives than anybody looks at.
const MAX_TYPES: usize = 8;

impl Types {
    pub(crate) fn unknown() -> Self {
        Self {
            found: Vec::new(),
            is_sure: false,
            is_open: true,
        }
    }

    pub(crate) fn sure(one: Type) -> Self {
        Self {
            found: vec![one],
            is_sure: true,
            is_open: false,
        }
    }

    pub(crate) fn none_yet() -> Self {
        Self {
            found: Vec::new(),
            is_sure: true,
            is_open: false,
        }
    }

    pub(crate) fn is_unknown(&self) -> bool {
        self.found.is_empty()
    }

    pub(crate) fn push(&mut self, one: Type) {
        if self.found.len() < MAX_TYPES && !self.found.contains(&one) {
            self.found.push(one);
        }
    }

    /// Takes another value's types as further alternatives.
    pub(crate) fn add(&mut self, other: &Self) {
        for one in &other.found {
            self.push(*one);
        }
        self.is_sure &= other.is_sure;
        self.is_open |= other.is_open || other.found.is_empty();
    }

    pub(crate) fn unsure(mut self) -> Self {
        self.is_sure = false;
        self
    }
}
