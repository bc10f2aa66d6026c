//! CPython's tables of exceptions and locations, on tables that CPython itself has made.

#[path = "../src/exception_table.rs"]
mod exception_table;
#[path = "../src/location_table.rs"]
mod location_table;

use std::process::Command;

use exception_table::{covering, read};
use location_table::{only_at, without_line};

/// Compiles the code in CPython and returns what an expression over its code object `code` gives, as JSON.
fn python(source: &str, expression: &str) -> serde_json::Value {
    let program = format!(
        "import dis, json\ncode = next(c for c in compile({source:?}, 'f.py', 'exec').co_consts if hasattr(c, 'co_code'))\n\
         print(json.dumps({expression}))"
    );
    let output = Command::new("python3")
        .args(["-c", &program])
        .output()
        .expect("python3 is there");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn bytes(value: &serde_json::Value) -> Vec<u8> {
    let numbers = value.as_array().expect("a list");
    numbers
        .iter()
        .map(|number| {
            number
                .as_u64()
                .and_then(|number| u8::try_from(number).ok())
                .expect("a byte")
        })
        .collect()
}

const SOURCE: &str = "\
def f(a, b):
    for x in a:
        with b as c:
            y = c(x,
                  a)
        try:
            z = y
        except KeyError:
            z = 1
        finally:
            print(z)
    return [q for q in a]
";

#[test]
fn regions_are_those_that_dis_shows() {
    let answer = python(
        SOURCE,
        "[list(code.co_exceptiontable), [[e.start, e.end, e.target, e.depth] for e in dis._parse_exception_table(code)]]",
    );
    let regions = read(&bytes(&answer[0]));
    let found: Vec<[u32; 4]> = regions
        .iter()
        .map(|region| [region.start, region.end, region.target, region.depth])
        .collect();
    assert_eq!(serde_json::json!(found), answer[1]);
    assert!(found.len() > 5);
    let second = regions[1];
    assert_eq!(covering(&regions, second.start), Some(&second));
    assert_eq!(covering(&regions, second.end - 2), Some(&second));
    assert_eq!(covering(&regions, 1_000_000), None);
}

#[test]
fn a_torn_exception_table_gives_what_is_whole() {
    let table = bytes(&python(SOURCE, "list(code.co_exceptiontable)"));
    let whole = read(&table);
    for length in 0..table.len() {
        assert!(whole.starts_with(&read(&table[..length])));
    }
}

/// The positions that CPython reads out of a location table in place of the code's own.
fn positions(table: &[u8]) -> serde_json::Value {
    python(
        SOURCE,
        &format!("[list(p) for p in code.replace(co_linetable=bytes({table:?})).co_positions()]"),
    )
}

#[test]
fn without_a_line_only_that_line_is_gone() {
    let answer = python(
        SOURCE,
        "[list(code.co_linetable), [list(p) for p in code.co_positions()]]",
    );
    for line in [1, 2, 4, 5, 8, 11] {
        let table = without_line(&bytes(&answer[0]), 1, line).expect("CPython's table is whole");
        let expected: Vec<serde_json::Value> = answer[1]
            .as_array()
            .expect("a list")
            .iter()
            .map(|position| {
                if position[0] == line {
                    serde_json::json!([null, null, null, null])
                } else {
                    position.clone()
                }
            })
            .collect();
        assert_eq!(
            positions(&table),
            serde_json::json!(expected),
            "without line {line}"
        );
    }
}

#[test]
fn a_torn_location_table_is_none() {
    assert_eq!(without_line(&[0x80 | (14 << 3)], 1, 1), None);
    assert_eq!(without_line(&[0x80], 1, 1), None);
}

#[test]
fn only_one_instruction_keeps_a_line() {
    let n_units = bytes(&python(SOURCE, "list(code.co_code)")).len() / 2;
    for target in [0, 1, 7, 8, 9, n_units - 1] {
        let lines = positions(&only_at(target, n_units));
        let lines: Vec<bool> = lines
            .as_array()
            .expect("a list")
            .iter()
            .map(|place| place[0] == 1)
            .collect();
        let expected: Vec<bool> = (0..n_units).map(|unit| unit == target).collect();
        assert_eq!(lines, expected, "only unit {target}");
    }
}
