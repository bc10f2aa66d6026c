//! From a command line to a program with the runtime inside: what it is, whether it can be healed, and how it starts.

mod command;
mod extension;
mod inject;
mod interpreter;
mod scope;

pub(crate) use command::{Command, find_file};
pub(crate) use extension::{EXTENSION_VARIABLE, find as find_extension};
pub(crate) use inject::write as write_inject_folder;
pub(crate) use interpreter::{find_version, probe};
pub(crate) use scope::{find_root, start_of};
