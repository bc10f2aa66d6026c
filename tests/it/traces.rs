//! Heals that would run code of the program through C or the library, hang, kill or leave a trace: none gets through.

use std::path::Path;
use std::process::Command;

use crate::program::{HANG, HEALMCP, to_the_end_within};
use crate::python::on_each;

#[test]
fn no_heal_leaves_a_trace() {
    on_each(|python| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let extension = Path::new(HEALMCP).with_file_name("libhealmcp_runtime.so");
        let mut command = Command::new(&python.path);
        command
            .args(["-B", "-W", "ignore"])
            .arg(root.join("tests/python/traces.py"))
            .arg(extension)
            .arg(root.join("tests/traces.jsonl"));
        let ended = to_the_end_within(command, 10 * HANG);
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    });
}
