//! Verdicts: may a heal run, and why not.

use crate::behaviour::Behaviour;
use crate::policy::{OnUnconfirmed, Policy, Protected};
use crate::reasons::ReasonId;

/// May a heal run?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictKind {
    /// Yes.
    Allow,
    /// Only when a person approves.
    NeedsApproval,
    /// No.
    Deny,
}

/// The guard's answer about one heal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The answer.
    pub kind: VerdictKind,
    /// Which check decided: always `guard` here.
    pub stage: &'static str,
    /// The reason's id; empty for an allowed heal.
    pub rule: &'static str,
    /// One sentence.
    pub reason: String,
    /// The protected operation that matters: its dotted name, with its label where the developers gave one.
    pub sink: Option<String>,
    /// `ask` or `deny`: what the policy says of unconfirmed heals.
    pub policy: &'static str,
    /// How far it was looked at.
    pub checked_until: String,
}

impl Verdict {
    /// Returns the verdict about a heal that nothing speaks against, looked at until `checked_until`.
    pub fn allow(on_unconfirmed: OnUnconfirmed, checked_until: impl Into<String>) -> Self {
        Self {
            kind: VerdictKind::Allow,
            stage: "guard",
            rule: "",
            reason: "nothing protected is reached".to_owned(),
            sink: None,
            policy: on_unconfirmed.as_str(),
            checked_until: checked_until.into(),
        }
    }

    /// Returns the verdict for `reason`, about `protected`, with the place in the heal or program as `evidence`.
    pub fn because(
        reason: ReasonId,
        protected: &Protected,
        evidence: &str,
        on_unconfirmed: OnUnconfirmed,
    ) -> Self {
        let words = reason.reason();
        let sink = sink_of(protected);
        let mut sentence = format!("{}: {sink}", words.message);
        if !evidence.is_empty() {
            sentence.push_str(&format!(" ({evidence})"));
        }
        Self {
            kind: words.verdict(on_unconfirmed),
            stage: "guard",
            rule: reason.as_str(),
            reason: sentence,
            sink: Some(sink),
            policy: on_unconfirmed.as_str(),
            checked_until: "the protected operation".to_owned(),
        }
    }

    /// Returns the denial of a heal that does what `policy` does not allow; nothing where it allows it all.
    pub fn on_behaviours(behaviours: &[Behaviour], policy: &Policy) -> Option<Self> {
        let refused = policy.refused(behaviours);
        if refused.is_empty() {
            return None;
        }
        let words = ReasonId::BehaviourNotAllowed.reason();
        let list = |behaviours: &[Behaviour]| {
            let names: Vec<&str> = behaviours.iter().map(|behaviour| behaviour.as_str()).collect();
            names.join(", ")
        };
        let allowed = match policy.allow_behaviours.as_deref() {
            None | Some([]) => "none".to_owned(),
            Some(allowed) => list(allowed),
        };
        Some(Self {
            kind: words.verdict(policy.on_unconfirmed),
            stage: "guard",
            rule: ReasonId::BehaviourNotAllowed.as_str(),
            reason: format!("{}: {} (allowed: {allowed})", words.message, list(&refused)),
            sink: None,
            policy: policy.on_unconfirmed.as_str(),
            checked_until: "the heal's own behaviours".to_owned(),
        })
    }
}

pub(crate) fn sink_of(protected: &Protected) -> String {
    if protected.label == protected.name() {
        protected.name().to_owned()
    } else {
        format!("{} ({})", protected.name(), protected.label)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Verdict, VerdictKind};
    use crate::behaviour::Behaviour;
    use crate::policy::Policy;
    use crate::reasons::ReasonId;

    #[test]
    fn a_behaviour_that_is_not_allowed_is_denied_by_name() {
        let policy =
            Policy::from_json(&json!({"allow-behaviours": ["change-value"]})).expect("a valid policy");
        assert_eq!(Verdict::on_behaviours(&[Behaviour::ChangeValue], &policy), None);
        let both = [Behaviour::ChangeValue, Behaviour::SkipStatement];
        let verdict = Verdict::on_behaviours(&both, &policy).expect("a denial");
        assert_eq!((verdict.kind, verdict.rule), (VerdictKind::Deny, "HG204"));
        assert_eq!(
            verdict.reason,
            "the heal does what the program's configuration does not let heals do: skip-statement (allowed: change-value)"
        );
    }

    fn check(on_unconfirmed: &str, reason: ReasonId, expect: VerdictKind, sentence: &str) {
        let policy = Policy::from_json(&json!({
            "on-unconfirmed": on_unconfirmed,
            "protected": [{"op": "shop.pay.charge", "label": "payments"}],
        }))
        .expect("a valid policy");
        let verdict = Verdict::because(reason, &policy.protected[0], "heal line 2", policy.on_unconfirmed);
        assert_eq!(verdict.kind, expect);
        assert_eq!(verdict.reason, sentence);
        assert_eq!(verdict.policy, on_unconfirmed);
    }

    #[test]
    fn a_call_in_the_heal_is_denied_whatever_the_policy() {
        let sentence =
            "the healing code calls a protected operation: shop.pay.charge (payments) (heal line 2)";
        check("ask", ReasonId::ProtectedCallInHeal, VerdictKind::Deny, sentence);
        check("deny", ReasonId::ProtectedCallInHeal, VerdictKind::Deny, sentence);
    }

    #[test]
    fn what_is_not_confirmed_follows_the_policy() {
        let sentence = "a value that the heal wrote reaches a protected operation: shop.pay.charge (payments) \
                        (heal line 2)";
        check(
            "ask",
            ReasonId::HealedValueReaches,
            VerdictKind::NeedsApproval,
            sentence,
        );
        check("deny", ReasonId::HealedValueReaches, VerdictKind::Deny, sentence);
    }
}
