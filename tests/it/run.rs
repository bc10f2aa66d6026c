//! `healmcp run` as a process: the command is what it would be without, and what cannot be healed is refused up front.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder with a home, sockets and a file that is no extension, so that no test depends on the runtime.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        place.write("no-extension.so", "");
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn healmcp(&self, words: &[&str]) -> Command {
        self.command(Path::new(env!("CARGO_BIN_EXE_healmcp")), words)
    }

    fn command(&self, file: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(file);
        command
            .args(words)
            .current_dir(self.folder.path())
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env("XDG_RUNTIME_DIR", self.path("sockets"))
            .env("HEALMCP_EXTENSION", self.path("no-extension.so"))
            .env_remove("HEALMCP")
            .env_remove("PYTHONPATH")
            .stdin(Stdio::null());
        command
    }

    /// Runs Python with `text` under `healmcp run`, and without.
    fn both(&self, text: &str, python_path: &Path) -> [(String, String); 2] {
        let under = self
            .healmcp(&["run", "--", "python3", "-c", text])
            .env("PYTHONPATH", python_path)
            .output();
        let plain = self
            .command(Path::new("python3"), &["-c", text])
            .env("PYTHONPATH", python_path)
            .output();
        [under, plain].map(|output| {
            let output = output.unwrap();
            (said(&output.stdout), without_ours(&said(&output.stderr)))
        })
    }
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The file that is no extension is told of in one line.
fn without_ours(stderr: &str) -> String {
    let (ours, rest): (Vec<&str>, Vec<&str>) = stderr.lines().partition(|line| line.starts_with("healmcp: "));
    assert!(ours.len() <= 1, "{stderr}");
    rest.join("\n")
}

#[test]
fn the_command_takes_the_place_of_healmcp() {
    let place = Place::new();
    let child = place
        .healmcp(&[
            "run",
            "--",
            "python3",
            "-c",
            "import os; print(os.getpid()); raise SystemExit(7)",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().unwrap();
    assert_eq!(
        (said(&stdout), status.code()),
        (format!("{pid}\n"), Some(7)),
        "{}",
        said(&stderr)
    );
}

#[test]
fn an_extension_that_does_not_load_is_one_line() {
    let place = Place::new();
    let output = place
        .healmcp(&["run", "--", "python3", "-c", "print('on')"])
        .output()
        .unwrap();
    assert_eq!(said(&output.stdout), "on\n");
    let stderr = said(&output.stderr);
    assert!(
        stderr.starts_with("healmcp: this process runs unhealed: ImportError: "),
        "{stderr}"
    );
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}

#[test]
fn nothing_of_the_injection_stays() {
    let text = "import sys; print(sys.path, 'sitecustomize' in sys.modules, '_start' in dir(__builtins__))";
    let [under, plain] = Place::new().both(text, Path::new(""));
    assert_eq!(under, plain);
}

#[test]
fn the_sitecustomize_of_the_user_runs_as_it_would() {
    let place = Place::new();
    place.write(
        "site/sitecustomize.py",
        "import sys; print(__name__, __file__, __spec__.name, sys._getframe(1) is not None)",
    );
    let text = "import sitecustomize as s, sys; print(s.__file__, s.__spec__.origin, sys.modules['sitecustomize'] is s)";
    let [under, plain] = place.both(text, &place.path("site"));
    assert_eq!(under, plain);
    assert!(under.0.starts_with("sitecustomize "), "{}", under.0);
}

#[test]
fn a_sitecustomize_that_fails_is_told_of_as_it_would() {
    let place = Place::new();
    place.write("site/sitecustomize.py", "raise ValueError('theirs')");
    let [under, plain] = place.both("print('on')", &place.path("site"));
    assert_eq!(under, plain);
    assert!(under.1.contains("ValueError: theirs"), "{}", under.1);
    place.write("site/sitecustomize.py", "import not_there");
    let [under, plain] = place.both("print('on')", &place.path("site"));
    assert_eq!(under, plain);
}

#[test]
fn the_switch_leaves_the_command_alone() {
    let place = Place::new();
    let text = "import os; print('HEALMCP_SETTINGS' in os.environ, 'PYTHONPATH' in os.environ)";
    let output = place
        .healmcp(&["run", "--", "python3", "-c", text])
        .env("HEALMCP", "0")
        .output()
        .unwrap();
    assert_eq!(
        (said(&output.stdout), said(&output.stderr)),
        ("False False\n".to_owned(), String::new())
    );
}

#[track_caller]
fn refused(place: &Place, words: &[&str], expect: &str) {
    let output = place.healmcp(words).output().unwrap();
    let stderr = said(&output.stderr).replace(
        &place.folder.path().canonicalize().unwrap().display().to_string(),
        "@",
    );
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    let mut lines = stderr.lines();
    assert_eq!(lines.next(), Some(format!("error: {expect}").as_str()));
    assert!(
        lines.next().is_some_and(|line| line.starts_with("hint: ")),
        "{stderr}"
    );
}

#[test]
fn what_cannot_be_healed_is_refused_up_front() {
    let place = Place::new();
    refused(
        &place,
        &["run", "--", "python3", "nope.py"],
        "the script `nope.py` cannot be run: entity not found",
    );
    refused(&place, &["run", "--", "nope"], "command not found: `nope`");
    refused(
        &place,
        &["run", "--", "python3", "-I", "-c", ""],
        "`python3` runs Python with -I, which keeps healmcp out",
    );
    place.write("old/python3", "#!/bin/sh\necho 'cpython|3|10|13||/old'\n");
    fs::set_permissions(place.path("old/python3"), fs::Permissions::from_mode(0o755)).unwrap();
    refused(
        &place,
        &["run", "--", "old/python3", "-c", ""],
        "`old/python3` is CPython 3.10.13; healmcp needs CPython 3.11 or later, with its global lock",
    );
    place.write("pyproject.toml", "[tool.healmcp]\ntimout = 3\n");
    refused(
        &place,
        &["run", "--", "python3", "-c", ""],
        "@/pyproject.toml:2: unknown key `timout` in [tool.healmcp]",
    );
}

#[test]
fn without_a_paused_program_the_verbs_say_so() {
    let place = Place::new();
    let output = place.healmcp(&["crashes", "--json"]).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&answer["crashes"], output.status.code()),
        (&serde_json::json!([]), Some(0))
    );
    for words in [&["show"][..], &["resume", "h1"], &["show", "c1"]] {
        let output = place.healmcp(words).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(1),
            "{words:?}: {}",
            said(&output.stderr)
        );
    }
}
