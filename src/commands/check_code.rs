//! `healmcp check-code`: is this HealCore? Needs no crash.

use std::path::{Path, PathBuf};

use healcore::{Options, Violation};
use serde_json::json;

use super::verbs::{Form, read_text};
use crate::error::Result;
use crate::render::Done;

/// Check healing code against the rules of HealCore, without a crash. Exit code 0 when it is accepted, else 1.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The file of the code, `-` for standard input.
    file: PathBuf,
    #[command(flatten)]
    pub(crate) form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let code = read_text(&args.file)?;
    let violations = healcore::check(&code, &Options::default()).violations;
    Ok(Done {
        text: if args.form.json {
            format!(
                "{:#}",
                json!({"accepted": violations.is_empty(), "violations": violations})
            )
        } else {
            text(&args.file, &violations)
        },
        code: u8::from(!violations.is_empty()),
    })
}

fn text(file: &Path, violations: &[Violation]) -> String {
    if violations.is_empty() {
        return "accepted".to_owned();
    }
    let lines = violations.iter().map(|violation| {
        let Violation {
            rule,
            line,
            column,
            message,
            help,
        } = violation;
        format!(
            "{}:{line}:{column}: {rule} {message}\n  help: {help}\n",
            file.display()
        )
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(code: &str, code_expected: u8) -> Done {
        let temporary = tempfile::tempdir().unwrap();
        let file = temporary.path().join("heal.py");
        std::fs::write(&file, code).unwrap();
        let form = Form { json: true };
        let done = run(&Args { file, form }).unwrap();
        assert_eq!(done.code, code_expected, "{}", done.text);
        done
    }

    #[test]
    fn what_is_accepted_has_no_violation() {
        assert_eq!(
            check("x = 1\n", 0).text,
            "{\n  \"accepted\": true,\n  \"violations\": []\n}"
        );
    }

    #[test]
    fn a_violation_has_its_five_fields() {
        let said: serde_json::Value = serde_json::from_str(&check("x = 1\nimport os\n", 1).text).unwrap();
        assert_eq!(said["accepted"], false);
        let keys: Vec<&String> = said["violations"][0].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["rule", "line", "column", "message", "help"]);
        assert_eq!(said["violations"][0]["line"], 2);
    }
}
