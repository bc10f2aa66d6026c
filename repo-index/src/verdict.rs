//! Whether a use of a name means one of the definitions that are asked for.

use std::collections::HashSet;
use std::sync::Arc;

use crate::answer::Certainty;
use crate::definition::{Meaning, meaning};
use crate::facts::{DefinitionKind, FileFacts, Reference, ReferenceKind};
use crate::likely::fits;
use crate::resolve::{At, Resolver};
use crate::session::SymbolId;
use crate::tree::FileIdx;
use crate::types::Type;

/// What a use has to do with the definitions that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It means this one.
    Means(SymbolId, Certainty),
    /// It may mean one of them.
    Unknown,
    /// It means something else.
    Other,
}

/// The definitions that are asked for.
pub(crate) struct Targets {
    pub(crate) symbols: HashSet<SymbolId>,
    /// The classes that they stand in.
    classes: Vec<SymbolId>,
    /// Whether all of them are in classes.
    are_members: bool,
}

impl Targets {
    pub(crate) fn new(resolver: &Resolver<'_, '_>, symbols: HashSet<SymbolId>) -> Self {
        let class_of = |symbol: &SymbolId| {
            let facts = resolver.facts(symbol.file)?;
            let parent = facts.definitions[symbol.definition as usize].parent?;
            (facts.definitions[parent as usize].kind == DefinitionKind::Class).then_some(SymbolId {
                file: symbol.file,
                definition: parent,
            })
        };
        let classes: Vec<SymbolId> = symbols.iter().filter_map(class_of).collect();
        Self {
            are_members: !symbols.is_empty() && classes.len() == symbols.len(),
            classes,
            symbols,
        }
    }
}

/// Returns whether a reference means one of the targets, by the name of which it was found.
pub(crate) fn verdict(
    resolver: &Resolver<'_, '_>,
    file: FileIdx,
    facts: &Arc<FileFacts>,
    reference: &Reference,
    targets: &Targets,
) -> Verdict {
    if reference.kind == ReferenceKind::Keyword {
        // The function that takes the argument is not looked up.
        return Verdict::Unknown;
    }
    let at = At {
        file,
        facts: Arc::clone(facts),
        scope: reference.scope,
        offset: Some(reference.at.offset),
        own: None,
        depth: 0,
    };
    let is_import = reference.kind == ReferenceKind::Import;
    if is_import && !facts.imports.iter().any(|import| import.at == reference.at) {
        // A part of a module's name.
        return Verdict::Other;
    }
    let meaning = meaning(resolver, &at, reference);
    let found = found_in(&meaning, targets);
    if let Some(symbol) = found {
        let is_sure = meaning.types.is_sure
            || (reference.receiver.is_none()
                && meaning.definitions.iter().all(|it| targets.symbols.contains(it)));
        return Verdict::Means(
            symbol,
            if is_sure {
                Certainty::Confirmed
            } else {
                Certainty::ByType
            },
        );
    }
    if !may_be(resolver, facts, reference, targets) {
        return Verdict::Other;
    }
    if reference.receiver.is_none() {
        return plain(&meaning);
    }
    // What follows a class never derives from it; among unrelated classes any may follow.
    let is_super = meaning.receivers.found.iter().any(|it| match it {
        Type::Super(after, _) => targets
            .classes
            .iter()
            .any(|target| !resolver.derives(*target, *after)),
        _ => false,
    });
    let is_open = meaning.types.is_open || meaning.types.is_unknown() || meaning.receivers.is_open;
    if is_super || may_be_overridden(resolver, &meaning, targets) {
        return Verdict::Unknown;
    }
    if !is_open {
        return Verdict::Other;
    }
    Verdict::Unknown
}

/// A name that leads to definitions, or out of the index, means these; a variable may hold anything.
fn plain(meaning: &Meaning) -> Verdict {
    let leads_elsewhere = !meaning.definitions.is_empty()
        || (meaning
            .types
            .found
            .iter()
            .any(|it| *it != Type::Outside || meaning.types.is_sure)
            && !meaning.types.is_open);
    if leads_elsewhere {
        Verdict::Other
    } else {
        Verdict::Unknown
    }
}

fn found_in(meaning: &Meaning, targets: &Targets) -> Option<SymbolId> {
    let definitions = meaning.definitions.iter().copied();
    let types = meaning.types.found.iter().filter_map(|it| match it {
        Type::Class(symbol) | Type::Function(symbol) | Type::Method(symbol, _) => Some(*symbol),
        _ => None,
    });
    definitions
        .chain(types)
        .find(|symbol| targets.symbols.contains(symbol))
}

/// The object may be of a derived class, whose own definition is then the one that is meant.
fn may_be_overridden(resolver: &Resolver<'_, '_>, meaning: &Meaning, targets: &Targets) -> bool {
    let mut receivers = meaning.receivers.found.iter();
    receivers.any(|it| match it {
        Type::Instance(class) | Type::Class(class) => targets
            .classes
            .iter()
            .any(|target| resolver.derives(*target, *class)),
        _ => false,
    })
}

/// Whether a call could go to one of the targets at all, by what it passes.
fn may_be(resolver: &Resolver<'_, '_>, facts: &FileFacts, reference: &Reference, targets: &Targets) -> bool {
    let Some(call) = reference
        .call
        .filter(|_| targets.are_members && reference.receiver.is_some())
    else {
        return true;
    };
    targets.symbols.iter().any(|symbol| {
        resolver.facts(symbol.file).is_none_or(|there| {
            let definition = &there.definitions[symbol.definition as usize];
            fits(facts, call, &there, definition)
        })
    })
}
