//! The agent's side: a small MCP client that talks to `healmcp serve` over its standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{Error, Result};

/// A client of one server; the server ends with it.
pub(super) struct Agent {
    server: Child,
    input: ChildStdin,
    answers: Receiver<String>,
    n_asked: u64,
}

/// What a tool answered.
pub(super) struct Said {
    /// The text that a model reads.
    pub(super) text: String,
    /// The structured answer, where there is one; else null.
    pub(super) value: Value,
}

/// No call of a tool takes longer than 25 s.
const PATIENCE: Duration = Duration::from_secs(40);

impl Agent {
    /// Starts the server in a folder and greets it.
    pub(super) fn start(executable: &Path, folder: &Path, runtime_dir: &Path) -> Result<Self> {
        let mut server = Command::new(executable)
            .arg("serve")
            .current_dir(folder)
            .env("XDG_RUNTIME_DIR", runtime_dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| lost(&error))?;
        let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
            return Err(lost(&"it has no pipes"));
        };
        let (sender, answers) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(std::result::Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut agent = Self {
            server,
            input,
            answers,
            n_asked: 0,
        };
        agent.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "healmcp demo", "version": env!("CARGO_PKG_VERSION")},
            }),
        )?;
        agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(agent)
    }

    /// Calls a tool; an answer that is an error becomes one of ours.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Result<Said> {
        let result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let blocks = result["content"].as_array().map_or(&[][..], Vec::as_slice);
        let text: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        let text = text.join("\n");
        if result["isError"] == true {
            return Err(Error::failed(format!("{tool} answered: {text}"), "report this"));
        }
        Ok(Said {
            text,
            value: result["structuredContent"].clone(),
        })
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.n_asked += 1;
        let id = self.n_asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let line = self
                .answers
                .recv_timeout(PATIENCE)
                .map_err(|error| lost(&error))?;
            let mut answer: Value = serde_json::from_str(&line).map_err(|error| lost(&error))?;
            if answer["id"] != id {
                continue;
            }
            if let Some(error) = answer.get("error") {
                return Err(lost(&error["message"]));
            }
            return Ok(answer["result"].take());
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        writeln!(self.input, "{message}")
            .and_then(|()| self.input.flush())
            .map_err(|error| lost(&error))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn lost(why: &dyn std::fmt::Display) -> Error {
    Error::failed(format!("the MCP server was lost: {why}"), "run `healmcp doctor`")
}
