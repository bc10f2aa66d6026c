//! The command line: its commands and what becomes of their results.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::{
    abort, bench, cache, check, check_code, crashes, demo, doctor, eval, explain, frame, index, mcp_config,
    read, report, resume, run, search, serve, show,
};
use crate::error::Result;
use crate::render::{Done, print, print_error};

/// Heal a running Python program where it would die of an exception.
#[derive(Debug, Parser)]
#[command(
    name = "healmcp",
    version,
    propagate_version = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Args),
    Crashes(crashes::Args),
    Show(show::Args),
    Frame(frame::Args),
    Eval(eval::Args),
    Search(search::Args),
    Read(read::Args),
    Index(index::Args),
    Check(check::Args),
    Resume(resume::Args),
    Abort(abort::Args),
    Report(report::Args),
    CheckCode(check_code::Args),
    Explain(explain::Args),
    Demo(demo::Args),
    Doctor(doctor::Args),
    McpConfig(mcp_config::Args),
    Cache(cache::Args),
    Bench(bench::Args),
    Serve(serve::Args),
}

/// Runs the command of this process's arguments.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(&cli.command) {
        Ok(done) => {
            print(&done.text);
            ExitCode::from(done.code)
        }
        Err(error) => {
            if wants_json(&cli.command) {
                print(&format!("{:#}", error.json()));
            } else {
                print_error(&error);
            }
            ExitCode::from(error.exit_code())
        }
    }
}

/// Whether the command was asked for JSON, which then an error is, too.
fn wants_json(command: &Command) -> bool {
    match command {
        Command::Crashes(args) => args.form.json,
        Command::Show(args) => args.form.json,
        Command::Frame(args) => args.form.json,
        Command::Eval(args) => args.form.json,
        Command::Search(args) => args.form.json,
        Command::Read(args) => args.form.json,
        Command::Check(args) => args.form.json,
        Command::Resume(args) => args.form.json,
        Command::Abort(args) => args.form.json,
        Command::Index(args) => args.form.json,
        Command::CheckCode(args) => args.form.json,
        Command::Doctor(args) => args.form.json,
        Command::Bench(args) => args.json(),
        Command::Run(_)
        | Command::Report(_)
        | Command::Explain(_)
        | Command::Demo(_)
        | Command::McpConfig(_)
        | Command::Cache(_)
        | Command::Serve(_) => false,
    }
}

fn dispatch(command: &Command) -> Result<Done> {
    match command {
        Command::Run(args) => match run::run(args)? {},
        Command::Crashes(args) => crashes::run(args),
        Command::Show(args) => show::run(args),
        Command::Frame(args) => frame::run(args),
        Command::Eval(args) => eval::run(args),
        Command::Search(args) => search::run(args),
        Command::Read(args) => read::run(args),
        Command::Index(args) => index::run(args),
        Command::Check(args) => check::run(args),
        Command::Resume(args) => resume::run(args),
        Command::Abort(args) => abort::run(args),
        Command::Report(args) => report::run(args),
        Command::CheckCode(args) => check_code::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::McpConfig(args) => mcp_config::run(args),
        Command::Cache(args) => cache::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Serve(args) => serve::run(args),
    }
}
