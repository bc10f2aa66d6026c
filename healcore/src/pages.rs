//! The pages of `specs/`, built in, so that a rule can be explained where it is broken.

/// The pages, by name.
const PAGES: &[&str] = &[
    include_str!("../specs/text.md"),
    include_str!("../specs/statements.md"),
    include_str!("../specs/exceptions.md"),
    include_str!("../specs/expressions.md"),
    include_str!("../specs/names.md"),
    include_str!("../specs/attributes.md"),
    include_str!("../specs/calls.md"),
    include_str!("../specs/strings.md"),
    include_str!("../specs/limits.md"),
    include_str!("../specs/running.md"),
];

/// Returns the section of the pages that explains a rule.
///
/// ```
/// assert!(healcore::explain("HC101").is_some_and(|text| text.starts_with("## HC101 dunder-attribute")));
/// assert_eq!(healcore::explain("HC000"), None);
/// ```
pub fn explain(rule: &str) -> Option<&'static str> {
    PAGES.iter().find_map(|page| {
        let heading = format!("\n## {rule} ");
        let start = page.find(&heading)? + 1;
        let section = &page[start..];
        let end = section[1..].find("\n## ").map_or(section.len(), |end| end + 1);
        Some(section[..end].trim_end())
    })
}

/// The pages that are not about rules, by the word that asks for them.
const TOPICS: &[(&str, &str)] = &[
    ("behaviours", include_str!("../specs/behaviours.md")),
    ("toolkit", include_str!("../specs/toolkit.md")),
];

/// Returns the words that [`topic`] knows.
pub fn topics() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|(name, _)| *name)
}

/// Returns the page of a topic.
///
/// ```
/// assert!(healcore::topic("toolkit").is_some_and(|page| page.starts_with("# The toolkit")));
/// ```
pub fn topic(name: &str) -> Option<&'static str> {
    TOPICS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, page)| *page)
}

#[cfg(test)]
mod tests {
    use super::{PAGES, explain};
    use crate::rules;

    #[test]
    fn each_rule_is_explained_once_under_its_name() {
        for rule in rules() {
            let heading = format!("## {} {}\n", rule.id, rule.name);
            let n_headings: usize = PAGES.iter().map(|page| page.matches(&heading).count()).sum();
            assert_eq!(n_headings, 1, "{heading}");
            assert!(explain(rule.id).is_some(), "{}", rule.id);
        }
        let n_sections: usize = PAGES.iter().map(|page| page.matches("\n## ").count()).sum();
        assert_eq!(n_sections, rules().len());
    }
}
