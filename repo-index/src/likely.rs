//! Which of the definitions of a name is likely meant, where types do not tell.
//!
//! What counts is what a reader would look at: whether the arguments fit, whether the receiver is called like the
//! class, whether the file mentions the class or imports its module, how far away it is.

use std::collections::HashSet;
use std::sync::Arc;

use crate::facts::{Definition, DefinitionKind, FileFacts, Reference, ReferenceKind, Taken};
use crate::resolve::{Ancestor, At, Resolver};
use crate::session::SymbolId;
use crate::shapes::{ParameterKind, Shape, ShapeId};
use crate::tree::FileIdx;
use crate::types::{Type, Types};

/// Where a name has more definitions, those in derived classes are left to a question for them.
const MAX_OVERRIDES: usize = 80;

/// How many definitions of one name are compared.
const MAX_COMPARED: usize = 400;

/// Decorators that leave a function's parameters as they are.
const PLAIN_DECORATORS: [&str; 12] = [
    "staticmethod",
    "classmethod",
    "property",
    "abstractmethod",
    "overload",
    "override",
    "contextmanager",
    "cached_property",
    "lru_cache",
    "cache",
    "wraps",
    "final",
];

/// A use of a name.
pub(crate) struct Site<'a> {
    pub(crate) at: &'a At,
    pub(crate) reference: &'a Reference,
    /// What the name is taken from.
    pub(crate) receivers: &'a Types,
}

/// Compares definitions.
pub(crate) struct Likely<'r, 's, 'q> {
    resolver: &'r Resolver<'s, 'q>,
}

impl<'r, 's, 'q> Likely<'r, 's, 'q> {
    pub(crate) fn new(resolver: &'r Resolver<'s, 'q>) -> Self {
        Self { resolver }
    }

    /// Returns definitions of a name in classes that derive from what the receiver is known to be.
    pub(crate) fn overrides(&self, site: &Site<'_>, name: &str, known: &[SymbolId]) -> Vec<SymbolId> {
        let bases = site.receivers.found.iter().filter_map(|it| match it {
            Type::Instance(class) | Type::Class(class) => Some(*class),
            _ => None,
        });
        let bases: Vec<SymbolId> = bases.collect();
        if bases.is_empty() {
            return Vec::new();
        }
        let definers = self.resolver.session.definers(name);
        if definers.len() > MAX_OVERRIDES {
            return Vec::new();
        }
        let mut found: Vec<(i32, SymbolId)> = definers
            .iter()
            .filter(|symbol| !known.contains(symbol))
            .filter(|symbol| {
                self.class_of(**symbol).is_some_and(|class| {
                    bases
                        .iter()
                        .any(|base| class != *base && self.resolver.derives(class, *base))
                })
            })
            .filter_map(|symbol| Some((self.score(site, *symbol)?, *symbol)))
            .collect();
        found.sort_by_key(|(score, symbol)| (-score, *symbol));
        found.into_iter().map(|(_, symbol)| symbol).collect()
    }

    /// Returns definitions of a name, the likeliest first.
    pub(crate) fn by_name(&self, site: &Site<'_>, name: &str) -> Vec<SymbolId> {
        let definers = self.resolver.session.definers(name);
        let mut found: Vec<(i32, SymbolId)> = definers
            .iter()
            .take(MAX_COMPARED)
            .filter_map(|symbol| Some((self.score(site, *symbol)?, *symbol)))
            .collect();
        found.sort_by_key(|(score, symbol)| (-score, *symbol));
        found.into_iter().map(|(_, symbol)| symbol).collect()
    }

    /// The class that a definition stands in.
    pub(crate) fn class_of(&self, symbol: SymbolId) -> Option<SymbolId> {
        let facts = self.resolver.facts(symbol.file)?;
        let parent = facts.definitions[symbol.definition as usize].parent?;
        let is_class = facts.definitions[parent as usize].kind == DefinitionKind::Class;
        is_class.then_some(SymbolId {
            file: symbol.file,
            definition: parent,
        })
    }

    /// Returns how likely a definition is meant; nothing if it cannot be.
    fn score(&self, site: &Site<'_>, symbol: SymbolId) -> Option<i32> {
        let facts = self.resolver.facts(symbol.file)?;
        let definition = &facts.definitions[symbol.definition as usize];
        let mut score = 0;
        let is_member = site.reference.receiver.is_some();
        let class = self.class_of(symbol);
        match (is_member, definition.kind) {
            (true, DefinitionKind::Method) => score += 40,
            (true, DefinitionKind::ClassAttribute | DefinitionKind::InstanceAttribute) => {
                score += if site.reference.kind == ReferenceKind::Call {
                    5
                } else {
                    40
                };
            }
            (true, DefinitionKind::Class | DefinitionKind::Function) if definition.parent.is_none() => {
                score += 15;
            }
            (false, DefinitionKind::Class | DefinitionKind::Function) if definition.parent.is_none() => {
                score += 40;
            }
            (false, DefinitionKind::Method | DefinitionKind::InstanceAttribute) => score -= 30,
            _ => score -= 10,
        }
        if let Some(call) = site
            .reference
            .call
            .filter(|_| site.reference.kind == ReferenceKind::Call)
            && !fits(&site.at.facts, call, &facts, definition)
        {
            score -= 60;
        }
        if let Some(class) = class {
            score += self.likeness(site, class);
            if site
                .at
                .facts
                .name_id(facts.text(facts.definitions[class.definition as usize].name))
                .is_some()
            {
                score += 22;
            }
            // A base is meant more often than one of its many variants.
            score += self.n_derived_here(class);
            let receiver_is_own = site.receivers.found.iter().any(|it| match it {
                Type::Instance(own) | Type::Class(own) => {
                    self.resolver.ancestors(*own).contains(&Ancestor::Class(class))
                }
                _ => false,
            });
            score += if receiver_is_own { 50 } else { 0 };
        }
        score += self.nearness(site.at.file, symbol.file);
        Some(score)
    }

    fn n_derived_here(&self, class: SymbolId) -> i32 {
        // Abstract bases are small and stand at the root.
        let n_ancestors = self.resolver.ancestors(class).len();
        if n_ancestors <= 2 { 4 } else { 0 }
    }

    /// How much the receiver is called like the class, or its module.
    fn likeness(&self, site: &Site<'_>, class: SymbolId) -> i32 {
        let Some(receiver) = site.reference.receiver else {
            return 0;
        };
        let Some(word) = last_word(&site.at.facts, receiver) else {
            return 0;
        };
        let Some(facts) = self.resolver.facts(class.file) else {
            return 0;
        };
        let class_name = facts.text(facts.definitions[class.definition as usize].name);
        let words = split(word);
        let own = split(class_name);
        let mut n_same = 0;
        for one in &words {
            if own.iter().any(|it| it == one || is_short_for(one, it)) {
                n_same += 1;
            }
        }
        let whole: String = own.concat();
        let compact: String = words.concat();
        let mut score = 0;
        if n_same > 0 {
            score += 12 * n_same;
            // `form` is rather a Form than a FormSet's field.
            let last = own.last() == words.last();
            score += if last { 10 } else { 0 };
            score -= i32::try_from(own.len().saturating_sub(n_same as usize)).unwrap_or(0) * 2;
        }
        if whole == compact {
            score += 25;
        } else if compact.len() >= 4 && whole.contains(&compact) {
            score += 8;
        } else if initials(&own) == compact && compact.len() >= 2 {
            score += 20;
        }
        let module = &self.resolver.session.tree.file(class.file).module;
        let stem = module.rsplit('.').next().unwrap_or(module);
        if split(stem).iter().any(|it| words.contains(it)) {
            score += 8;
        }
        score
    }

    fn nearness(&self, from: FileIdx, to: FileIdx) -> i32 {
        let tree = &self.resolver.session.tree;
        if from == to {
            return 30;
        }
        let (one, other) = (tree.file(from), tree.file(to));
        let shared = one
            .shown
            .split('/')
            .zip(other.shown.split('/'))
            .take_while(|(one, other)| one == other)
            .count();
        let mut score = i32::try_from(shared.min(5)).unwrap_or(0) * 3;
        if is_test(&other.shown) {
            let same_folder = folder(&one.shown) == folder(&other.shown);
            score += match (is_test(&one.shown), same_folder) {
                (true, true) => 8,
                (true, false) => -25,
                (false, _) => -60,
            };
        }
        if one.origin != other.origin {
            score -= 10;
        }
        let imported = self.imports_of(from);
        if imported.contains(&to) {
            score += 20;
        } else if imported.iter().any(|it| self.imports_of(*it).contains(&to)) {
            score += 9;
        }
        score
    }

    fn imports_of(&self, file: FileIdx) -> Arc<HashSet<FileIdx>> {
        self.resolver.session.imports_of(file, || {
            let mut found = HashSet::new();
            let Some(at) = self.resolver.at(file, 0, 0) else {
                return found;
            };
            for import in &at.facts.imports {
                let module = at.facts.text(import.module);
                found.extend(self.resolver.modules(&at, module));
                if let Taken::Name(name) = import.taken {
                    let joiner = if module.ends_with('.') { "" } else { "." };
                    let below = format!("{module}{joiner}{}", at.facts.text(name));
                    found.extend(self.resolver.modules(&at, &below));
                }
            }
            found
        })
    }
}

/// Whether a call passes what a definition takes.
pub(crate) fn fits(
    site: &FileFacts,
    call: crate::shapes::CallId,
    facts: &FileFacts,
    definition: &Definition,
) -> bool {
    let is_function = matches!(definition.kind, DefinitionKind::Function | DefinitionKind::Method);
    let is_plain = definition.decorators.iter().all(|it| {
        let text = facts.text(*it);
        let name = text.split('(').next().unwrap_or(text);
        PLAIN_DECORATORS.contains(&name.rsplit('.').next().unwrap_or(name))
    });
    if !is_function || !is_plain {
        return true;
    }
    let range = definition.parameters.start as usize..definition.parameters.end as usize;
    let parameters = &facts.parameters[range];
    let is_bound = definition.kind == DefinitionKind::Method
        && !definition
            .decorators
            .iter()
            .any(|it| facts.text(*it) == "staticmethod");
    let parameters = if is_bound {
        parameters.get(1..).unwrap_or_default()
    } else {
        parameters
    };
    let shape = site.shapes.call(call);
    let keywords = site.shapes.keywords(shape);
    let is_positional =
        |kind: ParameterKind| matches!(kind, ParameterKind::Required | ParameterKind::Optional);
    let n_positional = parameters.iter().filter(|it| is_positional(it.kind)).count();
    let has_rest = parameters.iter().any(|it| it.kind == ParameterKind::Rest);
    let has_keywords = parameters.iter().any(|it| it.kind == ParameterKind::Keywords);
    if !has_rest && shape.n_positional as usize > n_positional {
        return false;
    }
    let takes = |name: &str| {
        parameters.iter().any(|it| {
            facts.text(it.name) == name && !matches!(it.kind, ParameterKind::Rest | ParameterKind::Keywords)
        })
    };
    if !has_keywords && keywords.iter().any(|it| !takes(site.text(*it))) {
        return false;
    }
    if shape.is_open {
        return true;
    }
    let is_given = |(position, it): (usize, &crate::shapes::Parameter)| {
        position < shape.n_positional as usize
            || keywords
                .iter()
                .any(|name| site.text(*name) == facts.text(it.name))
    };
    parameters
        .iter()
        .enumerate()
        .filter(|(_, it)| matches!(it.kind, ParameterKind::Required | ParameterKind::Named))
        .all(is_given)
}

/// The name that says most of what an expression is.
fn last_word(facts: &FileFacts, shape: ShapeId) -> Option<&str> {
    match facts.shapes.get(shape) {
        Shape::Name(name) | Shape::Attribute(_, name) => Some(facts.text(name)),
        Shape::Call(inner, _)
        | Shape::Subscript(inner, _)
        | Shape::Element(inner)
        | Shape::Awaited(inner)
        | Shape::Either(inner, _) => last_word(facts, inner),
        _ => None,
    }
}

/// `QuerySet` and `query_set` are `query`, `set`.
fn split(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    for letter in name.chars() {
        if letter == '_' {
            was_lower = false;
            words.push(String::new());
            continue;
        }
        if words.is_empty() || (letter.is_uppercase() && was_lower) {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase() || letter.is_ascii_digit();
        if let Some(last) = words.last_mut() {
            last.extend(letter.to_lowercase());
        }
    }
    let stop = ["self", "get", "the", "a", "my", "base"];
    words.retain(|word| !word.is_empty() && !stop.contains(&word.as_str()));
    for word in &mut words {
        if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
            word.pop();
        }
    }
    words
}

fn initials(words: &[String]) -> String {
    words.iter().filter_map(|word| word.chars().next()).collect()
}

fn is_short_for(short: &str, long: &str) -> bool {
    short.len() >= 3 && long.len() > short.len() && long.starts_with(short)
}

pub(crate) fn is_test(shown: &str) -> bool {
    shown
        .split('/')
        .any(|part| part.starts_with("test") || part == "conftest.py")
}

fn folder(shown: &str) -> &str {
    shown.rsplit_once('/').map_or("", |(folder, _)| folder)
}
