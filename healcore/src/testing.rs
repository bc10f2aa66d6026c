//! The one way in which the tests of the rules call the checker.

use crate::{Options, check as check_heal};

/// Checks `source`; `expect` names the ids of the rules that are broken, in order, separated by spaces.
#[track_caller]
pub(crate) fn check(source: &str, expect: &str) {
    check_with(source, &Options::default(), expect);
}

/// Checks `source` with options.
#[track_caller]
pub(crate) fn check_with(source: &str, options: &Options, expect: &str) {
    let checked = check_heal(source, options);
    let mut found: Vec<_> = checked
        .violations
        .iter()
        .map(|violation| violation.rule)
        .collect();
    found.dedup();
    assert_eq!(
        found.join(" "),
        expect,
        "{source:.200}\n{:#?}",
        checked.violations
    );
    assert_eq!(checked.program.is_some(), expect.is_empty());
}
