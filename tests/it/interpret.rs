//! Heals over live objects: they do what CPython does, or are stopped with everything as it was.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::program::{Ended, HEALMCP, to_the_end_within};
use crate::python::on_each;

/// The newest minor version on which these were run.
const NEWEST: u8 = 13;

/// How many generated programs run, and which: `HEALMCP_GENERATED=10000` is the nightly size.
const GENERATED: &str = "HEALMCP_GENERATED";
const SEED: &str = "HEALMCP_SEED";

/// Enough for the nightly size on a busy machine.
const LONGEST: Duration = Duration::from_secs(3_600);

/// What a script of `tests/python` says to arguments, in a given interpreter.
fn script(python: &Path, name: &str, words: &[&str]) -> Ended {
    let extension = Path::new(HEALMCP).with_file_name("libhealmcp_runtime.so");
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/python")
        .join(name);
    let mut command = Command::new(python);
    command
        .args(["-B", "-W", "ignore"])
        .arg(script)
        .arg(extension)
        .args(words);
    to_the_end_within(command, LONGEST)
}

#[test]
fn programs_end_as_in_cpython() {
    let n_generated = std::env::var(GENERATED).unwrap_or_else(|_| "500".to_owned());
    let seed = std::env::var(SEED).unwrap_or_else(|_| "1".to_owned());
    on_each(|python| {
        if python.minor > NEWEST {
            return;
        }
        let words = ["--generated", n_generated.as_str(), "--seed", seed.as_str()];
        let ended = script(&python.path, "interpret_differential.py", &words);
        assert_eq!(
            ended.code, 0,
            "with {GENERATED}={n_generated} {SEED}={seed}:\n{}{}",
            ended.stdout, ended.stderr
        );
    });
}

#[test]
fn escapes_are_stopped() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/escapes.jsonl");
    on_each(|python| {
        if python.minor > NEWEST {
            return;
        }
        let ended = script(&python.path, "escapes.py", &[cases.to_str().unwrap()]);
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    });
}
