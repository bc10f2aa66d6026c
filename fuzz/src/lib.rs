//! What the fuzz targets share: a grammar that turns bytes into heals, what must hold of a check, and an interpreter.

pub mod checker;
pub mod grammar;
pub mod interpreter;
