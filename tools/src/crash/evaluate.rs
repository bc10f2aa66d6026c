//! `evaluate`: the value of an expression in a frame.

use protocol::{Reply, Request};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tool::{Context, Effect, TypedTool, unexpected};
use crate::{Answer, ToolError, text};

pub(crate) struct Evaluate;

/// Evaluate an expression without side effects in a frame of a paused program: names, attributes, items, slices,
/// operators, comparisons, comprehensions, safe builtins (len, sorted, type...) and pure methods of builtin types.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    crash_id: String,
    expression: String,
    /// Default 0.
    frame: Option<usize>,
    /// Show the value by the program's own __repr__, which runs its code.
    #[serde(default)]
    own_repr: bool,
    /// Default 6000.
    #[schemars(range(min = 200, max = 20000))]
    max_chars: Option<usize>,
}

#[derive(Serialize)]
struct Output<'a> {
    #[serde(rename = "type")]
    type_name: &'a str,
    value: &'a str,
    cut: bool,
}

impl TypedTool for Evaluate {
    const NAME: &'static str = "evaluate";
    const TITLE: &'static str = "Evaluate an expression";
    const EFFECT: Effect = Effect::READS;
    type Input = Input;

    fn run(cx: &Context<'_>, input: Input) -> Result<Answer, ToolError> {
        let max_chars = text::budget(input.max_chars)?;
        let frame = input.frame.unwrap_or(0);
        if input.expression.trim().is_empty() {
            return Err(ToolError::input(
                "the expression is empty",
                format!(
                    "get_frame(crash_id={}, frame={frame}) lists the names",
                    text::quoted(&input.crash_id)
                ),
            ));
        }
        let request = Request::Evaluate {
            crash_id: input.crash_id.clone(),
            frame,
            expression: input.expression.clone(),
            max_chars: max_chars - 200.min(max_chars / 2),
            user_repr: input.own_repr,
        };
        let (type_name, value, cut) = match cx.ask(&input.crash_id, request)? {
            Reply::Value { type_name, text, cut } => (type_name, text, cut),
            other => return Err(unexpected(&other)),
        };
        let mut said = format!("{type_name} = {value}");
        if cut {
            let crash_id = text::quoted(&input.crash_id);
            let part = match type_name.as_str() {
                "str" | "bytes" | "list" | "tuple" => {
                    let slice = format!("({})[START:STOP]", input.expression.trim());
                    format!(
                        "evaluate(crash_id={crash_id}, frame={frame}, expression={}) reads a part",
                        text::quoted(&slice)
                    )
                }
                _ if max_chars < text::MOST_CHARS => {
                    format!("the same call with max_chars={} shows more", text::MOST_CHARS)
                }
                _ => format!(
                    "get_frame(crash_id={crash_id}, frame={frame}, path={}) opens it",
                    text::quoted(input.expression.trim())
                ),
            };
            said.push_str(&format!("\n… cut here; {part}"));
        }
        let output = Output {
            type_name: &type_name,
            value: &value,
            cut,
        };
        Ok(Answer::text(said, &output))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scripted::Scripted;

    #[track_caller]
    fn check(type_name: &str, text: &str, cut: bool, expect: &str) {
        let world = Scripted::default().replying(Ok(Reply::Value {
            type_name: type_name.to_owned(),
            text: text.to_owned(),
            cut,
        }));
        assert_eq!(
            world.call("evaluate", json!({"crash_id": "c1", "expression": "a + b"})),
            expect
        );
        assert_eq!(
            world.asked(),
            r#"{"verb":"evaluate","crash_id":"c1","frame":0,"expression":"a + b","max_chars":5800,"user_repr":false}"#
        );
    }

    #[test]
    fn a_value_has_its_type() {
        check("int", "3", false, "int = 3");
    }

    #[test]
    fn a_cut_value_names_the_call_for_a_part() {
        check(
            "str",
            "'aaa",
            true,
            "str = 'aaa\n… cut here; evaluate(crash_id=\"c1\", frame=0, expression=\"(a + b)[START:STOP]\") reads a part",
        );
        check(
            "dict",
            "{",
            true,
            "dict = {\n… cut here; the same call with max_chars=20000 shows more",
        );
    }

    #[test]
    fn an_empty_expression_asks_nobody() {
        let world = Scripted::default();
        let said = world.call("evaluate", json!({"crash_id": "c1", "expression": " "}));
        assert!(
            said.starts_with("error: the expression is empty\nnext: get_frame("),
            "{said}"
        );
        assert_eq!(world.asked(), "");
    }
}
