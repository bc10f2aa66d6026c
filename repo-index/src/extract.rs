//! Turns the text of one file into its facts, by the rules of its language.
//!
//! One walk over the tree gives everything: each node is looked up in the table of `rules`, and what its role
//! asks for is done (`statements`, `expressions`, `imports`). A file that does not parse gives the facts of the
//! parts that do.

mod expressions;
mod imports;
mod statements;

use std::cell::RefCell;
use std::ops::{ControlFlow, Range};

use rustc_hash::{FxHashMap, FxHashSet};
use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree, TreeCursor};

use crate::facts::{
    Binding, BindingTarget, Definition, DefinitionKind, FileFacts, NameId, Place, Reference, ReferenceKind,
    Scope, ScopeKind,
};
use crate::language::Language;
use crate::rules::{Rule, Rules, Slot};
use crate::shapes::{CallId, Shape, ShapeId, Value};

/// Deeper than people nest; below it only names are collected.
const MAX_DEPTH: u32 = 400;

/// A base or a decorator longer than this is not worth showing.
const MAX_SHOWN_LEN: usize = 120;

/// Returns the facts of a text, or nothing if `is_over` said so before they were complete.
#[must_use]
pub fn extract(language: &Language, text: &str, is_over: &dyn Fn() -> bool) -> Option<FileFacts> {
    let tree = parse(language, text, is_over)?;
    let mut walk = Walk::new(language, text, &tree);
    walk.module(tree.root_node());
    if is_over() {
        return None;
    }
    Some(walk.finish(tree.root_node().has_error()))
}

/// Returns the tree of a text, or nothing if `is_over` said so before it was complete.
#[must_use]
pub(crate) fn parse(language: &Language, text: &str, is_over: &dyn Fn() -> bool) -> Option<Tree> {
    thread_local! {
        // What a parser allocates serves the next text as well.
        static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
    }
    PARSER.with_borrow_mut(|parser| parse_with(parser, language, text, is_over))
}

fn parse_with(
    parser: &mut Parser,
    language: &Language,
    text: &str,
    is_over: &dyn Fn() -> bool,
) -> Option<Tree> {
    parser.set_language(&language.compiled().grammar).ok()?;
    // What an interrupted parse has left behind must not go on.
    parser.reset();
    let bytes = text.as_bytes();
    let mut parsing = |_: &ParseState| {
        if is_over() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    parser.parse_with_options(
        &mut |offset, _| bytes.get(offset..).unwrap_or_default(),
        None,
        Some(ParseOptions::new().progress_callback(&mut parsing)),
    )
}

/// The state of one walk.
struct Walk<'t> {
    text: &'t str,
    rules: &'t Rules,
    self_names: &'static [&'static str],
    cursor: TreeCursor<'t>,
    /// Children of the nodes that are being looked at, with their fields.
    children: Vec<(Node<'t>, u16)>,
    facts: FileFacts,
    name_ids: FxHashMap<&'t str, NameId>,
    shape_ids: FxHashMap<Shape, ShapeId>,
    /// Names that modules, classes and objects have as definitions already.
    defined: FxHashSet<(Option<u32>, NameId, bool)>,
    at: Surroundings,
    depth: u32,
    /// What `isinstance` was asked of what, in the condition at hand.
    checks: Vec<(ShapeId, ShapeId)>,
}

/// Where the walk is.
#[derive(Clone, Copy)]
struct Surroundings {
    scope: u32,
    /// The scope of the function around.
    function: Option<u32>,
    /// The class around, and the scope of its body.
    class: Option<(u32, u32)>,
    /// The class or function around.
    definition: Option<u32>,
    in_annotation: bool,
    as_what: AsWhat,
}

/// What `as` gives its name to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AsWhat {
    Same,
    Entered,
    Instance,
}

impl<'t> Walk<'t> {
    fn new(language: &'t Language, text: &'t str, tree: &'t Tree) -> Self {
        let mut facts = FileFacts::default();
        facts.scopes.push(Scope {
            kind: ScopeKind::Module,
            range: 0..as_u32(text.len()),
            parent: None,
            definition: None,
        });
        facts.shapes.shapes.push(Shape::Unknown);
        Self {
            text,
            rules: &language.compiled().rules,
            self_names: language.self_names,
            cursor: tree.walk(),
            children: Vec::new(),
            facts,
            name_ids: FxHashMap::default(),
            shape_ids: FxHashMap::default(),
            defined: FxHashSet::default(),
            at: Surroundings {
                scope: 0,
                function: None,
                class: None,
                definition: None,
                in_annotation: false,
                as_what: AsWhat::Same,
            },
            depth: 0,
            checks: Vec::new(),
        }
    }

    fn module(&mut self, root: Node<'t>) {
        self.facts.doc = self.doc_of(root);
        self.visit_children(root);
    }

    /// Visits a node, and returns the shape of an expression.
    fn visit(&mut self, node: Node<'t>) -> ShapeId {
        let rule = self.rules.of(node.kind_id());
        if rule.is_none() && node.child_count() == 0 {
            return ShapeId::UNKNOWN;
        }
        if self.depth >= MAX_DEPTH {
            self.names_below(node);
            return ShapeId::UNKNOWN;
        }
        self.depth += 1;
        let shape = match rule {
            Some(rule) => self.apply(*rule, node),
            None => {
                self.visit_children(node);
                ShapeId::UNKNOWN
            }
        };
        self.depth -= 1;
        shape
    }

    fn visit_children(&mut self, node: Node<'t>) {
        let children = self.open(node);
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            self.visit(child);
        }
        self.close(children);
    }

    /// Collects the names below a node that is nested too deeply to be understood.
    fn names_below(&mut self, node: Node<'t>) {
        let mut cursor = node.walk();
        let mut level = 0_u32;
        loop {
            let at = cursor.node();
            let is_name = self
                .rules
                .of(at.kind_id())
                .is_some_and(|rule| rule.role == crate::rules::Role::Name);
            if is_name {
                self.refer(at, ReferenceKind::Name, None);
            }
            if cursor.goto_first_child() {
                level += 1;
                continue;
            }
            while level > 0 && !cursor.goto_next_sibling() {
                cursor.goto_parent();
                level -= 1;
            }
            if level == 0 {
                return;
            }
        }
    }

    /// Lists the named children of a node; to be closed again.
    fn open(&mut self, node: Node<'t>) -> Range<usize> {
        let start = self.children.len();
        self.cursor.reset(node);
        if self.cursor.goto_first_child() {
            loop {
                let child = self.cursor.node();
                if child.is_named() && !child.is_extra() {
                    let field = self.cursor.field_id().map_or(0, std::num::NonZero::get);
                    self.children.push((child, field));
                }
                if !self.cursor.goto_next_sibling() {
                    break;
                }
            }
        }
        start..self.children.len()
    }

    fn close(&mut self, children: Range<usize>) {
        self.children.truncate(children.start);
    }

    /// Returns the child that a rule knows by its field.
    fn part(&self, children: &Range<usize>, rule: Rule, slot: Slot) -> Option<Node<'t>> {
        let field = rule.field(slot);
        let mut found = self.children[children.clone()].iter();
        (field != 0).then(|| found.find(|(_, it)| *it == field).map(|(node, _)| *node))?
    }

    fn name(&mut self, node: Node<'t>) -> NameId {
        let text: &'t str = self.text;
        self.name_of(&text[node.byte_range()])
    }

    fn name_of(&mut self, text: &'t str) -> NameId {
        if let Some(id) = self.name_ids.get(text) {
            return *id;
        }
        let names = &mut self.facts.names;
        let id = NameId(as_u32(names.len()));
        names.text.push_str(text);
        names.ends.push(as_u32(names.text.len()));
        self.name_ids.insert(text, id);
        id
    }

    fn shape(&mut self, shape: Shape) -> ShapeId {
        if shape == Shape::Unknown {
            return ShapeId::UNKNOWN;
        }
        let shapes = &mut self.facts.shapes.shapes;
        *self.shape_ids.entry(shape).or_insert_with(|| {
            shapes.push(shape);
            ShapeId(as_u32(shapes.len() - 1))
        })
    }

    fn refer(&mut self, node: Node<'t>, kind: ReferenceKind, receiver: Option<ShapeId>) -> NameId {
        let name = self.name(node);
        self.facts.references.push(Reference {
            name,
            at: place(node),
            kind,
            receiver,
            scope: self.at.scope,
            call: None,
        });
        name
    }

    fn bind(&mut self, scope: u32, name: NameId, to: BindingTarget) {
        self.facts.bindings.push(Binding { scope, name, to });
    }

    fn set_value(&mut self, node: Node<'t>, name: NameId, value: ShapeId) {
        if value.is_known() {
            self.facts.values.push(Value {
                scope: self.at.scope,
                name,
                at: as_u32(node.start_byte()),
                value,
            });
        }
    }

    fn open_scope(&mut self, kind: ScopeKind, node: Node<'t>, definition: Option<u32>) -> u32 {
        let scope = as_u32(self.facts.scopes.len());
        self.facts.scopes.push(Scope {
            kind,
            range: range(node),
            parent: Some(self.at.scope),
            definition,
        });
        scope
    }

    /// Returns a definition of a name, to be filled in.
    fn definition(&mut self, kind: DefinitionKind, name: Node<'t>, whole: Node<'t>) -> Definition {
        let lines = (line(whole), as_u32(whole.end_position().row) + 1);
        Definition {
            kind,
            name: self.name(name),
            name_at: place(name),
            range: range(whole),
            lines,
            header_end: lines.1,
            parent: self.at.definition,
            scope: Some(self.at.scope),
            body: None,
            bases: Vec::new(),
            base_shapes: Vec::new(),
            decorators: Vec::new(),
            parameters: 0..0,
            annotation: ShapeId::UNKNOWN,
            doc: None,
        }
    }

    fn finish(self, has_errors: bool) -> FileFacts {
        let mut facts = self.facts;
        facts.has_errors = has_errors;
        facts.sort();
        facts
    }
}

impl FileFacts {
    /// Brings everything into the order that lookups rely on.
    fn sort(&mut self) {
        self.sort_scopes();
        self.sort_definitions();
        let module_names: FxHashSet<(u32, NameId)> = self
            .bindings
            .iter()
            .filter(|it| it.to == BindingTarget::Global)
            .map(|it| (it.scope, it.name))
            .collect();
        for value in &mut self.values {
            if module_names.contains(&(value.scope, value.name)) {
                value.scope = 0;
            }
        }
        self.bindings.sort_unstable();
        self.bindings.dedup();
        self.values.sort_unstable();
        self.results.sort_unstable();
        self.references.sort_by_key(|it| it.at.offset);
        let mut sorted: Vec<u32> = (0..as_u32(self.names.len())).collect();
        sorted.sort_unstable_by_key(|idx| self.names.text(NameId(*idx)));
        self.names.sorted = sorted;
    }

    /// Definitions are found out of order in `a = b = value`, whose inner assignment is looked at first.
    fn sort_definitions(&mut self) {
        let key = |it: &Definition| (it.range.start, it.name_at.offset);
        if self.definitions.is_sorted_by_key(key) {
            return;
        }
        let mut order: Vec<usize> = (0..self.definitions.len()).collect();
        order.sort_by_key(|idx| key(&self.definitions[*idx]));
        let mut new_ids = vec![0_u32; order.len()];
        for (new, old) in (0..).zip(&order) {
            new_ids[*old] = new;
        }
        let mapped = |definition: u32| new_ids[definition as usize];
        self.definitions = order.iter().map(|old| self.definitions[*old].clone()).collect();
        for definition in &mut self.definitions {
            definition.parent = definition.parent.map(mapped);
        }
        for scope in &mut self.scopes {
            scope.definition = scope.definition.map(mapped);
        }
        for binding in &mut self.bindings {
            if let BindingTarget::Definition(definition) = &mut binding.to {
                *definition = mapped(*definition);
            }
        }
    }

    /// Scopes are found out of order where a value is looked at before its target.
    fn sort_scopes(&mut self) {
        let key = |scope: &Scope| {
            (
                scope.range.start,
                std::cmp::Reverse(scope.range.end),
                scope.parent.is_some(),
            )
        };
        if self.scopes.is_sorted_by_key(key) {
            return;
        }
        let mut order: Vec<usize> = (0..self.scopes.len()).collect();
        order.sort_by_key(|idx| key(&self.scopes[*idx]));
        let mut new_ids = vec![0_u32; order.len()];
        for (new, old) in (0..).zip(&order) {
            new_ids[*old] = new;
        }
        let mapped = |scope: u32| new_ids[scope as usize];
        self.scopes = order.iter().map(|old| self.scopes[*old].clone()).collect();
        for scope in &mut self.scopes {
            scope.parent = scope.parent.map(mapped);
        }
        for definition in &mut self.definitions {
            definition.scope = definition.scope.map(mapped);
            definition.body = definition.body.map(mapped);
        }
        self.bindings
            .iter_mut()
            .for_each(|it| it.scope = mapped(it.scope));
        self.references
            .iter_mut()
            .for_each(|it| it.scope = mapped(it.scope));
        self.imports.iter_mut().for_each(|it| it.scope = mapped(it.scope));
        self.values.iter_mut().for_each(|it| it.scope = mapped(it.scope));
        self.writes.iter_mut().for_each(|it| it.scope = mapped(it.scope));
        self.results.iter_mut().for_each(|it| it.scope = mapped(it.scope));
    }
}

fn range(node: Node<'_>) -> Range<u32> {
    as_u32(node.start_byte())..as_u32(node.end_byte())
}

fn line(node: Node<'_>) -> u32 {
    as_u32(node.start_position().row) + 1
}

fn place(node: Node<'_>) -> Place {
    Place {
        offset: as_u32(node.start_byte()),
        line: line(node),
    }
}

/// Files are far smaller than 4 GiB (`disk::MAX_FILE_SIZE`); a text that is not saturates.
fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn call_id(number: usize) -> CallId {
    CallId(as_u32(number))
}

#[cfg(test)]
mod tests;
