//! Shows live state without running user code: values, variables, frames, exceptions.

mod place;
mod redact;
mod syntax;
