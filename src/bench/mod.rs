//! The benchmark of real crashes: instances, their environments, the healer and the score.

mod environment;
mod instance;
mod score;
mod trial;

pub(crate) use environment::{BENCH_FOLDER, Interpreters};
pub(crate) use instance::{Instance, Plan, read_all, read_plan};
pub(crate) use score::{Score, json, table};
pub(crate) use trial::{Bench, run};
