//! `healmcp search`: find symbols, text and references in the code around a crash.

use super::verbs::{Arguments, Form, call, machine};
use crate::error::Result;
use crate::render::Done;

/// Search the code of the project, and of the packages around a crash.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// A name, or text.
    query: String,
    /// What to look for: symbol, definition, references, callers, callees, hierarchy, overrides, writers, importers,
    /// outline, text or regex.
    #[arg(long)]
    kind: Option<String>,
    /// Search the packages of this crash, too.
    #[arg(long)]
    crash: Option<String>,
    /// Only in files below this path.
    #[arg(long)]
    path: Option<String>,
    /// At most so many results.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Go on where the previous answer ended.
    #[arg(long)]
    cursor: Option<String>,
    /// At most so many characters.
    #[arg(long, value_name = "N")]
    max_chars: Option<usize>,
    #[command(flatten)]
    pub(crate) form: Form,
}

pub(crate) fn run(args: &Args) -> Result<Done> {
    call(&machine("search")?, "search_code", arguments(args), args.form)
}

pub(crate) fn arguments(args: &Args) -> Arguments {
    Arguments::default()
        .with("query", args.query.clone())
        .with_some("kind", args.kind.clone())
        .with_some("crash_id", args.crash.clone())
        .with_some("path", args.path.clone())
        .with_some("limit", args.limit)
        .with_some("cursor", args.cursor.clone())
        .with_some("max_chars", args.max_chars)
}
