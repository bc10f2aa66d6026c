//! The commands, one file each.

mod verbs;

pub(crate) mod abort;
pub(crate) mod bench;
pub(crate) mod cache;
pub(crate) mod check;
pub(crate) mod check_code;
pub(crate) mod crashes;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod explain;
pub(crate) mod frame;
pub(crate) mod index;
pub(crate) mod mcp_config;
pub(crate) mod read;
pub(crate) mod report;
pub(crate) mod resume;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod show;
