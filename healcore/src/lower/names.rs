//! Names and dotted names: what a path such as `dt.timezone.utc` stands for.

use ruff_python_ast::{Expr as Ast, ExprAttribute, ExprName};
use ruff_text_size::{Ranged, TextRange};

use super::placeholder;
use crate::context::Context;
use crate::options::FrameName;
use crate::rules::{attributes, imports, names, text};
use crate::tables::{self, BuiltinType, ExceptionName, Member, MemberKind, Module};
use crate::tree::{Expr, ExprKind, Imported, MemberRef, Span};

/// A dotted name as it is written.
pub(super) struct Dotted<'e> {
    pub(super) root: &'e str,
    pub(super) root_range: TextRange,
    pub(super) attributes: Vec<&'e str>,
}

/// Returns the dotted name that an expression is, if it is one.
pub(super) fn dotted(expr: &Ast) -> Option<Dotted<'_>> {
    match expr {
        Ast::Name(name) => Some(Dotted {
            root: &name.id,
            root_range: name.range(),
            attributes: Vec::new(),
        }),
        Ast::Attribute(attribute) => dotted_attribute(attribute),
        _ => None,
    }
}

/// Returns the dotted name that an attribute is, if it is one.
pub(super) fn dotted_attribute(attribute: &ExprAttribute) -> Option<Dotted<'_>> {
    let mut dotted = dotted(&attribute.value)?;
    dotted.attributes.push(&attribute.attr);
    Some(dotted)
}

/// What the root of a dotted name stands for.
enum Root {
    Module(Module),
    /// The package above a listed module, `urllib`.
    Package(Module),
    Member(&'static Member),
}

fn root(cx: &Context<'_>, name: &str) -> Option<Root> {
    if cx.is_local(name) {
        return None;
    }
    match cx.imports.get(name) {
        Some(Imported::Module(module)) => return Some(Root::Module(*module)),
        Some(Imported::Package(module)) => return Some(Root::Package(*module)),
        Some(Imported::Member(member)) => return Some(Root::Member(member)),
        None => {}
    }
    match cx.options.names.get(name) {
        Some(FrameName::Value | FrameName::Foreign) => return None,
        Some(FrameName::Module(module)) => return Some(Root::Module(*module)),
        Some(FrameName::Member(member)) => return Some(Root::Member(member)),
        None => {}
    }
    if name == "urllib" {
        return Some(Root::Package(Module::UrllibParse));
    }
    Module::from_name(name).map(Root::Module)
}

/// What a dotted name stands for, where its root is a listed module or member.
pub(super) enum Resolved {
    /// A listed member, and how many attributes name it; the others are read from it.
    Member(MemberRef, usize),
    /// A module itself, or a path in it that is not listed.
    Unlisted(Module, String),
}

/// Resolves a dotted name; nothing where it belongs to the program.
pub(super) fn resolve(cx: &Context<'_>, dotted: &Dotted<'_>, span: Span) -> Option<Resolved> {
    let (module, prefix, n_skipped) = match root(cx, dotted.root)? {
        Root::Module(module) => (module, String::new(), 0),
        Root::Package(module) => {
            let rest = module.name().split_once('.').map_or("", |(_, rest)| rest);
            if dotted.attributes.first() != Some(&rest) {
                return Some(Resolved::Unlisted(module, dotted.attributes.join(".")));
            }
            (module, String::new(), 1)
        }
        Root::Member(member) => (member.module, member.path.to_owned(), 0),
    };
    let attributes = &dotted.attributes[n_skipped..];
    let path = |n_attributes: usize| {
        let parts = (!prefix.is_empty()).then_some(prefix.as_str()).into_iter();
        parts
            .chain(attributes[..n_attributes].iter().copied())
            .collect::<Vec<_>>()
            .join(".")
    };
    for n_attributes in (0..=attributes.len()).rev() {
        let Some(member) = tables::member(module, &path(n_attributes)) else {
            continue;
        };
        // What a class or function has beyond its listed members is out of reach.
        if n_attributes < attributes.len() && member.kind != MemberKind::Constant {
            break;
        }
        let n_used = n_skipped + n_attributes;
        let reference = MemberRef {
            span,
            root: dotted.root.to_owned(),
            attributes: dotted.attributes[..n_used]
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            member,
        };
        return Some(Resolved::Member(reference, n_used));
    }
    Some(Resolved::Unlisted(module, path(attributes.len())))
}

/// Checks the letters of an identifier, and that the parser did not change them.
pub(super) fn check_identifier(cx: &mut Context<'_>, range: TextRange, name: &str) {
    let written = cx.text(range);
    let is_known = written == name && cx.options.names.contains_key(name);
    if !written.is_ascii() && !is_known {
        let span = cx.span(range);
        cx.report(
            &text::IDENTIFIER,
            span,
            format!("the identifier `{written}` is not ASCII, and the frame has no such name"),
            "use ASCII letters, digits and underscores",
        );
    }
}

/// Lowers a name that is read.
pub(super) fn name(cx: &mut Context<'_>, name: &ExprName) -> Expr {
    let span = cx.span(name.range());
    check_identifier(cx, name.range(), &name.id);
    let id = name.id.as_str();
    let is_free = !names::is_variable(cx, id);
    let kind = if is_free && let Some(of) = BuiltinType::from_name(id) {
        ExprKind::Type(of)
    } else if is_free && let Some(exception) = ExceptionName::from_name(id) {
        ExprKind::Exception(exception)
    } else if is_free
        && let Some(resolved) = resolve(
            cx,
            &Dotted {
                root: id,
                root_range: name.range(),
                attributes: Vec::new(),
            },
            span,
        )
    {
        return member(cx, resolved, span);
    } else if names::check_read(cx, id, span) {
        ExprKind::Name(id.to_owned())
    } else {
        return placeholder(span);
    };
    Expr { span, kind }
}

/// Lowers a member that is read as a value.
fn member(cx: &mut Context<'_>, resolved: Resolved, span: Span) -> Expr {
    match resolved {
        Resolved::Member(reference, _)
            if !matches!(reference.member.kind, MemberKind::Function | MemberKind::Consumer) =>
        {
            Expr {
                span,
                kind: ExprKind::Member(reference),
            }
        }
        Resolved::Member(reference, _) => {
            report_value(cx, &format!("the function `{}`", reference.member.path), span);
            placeholder(span)
        }
        Resolved::Unlisted(module, _) => {
            report_value(cx, &format!("the module `{}`", module.name()), span);
            placeholder(span)
        }
    }
}

fn report_value(cx: &mut Context<'_>, what: &str, span: Span) {
    cx.report(
        &names::MODULE_VALUE,
        span,
        format!("{what} is used as a value"),
        "call a listed function where it stands: `module.function(…)`",
    );
}

/// Lowers an attribute that is read.
pub(super) fn attribute(cx: &mut Context<'_>, attribute: &ExprAttribute) -> Expr {
    let span = cx.span(attribute.range());
    check_attribute(cx, attribute);
    let name = attribute.attr.as_str();
    if let Some(dotted) = dotted_attribute(attribute) {
        let root_span = cx.span(dotted.root_range);
        if let Some(resolved) = resolve(cx, &dotted, span) {
            return member_path(cx, &dotted, resolved, attribute.range());
        }
        if dotted.attributes.len() == 1 {
            names::check_root(cx, dotted.root, root_span);
            if is_builtin_class(cx, dotted.root) {
                attributes::report_class(cx, name, span);
                return placeholder(span);
            }
            if cx.caught.iter().any(|caught| caught == dotted.root) {
                let name_span = cx.span(attribute.attr.range());
                attributes::check_exception(cx, name, name_span);
            }
        }
    }
    attributes::check_read(cx, name, span);
    let value = super::expr(cx, &attribute.value);
    Expr {
        span,
        kind: ExprKind::Attribute {
            value: Box::new(value),
            name: name.to_owned(),
        },
    }
}

/// Lowers a path that begins at a listed module or member.
fn member_path(cx: &mut Context<'_>, dotted: &Dotted<'_>, resolved: Resolved, range: TextRange) -> Expr {
    let span = cx.span(range);
    match resolved {
        Resolved::Unlisted(module, path) => {
            super::imports::report_member(cx, range, module.name(), &path);
            placeholder(span)
        }
        Resolved::Member(reference, n_used) => {
            let mut value = member(cx, Resolved::Member(reference, n_used), span);
            for (position, name) in dotted.attributes.iter().enumerate().skip(n_used) {
                if position + 1 < dotted.attributes.len() {
                    attributes::check_name(cx, name, span);
                }
                attributes::check_read(cx, name, span);
                value = Expr {
                    span,
                    kind: ExprKind::Attribute {
                        value: Box::new(value),
                        name: (*name).to_owned(),
                    },
                };
            }
            value
        }
    }
}

/// Checks the name of an attribute.
pub(super) fn check_attribute(cx: &mut Context<'_>, attribute: &ExprAttribute) {
    let span = cx.span(attribute.attr.range());
    check_identifier(cx, attribute.attr.range(), &attribute.attr);
    attributes::check_name(cx, &attribute.attr, span);
}

fn is_builtin_class(cx: &Context<'_>, name: &str) -> bool {
    !names::is_variable(cx, name)
        && (BuiltinType::from_name(name).is_some() || ExceptionName::from_name(name).is_some())
}

/// Notes a store on a module or a builtin type; says whether it is one.
pub(super) fn check_store(cx: &mut Context<'_>, object: &Ast, span: Span) -> bool {
    let Some(dotted) = dotted(object) else {
        return false;
    };
    let is_type = dotted.attributes.is_empty() && is_builtin_class(cx, dotted.root);
    let is_store = is_type || resolve(cx, &dotted, span).is_some();
    if is_store {
        cx.report(
            &imports::MODULE_STORE,
            span,
            format!("an attribute of `{}` is set", dotted.root),
            "change the values of the program, not modules or builtin types",
        );
    }
    is_store
}
