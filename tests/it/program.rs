//! A Python program of a test: its files, its process under `healmcp run`, and the commands that heal it.

use std::collections::HashSet;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

use crate::heal::Heal;
use crate::python::Python;

/// The command under test.
pub(crate) const HEALMCP: &str = env!("CARGO_BIN_EXE_healmcp");

/// Whatever takes longer hangs; busy machines are slow.
pub(crate) const HANG: Duration = Duration::from_secs(60);

/// How often a test looks whether a process has come further.
const POLL: Duration = Duration::from_millis(10);

/// A program with a folder, sockets, a cache and a state of its own; what it started is killed with it.
pub(crate) struct Program {
    pub(crate) python: Python,
    folder: TempDir,
    child: Option<Child>,
    /// Pauses that were told of.
    seen: HashSet<String>,
}

/// What a process wrote and ended with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    /// The exit code; the negative signal where one ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Program {
    /// Makes a program of one file, `main.py`.
    pub(crate) fn new(python: &Python, main: &str) -> Self {
        Self::of_files(python, &[("main.py", main)])
    }

    /// Makes a program of several files.
    pub(crate) fn of_files(python: &Python, files: &[(&str, &str)]) -> Self {
        let program = Self {
            python: python.clone(),
            folder: tempfile::tempdir().unwrap(),
            child: None,
            seen: HashSet::new(),
        };
        fs::create_dir(program.place("project")).unwrap();
        for (name, text) in files {
            program.write(name, text);
        }
        program
    }

    /// A place beside the project: `run`, `cache`, `state`, `stdout`, `stderr`.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// The path of a file of the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.place("project").join(name)
    }

    /// The folder of the sockets.
    pub(crate) fn sockets(&self) -> PathBuf {
        self.place("run").join("healmcp")
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The names of the files in the project folder and in those below.
    pub(crate) fn files(&self) -> Vec<String> {
        let mut folders = vec![self.path("")];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path());
                } else {
                    let path = entry.path();
                    files.push(
                        path.strip_prefix(self.path(""))
                            .unwrap()
                            .to_str()
                            .unwrap()
                            .to_owned(),
                    );
                }
            }
        }
        files.sort();
        files
    }

    /// A command in the project's folder and the test's environment.
    pub(crate) fn command(&self, file: impl AsRef<Path>, words: &[&str]) -> Command {
        let mut command = Command::new(file.as_ref());
        for name in [
            "CI",
            "HEALMCP",
            "HEALMCP_DECISIONS",
            "HEALMCP_EXTENSION",
            "HEALMCP_SETTINGS",
            "PYTHONPATH",
        ] {
            command.env_remove(name);
        }
        command
            .args(words)
            .current_dir(self.path(""))
            .env("XDG_RUNTIME_DIR", self.place("run"))
            .env("XDG_CACHE_HOME", self.place("cache"))
            .env("XDG_STATE_HOME", self.place("state"))
            .stdin(Stdio::null());
        command
    }

    /// The command `healmcp run -- python WORDS`; a test may add to it before it starts it.
    pub(crate) fn run(&self, words: &[&str], timeout_s: u64) -> Command {
        let timeout_s = timeout_s.to_string();
        let mut command = self.command(HEALMCP, &["run", "--timeout", &timeout_s, "--"]);
        command.arg(&self.python.path).args(words);
        command
    }

    /// Starts `main.py`.
    pub(crate) fn start(&mut self) {
        let command = self.run(&["main.py"], HANG.as_secs());
        self.spawn(command);
    }

    /// Starts a command, in a process group of its own, as the program.
    pub(crate) fn spawn(&mut self, mut command: Command) {
        assert!(self.child.is_none(), "one process at a time");
        let file = |name: &str| File::create(self.place(name)).unwrap();
        command
            .stdout(file("stdout"))
            .stderr(file("stderr"))
            .process_group(0);
        self.child = Some(command.spawn().unwrap());
    }

    /// The process that was started.
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.as_ref().expect("it was started").id()).unwrap()
    }

    /// Sends a signal to the program and its children.
    pub(crate) fn signal(&self, signal: Signal) {
        killpg(Pid::from_raw(self.pid()), signal).unwrap();
    }

    /// The crashes that are paused now.
    pub(crate) fn crashes(&self) -> Vec<Value> {
        let answer = self.healmcp(&["crashes", "--json"]).json();
        answer["crashes"].as_array().unwrap().clone()
    }

    /// Waits for the next pause; `None` when the program ends without one.
    pub(crate) fn next_pause(&mut self) -> Option<String> {
        let started = Instant::now();
        loop {
            let new = self.crashes().into_iter().find_map(|crash| {
                let crash_id = crash["crash_id"].as_str().unwrap().to_owned();
                (!self.seen.contains(&crash_id)).then_some(crash_id)
            });
            if let Some(crash_id) = new {
                self.seen.insert(crash_id.clone());
                return Some(crash_id);
            }
            if self.child.as_mut()?.try_wait().unwrap().is_some() {
                return None;
            }
            assert!(
                started.elapsed() < HANG,
                "no pause and no end: {}",
                self.read("stderr")
            );
            std::thread::sleep(POLL);
        }
    }

    /// Waits for the next pause, of which there must be one.
    pub(crate) fn wait_for_pause(&mut self) -> String {
        self.next_pause()
            .unwrap_or_else(|| panic!("it did not pause: {}{}", self.read("stdout"), self.read("stderr")))
    }

    /// Runs a command of healmcp to its end.
    pub(crate) fn healmcp(&self, words: &[&str]) -> Ended {
        to_the_end(self.command(HEALMCP, words))
    }

    /// Checks a heal.
    pub(crate) fn check(&self, crash_id: &str, heal: &Heal<'_>) -> Value {
        let words = heal.words();
        let mut all = vec!["check", crash_id, "--json"];
        all.extend(words.iter().map(String::as_str));
        let ended = self.healmcp(&all);
        assert!(
            !ended.stdout.is_empty(),
            "{heal:?} cannot be checked: {}",
            ended.stderr
        );
        ended.json()
    }

    /// Checks a heal that must be allowed, and returns its id.
    pub(crate) fn allowed(&self, crash_id: &str, heal: &Heal<'_>) -> String {
        let check = self.check(crash_id, heal);
        assert_eq!(check["verdict"], "allow", "{heal:?}: {check:#}");
        check["heal_id"].as_str().unwrap().to_owned()
    }

    /// Applies a heal and goes on.
    pub(crate) fn heal(&self, crash_id: &str, heal: &Heal<'_>) -> Value {
        let heal_id = self.allowed(crash_id, heal);
        self.healmcp(&["resume", crash_id, &heal_id, "--json"]).json()
    }

    /// Lets the exception go on.
    pub(crate) fn abort(&self, crash_id: &str) {
        self.healmcp(&["abort", crash_id, "--json"]).json();
    }

    /// The value of an expression in a frame.
    pub(crate) fn evaluate(&self, crash_id: &str, frame: usize, expression: &str) -> String {
        let frame = frame.to_string();
        let answer = self.healmcp(&["eval", crash_id, expression, "--frame", &frame, "--json"]);
        answer.json()["value"].as_str().unwrap().to_owned()
    }

    fn read(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.place(name)).unwrap_or_default()).into_owned()
    }

    /// Waits for the program's end.
    pub(crate) fn finish(&mut self) -> Ended {
        let mut child = self.child.take().expect("it was started");
        let status = wait(&mut child, HANG);
        let Some(status) = status else {
            self.child = Some(child);
            panic!("it does not end: {}{}", self.read("stdout"), self.read("stderr"));
        };
        Ended {
            code: code(status),
            stdout: self.read("stdout"),
            stderr: self.read("stderr"),
        }
    }

    /// The events of the journal, one a line.
    pub(crate) fn journal(&self) -> Vec<Value> {
        let files = self.files();
        let journal = files.iter().find(|file| file.ends_with(".jsonl"));
        let text = fs::read_to_string(self.path(journal.expect("a journal was written"))).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // It may have ended by itself; its children may not.
            let _ = killpg(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGKILL);
            let _ = child.wait();
        }
    }
}

impl Ended {
    /// Reads the output of a command as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What was printed, and where it did not end well, how: the exit code and the last word on stderr.
    pub(crate) fn told(&self) -> String {
        if self.code == 0 {
            return self.stdout.clone();
        }
        let stderr = without_ours(&self.stderr);
        let last = stderr.lines().rfind(|line| !line.starts_with(' ')).unwrap_or("");
        format!("{}exit {}: {last}\n", self.stdout, self.code)
    }
}

/// The text on stderr without the blocks in which healmcp speaks.
pub(crate) fn without_ours(stderr: &str) -> String {
    /// The lines that follow the first one of a pause.
    const LINES_OF_A_PAUSE: usize = 3;
    let mut kept = String::new();
    let mut n_skipped = 0;
    let mut in_summary = false;
    for line in stderr.split_inclusive('\n') {
        in_summary = in_summary && line.starts_with("  ");
        if n_skipped > 0 {
            n_skipped -= 1;
        } else if line.starts_with("healmcp: paused at ") {
            n_skipped = LINES_OF_A_PAUSE;
        } else if line.starts_with("healmcp: this run was healed ") {
            in_summary = true;
        } else if !in_summary && !line.starts_with("healmcp: ") {
            kept.push_str(line);
        }
    }
    kept
}

/// Runs a command to its end.
pub(crate) fn to_the_end(command: Command) -> Ended {
    to_the_end_within(command, HANG)
}

/// Runs a command to its end, which has so much time.
pub(crate) fn to_the_end_within(mut command: Command, limit: Duration) -> Ended {
    use std::io::{Read, Seek};
    let (mut stdout, mut stderr) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
    command
        .stdout(stdout.try_clone().unwrap())
        .stderr(stderr.try_clone().unwrap());
    let mut child = command.spawn().unwrap();
    let status = wait(&mut child, limit);
    if status.is_none() {
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGKILL).unwrap();
        child.wait().unwrap();
    }
    let read = |file: &mut File| {
        let mut bytes = Vec::new();
        file.rewind().unwrap();
        file.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (stdout, stderr) = (read(&mut stdout), read(&mut stderr));
    let status = status.unwrap_or_else(|| panic!("{command:?} does not end: {stdout}{stderr}"));
    Ended {
        code: code(status),
        stdout,
        stderr,
    }
}

/// Waits for the end of a process; `None` when it hangs.
fn wait(child: &mut Child, limit: Duration) -> Option<ExitStatus> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if started.elapsed() > limit {
            return None;
        }
        std::thread::sleep(POLL);
    }
}

fn code(status: ExitStatus) -> i32 {
    status
        .code()
        .unwrap_or_else(|| -status.signal().unwrap_or_default())
}
