//! `read`: the source of a symbol, or lines of a file.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::answer::{Excerpt, Reading, SourceLine};
use crate::error::Error;
use crate::facts::FileFacts;
use crate::session::{Session, Texts};
use crate::source::{Content, Origin};
use crate::symbols::{FoundSymbol, find, find_similar, parse_symbol};
use crate::tree::FileIdx;

/// How many names an error proposes.
const MAX_PROPOSED: usize = 5;

/// What to read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadTarget {
    /// A definition, or a module, by the end of its dotted name.
    Symbol(String),
    /// Lines of a file, to the end where no last one is given.
    Lines {
        /// The path as answers call it, or a full one.
        path: String,
        /// The first line, from 1.
        first: u32,
        /// The last line.
        last: Option<u32>,
    },
}

impl ReadTarget {
    /// Reads `Order.total`, `shop/models.py`, `shop/models.py:10` or `shop/models.py:10-20`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        if let Some((path, range)) = text.rsplit_once(':')
            && let Some((first, last)) = parse_range(range)
        {
            return Self::Lines {
                path: path.into(),
                first,
                last: Some(last),
            };
        }
        let extension = Path::new(text).extension().and_then(|it| it.to_str());
        let is_path = text.contains('/')
            || extension
                .and_then(crate::language::Language::of_extension)
                .is_some();
        if is_path {
            Self::Lines {
                path: text.into(),
                first: 1,
                last: None,
            }
        } else {
            Self::Symbol(text.into())
        }
    }
}

fn parse_range(text: &str) -> Option<(u32, u32)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
}

pub(crate) fn read(session: &Session<'_>, target: &ReadTarget) -> Result<Reading, Error> {
    match target {
        ReadTarget::Symbol(query) => read_symbol(session, query),
        ReadTarget::Lines { path, first, last } => {
            let idx = find_file(session, path)?;
            let text = read_text(session, idx, path)?;
            let n_lines = count_lines(&text);
            let (first, last) = ((*first).max(1), last.unwrap_or(n_lines));
            if last < first || first > n_lines.max(1) {
                let hint = format!("ask for lines between 1 and {n_lines}");
                return Err(Error::NoSuchLines {
                    path: path.clone(),
                    n_lines,
                    first,
                    last,
                    hint,
                });
            }
            let facts = session.facts(idx);
            let piece = Piece {
                idx,
                symbol: None,
                ranges: vec![(first, last)],
            };
            show(session, &text, facts.as_deref(), piece).map(Reading::Source)
        }
    }
}

fn read_symbol(session: &Session<'_>, query: &str) -> Result<Reading, Error> {
    let parts = parse_symbol(query)?;
    let files = session.source_files();
    let mut found = find(session, &parts, &files);
    if let Some(best) = found.first().map(|best| best.fit) {
        found.retain(|it| it.fit == best);
    }
    let Some(first) = found.first() else {
        let name = parts.join(".");
        if let Some(idx) = session.tree.modules_anywhere(&name).first() {
            let path = session.tree.file(*idx).shown.clone();
            return read(
                session,
                &ReadTarget::Lines {
                    path,
                    first: 1,
                    last: None,
                },
            );
        }
        return Err(no_such_symbol(session, query, &parts));
    };
    let name_of = |it: &FoundSymbol| (it.symbol.file, it.name.to_string());
    let name = name_of(first);
    if found.iter().any(|it| name_of(it) != name) {
        let texts = Texts::default();
        let page = session.page(&found, files.len(), |it| it.show(session, &texts))?;
        return Ok(Reading::Candidates(page.flatten()));
    }
    // A property and its setter, or the two arms of an `if`, are one symbol defined twice.
    let ranges = found.iter().map(|it| it.lines).collect();
    let piece = Piece {
        idx: first.symbol.file,
        symbol: Some(name.1),
        ranges,
    };
    let text = read_text(session, first.symbol.file, query)?;
    let facts = session.facts(first.symbol.file);
    show(session, &text, facts.as_deref(), piece).map(Reading::Source)
}

pub(crate) fn no_such_symbol(session: &Session<'_>, query: &str, parts: &[String]) -> Error {
    let similar = find_similar(session, parts, &session.source_files());
    let mut names: Vec<String> = Vec::new();
    for found in &similar {
        let name = format!("`{}`", found.name);
        if !names.contains(&name) && names.len() < MAX_PROPOSED {
            names.push(name);
        }
    }
    let hint = match names.is_empty() {
        true => "search the text, or read a file by its path".into(),
        false => format!("did you mean {}?", names.join(", ")),
    };
    Error::NoSuchSymbol {
        query: query.into(),
        hint,
    }
}

/// What is to be shown of a file.
struct Piece {
    idx: FileIdx,
    symbol: Option<String>,
    ranges: Vec<(u32, u32)>,
}

fn show(
    session: &Session<'_>,
    text: &str,
    facts: Option<&FileFacts>,
    piece: Piece,
) -> Result<Excerpt, Error> {
    let start = session.options.start()?;
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<u32> = piece
        .ranges
        .iter()
        .flat_map(|(first, last)| *first..=(*last).min(count_lines(text)))
        .collect();
    let shown: Vec<u32> = wanted
        .iter()
        .copied()
        .skip(start)
        .take(session.options.limit)
        .collect();
    let headers = match (facts, shown.first()) {
        (Some(facts), Some(first)) => headers(facts, *first),
        _ => Vec::new(),
    };
    let line = |number: u32, is_header: bool| SourceLine {
        number,
        text: lines.get(number as usize - 1).copied().unwrap_or_default().into(),
        is_header,
    };
    let headers = headers
        .into_iter()
        .filter(|number| !shown.contains(number))
        .map(|number| line(number, true));
    Ok(Excerpt {
        path: session.tree.file(piece.idx).shown.clone(),
        symbol: piece.symbol,
        lines: headers
            .chain(shown.iter().map(|number| line(*number, false)))
            .collect(),
        n_lines: count_lines(text),
        next_cursor: session.options.next_cursor(start, wanted.len()),
    })
}

/// Returns the lines of the headers of the classes and functions that begin before a line and go on after it.
fn headers(facts: &FileFacts, line: u32) -> Vec<u32> {
    let around = facts.definitions.iter().filter(|definition| {
        definition.kind.is_container() && definition.name_at.line < line && line <= definition.lines.1
    });
    around
        .flat_map(|definition| definition.name_at.line..=definition.header_end)
        .filter(|it| *it < line)
        .collect()
}

fn count_lines(text: &str) -> u32 {
    u32::try_from(text.lines().count()).unwrap_or(u32::MAX)
}

/// Returns the file of a path as answers call it, of a full path, or of the end of one.
pub(crate) fn find_file(session: &Session<'_>, path: &str) -> Result<FileIdx, Error> {
    let wanted = path.trim().trim_start_matches("./");
    let tree = &session.tree;
    if let Some(idx) = tree.files.iter().position(|file| file.shown == wanted) {
        return u32::try_from(idx).map_err(|_| unreadable(path, "there are too many files"));
    }
    let bases = tree.roots.iter().map(|root| match root.origin {
        Origin::Project => root.path.clone(),
        Origin::Package => root.path.parent().unwrap_or(&root.path).to_owned(),
    });
    let real = bases
        .into_iter()
        .find_map(|base| session.index.source.real_path(&base.join(wanted)));
    match real {
        Some(real) => match tree.file_at(&real) {
            Some(idx) => Ok(idx),
            None if tree.roots.iter().any(|root| real.starts_with(&root.path)) => {
                let skipped = tree.skipped.iter().find(|skipped| skipped.path == real);
                let why = skipped.map_or("it is ignored, or no text file", |skipped| &skipped.why);
                Err(unreadable(path, why))
            }
            None => Err(outside(path)),
        },
        None => match ending_with(session, wanted) {
            Some(idx) => Ok(idx),
            None => Err(unreadable(path, "there is no such file")),
        },
    }
}

/// Returns the only file whose path ends with these parts.
fn ending_with(session: &Session<'_>, wanted: &str) -> Option<FileIdx> {
    let ending = format!("/{wanted}");
    let mut found = (0..)
        .zip(&session.tree.files)
        .filter(|(_, file)| file.shown.ends_with(&ending));
    let (idx, _) = found.next()?;
    found.next().is_none().then_some(idx)
}

fn outside(path: &str) -> Error {
    let hint = "read a file of the project or of a package in the traceback, by the path that a search gave";
    Error::Outside {
        path: path.into(),
        hint: hint.into(),
    }
}

fn unreadable(path: &str, why: &str) -> Error {
    let hint = "search for a symbol or a text in it to learn its path".into();
    Error::Unreadable {
        path: path.into(),
        why: why.into(),
        hint,
    }
}

fn read_text(session: &Session<'_>, idx: FileIdx, path: &str) -> Result<String, Error> {
    let file = &session.tree.file(idx).path;
    // Since it was listed, a link may have taken its place.
    let real = session.index.source.real_path(file);
    if real.is_some_and(|real| !session.tree.roots.iter().any(|root| real.starts_with(&root.path))) {
        return Err(outside(path));
    }
    match session.index.source.read(file) {
        Content::Text(text, _) => Ok(text),
        Content::Gone => Err(unreadable(path, "it has vanished")),
        Content::Binary => Err(unreadable(path, "it is not text")),
        Content::TooLarge(size) => Err(unreadable(path, &format!("{size} bytes are too many"))),
        Content::Refused(why) => Err(unreadable(path, &why)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_symbol_a_path_or_lines() {
        let lines = |path: &str, first, last| ReadTarget::Lines {
            path: path.into(),
            first,
            last,
        };
        assert_eq!(
            ReadTarget::parse("Order.total"),
            ReadTarget::Symbol("Order.total".into())
        );
        assert_eq!(
            ReadTarget::parse("shop/models.py"),
            lines("shop/models.py", 1, None)
        );
        assert_eq!(ReadTarget::parse("six.py"), lines("six.py", 1, None));
        assert_eq!(ReadTarget::parse("a.py:10"), lines("a.py", 10, Some(10)));
        assert_eq!(ReadTarget::parse("README:10-20"), lines("README", 10, Some(20)));
    }
}
