//! A folder of its own for a program, with sockets that no other healer sees.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::running::{Running, end_group, unblocked};
use crate::error::{Error, Result};
use crate::folders::{cannot, make_private};

/// How often a healer looks at its program.
const POLL: Duration = Duration::from_millis(15);

/// The folders of one program.
#[derive(Debug)]
pub(super) struct Place {
    folder: TempDir,
    runtime_dir: TempDir,
}

/// What is started in a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch<'a> {
    /// This program.
    pub(super) executable: &'a Path,
    /// The interpreter.
    pub(super) python: &'a Path,
    /// The script, by its name in the place's folder.
    pub(super) script: &'a str,
    /// Packages that are in scope, too.
    pub(super) include: &'a [String],
}

impl Place {
    pub(super) fn make(uid: u32) -> Result<Self> {
        let temporary = |name: &str| {
            let made = tempfile::Builder::new().prefix(name).tempdir();
            made.map_err(|error| cannot("make a folder in", &std::env::temp_dir(), &error))
        };
        let place = Self {
            folder: temporary("healmcp-bench-")?,
            runtime_dir: temporary("healmcp-")?,
        };
        make_private(&place.sockets(), uid)?;
        Ok(place)
    }

    /// Writes a file of the program.
    pub(super) fn write(&self, name: &str, text: &[u8]) -> Result<()> {
        let path = self.folder.path().join(name);
        fs::write(&path, text).map_err(|error| cannot("write", &path, &error))
    }

    pub(super) fn sockets(&self) -> PathBuf {
        self.runtime_dir.path().join("healmcp")
    }

    /// The output goes to files outside the program's folder: a pipe that nobody reads would stop the program.
    fn output(&self, name: &str) -> PathBuf {
        self.runtime_dir.path().join(name)
    }

    /// Reads what the program wrote to `stdout` or `stderr`.
    pub(super) fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.output(name);
        fs::read(&path).map_err(|error| cannot("read", &path, &error))
    }

    /// Starts a program under `healmcp run`, as the leader of a process group.
    pub(super) fn start(&self, launch: &Launch<'_>) -> Result<Child> {
        let create = |name: &str| {
            let path = self.output(name);
            File::create(&path).map_err(|error| cannot("write", &path, &error))
        };
        let mut command = Command::new(launch.executable);
        command.args(["run", "--timeout", "60"]);
        for name in launch.include {
            command.args(["--include", name]);
        }
        command.arg("--").arg(launch.python).arg(launch.script);
        for name in [
            "CI",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            protocol::SWITCH_VARIABLE,
            protocol::SETTINGS_VARIABLE,
            protocol::DECISIONS_VARIABLE,
        ] {
            command.env_remove(name);
        }
        command
            .current_dir(self.folder.path())
            .envs([
                ("PYTHONHASHSEED", "0"),
                ("TZ", "UTC"),
                ("COLUMNS", "80"),
                ("TERM", "dumb"),
            ])
            .env("XDG_RUNTIME_DIR", self.runtime_dir.path())
            .stdin(Stdio::null())
            .stdout(create("stdout")?)
            .stderr(create("stderr")?)
            .process_group(0);
        unblocked(|| command.spawn()).map_err(|error| cannot("start", launch.executable, &error))
    }
}

/// Looks at a program again and again until it ends, and once more then; `None` when it hung and had to be killed.
pub(super) fn attend(
    mut child: Child,
    running: &Running,
    patience: Duration,
    mut look: impl FnMut(),
) -> Result<Option<ExitStatus>> {
    let lost = |error: io::Error| Error::failed(format!("the program was lost: {error}"), "run it again");
    let started = Instant::now();
    running.started(child.id());
    let status = loop {
        match child.try_wait().map_err(lost) {
            Ok(None) if started.elapsed() > patience => {
                end_group(child.id());
                break child.wait().map_err(lost).map(|_| None);
            }
            Ok(None) => {
                look();
                thread::sleep(POLL);
            }
            Ok(status) => {
                // Its children may be paused still.
                look();
                break Ok(status);
            }
            Err(error) => break Err(error),
        }
    };
    running.ended(child.id());
    status
}
