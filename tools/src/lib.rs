//! The tools that an agent calls, one file each, and [`TOOLS`], the one list of them.
//!
//! Nothing here knows how a call arrives or where a crash lives: a tool gets its arguments as JSON, reaches crashes
//! through [`World`], and gives back an [`Answer`] or a [`ToolError`]. The MCP listing, the recorded schemas and
//! `docs/tools.md` are derived from the list.

mod tool;
mod world;

mod answer;
mod error;
mod schema;

mod crash;
mod heal;
mod source;

mod document;
mod text;

#[cfg(test)]
mod scripted;

pub use answer::{Answer, Shape};
pub use document::{markdown, recorded};
pub use error::{ErrorKind, ToolError};
pub use source::CodeCache;
pub use tool::{Context, Effect, Tool};
pub use world::World;

/// All tools, in the order in which a healer uses them.
pub static TOOLS: &[Tool] = &[
    Tool::of::<crash::ListCrashes>(),
    Tool::of::<crash::GetCrash>(),
    Tool::of::<crash::GetFrame>(),
    Tool::of::<crash::Evaluate>(),
    Tool::of::<source::SearchCode>(),
    Tool::of::<source::ReadCode>(),
    Tool::of::<heal::CheckHeal>(),
    Tool::of::<heal::Resume>(),
    Tool::of::<heal::Abort>(),
];

/// What a server of these tools tells a model before anything else.
pub const INSTRUCTIONS: &str = include_str!("instructions.md");

/// Returns the tool of this name.
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| tool.name == name)
}
