//! The tables name what CPython has: a misspelt entry would be a promise that the interpreter cannot keep.

use std::io::Write;
use std::process::{Command, Stdio};

use healcore::tables::{Builtin, BuiltinType, ExceptionName, MODULES, RECEIVERS, TYPE_METHODS};

/// Members and methods that came after Python 3.11.
const NEWER: &[&str] = &[
    "itertools.batched",
    "math.sumprod",
    "int.is_integer",
    "bool.is_integer",
];

#[test]
fn each_entry_is_there_in_cpython() {
    let mut checks = String::from("import importlib, builtins\nmissing = []\n");
    let mut add = |module: &str, path: &str| {
        let name = format!("{module}.{path}");
        if !NEWER.iter().any(|newer| name.ends_with(newer)) {
            checks.push_str(&format!(
                "o = importlib.import_module('{module}')\n\
                 for part in '{path}'.split('.'):\n    o = getattr(o, part, None)\n    \
                 if o is None and part != 'default_factory':\n        missing.append('{name}')\n        break\n"
            ));
        }
    };
    Builtin::ALL
        .iter()
        .for_each(|builtin| add("builtins", builtin.name()));
    BuiltinType::ALL.iter().for_each(|of| add("builtins", of.name()));
    ExceptionName::ALL
        .iter()
        .for_each(|exception| add("builtins", exception.name()));
    for table in MODULES {
        table
            .members
            .iter()
            .for_each(|member| add(table.module.name(), member.path));
    }
    for (of, methods) in TYPE_METHODS {
        methods
            .iter()
            .for_each(|method| add("builtins", &format!("{}.{method}", of.name())));
    }
    for receiver in RECEIVERS
        .iter()
        .filter(|receiver| !receiver.name.starts_with("dict_"))
    {
        let names = receiver.methods.iter().chain(receiver.attributes);
        names.for_each(|name| add(receiver.module, &format!("{}.{name}", receiver.name)));
    }
    checks.push_str("assert not missing, missing\n");
    let child = Command::new("python3")
        .arg("-")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    // Where there is no CPython, there is nobody to ask.
    let Ok(mut child) = child else { return };
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin
        .write_all(checks.as_bytes())
        .expect("python3 reads its input");
    drop(stdin);
    let output = child.wait_with_output().expect("python3 ends");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
