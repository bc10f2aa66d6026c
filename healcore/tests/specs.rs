//! The pages of `specs/` as tests: each Python block is checked, and breaks exactly the rules that its lines name.
//!
//! `python` is checked by itself; `python escapes` has `\u{…}` for characters that a page cannot show;
//! `python program-calls` allows calls of the program; `python cpython` is run by CPython, which must agree. What a page
//! shows as accepted is Python to CPython, too: it compiles where a heal runs, in a loop of a function.
//! `python running` is stopped only while it runs, in the program of the page's `python crashing`: the end-to-end tests
//! run it, here the checker must let it pass. `python reading` is the same for expressions.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use healcore::{Options, ProgramCalls, check};

struct Block {
    page: String,
    line: usize,
    info: String,
    code: String,
}

fn blocks() -> Vec<Block> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("specs");
    let mut blocks = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the pages are there") {
        let path = entry.expect("the folder can be read").path();
        let text = std::fs::read_to_string(&path).expect("a page is text");
        let mut open: Option<Block> = None;
        for (line_idx, line) in text.lines().enumerate() {
            match (&mut open, line.strip_prefix("```")) {
                (None, Some(info)) => {
                    let page = path.display().to_string();
                    open = Some(Block {
                        page,
                        line: line_idx + 1,
                        info: info.to_owned(),
                        code: String::new(),
                    });
                }
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(block), None) => {
                    block.code.push_str(line);
                    block.code.push('\n');
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a block is not closed", path.display());
    }
    blocks
}

/// Returns the lines and rules that the comments of a block name.
fn expected(code: &str) -> BTreeSet<(u32, String)> {
    let mut expected = BTreeSet::new();
    for (line_idx, line) in code.lines().enumerate() {
        let Some((_, rules)) = line.split_once("# error: [") else {
            continue;
        };
        let rules = rules.split(']').next().unwrap_or_default();
        let line = u32::try_from(line_idx + 1).expect("a page is short");
        expected.extend(rules.split(", ").map(|rule| (line, rule.to_owned())));
    }
    expected
}

/// Puts the characters where `\u{…}` stands.
fn unescape(code: &str) -> String {
    let mut parts = code.split("\\u{");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_once('}').expect("an escape is closed");
        let code = u32::from_str_radix(digits, 16).expect("an escape is hexadecimal");
        text.push(char::from_u32(code).expect("an escape is a character"));
        text.push_str(rest);
    }
    text
}

#[test]
fn the_pages_say_what_the_checker_does() {
    let mut wrong = Vec::new();
    for block in blocks() {
        let (code, program_calls) = match block.info.as_str() {
            "python" => (block.code.clone(), ProgramCalls::Refuse),
            "python escapes" => (unescape(&block.code), ProgramCalls::Refuse),
            "python program-calls" => (block.code.clone(), ProgramCalls::Allow),
            "python running" => {
                let options = Options {
                    program_calls: ProgramCalls::Allow,
                    ..Options::default()
                };
                let violations = check(&block.code, &options).violations;
                if !violations.is_empty() {
                    wrong.push(format!("{}:{}\n{violations:#?}", block.page, block.line));
                }
                continue;
            }
            "python cpython" | "python crashing" | "python reading" | "toml" => continue,
            info => panic!("{}:{}: unknown kind of block `{info}`", block.page, block.line),
        };
        let checked = check(
            &code,
            &Options {
                program_calls,
                ..Options::default()
            },
        );
        let found: BTreeSet<_> = checked
            .violations
            .iter()
            .map(|violation| (violation.line, violation.rule.to_owned()))
            .collect();
        if found != expected(&block.code) {
            wrong.push(format!(
                "{}:{}\n{code}{:#?}",
                block.page, block.line, checked.violations
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn cpython_agrees_with_the_pages() {
    for block in blocks()
        .into_iter()
        .filter(|block| block.info == "python cpython")
    {
        // Where there is no CPython, there is nobody to ask.
        let Ok(output) = Command::new("python3").args(["-c", &block.code]).output() else {
            return;
        };
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}:{}\n{error}", block.page, block.line);
    }
}

/// Compiles each block of a JSON list, which holds where it stands and its code, and says of those that fail.
const COMPILE: &str = r#"
import json, sys, textwrap
for place, code in json.load(sys.stdin):
    inside = "def frame():\n for item in items:\n" + textwrap.indent(code, "  ", lambda line: True) + "\n  pass\n"
    for source in (code, inside):
        try:
            compile(source, place, "exec")
            break
        except SyntaxError as error:
            last = error
    else:
        print(f"{place}: {last}")
"#;

#[test]
fn what_the_pages_accept_is_python() {
    let accepted: Vec<(String, String)> = blocks()
        .into_iter()
        .filter(|block| !matches!(block.info.as_str(), "python escapes" | "toml"))
        .filter(|block| expected(&block.code).is_empty())
        .map(|block| (format!("{}:{}", block.page, block.line), block.code))
        .collect();
    assert!(accepted.len() > 60, "only {} blocks", accepted.len());
    let child = Command::new("python3")
        .args(["-c", COMPILE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    // Where there is no CPython, there is nobody to ask.
    let Ok(mut child) = child else { return };
    let input = serde_json::to_string(&accepted).expect("texts are JSON");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin
        .write_all(input.as_bytes())
        .expect("CPython reads its input");
    drop(stdin);
    let output = child.wait_with_output().expect("CPython ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.is_empty(), "{said}");
}
