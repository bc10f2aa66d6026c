//! Calls of the program in healing code: what changes nothing runs, all else is refused.

use std::path::Path;
use std::process::Command;

use crate::program::{HANG, HEALMCP, to_the_end_within};
use crate::python::on_each;

#[test]
fn calls_run_only_where_they_change_nothing() {
    on_each(|python| {
        let extension = Path::new(HEALMCP).with_file_name("libhealmcp_runtime.so");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/purity.py");
        let mut command = Command::new(&python.path);
        command.args(["-B", "-W", "ignore"]).arg(script).arg(extension);
        let ended = to_the_end_within(command, 5 * HANG);
        assert_eq!(ended.code, 0, "{}{}", ended.stdout, ended.stderr);
    });
}
