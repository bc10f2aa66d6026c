//! Loops that the text alone shows to be endless or too long.

use super::define_rules;
use crate::context::Context;
use crate::fold;
use crate::tables::Builtin;
use crate::tree::{
    Argument, Call, Callee, Clause, Expr, ExprKind, Index, Place, Program, Span, Stmt, StmtKind, Target,
};
use crate::visit::{Visitor, walk_call, walk_expr, walk_stmt};

define_rules! {
    ROUNDS = "HC704" "too-many-rounds": "loops of more than 200,000 rounds, alone or in one another";
    ENDLESS = "HC705" "endless-loop": "a `while` whose condition is always true, without a way out";
    GROWING = "HC706" "growing-loop": "a loop over a container that its body makes longer";
}

/// Methods that make their receiver longer.
const GROWING_METHODS: &[&str] = &[
    "add",
    "append",
    "appendleft",
    "extend",
    "extendleft",
    "insert",
    "setdefault",
    "update",
];

/// Checks the loops of a heal.
pub(crate) fn check(cx: &mut Context<'_>, program: &Program) {
    Loops {
        cx,
        rounds: 1,
        containers: Vec::new(),
    }
    .body(&program.body);
}

/// Checks a single expression.
pub(crate) fn check_expr(cx: &mut Context<'_>, expr: &Expr) {
    Loops {
        cx,
        rounds: 1,
        containers: Vec::new(),
    }
    .expr(expr);
}

struct Loops<'c, 'a> {
    cx: &'c mut Context<'a>,
    /// How often the place where the walk is runs, as far as the text tells.
    rounds: u64,
    /// The dotted names that the loops around iterate over.
    containers: Vec<String>,
}

impl Visitor for Loops<'_, '_> {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For {
                iterable,
                body,
                orelse,
                ..
            } => {
                self.expr(iterable);
                let outer = self.enter(iterable, stmt.span);
                let n_containers = self.containers.len();
                self.containers.extend(container(iterable));
                self.body(body);
                self.containers.truncate(n_containers);
                self.rounds = outer;
                self.body(orelse);
            }
            StmtKind::While { test, body, .. } => {
                if fold::truth(test) == Some(true) && !body.iter().any(|stmt| leaves(stmt, Depth::Loop)) {
                    self.cx.report(
                        &ENDLESS,
                        stmt.span,
                        "the loop never ends",
                        "give it a condition that becomes false, or a `break`",
                    );
                }
                walk_stmt(self, stmt);
            }
            StmtKind::Assign { targets, .. } => {
                for target in targets {
                    if let Target::Place(Place::Item(item)) = target
                        && matches!(*item.index, Index::Slice(_))
                        && let Some(name) = dotted(&item.object)
                    {
                        self.grows(&name, stmt.span);
                    }
                }
                walk_stmt(self, stmt);
            }
            StmtKind::AugAssign { target, .. } => {
                if let Some(name) = place_name(target) {
                    self.grows(&name, stmt.span);
                }
                walk_stmt(self, stmt);
            }
            _ => walk_stmt(self, stmt),
        }
    }

    fn expr(&mut self, expr: &Expr) {
        walk_expr(self, expr);
    }

    fn call(&mut self, call: &Call) {
        if let Callee::Builtin(Builtin::Range) = call.callee {
            let total = fold::range(call).map_or(1, |count| count.saturating_mul(self.rounds));
            self.check_total(total, call.span);
        }
        if let Callee::Method { receiver, method } = &call.callee
            && GROWING_METHODS.contains(&method.name())
            && let Some(name) = dotted(receiver)
        {
            self.grows(&name, call.span);
        }
        walk_call(self, call);
    }

    fn clauses(&mut self, clauses: &[Clause], elements: &[&Expr]) {
        let outer = self.rounds;
        let n_containers = self.containers.len();
        for clause in clauses {
            self.expr(&clause.iterable);
            self.enter(&clause.iterable, clause.span);
            self.containers.extend(container(&clause.iterable));
            clause
                .conditions
                .iter()
                .for_each(|condition| self.expr(condition));
        }
        elements.iter().for_each(|element| self.expr(element));
        self.containers.truncate(n_containers);
        self.rounds = outer;
    }
}

impl Loops<'_, '_> {
    /// Multiplies the rounds by those of a loop; gives the rounds from before.
    fn enter(&mut self, iterable: &Expr, span: Span) -> u64 {
        let outer = self.rounds;
        self.rounds = outer.saturating_mul(fold::length(iterable).unwrap_or(1).max(1));
        self.check_total(self.rounds, span);
        outer
    }

    fn check_total(&mut self, total: u64, span: Span) {
        let limit = self.cx.options.limits.rounds;
        if total > limit {
            let message = format!("the loops run more than {limit} rounds");
            self.cx.report(
                &ROUNDS,
                span,
                message,
                "loop over less, or compute the result directly",
            );
        }
    }

    fn grows(&mut self, name: &str, span: Span) {
        if self.containers.iter().any(|container| container == name) {
            self.cx.report(
                &GROWING,
                span,
                format!("the loop goes over `{name}`, which its body makes longer"),
                format!("loop over a copy: `for … in list({name})`"),
            );
        }
    }
}

/// Which loops a `break` that is met belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Depth {
    /// The loop that is looked at.
    Loop,
    /// One within it.
    Inner,
}

/// Says whether a statement may leave the loop around it.
fn leaves(stmt: &Stmt, depth: Depth) -> bool {
    let any = |body: &[Stmt], depth| body.iter().any(|stmt| leaves(stmt, depth));
    match &stmt.kind {
        StmtKind::Return(_) | StmtKind::Raise(_) | StmtKind::ResumeBreak | StmtKind::ResumeContinue => true,
        StmtKind::Break => depth == Depth::Loop,
        StmtKind::If { body, orelse, .. } => any(body, depth) || any(orelse, depth),
        StmtKind::For { body, orelse, .. } | StmtKind::While { body, orelse, .. } => {
            any(body, Depth::Inner) || any(orelse, depth)
        }
        StmtKind::Try {
            body,
            handlers,
            orelse,
            finalbody,
        } => {
            any(body, depth)
                || handlers.iter().any(|handler| any(&handler.body, depth))
                || any(orelse, depth)
                || any(finalbody, depth)
        }
        _ => false,
    }
}

/// Returns the dotted name of the container that a loop goes over live, also through `enumerate` and views.
fn container(iterable: &Expr) -> Option<String> {
    match &iterable.kind {
        ExprKind::Call(call) => match &call.callee {
            Callee::Builtin(Builtin::Enumerate | Builtin::Iter | Builtin::Zip) => {
                call.args.iter().find_map(|arg| match arg {
                    Argument::One(value) => container(value),
                    _ => None,
                })
            }
            Callee::Builtin(Builtin::Map | Builtin::Filter) => match call.args.get(1) {
                Some(Argument::One(value)) => container(value),
                _ => None,
            },
            Callee::Method { receiver, method } if matches!(method.name(), "items" | "keys" | "values") => {
                dotted(receiver)
            }
            _ => None,
        },
        _ => dotted(iterable),
    }
}

fn dotted(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.clone()),
        ExprKind::Attribute { value, name } => Some(format!("{}.{name}", dotted(value)?)),
        _ => None,
    }
}

fn place_name(place: &Place) -> Option<String> {
    match place {
        Place::Name(name) => Some(name.id.clone()),
        Place::Attribute { object, name, .. } => Some(format!("{}.{name}", dotted(object)?)),
        Place::Item(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn rounds_are_limited() {
        check("for a in range(200000):\n    pass", "");
        check("for a in range(200001):\n    pass", "HC704");
        check(
            "for a in range(1000):\n    for b in range(1000):\n        pass",
            "HC704",
        );
        check("for a in range(1000):\n    x = sum(range(1000))", "HC704");
        check("for a in range(1000):\n    x = [b for b in range(1000)]", "HC704");
        check("x = [1 for a in range(1000) for b in range(1000)]", "HC704");
        check("x = [[1 for a in range(1000)] for b in range(1000)]", "HC704");
        check(
            "x = sum(1 for a in range(1000) if any(b for b in range(1000)))",
            "HC704",
        );
        check("x = sum(range(0, 10 ** 12, 2))", "HC704");
        check("x = list(range(10 ** 6, 0, -1))", "HC704");
        check(
            "for a in 'x' * 60000:\n    for b in 'x' * 60000:\n        pass",
            "HC704",
        );
        check(
            "for a in range(10):\n    for b in range(len(rows)):\n        pass",
            "",
        );
    }

    #[test]
    fn endless_loops_are_refused() {
        check("while True:\n    pass", "HC705");
        check("while 1:\n    x = 1", "HC705");
        check("while not 0:\n    x = 1", "HC705");
        check("while 'a':\n    for b in c:\n        break", "HC705");
        check("while [0]:\n    continue", "HC705");
        check("while True:\n    if a:\n        break", "");
        check("while True:\n    for b in c:\n        return", "");
        check("while 1 + 1:\n    pass", "HC705");
    }

    #[test]
    fn growing_loops_are_refused() {
        check("for a in rows:\n    rows.append(a)", "HC706");
        check("for a in self.rows:\n    self.rows.insert(0, a)", "HC706");
        check("for i, a in enumerate(rows):\n    rows.extend([a])", "HC706");
        check("for a in rows:\n    if a:\n        rows += [a]", "HC706");
        check("x = [rows.append(a) for a in rows]", "HC706");
        check("for a in rows:\n    rows[len(rows):] = [a]", "HC706");
        check("for k in d.keys():\n    d.update({k: 1})", "HC706");
        check("for a in list(rows):\n    rows.append(a)", "");
        check("for a in rows:\n    other.append(a)", "");
    }
}
