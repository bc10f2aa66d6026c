//! An MCP client of a test: raw JSON-RPC with `healmcp serve`, in both eras of the protocol.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::program::{HANG, HEALMCP, Program};

/// How a client and the server agree on the protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Era {
    /// By a handshake of this version.
    Handshake(&'static str),
    /// Each request says it for itself.
    Stateless,
}

/// A client with a server of its own, which is killed with it.
pub(crate) struct Agent {
    era: Era,
    server: Child,
    answers: Receiver<String>,
    n_asked: u64,
}

impl Agent {
    /// Starts a server where the program runs, and greets it.
    pub(crate) fn start(program: &Program, era: Era) -> Self {
        let mut server = program
            .command(HEALMCP, &["serve"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut agent = Self {
            era,
            server,
            answers,
            n_asked: 0,
        };
        if let Era::Handshake(version) = era {
            let greeted = agent.ask(
                "initialize",
                json!({
                    "protocolVersion": version,
                    "capabilities": {},
                    "clientInfo": {"name": "tester", "version": "1"},
                }),
            );
            assert_eq!(greeted["protocolVersion"], version);
            assert_eq!(greeted["serverInfo"]["name"], "heal");
            agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        agent
    }

    /// The server's process.
    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.server.id()).unwrap()
    }

    /// Sends a request and waits for its result.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.n_asked += 1;
        let id = self.n_asked;
        if matches!(self.era, Era::Stateless) {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
            });
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let line = self.answers.recv_timeout(HANG).unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Calls a tool; returns its result, error or not.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool that must do what it was asked; returns its text and its structured answer.
    pub(crate) fn done(&mut self, tool: &str, arguments: Value) -> (String, Value) {
        let result = self.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool}: {result}");
        (text(&result), result["structuredContent"].clone())
    }

    /// Calls a tool that must refuse; returns the text.
    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        text(&result)
    }

    fn send(&mut self, message: &Value) {
        let input = self.server.stdin.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
    }

    /// Kills the server as a broken machine would.
    pub(crate) fn kill(mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may have been killed by the test.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().unwrap();
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    texts.join("\n")
}
