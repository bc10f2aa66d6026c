//! Expressions: the names they use, and the shapes of their values.

use tree_sitter::Node;

use super::{AsWhat, Surroundings, Walk, as_u32, call_id, range};
use crate::facts::{BindingTarget, ReferenceKind, ScopeKind};
use crate::rules::{Role, Rule, Slot};
use crate::shapes::{CallId, CallShape, Literal, Shape, ShapeId};

/// A longer string is no name.
const MAX_NAME_LEN: usize = 60;

impl<'t> Walk<'t> {
    /// Does what the role of a node asks for, and returns the shape of an expression.
    pub(super) fn apply(&mut self, rule: Rule, node: Node<'t>) -> ShapeId {
        match rule.role {
            Role::Name => {
                let name = self.refer(node, ReferenceKind::Name, None);
                return self.shape(Shape::Name(name));
            }
            Role::Attribute => return self.attribute(rule, node, ReferenceKind::Attribute),
            Role::Call => return self.call(rule, node),
            Role::Text => return self.string(node),
            Role::Group | Role::Member => return self.last_of(node),
            Role::Tuple => return self.tuple(node),
            Role::List | Role::Set | Role::Dict => return self.container(rule.role, node),
            Role::Pair => return self.pair(rule, node),
            Role::LiteralBool => return self.literal(node, Literal::Bool),
            Role::LiteralNumber => return self.literal(node, Literal::Number),
            Role::LiteralNone => return self.literal(node, Literal::Nothing),
            Role::Lambda => {
                self.lambda(rule, node);
                return self.shape(Shape::Literal(Literal::Lambda));
            }
            Role::ComprehensionList => return self.comprehension(node, Literal::List),
            Role::ComprehensionSet => return self.comprehension(node, Literal::Set),
            Role::ComprehensionDict => return self.comprehension(node, Literal::Dict),
            Role::ComprehensionGenerator => return self.comprehension(node, Literal::Generator),
            Role::Subscript | Role::Boolean | Role::Binary => return self.pair_of(rule, node),
            Role::Keyword => return self.keyword(rule, node),
            Role::Await => {
                let value = self.last_of(node);
                return self.wrap(value, Shape::Awaited);
            }
            Role::Conditional | Role::Union => return self.either(rule.role, node),
            Role::Generic => return self.generic(node),
            Role::Named => return self.named(rule, node),
            Role::Assign => return self.assign(rule, node),
            Role::ImportName => return self.dotted(node),
            Role::Class => self.class(rule, node, &[], node),
            Role::Function => self.function(rule, node, &[], node),
            Role::Decorated => self.decorated(rule, node),
            Role::Augment => self.augment(rule, node),
            Role::Loop => self.for_loop(rule, node),
            Role::As => self.as_pattern(rule, node),
            Role::With => self.with_item(rule, node),
            Role::Except => self.except(rule, node),
            Role::If => self.condition(rule, node),
            Role::Assert => self.assert(node),
            Role::Return => self.give_back(node),
            Role::Yield => self.give_one(node),
            Role::Delete => self.delete(node),
            Role::Global => self.declare(node, BindingTarget::Global),
            Role::Nonlocal => self.declare(node, BindingTarget::Nonlocal),
            Role::Case => self.case(node),
            Role::Import => self.import(node),
            Role::ImportFrom => self.import_from(rule, node),
            Role::ImportWhole => self.import_whole(rule, node),
            Role::Statement
            | Role::Decorator
            | Role::Parameter
            | Role::OnlyNamed
            | Role::Splat
            | Role::SplatNamed
            | Role::ImportAlias
            | Role::ImportItem
            | Role::ImportNamespace
            | Role::ImportAll => self.visit_children(node),
        }
        ShapeId::UNKNOWN
    }

    pub(super) fn wrap(&mut self, shape: ShapeId, wrapper: impl FnOnce(ShapeId) -> Shape) -> ShapeId {
        if shape.is_known() {
            self.shape(wrapper(shape))
        } else {
            ShapeId::UNKNOWN
        }
    }

    fn literal(&mut self, node: Node<'t>, literal: Literal) -> ShapeId {
        if node.child_count() > 0 {
            self.visit_children(node);
        }
        self.shape(Shape::Literal(literal))
    }

    fn last_of(&mut self, node: Node<'t>) -> ShapeId {
        let children = self.open(node);
        let mut shape = ShapeId::UNKNOWN;
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            shape = self.visit(child);
        }
        self.close(children);
        shape
    }

    pub(super) fn attribute(&mut self, rule: Rule, node: Node<'t>, kind: ReferenceKind) -> ShapeId {
        let children = self.open(node);
        let receiver = self.part(&children, rule, Slot::Receiver);
        let name = self.part(&children, rule, Slot::Name);
        self.close(children);
        let (Some(receiver), Some(name)) = (receiver, name) else {
            self.visit_children(node);
            return ShapeId::UNKNOWN;
        };
        let receiver = self.visit(receiver);
        let name = self.refer(name, kind, Some(receiver));
        self.wrap(receiver, |receiver| Shape::Attribute(receiver, name))
    }

    fn call(&mut self, rule: Rule, node: Node<'t>) -> ShapeId {
        let children = self.open(node);
        let function = self.part(&children, rule, Slot::Receiver);
        let arguments = self.part(&children, rule, Slot::Arguments);
        self.close(children);
        let Some(function) = function else {
            self.visit_children(node);
            return ShapeId::UNKNOWN;
        };
        let mut reference = None;
        let callee = match self.rules.of(function.kind_id()).copied() {
            Some(inner) if inner.role == Role::Name => {
                reference = Some(self.facts.references.len());
                let name = self.refer(function, ReferenceKind::Call, None);
                self.shape(Shape::Name(name))
            }
            Some(inner) if inner.role == Role::Attribute && self.depth < super::MAX_DEPTH => {
                self.depth += 1;
                let shape = self.attribute(inner, function, ReferenceKind::Call);
                self.depth -= 1;
                reference = self.facts.references.len().checked_sub(1);
                shape
            }
            _ => self.visit(function),
        };
        let call = self.arguments(arguments);
        if let Some(reference) = reference {
            self.facts.references[reference].call = Some(call);
        }
        if let Shape::Name(name) = self.facts.shapes.get(callee)
            && self.facts.names.text(name) == "isinstance"
        {
            let [subject, class] = self.facts.shapes.call(call).first;
            if subject.is_known() && class.is_known() {
                self.checks.push((subject, class));
            }
        }
        self.wrap(callee, |callee| Shape::Call(callee, call))
    }

    fn arguments(&mut self, node: Option<Node<'t>>) -> CallId {
        let mut call = CallShape {
            n_positional: 0,
            is_open: false,
            first: [ShapeId::UNKNOWN; 2],
            keywords: (0, 0),
        };
        let mut keywords = Vec::new();
        if let Some(node) = node {
            // One generator may stand without parentheses of its own.
            let is_single = self.rules.of(node.kind_id()).is_some();
            let children = if is_single {
                self.children.push((node, 0));
                self.children.len() - 1..self.children.len()
            } else {
                self.open(node)
            };
            for idx in children.clone() {
                let (child, _) = self.children[idx];
                let role = self.rules.of(child.kind_id()).map(|rule| rule.role);
                let shape = self.visit(child);
                match role {
                    Some(Role::Splat | Role::SplatNamed) => call.is_open = true,
                    Some(Role::Keyword) => {
                        if let Some(name) = child.named_child(0) {
                            keywords.push(self.name(name));
                        }
                    }
                    _ => {
                        if let Some(first) = call.first.get_mut(call.n_positional as usize) {
                            *first = shape;
                        }
                        call.n_positional += 1;
                    }
                }
            }
            self.close(children);
        }
        let shapes = &mut self.facts.shapes;
        let start = as_u32(shapes.keywords.len());
        shapes.keywords.extend(keywords);
        call.keywords = (start, as_u32(shapes.keywords.len()));
        shapes.calls.push(call);
        call_id(shapes.calls.len() - 1)
    }

    fn keyword(&mut self, rule: Rule, node: Node<'t>) -> ShapeId {
        let children = self.open(node);
        let name = self.part(&children, rule, Slot::Name);
        let value = self.part(&children, rule, Slot::Value);
        self.close(children);
        if let Some(name) = name {
            self.refer(name, ReferenceKind::Keyword, None);
        }
        value.map_or(ShapeId::UNKNOWN, |it| self.visit(it))
    }

    fn string(&mut self, node: Node<'t>) -> ShapeId {
        let text: &'t str = &self.text[node.byte_range()];
        let unquoted = text.trim_start_matches(|it: char| it.is_ascii_alphabetic());
        let content = unquoted.trim_matches(['"', '\'']);
        if self.at.in_annotation {
            return self.written_type(content);
        }
        let prefix = &text[..text.len() - unquoted.len()];
        if prefix.contains(['f', 'F', 't', 'T']) || text.contains(['\n', ' ']) {
            // Only a few strings hold code.
            self.visit_children(node);
        } else if prefix.is_empty()
            && content.len() <= MAX_NAME_LEN
            && !content.is_empty()
            && content
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.')
        {
            let name = self.name_of(content);
            return self.shape(Shape::Text(name));
        }
        let is_bytes = prefix.contains(['b', 'B']);
        self.shape(Shape::Literal(if is_bytes {
            Literal::Bytes
        } else {
            Literal::Str
        }))
    }

    /// A type that is written as a string: a dotted name, or several with `|`.
    fn written_type(&mut self, content: &'t str) -> ShapeId {
        let mut found = ShapeId::UNKNOWN;
        for part in content.split('|').map(str::trim) {
            let part = part
                .strip_prefix("Optional[")
                .map_or(part, |it| it.trim_end_matches(']'));
            let part = part.split('[').next().unwrap_or(part);
            let is_path = !part.is_empty()
                && part.len() <= MAX_NAME_LEN
                && part
                    .chars()
                    .all(|it| it == '_' || it == '.' || it.is_alphanumeric());
            if !is_path || part == "None" {
                continue;
            }
            let mut shape = ShapeId::UNKNOWN;
            for name in part.split('.') {
                let name = self.name_of(name);
                shape = if shape.is_known() {
                    self.shape(Shape::Attribute(shape, name))
                } else {
                    self.shape(Shape::Name(name))
                };
            }
            found = if found.is_known() {
                self.shape(Shape::Either(found, shape))
            } else {
                shape
            };
        }
        found
    }

    fn tuple(&mut self, node: Node<'t>) -> ShapeId {
        let children = self.open(node);
        let mut items = Vec::new();
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            items.push(self.visit(child));
        }
        self.close(children);
        if self.at.in_annotation && items.len() == 1 {
            return items[0];
        }
        if items.iter().all(|it| !it.is_known()) {
            return self.shape(Shape::Literal(Literal::Tuple));
        }
        let start = as_u32(self.facts.shapes.items.len());
        self.facts.shapes.items.extend(items);
        let end = as_u32(self.facts.shapes.items.len());
        self.shape(Shape::Tuple(start, end))
    }

    fn container(&mut self, role: Role, node: Node<'t>) -> ShapeId {
        let children = self.open(node);
        let mut element = ShapeId::UNKNOWN;
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            let shape = self.visit(child);
            if !element.is_known() {
                element = shape;
            }
        }
        self.close(children);
        self.shape(Shape::Container(literal_of(role), element))
    }

    fn pair(&mut self, rule: Rule, node: Node<'t>) -> ShapeId {
        let children = self.open(node);
        let name = self.part(&children, rule, Slot::Name);
        let value = self.part(&children, rule, Slot::Value);
        self.close(children);
        if let Some(name) = name {
            self.visit(name);
        }
        value.map_or(ShapeId::UNKNOWN, |it| self.visit(it))
    }

    fn comprehension(&mut self, node: Node<'t>, literal: Literal) -> ShapeId {
        let scope = self.open_scope(ScopeKind::Block, node, None);
        let inside = Surroundings { scope, ..self.at };
        let n_values = self.facts.values.len();
        let element = self.inside(inside, |walk| {
            let children = walk.open(node);
            let mut element = None;
            for idx in children.clone() {
                let (child, _) = walk.children[idx];
                let shape = walk.visit(child);
                element.get_or_insert(shape);
            }
            walk.close(children);
            element.unwrap_or_default()
        });
        // Outside, the name of the loop is not known: what it stands for is.
        let element = match self.facts.shapes.get(element) {
            Shape::Name(name) => {
                let mut values = self.facts.values[n_values..].iter();
                values
                    .find(|it| it.scope == scope && it.name == name)
                    .map_or(element, |it| it.value)
            }
            _ => element,
        };
        self.shape(Shape::Container(literal, element))
    }

    /// What has two parts that count.
    fn pair_of(&mut self, rule: Rule, node: Node<'t>) -> ShapeId {
        let (first, second) = match rule.role {
            Role::Subscript => (Slot::Receiver, Slot::Value),
            _ => (Slot::Target, Slot::Value),
        };
        let children = self.open(node);
        let one = self.part(&children, rule, first);
        let other = self.part(&children, rule, second);
        let mut shapes = [ShapeId::UNKNOWN; 2];
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            let n_checks = self.checks.len();
            let shape = self.visit(child);
            if Some(child) == one {
                shapes[0] = shape;
                if let Some(other) =
                    other.filter(|_| rule.role == Role::Boolean && self.checks.len() > n_checks)
                {
                    let between = &self.text[child.end_byte()..other.start_byte()];
                    let left = &self.text[child.byte_range()];
                    if between.contains("and") && !left.contains("not ") && !left.contains(" or ") {
                        let checks = self.checks[n_checks..].to_vec();
                        self.narrow(&checks, range(other));
                    }
                }
            } else if Some(child) == other {
                shapes[1] = shape;
            }
        }
        self.close(children);
        let [one, other] = shapes;
        match rule.role {
            Role::Subscript => self.wrap(one, |one| Shape::Subscript(one, other)),
            Role::Boolean => self.shape(Shape::Either(one, other)),
            _ => self.wrap(one, |one| Shape::Binary(one, other)),
        }
    }

    /// `x if … else y`, and `x | y` in annotations.
    fn either(&mut self, role: Role, node: Node<'t>) -> ShapeId {
        let children = self.open(node);
        let mut shapes = Vec::new();
        let condition = children.start + 1;
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            if idx == condition && role == Role::Conditional {
                let checks = self.checks_in(child);
                let text = &self.text[child.byte_range()];
                if !text.starts_with("not ") && !text.contains(" or ") {
                    let (first, _) = self.children[children.start];
                    self.narrow(&checks, range(first));
                }
            } else {
                shapes.push(self.visit(child));
            }
        }
        self.close(children);
        match shapes[..] {
            [] => ShapeId::UNKNOWN,
            [one] => one,
            [one, other, ..] => self.shape(Shape::Either(one, other)),
        }
    }

    fn generic(&mut self, node: Node<'t>) -> ShapeId {
        let children = self.open(node);
        let mut shapes = [ShapeId::UNKNOWN; 2];
        for (position, idx) in children.clone().enumerate() {
            let (child, _) = self.children[idx];
            let shape = self.visit(child);
            if let Some(slot) = shapes.get_mut(position) {
                *slot = shape;
            }
        }
        self.close(children);
        let [base, index] = shapes;
        self.wrap(base, |base| Shape::Subscript(base, index))
    }

    fn named(&mut self, rule: Rule, node: Node<'t>) -> ShapeId {
        let children = self.open(node);
        let target = self.part(&children, rule, Slot::Target);
        let value = self.part(&children, rule, Slot::Value);
        self.close(children);
        let value = value.map_or(ShapeId::UNKNOWN, |it| self.visit(it));
        if let Some(target) = target {
            self.target(target, value, super::statements::Defines::No);
        }
        value
    }

    pub(super) fn annotation(&mut self, node: Node<'t>) -> ShapeId {
        let inside = Surroundings {
            in_annotation: true,
            as_what: AsWhat::Same,
            ..self.at
        };
        self.inside(inside, |walk| walk.visit(node))
    }

    /// A dotted name that is one node to the grammar.
    pub(super) fn dotted(&mut self, node: Node<'t>) -> ShapeId {
        let children = self.open(node);
        let mut shape = ShapeId::UNKNOWN;
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            shape = if shape.is_known() {
                let name = self.refer(child, ReferenceKind::Attribute, Some(shape));
                self.shape(Shape::Attribute(shape, name))
            } else {
                let name = self.refer(child, ReferenceKind::Name, None);
                self.shape(Shape::Name(name))
            };
        }
        self.close(children);
        shape
    }
}

fn literal_of(role: Role) -> Literal {
    match role {
        Role::Set => Literal::Set,
        Role::Dict => Literal::Dict,
        _ => Literal::List,
    }
}
