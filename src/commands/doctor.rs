//! `healmcp doctor`: would a program here be healed, and if not, why?

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::cache::{human, size_of};
use super::run::{self, search_path, settings};
use super::verbs::Form;
use crate::client::Client;
use crate::config;
use crate::error::{Error, Result};
use crate::folders::{Places, check_private};
use crate::launch::{self, Command};
use crate::render::Done;

/// Find out whether programs can be healed here, and what stands in the way. Exit code 1 when something does.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Ask these interpreters [default: those of the virtual environment and of PATH].
    #[arg(value_name = "PYTHON")]
    interpreters: Vec<OsString>,
    #[command(flatten)]
    pub(crate) form: Form,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Finding {
    name: String,
    state: State,
    text: String,
    /// What to do; empty when nothing is to be done.
    hint: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warn,
    Fail,
}

/// What the probe says from inside an interpreter.
#[derive(Debug, Deserialize)]
struct Probe {
    loaded: bool,
    trace: Option<String>,
    monitoring: Vec<String>,
    sitecustomize: Option<String>,
    coverage: Vec<String>,
}

const PROBE: &str = include_str!("../inject/probe.py");

pub(crate) fn run(args: &Args) -> Result<Done> {
    let places = Places::of_this_process();
    let mut findings = surroundings();
    findings.push(extension());
    findings.push(sockets(&places));
    findings.push(cache(&places));
    findings.extend(interpreters(&args.interpreters));
    let failed = findings.iter().any(|finding| finding.state == State::Fail);
    Ok(Done {
        text: if args.form.json {
            format!("{:#}", json!({"ok": !failed, "findings": findings}))
        } else {
            table(&findings)
        },
        code: u8::from(failed),
    })
}

impl Finding {
    fn new(name: impl Into<String>, state: State, text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            state,
            text: text.into(),
            hint: hint.into(),
        }
    }

    fn fail(name: impl Into<String>, error: &Error) -> Self {
        Self::new(name, State::Fail, error.to_string(), error.hint())
    }
}

/// Looks at the environment and at the project's configuration.
fn surroundings() -> Vec<Finding> {
    let mut findings = Vec::new();
    if std::env::var_os(protocol::SWITCH_VARIABLE).is_some_and(|switch| switch == "0") {
        let text = format!("{}=0 switches everything off", protocol::SWITCH_VARIABLE);
        findings.push(Finding::new("switch", State::Warn, text, "unset it"));
    }
    if run::runs_in_ci() {
        findings.push(Finding::new(
            "timeout",
            State::Warn,
            "CI is set: programs do not wait for a heal",
            "unset CI, or give `healmcp run --timeout 600`",
        ));
    }
    let root = std::env::current_dir().map(|current| launch::find_root(&current));
    findings.push(match root {
        Err(error) => Finding::new(
            "project",
            State::Fail,
            error.to_string(),
            "change to another folder",
        ),
        Ok(root) => match config::read(&root) {
            Ok(_) => Finding::new("project", State::Ok, root.display().to_string(), ""),
            Err(error) => Finding::fail("project", &error),
        },
    });
    findings
}

fn extension() -> Finding {
    match run::extension() {
        Ok(path) => Finding::new("extension", State::Ok, path.display().to_string(), ""),
        Err(error) => Finding::fail("extension", &error),
    }
}

fn sockets(places: &Places) -> Finding {
    let folder = places.sockets();
    if !folder.exists() {
        let text = format!("{} will be made by the first program", folder.display());
        return Finding::new("sockets", State::Ok, text, "");
    }
    if let Err(error) = check_private(&folder, places.uid) {
        return Finding::fail("sockets", &error);
    }
    let client = Client::new(folder.clone(), places.uid, "healmcp doctor");
    let peers = match client.peers() {
        Ok(peers) => peers,
        Err(error) => return Finding::new("sockets", State::Fail, error.message, error.hint),
    };
    let silent: Vec<String> = peers
        .iter()
        .filter(|peer| client.crashes_of(peer).is_err())
        .map(|peer| peer.pid.to_string())
        .collect();
    if silent.is_empty() {
        let text = format!("{}, programs that listen: {}", folder.display(), peers.len());
        return Finding::new("sockets", State::Ok, text, "");
    }
    Finding::new(
        "sockets",
        State::Warn,
        format!(
            "{}: no answer from process {}",
            folder.display(),
            silent.join(", ")
        ),
        "a program that is stopped, or of another version of healmcp",
    )
}

fn cache(places: &Places) -> Finding {
    match places.cache() {
        Ok(folder) => {
            let text = format!("{}, {}", folder.display(), human(size_of(&folder)));
            Finding::new("cache", State::Ok, text, "")
        }
        Err(error) => Finding::fail("cache", &error),
    }
}

/// Asks the named interpreters; of those found here, one that works is enough.
fn interpreters(named: &[OsString]) -> Vec<Finding> {
    if !named.is_empty() {
        return named.iter().flat_map(|name| interpreter(name)).collect();
    }
    let found = found_here();
    let mut findings: Vec<Finding> = found
        .iter()
        .flat_map(|path| interpreter(path.as_os_str()))
        .collect();
    let works = findings.iter().any(|finding| finding.state != State::Fail);
    if works {
        for finding in findings.iter_mut().filter(|finding| finding.state == State::Fail) {
            finding.state = State::Warn;
        }
    }
    if found.is_empty() {
        findings.push(Finding::new(
            "python",
            State::Fail,
            "no interpreter was found",
            "install Python 3.11 or later, or name one: `healmcp doctor PATH/TO/python`",
        ));
    }
    findings
}

/// Returns the interpreters of the virtual environment, of the project's `.venv`, of `$PATH` and of the environment in
/// which healmcp is installed, without repeats.
pub(crate) fn found_here() -> Vec<PathBuf> {
    let active = std::env::var_os("VIRTUAL_ENV").map(PathBuf::from);
    let project = std::env::current_dir()
        .ok()
        .map(|current| launch::find_root(&current).join(".venv"));
    let environments = active
        .into_iter()
        .chain(project)
        .map(|folder| folder.join("bin/python"));
    let search = search_path();
    let names = [
        "python",
        "python3",
        "python3.11",
        "python3.12",
        "python3.13",
        "python3.14",
    ];
    let on_path = names
        .iter()
        .filter_map(|name| launch::find_file(name.as_ref(), &search).ok());
    let beside = std::env::current_exe()
        .and_then(|executable| executable.canonicalize())
        .map(|executable| executable.with_file_name("python"));
    let mut seen = Vec::new();
    environments
        .chain(on_path)
        .chain(beside)
        .filter(|path| path.exists())
        .filter(|path| {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            // All shims are one script: what they are is asked of each.
            let key = if path.ends_with("bin/python") {
                path.clone()
            } else {
                real
            };
            let is_new = !seen.contains(&key);
            seen.push(key);
            is_new
        })
        .collect()
}

/// Starts an interpreter with the runtime inside and asks it.
fn interpreter(name: &std::ffi::OsStr) -> Vec<Finding> {
    let title = format!("python {}", Path::new(name).display());
    match start(name) {
        Ok((version, probe, stderr)) => judge(&title, &version, &probe, &stderr),
        Err(error) => vec![Finding::fail(title, &error)],
    }
}

fn start(name: &std::ffi::OsStr) -> Result<(String, Probe, String)> {
    let words: Vec<OsString> = vec![name.to_owned(), "-c".into(), PROBE.into()];
    let args = run::Args {
        include: Vec::new(),
        timeout: Some(0),
        command: words.clone(),
    };
    let command = Command::resolve(&words, &search_path())?;
    let cache = Places::of_this_process().cache()?;
    let version = launch::probe(&command.file, &cache)?.name();
    let settings = settings(&args, &command)?;
    let answer = run::inject(std::process::Command::new(&command.file), &settings)?
        .env_remove(protocol::SWITCH_VARIABLE)
        .args(&words[1..])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Error::failed(format!("it does not start: {error}"), "try it by hand"))?;
    let stderr = String::from_utf8_lossy(&answer.stderr).trim().to_owned();
    let probe = serde_json::from_slice(&answer.stdout).map_err(|_| {
        Error::failed(
            format!(
                "with the runtime inside it ended with {}: {stderr}",
                answer.status
            ),
            "report this with the version of Python",
        )
    })?;
    Ok((version, probe, stderr))
}

fn judge(title: &str, version: &str, probe: &Probe, stderr: &str) -> Vec<Finding> {
    if !probe.loaded {
        let why = stderr.lines().last().unwrap_or("it does not say why");
        return vec![Finding::new(
            title,
            State::Fail,
            format!("{version}: the runtime is not loaded: {why}"),
            "install the extension for this machine (`pip install ./runtime`)",
        )];
    }
    let mut findings = vec![Finding::new(
        title,
        State::Ok,
        format!("{version}, the runtime loads"),
        "",
    )];
    let watchers = probe
        .trace
        .iter()
        .map(|trace| format!("a trace function ({trace})"))
        .chain(
            probe
                .monitoring
                .iter()
                .map(|tool| format!("the monitoring tool {tool}")),
        )
        .chain(probe.coverage.iter().map(|name| format!("coverage, by {name}")));
    for watcher in watchers {
        findings.push(Finding::new(
            title,
            State::Warn,
            format!("{watcher} watches every program"),
            "a jump in a heal is seen by it, too; switch it off where that matters",
        ));
    }
    if let Some(file) = &probe.sitecustomize {
        let text = format!("the sitecustomize of {file} runs after ours");
        findings.push(Finding::new(title, State::Ok, text, ""));
    }
    findings
}

fn table(findings: &[Finding]) -> String {
    let lines = findings.iter().map(|finding| {
        let state = match finding.state {
            State::Ok => "ok  ",
            State::Warn => "warn",
            State::Fail => "FAIL",
        };
        let hint = if finding.hint.is_empty() {
            String::new()
        } else {
            format!("\n      → {}", finding.hint)
        };
        format!("{state}  {}: {}{hint}\n", finding.name, finding.text)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(probe: &str, stderr: &str, expect: &str) {
        let probe: Probe = serde_json::from_str(probe).unwrap();
        assert_eq!(table(&judge("python", "CPython 3.12.1", &probe, stderr)), expect);
    }

    #[test]
    fn a_runtime_that_loads_is_fine() {
        check(
            r#"{"loaded": true, "trace": null, "monitoring": [], "sitecustomize": null, "coverage": []}"#,
            "",
            "ok    python: CPython 3.12.1, the runtime loads\n",
        );
    }

    #[test]
    fn whatever_else_watches_is_named() {
        check(
            r#"{"loaded": true, "trace": null, "monitoring": ["coverage"], "sitecustomize": "/s.py", "coverage": []}"#,
            "",
            "ok    python: CPython 3.12.1, the runtime loads
warn  python: the monitoring tool coverage watches every program
      → a jump in a heal is seen by it, too; switch it off where that matters
ok    python: the sitecustomize of /s.py runs after ours
",
        );
    }

    #[test]
    fn a_runtime_that_does_not_load_says_why() {
        let text = "healmcp: this process runs unhealed: ImportError: file too short";
        let probe =
            r#"{"loaded": false, "trace": null, "monitoring": [], "sitecustomize": null, "coverage": []}"#;
        let probe: Probe = serde_json::from_str(probe).unwrap();
        let findings = judge("python", "CPython 3.12.1", &probe, text);
        assert_eq!(findings[0].state, State::Fail);
        assert!(findings[0].text.ends_with(text), "{findings:?}");
    }
}
