//! The failing statement as its source says it: extent, names, loads, and the calls that came before the failure.
//!
//! Pure: source and a position in, facts out. Source that does not parse gives what its line alone can give.

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{ElifElseClause, ExceptHandler, Expr, ExprContext, MatchCase, PySourceType, Stmt};
use ruff_python_parser::parse_unchecked_source;
use ruff_text_size::{Ranged, TextRange, TextSize};

use super::place::Place;

/// Where CPython says that it failed: 1-based lines, 0-based columns in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// The first line.
    pub(crate) line: u32,
    /// The last line.
    pub(crate) end_line: u32,
    /// The first column.
    pub(crate) column: u32,
    /// The column after the last.
    pub(crate) end_column: u32,
}

/// The facts about a failing statement.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failing {
    /// The first line of it; of a compound statement, of the header that failed.
    pub(crate) first_line: u32,
    /// The last line of it.
    pub(crate) last_line: u32,
    /// The names it reads, in order.
    pub(crate) names: Vec<String>,
    /// Its sub-expressions that are nothing but loads, with their source.
    pub(crate) loads: Vec<(String, Place)>,
    /// What it takes the `len` of, with the call's source.
    pub(crate) lengths: Vec<(String, Place)>,
    /// The calls that had run when it failed.
    pub(crate) calls: Vec<String>,
}

/// Where each line starts.
pub(crate) struct Lines<'a> {
    source: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Splits `source` as Python does: at `\n`, `\r\n` and `\r`.
    pub(crate) fn new(source: &'a str) -> Self {
        let bytes = source.as_bytes();
        let mut starts = vec![0];
        for (byte_idx, byte) in bytes.iter().enumerate() {
            let ends = *byte == b'\n' || (*byte == b'\r' && bytes.get(byte_idx + 1) != Some(&b'\n'));
            if ends {
                starts.push(byte_idx + 1);
            }
        }
        if starts.last() == Some(&source.len()) {
            starts.pop();
        }
        Self { source, starts }
    }

    /// Returns a 1-based line without its end.
    pub(crate) fn text(&self, line: u32) -> Option<&'a str> {
        let line_idx = (line as usize).checked_sub(1)?;
        let start = *self.starts.get(line_idx)?;
        let end = self
            .starts
            .get(line_idx + 1)
            .copied()
            .unwrap_or(self.source.len());
        Some(self.source[start..end].trim_end_matches(['\n', '\r']))
    }

    fn line_of(&self, offset: TextSize) -> u32 {
        self.starts.partition_point(|start| *start <= offset.to_usize()) as u32
    }

    fn offset(&self, line: u32, column: u32) -> Option<TextSize> {
        let text = self.text(line)?;
        let column = column as usize;
        (column <= text.len() && text.is_char_boundary(column))
            .then(|| self.starts[line as usize - 1] + column)
            .and_then(|offset| TextSize::try_from(offset).ok())
    }
}

/// Returns the facts about the statement at `line`, which failed at `position` where that is known.
pub(crate) fn failing(source: &str, line: u32, position: Option<Position>) -> Failing {
    let lines = Lines::new(source);
    let spot = position.and_then(|position| {
        let start = lines.offset(position.line, position.column)?;
        let end = lines.offset(position.end_line, position.end_column)?;
        (start <= end).then(|| TextRange::new(start, end))
    });
    let first_char = lines
        .text(line)
        .map_or(0, |text| text.len() - text.trim_start().len());
    let at = match spot {
        Some(spot) => Some(spot.start()),
        None => lines.offset(line, first_char as u32),
    };
    let parsed = parse_unchecked_source(source, PySourceType::Python);
    // The tree of source with errors is a guess.
    let body = parsed.has_valid_syntax().then(|| &parsed.syntax().body);
    let Some((stmt, at)) = body
        .zip(at)
        .and_then(|(body, at)| find(body, at).map(|stmt| (stmt, at)))
    else {
        return by_line(&lines, line);
    };
    let part = header(stmt, at);
    let mut reads = Reads {
        source,
        names: Vec::new(),
        loads: Vec::new(),
        lengths: Vec::new(),
    };
    if let Stmt::AugAssign(stmt) = stmt {
        // The tree calls the target a store only.
        if let Expr::Name(name) = &*stmt.target {
            reads.name(&name.id);
        } else {
            reads.load(&stmt.target);
        }
    }
    part.exprs.iter().for_each(|expr| reads.visit_expr(expr));
    Failing {
        first_line: lines.line_of(part.range.start()),
        last_line: lines.line_of(part.range.end()),
        names: reads.names,
        loads: reads.loads,
        lengths: reads.lengths,
        calls: spot.map_or_else(Vec::new, |spot| calls_before(source, &part, spot)),
    }
}

fn by_line(lines: &Lines<'_>, line: u32) -> Failing {
    let mut names: Vec<String> = Vec::new();
    let text = lines.text(line).unwrap_or("");
    for word in text.split(|char: char| !char.is_alphanumeric() && char != '_') {
        let is_name = word
            .chars()
            .next()
            .is_some_and(|first| first == '_' || first.is_alphabetic());
        if is_name && !names.iter().any(|name| name == word) {
            names.push(word.to_owned());
        }
    }
    Failing {
        first_line: line,
        last_line: line,
        names,
        loads: Vec::new(),
        lengths: Vec::new(),
        calls: Vec::new(),
    }
}

/// The part of a statement that can have failed, its expressions in the order in which they are evaluated.
struct Part<'a> {
    range: TextRange,
    exprs: Vec<&'a Expr>,
}

fn find(body: &[Stmt], at: TextSize) -> Option<&Stmt> {
    let stmt = body
        .iter()
        .find(|stmt| stmt.range().contains_inclusive(at) && stmt.range().end() != at)?;
    let inner = match stmt {
        Stmt::FunctionDef(stmt) => find(&stmt.body, at),
        Stmt::ClassDef(stmt) => find(&stmt.body, at),
        Stmt::For(stmt) => find(&stmt.body, at).or_else(|| find(&stmt.orelse, at)),
        Stmt::While(stmt) => find(&stmt.body, at).or_else(|| find(&stmt.orelse, at)),
        Stmt::If(stmt) => find(&stmt.body, at).or_else(|| {
            stmt.elif_else_clauses
                .iter()
                .find_map(|clause| find(&clause.body, at))
        }),
        Stmt::With(stmt) => find(&stmt.body, at),
        Stmt::Match(stmt) => stmt.cases.iter().find_map(|case| find(&case.body, at)),
        Stmt::Try(stmt) => {
            let in_handlers = || {
                stmt.handlers
                    .iter()
                    .find_map(|handler| find(handler_body(handler), at))
            };
            find(&stmt.body, at)
                .or_else(in_handlers)
                .or_else(|| find(&stmt.orelse, at))
                .or_else(|| find(&stmt.finalbody, at))
        }
        _ => None,
    };
    Some(inner.unwrap_or(stmt))
}

fn handler_body(handler: &ExceptHandler) -> &[Stmt] {
    match handler {
        ExceptHandler::ExceptHandler(handler) => &handler.body,
    }
}

fn header(stmt: &Stmt, at: TextSize) -> Part<'_> {
    let mut start = stmt.start();
    let exprs: Vec<&Expr> = match stmt {
        Stmt::Assign(stmt) => std::iter::once(&*stmt.value).chain(&stmt.targets).collect(),
        Stmt::AugAssign(stmt) => vec![&stmt.target, &stmt.value],
        Stmt::AnnAssign(stmt) => stmt.value.as_deref().into_iter().chain([&*stmt.target]).collect(),
        Stmt::Expr(stmt) => vec![&stmt.value],
        Stmt::Return(stmt) => stmt.value.as_deref().into_iter().collect(),
        Stmt::Delete(stmt) => stmt.targets.iter().collect(),
        Stmt::Raise(stmt) => [&stmt.exc, &stmt.cause]
            .into_iter()
            .flatten()
            .map(|expr| &**expr)
            .collect(),
        Stmt::Assert(stmt) => std::iter::once(&*stmt.test).chain(stmt.msg.as_deref()).collect(),
        Stmt::For(stmt) => vec![&stmt.iter, &stmt.target],
        Stmt::While(stmt) => vec![&stmt.test],
        Stmt::If(stmt) => match stmt
            .elif_else_clauses
            .iter()
            .find(|clause| is_in_header(clause, at))
        {
            Some(clause) => {
                start = clause.start();
                clause.test.as_ref().into_iter().collect()
            }
            None => vec![&stmt.test],
        },
        Stmt::With(stmt) => stmt
            .items
            .iter()
            .flat_map(|item| std::iter::once(&item.context_expr).chain(item.optional_vars.as_deref()))
            .collect(),
        Stmt::Match(stmt) => match stmt.cases.iter().find(|case| case.range.contains(at)) {
            Some(case) => {
                start = case.range.start();
                let guard: Vec<&Expr> = case.guard.as_deref().into_iter().collect();
                return Part {
                    range: TextRange::new(start, case_header_end(case)),
                    exprs: guard,
                };
            }
            None => vec![&stmt.subject],
        },
        Stmt::Try(stmt) => {
            let types = stmt.handlers.iter().map(|handler| match handler {
                ExceptHandler::ExceptHandler(handler) => handler,
            });
            match types.clone().find(|handler| handler.range.contains(at)) {
                Some(handler) => {
                    start = handler.range.start();
                    handler.type_.as_deref().into_iter().collect()
                }
                None => Vec::new(),
            }
        }
        Stmt::FunctionDef(stmt) => {
            let defaults = stmt
                .parameters
                .iter_non_variadic_params()
                .filter_map(|param| param.default.as_deref());
            stmt.decorator_list
                .iter()
                .map(|decorator| &decorator.expression)
                .chain(defaults)
                .collect()
        }
        Stmt::ClassDef(stmt) => {
            let arguments = stmt.arguments.iter().flat_map(|arguments| {
                arguments
                    .args
                    .iter()
                    .chain(arguments.keywords.iter().map(|keyword| &keyword.value))
            });
            stmt.decorator_list
                .iter()
                .map(|decorator| &decorator.expression)
                .chain(arguments)
                .collect()
        }
        _ => Vec::new(),
    };
    let is_compound = matches!(
        stmt,
        Stmt::For(_)
            | Stmt::While(_)
            | Stmt::If(_)
            | Stmt::With(_)
            | Stmt::Match(_)
            | Stmt::Try(_)
            | Stmt::FunctionDef(_)
            | Stmt::ClassDef(_)
    );
    let end = if is_compound {
        exprs.iter().map(|expr| expr.end()).max().unwrap_or(start)
    } else {
        stmt.end()
    };
    Part {
        range: TextRange::new(start, end.max(start)),
        exprs,
    }
}

fn is_in_header(clause: &ElifElseClause, at: TextSize) -> bool {
    clause
        .test
        .as_ref()
        .is_some_and(|test| clause.range.start() <= at && at < test.end())
}

fn case_header_end(case: &MatchCase) -> TextSize {
    case.guard
        .as_ref()
        .map_or(case.pattern.end(), |guard| guard.end())
}

/// Collects what a part reads.
struct Reads<'a> {
    source: &'a str,
    names: Vec<String>,
    loads: Vec<(String, Place)>,
    lengths: Vec<(String, Place)>,
}

impl<'a> Visitor<'a> for Reads<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        let is_load = |ctx: ExprContext| ctx == ExprContext::Load;
        match expr {
            Expr::Name(name) if is_load(name.ctx) => self.name(&name.id),
            Expr::Attribute(attribute) if is_load(attribute.ctx) => self.load(expr),
            Expr::Subscript(subscript) if is_load(subscript.ctx) => self.load(expr),
            Expr::Call(call) => {
                if let Expr::Name(name) = &*call.func
                    && name.id == "len"
                    && let [argument] = &*call.arguments.args
                    && let Some(place) = Place::from_expr(argument)
                {
                    push_new(&mut self.lengths, self.source, expr, place);
                }
                // What is called is a method; only its receiver is worth showing.
                match &*call.func {
                    Expr::Attribute(attribute) => self.visit_expr(&attribute.value),
                    func => self.visit_expr(func),
                }
                self.visit_arguments(&call.arguments);
                return;
            }
            _ => {}
        }
        visitor::walk_expr(self, expr);
    }
}

impl Reads<'_> {
    fn name(&mut self, name: &str) {
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }

    fn load(&mut self, expr: &Expr) {
        if let Some(place) = Place::from_expr(expr) {
            push_new(&mut self.loads, self.source, expr, place);
        }
    }
}

fn push_new(list: &mut Vec<(String, Place)>, source: &str, expr: &Expr, place: Place) {
    let text = one_line(&source[expr.range()]);
    if !list.iter().any(|(known, _)| *known == text) {
        list.push((text, place));
    }
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(80) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line,
    }
}

fn calls_before(source: &str, part: &Part<'_>, spot: TextRange) -> Vec<String> {
    let mut nearest = Nearest { spot, best: None };
    part.exprs.iter().for_each(|expr| nearest.visit_expr(expr));
    // A spot that covers more than each expression is the statement's own: its expressions are all done.
    let covers_all = part.exprs.iter().all(|expr| spot.contains_range(expr.range()));
    let failed = if covers_all && part.exprs.len() > 1 {
        None
    } else {
        nearest.best
    };
    let mut order = Order {
        source,
        failed,
        is_over: false,
        n_unsure: 0,
        calls: Vec::new(),
    };
    part.exprs.iter().for_each(|expr| order.visit_expr(expr));
    order.calls
}

/// Finds the expression that CPython's range means.
///
/// A call of a method that stands on a line of its own starts, for CPython, at the method's name.
struct Nearest {
    spot: TextRange,
    best: Option<TextRange>,
}

impl<'a> Visitor<'a> for Nearest {
    fn visit_expr(&mut self, expr: &'a Expr) {
        let range = expr.range();
        if range.contains_range(self.spot) {
            let closer = self.best.is_none_or(|best| range.len() < best.len());
            if closer {
                self.best = Some(range);
            }
        }
        visitor::walk_expr(self, expr);
    }
}

/// Walks in the order of evaluation until the failed expression.
struct Order<'a> {
    source: &'a str,
    failed: Option<TextRange>,
    is_over: bool,
    n_unsure: usize,
    calls: Vec<String>,
}

impl<'a> Order<'a> {
    fn holds_failure(&self, expr: &Expr) -> bool {
        self.failed
            .is_some_and(|failed| expr.range().contains_range(failed))
    }

    /// Walks what may not have been evaluated; where the failure is inside, it was.
    fn unsure(&mut self, expr: &'a Expr) {
        let is_unsure = usize::from(!self.holds_failure(expr));
        self.n_unsure += is_unsure;
        self.visit_expr(expr);
        self.n_unsure -= is_unsure;
    }
}

impl<'a> Visitor<'a> for Order<'a> {
    fn visit_expr(&mut self, expr: &'a Expr) {
        if self.is_over {
            return;
        }
        match expr {
            Expr::BoolOp(bool_op) => {
                for (value_idx, value) in bool_op.values.iter().enumerate() {
                    // The ones before the failing value were all evaluated.
                    let failed_later = bool_op.values[value_idx..]
                        .iter()
                        .any(|later| self.holds_failure(later));
                    if value_idx == 0 || failed_later {
                        self.visit_expr(value);
                    } else {
                        self.unsure(value);
                    }
                }
            }
            Expr::If(conditional) => {
                self.visit_expr(&conditional.test);
                let in_else = self.holds_failure(&conditional.orelse);
                if !in_else {
                    self.unsure(&conditional.body);
                }
                if !self.is_over {
                    self.unsure(&conditional.orelse);
                }
            }
            Expr::Generator(generator)
                if self.holds_failure(expr)
                    && self.failed != Some(expr.range())
                    && !generator
                        .generators
                        .first()
                        .is_some_and(|first| self.holds_failure(&first.iter)) =>
            {
                self.calls.clear();
                let (first, rest) = generator
                    .generators
                    .split_first()
                    .expect("a generator has a clause");
                first.ifs.iter().for_each(|condition| self.visit_expr(condition));
                rest.iter().for_each(|clause| self.visit_comprehension(clause));
                self.visit_expr(&generator.elt);
            }
            Expr::ListComp(_) | Expr::SetComp(_) | Expr::DictComp(_) | Expr::Generator(_) => {
                let is_unsure = usize::from(!self.holds_failure(expr));
                self.n_unsure += is_unsure;
                visitor::walk_expr(self, expr);
                self.n_unsure -= is_unsure;
            }
            // A lambda and a generator run in frames of their own, which have made no calls of the statement around.
            Expr::Lambda(lambda) => {
                if self.holds_failure(&lambda.body) {
                    self.calls.clear();
                    self.visit_expr(&lambda.body);
                }
            }
            _ => visitor::walk_expr(self, expr),
        }
        if self.is_over {
            return;
        }
        if self.failed == Some(expr.range()) {
            self.is_over = true;
        } else if matches!(expr, Expr::Call(_)) {
            let text = one_line(&self.source[expr.range()]);
            self.calls.push(if self.n_unsure > 0 {
                format!("{text} (if reached)")
            } else {
                text
            });
        }
    }
}
