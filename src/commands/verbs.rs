//! What the commands share that speak to a paused program: they call the tools that an agent calls.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use protocol::CrashStatus;
use serde_json::{Map, Value};
use tools::{Answer, CodeCache, Context, ErrorKind, ToolError, World};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::folders::{Places, cannot};
use crate::launch;
use crate::machine::{Cancel, Machine};
use crate::render::{self, Done};

/// How the answer is printed.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(crate) struct Form {
    /// Print the answer as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of one call of a tool; options that were not given are left to the tool.
#[derive(Debug, Default)]
pub(crate) struct Arguments(Map<String, Value>);

impl Arguments {
    /// Adds an argument.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Adds an argument that was given.
    pub(crate) fn with_some(self, name: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

/// Returns the machine as a command with this name sees it.
pub(crate) fn machine(command: &str) -> Result<Machine> {
    let places = Places::of_this_process();
    let current = std::env::current_dir().map_err(|error| {
        Error::usage(
            format!("the current folder cannot be used: {error}"),
            "change to another folder",
        )
    })?;
    Ok(Machine {
        client: Arc::new(Client::new(
            places.sockets(),
            places.uid,
            &format!("healmcp {command}"),
        )),
        project: launch::find_root(&current),
        cancel: Arc::new(Cancel::default()),
    })
}

/// Calls a tool and prints what it answers.
pub(crate) fn call(machine: &Machine, tool: &str, arguments: Arguments, form: Form) -> Result<Done> {
    let answer = answer(machine, tool, arguments)?;
    Ok(Done::ok(print_form(&answer, form)))
}

/// Calls a tool.
pub(crate) fn answer(machine: &Machine, tool: &str, arguments: Arguments) -> Result<Answer> {
    let tool = tools::find(tool).expect("the commands name tools that exist, as their test says");
    let cx = Context {
        world: machine,
        code: &CodeCache::default(),
    };
    tool.call(&cx, Value::Object(arguments.0)).map_err(of_tool)
}

/// Returns an answer as text for people or as JSON.
pub(crate) fn print_form(answer: &Answer, form: Form) -> String {
    if form.json {
        format!("{:#}", answer.json)
    } else {
        render::for_people(&answer.text)
    }
}

/// Returns the crash that was named, or the only one that is paused.
pub(crate) fn the_crash(machine: &Machine, named: Option<&str>) -> Result<String> {
    if let Some(named) = named {
        return Ok(named.to_owned());
    }
    let mut paused = machine.crashes().map_err(of_tool)?;
    paused.retain(|crash| crash.status == CrashStatus::Paused);
    match paused.as_slice() {
        [one] => Ok(one.crash_id.clone()),
        [] => Err(Error::failed(
            "no program is paused",
            "start one with `healmcp run -- COMMAND`; it pauses where it would die of an exception",
        )),
        several => {
            let ids: Vec<&str> = several.iter().map(|crash| crash.crash_id.as_str()).collect();
            Err(Error::usage(
                format!("{} programs are paused", several.len()),
                format!("name the crash: {}", ids.join(", ")),
            ))
        }
    }
}

/// Reads a file that was named, or standard input for `-`.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map(|_| ())
    } else {
        std::fs::read_to_string(path).map(|found| text = found)
    };
    match read {
        Ok(()) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(Error::usage(
            format!("the file {} does not exist", path.display()),
            "check the spelling, or write `-` for standard input",
        )),
        Err(error) => Err(cannot("read", path, &error)),
    }
}

fn of_tool(error: ToolError) -> Error {
    let hint = render::for_people(&error.hint);
    match error.kind {
        ErrorKind::Input => Error::usage(error.message, hint),
        ErrorKind::UnknownCrash
        | ErrorKind::Gone
        | ErrorKind::Cancelled
        | ErrorKind::Refused(_)
        | ErrorKind::Fault => Error::failed(error.message, hint),
    }
}
