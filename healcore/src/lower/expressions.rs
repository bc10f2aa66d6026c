//! Expressions.

use ruff_python_ast::{
    BoolOp as AstBoolOp, CmpOp, Comprehension as AstClause, Expr as Ast, ExprDict, Operator,
    UnaryOp as AstUnaryOp,
};
use ruff_text_size::Ranged;

use super::{calls, names, placeholder, strings, targets};
use crate::context::Context;
use crate::rules::{Rule, expressions as rules, formats, size, statements};
use crate::tree::{
    BinaryOp, BoolOp, Clause, CompareOp, Comprehension, Constant, DictComprehension, DictItem, Element, Expr,
    ExprKind, Index, Slice, Span, UnaryOp,
};

/// Lowers an expression.
pub(crate) fn expr(cx: &mut Context<'_>, node: &Ast) -> Expr {
    let span = cx.span(node.range());
    cx.count(node);
    cx.expression_depth += 1;
    let limits = cx.options.limits;
    if cx.expression_depth == limits.expression_depth + 1 {
        let message = format!(
            "expressions are more than {} levels deep",
            limits.expression_depth
        );
        cx.report(
            &size::EXPRESSION_DEPTH,
            span,
            message,
            "assign parts of it to variables first",
        );
    }
    let lowered = match node {
        Ast::Name(name) => names::name(cx, name),
        Ast::Attribute(attribute) => names::attribute(cx, attribute),
        _ => kind(cx, node, span).map_or_else(|| placeholder(span), |kind| Expr { span, kind }),
    };
    cx.expression_depth -= 1;
    lowered
}

fn boxed(cx: &mut Context<'_>, node: &Ast) -> Box<Expr> {
    Box::new(expr(cx, node))
}

fn kind(cx: &mut Context<'_>, node: &Ast, span: Span) -> Option<ExprKind> {
    Some(match node {
        Ast::NoneLiteral(_) => ExprKind::Constant(Constant::None),
        Ast::BooleanLiteral(literal) => ExprKind::Constant(Constant::Bool(literal.value)),
        Ast::NumberLiteral(literal) => ExprKind::Constant(strings::number(cx, literal)),
        Ast::StringLiteral(literal) => {
            let constant = strings::string(cx, literal.value.iter());
            check_length(cx, &constant, span);
            ExprKind::Constant(constant)
        }
        Ast::BytesLiteral(literal) => {
            let constant = strings::bytes(literal.value.iter());
            check_length(cx, &constant, span);
            ExprKind::Constant(constant)
        }
        Ast::FString(fstring) => strings::fstring(cx, fstring),
        Ast::Subscript(subscript) => ExprKind::Subscript {
            value: boxed(cx, &subscript.value),
            index: Box::new(index(cx, &subscript.slice)),
        },
        Ast::BinOp(operation) => {
            let left = boxed(cx, &operation.left);
            let op = binary_op(cx, operation.op, span);
            let right = boxed(cx, &operation.right);
            ExprKind::Binary { left, op: op?, right }
        }
        Ast::UnaryOp(operation) => {
            let op = match operation.op {
                AstUnaryOp::Not => UnaryOp::Not,
                AstUnaryOp::USub => UnaryOp::Minus,
                AstUnaryOp::UAdd => UnaryOp::Plus,
                AstUnaryOp::Invert => UnaryOp::Invert,
            };
            ExprKind::Unary {
                op,
                operand: boxed(cx, &operation.operand),
            }
        }
        Ast::BoolOp(operation) => {
            let op = match operation.op {
                AstBoolOp::And => BoolOp::And,
                AstBoolOp::Or => BoolOp::Or,
            };
            ExprKind::Bool {
                op,
                values: operation.values.iter().map(|value| expr(cx, value)).collect(),
            }
        }
        Ast::Compare(comparison) => {
            let first = boxed(cx, &comparison.left);
            let rest = comparison
                .ops
                .iter()
                .zip(&comparison.comparators)
                .map(|(op, value)| (compare_op(*op), expr(cx, value)))
                .collect();
            ExprKind::Compare { first, rest }
        }
        Ast::If(conditional) => ExprKind::Conditional {
            test: boxed(cx, &conditional.test),
            body: boxed(cx, &conditional.body),
            orelse: boxed(cx, &conditional.orelse),
        },
        Ast::List(list) => ExprKind::List(elements(cx, &list.elts)),
        Ast::Tuple(tuple) => ExprKind::Tuple(elements(cx, &tuple.elts)),
        Ast::Set(set) => ExprKind::Set(elements(cx, &set.elts)),
        Ast::Dict(dict) => ExprKind::Dict(dict_items(cx, dict)),
        Ast::ListComp(node) => ExprKind::ListComp(Box::new(comprehension(cx, &node.generators, &node.elt))),
        Ast::SetComp(node) => ExprKind::SetComp(Box::new(comprehension(cx, &node.generators, &node.elt))),
        Ast::DictComp(node) => {
            let Some(key) = node.key.as_deref() else {
                cx.report(
                    &rules::MISPLACED,
                    span,
                    "`**` stands in a comprehension",
                    "use `dict.update` in a loop",
                );
                return None;
            };
            let (clauses, (key, value)) =
                scoped(cx, &node.generators, |cx| (expr(cx, key), expr(cx, &node.value)));
            ExprKind::DictComp(Box::new(DictComprehension { key, value, clauses }))
        }
        Ast::Call(node) => ExprKind::Call(calls::call(cx, node)?),
        _ => {
            unlisted(cx, node, span);
            return None;
        }
    })
}

fn check_length(cx: &mut Context<'_>, constant: &Constant, span: Span) {
    let length = match constant {
        Constant::Str(text) => text.chars().count(),
        Constant::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    let limit = cx.options.limits.items;
    if length as u64 > limit {
        let message = format!("the literal has more than {limit} characters");
        cx.report(&formats::LITERAL_SIZE, span, message, "use a shorter one");
    }
}

fn unlisted(cx: &mut Context<'_>, node: &Ast, span: Span) {
    let (rule, message, help): (&Rule, _, _) = match node {
        Ast::Named(_) => (
            &rules::WALRUS,
            "a value is assigned inside an expression",
            "assign it in a statement before",
        ),
        Ast::Lambda(_) => (
            &rules::LAMBDA,
            "a lambda stands where none may",
            "use a comprehension, or `key=lambda x: …`; for `defaultdict` use a type: `defaultdict(int)`",
        ),
        Ast::Generator(_) => (
            &rules::GENERATOR,
            "a generator expression is not consumed at once",
            "use a list comprehension: `[… for …]`",
        ),
        Ast::Await(_) => (
            &statements::ASYNC,
            "`await` is not in HealCore",
            "use the value itself",
        ),
        Ast::Yield(_) | Ast::YieldFrom(_) => (
            &rules::YIELD,
            "`yield` is not in HealCore",
            "collect values in a list",
        ),
        Ast::TString(_) => (
            &rules::TEMPLATE_STRING,
            "a template string is not in HealCore",
            "use an f-string",
        ),
        Ast::EllipsisLiteral(_) => (
            &rules::ELLIPSIS,
            "`...` is not in HealCore",
            "use None, or `pass`",
        ),
        Ast::Starred(_) => (
            &rules::MISPLACED,
            "a star stands where it has no meaning",
            "write `[*x]`",
        ),
        Ast::Slice(_) => (
            &rules::MISPLACED,
            "a slice stands where it has no meaning",
            "write `x[a:b]`",
        ),
        _ => (
            &rules::MISPLACED,
            "this expression is not in HealCore",
            "leave it out",
        ),
    };
    cx.report(rule, span, message, help);
}

/// Lowers a binary operator.
pub(super) fn binary_op(cx: &mut Context<'_>, op: Operator, span: Span) -> Option<BinaryOp> {
    Some(match op {
        Operator::Add => BinaryOp::Add,
        Operator::Sub => BinaryOp::Sub,
        Operator::Mult => BinaryOp::Mul,
        Operator::Div => BinaryOp::Div,
        Operator::FloorDiv => BinaryOp::FloorDiv,
        Operator::Mod => BinaryOp::Mod,
        Operator::Pow => BinaryOp::Pow,
        Operator::LShift => BinaryOp::LeftShift,
        Operator::RShift => BinaryOp::RightShift,
        Operator::BitAnd => BinaryOp::BitAnd,
        Operator::BitOr => BinaryOp::BitOr,
        Operator::BitXor => BinaryOp::BitXor,
        Operator::MatMult => {
            cx.report(
                &rules::MATMUL,
                span,
                "the operator `@` is not in HealCore",
                "compute the product with a loop or `sum`",
            );
            return None;
        }
    })
}

fn compare_op(op: CmpOp) -> CompareOp {
    match op {
        CmpOp::Eq => CompareOp::Eq,
        CmpOp::NotEq => CompareOp::NotEq,
        CmpOp::Lt => CompareOp::Lt,
        CmpOp::LtE => CompareOp::LtE,
        CmpOp::Gt => CompareOp::Gt,
        CmpOp::GtE => CompareOp::GtE,
        CmpOp::Is => CompareOp::Is,
        CmpOp::IsNot => CompareOp::IsNot,
        CmpOp::In => CompareOp::In,
        CmpOp::NotIn => CompareOp::NotIn,
    }
}

fn elements(cx: &mut Context<'_>, nodes: &[Ast]) -> Vec<Element> {
    nodes
        .iter()
        .map(|node| match node {
            Ast::Starred(starred) => Element::Star(expr(cx, &starred.value)),
            _ => Element::One(expr(cx, node)),
        })
        .collect()
}

fn dict_items(cx: &mut Context<'_>, dict: &ExprDict) -> Vec<DictItem> {
    dict.items
        .iter()
        .map(|item| match &item.key {
            Some(key) => {
                let key = expr(cx, key);
                DictItem::Pair(key, expr(cx, &item.value))
            }
            None => DictItem::Star(expr(cx, &item.value)),
        })
        .collect()
}

/// Lowers what stands between the brackets of a subscript.
pub(super) fn index(cx: &mut Context<'_>, node: &Ast) -> Index {
    match node {
        Ast::Slice(slice) => {
            cx.count(slice);
            let mut part = |node: &Option<Box<Ast>>| node.as_deref().map(|node| expr(cx, node));
            let (lower, upper, step) = (part(&slice.lower), part(&slice.upper), part(&slice.step));
            Index::Slice(Box::new(Slice {
                span: cx.span(slice.range()),
                lower,
                upper,
                step,
            }))
        }
        Ast::Tuple(tuple) if tuple.elts.iter().any(Ast::is_slice_expr) => {
            Index::Tuple(tuple.elts.iter().map(|node| index(cx, node)).collect())
        }
        _ => Index::Value(expr(cx, node)),
    }
}

/// Lowers a comprehension with one element.
pub(super) fn comprehension(cx: &mut Context<'_>, generators: &[AstClause], element: &Ast) -> Comprehension {
    let (clauses, element) = scoped(cx, generators, |cx| expr(cx, element));
    Comprehension { element, clauses }
}

/// Lowers the clauses of a comprehension, and what `inner` lowers in their scope.
fn scoped<T>(
    cx: &mut Context<'_>,
    generators: &[AstClause],
    inner: impl FnOnce(&mut Context<'_>) -> T,
) -> (Vec<Clause>, T) {
    let mut clauses = Vec::new();
    let mut is_open = false;
    for generator in generators {
        cx.count(generator);
        let span = cx.span(generator.range());
        if generator.is_async {
            cx.report(
                &statements::ASYNC,
                span,
                "`async for` is not in HealCore",
                "loop over a list with `for`",
            );
        }
        let iterable = expr(cx, &generator.iter);
        // The first iterable is evaluated outside the scope of the comprehension.
        if !is_open {
            cx.locals.push(std::collections::BTreeSet::new());
            is_open = true;
        }
        let target = targets::binding(cx, &generator.target);
        targets::add_names(cx, &target);
        let conditions = generator
            .ifs
            .iter()
            .map(|condition| expr(cx, condition))
            .collect();
        clauses.push(Clause {
            span,
            target,
            iterable,
            conditions,
        });
    }
    let lowered = inner(cx);
    if is_open {
        cx.locals.pop();
    }
    (clauses, lowered)
}
