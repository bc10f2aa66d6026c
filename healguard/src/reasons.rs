//! The reasons of the guard, one stable id each: 1xx the policy, 2xx the heal itself, 3xx what it reaches.

use crate::policy::OnUnconfirmed;
use crate::verdict::VerdictKind;

/// One reason to stop a heal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Never changes its meaning.
    pub id: ReasonId,
    /// In words, for lists and configuration.
    pub name: &'static str,
    /// What is wrong: one sentence, without the names of this case.
    pub message: &'static str,
    /// What to do instead.
    pub help: &'static str,
    /// Whether a person may let it pass.
    pub may_be_approved: bool,
}

/// Names a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasonId {
    /// HG101.
    UnresolvedName,
    /// HG201.
    ProtectedCallInHeal,
    /// HG202.
    ProtectedAttributeWritten,
    /// HG203.
    InsideProtectedContext,
    /// HG204.
    BehaviourNotAllowed,
    /// HG301.
    HealedValueReaches,
    /// HG303.
    ProtectedCallSkipped,
    /// HG304.
    HealedNameReaches,
}

/// All reasons, in the order of their ids.
pub const REASONS: &[Reason] = &[
    Reason {
        id: ReasonId::UnresolvedName,
        name: "unresolved-name",
        message: "a name of the guard's configuration stands for nothing in the program",
        help: "correct the name in [tool.healmcp.guard]; until then nothing guards what it was meant for",
        may_be_approved: true,
    },
    Reason {
        id: ReasonId::ProtectedCallInHeal,
        name: "protected-call-in-heal",
        message: "the healing code calls a protected operation",
        help: "repair the state that the program needs, and let the program itself make the call",
        may_be_approved: false,
    },
    Reason {
        id: ReasonId::ProtectedAttributeWritten,
        name: "protected-attribute-written",
        message: "the healing code writes a protected attribute",
        help: "repair the values it is computed from, or leave it to the program",
        may_be_approved: false,
    },
    Reason {
        id: ReasonId::InsideProtectedContext,
        name: "inside-protected-context",
        message: "the program would go on inside a protected context with state that was healed",
        help: "choose `raise`, so that the context is left as the program's developers meant it",
        may_be_approved: true,
    },
    Reason {
        id: ReasonId::BehaviourNotAllowed,
        name: "behaviour-not-allowed",
        message: "the heal does what the program's configuration does not let heals do",
        help: "heal in one of the ways that `allow-behaviours` of [tool.healmcp.guard] names",
        may_be_approved: false,
    },
    Reason {
        id: ReasonId::HealedValueReaches,
        name: "healed-value-reaches",
        message: "a value that the heal wrote reaches a protected operation",
        help: "heal so that the protected operation gets only values that the program made itself, or ask a person",
        may_be_approved: true,
    },
    Reason {
        id: ReasonId::ProtectedCallSkipped,
        name: "protected-call-skipped",
        message: "the statement that would be skipped calls a protected operation",
        help: "choose `retry` after repairing the state, so that the program makes the call",
        may_be_approved: true,
    },
    Reason {
        id: ReasonId::HealedNameReaches,
        name: "healed-name-reaches",
        message: "a variable that the heal wrote is used in a call of a protected operation",
        help: "heal another variable, or ask a person to approve this one",
        may_be_approved: true,
    },
];

impl ReasonId {
    /// Returns the id as it is written: `HG201`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnresolvedName => "HG101",
            Self::ProtectedCallInHeal => "HG201",
            Self::ProtectedAttributeWritten => "HG202",
            Self::InsideProtectedContext => "HG203",
            Self::BehaviourNotAllowed => "HG204",
            Self::HealedValueReaches => "HG301",
            Self::ProtectedCallSkipped => "HG303",
            Self::HealedNameReaches => "HG304",
        }
    }

    /// Returns the reason with its words.
    pub fn reason(self) -> &'static Reason {
        REASONS
            .iter()
            .find(|reason| reason.id == self)
            .expect("a test finds every id in the list")
    }
}

impl Reason {
    /// Returns the page that explains it.
    pub fn page(&self) -> String {
        let approval = if self.may_be_approved {
            "A person may approve it where `on-unconfirmed` is `ask`."
        } else {
            "Nobody can approve it."
        };
        let (first, rest) = self.message.split_at(1);
        let (help, rest_of_help) = self.help.split_at(1);
        format!(
            "## {} {}\n\n{}{rest}. {approval}\n\nInstead: {}{rest_of_help}.",
            self.id.as_str(),
            self.name,
            first.to_uppercase(),
            help.to_lowercase(),
        )
    }

    /// Returns what becomes of a heal for this reason, where the policy says `on_unconfirmed`.
    pub fn verdict(&self, on_unconfirmed: OnUnconfirmed) -> VerdictKind {
        match (self.may_be_approved, on_unconfirmed) {
            (true, OnUnconfirmed::Ask) => VerdictKind::NeedsApproval,
            (true, OnUnconfirmed::Deny) | (false, _) => VerdictKind::Deny,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{REASONS, ReasonId};

    #[test]
    fn every_id_has_its_reason_and_the_list_is_in_order() {
        let all = [
            ReasonId::UnresolvedName,
            ReasonId::ProtectedCallInHeal,
            ReasonId::ProtectedAttributeWritten,
            ReasonId::InsideProtectedContext,
            ReasonId::BehaviourNotAllowed,
            ReasonId::HealedValueReaches,
            ReasonId::ProtectedCallSkipped,
            ReasonId::HealedNameReaches,
        ];
        assert_eq!(all.len(), REASONS.len());
        for id in all {
            assert_eq!(id.reason().id, id);
        }
        assert!(REASONS.is_sorted_by_key(|reason| reason.id.as_str()));
    }
}
