//! A world for tests: it records what is asked and answers from a list.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use protocol::{CrashReport, CrashStatus, CrashSummary, FrameReport, Location, Reply, Request};
use serde_json::Value;
use tempfile::TempDir;

use crate::{CodeCache, Context, ToolError, World, find};

/// Crashes to list, replies to give, and what was asked.
#[derive(Default)]
pub(crate) struct Scripted {
    crashes: Vec<CrashSummary>,
    replies: Mutex<VecDeque<Result<Reply, ToolError>>>,
    asked: Mutex<Vec<String>>,
    slept: Mutex<Duration>,
    project: PathBuf,
}

impl Scripted {
    pub(crate) fn with(crashes: Vec<CrashSummary>) -> Self {
        Self {
            crashes,
            ..Self::default()
        }
    }

    pub(crate) fn in_project(folder: &Path) -> Self {
        Self {
            project: folder.to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn replying(self, reply: Result<Reply, ToolError>) -> Self {
        self.replies.lock().unwrap().push_back(reply);
        self
    }

    /// Adds a crash that went through an installed package, found in a folder beside the project.
    pub(crate) fn crashing_in(self, project: &Path) -> Self {
        let mut summary = summary("c1");
        summary.root = project.display().to_string();
        let file = project.join("venv/lib/site-packages/lib/core.py");
        let frame = FrameReport {
            index: 1,
            location: Location {
                file: file.display().to_string(),
                line: 2,
                function: "get".to_owned(),
            },
            in_scope: false,
            source: Vec::new(),
            variables: Vec::new(),
            more_names: Vec::new(),
            sub_expressions: Vec::new(),
            calls_made: Vec::new(),
        };
        let report = CrashReport {
            summary,
            decision: String::new(),
            chain: Vec::new(),
            frames: Vec::new(),
            below: vec![frame],
            actions: Vec::new(),
            attempts: Vec::new(),
        };
        self.replying(Ok(Reply::Crash(Box::new(report))))
    }

    /// Calls a tool and returns its text, or its error's block.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> String {
        let code = CodeCache::default();
        let cx = Context {
            world: self,
            code: &code,
        };
        match find(tool).unwrap().call(&cx, arguments) {
            Ok(answer) => answer.text,
            Err(error) => format!("error: {}", error.block()),
        }
    }

    /// Calls a tool that must succeed and returns its value.
    pub(crate) fn value(&self, tool: &str, arguments: Value) -> Value {
        let code = CodeCache::default();
        let cx = Context {
            world: self,
            code: &code,
        };
        find(tool).unwrap().call(&cx, arguments).unwrap().json
    }

    /// Returns the requests as JSON, one a line.
    pub(crate) fn asked(&self) -> String {
        self.asked.lock().unwrap().join("\n")
    }

    pub(crate) fn slept_ms(&self) -> u128 {
        self.slept.lock().unwrap().as_millis()
    }
}

impl World for Scripted {
    fn crashes(&self) -> Result<Vec<CrashSummary>, ToolError> {
        Ok(self.crashes.clone())
    }

    fn ask(&self, crash_id: &str, request: Request) -> Result<Reply, ToolError> {
        self.asked
            .lock()
            .unwrap()
            .push(serde_json::to_string(&request).unwrap());
        match self.replies.lock().unwrap().pop_front() {
            Some(reply) => reply,
            None => Err(ToolError::unknown_crash(crash_id)),
        }
    }

    fn project(&self) -> PathBuf {
        self.project.clone()
    }

    fn sleep(&self, time: Duration) -> Result<(), ToolError> {
        *self.slept.lock().unwrap() += time;
        Ok(())
    }
}

/// A paused crash in `/shop/cart.py`.
pub(crate) fn summary(crash_id: &str) -> CrashSummary {
    CrashSummary {
        crash_id: crash_id.to_owned(),
        status: CrashStatus::Paused,
        exception_type: "KeyError".to_owned(),
        message: "'price'".to_owned(),
        location: Location {
            file: "/shop/cart.py".to_owned(),
            line: 4,
            function: "total".to_owned(),
        },
        pid: 7,
        thread: "MainThread".to_owned(),
        command: vec!["python".to_owned(), "cart.py".to_owned()],
        root: "/shop".to_owned(),
        journal: "/shop/.healmcp/s1.jsonl".to_owned(),
        paused_at: 1_800_000_000,
        seconds_left: Some(590),
        n_attempts: 0,
        held_by: None,
    }
}

/// A project on the disk with a package in its environment, and a world in which it is the current one.
pub(crate) fn shop() -> (TempDir, Scripted) {
    let folder = tempfile::tempdir().unwrap();
    let files = [
        (".gitignore", "venv\n"),
        ("main.py", "from shop.cart import Cart\nprint(Cart().total())\n"),
        ("shop/__init__.py", ""),
        (
            "shop/cart.py",
            "class Cart:\n    def __init__(self):\n        self.rows = []\n\n    def total(self):\n        \"\"\"Sums up.\"\"\"; return sum(self.rows)\n",
        ),
        ("venv/lib/site-packages/lib/__init__.py", ""),
        (
            "venv/lib/site-packages/lib/core.py",
            "def get(key):\n    raise KeyError(key)\n",
        ),
    ];
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let world = Scripted::in_project(folder.path());
    (folder, world)
}
