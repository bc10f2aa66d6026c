//! `text`: which lines fit this pattern?

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};

use crate::answer::{Page, TextHit};
use crate::error::Error;
use crate::session::Session;
use crate::source::Content;
use crate::tree::FileIdx;
use crate::work::map_in_parallel;

/// A longer line is shown in part, around what is meant.
const MAX_LINE_CHARS: usize = 240;

/// How many files are searched before their hits are counted.
const FILES_AT_ONCE: usize = 256;

/// What a text search looks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextPattern {
    /// The pattern.
    pub pattern: String,
    /// How it is read.
    pub syntax: Syntax,
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
}

/// How a pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Syntax {
    /// As it stands.
    Literal,
    /// As a regular expression of the `regex` crate.
    Regex,
}

impl TextPattern {
    /// Returns a pattern that stands for itself.
    #[must_use]
    pub fn literal(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            syntax: Syntax::Literal,
            ignore_case: false,
        }
    }

    /// Returns a regular expression.
    #[must_use]
    pub fn regex(pattern: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            syntax: Syntax::Regex,
            ignore_case: false,
        }
    }

    fn compile(&self) -> Result<Regex, Error> {
        if self.pattern.is_empty() {
            return Err(Error::EmptyQuery {
                hint: "give a text or a regular expression to look for".into(),
            });
        }
        let source = match self.syntax {
            Syntax::Literal => regex::escape(&self.pattern),
            Syntax::Regex => self.pattern.clone(),
        };
        let mut builder = RegexBuilder::new(&source);
        builder
            .multi_line(true)
            .crlf(true)
            .case_insensitive(self.ignore_case);
        builder.build().map_err(|error| {
            // The parser draws a picture over several lines; its last one says what is wrong.
            let why = error.to_string();
            let why = why
                .lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("error: ")
                .to_owned();
            Error::BadPattern {
                pattern: self.pattern.clone(),
                why,
                hint: format!(
                    "to find it as it stands, search for the literal text, or escape it: `{}`",
                    { regex::escape(&self.pattern) }
                ),
            }
        })
    }
}

pub(crate) fn search(session: &Session<'_>, pattern: &TextPattern) -> Result<Page<TextHit>, Error> {
    let regex = pattern.compile()?;
    let start = session.options.start()?;
    let end = start.saturating_add(session.options.limit);
    let files = (0..).zip(&session.tree.files);
    let files: Vec<FileIdx> = files
        .filter(|(_, file)| session.filter.allows(&file.shown))
        .map(|(idx, _)| idx)
        .collect();
    let mut items = Vec::new();
    let mut n_matches = 0;
    for some in files.chunks(FILES_AT_ONCE) {
        let found = map_in_parallel(some, session.index.n_threads, |idx| {
            search_file(session, &regex, *idx, end)
        });
        for in_file in found {
            let from = start.saturating_sub(n_matches).min(in_file.hits.len());
            let n_wanted = session.options.limit - items.len();
            n_matches += in_file.n_matches;
            items.extend(in_file.hits.into_iter().skip(from).take(n_wanted));
        }
    }
    Ok(session.page_of(items, start, n_matches, files.len()))
}

/// The lines of one file that fit, the first ones in full.
#[derive(Default)]
struct FileHits {
    hits: Vec<TextHit>,
    n_matches: usize,
}

fn search_file(session: &Session<'_>, regex: &Regex, idx: FileIdx, n_kept: usize) -> FileHits {
    if !session.may_read() {
        session.leave_out(1);
        return FileHits::default();
    }
    let Content::Text(text, _) = session.index.source.read(&session.tree.file(idx).path) else {
        return FileHits::default();
    };
    let mut found = FileHits::default();
    let (mut offset, mut line, mut counted) = (0, 1u32, 0);
    while let Some(hit) = regex.find_at(&text, offset) {
        found.n_matches += 1;
        if found.hits.len() < n_kept {
            let n_lines = memchr::memchr_iter(b'\n', &text.as_bytes()[counted..hit.start()]).count();
            line = line.saturating_add(u32::try_from(n_lines).unwrap_or(u32::MAX));
            counted = hit.start();
            let (column, shown) = shown_line(&text, hit.start());
            found.hits.push(TextHit {
                location: session.location(idx, line, column),
                text: shown,
            });
        }
        match memchr::memchr(b'\n', &text.as_bytes()[hit.start()..]) {
            Some(n_bytes) => offset = hit.start() + n_bytes + 1,
            None => break,
        }
        if offset >= text.len() {
            break;
        }
    }
    found
}

/// Returns the column of an offset, from 1, and its line, without its end and at most `MAX_LINE_CHARS` of it.
/// Returns the character of an offset in its line, from 1.
pub(crate) fn column_of(text: &str, offset: usize) -> u32 {
    let offset = text.floor_char_boundary(offset);
    let start = text[..offset].rfind('\n').map_or(0, |idx| idx + 1);
    u32::try_from(text[start..offset].chars().count() + 1).unwrap_or(u32::MAX)
}

pub(crate) fn shown_line(text: &str, offset: usize) -> (u32, String) {
    let offset = text.floor_char_boundary(offset);
    let start = text[..offset].rfind('\n').map_or(0, |idx| idx + 1);
    let end = text[offset..].find('\n').map_or(text.len(), |idx| offset + idx);
    let line = text[start..end].trim_end_matches('\r');
    let before = &text[start..offset];
    let n_before = before.chars().count();
    let column = u32::try_from(n_before + 1).unwrap_or(u32::MAX);
    if line.len() <= MAX_LINE_CHARS {
        return (column, line.into());
    }
    let n_skipped = n_before.saturating_sub(MAX_LINE_CHARS / 2);
    let n_chars = line.chars().count();
    let shown: String = line.chars().skip(n_skipped).take(MAX_LINE_CHARS).collect();
    let left = if n_skipped > 0 { "…" } else { "" };
    let right = if n_skipped + MAX_LINE_CHARS < n_chars {
        "…"
    } else {
        ""
    };
    (column, format!("{left}{shown}{right}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_shown_around_the_place() {
        assert_eq!(shown_line("a\r\n  b é c\r\n", 9), (6, "  b é c".into()));
        let long = format!("{}x{}", "a".repeat(1000), "b".repeat(1000));
        let (column, shown) = shown_line(&long, 1000);
        assert_eq!(column, 1001);
        assert!(shown.contains("axb") && shown.starts_with('…') && shown.ends_with('…'));
        assert_eq!(shown_line("ab", 9), (3, "ab".into()));
    }
}
