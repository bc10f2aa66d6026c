//! Statements.

use ruff_python_ast::{ElifElseClause, ExceptHandler, Expr as Ast, Stmt as AstStmt, StmtTry};
use ruff_text_size::Ranged;

use super::{expr, imports, names, targets};
use crate::context::Context;
use crate::options::FrameName;
use crate::rules::{names as name_rules, size, statements as rules};
use crate::tables::{BuiltinType, ExceptionName, MemberKind, REFUSED_EXCEPTIONS};
use crate::tree::{Cause, ExceptionRef, Handler, Name, Path, Raise, Span, Stmt, StmtKind};

/// Lowers statements in order.
pub(crate) fn body(cx: &mut Context<'_>, stmts: &[AstStmt]) -> Vec<Stmt> {
    stmts.iter().filter_map(|node| stmt(cx, node)).collect()
}

/// Lowers statements one block deeper.
fn block(cx: &mut Context<'_>, stmts: &[AstStmt]) -> Vec<Stmt> {
    cx.block_depth += 1;
    let limit = cx.options.limits.block_depth;
    if cx.block_depth == limit + 1
        && let Some(first) = stmts.first()
    {
        let span = cx.span(first.range());
        let message = format!("blocks are more than {limit} levels deep");
        cx.report(
            &size::BLOCK_DEPTH,
            span,
            message,
            "join conditions with `and`, or leave early",
        );
    }
    let lowered = body(cx, stmts);
    cx.block_depth -= 1;
    lowered
}

fn loop_body(cx: &mut Context<'_>, stmts: &[AstStmt]) -> Vec<Stmt> {
    cx.n_loops += 1;
    let lowered = block(cx, stmts);
    cx.n_loops -= 1;
    lowered
}

fn stmt(cx: &mut Context<'_>, node: &AstStmt) -> Option<Stmt> {
    let span = cx.span(node.range());
    cx.n_statements += 1;
    cx.count(node);
    let limit = cx.options.limits.statements;
    if cx.n_statements == limit + 1 {
        let message = format!("the code has more than {limit} statements");
        cx.report(
            &size::STATEMENTS,
            span,
            message,
            "write only what repairs the state",
        );
    }
    kind(cx, node, span).map(|kind| Stmt { span, kind })
}

fn kind(cx: &mut Context<'_>, node: &AstStmt, span: Span) -> Option<StmtKind> {
    match node {
        AstStmt::Assign(assign) => {
            let value = expr(cx, &assign.value);
            let targets = assign
                .targets
                .iter()
                .filter_map(|target| targets::target(cx, target))
                .collect();
            Some(StmtKind::Assign { targets, value })
        }
        AstStmt::AugAssign(assign) => {
            let op = super::expressions::binary_op(cx, assign.op, span);
            let target = targets::place(cx, &assign.target);
            let value = expr(cx, &assign.value);
            Some(StmtKind::AugAssign {
                target: target?,
                op: op?,
                value,
            })
        }
        AstStmt::AnnAssign(assign) => annotated(cx, assign, span),
        AstStmt::Expr(statement) => statement_expr(cx, &statement.value, span),
        AstStmt::If(statement) => {
            let test = expr(cx, &statement.test);
            let body = block(cx, &statement.body);
            let orelse = clauses(cx, &statement.elif_else_clauses);
            Some(StmtKind::If { test, body, orelse })
        }
        AstStmt::For(statement) if !statement.is_async => {
            let iterable = expr(cx, &statement.iter);
            let target = targets::binding(cx, &statement.target);
            let body = loop_body(cx, &statement.body);
            let orelse = block(cx, &statement.orelse);
            Some(StmtKind::For {
                target,
                iterable,
                body,
                orelse,
            })
        }
        AstStmt::While(statement) => {
            let test = expr(cx, &statement.test);
            let body = loop_body(cx, &statement.body);
            let orelse = block(cx, &statement.orelse);
            Some(StmtKind::While { test, body, orelse })
        }
        AstStmt::Break(_) => Some(if cx.n_loops > 0 {
            StmtKind::Break
        } else {
            StmtKind::ResumeBreak
        }),
        AstStmt::Continue(_) => Some(if cx.n_loops > 0 {
            StmtKind::Continue
        } else {
            StmtKind::ResumeContinue
        }),
        AstStmt::Pass(_) => Some(StmtKind::Pass),
        AstStmt::Return(statement) => Some(StmtKind::Return(
            statement.value.as_ref().map(|value| expr(cx, value)),
        )),
        AstStmt::Try(statement) => Some(try_stmt(cx, statement, span)),
        AstStmt::Raise(statement) => {
            raise(cx, statement.exc.as_deref(), statement.cause.as_deref(), span).map(StmtKind::Raise)
        }
        AstStmt::Assert(statement) => {
            let test = expr(cx, &statement.test);
            let message = statement.msg.as_ref().map(|message| expr(cx, message));
            Some(StmtKind::Assert { test, message })
        }
        AstStmt::Delete(statement) => {
            let mut items = Vec::new();
            for target in &statement.targets {
                match target {
                    Ast::Subscript(subscript) => items.push(targets::item(cx, subscript)),
                    _ => {
                        let span = cx.span(target.range());
                        cx.report(
                            &rules::DELETE,
                            span,
                            "a variable or attribute is deleted",
                            "set it to None; `del x[key]` may delete an item",
                        );
                    }
                }
            }
            Some(StmtKind::Delete(items))
        }
        AstStmt::Global(statement) => {
            let names = statement.names.iter().map(|name| global(cx, name)).collect();
            Some(StmtKind::Global(names))
        }
        AstStmt::Import(statement) => Some(StmtKind::Import(imports::import(cx, statement))),
        AstStmt::ImportFrom(statement) => Some(StmtKind::Import(imports::import_from(cx, statement))),
        _ => {
            unlisted(cx, node, span);
            None
        }
    }
}

fn unlisted(cx: &mut Context<'_>, node: &AstStmt, span: Span) {
    let (rule, what, help) = match node {
        AstStmt::FunctionDef(definition) if definition.is_async => (
            &rules::ASYNC,
            "an asynchronous function",
            "write the statements themselves, without `await`",
        ),
        AstStmt::FunctionDef(_) => (
            &rules::DEFINITION,
            "a function",
            "write its statements where they are needed",
        ),
        AstStmt::ClassDef(_) => (
            &rules::DEFINITION,
            "a class",
            "use a dict, or an object of the program",
        ),
        AstStmt::TypeAlias(_) => (&rules::DEFINITION, "a type alias", "leave it out"),
        AstStmt::With(with) if with.is_async => (
            &rules::ASYNC,
            "an `async with` statement",
            "write the statements themselves, without `await`",
        ),
        AstStmt::For(_) => (
            &rules::ASYNC,
            "an `async for` loop",
            "loop over a list with `for`",
        ),
        AstStmt::With(_) => (&rules::WITH, "a `with` statement", "use `try` and `finally`"),
        AstStmt::Match(_) => (&rules::MATCH, "a `match` statement", "use `if` and `elif`"),
        AstStmt::Nonlocal(_) => (
            &rules::NONLOCAL,
            "a `nonlocal` statement",
            "heal the frame that owns the variable",
        ),
        _ => (&rules::NO_EFFECT, "this statement", "leave it out"),
    };
    cx.report(rule, span, format!("{what} is not in HealCore"), help);
}

fn annotated(cx: &mut Context<'_>, node: &ruff_python_ast::StmtAnnAssign, span: Span) -> Option<StmtKind> {
    let value = node.value.as_ref().map(|value| expr(cx, value));
    if let (Ast::Name(target), Ast::Name(annotation), Some(value)) = (&*node.target, &*node.annotation, value)
    {
        let name = targets::variable(cx, &target.id, target);
        names::check_identifier(cx, annotation.range(), &annotation.id);
        return Some(StmtKind::AnnAssign {
            name,
            annotation: annotation.id.to_string(),
            value,
        });
    }
    cx.report(
        &rules::ANNOTATION,
        span,
        "the annotation is not a plain name, or there is no value",
        "assign without an annotation: `name = value`",
    );
    None
}

fn statement_expr(cx: &mut Context<'_>, value: &Ast, span: Span) -> Option<StmtKind> {
    if let Ast::Call(call) = value {
        return super::calls::call(cx, call).map(StmtKind::Call);
    }
    // An expression that is refused for itself needs no second violation.
    let n_violations = cx.violations.len();
    expr(cx, value);
    if cx.violations.len() == n_violations {
        cx.report(
            &rules::NO_EFFECT,
            span,
            "the expression has no effect",
            "assign its value to a variable, or leave it out",
        );
    }
    None
}

fn clauses(cx: &mut Context<'_>, clauses: &[ElifElseClause]) -> Vec<Stmt> {
    let lowered: Vec<_> = clauses
        .iter()
        .map(|clause| {
            let test = clause.test.as_ref().map(|test| expr(cx, test));
            (cx.span(clause.range()), test, block(cx, &clause.body))
        })
        .collect();
    lowered
        .into_iter()
        .rev()
        .fold(Vec::new(), |orelse, (span, test, body)| match test {
            Some(test) => vec![Stmt {
                span,
                kind: StmtKind::If { test, body, orelse },
            }],
            None => body,
        })
}

fn try_stmt(cx: &mut Context<'_>, node: &StmtTry, span: Span) -> StmtKind {
    if node.is_star {
        cx.report(
            &rules::EXCEPT_STAR,
            span,
            "`except*` is not in HealCore",
            "use `except`",
        );
    }
    let body = block(cx, &node.body);
    let n_handlers = node.handlers.len();
    let mut handlers = Vec::new();
    for (handler_idx, ExceptHandler::ExceptHandler(handler)) in node.handlers.iter().enumerate() {
        let span = cx.span(handler.range());
        let classes = match handler.type_.as_deref() {
            None => {
                if handler_idx + 1 < n_handlers {
                    cx.report(
                        &rules::HANDLER,
                        span,
                        "a bare `except` is not the last clause",
                        "move it to the end",
                    );
                }
                Vec::new()
            }
            Some(Ast::Tuple(tuple)) if tuple.elts.is_empty() => {
                cx.report(
                    &rules::HANDLER,
                    span,
                    "the clause catches nothing",
                    "name a listed exception",
                );
                Vec::new()
            }
            Some(Ast::Tuple(tuple)) => tuple
                .elts
                .iter()
                .filter_map(|class| exception(cx, class))
                .collect(),
            Some(class) => exception(cx, class).into_iter().collect(),
        };
        let name = handler
            .name
            .as_ref()
            .map(|name| targets::variable(cx, name, name));
        cx.n_handlers += 1;
        cx.caught.extend(name.iter().map(|name| name.id.clone()));
        let body = block(cx, &handler.body);
        cx.caught.truncate(cx.caught.len() - name.iter().len());
        cx.n_handlers -= 1;
        handlers.push(Handler {
            span,
            classes,
            name,
            body,
        });
    }
    let orelse = block(cx, &node.orelse);
    let finalbody = block(cx, &node.finalbody);
    StmtKind::Try {
        body,
        handlers,
        orelse,
        finalbody,
    }
}

/// Lowers a class after `except`.
fn exception(cx: &mut Context<'_>, class: &Ast) -> Option<ExceptionRef> {
    let span = cx.span(class.range());
    let n_violations = cx.violations.len();
    let found = names::dotted(class).and_then(|dotted| {
        names::check_identifier(cx, dotted.root_range, dotted.root);
        let root = dotted.root;
        let is_name = dotted.attributes.is_empty();
        if is_name && let Some(name) = ExceptionName::from_name(root) {
            return Some(ExceptionRef::Builtin(name, span));
        }
        if is_name && (REFUSED_EXCEPTIONS.contains(&root) || BuiltinType::from_name(root).is_some()) {
            return None;
        }
        match names::resolve(cx, &dotted, span) {
            Some(names::Resolved::Member(reference, n_used))
                if reference.member.kind == MemberKind::Exception && n_used == dotted.attributes.len() =>
            {
                Some(ExceptionRef::Member(reference))
            }
            Some(_) => None,
            None => {
                let is_plain = dotted
                    .attributes
                    .iter()
                    .all(|name| name.is_ascii() && crate::tables::attribute_fault(name).is_none())
                    && (is_foreign(cx, root) && !is_name || name_rules::check_read(cx, root, span));
                let attributes = dotted.attributes.iter().map(|name| (*name).to_owned()).collect();
                is_plain.then(|| {
                    ExceptionRef::Path(Path {
                        span,
                        root: root.to_owned(),
                        attributes,
                    })
                })
            }
        }
    });
    if found.is_none() && cx.violations.len() == n_violations {
        cx.report(
            &rules::HANDLER,
            span,
            "the class after `except` is computed, or may not be caught",
            "name a listed exception such as `ValueError`, or a class of the program: `except shop.Missing`",
        );
    }
    found
}

/// Classes of foreign modules may be caught: `except requests.Timeout`.
fn is_foreign(cx: &Context<'_>, name: &str) -> bool {
    matches!(cx.options.names.get(name), Some(FrameName::Foreign))
}

fn raise(cx: &mut Context<'_>, exc: Option<&Ast>, cause: Option<&Ast>, span: Span) -> Option<Raise> {
    let Some(exc) = exc else {
        if cx.n_handlers > 0 {
            return Some(Raise::Again);
        }
        return report_raise(cx, "a bare `raise` stands outside an `except` clause", span);
    };
    let cause_of = match cause {
        None => Cause::Absent,
        Some(Ast::NoneLiteral(_)) => Cause::Suppressed,
        Some(cause) => match caught(cx, cause) {
            Some(name) => Cause::Caught(name),
            None => return report_raise(cx, "the cause after `from` is computed", span),
        },
    };
    if let Some(name) = caught(cx, exc)
        && cause.is_none()
    {
        return Some(Raise::Caught(name));
    }
    let (class, arguments) = match exc {
        Ast::Call(call) => (&*call.func, Some(&call.arguments)),
        class => (class, None),
    };
    let class = match class {
        Ast::Name(name) if !name_rules::is_variable(cx, &name.id) => ExceptionName::from_name(&name.id),
        _ => None,
    };
    let Some(class) = class else {
        return report_raise(cx, "something else than a listed exception is raised", span);
    };
    let mut args = Vec::new();
    if let Some(arguments) = arguments {
        let is_plain = arguments.keywords.is_empty() && !arguments.args.iter().any(Ast::is_starred_expr);
        if !is_plain {
            return report_raise(cx, "the exception is called with keywords or stars", span);
        }
        args = arguments.args.iter().map(|arg| expr(cx, arg)).collect();
    }
    Some(Raise::New {
        class,
        args,
        cause: cause_of,
    })
}

/// Returns the variable that an enclosing `except … as` has bound.
fn caught(cx: &Context<'_>, expr: &Ast) -> Option<Name> {
    let Ast::Name(name) = expr else { return None };
    let is_caught = cx.caught.iter().any(|caught| *caught == name.id.as_str());
    is_caught.then(|| Name {
        span: cx.span(name.range()),
        id: name.id.to_string(),
    })
}

fn report_raise(cx: &mut Context<'_>, message: &str, span: Span) -> Option<Raise> {
    cx.report(
        &rules::RAISE,
        span,
        message,
        "raise a listed exception: `raise ValueError('why')`; `raise` and `raise e` stand in `except … as e`",
    );
    None
}

fn global(cx: &mut Context<'_>, name: &ruff_python_ast::Identifier) -> String {
    let variable = targets::variable(cx, name, name);
    let before = cx.source.get(..variable.span.start as usize).unwrap_or_default();
    let is_used = before
        .split(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .rev()
        .skip_while(|word| word.is_empty())
        .any(|word| word == variable.id);
    if is_used {
        cx.report(
            &rules::GLOBAL,
            variable.span,
            format!("`{}` is used before its `global` statement", variable.id),
            "write the `global` statement first",
        );
    }
    variable.id
}
