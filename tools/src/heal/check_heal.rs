//! `check_heal`: may this heal run, and what would it change?

use protocol::{Check, HealProposal, Refusal, Reply, Request, ResumeAction, StateChange, VerdictKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool::{Context, Effect, TypedTool, unexpected};
use crate::{Answer, ToolError, schema, text};

pub(crate) struct CheckHeal;

/// Try healing code on the paused program, take it back, and judge it: allow (with heal_id for resume), needs-approval (by a
/// person) or deny, plus what it would change. The code is HealCore, a small
/// Python over the frame's names: assignments to names, items and attributes, del x[k], if, for, while, try, assert,
/// comprehensions, f-strings, pure builtins and modules (math, re, json, datetime, decimal...), methods of builtin types.
/// Toolkit: heal.clamp, date, default, number, pad, save.
/// No def, class, lambda (but key=), with, walrus, dunder names, files, os, sys. Empty code is a resume action alone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    crash_id: String,
    /// HealCore; default empty.
    #[serde(default)]
    code: String,
    /// Where to go on: next statement, retry the failing one, a line, return from the frame, raise on, or raise-new: another exception, for a handler of the program. Leave out when the code ends in return, break or continue.
    then: Option<Then>,
    /// For then=return: an expression; default None. For raise-new: the exception, as KeyError("id").
    value: Option<String>,
    /// For then=line: a line of the frame's file.
    line: Option<u32>,
    /// Frame to heal, default 0; an outer frame drops the inner ones.
    frame: Option<usize>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Then {
    Next,
    Retry,
    Line,
    Return,
    Raise,
    #[serde(rename = "raise-new")]
    RaiseNew,
}

#[derive(JsonSchema, Serialize)]
struct Output {
    /// allow, needs-approval or deny.
    verdict: String,
    /// For resume; absent when denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    heal_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_s: Option<u64>,
    reason: String,
    /// healcore, run, guard or jump: the check that decided.
    stage: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    rule: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    violations: Vec<Violation>,
    /// Written places: old -> new.
    changes: Vec<String>,
    /// Where the program would go on.
    effect: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    behaviours: Vec<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    printed: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
    /// The protected operation that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    protected: Option<String>,
    /// The healed value that matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// How far ahead it was looked.
    checked_until: String,
    /// ask or deny: the program's policy for what is not confirmed.
    policy: String,
    /// What to do next.
    next: String,
}

#[derive(JsonSchema, Serialize)]
struct Violation {
    rule: String,
    line: u32,
    column: u32,
    message: String,
    help: String,
}

/// Lists in an answer are cut to so many entries.
const MOST_ENTRIES: usize = 30;

impl TypedTool for CheckHeal {
    const NAME: &'static str = "check_heal";
    const TITLE: &'static str = "Check a heal";
    const EFFECT: Effect = Effect {
        read_only: false,
        destructive: false,
        idempotent: true,
        open_world: false,
    };
    type Input = Input;
    const OUTPUT: Option<fn() -> Value> = Some(schema::of_output::<Output>);

    fn run(cx: &Context<'_>, input: Input) -> Result<Answer, ToolError> {
        let crash_id = input.crash_id.clone();
        let proposal = proposal(input)?;
        let request = Request::Check {
            crash_id: crash_id.clone(),
            proposal,
        };
        match cx.ask(&crash_id, request)? {
            Reply::Checked(check) => {
                let output = output(&crash_id, *check);
                Ok(Answer::structured(render(&output), &output))
            }
            other => Err(unexpected(&other)),
        }
    }
}

fn proposal(input: Input) -> Result<HealProposal, ToolError> {
    let then = input.then.map(|then| match then {
        Then::Next => ResumeAction::Next,
        Then::Retry => ResumeAction::Retry,
        Then::Line => ResumeAction::Line,
        Then::Return => ResumeAction::Return,
        Then::Raise => ResumeAction::Raise,
        Then::RaiseNew => ResumeAction::RaiseNew,
    });
    let goes_to_a_line = matches!(then, Some(ResumeAction::Line));
    let raises_new = matches!(then, Some(ResumeAction::RaiseNew));
    let takes_value = raises_new || matches!(then, Some(ResumeAction::Return));
    let fault = if goes_to_a_line && input.line.is_none() {
        Some(("then=line needs a line", "add line=N, a line of the frame's file"))
    } else if !goes_to_a_line && input.line.is_some() {
        Some((
            "line goes with then=line only",
            "leave line out, or set then=\"line\"",
        ))
    } else if !takes_value && input.value.is_some() {
        Some((
            "value goes with then=return or raise-new only",
            "leave value out, or set then=\"return\"",
        ))
    } else if raises_new && input.value.is_none() {
        Some((
            "then=raise-new needs a value",
            "add value, the exception, such as KeyError(\"id\")",
        ))
    } else if then.is_none() && input.code.trim().is_empty() {
        Some((
            "there is neither code nor then",
            "add then=\"next\", or code and then=\"retry\"",
        ))
    } else {
        None
    };
    if let Some((message, hint)) = fault {
        return Err(ToolError::input(message, hint));
    }
    Ok(HealProposal {
        frame: input.frame.unwrap_or(0),
        code: input.code,
        then,
        value: input.value,
        line: input.line,
    })
}

fn output(crash_id: &str, check: Check) -> Output {
    let crash_id = text::quoted(crash_id);
    let verdict = check.verdict;
    let next = match (verdict.verdict, &check.heal_id) {
        (VerdictKind::Allow, Some(heal_id)) => {
            format!("resume(crash_id={crash_id}, heal_id={})", text::quoted(heal_id))
        }
        (VerdictKind::NeedsApproval, Some(heal_id)) => format!(
            "tell the person what it changes and why, and ask for approval; after that \
             resume(crash_id={crash_id}, heal_id={})",
            text::quoted(heal_id)
        ),
        (VerdictKind::NeedsApproval, None) => {
            "this needs a person: say what it changes and why, or check a heal that stays clear of protected operations"
                .to_owned()
        }
        (VerdictKind::Allow | VerdictKind::Deny, _) => {
            format!("write another heal, then check_heal(crash_id={crash_id}, …) again")
        }
    };
    Output {
        verdict: match verdict.verdict {
            VerdictKind::Allow => "allow",
            VerdictKind::NeedsApproval => "needs-approval",
            VerdictKind::Deny => "deny",
        }
        .to_owned(),
        expires_s: check.heal_id.as_ref().map(|_| check.expires_s),
        heal_id: check.heal_id,
        reason: text::clip(&verdict.reason, 1_000),
        stage: verdict.stage,
        rule: verdict.rule,
        violations: check
            .violations
            .into_iter()
            .take(MOST_ENTRIES)
            .map(violation)
            .collect(),
        changes: entries(check.changes.iter().map(change).collect()),
        effect: check.effect,
        behaviours: check.behaviours,
        printed: text::clip(&check.printed, 1_000),
        notes: entries(check.notes),
        protected: verdict.sink,
        source: verdict.source.as_ref().map(change),
        checked_until: verdict.checked_until,
        policy: verdict.policy,
        next,
    }
}

fn entries(mut entries: Vec<String>) -> Vec<String> {
    if entries.len() > MOST_ENTRIES {
        let n_more = entries.len() - MOST_ENTRIES;
        entries.truncate(MOST_ENTRIES);
        entries.push(format!("… +{n_more} more: check a smaller heal to see them"));
    }
    entries
}

fn change(change: &StateChange) -> String {
    format!(
        "{}: {} -> {}",
        change.place,
        text::clip(&change.old, 240),
        text::clip(&change.new, 240)
    )
}

fn violation(refusal: Refusal) -> Violation {
    Violation {
        rule: refusal.rule,
        line: refusal.line,
        column: refusal.column,
        message: text::clip(&refusal.message, 300),
        help: text::clip(&refusal.help, 300),
    }
}

/// The same for people.
fn render(output: &Output) -> String {
    let mut first = format!("{} ({})", output.verdict, output.stage);
    if !output.rule.is_empty() {
        first.push_str(&format!(" {}", output.rule));
    }
    if !output.reason.is_empty() {
        first.push_str(&format!(": {}", output.reason));
    }
    let mut lines = vec![first];
    for violation in &output.violations {
        lines.push(format!(
            "  {}:{} {} {}\n      write instead: {}",
            violation.line, violation.column, violation.rule, violation.message, violation.help
        ));
    }
    if let Some(source) = &output.source {
        lines.push(format!("  healed value: {source}"));
    }
    if let Some(protected) = &output.protected {
        lines.push(format!("  protected operation: {protected}"));
    }
    if output.changes.is_empty() {
        lines.push("changes nothing".to_owned());
    } else {
        lines.push("would change (taken back after the check)".to_owned());
        lines.extend(output.changes.iter().map(|change| format!("  {change}")));
    }
    if !output.printed.is_empty() {
        lines.push(format!("printed: {}", output.printed.trim_end()));
    }
    if !output.effect.is_empty() {
        lines.push(format!("then {}", output.effect));
    }
    if !output.behaviours.is_empty() {
        lines.push(format!("behaviours: {}", output.behaviours.join(", ")));
    }
    lines.extend(output.notes.iter().map(|note| format!("note: {note}")));
    if let (Some(heal_id), Some(expires_s)) = (&output.heal_id, output.expires_s) {
        lines.push(format!("heal {heal_id}, good for {expires_s} s"));
    }
    lines.push(format!("next: {}", output.next));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use protocol::Verdict;
    use serde_json::json;

    use super::*;
    use crate::scripted::Scripted;

    fn sample(verdict: VerdictKind, heal_id: Option<&str>) -> Check {
        Check {
            heal_id: heal_id.map(str::to_owned),
            verdict: Verdict {
                verdict,
                stage: "guard".to_owned(),
                rule: String::new(),
                reason: String::new(),
                source: None,
                sink: None,
                checked_until: "the end of the code".to_owned(),
                policy: "ask".to_owned(),
            },
            violations: Vec::new(),
            changes: vec![StateChange {
                kind: "item".to_owned(),
                place: "row['price']".to_owned(),
                old: "<unset>".to_owned(),
                new: "5".to_owned(),
                heal_line: 1,
            }],
            printed: String::new(),
            effect: "retries line 4".to_owned(),
            behaviours: vec!["fill-container".to_owned()],
            notes: Vec::new(),
            expires_s: 300,
        }
    }

    #[track_caller]
    fn check(check: Check, expect: &str) {
        let world = Scripted::default().replying(Ok(Reply::Checked(Box::new(check))));
        let arguments = json!({"crash_id": "c1", "code": "row['price'] = 5", "then": "retry"});
        assert_eq!(world.call("check_heal", arguments), expect);
        assert_eq!(
            world.asked(),
            r#"{"verb":"check","crash_id":"c1","proposal":{"frame":0,"code":"row['price'] = 5","then":"retry","value":null,"line":null}}"#
        );
    }

    #[test]
    fn an_allowed_heal_has_its_id_in_the_next_call() {
        check(
            sample(VerdictKind::Allow, Some("h1")),
            "allow (guard)\n\
             would change (taken back after the check)\n  row['price']: <unset> -> 5\n\
             then retries line 4\n\
             behaviours: fill-container\n\
             heal h1, good for 300 s\n\
             next: resume(crash_id=\"c1\", heal_id=\"h1\")",
        );
    }

    #[test]
    fn a_denied_heal_says_what_to_write_instead() {
        let mut denied = sample(VerdictKind::Deny, None);
        denied.verdict.stage = "healcore".to_owned();
        denied.verdict.rule = "HC204".to_owned();
        denied.verdict.reason = "the code is not HealCore".to_owned();
        denied.changes.clear();
        denied.effect.clear();
        denied.behaviours.clear();
        denied.violations = vec![Refusal {
            rule: "HC204".to_owned(),
            line: 1,
            column: 1,
            message: "import is not allowed".to_owned(),
            help: "use a module that the frame already has".to_owned(),
        }];
        check(
            denied,
            "deny (healcore) HC204: the code is not HealCore\n  \
             1:1 HC204 import is not allowed\n      write instead: use a module that the frame already has\n\
             changes nothing\n\
             next: write another heal, then check_heal(crash_id=\"c1\", …) again",
        );
    }

    #[test]
    fn many_changes_are_counted() {
        let mut many = sample(VerdictKind::Allow, Some("h1"));
        many.changes = vec![many.changes[0].clone(); 40];
        let world = Scripted::default().replying(Ok(Reply::Checked(Box::new(many))));
        let value = world.value("check_heal", json!({"crash_id": "c1", "then": "next"}));
        assert_eq!(value["changes"].as_array().unwrap().len(), 31);
        assert_eq!(
            value["changes"][30],
            "… +10 more: check a smaller heal to see them"
        );
    }

    #[track_caller]
    fn check_refused(arguments: Value, expect: &str) {
        let said = Scripted::default().call("check_heal", arguments);
        assert!(said.starts_with(&format!("error: {expect}\n")), "{said}");
    }

    #[test]
    fn arguments_that_contradict_each_other_are_refused_before_anybody_is_asked() {
        check_refused(json!({"crash_id": "c1"}), "there is neither code nor then");
        check_refused(
            json!({"crash_id": "c1", "then": "line"}),
            "then=line needs a line",
        );
        check_refused(
            json!({"crash_id": "c1", "then": "next", "line": 3}),
            "line goes with then=line only",
        );
        check_refused(
            json!({"crash_id": "c1", "then": "next", "value": "3"}),
            "value goes with then=return or raise-new only",
        );
        check_refused(
            json!({"crash_id": "c1", "then": "return", "value": "3", "line": 3}),
            "line goes with then=line only",
        );
    }
}
