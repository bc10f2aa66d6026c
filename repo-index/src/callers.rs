//! `callers`: which calls reach this function, surely or possibly?

use std::collections::HashSet;
use std::sync::Arc;

use crate::answer::{CallHit, Callers, Certainty, Fit};
use crate::error::Error;
use crate::facts::{FileFacts, Place, Reference, ReferenceKind};
use crate::read::{find_file, no_such_symbol};
use crate::resolve::Resolver;
use crate::session::{InPlace, Session, SymbolId, Texts, symbol_hit};
use crate::symbols::{find, parse_symbol};
use crate::tree::FileIdx;
use crate::verdict::{Targets, Verdict, verdict};
use crate::work::map_in_parallel;

/// How many of the definitions that are meant an answer lists.
const MAX_TARGETS: usize = 5;

/// A call that may reach one of the targets.
struct Call {
    file: FileIdx,
    enclosing: Option<u32>,
    at: Place,
    certainty: Certainty,
}

/// Returns the calls of what a dotted name means.
pub(crate) fn callers(session: &Session<'_>, query: &str) -> Result<Callers, Error> {
    let parts = parse_symbol(query)?;
    let everywhere: Vec<FileIdx> = (0..).zip(&session.tree.files).map(|(idx, _)| idx).collect();
    let mut targets = find(session, &parts, &everywhere);
    targets.retain(|target| target.fit <= Fit::End && target.kind.is_container());
    if targets.is_empty() {
        return Err(no_such_symbol(session, query, &parts));
    }
    let targets: Vec<SymbolId> = targets.iter().map(|it| it.symbol).collect();
    callers_of(session, &targets)
}

/// Returns the calls of the definition that starts at a line.
pub(crate) fn callers_at(session: &Session<'_>, path: &str, line: u32) -> Result<Callers, Error> {
    let file = find_file(session, path)?;
    let facts = session.facts(file);
    let definitions = facts.iter().flat_map(|facts| (0..).zip(&facts.definitions));
    let here = definitions.filter(|(_, it)| it.name_at.line == line && it.kind.is_container());
    let targets: Vec<SymbolId> = here
        .map(|(definition, _)| SymbolId { file, definition })
        .collect();
    callers_of(session, &targets)
}

fn callers_of(session: &Session<'_>, symbols: &[SymbolId]) -> Result<Callers, Error> {
    let resolver = Resolver::new(session);
    let name = symbols.first().and_then(|symbol| {
        let facts = resolver.facts(symbol.file)?;
        Some(
            facts
                .text(facts.definitions[symbol.definition as usize].name)
                .to_owned(),
        )
    });
    let Some(name) = name else {
        return Ok(Callers::default());
    };
    let files = session.source_files();
    let candidates = session.files_with(&files, &name, InPlace::Anywhere);
    let symbols_wanted: HashSet<SymbolId> = symbols.iter().copied().collect();
    let n_parts = session.index.n_threads.max(1);
    let parts: Vec<Vec<FileIdx>> = (0..n_parts)
        .map(|part| candidates.iter().copied().skip(part).step_by(n_parts).collect())
        .collect();
    let found = map_in_parallel(&parts, n_parts, |files| {
        let resolver = Resolver::new(session);
        let targets = Targets::new(&resolver, symbols_wanted.clone());
        let mut calls = Vec::new();
        let mut n_same_name = 0;
        for file in files {
            let Some(facts) = resolver.facts(*file) else {
                continue;
            };
            let Some(id) = facts.name_id(&name) else { continue };
            for reference in facts.references.iter().filter(|it| it.name == id) {
                n_same_name += 1;
                if reference.kind != ReferenceKind::Call {
                    continue;
                }
                if let Some(certainty) = certainty(&resolver, *file, &facts, reference, &targets) {
                    calls.push(Call {
                        file: *file,
                        enclosing: facts.enclosing(reference.at.offset),
                        at: reference.at,
                        certainty,
                    });
                }
            }
        }
        (calls, n_same_name)
    });
    let n_same_name = found.iter().map(|(_, n)| n).sum();
    let mut calls: Vec<Call> = found.into_iter().flat_map(|(calls, _)| calls).collect();
    calls.sort_by_key(|it| (it.certainty, it.file, it.at.offset));
    let texts = Texts::default();
    let page = session.page(&calls, files.len(), |it| {
        let (location, text) = texts.at(session, it.file, it.at);
        CallHit {
            certainty: it.certainty,
            location,
            text,
            enclosing: it
                .enclosing
                .and_then(|idx| Some(resolver.facts(it.file)?.qualified_name(idx))),
        }
    })?;
    let show = |symbol: &SymbolId| {
        let facts = resolver.facts(symbol.file)?;
        Some(symbol_hit(session, &texts, &facts, *symbol, Fit::Whole))
    };
    Ok(Callers {
        targets: symbols.iter().take(MAX_TARGETS).filter_map(show).collect(),
        n_same_name,
        page,
    })
}

fn certainty(
    resolver: &Resolver<'_, '_>,
    file: FileIdx,
    facts: &Arc<FileFacts>,
    reference: &Reference,
    targets: &Targets,
) -> Option<Certainty> {
    match verdict(resolver, file, facts, reference, targets) {
        Verdict::Means(_, certainty) => Some(certainty),
        Verdict::Unknown => Some(Certainty::ByName),
        Verdict::Other => None,
    }
}
