//! `list_crashes`: which programs are paused at an exception?

use std::time::Duration;

use protocol::{CrashStatus, CrashSummary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool::{Context, Effect, TypedTool};
use crate::{Answer, ToolError, schema, text};

pub(crate) struct ListCrashes;

/// List Python programs started with `healmcp run` that are paused at an exception nothing would handle. Start here:
/// every other tool takes a crash_id from this list. With wait_s it waits for a crash if there is none yet.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Default paused; the others are over.
    status: Option<Status>,
    /// Default 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
    /// next_cursor of the previous answer.
    cursor: Option<String>,
    /// Seconds to wait for a first crash, default 0.
    #[schemars(range(min = 0, max = 25))]
    wait_s: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Status {
    Paused,
    Resumed,
    Released,
    All,
}

#[derive(JsonSchema, Serialize)]
struct Output {
    crashes: Vec<Line>,
    /// Pass as cursor to see the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// What to do next.
    next: String,
}

#[derive(JsonSchema, Serialize)]
struct Line {
    crash_id: String,
    /// paused, resumed or released.
    status: String,
    exception: String,
    /// function (file:line).
    location: String,
    pid: u32,
    thread: String,
    command: String,
    attempts: usize,
    /// Seconds until the exception goes on by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_left: Option<u64>,
    /// Another client that is healing it.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_by: Option<String>,
}

impl TypedTool for ListCrashes {
    const NAME: &'static str = "list_crashes";
    const TITLE: &'static str = "List crashes";
    const EFFECT: Effect = Effect::READS;
    type Input = Input;
    const OUTPUT: Option<fn() -> Value> = Some(schema::of_output::<Output>);

    fn run(cx: &Context<'_>, input: Input) -> Result<Answer, ToolError> {
        let limit = text::within("limit", input.limit, 1..=100, 20)?;
        let wait_s = text::wait(input.wait_s, 0)?;
        let wanted = input.status.unwrap_or(Status::Paused);
        let found = wait_for(cx, wanted, Duration::from_secs(wait_s))?;
        let start = match &input.cursor {
            None => 0,
            Some(cursor) => {
                1 + found
                    .iter()
                    .position(|crash| &crash.crash_id == cursor)
                    .ok_or_else(|| {
                        ToolError::input(
                            "this cursor is not one of this list (any more)",
                            "list_crashes() without a cursor",
                        )
                    })?
            }
        };
        let shown: Vec<&CrashSummary> = found.iter().skip(start).take(limit).collect();
        let n_left = found.len() - start - shown.len();
        let next_cursor = shown
            .last()
            .filter(|_| n_left > 0)
            .map(|crash| crash.crash_id.clone());
        let next = match shown.first() {
            Some(crash) if crash.status == CrashStatus::Paused => {
                format!("get_crash(crash_id={})", text::quoted(&crash.crash_id))
            }
            Some(_) => "these are over; list_crashes() shows the paused ones".to_owned(),
            None => "no crash waits: start a program with `healmcp run -- CMD`, then list_crashes(wait_s=25)"
                .to_owned(),
        };
        let mut lines: Vec<String> = shown.iter().map(|crash| text::one_line(crash)).collect();
        if let Some(cursor) = &next_cursor {
            lines.push(format!(
                "… {n_left} more: list_crashes(cursor={})",
                text::quoted(cursor)
            ));
        }
        lines.push(format!("next: {next}"));
        let output = Output {
            crashes: shown.into_iter().map(line).collect(),
            next_cursor,
            next,
        };
        Ok(Answer::structured(lines.join("\n"), &output))
    }
}

/// How often a waiting call looks again.
const POLL: Duration = Duration::from_millis(250);

fn wait_for(cx: &Context<'_>, wanted: Status, patience: Duration) -> Result<Vec<CrashSummary>, ToolError> {
    let mut waited = Duration::ZERO;
    loop {
        let mut found = cx.world.crashes()?;
        found.retain(|crash| match wanted {
            Status::All => true,
            Status::Paused => crash.status == CrashStatus::Paused,
            Status::Resumed => crash.status == CrashStatus::Resumed,
            Status::Released => crash.status == CrashStatus::Released,
        });
        if !found.is_empty() || waited >= patience {
            return Ok(found);
        }
        cx.world.sleep(POLL)?;
        waited += POLL;
    }
}

fn line(crash: &CrashSummary) -> Line {
    Line {
        crash_id: crash.crash_id.clone(),
        status: text::status(crash.status).to_owned(),
        exception: format!("{}: {}", crash.exception_type, text::clip(&crash.message, 200)),
        location: text::place(&crash.location),
        pid: crash.pid,
        thread: crash.thread.clone(),
        command: text::clip(&crash.command.join(" "), 200),
        attempts: crash.n_attempts,
        seconds_left: crash.seconds_left,
        held_by: crash.held_by.as_ref().map(|holder| {
            format!(
                "{} (pid {}, idle for {} s)",
                holder.name, holder.pid, holder.idle_s
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::scripted::{Scripted, summary};

    #[track_caller]
    fn check(world: &Scripted, arguments: Value, expect: &str) {
        assert_eq!(world.call("list_crashes", arguments), expect);
    }

    use serde_json::Value;

    #[test]
    fn a_paused_crash_is_one_line_and_the_next_call() {
        let world = Scripted::with(vec![summary("c1")]);
        check(
            &world,
            json!({}),
            "c1 paused KeyError: 'price' at total (/shop/cart.py:4), 590 s left\nnext: get_crash(crash_id=\"c1\")",
        );
    }

    #[test]
    fn without_a_crash_it_says_how_to_get_one() {
        check(
            &Scripted::with(vec![]),
            json!({}),
            "next: no crash waits: start a program with `healmcp run -- CMD`, then list_crashes(wait_s=25)",
        );
    }

    #[test]
    fn waiting_looks_again_until_the_time_is_over() {
        let world = Scripted::with(vec![]);
        world.call("list_crashes", json!({"wait_s": 2}));
        assert_eq!(world.slept_ms(), 2_000);
    }

    #[test]
    fn a_cursor_goes_on_after_the_last_line() {
        let world = Scripted::with(vec![summary("c1"), summary("c2"), summary("c3")]);
        let first = world.call("list_crashes", json!({"limit": 2}));
        assert!(first.contains("… 1 more: list_crashes(cursor=\"c2\")"), "{first}");
        let second = world.call("list_crashes", json!({"limit": 2, "cursor": "c2"}));
        assert!(second.starts_with("c3 paused"), "{second}");
        check(
            &world,
            json!({"cursor": "zz"}),
            "error: this cursor is not one of this list (any more)\nnext: list_crashes() without a cursor",
        );
    }

    #[test]
    fn arguments_that_do_not_fit_are_named() {
        let said = Scripted::with(vec![]).call("list_crashes", json!({"limits": 2}));
        assert!(
            said.starts_with("error: the arguments of list_crashes do not fit: unknown field `limits`"),
            "{said}"
        );
        assert!(said.contains("limit?: integer"), "{said}");
    }
}
