//! The demonstration: a job that crashes after half of its work, and an agent, played by a script, that heals it.

mod agent;
mod job;
mod story;

pub(crate) use story::tell;
