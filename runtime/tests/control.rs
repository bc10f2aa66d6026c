//! Where a jump may go, from the source of a function alone.

#[path = "../src/control.rs"]
mod control;

use control::{Control, Next};

const SHOP: &str = "\
def total(rows):
    out = 0
    for row in rows:
        with open(row) as file:
            text = file.read()
            out += int(
                text
            )
        out += 1; out += 2
    else:
        out = -1
    while out < 0:
        try:
            out = parse(out)
        except ValueError as error:
            out = fallback(error)
        finally:
            log(out)
    if out:
        return out
    elif rows:
        out = 2
";

/// Says what follows the statement at a line, and whether a jump may go from it to another.
fn check(from: u32, to: u32, expect: &str) {
    let control = Control::read(SHOP, "total", 1).expect("the function is there");
    let statement = control
        .statement_at(SHOP, from, None)
        .expect("a statement is there");
    let jump = match control.jump(statement, to) {
        Ok(jump) if jump.leaves_with.is_empty() => "yes".to_owned(),
        Ok(jump) => format!("leaves the with of {:?}", jump.leaves_with),
        Err(no_jump) => no_jump.message,
    };
    assert_eq!(jump, expect, "from {from} to {to}");
}

fn next_of(line: u32, column: Option<u32>) -> Next {
    let control = Control::read(SHOP, "total", 1).expect("the function is there");
    control
        .statement_at(SHOP, line, column)
        .expect("a statement is there")
        .next
}

#[test]
fn the_same_block_can_be_jumped_to() {
    check(6, 5, "yes");
    check(2, 12, "yes");
}

#[test]
fn a_block_that_runs_can_be_left() {
    check(9, 2, "yes");
    check(16, 19, "yes");
}

#[test]
fn a_with_block_is_left_without_its_exit() {
    check(6, 9, "leaves the with of [4]");
    check(6, 4, "leaves the with of [4]");
}

#[test]
fn a_block_cannot_be_entered() {
    check(2, 9, "a jump cannot enter the `for` loop at line 3 from outside");
    check(
        9,
        5,
        "a jump cannot enter the `with` block at line 4 from outside",
    );
    check(
        14,
        16,
        "a jump cannot enter the `except` or `finally` block at line 15 from outside",
    );
}

#[test]
fn the_body_of_a_try_or_while_keeps_nothing_on_the_stack() {
    check(2, 14, "yes");
    check(16, 14, "yes");
}

#[test]
fn a_line_in_the_middle_of_a_statement_is_no_target() {
    check(5, 7, "no statement of this function starts at line 7");
}

#[test]
fn what_follows_a_statement() {
    assert_eq!(next_of(2, None), Next::Line(3));
    assert_eq!(next_of(7, None), Next::EndOfWith(4));
    assert_eq!(next_of(9, Some(20)), Next::Loop(3));
    assert_eq!(next_of(11, None), Next::Line(12));
    assert_eq!(next_of(14, None), Next::Finally(18));
    assert_eq!(next_of(16, None), Next::Finally(18));
    assert_eq!(next_of(18, None), Next::Loop(12));
    assert_eq!(next_of(22, None), Next::End);
}

#[test]
fn two_statements_on_a_line_are_told_apart_by_column() {
    assert_eq!(next_of(9, Some(8)), Next::Line(9));
}

#[test]
fn the_last_statement_of_a_loop_ends_its_round() {
    let control = Control::read(SHOP, "total", 1).expect("the function is there");
    let last = control.last_of_loop(12).expect("the loop has statements");
    assert_eq!((last.line, last.end_line), (13, 18));
}

#[test]
fn a_scope_is_found_by_its_first_line() {
    let source =
        "class A:\n    @property\n    def x(self):\n        return 1\n    def y(self):\n        return 2\n";
    let control = Control::read(source, "x", 2).expect("decorators count");
    assert_eq!(control.starting_at(4).map(|statement| statement.line), Some(4));
    assert!(Control::read(source, "x", 5).is_none());
    assert!(Control::read(source, "<module>", 1).is_some());
    assert!(Control::read("def broken(:\n", "broken", 1).is_none());
}

#[test]
fn statements_around_one_are_counted() {
    let control = Control::read(SHOP, "total", 1).expect("the function is there");
    let n_around = |line, header| {
        let statement = control
            .statement_at(SHOP, line, None)
            .expect("a statement is there");
        control.n_around(statement, header)
    };
    assert_eq!(n_around(5, 3), (2, 1), "the `for`, and within it the `with`");
    assert_eq!(n_around(14, 12), (2, 1), "the `while`, and within it the `try`");
    assert_eq!(n_around(2, 1), (0, 0));
}
