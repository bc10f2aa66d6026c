//! `definition`: what does the name at this place mean?
//!
//! Scopes, imports, classes and types give the first answers; then come definitions in derived classes, which the
//! same call may reach; then, where the rest is unknown, definitions that are only called the same, the likeliest
//! first (`likely`).

use std::sync::Arc;

use crate::answer::{Certainty, DefinitionHit, Definitions};
use crate::error::Error;
use crate::facts::{DefinitionKind, FileFacts, Reference, ReferenceKind};
use crate::likely::{Likely, Site};
use crate::read::find_file;
use crate::resolve::{Ancestor, At, Resolver};
use crate::session::{Session, SymbolId, Texts, symbol_hit};
use crate::shapes::Shape;
use crate::tree::FileIdx;
use crate::types::{Type, Types};

/// More candidates are no answer.
pub(crate) const MAX_CANDIDATES: usize = 5;

/// A definition that a reference may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) symbol: SymbolId,
    pub(crate) certainty: Certainty,
    /// What runs when the class is called.
    pub(crate) constructor: Option<SymbolId>,
}

pub(crate) fn definition(
    session: &Session<'_>,
    path: &str,
    line: u32,
    name: Option<&str>,
    column: Option<u32>,
) -> Result<Definitions, Error> {
    let file = find_file(session, path)?;
    let Some(facts) = session.facts(file) else {
        return Ok(Definitions::default());
    };
    let resolver = Resolver::new(session);
    let texts = Texts::default();
    let here = facts.references.iter().filter(|it| it.at.line == line);
    let mut here: Vec<&Reference> = here
        .filter(|it| name.is_none_or(|name| facts.text(it.name) == name))
        .collect();
    if let Some(column) = column {
        let text = texts.text(session, file);
        here.retain(|it| crate::text::column_of(&text, it.at.offset as usize) == column);
    }
    // The call is meant where a line has a name several times.
    here.sort_by_key(|it| (it.kind, it.at.offset));
    let Some(reference) = here.first() else {
        return Ok(Definitions::default());
    };
    let candidates = candidates(&resolver, file, &facts, reference);
    let show = |symbol: SymbolId| {
        let facts = resolver.facts(symbol.file)?;
        Some(symbol_hit(
            session,
            &texts,
            &facts,
            symbol,
            crate::answer::Fit::Whole,
        ))
    };
    let hits = candidates.iter().filter_map(|it| {
        Some(DefinitionHit {
            symbol: show(it.symbol)?,
            certainty: it.certainty,
            constructor: it.constructor.and_then(show),
        })
    });
    Ok(Definitions {
        name: facts.text(reference.name).into(),
        candidates: hits.collect(),
        is_partial: session.is_partial(),
    })
}

/// Returns what a reference may mean, the likeliest first.
pub(crate) fn candidates(
    resolver: &Resolver<'_, '_>,
    file: FileIdx,
    facts: &Arc<FileFacts>,
    reference: &Reference,
) -> Vec<Candidate> {
    let at = At {
        file,
        facts: Arc::clone(facts),
        scope: reference.scope,
        offset: Some(reference.at.offset),
        own: None,
        depth: 0,
    };
    let mut found = Found {
        resolver,
        candidates: Vec::new(),
    };
    let name = facts.text(reference.name);
    let meaning = meaning(resolver, &at, reference);
    let certainty = if meaning.types.is_sure && meaning.types.found.len() == 1 {
        Certainty::Confirmed
    } else {
        Certainty::ByType
    };
    // What a variable holds is called, not the variable.
    let is_called = reference.kind == ReferenceKind::Call
        && meaning
            .definitions
            .iter()
            .all(|it| resolver.kind(*it).is_some_and(|kind| !kind.is_container()));
    if is_called {
        for one in &meaning.types.found {
            found.add_type(*one, certainty, reference.kind);
        }
        let certainty = if found.candidates.is_empty() {
            Certainty::ByType
        } else {
            certainty
        };
        for symbol in &meaning.definitions {
            found.add(*symbol, certainty, reference.kind);
        }
    }
    for symbol in &meaning.definitions {
        found.add(*symbol, certainty, reference.kind);
    }
    if found.candidates.is_empty() {
        for one in &meaning.types.found {
            found.add_type(*one, certainty, reference.kind);
        }
    }
    let is_settled = !meaning.types.is_open && !meaning.types.is_unknown();
    let likely = Likely::new(resolver);
    let site = Site {
        at: &at,
        reference,
        receivers: &meaning.receivers,
    };
    if reference.receiver.is_some() {
        for symbol in likely.overrides(&site, name, &meaning.definitions) {
            found.add(symbol, Certainty::ByType, reference.kind);
        }
    }
    if !is_settled || found.candidates.is_empty() {
        for symbol in likely.by_name(&site, name) {
            found.add(symbol, Certainty::ByName, reference.kind);
        }
    }
    found.candidates.truncate(MAX_CANDIDATES);
    found.candidates
}

/// What the text says of a reference.
#[derive(Default)]
pub(crate) struct Meaning {
    /// What the whole is.
    pub(crate) types: Types,
    /// Definitions of the attribute in what it is taken from.
    pub(crate) definitions: Vec<SymbolId>,
    /// What it is taken from.
    pub(crate) receivers: Types,
}

pub(crate) fn meaning(resolver: &Resolver<'_, '_>, at: &At, reference: &Reference) -> Meaning {
    let facts = &at.facts;
    let name = facts.text(reference.name);
    let Some(receiver) = reference.receiver else {
        let import = facts.imports.iter().find(|it| it.at == reference.at);
        if let (ReferenceKind::Import, Some(import)) = (reference.kind, import) {
            let types = resolver.import(at, import);
            return Meaning {
                definitions: resolver.imported_definitions(at, import),
                types,
                receivers: Types::default(),
            };
        }
        return Meaning {
            types: resolver.plain(at, reference.name),
            definitions: resolver.plain_definitions(at, reference.name, 0),
            receivers: Types::default(),
        };
    };
    let receivers = resolver.types_of(at, receiver);
    let mut definitions = Vec::new();
    let mut is_sure = receivers.is_sure && receivers.found.len() == 1 && !receivers.is_open;
    let mut types = Types::none_yet();
    types.is_open = receivers.is_open;
    for one in &receivers.found {
        let (class, after) = match *one {
            Type::Instance(class) | Type::Class(class) => (class, None),
            Type::Super(after, class) => (class, Some(after)),
            Type::Module(module) => {
                let found = resolver.definitions_in_module(module, name, 0);
                is_sure &= !found.is_empty();
                let is_variable = |it: &SymbolId| resolver.kind(*it).is_some_and(|kind| !kind.is_container());
                if reference.kind == ReferenceKind::Call && found.iter().all(is_variable) {
                    types.add_known(&resolver.attribute_types(at, *one, name));
                }
                types.is_open |= found.is_empty();
                definitions.extend(found);
                continue;
            }
            other => {
                types.push(other);
                continue;
            }
        };
        match resolver.member(class, name, after) {
            Some(member) => {
                is_sure &= member.is_sure;
                let facts = resolver.facts(member.class.file);
                let is_function = |it: &&u32| {
                    facts
                        .as_ref()
                        .is_some_and(|facts| facts.definitions[**it as usize].kind.is_container())
                };
                // The last function of a name is the one that is there.
                let functions: Vec<u32> = member.definitions.iter().filter(is_function).copied().collect();
                let kept = functions
                    .last()
                    .map_or_else(|| member.definitions.clone(), |last| vec![*last]);
                // A value that a class attribute holds is what is called.
                if functions.is_empty() && reference.kind == ReferenceKind::Call {
                    let value = resolver.attribute_types(at, *one, name);
                    let called = value.found.iter().any(|it| {
                        matches!(
                            it,
                            Type::Class(_) | Type::Function(_) | Type::Method(..) | Type::Instance(_)
                        )
                    });
                    if called {
                        types.add(&value);
                        is_sure = false;
                        continue;
                    }
                    types.is_open = true;
                    is_sure = false;
                }
                for definition in kept {
                    definitions.push(SymbolId {
                        file: member.class.file,
                        definition,
                    });
                }
            }
            None => {
                if resolver.is_from_outside(class) {
                    types.push(Type::Outside);
                    is_sure = false;
                } else {
                    types.is_open = true;
                }
            }
        }
    }
    definitions.dedup();
    types.is_sure = is_sure && types.found.len() + definitions.len() == 1;
    if !definitions.is_empty() && types.found.is_empty() {
        types.found.push(Type::Function(definitions[0]));
    }
    types.is_open |= receivers.is_unknown();
    Meaning {
        types,
        definitions,
        receivers,
    }
}

/// The candidates so far.
struct Found<'r, 's, 'q> {
    resolver: &'r Resolver<'s, 'q>,
    candidates: Vec<Candidate>,
}

impl Found<'_, '_, '_> {
    fn add_type(&mut self, one: Type, certainty: Certainty, kind: ReferenceKind) {
        match one {
            Type::Class(symbol) | Type::Function(symbol) | Type::Method(symbol, _) => {
                self.add(symbol, certainty, kind);
            }
            Type::Instance(class) if kind == ReferenceKind::Call => {
                if let Some(symbol) = self.resolver.method(class, "__call__") {
                    self.add(symbol, certainty, kind);
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, symbol: SymbolId, certainty: Certainty, kind: ReferenceKind) {
        if self.candidates.iter().any(|it| it.symbol == symbol) {
            return;
        }
        let is_class = self.resolver.kind(symbol) == Some(DefinitionKind::Class);
        let constructor = (is_class && kind == ReferenceKind::Call)
            .then(|| self.resolver.constructor(symbol))
            .flatten();
        self.candidates.push(Candidate {
            symbol,
            certainty,
            constructor,
        });
    }
}

impl Resolver<'_, '_> {
    /// Returns what a plain name is.
    pub(crate) fn plain(&self, at: &At, name: crate::facts::NameId) -> Types {
        match at
            .facts
            .shapes
            .shapes
            .iter()
            .position(|it| *it == Shape::Name(name))
        {
            Some(idx) => {
                let id = crate::shapes::ShapeId(u32::try_from(idx).unwrap_or_default());
                self.types_of(at, id)
            }
            None => Types::unknown(),
        }
    }

    /// Returns a method of a class, its own or an ancestor's.
    pub(crate) fn method(&self, class: SymbolId, name: &str) -> Option<SymbolId> {
        let member = self.member(class, name, None)?;
        let definition = *member.definitions.last()?;
        Some(SymbolId {
            file: member.class.file,
            definition,
        })
    }

    /// Returns what runs when a class is called.
    pub(crate) fn constructor(&self, class: SymbolId) -> Option<SymbolId> {
        let place = |name: &str| {
            let member = self.member(class, name, None)?;
            let definition = *member.definitions.last()?;
            let order = self.ancestors(class);
            let position = order.iter().position(|it| *it == Ancestor::Class(member.class))?;
            let symbol = SymbolId {
                file: member.class.file,
                definition,
            };
            Some((position, symbol))
        };
        // Both run; the one nearer to the class says more of it.
        let both = [place("__init__"), place("__new__")];
        both.into_iter()
            .flatten()
            .min_by_key(|(position, _)| *position)
            .map(|(_, symbol)| symbol)
    }
}
