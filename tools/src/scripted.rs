//! A world for tests: it records what is asked and answers from a list.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use protocol::{CrashStatus, CrashSummary, Location, Reply, Request};
use serde_json::Value;

use crate::{CodeCache, Context, ToolError, World, find};

/// Crashes to list, replies to give, and what was asked.
#[derive(Default)]
pub(crate) struct Scripted {
    crashes: Vec<CrashSummary>,
    replies: Mutex<VecDeque<Result<Reply, ToolError>>>,
    asked: Mutex<Vec<String>>,
    slept: Mutex<Duration>,
    pub(crate) project: PathBuf,
}

impl Scripted {
    pub(crate) fn with(crashes: Vec<CrashSummary>) -> Self {
        Self {
            crashes,
            ..Self::default()
        }
    }

    pub(crate) fn replying(self, reply: Result<Reply, ToolError>) -> Self {
        self.replies.lock().unwrap().push_back(reply);
        self
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
