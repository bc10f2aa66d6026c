//! The benchmarks: real crashes and their heals, decisions to pause, HealCore, and the index.

mod environment;
mod healcore;
mod healing;
mod index;
mod instance;
mod parallel;
mod pause;
mod pause_trial;
mod place;
mod running;
mod score;
mod speed;
mod trial;

pub(crate) use environment::Interpreters;
pub(crate) use healcore::{Engine, healcore_json, healcore_text, measure, read_heals};
pub(crate) use index::{index_json, index_text, measure_index, read_sites};
pub(crate) use instance::{read_all, read_plan};
pub(crate) use parallel::in_parallel;
pub(crate) use pause::{Outcome, pause_json, pause_text, read_rows};
pub(crate) use pause_trial::{PauseBench, run_row};
pub(crate) use running::Running;
pub(crate) use score::{Score, json, table};
pub(crate) use speed::{measure_speed, speed_json, speed_text};
pub(crate) use trial::{Bench, run};
