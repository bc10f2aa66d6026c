//! Why a question has no answer, and what to ask instead.

use thiserror::Error;

/// A question that cannot be answered as it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// There is nothing to look for.
    #[error("the query is empty")]
    EmptyQuery {
        /// What to do.
        hint: String,
    },
    /// No symbol is called that.
    #[error("no symbol is called `{query}`")]
    NoSuchSymbol {
        /// What was asked for.
        query: String,
        /// What to do.
        hint: String,
    },
    /// A file is not there, or not readable as text.
    #[error("cannot read `{path}`: {why}")]
    Unreadable {
        /// The path as it was asked for.
        path: String,
        /// What stands in the way.
        why: String,
        /// What to do.
        hint: String,
    },
    /// A path leads out of the project and its packages.
    #[error("`{path}` is outside of the indexed folders")]
    Outside {
        /// The path as it was asked for.
        path: String,
        /// What to do.
        hint: String,
    },
    /// A range of lines that the file does not have.
    #[error("`{path}` has {n_lines} lines, none of them in {first}-{last}")]
    NoSuchLines {
        /// The path as it was asked for.
        path: String,
        /// How many it has.
        n_lines: u32,
        /// The first line asked for.
        first: u32,
        /// The last line asked for.
        last: u32,
        /// What to do.
        hint: String,
    },
    /// A pattern that is not a regular expression.
    #[error("`{pattern}` is not a regular expression: {why}")]
    BadPattern {
        /// The pattern.
        pattern: String,
        /// What the parser says.
        why: String,
        /// What to do.
        hint: String,
    },
    /// A path filter that is not a glob.
    #[error("`{glob}` is not a glob: {why}")]
    BadGlob {
        /// The filter.
        glob: String,
        /// What the parser says.
        why: String,
        /// What to do.
        hint: String,
    },
    /// A cursor that no answer gave.
    #[error("the cursor `{cursor}` is not one of this question")]
    BadCursor {
        /// The cursor.
        cursor: String,
        /// What to do.
        hint: String,
    },
    /// A root that is not there.
    #[error("cannot index `{path}`: {why}")]
    BadRoot {
        /// The path.
        path: String,
        /// What stands in the way.
        why: String,
        /// What to do.
        hint: String,
    },
}

impl Error {
    /// Returns what the asker can do about it.
    #[must_use]
    pub fn hint(&self) -> &str {
        match self {
            Self::EmptyQuery { hint }
            | Self::NoSuchSymbol { hint, .. }
            | Self::Unreadable { hint, .. }
            | Self::Outside { hint, .. }
            | Self::NoSuchLines { hint, .. }
            | Self::BadPattern { hint, .. }
            | Self::BadGlob { hint, .. }
            | Self::BadCursor { hint, .. }
            | Self::BadRoot { hint, .. } => hint,
        }
    }
}
