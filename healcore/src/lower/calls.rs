//! Calls: what is called is classified here.

use ruff_python_ast::{Expr as Ast, ExprAttribute, ExprCall, ExprName};
use ruff_text_size::Ranged;

use super::arguments::{self, Functions};
use super::names;
use crate::context::Context;
use crate::options::ProgramCalls;
use crate::rules::{self, calls as rules_of_calls, formats, imports, names as name_rules, regex};
use crate::tables::{
    self, Builtin, BuiltinType, ExceptionName, MemberKind, MethodName, Module, REFUSED_EXCEPTIONS, Shape,
};
use crate::toolkit::{NAMESPACE, Tool};
use crate::tree::{Call, Callee, Constant, Expr, ExprKind, MemberRef, Path, Span};

/// Lowers a call; nothing where its callee is refused.
pub(super) fn call(cx: &mut Context<'_>, node: &ExprCall) -> Option<Call> {
    cx.count(node);
    let span = cx.span(node.range());
    let callee = match &*node.func {
        Ast::Name(name) => name_callee(cx, name),
        Ast::Attribute(attribute) => attribute_callee(cx, attribute),
        other => {
            computed(cx, other);
            None
        }
    };
    let Some(callee) = callee else {
        // The arguments are looked at all the same, for their own violations.
        arguments::lower(cx, node, &Functions::default());
        return None;
    };
    let functions = functions(&callee);
    let (args, keywords) = arguments::lower(cx, node, &functions);
    let call = Call {
        span,
        callee,
        args,
        keywords,
    };
    check(cx, &call);
    Some(call)
}

fn computed(cx: &mut Context<'_>, callee: &Ast) {
    let span = cx.span(callee.range());
    cx.report(
        &rules_of_calls::COMPUTED_CALLEE,
        span,
        "the callee is computed",
        "call a function or method by its name",
    );
    if !matches!(callee, Ast::Lambda(_)) {
        super::expr(cx, callee);
    }
}

fn name_callee(cx: &mut Context<'_>, name: &ExprName) -> Option<Callee> {
    let span = cx.span(name.range());
    let id = name.id.as_str();
    names::check_identifier(cx, name.range(), id);
    if !name_rules::is_variable(cx, id) {
        if let Some(builtin) = Builtin::from_name(id) {
            return Some(Callee::Builtin(builtin));
        }
        // Calls never see what the heal itself binds to such a name.
        if !name_rules::check_forbidden(cx, id, span) {
            return None;
        }
        let dotted = names::Dotted {
            root: id,
            root_range: name.range(),
            attributes: Vec::new(),
        };
        if let Some(resolved) = names::resolve(cx, &dotted, span) {
            return member_callee(cx, resolved, span);
        }
    }
    if id.starts_with("__") || REFUSED_EXCEPTIONS.contains(&id) {
        name_rules::check_read(cx, id, span);
        return None;
    }
    if ExceptionName::from_name(id).is_some() && !name_rules::is_variable(cx, id) {
        return report_uncallable(cx, id, span);
    }
    if cx.options.program_calls == ProgramCalls::Allow && (cx.is_local(id) || cx.bound.contains(id)) {
        cx.report(
            &rules_of_calls::COMPUTED_CALLEE,
            span,
            format!("`{id}` is bound by the code itself and then called"),
            "call the function of the program by its own name",
        );
        return None;
    }
    program(
        cx,
        Path {
            span,
            root: id.to_owned(),
            attributes: Vec::new(),
        },
    )
}

fn attribute_callee(cx: &mut Context<'_>, attribute: &ExprAttribute) -> Option<Callee> {
    let span = cx.span(attribute.range());
    let name = attribute.attr.as_str();
    let n_violations = cx.violations.len();
    names::check_attribute(cx, attribute);
    let dotted = names::dotted_attribute(attribute);
    if let Some(dotted) = &dotted {
        let root_span = cx.span(dotted.root_range);
        let is_free = !name_rules::is_variable(cx, dotted.root);
        if is_free && dotted.attributes.len() == 1 {
            if let Some(of) = BuiltinType::from_name(dotted.root) {
                return type_method(cx, of, name, span, n_violations);
            }
            name_rules::check_root(cx, dotted.root, root_span);
        }
        if dotted.attributes.len() == 1 && is_toolkit(cx, dotted.root) {
            return toolkit(cx, name, span);
        }
        match names::resolve(cx, dotted, span) {
            Some(resolved @ names::Resolved::Member(_, _)) => {
                if let names::Resolved::Member(reference, n_used) = &resolved
                    && *n_used < dotted.attributes.len()
                {
                    return constant_method(cx, attribute, reference, *n_used, dotted.attributes.len());
                }
                return member_callee(cx, resolved, span);
            }
            Some(names::Resolved::Unlisted(module, path)) => {
                super::imports::report_member(cx, attribute.range(), module.name(), &path);
                return None;
            }
            None => {}
        }
    }
    let is_refused = cx.violations.len() > n_violations;
    if let Some(method) = MethodName::from_name(name) {
        let receiver = Box::new(super::expr(cx, &attribute.value));
        return (!is_refused).then_some(Callee::Method { receiver, method });
    }
    let path = dotted.map(|dotted| Path {
        span,
        root: dotted.root.to_owned(),
        attributes: dotted.attributes.iter().map(|name| (*name).to_owned()).collect(),
    });
    super::expr(cx, &attribute.value);
    if cx.violations.len() > n_violations {
        return None;
    }
    match path {
        Some(path) if cx.options.program_calls == ProgramCalls::Allow => program(cx, path),
        _ => {
            let span = cx.span(attribute.attr.range());
            cx.report(
                &rules_of_calls::UNLISTED_METHOD,
                span,
                format!("the method `{name}` is not listed"),
                method_help(name),
            );
            None
        }
    }
}

/// Whether a name stands for the toolkit: neither the frame nor the code has it.
fn is_toolkit(cx: &Context<'_>, name: &str) -> bool {
    name == NAMESPACE
        && !cx.is_local(name)
        && !cx.bound.contains(name)
        && !cx.imports.contains_key(name)
        && !cx.options.names.contains_key(name)
}

fn toolkit(cx: &mut Context<'_>, name: &str, span: Span) -> Option<Callee> {
    let tool = Tool::from_name(name);
    if tool.is_none() && cx.options.toolkit.contains(name) {
        return Some(Callee::Program(Path {
            span,
            root: NAMESPACE.to_owned(),
            attributes: vec![name.to_owned()],
        }));
    }
    if tool.is_none() {
        let known = Tool::ALL.iter().map(|tool| tool.name());
        let known: Vec<&str> = known
            .chain(cx.options.toolkit.iter().map(String::as_str))
            .collect();
        cx.report(
            &rules_of_calls::TOOLKIT,
            span,
            format!("the toolkit has no `{name}`"),
            format!("it has {}", known.join(", ")),
        );
    }
    tool.map(Callee::Toolkit)
}

fn method_help(name: &str) -> &'static str {
    match name {
        "translate" => "use `replace`",
        "now" | "today" | "strptime" => "import the class: `from datetime import datetime`",
        "sort_values" | "fillna" | "astype" => "change the values one by one, or skip the statement",
        _ => {
            "set the values that the method would set; methods of str, list, dict, set, datetime, … may be called"
        }
    }
}

/// A method of a constant of a module: `string.digits.index('1')`.
fn constant_method(
    cx: &mut Context<'_>,
    attribute: &ExprAttribute,
    reference: &MemberRef,
    n_used: usize,
    n_attributes: usize,
) -> Option<Callee> {
    let span = cx.span(attribute.attr.range());
    let method = MethodName::from_name(&attribute.attr)
        .filter(|_| reference.member.kind == MemberKind::Constant && n_used + 1 == n_attributes);
    let receiver = super::expr(cx, &attribute.value);
    match method {
        Some(method) => Some(Callee::Method {
            receiver: Box::new(receiver),
            method,
        }),
        None => {
            cx.report(
                &rules_of_calls::UNLISTED_METHOD,
                span,
                format!("the method `{}` is not listed", attribute.attr),
                "call a listed function of the module",
            );
            None
        }
    }
}

fn member_callee(cx: &mut Context<'_>, resolved: names::Resolved, span: Span) -> Option<Callee> {
    match resolved {
        names::Resolved::Member(reference, _)
            if !matches!(
                reference.member.kind,
                MemberKind::Constant | MemberKind::Exception
            ) =>
        {
            // The classes of `re` are for `isinstance` only.
            let is_class_of_re =
                reference.member.module == Module::Re && reference.member.kind == MemberKind::Class;
            if !is_class_of_re {
                return Some(Callee::Member(reference));
            }
            report_uncallable(cx, reference.member.path, span)
        }
        names::Resolved::Member(reference, _) => report_uncallable(cx, reference.member.path, span),
        names::Resolved::Unlisted(module, _) => report_uncallable(cx, module.name(), span),
    }
}

fn report_uncallable(cx: &mut Context<'_>, path: &str, span: Span) -> Option<Callee> {
    cx.report(
        &imports::UNLISTED_MEMBER,
        span,
        format!("`{path}` may not be called"),
        "call a listed function; exceptions are called in `raise` only",
    );
    None
}

fn type_method(
    cx: &mut Context<'_>,
    of: BuiltinType,
    name: &str,
    span: Span,
    n_violations: usize,
) -> Option<Callee> {
    if cx.violations.len() > n_violations {
        return None;
    }
    let is_class_method = tables::TYPE_METHODS
        .iter()
        .any(|(listed, methods)| *listed == of && methods.contains(&name));
    let method =
        MethodName::from_name(name).filter(|_| is_class_method || tables::is_element_method(of, name));
    if method.is_none() {
        cx.report(
            &rules_of_calls::UNLISTED_METHOD,
            span,
            format!("`{}.{name}` is not listed", of.name()),
            format!("call the method on the value: `x.{name}(…)`"),
        );
    }
    method.map(|method| Callee::TypeMethod { of, method })
}

fn program(cx: &mut Context<'_>, path: Path) -> Option<Callee> {
    let is_fault = path
        .attributes
        .iter()
        .any(|name| tables::attribute_fault(name).is_some());
    if is_fault {
        return None;
    }
    if cx.options.program_calls == ProgramCalls::Refuse {
        let name = std::iter::once(&path.root)
            .chain(&path.attributes)
            .cloned()
            .collect::<Vec<_>>()
            .join(".");
        let home = tables::MODULES
            .iter()
            .find(|table| table.members.iter().any(|member| member.path == name));
        let help = match home {
            Some(table) => format!("import it first: `from {} import {name}`", table.module.name()),
            None => "compute the value with builtins and listed methods, or set it directly".to_owned(),
        };
        cx.report(
            &rules_of_calls::PROGRAM_CALL,
            path.span,
            format!("`{name}` is a function of the program"),
            help,
        );
        return None;
    }
    if cx.n_lambdas > 0 {
        cx.report(
            &rules::expressions::LAMBDA,
            path.span,
            "a lambda calls a function of the program",
            "compute the key from the value itself",
        );
        return None;
    }
    Some(Callee::Program(path))
}

/// Says which arguments of a callee are functions, and whether it consumes generators.
fn functions(callee: &Callee) -> Functions {
    match callee {
        Callee::Builtin(builtin) => Functions {
            positions: if matches!(builtin, Builtin::Map | Builtin::Filter) {
                &[0]
            } else {
                &[]
            },
            keywords: if matches!(builtin, Builtin::Max | Builtin::Min | Builtin::Sorted) {
                &["key"]
            } else {
                &[]
            },
            is_consumer: tables::CONSUMING_BUILTINS.contains(builtin),
        },
        Callee::Method { method, .. } | Callee::TypeMethod { method, .. } => Functions {
            positions: &[],
            keywords: if method.name() == "sort" { &["key"] } else { &[] },
            is_consumer: tables::CONSUMING_METHODS.contains(&method.name()),
        },
        Callee::Member(reference) => Functions {
            positions: tables::function_positions(reference.member),
            keywords: match (reference.member.module, reference.member.path) {
                (Module::Json, "dumps") => &["default"],
                (Module::Json, "loads") => &["parse_float", "parse_int"],
                (Module::Bisect, _) | (Module::Itertools, "groupby") => &["key"],
                (Module::Itertools, "accumulate") => &["func"],
                _ => &[],
            },
            is_consumer: matches!(
                reference.member.kind,
                MemberKind::Consumer | MemberKind::Container
            ),
        },
        Callee::Toolkit(_) | Callee::Program(_) => Functions::default(),
    }
}

fn check(cx: &mut Context<'_>, call: &Call) {
    match &call.callee {
        Callee::Builtin(builtin) => check_builtin(cx, call, *builtin),
        Callee::TypeMethod { method, .. } => {
            rules_of_calls::check_keywords(cx, call, method.name(), tables::method_keywords(method.name()));
            check_no_star(cx, call, method.name());
        }
        Callee::Method { receiver, method } => check_method(cx, call, receiver, method.name()),
        Callee::Member(reference) => {
            rules_of_calls::check_shape(
                cx,
                call,
                reference.member.path,
                tables::member_shape(reference.member),
            );
            regex::check_call(cx, call, reference.member);
            if reference.member.module == Module::UrllibParse {
                // The keywords alone name codecs; their positions are beyond the allowed ones.
                formats::check_codec(cx, call, usize::MAX - 1);
            }
        }
        Callee::Toolkit(tool) => {
            let name = format!("{NAMESPACE}.{}", tool.name());
            rules_of_calls::check_shape(cx, call, &name, tool.shape());
        }
        Callee::Program(_) => {}
    }
}

fn check_builtin(cx: &mut Context<'_>, call: &Call, builtin: Builtin) {
    rules_of_calls::check_shape(cx, call, builtin.name(), tables::builtin_shape(builtin));
    match builtin {
        Builtin::Getattr | Builtin::Hasattr => rules_of_calls::check_attribute_argument(cx, call, builtin),
        Builtin::Bytes | Builtin::Bytearray | Builtin::Str => formats::check_codec(cx, call, 1),
        Builtin::Format => match formats::argument(call, 1, "format_spec").map(|spec| &spec.kind) {
            Some(ExprKind::Constant(Constant::Str(spec))) => formats::check_spec(cx, spec, call.span),
            Some(_) => formats::report_template(cx, call.span, "the format spec is not a literal"),
            None => {}
        },
        _ => {}
    }
}

fn check_method(cx: &mut Context<'_>, call: &Call, receiver: &Expr, method: &str) {
    rules_of_calls::check_keywords(cx, call, method, tables::method_keywords(method));
    match method {
        "decode" | "encode" => formats::check_codec(cx, call, 0),
        "sub" | "subn" => regex::check_replacement(cx, call, 0),
        "format" => match &receiver.kind {
            ExprKind::Constant(Constant::Str(template)) => {
                formats::check_template(cx, template, receiver.span);
            }
            _ => formats::report_template(cx, receiver.span, "the template is not a literal"),
        },
        _ => {}
    }
    if !matches!(
        method,
        "difference" | "format" | "intersection" | "union" | "update"
    ) {
        check_no_star(cx, call, method);
    }
}

fn check_no_star(cx: &mut Context<'_>, call: &Call, method: &str) {
    let shape = Shape {
        min: 0,
        max: 8,
        keywords: &["*"],
        star: false,
    };
    rules_of_calls::check_shape(cx, call, method, shape);
}
