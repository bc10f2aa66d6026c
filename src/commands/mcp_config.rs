//! `healmcp mcp-config`: the block that makes a client start the server.

use std::path::Path;

use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::render::Done;

/// Print the configuration that makes an MCP client start this server.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Only for this client, as plain JSON (or, for Claude Code, also as a command without this option).
    #[arg(long, value_enum)]
    client: Option<Client>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Client {
    ClaudeCode,
    Cursor,
    Vscode,
}

/// All clients that are known, with their names and the files of their configuration.
const CLIENTS: [(Client, &str, &str); 3] = [
    (Client::ClaudeCode, "Claude Code", ".mcp.json in the project"),
    (
        Client::Cursor,
        "Cursor",
        ".cursor/mcp.json in the project, or ~/.cursor/mcp.json",
    ),
    (Client::Vscode, "VS Code", ".vscode/mcp.json in the project"),
];

pub(crate) fn run(args: &Args) -> Result<Done> {
    let executable = std::env::current_exe().map_err(|error| {
        Error::failed(
            format!("cannot find this program: {error}"),
            "install healmcp again",
        )
    })?;
    Ok(Done::ok(match args.client {
        Some(client) => format!("{:#}", block(client, &executable)),
        None => all(&executable),
    }))
}

fn all(executable: &Path) -> String {
    let blocks = CLIENTS.iter().map(|(client, name, file)| {
        let command = match client {
            Client::ClaudeCode => format!(
                "claude mcp add heal -- {} serve\nor, in {file}:\n",
                executable.display()
            ),
            Client::Cursor | Client::Vscode => format!("in {file}:\n"),
        };
        format!("# {name}\n{command}{:#}\n", block(*client, executable))
    });
    blocks.collect::<Vec<_>>().join("\n")
}

fn block(client: Client, executable: &Path) -> Value {
    let command = executable.display().to_string();
    match client {
        Client::ClaudeCode | Client::Cursor => {
            json!({"mcpServers": {"heal": {"command": command, "args": ["serve"]}}})
        }
        Client::Vscode => {
            json!({"servers": {"heal": {"type": "stdio", "command": command, "args": ["serve"]}}})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_its_shape() {
        let check =
            |client, expect: &str| assert_eq!(block(client, Path::new("/bin/healmcp")).to_string(), expect);
        let common = r#"{"mcpServers":{"heal":{"command":"/bin/healmcp","args":["serve"]}}}"#;
        check(Client::ClaudeCode, common);
        check(Client::Cursor, common);
        check(
            Client::Vscode,
            r#"{"servers":{"heal":{"type":"stdio","command":"/bin/healmcp","args":["serve"]}}}"#,
        );
    }

    #[test]
    fn the_list_names_all_clients() {
        let all = all(Path::new("/bin/healmcp"));
        assert!(
            all.starts_with("# Claude Code\nclaude mcp add heal -- /bin/healmcp serve\nor, in .mcp.json"),
            "{all}"
        );
        assert!(
            all.contains("\n# Cursor\n") && all.contains("\n# VS Code\n"),
            "{all}"
        );
    }
}
