//! From ruff's tree to ours: what is listed is lowered, anything else is a violation.
//!
//! Lowering goes on after a violation, with a placeholder, so that all violations are found at once.

mod arguments;
mod calls;
mod expressions;
mod imports;
mod names;
mod statements;
mod strings;
mod targets;

pub(crate) use expressions::expr;
pub(crate) use imports::collect;
pub(crate) use statements::body;

use crate::tree::{Constant, Expr, ExprKind, Span};

/// Stands where an expression could not be lowered.
fn placeholder(span: Span) -> Expr {
    Expr {
        span,
        kind: ExprKind::Constant(Constant::None),
    }
}
