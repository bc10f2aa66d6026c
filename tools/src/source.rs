//! The tools that read code, and the indexes they share.

mod cache;

pub use cache::CodeCache;
