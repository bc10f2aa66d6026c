//! The program's side: the job's files, and the job as a process whose output is shown as it comes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use crate::error::{Error, Result};
use crate::folders::{cannot, make};
use crate::render::print;

/// The project, file by file.
const FILES: [(&str, &str); 6] = [
    ("pyproject.toml", include_str!("project/pyproject.toml")),
    ("nightly.py", include_str!("project/nightly.py")),
    ("shop/__init__.py", include_str!("project/shop/__init__.py")),
    ("shop/orders.py", include_str!("project/shop/orders.py")),
    ("shop/pricing.py", include_str!("project/shop/pricing.py")),
    ("shop/ledger.py", include_str!("project/shop/ledger.py")),
];

/// A job that runs.
pub(super) struct Job {
    program: Child,
    lines: Option<JoinHandle<Vec<String>>>,
}

/// Writes the project.
pub(super) fn write_project(folder: &Path) -> Result<()> {
    make(&folder.join("shop"))?;
    for (name, text) in FILES {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| cannot("write", &path, &error))?;
    }
    Ok(())
}

impl Job {
    /// Starts the job under `healmcp run`.
    pub(super) fn start(executable: &Path, python: &Path, folder: &Path, runtime_dir: &Path) -> Result<Self> {
        let mut program = Command::new(executable)
            .args(["run", "--timeout", "120", "--"])
            .arg(python)
            .arg("nightly.py")
            .current_dir(folder)
            .env("XDG_RUNTIME_DIR", runtime_dir)
            .env_remove(protocol::SWITCH_VARIABLE)
            .env_remove(protocol::SETTINGS_VARIABLE)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| cannot("start", executable, &error))?;
        let (stdout, stderr) = (program.stdout.take(), program.stderr.take());
        thread::spawn(move || {
            for line in stderr
                .into_iter()
                .flat_map(|stderr| BufReader::new(stderr).lines().map_while(std::result::Result::ok))
            {
                show(&line);
            }
        });
        let lines = thread::spawn(move || {
            let lines = stdout
                .into_iter()
                .flat_map(|stdout| BufReader::new(stdout).lines().map_while(std::result::Result::ok));
            lines.inspect(|line| show(line)).collect()
        });
        Ok(Self {
            program,
            lines: Some(lines),
        })
    }

    /// Waits for the end; returns whether it went well, and the last line of its output.
    pub(super) fn end(mut self) -> Result<(bool, String)> {
        let status = self.program.wait().map_err(|error| {
            Error::failed(
                format!("the job was lost: {error}"),
                "run the demonstration again",
            )
        })?;
        let lines = self
            .lines
            .take()
            .map(JoinHandle::join)
            .and_then(std::result::Result::ok)
            .unwrap_or_default();
        Ok((status.success(), lines.last().cloned().unwrap_or_default()))
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // After a good end there is nothing left to kill.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn show(line: &str) {
    print(format!("   job │ {line}").trim_end());
}
