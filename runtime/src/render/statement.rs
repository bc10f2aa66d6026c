//! The failing statement of a live frame: its source lines with the caret, and what its expressions hold.

use protocol::{SourceLine, SubExpression};
use pyo3::prelude::*;

use super::container::Container;
use super::frame::FrameAt;
use super::redact::{self, Secrecy};
use super::resolve;
use super::scope::{self, Names};
use super::source::source as source_of;
use super::statics;
use super::syntax::{self, Failing, Lines, Position};
use super::value::{self, Limits};

/// The most lines of a statement that are shown.
const MAX_LINES: u32 = 10;
/// Lines of source around the statement.
const AROUND: u32 = 3;
/// The most characters of a line of source.
const MAX_WIDTH: usize = 240;
/// The most sub-expressions that are shown.
const MAX_SUB_EXPRESSIONS: usize = 8;

/// A frame's failing statement, and the source it stands in.
pub(crate) struct Statement {
    /// What its source says.
    pub(crate) failing: Failing,
    source: Option<String>,
    position: Option<Position>,
    line: u32,
}

impl Statement {
    /// Reads the statement at which a frame stands.
    pub(crate) fn of(at: &FrameAt<'_>) -> PyResult<Self> {
        let code = at.frame.getattr("f_code")?;
        let file = statics::exact_text(&code.getattr("co_filename")?).unwrap_or_default();
        let source = source_of(at.frame.py(), &file);
        let position = position(&code, at.lasti)?
            .filter(|position| (position.line..=position.end_line).contains(&at.line));
        let failing = syntax::failing(source.as_deref().unwrap_or(""), at.line, position);
        Ok(Self {
            failing,
            source,
            position,
            line: at.line,
        })
    }

    /// Returns the statement with some lines around it.
    pub(crate) fn lines_around(&self) -> Vec<SourceLine> {
        let Some(source) = &self.source else {
            return Vec::new();
        };
        let lines = Lines::new(source);
        // Of a statement with too many lines, those around the failing one are shown.
        let (mut first, mut last) = (self.failing.first_line, self.failing.last_line);
        if last - first >= MAX_LINES {
            first = self.line.saturating_sub(MAX_LINES / 2).max(first);
            last = (first + MAX_LINES - 1).min(last);
        }
        let before = first.saturating_sub(AROUND).max(1);
        (before..=last + AROUND)
            .filter_map(|line| self.shown(&lines, line))
            .collect()
    }

    /// Returns the failing line alone.
    pub(crate) fn one_line(&self) -> Vec<SourceLine> {
        let Some(source) = &self.source else {
            return Vec::new();
        };
        self.shown(&Lines::new(source), self.line).into_iter().collect()
    }

    fn shown(&self, lines: &Lines<'_>, line: u32) -> Option<SourceLine> {
        let text = lines.text(line)?;
        let failing = (self.failing.first_line..=self.failing.last_line).contains(&line);
        let redacted = redact::source_line(text);
        let caret = self
            .position
            .filter(|_| redacted.is_none())
            .and_then(|position| caret(text, line, position));
        let shown = redacted.as_deref().unwrap_or(text);
        Some(SourceLine {
            line,
            text: shown.chars().take(MAX_WIDTH).collect(),
            failing,
            caret,
        })
    }

    /// Returns the values of the sub-expressions that are nothing but loads.
    pub(crate) fn sub_expressions(&self, names: &Names<'_>) -> Vec<SubExpression> {
        let limits = Limits::default();
        let mut found = Vec::new();
        for (text, place) in &self.failing.loads {
            let Ok(object) = resolve::resolve(names, place) else {
                continue;
            };
            if !scope::is_definition(&object) {
                let name = super::frame::secret_name(place);
                let expression = redact::source_line(text).unwrap_or_else(|| text.clone());
                found.push(SubExpression {
                    expression,
                    value: value::named_value(&name, &object, &limits).text,
                });
            }
        }
        for (text, place) in &self.failing.lengths {
            let is_builtin = names.get("len").is_none();
            let object = resolve::resolve(names, place).ok().filter(|_| is_builtin);
            if let Some(length) = object.and_then(|object| Container::exact(&object).map(|items| items.len()))
            {
                found.push(SubExpression {
                    expression: text.clone(),
                    value: length.to_string(),
                });
            }
        }
        found.truncate(MAX_SUB_EXPRESSIONS);
        found
    }

    /// Returns the calls that had run, without the secrets that they spell out.
    pub(crate) fn calls_made(&self) -> Vec<String> {
        self.failing
            .calls
            .iter()
            .map(|call| redact::source_line(call).unwrap_or_else(|| call.clone()))
            .collect()
    }

    /// Returns whether the statement reads a name.
    pub(crate) fn reads(&self, name: &str) -> bool {
        self.failing.names.iter().any(|known| known == name)
    }
}

fn position(code: &Bound<'_, PyAny>, lasti: i32) -> PyResult<Option<Position>> {
    let Ok(instruction_idx) = usize::try_from(lasti / 2) else {
        return Ok(None);
    };
    if lasti < 0 {
        return Ok(None);
    }
    let Some(found) = code
        .call_method0("co_positions")?
        .try_iter()?
        .nth(instruction_idx)
    else {
        return Ok(None);
    };
    let (line, end_line, column, end_column): (Option<u32>, Option<u32>, Option<u32>, Option<u32>) =
        found?.extract()?;
    Ok(match (line, end_line, column, end_column) {
        (Some(line), Some(end_line), Some(column), Some(end_column)) => Some(Position {
            line,
            end_line,
            column,
            end_column,
        }),
        _ => None,
    })
}

fn caret(text: &str, line: u32, position: Position) -> Option<(u32, u32)> {
    if !(position.line..=position.end_line).contains(&line) {
        return None;
    }
    let indent = text.len() - text.trim_start().len();
    let start = if line == position.line {
        position.column as usize
    } else {
        indent
    };
    let end = if line == position.end_line {
        position.end_column as usize
    } else {
        text.trim_end().len()
    };
    let characters = |bytes: usize| text.get(..bytes).map(|part| part.chars().count() as u32);
    let (start, end) = (characters(start)?, characters(end)?);
    (start < end).then_some((start, end))
}

/// Returns the secrecy of a place's names: one secret name in it makes it secret.
pub(crate) fn is_secret(name: &str) -> bool {
    redact::of_name(name) == Secrecy::All
}
