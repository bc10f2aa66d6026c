//! What must hold of the check of any text.

use std::time::{Duration, Instant};

use healcore::{Checked, Limits, Options, ProgramCalls, PythonMinor};

/// No text within the limits takes the checker so long, even under a fuzzing engine on a busy machine.
const LONGEST: Duration = Duration::from_secs(2);

/// Checks a text in all ways, and panics where something does not hold.
pub fn check(source: &str) {
    for (python_minor, program_calls) in [(11, ProgramCalls::Allow), (13, ProgramCalls::Refuse)] {
        let options = Options {
            program_calls,
            python_minor: PythonMinor(python_minor),
            ..Options::default()
        };
        let started = Instant::now();
        let checked = healcore::check(source, &options);
        let expression = healcore::check_expression(source, &options);
        assert!(
            started.elapsed() < LONGEST,
            "the check took {:?}",
            started.elapsed()
        );
        holds(source, &checked, &options);
        assert_eq!(
            expression.expression.is_some(),
            expression.violations.is_empty(),
            "an expression is there where nothing is against it"
        );
    }
}

fn holds(source: &str, checked: &Checked, options: &Options) {
    assert_eq!(
        checked.program.is_some(),
        checked.violations.is_empty(),
        "a tree is there where nothing is against it"
    );
    let n_lines = source.split(['\n', '\r']).count();
    for violation in &checked.violations {
        assert!(
            violation.line as usize <= n_lines.max(1),
            "line {} is not there",
            violation.line
        );
        assert!(
            !violation.message.is_empty() && !violation.help.is_empty(),
            "{} says nothing",
            violation.rule
        );
        assert!(
            healcore::explain(violation.rule).is_some(),
            "{} has no page",
            violation.rule
        );
    }
    if checked.program.is_none() {
        return;
    }
    let limits = Limits::default();
    assert!(
        source.len() <= limits.source_bytes,
        "too long a text was accepted"
    );
    assert!(
        !source.contains(['\0', '\u{c}', '\u{feff}']),
        "a hidden character was accepted"
    );
    // What is accepted is accepted again, with the same tree, and with a line after it.
    assert_eq!(
        &healcore::check(source, options),
        checked,
        "a second check differs"
    );
    let longer = format!("{}\n# the end\n", source.trim_end());
    let spares_room = longer.len() <= limits.source_bytes;
    if spares_room && !source.trim_end().ends_with('\\') {
        let again = healcore::check(&longer, options);
        assert_eq!(
            again.violations,
            Vec::new(),
            "a comment after it makes a violation"
        );
    }
}
