//! What `healmcp run` tells the runtime in the program, through one environment variable.

use serde::{Deserialize, Serialize};

/// The settings of one run; inherited by child processes.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// [`crate::VERSION`] of the command.
    pub version: u32,
    /// The extension's file, for the injected `sitecustomize`.
    pub extension: String,
    /// The folder put on `PYTHONPATH`, which the runtime takes off `sys.path` again.
    pub inject: String,
    /// The private folder of the sockets.
    pub sockets: String,
    /// The folder of compiled code.
    pub cache: String,
    /// Where `.healmcp/` is kept when the root cannot be written.
    pub state: String,
    /// Which files are wrapped.
    pub scope: Scope,
    /// Seconds to wait for a healer; 0 never pauses.
    pub timeout_s: u64,
    /// So often in a row the same crash pauses; 0 is without end.
    #[serde(default = "default_repeat_limit")]
    pub repeat_limit: u32,
    /// Frames of which the project says what they do with exceptions.
    #[serde(default)]
    pub boundaries: Vec<Boundary>,
    /// The `[tool.healmcp.guard]` table, already validated by the command.
    pub guard: serde_json::Value,
    /// Functions of the program that healing code may call, each as `package.module:function`.
    #[serde(default)]
    pub toolkit: Vec<String>,
    /// The command as the user gave it.
    pub command: Vec<String>,
    /// A file to which each decision to pause is appended instead of pausing: shows that deciding changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decisions: Option<String>,
    /// Names this run in the journal.
    pub session: String,
}

/// Which files are wrapped and can be healed.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq, Serialize)]
pub struct Scope {
    /// The project's folder.
    pub root: String,
    /// Importable names of installed packages that are in scope too.
    pub include: Vec<String>,
}

/// How often in a row the same crash pauses unless the project says otherwise.
pub const DEFAULT_REPEAT_LIMIT: u32 = 3;

fn default_repeat_limit() -> u32 {
    DEFAULT_REPEAT_LIMIT
}

/// A function that catches exceptions, and what that means.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Boundary {
    /// The module's name; `*` stands for any part.
    pub module: String,
    /// The qualified name within it; `*` stands for any part.
    pub function: String,
    /// Whether what it runs has failed with the exception, so that it pauses; otherwise the exception is handled.
    pub dies: bool,
}
