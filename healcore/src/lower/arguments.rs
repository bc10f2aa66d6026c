//! Arguments: values, stars, generators, and functions that the call applies.

use ruff_python_ast::{Expr as Ast, ExprCall, ExprLambda, Keyword as AstKeyword};
use ruff_text_size::Ranged;

use super::{expr, expressions, names};
use crate::context::Context;
use crate::rules::{calls as rules, expressions as expression_rules, names as name_rules};
use crate::tables::{self, Builtin, BuiltinType, MethodName};
use crate::tree::{Argument, Expr, Function, Keyword, Lambda, Span};

/// Which arguments of a callee are functions, and whether it consumes generators.
#[derive(Default)]
pub(super) struct Functions {
    pub(super) positions: &'static [usize],
    pub(super) keywords: &'static [&'static str],
    pub(super) is_consumer: bool,
}

/// Lowers the arguments of a call.
pub(super) fn lower(
    cx: &mut Context<'_>,
    call: &ExprCall,
    functions: &Functions,
) -> (Vec<Argument>, Vec<Keyword>) {
    let mut args = Vec::new();
    for (position, node) in call.arguments.args.iter().enumerate() {
        args.push(match node {
            Ast::Starred(starred) => Argument::Star(expr(cx, &starred.value)),
            Ast::Generator(generator) if functions.is_consumer => {
                cx.count(generator);
                let comprehension = expressions::comprehension(cx, &generator.generators, &generator.elt);
                Argument::Generator(Box::new(comprehension))
            }
            _ if functions.positions.contains(&position) => match function(cx, node) {
                Some(function) => Argument::Function(function),
                None => Argument::One(super::placeholder(cx.span(node.range()))),
            },
            _ => Argument::One(expr(cx, node)),
        });
    }
    let keywords = call
        .arguments
        .keywords
        .iter()
        .map(|node| keyword(cx, node, functions))
        .collect();
    (args, keywords)
}

fn keyword(cx: &mut Context<'_>, node: &AstKeyword, functions: &Functions) -> Keyword {
    let Some(identifier) = &node.arg else {
        return Keyword::Star(expr(cx, &node.value));
    };
    names::check_identifier(cx, identifier.range(), identifier);
    let name = identifier.to_string();
    if !functions.keywords.contains(&name.as_str()) {
        return Keyword::One {
            name,
            value: expr(cx, &node.value),
        };
    }
    let function = match &node.value {
        Ast::Lambda(node) if name == "key" => lambda(cx, node),
        value => function(cx, value),
    };
    match function {
        Some(function) => Keyword::Function { name, function },
        None => {
            let value: Expr = super::placeholder(cx.span(node.value.range()));
            Keyword::One { name, value }
        }
    }
}

/// Lowers a function that a call applies.
fn function(cx: &mut Context<'_>, node: &Ast) -> Option<Function> {
    let span = cx.span(node.range());
    if node.is_none_literal_expr() {
        return Some(Function::Identity(span));
    }
    if node.is_lambda_expr() {
        expr(cx, node);
        return None;
    }
    let found = names::dotted(node).and_then(|dotted| {
        names::check_identifier(cx, dotted.root_range, dotted.root);
        let is_free = !name_rules::is_variable(cx, dotted.root);
        match dotted.attributes[..] {
            [] if is_free && let Some(builtin) = Builtin::from_name(dotted.root) => {
                tables::is_element_function(builtin).then_some(Function::Builtin(builtin, span))
            }
            [name] if is_free && let Some(of) = BuiltinType::from_name(dotted.root) => {
                let method = MethodName::from_name(name).filter(|_| tables::is_element_method(of, name))?;
                Some(Function::TypeMethod { span, of, method })
            }
            _ => match names::resolve(cx, &dotted, span)? {
                names::Resolved::Member(reference, n_used)
                    if n_used == dotted.attributes.len() && reference.member.is_element_function() =>
                {
                    Some(Function::Member(reference))
                }
                _ => None,
            },
        }
    });
    if found.is_none() {
        report_hidden(cx, node, span);
    }
    found
}

fn report_hidden(cx: &mut Context<'_>, node: &Ast, span: Span) {
    // What is refused for itself is told, too: `key=eval`.
    if let Ast::Name(name) = node
        && Builtin::from_name(&name.id).is_none()
    {
        name_rules::check_read(cx, &name.id, span);
    } else if !matches!(node, Ast::Name(_) | Ast::Attribute(_)) {
        expr(cx, node);
    }
    if let Ast::Attribute(attribute) = node {
        names::check_attribute(cx, attribute);
    }
    cx.report(
        &rules::HIDDEN_CALL,
        span,
        "the call would apply a function that is not listed",
        "use a builtin such as `int`, `str` or `len`, a method such as `str.lower`, `key=lambda x: d[x]`, or a comprehension",
    );
}

fn lambda(cx: &mut Context<'_>, node: &ExprLambda) -> Option<Function> {
    let span = cx.span(node.range());
    let parameter = node.parameters.as_deref().filter(|parameters| {
        parameters.posonlyargs.is_empty()
            && parameters.kwonlyargs.is_empty()
            && parameters.vararg.is_none()
            && parameters.kwarg.is_none()
            && parameters.args.len() == 1
            && parameters
                .args
                .iter()
                .all(|parameter| parameter.default.is_none())
    });
    let Some(parameter) = parameter.and_then(|parameters| parameters.args.first()) else {
        cx.report(
            &expression_rules::LAMBDA,
            span,
            "the lambda has not one plain parameter",
            "write `key=lambda x: …`",
        );
        return None;
    };
    let name = &parameter.parameter.name;
    let parameter = super::targets::variable(cx, name, name);
    cx.locals.push(std::iter::once(parameter.id.clone()).collect());
    cx.n_lambdas += 1;
    let body = expr(cx, &node.body);
    cx.n_lambdas -= 1;
    cx.locals.pop();
    Some(Function::Lambda(Box::new(Lambda {
        span,
        parameter,
        body,
    })))
}
