//! The benchmark of real crashes: instances, their environments, the healer and the score.

mod environment;
mod instance;
mod running;
mod score;
mod trial;

pub(crate) use environment::Interpreters;
pub(crate) use instance::{Instance, read_all, read_plan};
pub(crate) use running::Running;
pub(crate) use score::{Score, json, table};
pub(crate) use trial::{Bench, run};
