//! An index of a repository: what is defined where, who uses it, and what stands around it.
//!
//! Per-file facts (`facts`) come from the text alone, by the queries of a language (`extract`, `language`).
//! A question (`index`) first scans names (`identifiers`), parses only the files that it touches, and resolves
//! across files when asked (`resolve`). The disk is one module (`disk`) behind one trait (`source`); the crate
//! reads no clock: a limit on its work is part of each question (`work`).

mod index;

mod answer;
mod callers;
mod context;
mod definition;
mod outline;
mod read;
mod references;
mod related;
mod symbols;
mod text;

mod likely;
mod resolve;
mod types;
mod verdict;

mod codec;
mod extract;
mod facts;
mod identifiers;
mod language;
mod rules;
mod shapes;

mod build;
mod filter;
mod listing;
mod session;
mod snapshot;
mod store;
mod tree;
mod work;

mod disk;
mod error;
mod source;

#[cfg(test)]
mod tests;

pub use answer::{
    CallHit, Callers, Certainty, ContextHit, DefinitionHit, Definitions, Excerpt, Fit, Location, Options,
    Outline, Page, Reading, ReferenceGroup, ReferenceHit, References, RelatedHit, Relation, SourceLine,
    SymbolHit, TextHit,
};
pub use build::{Built, Progress};
pub use context::FrameAt;
pub use disk::{Disk, MAX_FILE_SIZE};
pub use error::Error;
pub use extract::extract;
pub use facts::{
    Binding, BindingTarget, Definition, DefinitionKind, FileFacts, Import, NameId, Place, Reference,
    ReferenceKind, Scope, ScopeKind, Taken,
};
pub use identifiers::{Identifiers, hash_name};
pub use index::Index;
pub use language::{LANGUAGES, Language};
pub use read::ReadTarget;
pub use shapes::{
    CallId, CallShape, FunctionResult, Literal, Narrowing, Parameter, ParameterKind, Shape, ShapeId, Shapes,
    Value, Write,
};
pub use source::{Content, Found, FoundFile, Origin, Root, Skipped, Source, Stamp};
pub use text::{Syntax, TextPattern};
pub use work::Budget;
