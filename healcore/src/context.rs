//! What the checker knows while it walks through a heal.

use std::collections::{BTreeMap, BTreeSet};

use ruff_text_size::{Ranged, TextRange};

use crate::options::Options;
use crate::rules::{Rule, size};
use crate::tree::{Imported, Span};
use crate::violation::Violation;

/// The state of one check.
pub(crate) struct Context<'a> {
    pub(crate) source: &'a str,
    pub(crate) options: &'a Options,
    /// Byte offset of the start of each line.
    line_starts: Vec<usize>,
    /// Byte offset of each continuation byte: bytes that are no character of their own.
    continuations: Vec<usize>,
    pub(crate) violations: Vec<Violation>,
    /// What the heal imports, by the name that it binds.
    pub(crate) imports: BTreeMap<String, Imported>,
    /// The variables that the heal binds anywhere, its imports aside.
    pub(crate) bound: BTreeSet<String>,
    /// The names of comprehensions and lambdas, innermost last.
    pub(crate) locals: Vec<BTreeSet<String>>,
    /// The names after `as` of the enclosing `except` clauses.
    pub(crate) caught: Vec<String>,
    pub(crate) n_handlers: usize,
    pub(crate) n_loops: usize,
    pub(crate) n_lambdas: usize,
    pub(crate) n_statements: usize,
    pub(crate) n_nodes: usize,
    pub(crate) block_depth: usize,
    pub(crate) expression_depth: usize,
}

impl<'a> Context<'a> {
    pub(crate) fn new(source: &'a str, options: &'a Options) -> Self {
        let line_starts = std::iter::once(0)
            .chain(source.match_indices('\n').map(|(at, _)| at + 1))
            .collect();
        let bytes = source.bytes().enumerate();
        let continuations = bytes
            .filter(|(_, byte)| byte & 0xc0 == 0x80)
            .map(|(at, _)| at)
            .collect();
        Self {
            source,
            options,
            line_starts,
            continuations,
            violations: Vec::new(),
            imports: BTreeMap::new(),
            bound: BTreeSet::new(),
            locals: Vec::new(),
            caught: Vec::new(),
            n_handlers: 0,
            n_loops: 0,
            n_lambdas: 0,
            n_statements: 0,
            n_nodes: 0,
            block_depth: 0,
            expression_depth: 0,
        }
    }

    /// Returns the span of a range.
    pub(crate) fn span(&self, range: TextRange) -> Span {
        let start = range.start().to_u32() as usize;
        let line_idx = self
            .line_starts
            .partition_point(|line_start| *line_start <= start)
            .saturating_sub(1);
        let line_start = self.line_starts[line_idx];
        let n_before = |at: usize| {
            self.continuations
                .partition_point(|continuation| *continuation < at)
        };
        let column = start - line_start - (n_before(start) - n_before(line_start));
        Span {
            line: small(line_idx + 1),
            column: small(column + 1),
            start: range.start().to_u32(),
            end: range.end().to_u32(),
        }
    }

    /// Returns the text of a range.
    pub(crate) fn text(&self, range: TextRange) -> &'a str {
        self.source
            .get(range.start().to_u32() as usize..range.end().to_u32() as usize)
            .unwrap_or_default()
    }

    /// Notes a violation.
    pub(crate) fn report(
        &mut self,
        rule: &Rule,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.violations.push(Violation {
            rule: rule.id,
            line: span.line,
            column: span.column,
            message: message.into(),
            help: help.into(),
        });
    }

    /// Notes a violation at a byte offset.
    pub(crate) fn report_at(
        &mut self,
        rule: &Rule,
        offset: usize,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let at = u32::try_from(offset).unwrap_or(u32::MAX).into();
        self.report(rule, self.span(TextRange::new(at, at)), message, help);
    }

    /// Counts a node; notes when there are too many.
    pub(crate) fn count(&mut self, node: &impl Ranged) {
        self.n_nodes += 1;
        let limit = self.options.limits.nodes;
        if self.n_nodes == limit + 1 {
            let message = format!("the code has more than {limit} nodes");
            self.report(
                &size::NODES,
                self.span(node.range()),
                message,
                "write only what repairs the state",
            );
        }
    }

    /// Says whether a name belongs to a comprehension or lambda around.
    pub(crate) fn is_local(&self, name: &str) -> bool {
        self.locals.iter().any(|names| names.contains(name))
    }

    /// Returns the violations, sorted, each once, the first hundred.
    pub(crate) fn into_violations(mut self) -> Vec<Violation> {
        self.violations.sort_by(|a, b| {
            (a.line, a.column, a.rule, &a.message).cmp(&(b.line, b.column, b.rule, &b.message))
        });
        self.violations.dedup();
        self.violations.truncate(MOST_VIOLATIONS);
        self.violations
    }
}

/// More would not help anybody.
const MOST_VIOLATIONS: usize = 100;

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
