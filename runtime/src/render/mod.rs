//! Shows live state without running user code: values, variables, frames, exceptions.

mod container;
mod exception;
mod frame;
mod library;
mod place;
pub(crate) mod probe;
mod redact;
mod resolve;
mod scope;
mod secrets;
mod source;
mod statement;
mod statics;
mod syntax;
mod value;

pub(crate) use exception::{chain, exception_summary};
pub(crate) use frame::{FrameAt, frame_report, frame_view, location};
pub(crate) use secrets::Secrets;
pub(crate) use source::source;
pub(crate) use statics::instance_dict;
pub(crate) use value::{Limits, evaluated, named_value, user_repr, value};

/// Returns a text of the program's, such as what it printed or its command line, without the secrets in it.
pub(crate) fn redacted(text: &str) -> String {
    redact::text(text).unwrap_or_else(|| text.to_owned())
}
