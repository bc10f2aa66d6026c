//! What belongs to a symbol: what it calls, what a class derives from and what derives from it, what overrides a
//! method, who imports a module.

use std::collections::HashSet;

use crate::answer::{Certainty, Page, RelatedHit, Relation};
use crate::definition::candidates;
use crate::error::Error;
use crate::facts::{DefinitionKind, Place, ReferenceKind, Taken};
use crate::read::no_such_symbol;
use crate::resolve::{Ancestor, Resolver};
use crate::session::{InPlace, Session, SymbolId, Texts};
use crate::symbols::{find, parse_symbol};
use crate::tree::FileIdx;
use crate::types::Type;

/// How many classes of a hierarchy are looked through for further ones.
const MAX_CLASSES: usize = 2_000;

/// How many of several symbols of one name are answered for.
const MAX_TARGETS: usize = 3;

/// Something that belongs to a symbol.
struct Found {
    relation: Relation,
    certainty: Certainty,
    file: FileIdx,
    at: Place,
    /// Its name, or that of what it is in.
    name: Option<String>,
}

/// Returns what the body of a function, or of a class, calls.
pub(crate) fn callees(session: &Session<'_>, query: &str) -> Result<Page<RelatedHit>, Error> {
    let resolver = Resolver::new(session);
    let mut found = Vec::new();
    for target in targets(session, query, |kind| kind.is_container())? {
        let Some(facts) = resolver.facts(target.file) else {
            continue;
        };
        let range = facts.definitions[target.definition as usize].range.clone();
        let first = facts.references.partition_point(|it| it.at.offset < range.start);
        let mut seen = HashSet::new();
        for reference in facts.references[first..]
            .iter()
            .take_while(|it| it.at.offset < range.end)
        {
            if reference.kind != ReferenceKind::Call {
                continue;
            }
            // What is not known by more than its name is left to a search for the name.
            let Some(best) = candidates(&resolver, target.file, &facts, reference)
                .into_iter()
                .next()
            else {
                continue;
            };
            let meant = best.constructor.unwrap_or(best.symbol);
            if seen.insert(meant)
                && let Some(there) = resolver.facts(meant.file)
            {
                found.push(Found {
                    relation: Relation::Callee,
                    certainty: best.certainty,
                    file: meant.file,
                    at: there.definitions[meant.definition as usize].name_at,
                    name: Some(full_name(session, &resolver, meant)),
                });
            }
        }
    }
    page(session, &found)
}

/// Returns the ancestors of a class, and what derives from it.
pub(crate) fn hierarchy(session: &Session<'_>, query: &str) -> Result<Page<RelatedHit>, Error> {
    let resolver = Resolver::new(session);
    let mut found = Vec::new();
    for class in targets(session, query, |kind| kind == DefinitionKind::Class)? {
        for ancestor in resolver.ancestors(class).iter().skip(1) {
            if let Ancestor::Class(ancestor) = ancestor {
                found.extend(symbol(session, &resolver, *ancestor, Relation::Ancestor));
            }
        }
        for derived in derived(session, &resolver, class) {
            found.extend(symbol(session, &resolver, derived, Relation::Derived));
        }
    }
    page(session, &found)
}

/// Returns the definitions of a method in what its class derives from and in what derives from it.
pub(crate) fn overrides(session: &Session<'_>, query: &str) -> Result<Page<RelatedHit>, Error> {
    let resolver = Resolver::new(session);
    let mut found = Vec::new();
    for target in targets(session, query, |_| true)? {
        let Some(facts) = resolver.facts(target.file) else {
            continue;
        };
        let definition = &facts.definitions[target.definition as usize];
        let Some(parent) = definition.parent else { continue };
        let class = SymbolId {
            file: target.file,
            definition: parent,
        };
        let name = facts.text(definition.name);
        for other in session.definers(name).iter().filter(|it| **it != target) {
            let parent = resolver
                .facts(other.file)
                .and_then(|it| it.definitions[other.definition as usize].parent);
            let Some(parent) = parent else { continue };
            let its_class = SymbolId {
                file: other.file,
                definition: parent,
            };
            if resolver.kind(its_class) != Some(DefinitionKind::Class) {
                continue;
            }
            if resolver.derives(its_class, class) {
                found.extend(symbol(session, &resolver, *other, Relation::Override));
            } else if resolver.derives(class, its_class) {
                found.extend(symbol(session, &resolver, *other, Relation::Overridden));
            }
        }
    }
    found.sort_by_key(|it| (it.relation, it.file, it.at.offset));
    page(session, &found)
}

/// Returns the imports of a module, or of a symbol.
pub(crate) fn importers(session: &Session<'_>, query: &str) -> Result<Page<RelatedHit>, Error> {
    let parts = parse_symbol(query)?;
    let modules = session.tree.modules_anywhere(&parts.join("."));
    let symbols: HashSet<SymbolId> = match modules.is_empty() {
        true => targets(session, query, |_| true)?.into_iter().collect(),
        false => HashSet::new(),
    };
    let name = parts.last().map(String::as_str).unwrap_or_default();
    let files = session.files_with(&session.source_files(), name, InPlace::Anywhere);
    let resolver = Resolver::new(session);
    let mut found = Vec::new();
    for file in files {
        let Some(at) = resolver.at(file, 0, 0) else {
            continue;
        };
        for import in &at.facts.imports {
            let means_module = || {
                let taken = resolver.import(&at, import);
                let mut from = resolver.modules(&at, at.facts.text(import.module));
                from.extend(taken.found.iter().filter_map(|it| match it {
                    Type::Module(module) => Some(*module),
                    _ => None,
                }));
                from.iter().any(|it| modules.contains(it))
            };
            let means_symbol = || {
                matches!(import.taken, Taken::Name(_))
                    && resolver
                        .imported_definitions(&at, import)
                        .iter()
                        .any(|it| symbols.contains(it))
            };
            if (!modules.is_empty() && means_module()) || (!symbols.is_empty() && means_symbol()) {
                found.push(Found {
                    relation: Relation::Importer,
                    certainty: Certainty::Confirmed,
                    file,
                    at: import.at,
                    name: Some(session.tree.file(file).module.clone()),
                });
            }
        }
    }
    found.dedup_by_key(|it| (it.file, it.at.line));
    page(session, &found)
}

fn targets(
    session: &Session<'_>,
    query: &str,
    is_wanted: impl Fn(DefinitionKind) -> bool,
) -> Result<Vec<SymbolId>, Error> {
    let parts = parse_symbol(query)?;
    let everywhere: Vec<FileIdx> = (0..).zip(&session.tree.files).map(|(idx, _)| idx).collect();
    let mut found = find(session, &parts, &everywhere);
    found.retain(|it| it.fit <= crate::answer::Fit::End && is_wanted(it.kind));
    if found.is_empty() {
        return Err(no_such_symbol(session, query, &parts));
    }
    Ok(found.iter().take(MAX_TARGETS).map(|it| it.symbol).collect())
}

/// Returns the classes that derive from one, near ones first.
fn derived(session: &Session<'_>, resolver: &Resolver<'_, '_>, class: SymbolId) -> Vec<SymbolId> {
    let files = session.source_files();
    let mut found = vec![class];
    let mut next = 0;
    while let Some(base) = found.get(next).copied().filter(|_| found.len() < MAX_CLASSES) {
        next += 1;
        let Some(name) = resolver.facts(base.file).map(|facts| {
            facts
                .text(facts.definitions[base.definition as usize].name)
                .to_owned()
        }) else {
            continue;
        };
        for file in session.files_with(&files, &name, InPlace::Anywhere) {
            let Some(facts) = resolver.facts(file) else {
                continue;
            };
            let classes = (0..).zip(&facts.definitions).filter(|(_, it)| {
                let mut bases = it.bases.iter().map(|base| facts.text(*base));
                it.kind == DefinitionKind::Class && bases.any(|base| base.rsplit('.').next() == Some(&name))
            });
            for (definition, _) in classes {
                let symbol = SymbolId { file, definition };
                if !found.contains(&symbol) && resolver.ancestors(symbol).contains(&Ancestor::Class(base)) {
                    found.push(symbol);
                }
            }
        }
    }
    found.split_off(1)
}

fn symbol(
    session: &Session<'_>,
    resolver: &Resolver<'_, '_>,
    symbol: SymbolId,
    relation: Relation,
) -> Option<Found> {
    let facts = resolver.facts(symbol.file)?;
    Some(Found {
        relation,
        certainty: Certainty::Confirmed,
        file: symbol.file,
        at: facts.definitions[symbol.definition as usize].name_at,
        name: Some(full_name(session, resolver, symbol)),
    })
}

fn full_name(session: &Session<'_>, resolver: &Resolver<'_, '_>, symbol: SymbolId) -> String {
    let module = &session.tree.file(symbol.file).module;
    let name = resolver
        .facts(symbol.file)
        .map(|facts| facts.qualified_name(symbol.definition));
    format!("{module}.{}", name.unwrap_or_default())
}

fn page(session: &Session<'_>, found: &[Found]) -> Result<Page<RelatedHit>, Error> {
    let allowed: Vec<&Found> = found
        .iter()
        .filter(|it| session.filter.allows(&session.tree.file(it.file).shown))
        .collect();
    let texts = Texts::default();
    session.page(&allowed, session.tree.files.len(), |it| {
        let (location, text) = texts.at(session, it.file, it.at);
        RelatedHit {
            relation: it.relation,
            certainty: it.certainty,
            location,
            text,
            name: it.name.clone(),
        }
    })
}
