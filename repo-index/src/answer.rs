//! What answers are made of: plain data, for others to show.

use serde::Serialize;

use crate::error::Error;
use crate::facts::DefinitionKind;
use crate::source::Origin;
use crate::work::Budget;

/// What every question can be asked with.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// How many items an answer holds; for `read`, how many lines.
    pub limit: usize,
    /// Where to go on, as the answer before gave it.
    pub cursor: Option<&'a str>,
    /// Only files below this path, or of this glob, as answers call them.
    pub path: Option<&'a str>,
    /// How much work it may cause.
    pub budget: Budget<'a>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            limit: 50,
            cursor: None,
            path: None,
            budget: Budget::unlimited(),
        }
    }
}

/// A part of the answer to a question.
#[derive(Clone, Debug, Serialize)]
pub struct Page<T> {
    /// This part's items.
    pub items: Vec<T>,
    /// How many there are in all; when `is_partial`, at least.
    pub n_matches: usize,
    /// Gives the next part.
    pub next_cursor: Option<String>,
    /// Whether files were left out because the budget was spent.
    pub is_partial: bool,
    /// How many files the answer takes into account.
    pub n_files_searched: usize,
    /// How many files the question is about.
    pub n_files: usize,
}

/// Where something is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Location {
    /// The path as `read` takes it.
    pub path: String,
    /// The label of its root.
    pub root: String,
    /// Whose code it is.
    pub origin: Origin,
    /// The line, from 1.
    pub line: u32,
    /// The character in the line, from 1.
    pub column: u32,
}

/// A definition that a query found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SymbolHit {
    /// Its name with those of the classes and functions around it.
    pub name: String,
    /// The module it is in.
    pub module: String,
    /// What it is.
    pub kind: DefinitionKind,
    /// Where its name stands.
    pub location: Location,
    /// Its first line, with decorators.
    pub first_line: u32,
    /// Its last line.
    pub last_line: u32,
    /// The line that names it.
    pub text: String,
    /// A class's bases as they are written.
    pub bases: Vec<String>,
    /// Its decorators as they are written.
    pub decorators: Vec<String>,
    /// The first line of its docstring.
    pub doc: Option<String>,
    /// How well it fits the query.
    pub fit: Fit,
}

/// How well a definition fits a query, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fit {
    /// Module and name are the query.
    Whole,
    /// The name within its module is the query.
    Name,
    /// The query is the end of the name.
    End,
    /// The same in another case.
    OtherCase,
    /// Only something like it.
    Similar,
}

/// A use of a symbol, or its definition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReferenceHit {
    /// What it is.
    pub group: ReferenceGroup,
    /// How sure it is that the symbol is meant.
    pub certainty: Certainty,
    /// The definition that is meant, as `module.name`, when it is sure.
    pub target: Option<String>,
    /// Where it is.
    pub location: Location,
    /// The source line.
    pub text: String,
    /// The class or function it is in.
    pub enclosing: Option<String>,
}

/// How a symbol is used, in the order of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReferenceGroup {
    /// It is defined.
    Definition,
    /// It is called.
    Call,
    /// It is set or deleted on an object.
    AttributeWrite,
    /// It is taken from an object.
    Attribute,
    /// It is imported.
    Import,
    /// Its name stands alone.
    Name,
    /// It is an argument's name.
    Keyword,
}

/// How sure it is that a name means a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Scopes, imports or classes lead there.
    Confirmed,
    /// What its receiver seems to be leads there.
    ByType,
    /// Only the name is the same.
    ByName,
}

/// The uses of a symbol.
#[derive(Clone, Debug, Serialize)]
pub struct References {
    /// The definitions that the query means; none when they are outside of the index.
    pub targets: Vec<SymbolHit>,
    /// How many uses of the name are left out, because they certainly mean something else.
    pub n_excluded: usize,
    /// The uses.
    pub page: Page<ReferenceHit>,
}

/// What a name at a place means.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Definitions {
    /// The name.
    pub name: String,
    /// The likeliest first.
    pub candidates: Vec<DefinitionHit>,
    /// Whether files were left out because the budget was spent.
    pub is_partial: bool,
}

/// A definition that a name may mean.
#[derive(Clone, Debug, Serialize)]
pub struct DefinitionHit {
    /// The definition.
    pub symbol: SymbolHit,
    /// How sure it is that it is meant.
    pub certainty: Certainty,
    /// What runs when the class is called.
    pub constructor: Option<SymbolHit>,
}

/// The calls that reach a function.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Callers {
    /// The definitions that are meant.
    pub targets: Vec<SymbolHit>,
    /// How many places use its name, for whatever it means there.
    pub n_same_name: usize,
    /// The calls that reach it, or may.
    pub page: Page<CallHit>,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallHit {
    /// How sure it is that it reaches the function.
    pub certainty: Certainty,
    /// Where it is.
    pub location: Location,
    /// The source line.
    pub text: String,
    /// The class or function it is in.
    pub enclosing: Option<String>,
}

/// Something that belongs to a symbol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RelatedHit {
    /// What it is to the symbol.
    pub relation: Relation,
    /// How sure that is.
    pub certainty: Certainty,
    /// Where it is.
    pub location: Location,
    /// The source line.
    pub text: String,
    /// Its name, or the module that it is in.
    pub name: Option<String>,
}

/// A function that somebody at a crash wants to see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextHit {
    /// The function.
    pub symbol: SymbolHit,
    /// Why it is there.
    pub why: String,
}

/// What something is to a symbol, in the order of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// It is called by it.
    Callee,
    /// The class derives from it.
    Ancestor,
    /// It derives from the class.
    Derived,
    /// The method stands in for it.
    Overridden,
    /// It stands in for the method.
    Override,
    /// It imports it.
    Importer,
}

/// A line that a pattern fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextHit {
    /// Where the first match of the line is.
    pub location: Location,
    /// The line.
    pub text: String,
}

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceLine {
    /// Its number, from 1.
    pub number: u32,
    /// Its text.
    pub text: String,
    /// Whether it is only there to say which class or function the others are in.
    pub is_header: bool,
}

/// What `read` found.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// The source.
    Source(Excerpt),
    /// Several symbols have that name: one of them, or a path filter, must be named.
    Candidates(Page<SymbolHit>),
}

/// A piece of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// The path as answers call it.
    pub path: String,
    /// The symbol, if one was asked for.
    pub symbol: Option<String>,
    /// The lines, those of the headers around them first; where numbers jump, lines are left out.
    pub lines: Vec<SourceLine>,
    /// How many lines the file has.
    pub n_lines: u32,
    /// Gives the lines after these.
    pub next_cursor: Option<String>,
}

/// What is defined in a file.
#[derive(Clone, Debug, Serialize)]
pub struct Outline {
    /// The path as answers call it.
    pub path: String,
    /// The first line of the module's docstring.
    pub doc: Option<String>,
    /// Whether a part of the file could not be parsed.
    pub has_errors: bool,
    /// In the order of the source.
    pub page: Page<SymbolHit>,
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            n_matches: 0,
            next_cursor: None,
            is_partial: false,
            n_files_searched: 0,
            n_files: 0,
        }
    }
}

impl<T> Page<Option<T>> {
    /// Leaves out what could not be shown.
    pub(crate) fn flatten(self) -> Page<T> {
        Page {
            items: self.items.into_iter().flatten().collect(),
            n_matches: self.n_matches,
            next_cursor: self.next_cursor,
            is_partial: self.is_partial,
            n_files_searched: self.n_files_searched,
            n_files: self.n_files,
        }
    }
}

impl Options<'_> {
    /// Returns how many items come before those that are asked for.
    pub(crate) fn start(&self) -> Result<usize, Error> {
        let Some(cursor) = self.cursor else { return Ok(0) };
        cursor
            .strip_prefix('+')
            .and_then(|start| start.parse().ok())
            .ok_or_else(|| Error::BadCursor {
                cursor: cursor.into(),
                hint: "pass the `next_cursor` of the last answer unchanged, or none to start again".into(),
            })
    }

    /// Returns the cursor of what follows this part, if anything does.
    pub(crate) fn next_cursor(&self, start: usize, n_matches: usize) -> Option<String> {
        let next = start.saturating_add(self.limit);
        (next < n_matches && self.limit > 0).then(|| format!("+{next}"))
    }
}
