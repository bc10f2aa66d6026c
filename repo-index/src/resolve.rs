//! What a name means where it stands: by scopes, imports and classes, across files.
//!
//! Nothing is inferred about values: what these three do not settle stays unknown, and is said to be.

use std::collections::HashSet;
use std::sync::Arc;

use crate::facts::{
    Binding, BindingTarget, DefinitionKind, FileFacts, Import, Receiver, Reference, ReferenceKind, ScopeKind,
    Taken,
};
use crate::session::{Session, SymbolId};
use crate::tree::FileIdx;

/// How many imports, assignments or bases a lookup follows.
const MAX_DEPTH: usize = 8;

/// What a name may mean. Several meanings are alternatives; none means that it is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// A definition of the index.
    Definition(SymbolId),
    /// A module of the index.
    Module(FileIdx),
    /// A parameter or a variable of a function.
    Local,
    /// Something outside of the index, or built into the language.
    Outside,
}

/// What a reference has to do with the definitions that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It means this one.
    Means(SymbolId),
    /// It may mean one of them.
    Unknown,
    /// It means something else.
    Other,
}

/// Looks names up, with the files of one question.
pub(crate) struct Resolver<'s, 'q> {
    session: &'s Session<'q>,
}

/// A place that a name is looked up from.
#[derive(Clone)]
struct From {
    file: FileIdx,
    facts: Arc<FileFacts>,
    depth: usize,
}

impl From {
    fn deeper(&self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self.clone()
        }
    }
}

impl<'s, 'q> Resolver<'s, 'q> {
    pub(crate) fn new(session: &'s Session<'q>) -> Self {
        Self { session }
    }

    /// Returns whether a reference means one of the targets, by the name of which it was found.
    pub(crate) fn verdict(
        &self,
        file: FileIdx,
        facts: &Arc<FileFacts>,
        reference: &Reference,
        targets: &HashSet<SymbolId>,
    ) -> Verdict {
        let from = From {
            file,
            facts: Arc::clone(facts),
            depth: 0,
        };
        let name = facts.text(reference.name);
        let meanings = match reference.receiver {
            Receiver::Plain => {
                let import = facts.imports.iter().find(|import| import.at == reference.at);
                match import {
                    Some(import) => self.import(&from, import),
                    // A part of a module's name.
                    None if reference.kind == ReferenceKind::Import => vec![Meaning::Outside],
                    // The function that takes the argument is not looked up.
                    None if reference.kind == ReferenceKind::Keyword => {
                        return Verdict::Unknown;
                    }
                    None => self.name(&from, reference.scope, name),
                }
            }
            Receiver::Path(path) => {
                let path = facts.text(path);
                match facts
                    .class_around(reference.scope)
                    .filter(|_| self.is_own_object(file, path))
                {
                    Some(class) => {
                        return self.verdict_in_class(&from, class, name, targets);
                    }
                    None => self.attribute(&from, &self.path(&from, reference.scope, path), name),
                }
            }
            Receiver::Super => match facts.class_around(reference.scope) {
                Some(class) => self.inherited(
                    SymbolId {
                        file,
                        definition: class,
                    },
                    name,
                    0,
                ),
                None => Vec::new(),
            },
            Receiver::Other => Vec::new(),
        };
        verdict_of(&meanings, targets)
    }

    fn is_own_object(&self, file: FileIdx, receiver: &str) -> bool {
        let language = self
            .session
            .tree
            .file(file)
            .language
            .unwrap_or(&crate::language::LANGUAGES[0]);
        language.self_names.contains(&receiver)
    }

    /// The method's own object may be of a derived class, whose own definition is then the one that is meant.
    fn verdict_in_class(&self, from: &From, class: u32, name: &str, targets: &HashSet<SymbolId>) -> Verdict {
        let class = SymbolId {
            file: from.file,
            definition: class,
        };
        let verdict = verdict_of(&self.member(class, name, 0), targets);
        let may_be_overridden = || {
            targets.iter().any(|target| {
                self.class_of(*target)
                    .is_some_and(|it| self.derives(it, class, 0))
            })
        };
        match verdict {
            Verdict::Other if may_be_overridden() => Verdict::Unknown,
            verdict => verdict,
        }
    }

    fn class_of(&self, symbol: SymbolId) -> Option<SymbolId> {
        let facts = self.session.facts(symbol.file)?;
        let parent = facts.definitions[symbol.definition as usize].parent?;
        let is_class = facts.definitions[parent as usize].kind == DefinitionKind::Class;
        is_class.then_some(SymbolId {
            file: symbol.file,
            definition: parent,
        })
    }

    fn derives(&self, class: SymbolId, from: SymbolId, depth: usize) -> bool {
        if class == from || depth > MAX_DEPTH {
            return class == from;
        }
        let bases = self.bases(class, depth);
        bases
            .iter()
            .any(|base| matches!(base, Meaning::Definition(base) if self.derives(*base, from, depth + 1)))
    }

    /// Looks a plain name up in the scopes around it.
    fn name(&self, from: &From, scope: u32, name: &str) -> Vec<Meaning> {
        let facts = &from.facts;
        let Some(id) = facts.name_id(name) else {
            return self.in_stars(from, name);
        };
        for at in facts.scopes_from(scope) {
            let kind = facts.scopes[at as usize].kind;
            if kind == ScopeKind::Class && at != scope {
                continue;
            }
            let bindings = facts.bindings_of(at, id);
            if bindings.iter().any(|binding| binding.to == BindingTarget::Global) {
                let in_module = facts.bindings_of(0, id);
                return self
                    .bound(from, in_module)
                    .unwrap_or_else(|| self.in_stars(from, name));
            }
            if bindings
                .iter()
                .any(|binding| binding.to == BindingTarget::Nonlocal)
            {
                continue;
            }
            if let Some(meanings) = self.bound(from, bindings) {
                return meanings;
            }
        }
        self.in_stars(from, name)
    }

    /// Returns what bindings mean, or nothing if there are none.
    fn bound(&self, from: &From, bindings: &[Binding]) -> Option<Vec<Meaning>> {
        if bindings.is_empty() {
            return None;
        }
        let mut meanings = Vec::new();
        for binding in bindings {
            match binding.to {
                BindingTarget::Definition(definition) => {
                    meanings.push(Meaning::Definition(SymbolId {
                        file: from.file,
                        definition,
                    }));
                }
                BindingTarget::Import(import) => {
                    let found = self.import(&from.deeper(), &from.facts.imports[import as usize]);
                    if found.is_empty() {
                        return Some(Vec::new());
                    }
                    meanings.extend(found);
                }
                BindingTarget::Parameter | BindingTarget::Local => {}
                BindingTarget::Global | BindingTarget::Nonlocal => {}
            }
        }
        // What is assigned again keeps the meaning of its definition.
        if meanings.is_empty() {
            meanings.push(Meaning::Local);
        }
        Some(meanings)
    }

    /// Looks a name up that no scope binds: in `import *`, else it is the language's own.
    fn in_stars(&self, from: &From, name: &str) -> Vec<Meaning> {
        let mut is_known = true;
        for import in from
            .facts
            .imports
            .iter()
            .filter(|import| import.taken == Taken::All)
        {
            let modules = self.modules(from, from.facts.text(import.module));
            is_known &= !modules.is_empty();
            for module in modules {
                let meanings = self.member_of_module(module, name, from.depth + 1);
                if !meanings.is_empty() {
                    return meanings;
                }
            }
        }
        if is_known {
            vec![Meaning::Outside]
        } else {
            Vec::new()
        }
    }

    fn import(&self, from: &From, import: &Import) -> Vec<Meaning> {
        if from.depth > MAX_DEPTH {
            return Vec::new();
        }
        let module = from.facts.text(import.module);
        let modules = match import.taken {
            Taken::FirstPart => self.modules(from, module.split('.').next().unwrap_or(module)),
            Taken::Module | Taken::All | Taken::Name(_) => self.modules(from, module),
        };
        let Taken::Name(name) = import.taken else {
            let known = modules
                .iter()
                .map(|module| Meaning::Module(*module))
                .collect::<Vec<_>>();
            return if known.is_empty() {
                self.unknown_module(module)
            } else {
                known
            };
        };
        let name = from.facts.text(name);
        let mut meanings = Vec::new();
        for module in &modules {
            meanings.extend(self.member_of_module(*module, name, from.depth + 1));
        }
        if meanings.is_empty() {
            let joiner = if module.ends_with('.') { "" } else { "." };
            let below = self.modules(from, &format!("{module}{joiner}{name}"));
            meanings.extend(below.into_iter().map(Meaning::Module));
        }
        if meanings.is_empty() && modules.is_empty() {
            self.unknown_module(module)
        } else {
            meanings
        }
    }

    /// A module of a package that is not in the index is outside; one of a package that is, is unknown.
    fn unknown_module(&self, module: &str) -> Vec<Meaning> {
        let first = module.split('.').next().unwrap_or(module);
        let is_outside = !first.is_empty() && !self.session.tree.knows_package(first);
        if is_outside {
            vec![Meaning::Outside]
        } else {
            Vec::new()
        }
    }

    /// Returns the files of a module as it is written, with leading dots, in a file.
    fn modules(&self, from: &From, written: &str) -> Vec<FileIdx> {
        let name = written.trim_start_matches('.');
        let n_dots = written.len() - name.len();
        if n_dots == 0 {
            return self.session.tree.modules(name, from.file);
        }
        let file = self.session.tree.file(from.file);
        let parts: Vec<&str> = file.module.split('.').collect();
        let n_dropped = n_dots - usize::from(file.is_package);
        let Some(n_kept) = parts.len().checked_sub(n_dropped) else {
            return Vec::new();
        };
        let mut parts = parts[..n_kept].to_vec();
        if !name.is_empty() {
            parts.push(name);
        }
        self.session.tree.modules(&parts.join("."), from.file)
    }

    fn member_of_module(&self, module: FileIdx, name: &str, depth: usize) -> Vec<Meaning> {
        if depth > MAX_DEPTH {
            return Vec::new();
        }
        let Some(facts) = self.session.facts(module) else {
            return Vec::new();
        };
        let from = From {
            file: module,
            facts,
            depth,
        };
        let id = from.facts.name_id(name);
        if let Some(meanings) = id.and_then(|id| self.bound(&from, from.facts.bindings_of(0, id))) {
            return meanings;
        }
        let found = self.in_stars(&from, name);
        found
            .into_iter()
            .filter(|meaning| *meaning != Meaning::Outside)
            .collect()
    }

    /// Looks up a dotted name: the first part in the scopes, each other one in what is before it.
    fn path(&self, from: &From, scope: u32, path: &str) -> Vec<Meaning> {
        let mut parts = path.split('.');
        let first = parts.next().unwrap_or_default();
        let mut meanings = self.name(from, scope, first);
        for part in parts {
            meanings = self.attribute(from, &meanings, part);
        }
        meanings
    }

    /// Looks up an attribute of what a name means.
    fn attribute(&self, from: &From, of: &[Meaning], name: &str) -> Vec<Meaning> {
        let mut found = Vec::new();
        for meaning in of {
            match meaning {
                Meaning::Module(module) => {
                    let mut members = self.member_of_module(*module, name, from.depth + 1);
                    if members.is_empty() {
                        let module = &self.session.tree.file(*module).module;
                        let below = self.session.tree.modules(&format!("{module}.{name}"), from.file);
                        members.extend(below.into_iter().map(Meaning::Module));
                    }
                    found.extend(members);
                }
                Meaning::Definition(symbol) => match self.kind(*symbol) {
                    Some(DefinitionKind::Class) => found.extend(self.member(*symbol, name, from.depth)),
                    // The value of a variable, the result of a function: nothing is known of its attributes.
                    _ => return Vec::new(),
                },
                Meaning::Local => return Vec::new(),
                Meaning::Outside => found.push(Meaning::Outside),
            }
        }
        found
    }

    fn kind(&self, symbol: SymbolId) -> Option<DefinitionKind> {
        let facts = self.session.facts(symbol.file)?;
        Some(facts.definitions[symbol.definition as usize].kind)
    }

    /// Looks a name up in a class, then in its bases.
    fn member(&self, class: SymbolId, name: &str, depth: usize) -> Vec<Meaning> {
        let Some(facts) = self.session.facts(class.file) else {
            return Vec::new();
        };
        let own: Vec<Meaning> = (0..)
            .zip(&facts.definitions)
            .filter(|(_, it)| it.parent == Some(class.definition) && facts.text(it.name) == name)
            .map(|(definition, _)| {
                Meaning::Definition(SymbolId {
                    file: class.file,
                    definition,
                })
            })
            .collect();
        if own.is_empty() {
            self.inherited(class, name, depth)
        } else {
            own
        }
    }

    fn inherited(&self, class: SymbolId, name: &str, depth: usize) -> Vec<Meaning> {
        if depth > MAX_DEPTH {
            return Vec::new();
        }
        for base in self.bases(class, depth) {
            // What an unknown base, or one from outside, has is unknown: nothing after it can be sure.
            let Meaning::Definition(base) = base else {
                return Vec::new();
            };
            let found = self.member(base, name, depth + 1);
            if !found.is_empty() {
                return found;
            }
        }
        Vec::new()
    }

    fn bases(&self, class: SymbolId, depth: usize) -> Vec<Meaning> {
        let Some(facts) = self.session.facts(class.file) else {
            return Vec::new();
        };
        let definition = &facts.definitions[class.definition as usize];
        let from = From {
            file: class.file,
            facts: Arc::clone(&facts),
            depth: depth + 1,
        };
        let scope = definition.scope.unwrap_or(0);
        definition
            .bases
            .iter()
            .map(|base| {
                self.path(&from, scope, facts.text(*base))
                    .first()
                    .copied()
                    .unwrap_or(Meaning::Local)
            })
            .collect()
    }
}

fn verdict_of(meanings: &[Meaning], targets: &HashSet<SymbolId>) -> Verdict {
    let found = meanings.iter().find_map(|meaning| match meaning {
        Meaning::Definition(symbol) if targets.contains(symbol) => Some(*symbol),
        _ => None,
    });
    match found {
        Some(symbol) => Verdict::Means(symbol),
        None if meanings.is_empty() => Verdict::Unknown,
        None => Verdict::Other,
    }
}
