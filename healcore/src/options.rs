//! What the caller settles before a check.

use std::collections::{BTreeMap, BTreeSet};

use crate::tables::{Member, Module};

/// How a heal is checked.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether code without a statement is a heal: a resume action alone.
    pub allow_empty: bool,
    /// Whether calls of the program's functions become nodes, for the interpreter to decide upon.
    pub program_calls: ProgramCalls,
    /// The names that the frame holds already; may be empty.
    pub names: BTreeMap<String, FrameName>,
    /// The functions that the program's developers added to the toolkit.
    pub toolkit: BTreeSet<String>,
    /// How large a heal may be.
    pub limits: Limits,
    /// The Python of the program.
    pub python_minor: PythonMinor,
}

/// A version of Python, `3.x`: syntax that it does not have is a violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PythonMinor(pub u8);

impl Default for PythonMinor {
    fn default() -> Self {
        Self(11)
    }
}

/// What the checker does with calls of the program's functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgramCalls {
    /// Each is a violation.
    #[default]
    Refuse,
    /// A call by dotted name becomes `Callee::Program`.
    Allow,
}

/// What a name of the frame is bound to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameName {
    /// A value: anything else than the following.
    Value,
    /// A module that is neither listed nor the program's own, such as `os` or `numpy`.
    Foreign,
    /// A listed module, whatever the name, as after `import datetime as dt`.
    Module(Module),
    /// A listed member, as after `from datetime import datetime`.
    Member(&'static Member),
}

/// How large a heal may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of text.
    pub source_bytes: usize,
    /// Statements, at all depths.
    pub statements: usize,
    /// Statements, expressions and their parts.
    pub nodes: usize,
    /// Levels of expressions in one another.
    pub expression_depth: usize,
    /// Levels of blocks in one another.
    pub block_depth: usize,
    /// Levels of brackets in one another, in the text.
    pub bracket_depth: usize,
    /// Bits of an integer, as a literal or computed from literals.
    pub integer_bits: u64,
    /// Characters of a string and elements of a container, as a literal or computed from literals.
    pub items: u64,
    /// Rounds of a loop, or of loops in one another, where the text tells them.
    pub rounds: u64,
    /// The width and the precision of a format spec.
    pub format_width: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: 16 * 1024,
            statements: 200,
            nodes: 4_000,
            expression_depth: 40,
            block_depth: 12,
            bracket_depth: 50,
            integer_bits: 4_096,
            items: 64 * 1024,
            rounds: 200_000,
            format_width: 1_000,
        }
    }
}
