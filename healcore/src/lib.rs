//! HealCore: the subset of Python that healing code is written in, its checker and its typed tree.

pub mod tables;
pub mod toolkit;
pub mod tree;

mod check;
mod context;
mod fold;
mod integer;
mod lower;
mod options;
mod pages;
mod rules;
#[cfg(test)]
mod testing;
mod violation;
mod visit;

pub use check::{check, check_expression};
pub use options::{FrameName, Limits, Options, ProgramCalls, PythonMinor};
pub use pages::{explain, topic, topics};
pub use rules::{Rule, rules, running};
pub use violation::Violation;

/// What a check gives: the tree where nothing was found, and all that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    /// The tree of the heal; nothing where there is a violation.
    pub program: Option<tree::Program>,
    /// All violations, sorted by line and column.
    pub violations: Vec<Violation>,
}

/// What a check of an expression gives.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedExpression {
    /// The tree of the expression; nothing where there is a violation.
    pub expression: Option<tree::Expr>,
    /// All violations, sorted by line and column.
    pub violations: Vec<Violation>,
}
