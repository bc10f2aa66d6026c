//! The command line of healmcp: it starts programs with the runtime inside and speaks for people to those that pause.

mod bench;
pub mod cli;
mod client;
mod commands;
mod config;
mod demo;
mod error;
mod folders;
mod launch;
mod machine;
mod mcp;
mod own_tools;
mod render;
mod report;
