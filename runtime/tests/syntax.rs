//! The failing statement: extent, names, loads and calls, from source and a position.

#[path = "../src/render/place.rs"]
mod place;
#[path = "../src/render/syntax.rs"]
mod syntax;

use place::Place;
use syntax::{Failing, Position};

/// The failing expression stands between `«` and `»`.
fn failing(marked: &str) -> Failing {
    let start = marked.find('«').expect("a mark");
    let end = marked.find('»').expect("a mark") - '«'.len_utf8();
    let source = marked.replace(['«', '»'], "");
    let line_and_column = |offset: usize| {
        let before = &source[..offset];
        (
            before.matches('\n').count() as u32 + 1,
            (offset - before.rfind('\n').map_or(0, |at| at + 1)) as u32,
        )
    };
    let (line, column) = line_and_column(start);
    let (end_line, end_column) = line_and_column(end);
    syntax::failing(
        &source,
        line,
        Some(Position {
            line,
            end_line,
            column,
            end_column,
        }),
    )
}

fn check_calls(marked: &str, expect: &[&str]) {
    assert_eq!(failing(marked).calls, expect, "{marked}");
}

fn check_lines(marked: &str, expect: (u32, u32)) {
    let failing = failing(marked);
    assert_eq!((failing.first_line, failing.last_line), expect, "{marked}");
}

fn check_reads(marked: &str, names: &[&str], loads: &[&str]) {
    let failing = failing(marked);
    assert_eq!(failing.names, names, "{marked}");
    let found: Vec<String> = failing.loads.iter().map(|(text, _)| text.clone()).collect();
    assert_eq!(found, loads, "{marked}");
}

fn check_place(text: &str, expect: Option<&str>) {
    assert_eq!(
        Place::parse(text).map(|place| place.to_string()).as_deref(),
        expect,
        "{text}"
    );
}

#[test]
fn operands_have_run_and_what_comes_after_has_not() {
    check_calls("x = «total // len(rows)» + later()", &["len(rows)"]);
    check_calls("x = f(a()) + «g(b())» + h()", &["a()", "f(a())", "b()"]);
    check_calls("«raise_it(a())»", &["a()"]);
    check_calls("f(x=a(), *b())[«d()»]", &["b()", "a()", "f(x=a(), *b())"]);
}

#[test]
fn a_value_is_evaluated_before_its_target() {
    check_calls("x[«f()»] = g()", &["g()"]);
    check_calls("«x[f()]» = g()", &["g()", "f()"]);
    check_calls("x[a()] += «b()»", &["a()"]);
}

#[test]
fn branches_may_not_have_run() {
    check_calls("«(a() or b()) + 1»", &["a()", "b() (if reached)"]);
    check_calls("a() and b() and «c()»", &["a()", "b()"]);
    check_calls("a() if t() else «b()»", &["t()"]);
    check_calls(
        "«(a() if t() else b()) + 1»",
        &["t()", "a() (if reached)", "b() (if reached)"],
    );
    check_calls("«sorted(load(), key=lambda r: r.x())»", &["load()"]);
    check_calls(
        "«sum(f(x) for x in load())»",
        &["load() (if reached)", "f(x) (if reached)"],
    );
}

#[test]
fn a_lambda_and_a_generator_have_frames_of_their_own() {
    check_calls("f(load(), key=lambda r: g(r).«x»)", &["g(r)"]);
    check_calls("sum(f(x) + «x.y» for x in load() if ok(x))", &["ok(x)", "f(x)"]);
    check_calls("sum(x for x in a(«load()»))", &[]);
}

#[test]
fn a_statement_that_fails_as_a_whole_has_run_its_calls() {
    check_calls("«raise Error(f()) from g()»", &["f()", "Error(f())", "g()"]);
    check_calls("«a, b» = f()", &["f()"]);
}

#[test]
fn a_method_call_over_lines_starts_at_the_method() {
    check_calls("x = (a()\n   .«b(c())»)", &["a()", "c()"]);
}

#[test]
fn the_extent_is_the_statement_or_the_header_that_failed() {
    check_lines("x = 1\ny = f(\n    a,\n    «b.c»,\n)\nz = 2", (2, 5));
    check_lines(
        "def f():\n    if «a.b» > 1:\n        pass\n    elif c:\n        pass",
        (2, 2),
    );
    check_lines(
        "def f():\n    if a:\n        pass\n    elif (c and\n          «d()»):\n        pass",
        (4, 5),
    );
    check_lines("for x in «f()»:\n    g()\nelse:\n    h()", (1, 1));
    check_lines("try:\n    a\nexcept «E.x»:\n    b", (3, 3));
    check_lines("@«deco(1)»\ndef f(a=2):\n    pass", (1, 2));
    check_lines("with a() as x, «b(\n  1)»:\n    pass", (1, 2));
    check_lines("class A:\n    def f(self):\n        return «self.x»\n", (3, 3));
}

#[test]
fn names_and_loads_in_order_without_methods() {
    check_reads(
        "total = order.lines[i].price * rates[\"eur\"] + «f(order.tax, order.name.upper())»",
        &["order", "i", "rates", "f"],
        &[
            "order.lines[i].price",
            "order.lines[i]",
            "order.lines",
            "rates[\"eur\"]",
            "order.tax",
            "order.name",
        ],
    );
    check_reads("«self.total» += x", &["self", "x"], &["self.total"]);
    check_reads("«n» += x", &["n", "x"], &[]);
    check_reads("y = «f»(1)", &["f"], &[]);
    check_reads("del cache[«key»]", &["cache", "key"], &[]);
}

#[test]
fn source_that_does_not_parse_gives_its_line() {
    let found = failing("x = (\n«a» + b2\n");
    assert_eq!((found.first_line, found.last_line), (2, 2));
    assert_eq!(found.names, ["a", "b2"]);
}

#[test]
fn places_are_loads_only() {
    check_place("order.lines[3].price", Some("order.lines[3].price"));
    check_place("cfg['key'][-1]", Some("cfg[\"key\"][-1]"));
    check_place("text[3000:3200]", Some("text[3000:3200]"));
    check_place("grid[1, 2]", Some("grid[1, 2]"));
    check_place("rows[i]", Some("rows[i]"));
    check_place("f()", None);
    check_place("a + b", None);
    check_place("a[::2]", None);
    check_place("a..b", None);
}
