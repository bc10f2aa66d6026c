//! `read_code`: the source of a symbol, or lines of a file.

use repo_index::{Excerpt, Options, ReadTarget, Reading};
use schemars::JsonSchema;
use serde::Deserialize;

use super::around::{Around, within_time};
use super::search_code::symbol;
use crate::tool::{Context, Effect, TypedTool};
use crate::{Answer, ToolError, text};

pub(crate) struct ReadCode;

/// Read source: a symbol by name ("Cart.total", "shop.cart.Cart.total"), or a file by path with lines, in the project
/// and the packages of the traceback. Paths are as get_crash and search_code show them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Give this or path.
    symbol: Option<String>,
    /// A file; with symbol, where to look for it.
    path: Option<String>,
    start_line: Option<u32>,
    end_line: Option<u32>,
    /// Default: a paused crash, else the current project.
    crash_id: Option<String>,
    /// From the previous answer.
    cursor: Option<String>,
    /// Default 6000.
    #[schemars(range(min = 200, max = 20000))]
    max_chars: Option<usize>,
}

/// More lines than fit into the longest answer.
const MOST_LINES: usize = 1_000;

impl TypedTool for ReadCode {
    const NAME: &'static str = "read_code";
    const TITLE: &'static str = "Read code";
    const EFFECT: Effect = Effect::READS;
    type Input = Input;

    fn run(cx: &Context<'_>, input: Input) -> Result<Answer, ToolError> {
        let max_chars = text::budget(input.max_chars)?;
        let target = target(&input)?;
        let around = Around::find(cx, input.crash_id.as_deref())?;
        let ask = |limit: usize| {
            within_time(cx, &around.index, |options| {
                let is_symbol = matches!(target, ReadTarget::Symbol(_));
                let options = Options {
                    limit,
                    cursor: input.cursor.as_deref(),
                    path: input.path.as_deref().filter(|_| is_symbol),
                    ..options
                };
                around.index.read(&target, options)
            })
        };
        let mut reading = ask(MOST_LINES)?;
        if let Reading::Source(excerpt) = &reading {
            let n_fitting = n_fitting(excerpt, max_chars.saturating_sub(320));
            if n_fitting < excerpt.lines.iter().filter(|line| !line.is_header).count() {
                reading = ask(n_fitting)?;
            }
        }
        let said = match &reading {
            Reading::Source(excerpt) => source(excerpt, &input, &around),
            Reading::Candidates(page) => {
                let mut lines = vec![format!(
                    "{} symbols are called that; name one by its module:",
                    page.n_matches
                )];
                lines.extend(page.items.iter().map(symbol));
                if let Some(hit) = page.items.first() {
                    let name = text::quoted(&format!("{}.{}", hit.module, hit.name));
                    lines.push(format!(
                        "next: read_code(symbol={name}{})",
                        around.crash_argument()
                    ));
                }
                lines.join("\n")
            }
        };
        let wider = format!("max_chars={} shows more", text::MOST_CHARS);
        Ok(Answer::text(text::fit(said, max_chars, &wider), &reading))
    }
}

fn target(input: &Input) -> Result<ReadTarget, ToolError> {
    match (&input.symbol, &input.path) {
        (Some(_), _) if input.start_line.is_some() || input.end_line.is_some() => Err(ToolError::input(
            "start_line and end_line go with a path alone",
            "leave them out, or leave symbol out and give path",
        )),
        (Some(symbol), _) => Ok(ReadTarget::Symbol(symbol.trim().to_owned())),
        (None, Some(path)) if input.start_line.is_none() && input.end_line.is_none() => {
            Ok(match ReadTarget::parse(path) {
                lines @ ReadTarget::Lines { .. } => lines,
                // A path without an extension looks like a symbol.
                ReadTarget::Symbol(path) => ReadTarget::Lines {
                    path,
                    first: 1,
                    last: None,
                },
            })
        }
        (None, Some(path)) => Ok(ReadTarget::Lines {
            path: path.clone(),
            first: input.start_line.unwrap_or(1),
            last: input.end_line,
        }),
        (None, None) => Err(ToolError::input(
            "there is neither a symbol nor a path",
            "read_code(symbol=\"Class.method\") or read_code(path=\"file.py\", start_line=1, end_line=80)",
        )),
    }
}

/// Returns for how many lines, without the headers, there is room; at least one.
fn n_fitting(excerpt: &Excerpt, room: usize) -> usize {
    let mut n_chars = 0;
    let mut n_lines = 0;
    for line in &excerpt.lines {
        n_chars += line.text.chars().count() + 8;
        if n_chars > room && n_lines > 0 {
            break;
        }
        n_lines += usize::from(!line.is_header);
    }
    n_lines.max(1)
}

fn source(excerpt: &Excerpt, input: &Input, around: &Around) -> String {
    let mut lines = vec![match &excerpt.symbol {
        Some(symbol) => format!("{} ({} lines)  {symbol}", excerpt.path, excerpt.n_lines),
        None => format!("{} ({} lines)", excerpt.path, excerpt.n_lines),
    }];
    let mut last = None;
    for line in &excerpt.lines {
        if last.is_some_and(|last| line.number != last + 1) {
            lines.push("     ⋯".to_owned());
        }
        lines.push(format!("{:>5}  {}", line.number, line.text).trim_end().to_owned());
        last = Some(line.number);
    }
    if let Some(cursor) = &excerpt.next_cursor {
        let what = match (&input.symbol, &input.path) {
            (Some(symbol), None) => format!("symbol={}", text::quoted(symbol)),
            (Some(symbol), Some(path)) => {
                format!("symbol={}, path={}", text::quoted(symbol), text::quoted(path))
            }
            (None, _) => {
                let start = last.map_or(1, |last| last + 1);
                let end = input
                    .end_line
                    .map_or_else(String::new, |end| format!(", end_line={end}"));
                let path = text::quoted(&excerpt.path);
                lines.push(format!(
                    "… more: read_code(path={path}, start_line={start}{end}{})",
                    around.crash_argument()
                ));
                return lines.join("\n");
            }
        };
        lines.push(format!(
            "… more: read_code({what}, cursor={}{})",
            text::quoted(cursor),
            around.crash_argument()
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::scripted::{Scripted, shop};

    #[track_caller]
    fn check(arguments: serde_json::Value, expect: &str) {
        let (_folder, world) = shop();
        assert_eq!(world.call("read_code", arguments), expect);
    }

    #[test]
    fn a_symbol_stands_below_the_header_of_its_class() {
        check(
            json!({"symbol": "Cart.total"}),
            "shop/cart.py (6 lines)  Cart.total\n\
             \x20   1  class Cart:\n\
             \x20    ⋯\n\
             \x20   5      def total(self):\n\
             \x20   6          \"\"\"Sums up.\"\"\"; return sum(self.rows)",
        );
    }

    #[test]
    fn lines_of_a_file_are_numbered() {
        check(
            json!({"path": "main.py", "start_line": 2, "end_line": 2}),
            "main.py (2 lines)\n    2  print(Cart().total())",
        );
        check(
            json!({"path": "main.py:2"}),
            "main.py (2 lines)\n    2  print(Cart().total())",
        );
    }

    #[test]
    fn a_long_file_goes_on_where_it_was_cut() {
        let (folder, world) = shop();
        let text: String = (1..500)
            .map(|number| format!("value_{number} = {number}\n"))
            .collect();
        std::fs::write(folder.path().join("long.py"), text).unwrap();
        let said = world.call("read_code", json!({"path": "long.py", "max_chars": 1000}));
        assert!(said.chars().count() <= 1_000, "{said}");
        let (_, call) = said
            .rsplit_once("… more: read_code(path=\"long.py\", start_line=")
            .unwrap();
        let start: u32 = call.trim_end_matches(')').parse().unwrap();
        assert!(
            said.contains(&format!("\n{:>5}  value_{} =", start - 1, start - 1)),
            "{said}"
        );
        assert!(!said.contains(&format!("value_{start} =")), "{said}");
    }

    #[test]
    fn a_file_outside_is_not_read() {
        let said = shop().1.call("read_code", json!({"path": "/etc/passwd"}));
        assert!(said.starts_with("error: `/etc/passwd` is outside"), "{said}");
    }

    #[test]
    fn what_is_missing_is_named() {
        let said = Scripted::default().call("read_code", json!({}));
        assert!(
            said.starts_with("error: there is neither a symbol nor a path\nnext: read_code("),
            "{said}"
        );
    }

    #[test]
    fn a_crash_brings_its_packages_along() {
        let (folder, world) = shop();
        let said = world
            .crashing_in(folder.path())
            .call("read_code", json!({"symbol": "lib.core.get", "crash_id": "c1"}));
        assert_eq!(
            said,
            "lib/core.py (2 lines)  get\n    1  def get(key):\n    2      raise KeyError(key)"
        );
    }
}
