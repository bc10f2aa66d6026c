//! The folders are the architecture: crates know each other only as ARCHITECTURE.md says.

use std::collections::BTreeMap;

use serde_json::Value;

/// Each crate with the crates of this workspace that it may depend on.
const EDGES: [(&str, &[&str]); 7] = [
    (
        "healmcp",
        &["tools", "repo-index", "healcore", "healguard", "protocol"],
    ),
    ("tools", &["repo-index", "healcore", "healguard", "protocol"]),
    ("runtime", &["healcore", "healguard", "protocol"]),
    ("repo-index", &[]),
    ("healcore", &[]),
    ("healguard", &[]),
    ("protocol", &[]),
];

/// Libraries that one crate, or none, may use: (library, the crates that may).
const LIBRARIES: [(&str, &[&str]); 7] = [
    ("rmcp", &["healmcp"]),
    ("tokio", &["healmcp"]),
    ("clap", &["healmcp"]),
    ("pyo3", &["runtime"]),
    ("nix", &["healmcp", "runtime"]),
    ("tree-sitter", &["repo-index"]),
    ("ruff_python_parser", &["healcore", "runtime"]),
];

/// The longest a source file may be before it is two ideas.
const MAX_LINES: usize = 1_000;

fn metadata() -> Value {
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The normal and build dependencies of each crate of the workspace.
fn dependencies() -> BTreeMap<String, Vec<String>> {
    let name = |value: &Value| value["name"].as_str().unwrap().to_owned();
    let packages = metadata()["packages"].as_array().unwrap().clone();
    let dependencies = |package: &Value| {
        let all = package["dependencies"].as_array().unwrap().clone();
        all.iter()
            .filter(|dependency| dependency["kind"] != "dev")
            .map(name)
            .collect()
    };
    packages
        .iter()
        .map(|package| (name(package), dependencies(package)))
        .collect()
}

#[test]
fn every_crate_is_known_and_keeps_its_edges() {
    let dependencies = dependencies();
    let known: Vec<&str> = EDGES.iter().map(|(name, _)| *name).collect();
    for (name, used) in &dependencies {
        let Some((_, allowed)) = EDGES.iter().find(|(known, _)| known == name) else {
            panic!("crate {name} is in no edge: say in ARCHITECTURE.md and here what it may know");
        };
        for other in used.iter().filter(|other| known.contains(&other.as_str())) {
            assert!(allowed.contains(&other.as_str()), "{name} must not know {other}");
        }
    }
    assert_eq!(
        dependencies.len(),
        EDGES.len(),
        "an edge names a crate that is gone"
    );
}

#[test]
fn libraries_stay_in_their_crates() {
    for (name, used) in dependencies() {
        for (library, crates) in LIBRARIES {
            let uses = used.iter().any(|other| other == library);
            assert!(
                !uses || crates.contains(&name.as_str()),
                "{name} must not use {library}"
            );
        }
    }
}

#[test]
fn source_files_open_with_what_they_are_for_and_stay_small() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = std::process::Command::new("git")
        .args(["ls-files", "*.rs"])
        .current_dir(root)
        .output()
        .unwrap();
    let files = String::from_utf8(listed.stdout).unwrap();
    assert!(files.lines().count() > 50, "git lists the sources");
    for file in files.lines() {
        let Ok(text) = std::fs::read_to_string(root.join(file)) else {
            continue;
        };
        assert!(text.starts_with("//!"), "{file} does not open with //!");
        assert!(
            text.lines().count() <= MAX_LINES,
            "{file} is longer than {MAX_LINES} lines"
        );
    }
}
