//! The rules of HealCore, one file a group: each has a stable id, and `RULES` is the one list of them.

pub(crate) mod attributes;
pub(crate) mod calls;
pub(crate) mod expressions;
pub(crate) mod formats;
pub(crate) mod imports;
pub(crate) mod loops;
pub(crate) mod names;
pub(crate) mod numbers;
pub(crate) mod regex;
pub mod running;
pub(crate) mod size;
pub(crate) mod statements;
pub(crate) mod text;

use serde::Serialize;

/// A rule of HealCore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The stable id.
    pub id: &'static str,
    /// The short name, in words joined by hyphens.
    pub name: &'static str,
    /// What is refused.
    pub summary: &'static str,
}

/// Returns all rules, by id.
pub fn rules() -> Vec<&'static Rule> {
    let groups: [&[Rule]; 13] = [
        attributes::RULES,
        names::RULES,
        imports::RULES,
        statements::RULES,
        expressions::RULES,
        calls::RULES,
        text::RULES,
        size::RULES,
        numbers::RULES,
        loops::RULES,
        formats::RULES,
        regex::RULES,
        running::RULES,
    ];
    let mut rules: Vec<_> = groups.into_iter().flatten().collect();
    rules.sort_by_key(|rule| rule.id);
    rules
}

/// Defines the rules of one group, and the list of them.
macro_rules! define_rules {
    ($($const:ident = $id:literal $name:literal: $summary:literal;)+) => {
        $(pub(crate) const $const: $crate::rules::Rule =
            $crate::rules::Rule { id: $id, name: $name, summary: $summary };)+
        pub(crate) const RULES: &[$crate::rules::Rule] = &[$($const),+];
    };
}
pub(crate) use define_rules;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::rules;

    #[test]
    fn ids_and_names_are_used_once() {
        let rules = rules();
        let ids: BTreeSet<_> = rules.iter().map(|rule| rule.id).collect();
        let names: BTreeSet<_> = rules.iter().map(|rule| rule.name).collect();
        assert_eq!((ids.len(), names.len()), (rules.len(), rules.len()));
    }
}
