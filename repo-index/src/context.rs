//! `context`: which functions does somebody at a crash want to see?
//!
//! First the function that crashed and what its statement calls; then where the values of the names in the statement
//! come from, backwards over assignments and over who sets the attributes; then the same for each caller; last the
//! other definitions of the crashed method, which may handle the case.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::answer::{ContextHit, Fit, Page};
use crate::definition::candidates;
use crate::error::Error;
use crate::facts::{DefinitionKind, FileFacts, NameId, Reference, ReferenceKind};
use crate::resolve::Resolver;
use crate::session::{Session, SymbolId, Texts, symbol_hit};
use crate::tree::FileIdx;

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameAt {
    /// Its file.
    pub path: PathBuf,
    /// The line that it stands at.
    pub line: u32,
}

/// Frames farther out say little.
const MAX_FRAMES: usize = 8;

/// How many meanings of one call are worth showing.
const MAX_MEANINGS: usize = 2;

/// How many assignments are followed backwards, one from another.
const MAX_STEPS_BACK: usize = 3;

/// How many other definitions of the crashed method are worth showing.
const MAX_SIBLINGS: usize = 4;

/// Returns functions around a stack, innermost frame first, the most telling first.
pub(crate) fn context(session: &Session<'_>, frames: &[FrameAt]) -> Result<Page<ContextHit>, Error> {
    let resolver = Resolver::new(session);
    let mut around = Around {
        resolver: &resolver,
        found: Vec::new(),
        seen: HashSet::new(),
    };
    let known = frames.iter().filter_map(|frame| {
        let file = session.tree.file_at(&frame.path)?;
        let facts = resolver.facts(file)?;
        let function = facts.function_at(frame.line);
        Some(Place {
            file,
            facts,
            function,
            line: frame.line,
        })
    });
    let places: Vec<Place> = known.take(MAX_FRAMES).collect();
    for (depth, place) in places.iter().enumerate() {
        let who = if depth == 0 {
            "the frame that crashed"
        } else {
            "a caller"
        };
        if let Some(function) = place.function {
            around.add(place.symbol(function), who.to_owned());
        }
        around.add_called_on(place, place.line, "called");
        around.add_origins(place);
    }
    if let Some(place) = places.first() {
        around.add_siblings(place);
    }
    let texts = Texts::default();
    let found = around.found;
    let page = session.page(&found, places.len(), |(symbol, why)| {
        let facts = resolver.facts(symbol.file)?;
        Some(ContextHit {
            symbol: symbol_hit(session, &texts, &facts, *symbol, Fit::Whole),
            why: why.clone(),
        })
    })?;
    Ok(page.flatten())
}

/// A frame in a file of the index.
struct Place {
    file: FileIdx,
    facts: Arc<FileFacts>,
    function: Option<u32>,
    line: u32,
}

impl Place {
    fn symbol(&self, definition: u32) -> SymbolId {
        SymbolId {
            file: self.file,
            definition,
        }
    }

    fn on_line(&self, line: u32) -> impl Iterator<Item = &Reference> {
        self.facts.references.iter().filter(move |it| it.at.line == line)
    }
}

/// What has been found so far.
struct Around<'r, 's, 'q> {
    resolver: &'r Resolver<'s, 'q>,
    found: Vec<(SymbolId, String)>,
    seen: HashSet<SymbolId>,
}

impl Around<'_, '_, '_> {
    fn add(&mut self, symbol: SymbolId, why: String) {
        if self.seen.insert(symbol) {
            self.found.push((symbol, why));
        }
    }

    /// Adds what a line calls, and the properties that it reads.
    fn add_called_on(&mut self, place: &Place, line: u32, what: &str) {
        for reference in place.on_line(line) {
            if !matches!(reference.kind, ReferenceKind::Call | ReferenceKind::Attribute) {
                continue;
            }
            for candidate in candidates(self.resolver, place.file, &place.facts, reference)
                .iter()
                .take(MAX_MEANINGS)
            {
                let symbol = candidate.constructor.unwrap_or(candidate.symbol);
                let is_run = matches!(
                    self.resolver.kind(symbol),
                    Some(DefinitionKind::Function | DefinitionKind::Method | DefinitionKind::Class)
                );
                if is_run {
                    self.add(symbol, format!("{what} at line {line}"));
                }
            }
        }
    }

    /// Adds where the values of the names in the statement come from.
    fn add_origins(&mut self, place: &Place) {
        let mut lines = vec![place.line];
        for _ in 0..MAX_STEPS_BACK {
            let mut before: Vec<u32> = Vec::new();
            for line in &lines {
                for reference in place.on_line(*line) {
                    let is_plain = reference.receiver.is_none() && reference.kind != ReferenceKind::Keyword;
                    if is_plain {
                        before.extend(assigned_before(&place.facts, reference.name, reference.at.offset));
                    }
                }
            }
            before.sort_unstable();
            before.dedup();
            before.retain(|line| !lines.contains(line));
            for line in before.iter().rev() {
                self.add_called_on(place, *line, "gave a value of the statement");
            }
            lines = before;
        }
        let attributes: Vec<NameId> = place
            .on_line(place.line)
            .filter(|it| it.receiver.is_some() && it.kind == ReferenceKind::Attribute)
            .map(|it| it.name)
            .collect();
        for name in attributes {
            let writes: Vec<u32> = place
                .facts
                .writes
                .iter()
                .filter(|it| it.name == name)
                .map(|it| it.at)
                .collect();
            for at in writes {
                if let Some(function) = place.facts.enclosing(at) {
                    self.add(place.symbol(function), format!("sets {}", place.facts.text(name)));
                }
            }
        }
    }

    /// Adds other definitions of the crashed method in classes that are related to its own.
    fn add_siblings(&mut self, place: &Place) {
        let Some(function) = place.function else { return };
        let definition = &place.facts.definitions[function as usize];
        if definition.kind != DefinitionKind::Method {
            return;
        }
        let name = place.facts.text(definition.name);
        let definers = self.resolver.session.definers(name);
        for symbol in definers
            .iter()
            .filter(|it| **it != place.symbol(function))
            .take(MAX_SIBLINGS)
        {
            if self.resolver.kind(*symbol) == Some(DefinitionKind::Method) {
                self.add(*symbol, format!("another {name}"));
            }
        }
    }
}

/// Returns the lines in the same function that assign a name before an offset.
fn assigned_before(facts: &FileFacts, name: NameId, offset: u32) -> Vec<u32> {
    let scope = facts.scope_at(offset);
    let scopes: Vec<u32> = facts.scopes_from(scope).collect();
    let values = facts
        .values
        .iter()
        .filter(|it| it.name == name && it.at < offset && scopes.contains(&it.scope));
    values.filter_map(|it| facts.line_of(it.at)).collect()
}

impl FileFacts {
    /// Returns the innermost function, or class, whose lines hold a line.
    fn function_at(&self, line: u32) -> Option<u32> {
        let holding = (0..)
            .zip(&self.definitions)
            .filter(|(_, it)| it.kind.is_container() && it.lines.0 <= line && line <= it.lines.1);
        holding.last().map(|(idx, _)| idx)
    }

    /// Returns the line of an offset, as far as a name beside it tells.
    fn line_of(&self, offset: u32) -> Option<u32> {
        let next = self.references.partition_point(|it| it.at.offset < offset);
        self.references.get(next).map(|it| it.at.line)
    }
}
