//! The tools that read code, and the indexes they share.

mod read_code;
mod search_code;

mod around;
mod cache;
mod related;

pub use cache::CodeCache;

pub(crate) use read_code::ReadCode;
pub(crate) use search_code::SearchCode;
