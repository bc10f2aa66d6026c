//! `healmcp serve` as a process: what it writes, and that it ends when it should.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A call in flight would take 25 s, and rmcp alone would wait 5 s for it; a busy machine takes some time, too.
const AT_ONCE: Duration = Duration::from_secs(3);

struct Server {
    child: Child,
    /// Of its sockets: nobody else's crashes are seen.
    _folder: TempDir,
}

fn start() -> Server {
    let folder = tempfile::tempdir().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_healmcp"))
        .arg("serve")
        .env("XDG_RUNTIME_DIR", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    Server {
        child,
        _folder: folder,
    }
}

fn request(id: u32, method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
    });
    format!(
        "{}\n",
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    )
}

impl Server {
    fn send(&mut self, text: &str) {
        self.child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
    }

    /// Starts a call that waits, and returns once it runs: the request after it has been answered.
    fn wait_for_a_crash(&mut self) {
        self.send(&request(
            1,
            "tools/call",
            json!({"name": "list_crashes", "arguments": {"wait_s": 25}}),
        ));
        self.send(&request(2, "tools/list", json!({})));
        let mut line = String::new();
        BufReader::new(self.child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["id"], 2);
    }

    /// Closes the input and returns what was written until the end.
    fn close(mut self) -> Output {
        drop(self.child.stdin.take());
        self.child.wait_with_output().unwrap()
    }
}

#[test]
fn a_client_that_says_nothing_is_no_error() {
    let output = start().close();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!((output.stdout, output.stderr), (Vec::new(), Vec::new()));
}

#[test]
fn requests_that_are_piped_in_are_all_answered_in_json() {
    let mut server = start();
    for id in 1..=3 {
        server.send(&request(
            id,
            "tools/call",
            json!({"name": "list_crashes", "arguments": {}}),
        ));
    }
    let output = server.close();
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut ids: Vec<u64> = text
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["id"]
                .as_u64()
                .unwrap()
        })
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [1, 2, 3]);
}

#[test]
fn the_end_of_the_input_ends_it_with_a_call_in_flight() {
    let mut server = start();
    server.wait_for_a_crash();
    let start = Instant::now();
    assert_eq!(server.close().status.code(), Some(0));
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
}

#[test]
fn signals_end_it_with_a_call_in_flight() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut server = start();
        server.wait_for_a_crash();
        let start = Instant::now();
        kill(Pid::from_raw(i32::try_from(server.child.id()).unwrap()), signal).unwrap();
        assert_eq!(server.child.wait().unwrap().code(), Some(0), "{signal}");
        assert!(start.elapsed() < AT_ONCE, "{signal}: {:?}", start.elapsed());
    }
}
