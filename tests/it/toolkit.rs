//! The toolkit, the behaviours of heals, and the rules of running code, over real programs.

use serde_json::Value;

use crate::heal::{Heal, check, code, line, next, raise, retry, returns};
use crate::program::Program;
use crate::python::{Python, on_each};

const CRASH: &str = "value = {}['amount']\n";

/// The value that an expression of the toolkit gives.
#[track_caller]
fn gives(expression: &str, expect: &str) {
    let heal = format!("value = {expression}");
    check(
        &format!("{CRASH}print(repr(value))\n"),
        &[next(&heal)],
        &format!("{expect}\n"),
    );
}

#[test]
fn the_functions_of_the_toolkit() {
    gives(
        "[heal.clamp(7, 0, 5), heal.clamp(-1.5, 0, 5), heal.clamp(3, 0, 5)]",
        "[5, 0, 3]",
    );
    gives(
        "[heal.number('1,234.50'), heal.number('12%'), heal.number(True), heal.number('x', default=None)]",
        "[1234.5, 0.12, 1, None]",
    );
    gives(
        "[heal.default(int), heal.default(str), heal.default([1]), heal.default(None)]",
        "[0, '', [], None]",
    );
    gives(
        "[heal.pad([1], 3, 0), heal.pad((1, 2), 1), heal.pad('a', 3)]",
        "[[1, 0, 0], (1, 2), 'a  ']",
    );
    gives(
        "heal.date('3 March 2024 14:05+01:00').isoformat()",
        "'2024-03-03T14:05:00+01:00'",
    );
    // What they cannot do can be caught.
    check(
        &format!("{CRASH}print(value)\n"),
        &[next(
            "try:\n    value = heal.date('03/04/2024')\nexcept ValueError:\n    value = 'two days'",
        )],
        "two days\n",
    );
}

#[test]
fn a_name_of_the_frame_wins_over_the_toolkit() {
    let main = "class Heal:\n    def clamp(self, value, low, high):\n        return 'own'\nheal = Heal()\n";
    check(
        &format!("{main}{CRASH}print(value)\n"),
        &[next("value = heal.clamp(1, 2, 3)")],
        "own\n",
    );
}

fn paused(python: &Python, files: &[(&str, &str)]) -> (Program, String) {
    let mut program = Program::of_files(python, files);
    program.start();
    let crash_id = program.wait_for_pause();
    (program, crash_id)
}

#[test]
fn a_value_is_saved_when_the_heal_is_resumed_and_over_no_other() {
    let main = "class Order:\n    def __init__(self):\n        self.lines = [1, 'a', None]\n    def __repr__(self):\n        \
                print('ran')\n        return ''\norder = Order()\n";
    on_each(|python| {
        let (mut program, crash_id) = paused(python, &[("main.py", &format!("{main}{CRASH}"))]);
        let heal = next("heal.save(order, '../order 1')\nheal.save({1: (2.5, b'x')}, '../order 1')");
        let answer = program.check(&crash_id, &heal);
        assert_eq!(
            answer["behaviours"],
            serde_json::json!(["skip-statement", "save-value"])
        );
        let saved = |program: &Program| {
            let files = program.files();
            files
                .into_iter()
                .filter(|file| file.contains("saved/"))
                .collect::<Vec<_>>()
        };
        assert_eq!(saved(&program), [] as [&str; 0], "a check writes nothing");
        let heal_id = answer["heal_id"].as_str().unwrap();
        let went = program.healmcp(&["resume", &crash_id, heal_id, "--json"]).json();
        assert!(
            went["evidence"].as_str().unwrap().contains("order_1-2.json"),
            "{went:#}"
        );
        let files = saved(&program);
        assert_eq!(files.len(), 2, "{files:?}");
        let read = |file: &str| -> Value {
            serde_json::from_str(&std::fs::read_to_string(program.path(file)).unwrap()).unwrap()
        };
        let first = files.iter().find(|file| file.ends_with("order_1.json")).unwrap();
        assert_eq!(
            read(first),
            serde_json::json!({"$type": "Order", "lines": [1, "a", null]})
        );
        let ended = program.finish();
        assert_eq!(
            (ended.code, ended.stdout.as_str()),
            (0, ""),
            "no code of the program ran"
        );
    });
}

/// The behaviours that a check tells of.
#[track_caller]
fn behaves(heal: &Heal<'_>, expect: &str) {
    let main = "class Order:\n    pass\ndef size(rows):\n    return len(rows)\ndef run(order, rows, count):\n    for _ in rows:\n        \
                total = {}['amount']\n    return total\nprint(run(Order(), [1], '3'))\n";
    on_each(|python| {
        let (program, crash_id) = paused(python, &[("main.py", main)]);
        let answer = program.check(&crash_id, heal);
        let told = answer["behaviours"].as_array().cloned().unwrap_or_default();
        let told: Vec<&str> = told.iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(
            told.join(" "),
            expect,
            "{heal:?} on Python 3.{}: {answer:#}",
            python.minor
        );
        program.abort(&crash_id);
    });
}

#[test]
fn behaviours_are_what_a_heal_really_did() {
    behaves(&retry(""), "");
    behaves(&raise(), "");
    behaves(&retry("total = 1"), "initialise-variable");
    behaves(&retry("order.total = 1"), "initialise-variable");
    behaves(&retry("count = '4'"), "change-value");
    behaves(&retry("rows.pop()"), "change-value");
    behaves(&retry("count = int(count)"), "adjust-type");
    behaves(&retry("rows[0] = 'a'"), "adjust-type");
    behaves(&retry("rows.append(2)"), "fill-container");
    behaves(&retry("unread = 1"), "");
    behaves(&next(""), "skip-statement");
    behaves(&returns("0"), "change-control-flow");
    behaves(&line(8, "total = 1"), "initialise-variable change-control-flow");
    behaves(&code("break"), "change-control-flow");
    behaves(&retry("count = size(rows)"), "adjust-type call-program");
    behaves(
        &retry("import math\ncount = str(math.floor(2.5))"),
        "change-value import",
    );
}

#[test]
fn a_behaviour_that_is_not_allowed_is_denied_and_an_allowed_one_passes() {
    let policy = "[tool.healmcp.guard]\nallow-behaviours = ['fill-container']\n";
    let main = "d = {}\nx = d['amount']\nprint(d, x)\n";
    on_each(|python| {
        let (mut program, crash_id) = paused(python, &[("pyproject.toml", policy), ("main.py", main)]);
        for heal in [
            next(""),
            next("d['amount'] = 1"),
            retry("d = {'amount': 1}\nx = 2"),
            returns("1"),
        ] {
            let answer = program.check(&crash_id, &heal);
            assert_eq!(answer["verdict"], "deny", "{heal:?}: {answer:#}");
            assert!(answer["heal_id"].is_null(), "{answer:#}");
        }
        let answer = program.check(&crash_id, &next("d['amount'] = 1"));
        assert_eq!(answer["rule"], "HG204", "{answer:#}");
        assert!(
            answer["reason"]
                .as_str()
                .unwrap()
                .ends_with("skip-statement (allowed: fill-container)")
        );
        program.heal(&crash_id, &retry("d['amount'] = 1"));
        assert_eq!(program.finish().told(), "{'amount': 1} 1\n");
        let resumed = program
            .journal()
            .into_iter()
            .find(|event| event["event"] == "resume")
            .unwrap();
        assert_eq!(resumed["behaviours"], serde_json::json!(["fill-container"]));
    });
}

#[test]
fn functions_of_the_developers_run_once_at_the_resume() {
    let policy = "[tool.healmcp.heal]\ntoolkit = ['shop:repair']\n";
    let shop = "def repair(order):\n    print('repairing')\n    order['amount'] = 5\n    return 5\n";
    let main = "import shop\nd = {}\nx = d['amount']\nprint(x)\n";
    on_each(|python| {
        let files = [("pyproject.toml", policy), ("shop.py", shop), ("main.py", main)];
        let (mut program, crash_id) = paused(python, &files);
        let answer = program.check(&crash_id, &retry("heal.repair(d)"));
        assert_eq!(answer["verdict"], "allow", "{answer:#}");
        let notes = answer["notes"].to_string();
        assert!(
            notes.contains("from here on nothing was run beforehand"),
            "{notes}"
        );
        program.heal(&crash_id, &retry("heal.repair(d)"));
        assert_eq!(program.finish().told(), "repairing\n5\n");
    });
}

/// The blocks of a page: their kind, line and text.
fn blocks(page: &str) -> Vec<(String, usize, String)> {
    let mut blocks: Vec<(String, usize, String)> = Vec::new();
    let mut is_open = false;
    for (line_idx, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(info) => {
                blocks.push((info.to_owned(), line_idx + 1, String::new()));
                is_open = true;
            }
            None if is_open => {
                let text = &mut blocks.last_mut().unwrap().2;
                text.push_str(line);
                text.push('\n');
            }
            None => {}
        }
    }
    blocks
}

#[test]
fn the_page_of_running_code_says_what_the_interpreter_does() {
    let page = include_str!("../../healcore/specs/running.md");
    let blocks = blocks(page);
    let main = &blocks
        .iter()
        .find(|(info, ..)| info == "python crashing")
        .unwrap()
        .2;
    on_each(|python| {
        let (program, crash_id) = paused(python, &[("main.py", main)]);
        let mut wrong = Vec::new();
        for (info, line, text) in &blocks {
            let rules: Vec<&str> = text.split_once("# error: [").map_or(Vec::new(), |(_, rest)| {
                rest.split(']').next().unwrap().split(", ").collect()
            });
            let told = match info.as_str() {
                "python running" => {
                    let answer = program.check(&crash_id, &next(text));
                    let at = text
                        .lines()
                        .position(|line| line.contains("# error: "))
                        .map_or(0, |at| at + 1);
                    let reason = answer["reason"].as_str().unwrap_or_default();
                    let is_there = at == 0 || reason.contains(&format!("(line {at} of the healing code)"));
                    let rule = answer["rule"].as_str().unwrap_or_default();
                    let is_right = if rules.is_empty() {
                        rule.is_empty()
                    } else {
                        rules.contains(&rule)
                    };
                    (!is_right || !is_there).then(|| format!("{answer:#}"))
                }
                "python reading" => {
                    let ended =
                        program.healmcp(&["eval", &crash_id, text.split("  #").next().unwrap().trim()]);
                    (ended.code == 0)
                        .ne(&rules.is_empty())
                        .then(|| format!("{ended:?}"))
                }
                _ => None,
            };
            wrong.extend(told.map(|told| format!("running.md:{line}\n{text}{told}")));
        }
        program.abort(&crash_id);
        assert!(
            wrong.is_empty(),
            "on Python 3.{}:\n{}",
            python.minor,
            wrong.join("\n")
        );
    });
}
