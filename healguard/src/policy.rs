//! The policy of a program: what is protected, what is trusted, and who decides in doubt.

use crate::behaviour::Behaviour;
use crate::names::Pattern;
use crate::presets::Preset;
use crate::read::{self, PolicyError};

/// The `[tool.healmcp.guard]` table of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// What becomes of a heal that nothing forbids and nothing clears.
    pub on_unconfirmed: OnUnconfirmed,
    /// The presets that were named, in order.
    pub presets: Vec<Preset>,
    /// What is protected: the table's own entries first, then those of the presets.
    pub protected: Vec<Protected>,
    /// Operations whose result is clean.
    pub trusted: Vec<Trusted>,
    /// Functions without side effects, native or of other packages.
    pub pure: Vec<Trusted>,
    /// What heals may do; `None` where nothing is said, so that they may do anything.
    pub allow_behaviours: Option<Vec<Behaviour>>,
}

/// What becomes of a heal that is not confirmed to be harmless.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUnconfirmed {
    /// A person is asked.
    #[default]
    Ask,
    /// It is denied.
    Deny,
}

/// One protected thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Protected {
    /// What it is.
    pub target: Target,
    /// The parameters that are protected; all when empty.
    pub args: Vec<String>,
    /// The developers' name for it; the dotted name where they gave none.
    pub label: String,
    /// Whether it is also protected whether it runs at all.
    pub control: bool,
    /// The preset it comes from, if any.
    pub preset: Option<Preset>,
}

/// What kind of thing is protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A function or method.
    Operation(Pattern),
    /// An attribute of a class: `shop.acct.Account.balance`.
    Attribute(Pattern),
    /// Everything inside a `with` block of this context manager.
    Context(Pattern),
}

/// A function that is taken at its word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// Its name.
    pub op: Pattern,
}

impl Policy {
    /// Reads the table, already parsed from TOML, and reports all that is wrong with it at once.
    pub fn from_json(table: &serde_json::Value) -> Result<Self, PolicyError> {
        read::policy(table)
    }

    /// Returns the protected operation that `qualname` of `module` is, if it is one.
    pub fn matching(&self, module: &str, qualname: &str) -> Option<&Protected> {
        self.protected.iter().find(|protected| match &protected.target {
            Target::Operation(pattern) => pattern.matches(module, qualname),
            Target::Attribute(_) | Target::Context(_) => false,
        })
    }

    /// Returns the protected attribute `attribute` of the class `qualname` of `module`, if it is one.
    pub fn matching_attribute(&self, module: &str, qualname: &str, attribute: &str) -> Option<&Protected> {
        let name = format!("{qualname}.{attribute}");
        self.protected.iter().find(|protected| match &protected.target {
            Target::Attribute(pattern) => pattern.matches(module, &name),
            Target::Operation(_) | Target::Context(_) => false,
        })
    }

    /// Returns what of `behaviours` heals may not do.
    pub fn refused(&self, behaviours: &[Behaviour]) -> Vec<Behaviour> {
        let Some(allowed) = &self.allow_behaviours else {
            return Vec::new();
        };
        let refused = behaviours.iter().filter(|behaviour| !allowed.contains(behaviour));
        refused.copied().collect()
    }

    /// Returns whether nothing is protected, so that no gate is needed.
    pub fn is_empty(&self) -> bool {
        self.protected.is_empty()
    }
}

impl OnUnconfirmed {
    /// Returns the word for it in the table and in verdicts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl Protected {
    /// Returns its dotted name as the policy writes it.
    pub fn name(&self) -> &str {
        match &self.target {
            Target::Operation(pattern) | Target::Attribute(pattern) | Target::Context(pattern) => {
                pattern.as_str()
            }
        }
    }

    /// Returns whether the parameter `name` is protected.
    pub fn covers(&self, name: &str) -> bool {
        self.args.is_empty() || self.args.iter().any(|arg| arg == name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Policy;

    fn policy() -> Policy {
        Policy::from_json(&json!({
            "presets": ["process"],
            "protected": [
                {"op": "shop.pay.charge", "args": ["amount"], "label": "payments"},
                {"op": "shop.db.*"},
                {"attribute": "shop.acct.Account.balance"},
                {"context": "shop.db.transaction"},
            ],
        }))
        .expect("a valid policy")
    }

    fn check(module: &str, qualname: &str, expect: Option<&str>) {
        let policy = policy();
        let found = policy
            .matching(module, qualname)
            .map(|protected| protected.label.as_str());
        assert_eq!(found, expect, "{module}.{qualname}");
    }

    #[test]
    fn operations_are_found_by_module_and_qualname() {
        check("shop.pay", "charge", Some("payments"));
        check("shop.pay", "refund", None);
        check("shop.db", "Table.insert", Some("shop.db.*"));
        check("posix", "system", Some("os.system"));
        check("shop.acct", "Account.balance", None);
    }

    #[test]
    fn attributes_are_found_by_class() {
        let policy = policy();
        assert!(
            policy
                .matching_attribute("shop.acct", "Account", "balance")
                .is_some()
        );
        assert!(
            policy
                .matching_attribute("shop.acct", "Account", "name")
                .is_none()
        );
    }

    #[test]
    fn arguments_that_are_not_named_are_not_covered() {
        let policy = policy();
        let charge = policy.matching("shop.pay", "charge").expect("it is protected");
        assert!(charge.covers("amount"));
        assert!(!charge.covers("memo"));
        assert!(policy.protected[1].covers("anything"));
    }
}
