//! Turns the text of one file into its facts, by the queries of its language.
//!
//! One pass over the tree collects what the queries capture; a second step sorts it into scopes, definitions
//! and what belongs to them. A file that does not parse gives the facts of the parts that do.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, Range};

use tree_sitter::{
    Node, ParseOptions, ParseState, Parser, QueryCursor, QueryCursorOptions, QueryCursorState, QueryMatch,
    StreamingIterator,
};

use crate::facts::{
    Binding, BindingTarget, Definition, DefinitionKind, FileFacts, Import, NameId, Place, Receiver,
    Reference, ReferenceKind, Scope, ScopeKind, Taken,
};
use crate::language::{Capture, Compiled, Language};

/// A receiver or a base longer than this is an expression that no lookup can use.
const MAX_PATH_LEN: usize = 120;

/// How many matches may wait for their end at once: `x.y.y.y…` opens one for each dot, and each costs time at
/// every node. Source that people write stays far below; past it, the outermost are dropped.
const MAX_OPEN_MATCHES: u32 = 1024;

/// Returns the facts of a text, or nothing if `is_over` said so before they were complete.
#[must_use]
pub fn extract(language: &Language, text: &str, is_over: &dyn Fn() -> bool) -> Option<FileFacts> {
    let compiled = language.compiled();
    let mut parser = Parser::new();
    parser.set_language(&compiled.grammar).ok()?;
    let bytes = text.as_bytes();
    let go_on = || {
        if is_over() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let mut parsing = |_: &ParseState| go_on();
    let tree = parser.parse_with_options(
        &mut |offset, _| bytes.get(offset..).unwrap_or_default(),
        None,
        Some(ParseOptions::new().progress_callback(&mut parsing)),
    )?;
    let mut raw = Raw::new(text);
    let mut cursor = QueryCursor::new();
    cursor.set_match_limit(MAX_OPEN_MATCHES);
    let mut querying = |_: &QueryCursorState| go_on();
    let options = QueryCursorOptions::new().progress_callback(&mut querying);
    let mut matches = cursor.matches_with_options(&compiled.query, tree.root_node(), bytes, options);
    while let Some(found) = matches.next() {
        raw.take(compiled, found);
    }
    if is_over() {
        return None;
    }
    Some(raw.into_facts(tree.root_node()))
}

/// What the queries captured, not yet sorted.
struct Raw<'text> {
    text: &'text str,
    names: Names,
    scopes: Vec<(ScopeKind, Range<u32>)>,
    definitions: Vec<RawDefinition>,
    owners: HashMap<usize, Owned>,
    bindings: Vec<RawBinding>,
    references: Vec<(ReferenceKind, Place, NameId, Receiver)>,
    imports: Vec<Import>,
    /// Where imports give names, which is no use of them.
    aliases: Vec<u32>,
}

struct RawDefinition {
    node: usize,
    kind: DefinitionKind,
    name: NameId,
    name_at: Place,
    range: Range<u32>,
    lines: (u32, u32),
    body: Option<(Range<u32>, u32)>,
}

struct RawBinding {
    name: NameId,
    name_at: Place,
    to: BindingTarget,
    /// The statement that makes a definition of it in a module or a class.
    statement: Option<(Range<u32>, (u32, u32))>,
    scope: Option<Range<u32>>,
}

/// What separate matches say of one definition.
#[derive(Default)]
struct Owned {
    bases: Vec<NameId>,
    decorators: Vec<NameId>,
    doc: Option<NameId>,
    decorated: Option<(u32, u32)>,
}

/// The names of a file, each once.
#[derive(Default)]
struct Names {
    ids: HashMap<Box<str>, NameId>,
    names: Vec<Box<str>>,
}

impl Names {
    fn id(&mut self, text: &str) -> NameId {
        if let Some(id) = self.ids.get(text) {
            return *id;
        }
        let id = NameId(as_u32(self.names.len()));
        self.names.push(text.into());
        self.ids.insert(text.into(), id);
        id
    }
}

impl<'text> Raw<'text> {
    fn new(text: &'text str) -> Self {
        Self {
            text,
            names: Names::default(),
            scopes: vec![(ScopeKind::Module, 0..as_u32(text.len()))],
            definitions: Vec::new(),
            owners: HashMap::new(),
            bindings: Vec::new(),
            references: Vec::new(),
            imports: Vec::new(),
            aliases: Vec::new(),
        }
    }

    fn take(&mut self, compiled: &Compiled, found: &QueryMatch<'_, '_>) {
        let node = |wanted: Capture| {
            let mut captures = found.captures().iter();
            captures
                .find(|capture| compiled.captures[capture.index as usize] == wanted)
                .map(|it| it.node)
        };
        for capture in found.captures() {
            let at = capture.node;
            match compiled.captures[capture.index as usize] {
                Capture::Scope(kind) => self.scopes.push((kind, range(at))),
                Capture::Definition(kind) => {
                    if let Some(name) = node(Capture::Name) {
                        self.take_definition(kind, at, name, node(Capture::Body));
                    }
                }
                Capture::Reference(kind) => {
                    let receiver = node(Capture::Receiver).map_or(Receiver::Plain, |it| self.receiver(it));
                    let name = self.name(at);
                    self.references.push((kind, place(at), name, receiver));
                }
                Capture::Binding(to) => self.take_binding(to, at, None, node(Capture::In)),
                Capture::Assignment => {
                    self.take_binding(BindingTarget::Local, at, node(Capture::Whole), None);
                }
                Capture::ImportModule => {
                    let alias = node(Capture::ImportAlias);
                    let taken = if alias.is_some() {
                        Taken::Module
                    } else {
                        Taken::FirstPart
                    };
                    self.take_import(at, at, taken, alias);
                }
                Capture::ImportName => {
                    if let Some(from) = node(Capture::ImportFrom) {
                        let taken = Taken::Name(self.name(at));
                        self.take_import(from, at, taken, node(Capture::ImportAlias).or(Some(at)));
                    }
                }
                Capture::ImportAlias => self.aliases.push(place(at).offset),
                Capture::ImportStar => {
                    if let Some(from) = node(Capture::ImportFrom) {
                        self.take_import(from, at, Taken::All, None);
                    }
                }
                Capture::Owner => {
                    let text = |it: Node<'_>| &self.text[it.byte_range()];
                    let base = node(Capture::Base).map(text).map(without_subscript);
                    let decorator = node(Capture::Decorator)
                        .map(text)
                        .filter(|it| it.len() <= MAX_PATH_LEN);
                    let doc = node(Capture::Doc).map(text).and_then(first_doc_line);
                    let owned = self.owners.entry(at.id()).or_default();
                    owned.bases.extend(base.map(|base| self.names.id(base)));
                    owned
                        .decorators
                        .extend(decorator.map(|decorator| self.names.id(decorator)));
                    owned.doc = owned.doc.or(doc.map(|doc| self.names.id(doc)));
                    if let Some(decorated) = node(Capture::Decorated) {
                        owned.decorated = Some((range(decorated).start, place(decorated).line));
                    }
                }
                _ => {}
            }
        }
    }

    fn take_definition(
        &mut self,
        kind: DefinitionKind,
        at: Node<'_>,
        name: Node<'_>,
        body: Option<Node<'_>>,
    ) {
        // The header ends with the last token before the body, which may follow on the same line.
        let body = body.map(|body| {
            let before = body
                .prev_sibling()
                .map_or(at.start_position(), |it| it.end_position());
            (range(body), as_u32(before.row) + 1)
        });
        let definition = RawDefinition {
            node: at.id(),
            kind,
            name: self.name(name),
            name_at: place(name),
            range: range(at),
            lines: lines(at),
            body,
        };
        self.definitions.push(definition);
    }

    fn take_binding(
        &mut self,
        to: BindingTarget,
        at: Node<'_>,
        statement: Option<Node<'_>>,
        scope: Option<Node<'_>>,
    ) {
        let name = self.name(at);
        self.bindings.push(RawBinding {
            name,
            name_at: place(at),
            to,
            statement: statement.map(|it| (range(it), lines(it))),
            scope: scope.map(range),
        });
    }

    fn take_import(&mut self, module: Node<'_>, at: Node<'_>, taken: Taken, bound: Option<Node<'_>>) {
        let module_text = &self.text[module.byte_range()];
        let bound = match taken {
            Taken::All => None,
            Taken::FirstPart => module_text
                .split('.')
                .next()
                .map(|first| self.names.id(first.trim())),
            Taken::Module | Taken::Name(_) => bound.map(|bound| self.name(bound)),
        };
        // `from . import a` may be written with spaces and comments between the dots.
        let module = if module_text.contains(char::is_whitespace) {
            let joined: String = module_text.split_whitespace().collect();
            self.names.id(&joined)
        } else {
            self.names.id(module_text)
        };
        self.imports.push(Import {
            module,
            taken,
            bound,
            at: place(at),
            scope: 0,
        });
    }

    fn name(&mut self, at: Node<'_>) -> NameId {
        self.names.id(&self.text[at.byte_range()])
    }

    fn receiver(&mut self, at: Node<'_>) -> Receiver {
        let text = &self.text[at.byte_range()];
        if text.starts_with("super(") {
            return Receiver::Super;
        }
        let is_path = text.len() <= MAX_PATH_LEN
            && text
                .chars()
                .all(|it| it == '_' || it == '.' || it.is_alphanumeric())
            && !text.starts_with(|it: char| it.is_ascii_digit());
        if is_path {
            Receiver::Path(self.names.id(text))
        } else {
            Receiver::Other
        }
    }

    fn into_facts(mut self, root: Node<'_>) -> FileFacts {
        let scopes = nest(std::mem::take(&mut self.scopes));
        let doc = self.owners.get(&root.id()).and_then(|owned| owned.doc);
        let mut facts = FileFacts {
            has_errors: root.has_error(),
            scopes,
            doc,
            ..FileFacts::default()
        };
        self.define(&mut facts);
        self.bind(&mut facts);
        self.refer(&mut facts);
        facts.names = self.names.names;
        facts
    }

    fn define(&mut self, facts: &mut FileFacts) {
        let mut assigned = HashSet::new();
        for raw in std::mem::take(&mut self.definitions) {
            let definition = self.definition(raw, facts);
            let Some(definition) = definition else { continue };
            let is_again = definition.kind == DefinitionKind::InstanceAttribute
                && !assigned.insert((
                    facts.class_scope(facts.scope_at(definition.range.start)),
                    definition.name,
                ));
            if !is_again {
                facts.definitions.push(definition);
            }
        }
        for binding in &self.bindings {
            let scope = facts.scope_at(binding.name_at.offset);
            if let Some(definition) = binding.definition(scope, facts)
                && assigned.insert((Some(scope), binding.name))
            {
                facts.definitions.push(definition);
            }
        }
        facts
            .definitions
            .sort_by_key(|definition| (definition.range.start, definition.name_at.offset));
        for (idx, definition) in facts.definitions.iter().enumerate() {
            if let Some(body) = definition.body {
                facts.scopes[body as usize].definition = Some(as_u32(idx));
            }
        }
        for idx in 0..facts.definitions.len() {
            facts.definitions[idx].parent = facts.parent_of(&facts.definitions[idx]);
        }
    }

    fn definition(&mut self, raw: RawDefinition, facts: &FileFacts) -> Option<Definition> {
        let owned = self.owners.remove(&raw.node).unwrap_or_default();
        let scope = facts.scope_at(raw.range.start);
        let is_of_instance = raw.kind == DefinitionKind::InstanceAttribute;
        if is_of_instance && facts.class_scope(scope).is_none() {
            return None;
        }
        let is_in_class = facts.scopes[scope as usize].kind == ScopeKind::Class;
        let kind = match raw.kind {
            DefinitionKind::Function if is_in_class => DefinitionKind::Method,
            kind => kind,
        };
        let (start, first_line) = owned.decorated.unwrap_or((raw.range.start, raw.lines.0));
        Some(Definition {
            kind,
            name: raw.name,
            name_at: raw.name_at,
            range: start..raw.range.end,
            lines: (first_line, raw.lines.1),
            header_end: raw
                .body
                .as_ref()
                .map_or(raw.lines.1, |(_, header_end)| *header_end),
            parent: None,
            scope: (!is_of_instance).then_some(scope),
            body: raw.body.and_then(|(body, _)| facts.scope_of(&body)),
            bases: owned.bases,
            decorators: owned.decorators,
            doc: owned.doc,
        })
    }

    fn bind(&mut self, facts: &mut FileFacts) {
        for (idx, definition) in facts.definitions.iter().enumerate() {
            if let Some(scope) = definition.scope {
                let to = BindingTarget::Definition(as_u32(idx));
                facts.bindings.push(Binding {
                    scope,
                    name: definition.name,
                    to,
                });
            }
        }
        self.imports.sort_by_key(|import| import.at.offset);
        for (idx, mut import) in std::mem::take(&mut self.imports).into_iter().enumerate() {
            import.scope = facts.scope_at(import.at.offset);
            if let Some(name) = import.bound {
                let to = BindingTarget::Import(as_u32(idx));
                facts.bindings.push(Binding {
                    scope: import.scope,
                    name,
                    to,
                });
            }
            facts.imports.push(import);
        }
        for binding in &self.bindings {
            let scope = match &binding.scope {
                Some(range) => facts
                    .scope_of(range)
                    .unwrap_or_else(|| facts.scope_at(range.start)),
                None => facts.scope_at(binding.name_at.offset),
            };
            facts.bindings.push(Binding {
                scope,
                name: binding.name,
                to: binding.to,
            });
        }
        facts.bindings.sort();
        facts.bindings.dedup();
    }

    fn refer(&mut self, facts: &mut FileFacts) {
        let mut defining = std::mem::take(&mut self.aliases);
        defining.extend(facts.definitions.iter().map(|it| it.name_at.offset));
        defining.sort_unstable();
        self.references.sort_by_key(|(kind, at, ..)| (at.offset, *kind));
        self.references.dedup_by_key(|(_, at, ..)| at.offset);
        for (kind, at, name, receiver) in std::mem::take(&mut self.references) {
            if defining.binary_search(&at.offset).is_err() {
                let scope = facts.scope_at(at.offset);
                facts.references.push(Reference {
                    name,
                    at,
                    kind,
                    receiver,
                    scope,
                });
            }
        }
    }
}

impl RawBinding {
    /// Returns the definition that an assignment makes in a module or in a class.
    fn definition(&self, scope: u32, facts: &FileFacts) -> Option<Definition> {
        let (statement, lines) = self.statement.as_ref()?;
        let kind = match facts.scopes[scope as usize].kind {
            ScopeKind::Module => DefinitionKind::Variable,
            ScopeKind::Class => DefinitionKind::ClassAttribute,
            ScopeKind::Function | ScopeKind::Block => return None,
        };
        Some(Definition {
            kind,
            name: self.name,
            name_at: self.name_at,
            range: statement.clone(),
            lines: *lines,
            header_end: lines.1,
            parent: None,
            scope: Some(scope),
            body: None,
            bases: Vec::new(),
            decorators: Vec::new(),
            doc: None,
        })
    }
}

/// Sorts scopes so that an outer one comes before those inside, and gives each its parent.
fn nest(mut found: Vec<(ScopeKind, Range<u32>)>) -> Vec<Scope> {
    found.sort_by_key(|(kind, range)| (range.start, Reverse(range.end), *kind));
    let mut scopes: Vec<Scope> = Vec::with_capacity(found.len());
    let mut open: Vec<u32> = Vec::new();
    for (kind, range) in found {
        while let Some(&last) = open.last()
            && scopes[last as usize].range.end < range.end
        {
            open.pop();
        }
        let parent = open.last().copied();
        open.push(as_u32(scopes.len()));
        scopes.push(Scope {
            kind,
            range,
            parent,
            definition: None,
        });
    }
    scopes
}

fn without_subscript(base: &str) -> &str {
    base.split(['[', '(']).next().unwrap_or(base).trim()
}

fn first_doc_line(literal: &str) -> Option<&str> {
    let text = literal.trim_start_matches(|it: char| it.is_ascii_alphabetic());
    let text = text.trim_matches(['"', '\'']);
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

fn range(node: Node<'_>) -> Range<u32> {
    as_u32(node.start_byte())..as_u32(node.end_byte())
}

fn lines(node: Node<'_>) -> (u32, u32) {
    (
        as_u32(node.start_position().row) + 1,
        as_u32(node.end_position().row) + 1,
    )
}

fn place(node: Node<'_>) -> Place {
    Place {
        offset: as_u32(node.start_byte()),
        line: as_u32(node.start_position().row) + 1,
    }
}

/// Files are far smaller than 4 GiB (`disk::MAX_FILE_SIZE`); a text that is not saturates.
fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
