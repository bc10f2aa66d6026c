//! `abort`: let the exception go on.

use protocol::{Reply, Request};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::outcome;
use crate::tool::{Context, Effect, TypedTool, unexpected};
use crate::{Answer, ToolError, schema, text};

pub(crate) struct Abort;

/// Give up on a crash: the exception goes on as in plain Python, which mostly ends the program. Its state is lost.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    crash_id: String,
    /// For the journal.
    #[serde(default)]
    reason: String,
    /// Seconds, default 5.
    #[schemars(range(min = 0, max = 25))]
    wait_s: Option<u64>,
}

impl TypedTool for Abort {
    const NAME: &'static str = "abort";
    const TITLE: &'static str = "Let the exception go on";
    const EFFECT: Effect = Effect {
        read_only: false,
        destructive: true,
        idempotent: true,
        open_world: false,
    };
    type Input = Input;
    const OUTPUT: Option<fn() -> Value> = Some(schema::of_output::<outcome::Output>);

    fn run(cx: &Context<'_>, input: Input) -> Result<Answer, ToolError> {
        let wait_s = text::wait(input.wait_s, 5)?;
        let request = Request::Abort {
            crash_id: input.crash_id.clone(),
            reason: text::clip(&input.reason, 1_000),
            wait_ms: wait_s * 1_000,
        };
        match cx.ask(&input.crash_id, request)? {
            Reply::Went(went) => Ok(outcome::answer(&went)),
            other => Err(unexpected(&other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use protocol::HealOutcome;
    use serde_json::json;

    use super::*;
    use crate::scripted::Scripted;

    #[test]
    fn giving_up_says_how_it_ended() {
        let went = HealOutcome {
            outcome: "exited".to_owned(),
            resumed_at: None,
            evidence: "exit code 1".to_owned(),
            behaviours: Vec::new(),
            next_crash: None,
        };
        let world = Scripted::default().replying(Ok(Reply::Went(Box::new(went))));
        let said = world.call("abort", json!({"crash_id": "c1", "reason": "not worth it"}));
        assert!(said.starts_with("exited\nexit code 1\nnext: it ended"), "{said}");
        assert_eq!(
            world.asked(),
            r#"{"verb":"abort","crash_id":"c1","reason":"not worth it","wait_ms":5000}"#
        );
    }
}
