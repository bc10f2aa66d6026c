//! `references`: where is this defined and used, and how sure is that?

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::answer::{Certainty, Fit, ReferenceGroup, ReferenceHit, References};
use crate::error::Error;
use crate::facts::{FileFacts, Place, Reference, ReferenceKind};
use crate::read::no_such_symbol;
use crate::resolve::Resolver;
use crate::session::{InPlace, Session, SymbolId, Texts};
use crate::symbols::{FoundSymbol, find, parse_symbol};
use crate::tree::FileIdx;
use crate::verdict::{Targets, Verdict, verdict};

/// How many of the definitions that are meant an answer lists on their own.
const MAX_TARGETS: usize = 10;

/// How many names that imports gave it are followed.
const MAX_OTHER_NAMES: usize = 8;

pub(crate) fn references(session: &Session<'_>, query: &str) -> Result<References, Error> {
    references_in(session, query, |_| true)
}

/// Returns where an attribute is defined and set.
pub(crate) fn writers(session: &Session<'_>, query: &str) -> Result<References, Error> {
    references_in(session, query, |group| {
        matches!(group, ReferenceGroup::Definition | ReferenceGroup::AttributeWrite)
    })
}

fn references_in(
    session: &Session<'_>,
    query: &str,
    is_wanted: impl Fn(ReferenceGroup) -> bool,
) -> Result<References, Error> {
    let parts = parse_symbol(query)?;
    let Some(name) = parts.last() else {
        return Err(no_such_symbol(session, query, &parts));
    };
    let files = session.source_files();
    let everywhere: Vec<FileIdx> = (0..).zip(&session.tree.files).map(|(idx, _)| idx).collect();
    let mut targets = find(session, &parts, &everywhere);
    targets.retain(|target| target.fit <= Fit::End);

    let candidates = session.files_with(&files, name, InPlace::Anywhere);
    let mut uses = Uses::new(session, name, &targets);
    for target in targets
        .iter()
        .filter(|it| session.filter.allows(&session.tree.file(it.symbol.file).shown))
    {
        uses.add_definition(target);
    }
    session.for_each_facts(&candidates, |file, facts| uses.add_file(file, facts));
    // An import may have given it another name, under which further files know it.
    let mut n_searched = 0;
    while let Some(other_name) = uses.other_names.get(n_searched).cloned() {
        n_searched += 1;
        let candidates = session.files_with(&files, &other_name, InPlace::Anywhere);
        session.for_each_facts(&candidates, |file, facts| {
            uses.add_other_name(file, facts, &other_name);
        });
    }
    if uses.found.is_empty() && targets.is_empty() && !session.is_partial() {
        return Err(no_such_symbol(session, query, &parts));
    }
    let (mut found, n_excluded) = (uses.found, uses.n_excluded);
    found.retain(|it| is_wanted(it.group));
    found.sort_by_key(|it| (it.group, it.certainty, it.file, it.at.offset));
    let texts = Texts::default();
    let page = session.page(&found, files.len(), |it| it.show(session, &texts))?;
    Ok(References {
        targets: targets
            .iter()
            .take(MAX_TARGETS)
            .filter_map(|it| it.show(session, &texts))
            .collect(),
        n_excluded,
        page,
    })
}

/// The uses that were found so far.
struct Uses<'s, 'q> {
    resolver: Resolver<'s, 'q>,
    name: &'s str,
    targets: Targets,
    names: HashMap<SymbolId, Arc<str>>,
    /// Arguments are called like variables and attributes, not like functions and classes.
    with_keywords: bool,
    /// Names that imports gave it.
    other_names: Vec<String>,
    found: Vec<FoundUse>,
    n_excluded: usize,
}

struct FoundUse {
    file: FileIdx,
    enclosing: Option<u32>,
    at: Place,
    group: ReferenceGroup,
    certainty: Certainty,
    target: Option<Arc<str>>,
}

impl<'s, 'q> Uses<'s, 'q> {
    fn new(session: &'s Session<'q>, name: &'s str, targets: &[FoundSymbol]) -> Self {
        let full_name = |it: &FoundSymbol| {
            let module = &session.tree.file(it.symbol.file).module;
            format!("{module}.{}", it.name).into()
        };
        let is_assigned = |it: &FoundSymbol| !it.kind.is_container();
        let resolver = Resolver::new(session);
        let symbols: HashSet<SymbolId> = targets.iter().map(|it| it.symbol).collect();
        Self {
            targets: Targets::new(&resolver, symbols),
            resolver,
            name,
            names: targets.iter().map(|it| (it.symbol, full_name(it))).collect(),
            with_keywords: targets.is_empty() || targets.iter().any(is_assigned),
            other_names: Vec::new(),
            found: Vec::new(),
            n_excluded: 0,
        }
    }

    fn add_definition(&mut self, target: &FoundSymbol) {
        let Some(facts) = self.resolver.facts(target.symbol.file) else {
            return;
        };
        let definition = &facts.definitions[target.symbol.definition as usize];
        self.found.push(FoundUse {
            file: target.symbol.file,
            // A definition stands in what is around it, not in itself.
            enclosing: definition.parent,
            at: definition.name_at,
            group: ReferenceGroup::Definition,
            certainty: Certainty::Confirmed,
            target: self.names.get(&target.symbol).cloned(),
        });
    }

    /// Adds the uses under the symbol's own name.
    fn add_file(&mut self, file: FileIdx, facts: &Arc<FileFacts>) {
        let Some(own) = facts.name_id(self.name) else {
            return;
        };
        for reference in facts.references.iter().filter(|it| it.name == own) {
            if reference.kind == ReferenceKind::Keyword && !self.with_keywords {
                continue;
            }
            let verdict = match self.targets.symbols.is_empty() {
                true => Verdict::Unknown,
                false => verdict(&self.resolver, file, facts, reference, &self.targets),
            };
            match verdict {
                Verdict::Means(symbol, certainty) => {
                    self.add(file, facts, reference, Some(symbol), certainty);
                    self.note_other_name(facts, reference);
                }
                Verdict::Unknown => self.add(file, facts, reference, None, Certainty::ByName),
                Verdict::Other => self.n_excluded += 1,
            }
        }
    }

    /// Adds the uses under a name that an import gave it: only where they certainly mean it.
    fn add_other_name(&mut self, file: FileIdx, facts: &Arc<FileFacts>, name: &str) {
        let Some(id) = facts.name_id(name) else { return };
        for reference in facts.references.iter().filter(|it| it.name == id) {
            let verdict = verdict(&self.resolver, file, facts, reference, &self.targets);
            if let Verdict::Means(symbol, certainty) = verdict {
                self.add(file, facts, reference, Some(symbol), certainty);
                self.note_other_name(facts, reference);
            }
        }
    }

    fn note_other_name(&mut self, facts: &FileFacts, reference: &Reference) {
        if reference.kind != ReferenceKind::Import {
            return;
        }
        let import = facts.imports.iter().find(|import| import.at == reference.at);
        let Some(bound) = import
            .and_then(|import| import.bound)
            .map(|bound| facts.text(bound))
        else {
            return;
        };
        let is_new = bound != self.name && !self.other_names.iter().any(|name| name == bound);
        if is_new && self.other_names.len() < MAX_OTHER_NAMES {
            self.other_names.push(bound.into());
        }
    }

    fn add(
        &mut self,
        file: FileIdx,
        facts: &Arc<FileFacts>,
        reference: &Reference,
        means: Option<SymbolId>,
        certainty: Certainty,
    ) {
        self.found.push(FoundUse {
            file,
            enclosing: facts.enclosing(reference.at.offset),
            at: reference.at,
            group: group_of(reference.kind),
            certainty,
            target: means.and_then(|symbol| self.names.get(&symbol).cloned()),
        });
    }
}

impl FoundUse {
    fn show(&self, session: &Session<'_>, texts: &Texts) -> ReferenceHit {
        let (location, text) = texts.at(session, self.file, self.at);
        let enclosing = self
            .enclosing
            .and_then(|idx| Some(session.facts(self.file)?.qualified_name(idx)));
        ReferenceHit {
            group: self.group,
            certainty: self.certainty,
            target: self.target.as_deref().map(Into::into),
            location,
            text,
            enclosing,
        }
    }
}

fn group_of(kind: ReferenceKind) -> ReferenceGroup {
    match kind {
        ReferenceKind::Call => ReferenceGroup::Call,
        ReferenceKind::Write => ReferenceGroup::AttributeWrite,
        ReferenceKind::Attribute => ReferenceGroup::Attribute,
        ReferenceKind::Keyword => ReferenceGroup::Keyword,
        ReferenceKind::Import => ReferenceGroup::Import,
        ReferenceKind::Name => ReferenceGroup::Name,
    }
}
