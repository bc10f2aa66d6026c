//! `get_frame`: the variables of a frame, or the inside of one value.

use protocol::{FrameQuery, FrameView, Reply, Request};
use schemars::JsonSchema;
use serde::Deserialize;

use super::report;
use crate::tool::{Context, Effect, TypedTool, unexpected};
use crate::{Answer, ToolError, text};

pub(crate) struct GetFrame;

/// Show the variables of one frame, or the inside of one value, page by page. No code of the program runs. Use path to
/// open a value: "order.lines[3]" or "cache['k']".
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    crash_id: String,
    /// The number after f in get_crash, default 0.
    frame: Option<usize>,
    /// Only these variables.
    #[serde(default)]
    names: Vec<String>,
    /// Expression of names, attributes, indexes and keys.
    path: Option<String>,
    /// First item, default 0.
    start: Option<usize>,
    /// Items, default 40.
    #[schemars(range(min = 1, max = 500))]
    count: Option<usize>,
    /// How deep nested values are shown, default 2.
    #[schemars(range(min = 0, max = 6))]
    depth: Option<usize>,
    /// Default 6000.
    #[schemars(range(min = 200, max = 20000))]
    max_chars: Option<usize>,
}

impl TypedTool for GetFrame {
    const NAME: &'static str = "get_frame";
    const TITLE: &'static str = "Look into a frame";
    const EFFECT: Effect = Effect::READS;
    type Input = Input;

    fn run(cx: &Context<'_>, input: Input) -> Result<Answer, ToolError> {
        let max_chars = text::budget(input.max_chars)?;
        let query = FrameQuery {
            frame: input.frame.unwrap_or(0),
            names: input.names,
            path: input.path.filter(|path| !path.trim().is_empty()),
            start: input.start.unwrap_or(0),
            count: text::within("count", input.count, 1..=500, 40)?,
            depth: text::within("depth", input.depth, 0..=6, 2)?,
        };
        let request = Request::Frame {
            crash_id: input.crash_id.clone(),
            query: query.clone(),
        };
        match cx.ask(&input.crash_id, request)? {
            Reply::Frame(view) => {
                let text = Page {
                    crash_id: &input.crash_id,
                    view: &view,
                    names: &query.names,
                    max_chars,
                }
                .render();
                Ok(Answer::text(text, &view))
            }
            other => Err(unexpected(&other)),
        }
    }
}

/// One page of a frame or of a value.
struct Page<'a> {
    crash_id: &'a str,
    view: &'a FrameView,
    names: &'a [String],
    max_chars: usize,
}

impl Page<'_> {
    /// Shows as many items as fit; the call for the rest starts exactly where this page ends.
    fn render(&self) -> String {
        let view = self.view;
        let mut head = vec![format!("f{} {}", view.index, text::place(&view.location))];
        match &view.value {
            Some(value) => head.push(format!("{}: {} = {}", view.path, value.type_name, value.value)),
            None => head.extend(report::source(&view.source)),
        }
        let mut page = head.join("\n");
        let room = self.max_chars.saturating_sub(200);
        let mut n_chars = page.chars().count();
        let mut n_shown = 0;
        for item in &view.items {
            let line = format!("  {}", report::variable(item));
            n_chars += line.chars().count() + 1;
            if n_chars > room && n_shown > 0 {
                break;
            }
            page.push('\n');
            page.push_str(&line);
            n_shown += 1;
        }
        let end = view.start + n_shown;
        if view.items.is_empty() && view.value.is_none() {
            page.push_str("\n  no variables");
        }
        if end < view.n_items {
            page.push_str(&format!(
                "\n… {} of {}: {}",
                end - view.start,
                view.n_items,
                self.call(end)
            ));
        }
        let wider = format!(
            "evaluate(crash_id={}, frame={}, expression=…) reads a part",
            text::quoted(self.crash_id),
            view.index
        );
        text::fit(page, self.max_chars, &wider)
    }

    fn call(&self, start: usize) -> String {
        let view = self.view;
        let mut call = format!(
            "get_frame(crash_id={}, frame={}",
            text::quoted(self.crash_id),
            view.index
        );
        if !view.path.is_empty() {
            call.push_str(&format!(", path={}", text::quoted(&view.path)));
        }
        if !self.names.is_empty() {
            call.push_str(&format!(", names={}", serde_json::Value::from(self.names)));
        }
        call.push_str(&format!(", start={start}) shows the rest"));
        call
    }
}

#[cfg(test)]
mod tests {
    use protocol::{Failure, FailureKind, Location, Variable};
    use serde_json::json;

    use super::*;
    use crate::scripted::Scripted;

    fn view(n_items: usize, n_given: usize) -> FrameView {
        FrameView {
            index: 1,
            location: Location {
                file: "/shop/cart.py".to_owned(),
                line: 9,
                function: "total".to_owned(),
            },
            path: "rows".to_owned(),
            value: Some(Variable {
                name: "rows".to_owned(),
                type_name: "list".to_owned(),
                value: "[1, 2, … +98 of 100]".to_owned(),
                in_statement: false,
            }),
            items: (0..n_given)
                .map(|number| Variable {
                    name: format!("[{number}]"),
                    type_name: "int".to_owned(),
                    value: number.to_string(),
                    in_statement: false,
                })
                .collect(),
            n_items,
            start: 0,
            source: Vec::new(),
        }
    }

    #[test]
    fn the_rest_of_a_value_is_one_call_away() {
        let world = Scripted::default().replying(Ok(Reply::Frame(view(100, 2))));
        let said = world.call(
            "get_frame",
            json!({"crash_id": "c1", "frame": 1, "path": "rows", "count": 2}),
        );
        assert_eq!(
            said,
            "f1 total (/shop/cart.py:9)\n\
             rows: list = [1, 2, … +98 of 100]\n\
             \x20   [0]: int = 0\n\
             \x20   [1]: int = 1\n\
             … 2 of 100: get_frame(crash_id=\"c1\", frame=1, path=\"rows\", start=2) shows the rest"
        );
        assert_eq!(
            world.asked(),
            r#"{"verb":"frame","crash_id":"c1","query":{"frame":1,"names":[],"path":"rows","start":0,"count":2,"depth":2}}"#
        );
    }

    #[test]
    fn a_page_that_is_too_long_goes_on_where_it_was_cut() {
        let world = Scripted::default().replying(Ok(Reply::Frame(view(500, 500))));
        let said = world.call(
            "get_frame",
            json!({"crash_id": "c1", "count": 500, "max_chars": 400}),
        );
        assert!(said.chars().count() <= 400, "{said}");
        let last: usize = said.lines().filter(|line| line.contains("]: int")).count();
        assert!(said.ends_with(&format!("start={last}) shows the rest")), "{said}");
    }

    #[test]
    fn a_refusal_of_the_program_is_passed_on() {
        let failure = Failure::new(FailureKind::UnknownPlace, "rows has no item 7", "it has 3");
        let world = Scripted::default().replying(Err(failure.into()));
        assert_eq!(
            world.call("get_frame", json!({"crash_id": "c1", "path": "rows[7]"})),
            "error: rows has no item 7\nnext: it has 3"
        );
    }
}
