//! `healmcp serve`: the tools for an agent, over MCP on standard input and output.

use std::sync::{Arc, OnceLock};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::folders::Places;
use crate::launch;
use crate::machine::Machine;
use crate::mcp::{self, Options};
use crate::render::Done;

/// Serve the tools to a coding agent, over MCP on standard input and output.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Leave out the tools that do more than look: check_heal, resume and abort.
    #[arg(long)]
    read_only: bool,
    /// Ask clients that can to have a person confirm each resume.
    #[arg(long)]
    confirm: bool,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    let places = Places::of_this_process();
    let current = std::env::current_dir().map_err(|error| {
        Error::usage(
            format!("the current folder cannot be used: {error}"),
            "start the server in another folder",
        )
    })?;
    let project = launch::find_root(&current);
    let client: OnceLock<Arc<Client>> = OnceLock::new();
    let connect = move |name: &str, cancel| {
        let client = client.get_or_init(|| Arc::new(Client::new(places.sockets(), places.uid, name)));
        let machine: Box<dyn tools::World> = Box::new(Machine {
            client: Arc::clone(client),
            project: project.clone(),
            cancel,
        });
        machine
    };
    let options = Options {
        read_only: args.read_only,
        person_confirms: args.confirm,
    };
    mcp::serve(Box::new(connect), options).map_err(|error| {
        Error::failed(
            format!("the server ended: {error}"),
            "start it from an MCP client",
        )
    })?;
    Ok(Done::default())
}
