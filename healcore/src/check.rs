//! The check of a heal, from text to tree.

use ruff_python_ast::{Mod, PythonVersion};
use ruff_python_parser::{Mode, ParseOptions, Parsed, parse_unchecked};
use ruff_text_size::Ranged;

use crate::context::Context;
use crate::lower;
use crate::options::Options;
use crate::rules::{loops, numbers, text};
use crate::tree::Program;
use crate::{Checked, CheckedExpression};

/// Checks a heal: gives its tree, or everything that is against it.
pub fn check(source: &str, options: &Options) -> Checked {
    let mut cx = Context::new(source, options);
    let mut program = Program::default();
    if text::check(&mut cx)
        && let Some(Mod::Module(module)) = parse(&mut cx, Mode::Module)
    {
        lower::collect(&mut cx, &module.body);
        program.body = lower::body(&mut cx, &module.body);
        if module.body.is_empty() && !options.allow_empty {
            cx.report_at(
                &text::EMPTY,
                0,
                "the code has no statement",
                "write a statement; `pass` goes on with the next one",
            );
        }
        numbers::check(&mut cx, &program);
        loops::check(&mut cx, &program);
    }
    let violations = cx.into_violations();
    Checked {
        program: violations.is_empty().then_some(program),
        violations,
    }
}

/// Checks a single expression, by the same rules.
pub fn check_expression(source: &str, options: &Options) -> CheckedExpression {
    let source = source.trim();
    let mut cx = Context::new(source, options);
    let mut expression = None;
    if text::check(&mut cx)
        && let Some(Mod::Expression(module)) = parse(&mut cx, Mode::Expression)
    {
        let lowered = lower::expr(&mut cx, &module.body);
        numbers::check_expr(&mut cx, &lowered);
        loops::check_expr(&mut cx, &lowered);
        expression = Some(lowered);
    }
    let violations = cx.into_violations();
    CheckedExpression {
        expression: expression.filter(|_| violations.is_empty()),
        violations,
    }
}

fn parse(cx: &mut Context<'_>, mode: Mode) -> Option<Mod> {
    let version = PythonVersion {
        major: 3,
        minor: cx.options.python_minor.0,
    };
    let parsed: Parsed<Mod> =
        parse_unchecked(cx.source, ParseOptions::from(mode).with_target_version(version));
    for error in parsed.errors() {
        cx.report_at(
            &text::SYNTAX,
            error.range().start().to_u32() as usize,
            format!("the code is not Python: {}", error.error),
            "send Python statements only, without Markdown and without prose",
        );
    }
    for error in parsed.unsupported_syntax_errors() {
        cx.report_at(
            &text::PYTHON_VERSION,
            error.range().start().to_u32() as usize,
            error.to_string(),
            "write it as older versions of Python do",
        );
    }
    parsed.errors().is_empty().then(|| parsed.into_syntax())
}
