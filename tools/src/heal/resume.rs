//! `resume`: apply a checked heal and go on.

use protocol::{Reply, Request};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::outcome;
use crate::tool::{Context, Effect, TypedTool, unexpected};
use crate::{Answer, ToolError, schema, text};

pub(crate) struct Resume;

/// Apply a heal that check_heal allowed and let the program go on. Waits up to wait_s for what happens next: running,
/// crashed (paused again, new_crash_id) or exited. A heal_id works once and only for the state it was checked against.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    crash_id: String,
    /// From check_heal.
    heal_id: String,
    /// Seconds, default 10.
    #[schemars(range(min = 0, max = 25))]
    wait_s: Option<u64>,
}

impl TypedTool for Resume {
    const NAME: &'static str = "resume";
    const TITLE: &'static str = "Heal and resume";
    const EFFECT: Effect = Effect {
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: false,
    };
    type Input = Input;
    const OUTPUT: Option<fn() -> Value> = Some(schema::of_output::<outcome::Output>);

    fn run(cx: &Context<'_>, input: Input) -> Result<Answer, ToolError> {
        let wait_s = text::wait(input.wait_s, 10)?;
        let request = Request::Resume {
            crash_id: input.crash_id.clone(),
            heal_id: input.heal_id,
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
    use protocol::{Failure, FailureKind, HealOutcome, Location};
    use serde_json::json;

    use super::*;
    use crate::scripted::{Scripted, summary};

    #[test]
    fn a_next_crash_has_its_id_in_the_answer() {
        let went = HealOutcome {
            outcome: "crashed".to_owned(),
            resumed_at: Some(Location {
                file: "/shop/cart.py".to_owned(),
                line: 5,
                function: "total".to_owned(),
            }),
            evidence: "skipped cart.py:4".to_owned(),
            behaviours: Vec::new(),
            next_crash: Some(summary("c2")),
        };
        let world = Scripted::default().replying(Ok(Reply::Went(Box::new(went))));
        assert_eq!(
            world.call("resume", json!({"crash_id": "c1", "heal_id": "h1", "wait_s": 0})),
            "crashed: went on at total (/shop/cart.py:5)\n\
             skipped cart.py:4\n\
             paused again: c2 paused KeyError: 'price' at total (/shop/cart.py:4), 590 s left\n\
             next: get_crash(crash_id=\"c2\")"
        );
        assert_eq!(
            world.asked(),
            r#"{"verb":"resume","crash_id":"c1","heal_id":"h1","wait_ms":0}"#
        );
    }

    #[test]
    fn a_used_heal_is_refused_by_the_program() {
        let failure = Failure::new(
            FailureKind::UnknownHeal,
            "heal \"h1\" was used",
            "check_heal gives a new one",
        );
        let world = Scripted::default().replying(Err(failure.into()));
        assert_eq!(
            world.call("resume", json!({"crash_id": "c1", "heal_id": "h1"})),
            "error: heal \"h1\" was used\nnext: check_heal gives a new one"
        );
    }

    #[test]
    fn the_wait_is_bounded() {
        let said =
            Scripted::default().call("resume", json!({"crash_id": "c1", "heal_id": "h1", "wait_s": 60}));
        assert!(
            said.starts_with("error: wait_s is 60, but must be from 0 to 25"),
            "{said}"
        );
    }
}
