//! What is stored to: places, unpackings, loop variables.

use ruff_python_ast::{Expr as Ast, ExprSubscript};
use ruff_text_size::Ranged;

use super::names;
use crate::context::Context;
use crate::rules::{names as name_rules, statements as rules};
use crate::tree::{Binding, Item, Name, Place, Span, Target, UnpackBinding, UnpackTarget};

/// Lowers the left side of an assignment.
pub(super) fn target(cx: &mut Context<'_>, expr: &Ast) -> Option<Target> {
    cx.count(expr);
    let span = cx.span(expr.range());
    let elements = match expr {
        Ast::Tuple(tuple) => &tuple.elts,
        Ast::List(list) => &list.elts,
        _ => return place(cx, expr).map(Target::Place),
    };
    let mut targets = Vec::new();
    for element in elements {
        match element {
            Ast::Starred(starred) => targets.extend(target(cx, &starred.value).map(UnpackTarget::Rest)),
            _ => targets.extend(target(cx, element).map(UnpackTarget::One)),
        }
    }
    check_stars(cx, elements, span);
    Some(Target::Unpack { span, targets })
}

fn check_stars(cx: &mut Context<'_>, elements: &[Ast], span: Span) {
    if elements
        .iter()
        .filter(|element| element.is_starred_expr())
        .count()
        > 1
    {
        cx.report(
            &rules::TARGET,
            span,
            "more than one target is starred",
            "star one of them only",
        );
    }
}

/// Lowers a place that holds one value.
pub(super) fn place(cx: &mut Context<'_>, expr: &Ast) -> Option<Place> {
    let span = cx.span(expr.range());
    match expr {
        Ast::Name(name) => Some(Place::Name(variable(cx, &name.id, expr))),
        Ast::Attribute(attribute) => {
            names::check_attribute(cx, attribute);
            if names::check_store(cx, &attribute.value, span) {
                return None;
            }
            if let Some(dotted) = names::dotted(&attribute.value)
                && dotted.attributes.is_empty()
            {
                let root_span = cx.span(dotted.root_range);
                name_rules::check_root(cx, dotted.root, root_span);
            }
            let object = Box::new(super::expr(cx, &attribute.value));
            Some(Place::Attribute {
                span,
                object,
                name: attribute.attr.to_string(),
            })
        }
        Ast::Subscript(subscript) => Some(Place::Item(item(cx, subscript))),
        _ => {
            cx.report(
                &rules::TARGET,
                span,
                "a value is assigned to something that cannot hold one",
                "assign to a variable, an attribute or an item",
            );
            None
        }
    }
}

/// Lowers `object[index]` where it is stored or deleted.
pub(super) fn item(cx: &mut Context<'_>, subscript: &ExprSubscript) -> Item {
    let span = cx.span(subscript.range());
    let object = Box::new(super::expr(cx, &subscript.value));
    let index = Box::new(super::expressions::index(cx, &subscript.slice));
    Item { span, object, index }
}

/// Lowers a variable that is bound.
pub(super) fn variable(cx: &mut Context<'_>, id: &str, node: &impl Ranged) -> Name {
    let span = cx.span(node.range());
    names::check_identifier(cx, node.range(), id);
    name_rules::check_bind(cx, id, span);
    Name {
        span,
        id: id.to_owned(),
    }
}

/// Lowers the target of a loop or comprehension.
pub(super) fn binding(cx: &mut Context<'_>, expr: &Ast) -> Binding {
    cx.count(expr);
    let span = cx.span(expr.range());
    let elements = match expr {
        Ast::Name(name) => return Binding::Name(variable(cx, &name.id, expr)),
        Ast::Tuple(tuple) => &tuple.elts,
        Ast::List(list) => &list.elts,
        _ => {
            cx.report(
                &rules::LOOP_TARGET,
                span,
                "the target of the loop is not a name",
                "loop over a name, and assign to the attribute or item in the body",
            );
            return Binding::Unpack {
                span,
                bindings: Vec::new(),
            };
        }
    };
    check_stars(cx, elements, span);
    let bindings = elements
        .iter()
        .map(|element| match element {
            Ast::Starred(starred) => UnpackBinding::Rest(binding(cx, &starred.value)),
            _ => UnpackBinding::One(binding(cx, element)),
        })
        .collect();
    Binding::Unpack { span, bindings }
}

/// Adds the names of a binding to the innermost scope.
pub(super) fn add_names(cx: &mut Context<'_>, binding: &Binding) {
    match binding {
        Binding::Name(name) => {
            if let Some(scope) = cx.locals.last_mut() {
                scope.insert(name.id.clone());
            }
        }
        Binding::Unpack { bindings, .. } => {
            for binding in bindings {
                let (UnpackBinding::One(binding) | UnpackBinding::Rest(binding)) = binding;
                add_names(cx, binding);
            }
        }
    }
}
