//! `healmcp run`: starts a command with the runtime inside its Python.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use protocol::{SETTINGS_VARIABLE, SWITCH_VARIABLE, Scope, Settings};

use crate::client::random;
use crate::config;
use crate::error::{Error, Result};
use crate::folders::{Places, make, make_private};
use crate::launch::{self, Command};

/// Run a command; when its Python is about to die of an exception, pause it and wait for a heal.
#[derive(clap::Args, Clone, Debug)]
#[command(override_usage = "healmcp run [OPTIONS] -- COMMAND [ARG]...")]
pub(crate) struct Args {
    /// Heal inside this installed package, too (by its import name); may be repeated.
    #[arg(long, value_name = "PKG")]
    pub(crate) include: Vec<String>,
    /// Wait so many seconds for a heal, then let the exception go on; 0 never pauses [default: 600, or 0 where CI is
    /// set].
    #[arg(long, value_name = "S")]
    pub(crate) timeout: Option<u64>,
    /// The command: `python app.py`, `python -m shop`, `pytest tests`, ...
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "COMMAND"
    )]
    pub(crate) command: Vec<OsString>,
}

const DEFAULT_TIMEOUT_S: u64 = 600;

/// Becomes the command; returns only when that fails.
pub(crate) fn run(args: &Args) -> Result<Infallible> {
    let search = search_path();
    if std::env::var_os(SWITCH_VARIABLE).is_some_and(|switch| switch == "0") {
        let file = launch::find_file(&args.command[0], &search)?;
        return become_command(std::process::Command::new(file), &args.command);
    }
    let command = Command::resolve(&args.command, &search)?;
    let settings = settings(args, &command)?;
    become_command(
        inject(std::process::Command::new(&command.file), &settings)?,
        &command.words,
    )
}

/// Gives a process the environment that brings the runtime in.
pub(crate) fn inject(
    mut process: std::process::Command,
    settings: &Settings,
) -> Result<std::process::Command> {
    let text = serde_json::to_string(settings)
        .map_err(|error| Error::failed(format!("cannot write the settings: {error}"), "report this"))?;
    let mut python_path = OsString::from(&settings.inject);
    if let Some(present) = std::env::var_os("PYTHONPATH").filter(|present| !present.is_empty()) {
        python_path.push(":");
        python_path.push(present);
    }
    process
        .env(SETTINGS_VARIABLE, text)
        .env("PYTHONPATH", python_path);
    Ok(process)
}

fn become_command(mut process: std::process::Command, words: &[OsString]) -> Result<Infallible> {
    let error = process.arg0(&words[0]).args(&words[1..]).exec();
    Err(Error::usage(
        format!("cannot run `{}`: {error}", words[0].to_string_lossy()),
        "check that the file is a program for this machine, or a script whose first line says what runs it",
    ))
}

/// Gathers what the runtime has to know, and refuses what cannot work before anything is started.
pub(crate) fn settings(args: &Args, command: &Command) -> Result<Settings> {
    let places = Places::of_this_process();
    let cache = places.cache()?;
    if let Some(interpreter) = command.interpreter() {
        launch::probe(interpreter, &cache)?.refuse(interpreter)?;
    }
    let current = std::env::current_dir().map_err(|error| {
        Error::usage(
            format!("the current folder cannot be used: {error}"),
            "change to another folder",
        )
    })?;
    let root = launch::find_root(&launch::start_of(command, &current));
    let config = config::read(&root)?;
    let extension = extension()?;
    let sockets = places.sockets();
    make_private(&sockets, places.uid)?;
    let inject = launch::write_inject_folder(&cache)?;
    let code = cache.join("code");
    make(&code)?;

    let mut include = config.include;
    include.extend(args.include.iter().cloned());
    include.sort();
    include.dedup();
    Ok(Settings {
        version: protocol::VERSION,
        extension: text_of(&extension)?,
        inject: text_of(&inject)?,
        sockets: text_of(&sockets)?,
        cache: text_of(&code)?,
        state: text_of(&places.state()?)?,
        scope: Scope {
            root: text_of(&root)?,
            include,
        },
        timeout_s: args.timeout.unwrap_or_else(|| match config.timeout_s {
            _ if runs_in_ci() => 0,
            Some(timeout_s) => timeout_s,
            None => DEFAULT_TIMEOUT_S,
        }),
        repeat_limit: config.repeat_limit.unwrap_or(protocol::DEFAULT_REPEAT_LIMIT),
        boundaries: config.boundaries,
        guard: config.guard,
        toolkit: config.toolkit,
        decisions: std::env::var(protocol::DECISIONS_VARIABLE).ok(),
        command: command
            .words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        session: session_name(),
    })
}

/// Finds the extension that belongs to this program.
pub(crate) fn extension() -> Result<PathBuf> {
    let executable = std::env::current_exe()
        .and_then(|path| path.canonicalize())
        .map_err(|error| {
            Error::failed(
                format!("cannot find the file of this program: {error}"),
                "install healmcp again",
            )
        })?;
    let told = std::env::var_os(launch::EXTENSION_VARIABLE).map(PathBuf::from);
    launch::find_extension(&executable, told.as_deref())
}

/// Nobody heals on a build server, and a job that waits for it would look hung.
pub(crate) fn runs_in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

/// Returns a name that sorts by time and is never given twice.
fn session_name() -> String {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    format!("{now}-{:08x}", random() as u32)
}

pub(crate) fn search_path() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&path)
        .filter(|folder| !folder.as_os_str().is_empty())
        .collect()
}

fn text_of(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| {
        Error::usage(
            format!("the path {} is not valid UTF-8", path.display()),
            "Python could not be told of it: move the project or the cache to another folder",
        )
    })
}
