//! `healmcp bench`: what healmcp is measured by.

mod crashes;
mod healcore;
mod index;
mod pause;
mod speed;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::run::{extension, search_path};
use crate::bench::{Engine, Interpreters};
use crate::error::{Error, Result};
use crate::folders::Places;
use crate::launch;
use crate::render::Done;

/// Measure healmcp on cases that are given.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, clap::Subcommand)]
enum Kind {
    Crashes(crashes::Args),
    Pause(pause::Args),
    Healcore(healcore::Args),
    HealSpeed(speed::Args),
    Index(index::Args),
}

impl Args {
    /// Whether the result is wanted as JSON.
    pub(crate) fn json(&self) -> bool {
        match &self.kind {
            Kind::Crashes(args) => args.json,
            Kind::Pause(args) => args.json,
            Kind::Healcore(args) => args.json,
            Kind::HealSpeed(args) => args.json,
            Kind::Index(args) => args.json,
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    match &args.kind {
        Kind::Crashes(args) => crashes::run(args),
        Kind::Pause(args) => pause::run(args),
        Kind::Healcore(args) => healcore::run(args),
        Kind::HealSpeed(args) => speed::run(args),
        Kind::Index(args) => index::run(args),
    }
}

/// Keeps the cases that are named, or all where none is.
fn keep_only<T>(cases: Vec<T>, only: &[String], source: &Path, id_of: fn(&T) -> &str) -> Result<Vec<T>> {
    if let Some(unknown) = only
        .iter()
        .find(|id| cases.iter().all(|case| id_of(case) != **id))
    {
        return Err(Error::usage(
            format!("{} has no case `{unknown}`", source.display()),
            "give the `id` of a case, or leave out --only to run all",
        ));
    }
    let is_kept = |case: &T| only.is_empty() || only.iter().any(|id| id == id_of(case));
    Ok(cases.into_iter().filter(is_kept).collect())
}

fn this_program() -> Result<PathBuf> {
    std::env::current_exe().map_err(|error| {
        Error::failed(
            format!("cannot find this program: {error}"),
            "install healmcp again",
        )
    })
}

fn interpreters(places: &Places, told: Option<PathBuf>) -> Interpreters {
    Interpreters {
        search: search_path(),
        home: places.home.clone(),
        told,
        found: Mutex::new(HashMap::new()),
    }
}

/// What runs heals: the interpreter that is named, or the newest, and the extension.
fn engine(named: Option<&Path>) -> Result<Engine> {
    let places = Places::of_this_process();
    let python = chosen_python(named, &places)?;
    let interpreter = launch::probe(&python, &places.cache()?)?;
    interpreter.refuse(&python)?;
    Ok(Engine {
        python,
        minor: u8::try_from(interpreter.version.1).unwrap_or(u8::MAX),
        extension: extension()?,
    })
}

/// Finds the interpreter that is named, as the shell would, or the newest; absolute, as programs run in other folders.
fn chosen_python(named: Option<&Path>, places: &Places) -> Result<PathBuf> {
    let Some(named) = named else {
        return interpreters(places, None).newest();
    };
    let file = launch::find_file(named.as_os_str(), &search_path())?;
    std::path::absolute(&file).map_err(|error| {
        Error::failed(
            format!("cannot find `{}`: {error}", named.display()),
            "give its absolute path",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cases_that_there_are_can_be_named() {
        let check = |only: &[&str], expect: &str| {
            let only: Vec<String> = only.iter().map(|id| (*id).to_owned()).collect();
            let said = match keep_only(vec!["a", "b", "c"], &only, Path::new("F"), |case| case) {
                Ok(kept) => kept.join(" "),
                Err(error) => error.to_string(),
            };
            assert_eq!(said, expect);
        };
        check(&[], "a b c");
        check(&["c", "a"], "a c");
        check(&["x"], "F has no case `x`");
    }
}
