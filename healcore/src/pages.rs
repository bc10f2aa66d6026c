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
];

/// Returns the section of the pages that explains a rule.
///
/// ```
/// assert!(healcore::explain("HC101").is_some_and(|text| text.starts_with("## HC101 dunder-attribute")));
/// assert_eq!(healcore::explain("HC999"), None);
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
