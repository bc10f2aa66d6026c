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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::commands::{abort, check, crashes, eval, frame, read, resume, search, show};

    #[derive(Parser)]
    struct Line<T: clap::Args> {
        #[command(flatten)]
        args: T,
    }

    /// Parses a command line with all its options: what it makes of them are the arguments of the tool, and all of them.
    #[track_caller]
    fn check<T: clap::Args>(line: &str, arguments: impl FnOnce(&T) -> Arguments, tool: &str) {
        let words = ["healmcp"]
            .into_iter()
            .chain(line.split(' ').filter(|word| !word.is_empty()));
        let Line { args } = Line::<T>::try_parse_from(words)
            .map_err(|error| error.to_string())
            .unwrap();
        let schema = tools::find(tool).unwrap().input_schema();
        let mut known: Vec<String> = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        let mut given: Vec<String> = arguments(&args).0.keys().cloned().collect();
        known.sort();
        given.sort();
        assert_eq!(given, known);
    }

    #[test]
    fn commands_and_tools_have_the_same_arguments() {
        check(
            "--all --limit 3 --cursor c1 --wait 5",
            crashes::arguments,
            "list_crashes",
        );
        check(
            "--frames 3 --max-chars 900",
            |args| show::arguments(args, "c1"),
            "get_crash",
        );
        check(
            "--frame 1 --path a.b --name x --start 1 --count 2 --depth 3 --max-chars 900",
            |args| frame::arguments(args, "c1"),
            "get_frame",
        );
        check(
            "x+1 --frame 1 --own-repr --max-chars 900",
            |args| eval::arguments(args, "c1"),
            "evaluate",
        );
        check(
            "name --kind text --path src --crash c1 --limit 3 --cursor x --max-chars 900",
            search::arguments,
            "search_code",
        );
        check(
            "f --path a.py --start-line 1 --end-line 2 --crash c1 --cursor x --max-chars 900",
            read::arguments,
            "read_code",
        );
        check(
            "-e x=1 --then line --line 3 --value y --frame 1",
            |args| check::arguments(args, "c1", "x=1".to_owned()),
            "check_heal",
        );
        check("h1 --wait 3", |args| resume::arguments(args, "c1"), "resume");
        check(
            "--reason why --wait 3",
            |args| abort::arguments(args, "c1"),
            "abort",
        );
    }
}
