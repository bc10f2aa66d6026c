//! `symbols`: where is this name defined?

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::answer::{Fit, Page, SymbolHit};
use crate::error::Error;
use crate::facts::{DefinitionKind, FileFacts};
use crate::session::{InPlace, Session, SymbolId, Texts, symbol_hit};
use crate::tree::{File, FileIdx};

/// How many different names a search that forgives looks into.
const MAX_SIMILAR_NAMES: usize = 20;

/// How alike two names must be, of 1.
const MIN_SIMILARITY: f64 = 0.65;

/// How alike two names are when one is a slip of the other.
const NEARLY_SAME: f64 = 0.8;

pub(crate) fn symbols(session: &Session<'_>, query: &str) -> Result<Page<SymbolHit>, Error> {
    let parts = parse_symbol(query)?;
    let files = session.source_files();
    let mut found = find(session, &parts, &files);
    if found.is_empty() {
        found = find_similar(session, &parts, &files);
    }
    let texts = Texts::default();
    Ok(session
        .page(&found, files.len(), |found| found.show(session, &texts))?
        .flatten())
}

/// A definition that a query found.
pub(crate) struct FoundSymbol {
    pub(crate) symbol: SymbolId,
    pub(crate) fit: Fit,
    pub(crate) kind: DefinitionKind,
    /// Its name with those of the classes and functions around it.
    pub(crate) name: Box<str>,
    pub(crate) lines: (u32, u32),
}

impl FoundSymbol {
    fn new(facts: &FileFacts, symbol: SymbolId, fit: Fit) -> Self {
        let definition = &facts.definitions[symbol.definition as usize];
        Self {
            symbol,
            fit,
            kind: definition.kind,
            name: facts.qualified_name(symbol.definition).into(),
            lines: definition.lines,
        }
    }

    /// Returns it as answers show it; nothing if its file has changed meanwhile.
    pub(crate) fn show(&self, session: &Session<'_>, texts: &Texts) -> Option<SymbolHit> {
        let facts = session.facts(self.symbol.file)?;
        Some(symbol_hit(session, texts, &facts, self.symbol, self.fit))
    }
}

/// Returns the parts of a dotted name as people and Python write it.
pub(crate) fn parse_symbol(query: &str) -> Result<Vec<String>, Error> {
    let plain = query
        .trim()
        .trim_end_matches("()")
        .replace("<locals>.", "")
        .replace("::", ".")
        .replace(':', ".");
    let parts: Vec<String> = plain
        .split('.')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(Into::into)
        .collect();
    if parts.is_empty() {
        return Err(Error::EmptyQuery {
            hint: "name a function, a class or an attribute, such as `total` or `Order.total`".into(),
        });
    }
    Ok(parts)
}

/// Returns the definitions whose dotted name ends with the parts, best first.
pub(crate) fn find(session: &Session<'_>, parts: &[String], files: &[FileIdx]) -> Vec<FoundSymbol> {
    let Some(name) = parts.last() else {
        return Vec::new();
    };
    let candidates = session.files_with(files, name, InPlace::Defined);
    let found = find_in(session, parts, &candidates);
    if !found.is_empty() {
        return found;
    }
    // A name may be bound in a place that the scan does not know, such as the second target of an assignment.
    let others = session.files_with(files, name, InPlace::Used);
    find_in(session, parts, &others)
}

fn find_in(session: &Session<'_>, parts: &[String], files: &[FileIdx]) -> Vec<FoundSymbol> {
    let mut found = Vec::new();
    session.for_each_facts(files, |file_idx, facts| {
        for (definition, fit) in fits(facts, session.tree.file(file_idx), parts) {
            let symbol = SymbolId {
                file: file_idx,
                definition,
            };
            found.push(FoundSymbol::new(facts, symbol, fit));
        }
    });
    found.sort_by_cached_key(|found| (found.fit, rank(session, found)));
    found
}

/// Returns the definitions of a file that fit a dotted name.
fn fits(facts: &FileFacts, file: &File, parts: &[String]) -> Vec<(u32, Fit)> {
    let Some(name) = parts.last() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (idx, definition) in (0..).zip(&facts.definitions) {
        if facts.text(definition.name).eq_ignore_ascii_case(name) {
            let qualified = facts.qualified_name(idx);
            found.extend(fit(&file.module, &qualified, parts).map(|fit| (idx, fit)));
        }
    }
    found
}

fn fit(module: &str, qualified: &str, parts: &[String]) -> Option<Fit> {
    let names: Vec<&str> = module.split('.').chain(qualified.split('.')).collect();
    let end = &names[names.len().checked_sub(parts.len())?..];
    if !end
        .iter()
        .zip(parts)
        .all(|(name, part)| name.eq_ignore_ascii_case(part))
    {
        return None;
    }
    if !end.iter().zip(parts).all(|(name, part)| name == part) {
        return Some(Fit::OtherCase);
    }
    let n_qualified = qualified.split('.').count();
    Some(match parts.len() {
        n_parts if n_parts == names.len() => Fit::Whole,
        n_parts if n_parts == n_qualified => Fit::Name,
        _ => Fit::End,
    })
}

/// The project comes before packages, what runs before what is assigned, tests last, short paths first.
fn rank(session: &Session<'_>, found: &FoundSymbol) -> impl Ord + use<> {
    let file = session.tree.file(found.symbol.file);
    let is_assigned = !found.kind.is_container();
    let is_test = file
        .shown
        .split('/')
        .any(|part| part.starts_with("test") || part == "conftest.py");
    let n_folders = file.shown.matches('/').count();
    (
        file.origin,
        is_assigned,
        is_test,
        n_folders,
        file.shown.len(),
        found.symbol,
    )
}

/// Returns definitions with a name like the last part, those whose parents fit as well first.
pub(crate) fn find_similar(session: &Session<'_>, parts: &[String], files: &[FileIdx]) -> Vec<FoundSymbol> {
    let Some((name, parents)) = parts.split_last() else {
        return Vec::new();
    };
    let names = session.defined_names(files);
    let mut similar: Vec<(f64, &str)> = names
        .iter()
        .filter_map(|it| Some((similarity(name, it)?, &**it)))
        .collect();
    similar.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(other.1)));
    similar.truncate(MAX_SIMILAR_NAMES);
    let wanted: HashSet<FileIdx> = similar
        .iter()
        .flat_map(|(_, name)| session.files_with(files, name, InPlace::Defined))
        .collect();
    let candidates: Vec<FileIdx> = files.iter().copied().filter(|idx| wanted.contains(idx)).collect();
    let mut found = Vec::new();
    session.for_each_facts(&candidates, |file_idx, facts| {
        for (definition, definition_facts) in (0..).zip(&facts.definitions) {
            let text = facts.text(definition_facts.name);
            let Some(place) = similar.iter().position(|(_, name)| *name == text) else {
                continue;
            };
            let mut wanted = parents.to_vec();
            wanted.push(text.into());
            let module = &session.tree.file(file_idx).module;
            let fits_parents = fit(module, &facts.qualified_name(definition), &wanted).is_some();
            let symbol = SymbolId {
                file: file_idx,
                definition,
            };
            found.push((
                Reverse(fits_parents),
                place,
                FoundSymbol::new(facts, symbol, Fit::Similar),
            ));
        }
    });
    found.sort_by_cached_key(|(fits, place, found)| (*fits, *place, rank(session, found)));
    found.into_iter().map(|(_, _, found)| found).collect()
}

/// Returns how alike a wanted name and another are, or nothing if they are not.
fn similarity(wanted: &str, name: &str) -> Option<f64> {
    let share = f64::from(u8::try_from(wanted.len() * 100 / name.len().max(1)).unwrap_or(0)) / 100.0;
    if name.starts_with(wanted) {
        return Some(2.0 + share);
    }
    let (lower_wanted, lower) = (wanted.to_lowercase(), name.to_lowercase());
    let is_near = wanted.len().abs_diff(name.len()) <= 4;
    let likeness = if is_near {
        strsim::normalized_damerau_levenshtein(&lower_wanted, &lower)
    } else {
        0.0
    };
    if likeness >= NEARLY_SAME {
        return Some(2.0 + likeness);
    }
    if wanted.len() >= 3 && lower.contains(&lower_wanted) {
        return Some(1.0 + share);
    }
    (likeness >= MIN_SIMILARITY).then_some(likeness)
}
