//! `get_crash`: what happened, with which values, and what can be done?

use protocol::{CrashReport, Reply, Request};
use schemars::JsonSchema;
use serde::Deserialize;

use super::report;
use crate::tool::{Context, Effect, TypedTool, unexpected};
use crate::{Answer, ToolError, text};

pub(crate) struct GetCrash;

/// Explain a crash: exception chain, failing source line, variables of the innermost frames (* marks those the failing
/// statement reads), what each resume action would do here, and the heals tried before. f0 is the crashed frame.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    crash_id: String,
    /// How many frames to show with variables, default 3.
    #[schemars(range(min = 1, max = 12))]
    frames: Option<usize>,
    /// Length of the answer, default 6000.
    #[schemars(range(min = 200, max = 20000))]
    max_chars: Option<usize>,
}

impl TypedTool for GetCrash {
    const NAME: &'static str = "get_crash";
    const TITLE: &'static str = "Explain a crash";
    const EFFECT: Effect = Effect::READS;
    type Input = Input;

    fn run(cx: &Context<'_>, input: Input) -> Result<Answer, ToolError> {
        let max_chars = text::budget(input.max_chars)?;
        let max_frames = text::within("frames", input.frames, 1..=12, 3)?;
        let report = describe(cx, &input.crash_id, max_frames)?;
        Ok(Answer::text(report::render(&report, max_chars), &report))
    }
}

/// Asks for everything about one crash.
pub(crate) fn describe(
    cx: &Context<'_>,
    crash_id: &str,
    max_frames: usize,
) -> Result<Box<CrashReport>, ToolError> {
    let request = Request::Describe {
        crash_id: crash_id.to_owned(),
        max_frames,
    };
    match cx.ask(crash_id, request)? {
        Reply::Crash(report) => Ok(report),
        other => Err(unexpected(&other)),
    }
}

#[cfg(test)]
mod tests {
    use protocol::{
        ActionOffer, ChainedException, FrameReport, HealProposal, HealRecord, Location, ResumeAction,
        SourceLine, SubExpression, Variable, VerdictKind,
    };
    use serde_json::json;

    use super::*;
    use crate::scripted::{Scripted, summary};

    fn variable(name: &str, type_name: &str, value: &str) -> Variable {
        Variable {
            name: name.to_owned(),
            type_name: type_name.to_owned(),
            value: value.to_owned(),
            in_statement: value.starts_with('{'),
        }
    }

    fn frame(index: usize, function: &str, file: &str, text: &str) -> FrameReport {
        FrameReport {
            index,
            location: Location {
                file: file.to_owned(),
                line: 4,
                function: function.to_owned(),
            },
            in_scope: !file.contains("site-packages"),
            source: vec![SourceLine {
                line: 4,
                text: text.to_owned(),
                failing: true,
                caret: None,
            }],
            variables: Vec::new(),
            more_names: Vec::new(),
            sub_expressions: Vec::new(),
            calls_made: Vec::new(),
        }
    }

    fn sample() -> CrashReport {
        let mut crashed = frame(
            0,
            "total",
            "/shop/cart.py",
            "    return sum(row['price'] for row in rows(cart))",
        );
        crashed.source[0].caret = Some((15, 27));
        crashed.source.insert(
            0,
            SourceLine {
                line: 3,
                text: "def total(cart):".to_owned(),
                failing: false,
                caret: None,
            },
        );
        crashed.variables = vec![
            variable("row", "dict", "{'cost': 5}"),
            variable("label", "str", "'sum'"),
        ];
        crashed.more_names = vec!["a".to_owned(), "b".to_owned()];
        crashed.sub_expressions = vec![SubExpression {
            expression: "row".to_owned(),
            value: "{'cost': 5}".to_owned(),
        }];
        crashed.calls_made = vec!["rows(cart)".to_owned()];
        let library = "/usr/lib/python3.12/site-packages/lib/core.py";
        CrashReport {
            summary: summary("c1"),
            decision: "would be unhandled: first chance, all 5 frames alive".to_owned(),
            chain: vec![ChainedException {
                link: "context".to_owned(),
                exception_type: "ValueError".to_owned(),
                message: "no rows".to_owned(),
                location: Some(crashed.location.clone()),
            }],
            frames: vec![
                crashed,
                frame(1, "walk", "/shop/cart.py", "walk(n - 1)"),
                frame(2, "walk", "/shop/cart.py", "walk(n - 1)"),
                frame(3, "walk", "/shop/cart.py", "walk(n - 1)"),
                frame(4, "run", library, "call()"),
                frame(5, "call", library, "go()"),
                frame(6, "<module>", "/shop/main.py", "main()"),
            ],
            below: vec![frame(7, "get", library, "raise KeyError(key)")],
            actions: vec![
                ActionOffer {
                    then: "next".to_owned(),
                    available: true,
                    effect: "skips line 4; total returns None".to_owned(),
                },
                ActionOffer {
                    then: "line".to_owned(),
                    available: false,
                    effect: "CPython allows no jump here".to_owned(),
                },
            ],
            attempts: vec![HealRecord {
                heal_id: "h1".to_owned(),
                proposal: HealProposal {
                    frame: 0,
                    code: "x = 1\ny = 2\n".to_owned(),
                    then: Some(ResumeAction::Next),
                    value: None,
                    line: None,
                },
                verdict: VerdictKind::Deny,
                outcome: "denied: HC204 import".to_owned(),
            }],
        }
    }

    #[test]
    fn a_report_reads_from_the_exception_to_what_can_be_done() {
        let world = Scripted::default().replying(Ok(Reply::Crash(Box::new(sample()))));
        let said = world.call("get_crash", json!({"crash_id": "c1"}));
        assert_eq!(
            said,
            r#"PAUSED c1  thread MainThread  pid 7  would be unhandled: first chance, all 5 frames alive
the exception goes on by itself in 590 s
KeyError: 'price'
  context ValueError: no rows at total (cart.py:4)
at total (cart.py:4)
       3  def total(cart):
  >    4      return sum(row['price'] for row in rows(cart))
                         ^^^^^^^^^^^^
below f0, outside of the scope: can be read, not healed; innermost first
f7 get (lib/core.py:4)  raise KeyError(key)
from the crashed frame outwards
f0 total (cart.py:4)  return sum(row['price'] for row in rows(cart))
   * row: dict = {'cost': 5}
     label: str = 'sum'
     … +2 names: a, b
   row → {'cost': 5}
f1 walk (cart.py:4)  walk(n - 1)
⋯ 2 x walk() again, to f3
⋯ 2 frames in lib, f4 to f5
f6 <module> (main.py:4)  main()
calls already made in this statement: rows(cart) (retry makes them again)
RESTARTS (then=…)
  next    skips line 4; total returns None
  line    not here: CPython allows no jump here
ALREADY TRIED
  f0 `x = 1; y = 2` then next: denied: HC204 import
next: get_frame(crash_id="c1", frame=0, path="NAME") opens a value; evaluate(crash_id="c1", expression=…); search_code(crash_id="c1", …), read_code(crash_id="c1", …); then check_heal(crash_id="c1", code=…, then=…)"#
        );
        assert_eq!(
            world.asked(),
            r#"{"verb":"describe","crash_id":"c1","max_frames":3}"#
        );
    }

    #[test]
    fn frames_give_way_before_the_resume_actions() {
        let mut report = sample();
        report.frames[0].variables = (0..200)
            .map(|number| variable(&format!("v{number}"), "int", "7"))
            .collect();
        let world = Scripted::default().replying(Ok(Reply::Crash(Box::new(report))));
        let said = world.call("get_crash", json!({"crash_id": "c1", "max_chars": 2000}));
        assert!(said.chars().count() <= 2_000, "{}", said.chars().count());
        assert!(
            said.contains("get_frame(crash_id=\"c1\", frame=N) shows a frame"),
            "{said}"
        );
        assert!(said.contains("RESTARTS (then=…)\n  next    skips"), "{said}");
    }

    #[test]
    fn an_unknown_crash_is_answered_with_those_there_are() {
        let said = Scripted::with(vec![summary("c1")]).call("get_crash", json!({"crash_id": "c9"}));
        assert_eq!(
            said,
            "error: no program has a crash \"c9\"\n\
             next: these exist: c1 paused KeyError: 'price' at total (/shop/cart.py:4), 590 s left"
        );
        let said = Scripted::with(vec![]).call("get_crash", json!({"crash_id": "c9"}));
        assert!(said.contains("list_crashes(wait_s=25) waits for one"), "{said}");
    }

    #[test]
    fn programs_get_the_report_as_a_value() {
        let world = Scripted::default().replying(Ok(Reply::Crash(Box::new(sample()))));
        let value = world.value("get_crash", json!({"crash_id": "c1"}));
        assert_eq!(value["frames"][0]["variables"][0]["name"], "row");
    }
}
