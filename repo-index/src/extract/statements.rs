//! Statements: what they define, bind and give back.

use std::ops::Range;

use tree_sitter::Node;

use super::{AsWhat, MAX_SHOWN_LEN, Surroundings, Walk, as_u32, range};
use crate::facts::{BindingTarget, DefinitionKind, NameId, ReferenceKind, ScopeKind};
use crate::rules::{Role, Rule, Slot};
use crate::shapes::{FunctionResult, Literal, Narrowing, Parameter, ParameterKind, Shape, ShapeId, Write};

/// Whether a bound name is also a definition where its scope is a module or a class.
#[derive(Clone, Copy)]
pub(super) enum Defines<'t> {
    No,
    /// The whole statement.
    Statement(Node<'t>),
}

impl<'t> Walk<'t> {
    pub(super) fn class(&mut self, rule: Rule, node: Node<'t>, decorators: &[Node<'t>], whole: Node<'t>) {
        let children = self.open(node);
        let (name, bases, body) = (
            self.part(&children, rule, Slot::Name),
            self.part(&children, rule, Slot::Bases),
            self.part(&children, rule, Slot::Body),
        );
        self.close(children);
        let Some(name) = name else {
            return self.visit_children(node);
        };
        let mut definition = self.definition(DefinitionKind::Class, name, whole);
        self.decorate(&mut definition.decorators, decorators);
        if let Some(bases) = bases {
            self.bases(bases, &mut definition.bases, &mut definition.base_shapes);
        }
        let idx = self.add_definition(definition, node, rule);
        let Some(body) = body else { return };
        let scope = self.open_scope(ScopeKind::Class, body, Some(idx));
        self.facts.definitions[idx as usize].body = Some(scope);
        self.facts.definitions[idx as usize].doc = self.doc_of(body);
        let inside = Surroundings {
            scope,
            class: Some((idx, scope)),
            definition: Some(idx),
            ..self.at
        };
        self.inside(inside, |walk| walk.visit_children(body));
    }

    fn bases(&mut self, node: Node<'t>, shown: &mut Vec<NameId>, shapes: &mut Vec<ShapeId>) {
        let children = self.open(node);
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            let shape = self.visit(child);
            let role = self.rules.of(child.kind_id()).map(|rule| rule.role);
            if matches!(
                role,
                Some(Role::Name | Role::Attribute | Role::Subscript | Role::Call)
            ) {
                let text: &'t str = &self.text[child.byte_range()];
                let text = text.split(['[', '(']).next().unwrap_or(text).trim();
                shown.push(self.name_of(text));
                shapes.push(shape);
            }
        }
        self.close(children);
    }

    fn decorate(&mut self, shown: &mut Vec<NameId>, decorators: &[Node<'t>]) {
        for decorator in decorators {
            if let Some(value) = decorator.named_child(0) {
                let text: &'t str = &self.text[value.byte_range()];
                if text.len() <= MAX_SHOWN_LEN {
                    shown.push(self.name_of(text));
                }
            }
            self.visit_children(*decorator);
        }
    }

    fn add_definition(
        &mut self,
        mut definition: crate::facts::Definition,
        node: Node<'t>,
        rule: Rule,
    ) -> u32 {
        definition.header_end = self.header_end(node, rule.field(Slot::Body));
        let idx = as_u32(self.facts.definitions.len());
        self.bind(self.at.scope, definition.name, BindingTarget::Definition(idx));
        self.facts.definitions.push(definition);
        idx
    }

    /// The header ends with the last token before the body, which may follow on the same line.
    fn header_end(&mut self, node: Node<'t>, body: u16) -> u32 {
        let mut row = node.start_position().row;
        self.cursor.reset(node);
        if self.cursor.goto_first_child() {
            loop {
                if self.cursor.field_id().is_some_and(|it| it.get() == body) {
                    break;
                }
                row = self.cursor.node().end_position().row;
                if !self.cursor.goto_next_sibling() {
                    break;
                }
            }
        }
        as_u32(row) + 1
    }

    pub(super) fn function(&mut self, rule: Rule, node: Node<'t>, decorators: &[Node<'t>], whole: Node<'t>) {
        let children = self.open(node);
        let (name, parameters, annotation, body) = (
            self.part(&children, rule, Slot::Name),
            self.part(&children, rule, Slot::Parameters),
            self.part(&children, rule, Slot::Annotation),
            self.part(&children, rule, Slot::Body),
        );
        self.close(children);
        let Some(name) = name else {
            return self.visit_children(node);
        };
        let is_in_class = self.facts.scopes[self.at.scope as usize].kind == ScopeKind::Class;
        let kind = if is_in_class {
            DefinitionKind::Method
        } else {
            DefinitionKind::Function
        };
        let mut definition = self.definition(kind, name, whole);
        self.decorate(&mut definition.decorators, decorators);
        let found = parameters.map(|it| self.parameters(it)).unwrap_or_default();
        if let Some(annotation) = annotation {
            definition.annotation = self.annotation(annotation);
        }
        let first = as_u32(self.facts.parameters.len());
        self.facts.parameters.extend(&found);
        definition.parameters = first..as_u32(self.facts.parameters.len());
        let idx = self.add_definition(definition, node, rule);
        let Some(body) = body else { return };
        let scope = self.open_scope(ScopeKind::Function, body, Some(idx));
        self.facts.definitions[idx as usize].body = Some(scope);
        self.facts.definitions[idx as usize].doc = self.doc_of(body);
        self.bind_parameters(scope, &found);
        let inside = Surroundings {
            scope,
            function: Some(scope),
            definition: Some(idx),
            ..self.at
        };
        self.inside(inside, |walk| walk.visit_children(body));
    }

    pub(super) fn lambda(&mut self, rule: Rule, node: Node<'t>) {
        let children = self.open(node);
        let parameters = self.part(&children, rule, Slot::Parameters);
        let body = self.part(&children, rule, Slot::Body);
        self.close(children);
        let found = parameters.map(|it| self.parameters(it)).unwrap_or_default();
        let Some(body) = body else { return };
        let scope = self.open_scope(ScopeKind::Block, body, None);
        self.bind_parameters(scope, &found);
        let inside = Surroundings { scope, ..self.at };
        self.inside(inside, |walk| {
            walk.visit(body);
        });
    }

    fn bind_parameters(&mut self, scope: u32, found: &[Parameter]) {
        for it in found {
            self.bind(scope, it.name, BindingTarget::Parameter);
        }
    }

    fn parameters(&mut self, node: Node<'t>) -> Vec<Parameter> {
        let children = self.open(node);
        let mut found = Vec::new();
        let mut is_named = false;
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            let Some(rule) = self.rules.of(child.kind_id()).copied() else {
                self.visit(child);
                continue;
            };
            match rule.role {
                Role::OnlyNamed => is_named = true,
                Role::Name => found.push(self.parameter(child, [ShapeId::UNKNOWN; 2], false, is_named)),
                Role::Splat | Role::SplatNamed => found.extend(self.splat(child, rule.role)),
                Role::Parameter => found.extend(self.annotated(child, rule, is_named)),
                _ => {
                    self.visit(child);
                }
            }
            is_named |= found.last().is_some_and(|it| it.kind == ParameterKind::Rest);
        }
        self.close(children);
        found
    }

    fn annotated(&mut self, node: Node<'t>, rule: Rule, is_named: bool) -> Option<Parameter> {
        let children = self.open(node);
        let annotation = self.part(&children, rule, Slot::Annotation);
        let value = self.part(&children, rule, Slot::Value);
        let name = self.part(&children, rule, Slot::Name);
        let first = self.children[children.clone()].first().map(|(it, _)| *it);
        self.close(children);
        let name = name.or(first)?;
        let annotation = annotation.map_or(ShapeId::UNKNOWN, |it| self.annotation(it));
        let default = value.map_or(ShapeId::UNKNOWN, |it| self.visit(it));
        let role = self.rules.of(name.kind_id()).map(|rule| rule.role);
        match role {
            Some(role @ (Role::Splat | Role::SplatNamed)) => self.splat(name, role).map(|mut it| {
                it.annotation = annotation;
                it
            }),
            _ => Some(self.parameter(name, [annotation, default], value.is_some(), is_named)),
        }
    }

    fn splat(&mut self, node: Node<'t>, role: Role) -> Option<Parameter> {
        let name = node.named_child(0)?;
        let mut found = self.parameter(name, [ShapeId::UNKNOWN; 2], false, false);
        found.kind = match role {
            Role::Splat => ParameterKind::Rest,
            _ => ParameterKind::Keywords,
        };
        Some(found)
    }

    fn parameter(
        &mut self,
        node: Node<'t>,
        [annotation, default]: [ShapeId; 2],
        is_optional: bool,
        is_named: bool,
    ) -> Parameter {
        let kind = match (is_optional, is_named) {
            (false, false) => ParameterKind::Required,
            (true, false) => ParameterKind::Optional,
            (false, true) => ParameterKind::Named,
            (true, true) => ParameterKind::OptionalNamed,
        };
        Parameter {
            name: self.name(node),
            annotation,
            default,
            kind,
        }
    }

    pub(super) fn decorated(&mut self, rule: Rule, node: Node<'t>) {
        let children = self.open(node);
        let body = self.part(&children, rule, Slot::Body);
        let decorators: Vec<Node<'t>> = self.children[children.clone()]
            .iter()
            .map(|(child, _)| *child)
            .filter(|child| {
                self.rules
                    .of(child.kind_id())
                    .is_some_and(|it| it.role == Role::Decorator)
            })
            .collect();
        self.close(children);
        let Some(body) = body else {
            return self.visit_children(node);
        };
        match self.rules.of(body.kind_id()).copied() {
            Some(inner) if inner.role == Role::Class => self.class(inner, body, &decorators, node),
            Some(inner) if inner.role == Role::Function => self.function(inner, body, &decorators, node),
            _ => self.visit_children(node),
        }
    }

    pub(super) fn assign(&mut self, rule: Rule, node: Node<'t>) -> ShapeId {
        let children = self.open(node);
        let target = self.part(&children, rule, Slot::Target);
        let annotation = self.part(&children, rule, Slot::Annotation);
        let value = self.part(&children, rule, Slot::Value);
        self.close(children);
        let annotation = annotation.map_or(ShapeId::UNKNOWN, |it| self.annotation(it));
        let value = value.map_or(ShapeId::UNKNOWN, |it| self.visit(it));
        let bound = if annotation.is_known() {
            self.shape(Shape::Instance(annotation))
        } else {
            value
        };
        if let Some(target) = target {
            let n_before = self.facts.definitions.len();
            self.target(target, bound, Defines::Statement(node));
            for definition in &mut self.facts.definitions[n_before..] {
                definition.annotation = annotation;
            }
        }
        // `a = b = value` is an assignment whose value is one.
        value
    }

    pub(super) fn augment(&mut self, rule: Rule, node: Node<'t>) {
        let children = self.open(node);
        let target = self.part(&children, rule, Slot::Target);
        let value = self.part(&children, rule, Slot::Value);
        self.close(children);
        if let Some(target) = target {
            self.target(target, ShapeId::UNKNOWN, Defines::No);
        }
        if let Some(value) = value {
            self.visit(value);
        }
    }

    /// Binds what stands on the left of an assignment.
    pub(super) fn target(&mut self, node: Node<'t>, value: ShapeId, defines: Defines<'t>) {
        let Some(rule) = self.rules.of(node.kind_id()).copied() else {
            self.visit(node);
            return;
        };
        match rule.role {
            Role::Name => self.bind_name(node, value, defines),
            Role::Attribute => self.write(rule, node, value, defines),
            Role::Group | Role::Splat => {
                let children = self.open(node);
                for idx in children.clone() {
                    let (child, _) = self.children[idx];
                    let value = if rule.role == Role::Group {
                        value
                    } else {
                        ShapeId::UNKNOWN
                    };
                    self.target(child, value, defines);
                }
                self.close(children);
            }
            Role::Tuple | Role::List => {
                let children = self.open(node);
                for (part, idx) in (0..).zip(children.clone()) {
                    let (child, _) = self.children[idx];
                    let value = self.part_of(value, part);
                    self.target(child, value, defines);
                }
                self.close(children);
            }
            _ => {
                self.visit(node);
            }
        }
    }

    fn part_of(&mut self, value: ShapeId, part: u32) -> ShapeId {
        match self.facts.shapes.get(value) {
            Shape::Unknown => ShapeId::UNKNOWN,
            Shape::Tuple(first, end) if first + part < end => {
                self.facts.shapes.items[(first + part) as usize]
            }
            _ => self.shape(Shape::Part(value, part)),
        }
    }

    fn bind_name(&mut self, node: Node<'t>, value: ShapeId, defines: Defines<'t>) {
        let name = self.name(node);
        let scope = self.at.scope;
        self.set_value(node, name, value);
        let kind = match self.facts.scopes[scope as usize].kind {
            ScopeKind::Module => Some(DefinitionKind::Variable),
            ScopeKind::Class => Some(DefinitionKind::ClassAttribute),
            ScopeKind::Function | ScopeKind::Block => None,
        };
        if let (Defines::Statement(statement), Some(kind)) = (defines, kind) {
            self.bind(scope, name, BindingTarget::Local);
            if self.defined.insert((Some(scope), name, false)) {
                let definition = self.definition(kind, node, statement);
                let idx = as_u32(self.facts.definitions.len());
                self.facts.definitions.push(definition);
                self.bind(scope, name, BindingTarget::Definition(idx));
                return;
            }
        } else {
            self.bind(scope, name, BindingTarget::Local);
        }
        self.refer(node, ReferenceKind::Name, None);
    }

    fn write(&mut self, rule: Rule, node: Node<'t>, value: ShapeId, defines: Defines<'t>) {
        let children = self.open(node);
        let receiver = self.part(&children, rule, Slot::Receiver);
        let name = self.part(&children, rule, Slot::Name);
        self.close(children);
        let (Some(receiver), Some(name_node)) = (receiver, name) else {
            return self.visit_children(node);
        };
        let shape = self.visit(receiver);
        let name = self.name(name_node);
        self.facts.writes.push(Write {
            receiver: shape,
            name,
            value,
            scope: self.at.scope,
            at: as_u32(name_node.start_byte()),
        });
        let is_own = self.self_names.contains(&&self.text[receiver.byte_range()]);
        if let (true, Some((class, class_scope)), Defines::Statement(statement)) =
            (is_own, self.at.class, defines)
            && self.at.scope != class_scope
            && self.defined.insert((Some(class_scope), name, true))
        {
            let mut definition = self.definition(DefinitionKind::InstanceAttribute, name_node, statement);
            definition.parent = Some(class);
            definition.scope = None;
            self.facts.definitions.push(definition);
            return;
        }
        self.refer(name_node, ReferenceKind::Write, Some(shape));
    }

    pub(super) fn for_loop(&mut self, rule: Rule, node: Node<'t>) {
        let children = self.open(node);
        let target = self.part(&children, rule, Slot::Target);
        let value = self.part(&children, rule, Slot::Value);
        let iterated = value.map_or(ShapeId::UNKNOWN, |it| self.visit(it));
        let element = self.wrap(iterated, Shape::Element);
        if let Some(target) = target {
            self.target(target, element, Defines::No);
        }
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            if Some(child) != target && Some(child) != value {
                self.visit(child);
            }
        }
        self.close(children);
    }

    pub(super) fn with_item(&mut self, rule: Rule, node: Node<'t>) {
        let children = self.open(node);
        let value = self.part(&children, rule, Slot::Value);
        self.close(children);
        let inside = Surroundings {
            as_what: AsWhat::Entered,
            ..self.at
        };
        if let Some(value) = value {
            self.inside(inside, |walk| {
                walk.visit(value);
            });
        }
    }

    pub(super) fn as_pattern(&mut self, rule: Rule, node: Node<'t>) {
        let what = std::mem::replace(&mut self.at.as_what, AsWhat::Same);
        let children = self.open(node);
        let target = self.part(&children, rule, Slot::Target);
        let value = self.children[children.clone()].first().map(|(it, _)| *it);
        self.close(children);
        let value = value.filter(|it| Some(*it) != target);
        let shape = value.map_or(ShapeId::UNKNOWN, |it| self.visit(it));
        let shape = match what {
            AsWhat::Same => shape,
            AsWhat::Entered => self.wrap(shape, Shape::Entered),
            AsWhat::Instance => self.wrap(shape, Shape::Instance),
        };
        if let Some(target) = target {
            self.target(target, shape, Defines::No);
        }
    }

    pub(super) fn except(&mut self, rule: Rule, node: Node<'t>) {
        let children = self.open(node);
        let target = self.part(&children, rule, Slot::Target);
        let value = self.part(&children, rule, Slot::Value);
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            if Some(child) == value {
                let inside = Surroundings {
                    as_what: AsWhat::Instance,
                    ..self.at
                };
                let shape = self.inside(inside, |walk| walk.visit(child));
                if let Some(target) = target {
                    let shape = self.wrap(shape, Shape::Instance);
                    self.target(target, shape, Defines::No);
                }
            } else if Some(child) != target {
                self.visit(child);
            }
        }
        self.close(children);
    }

    pub(super) fn condition(&mut self, rule: Rule, node: Node<'t>) {
        let children = self.open(node);
        let condition = self.part(&children, rule, Slot::Condition);
        let body = self.part(&children, rule, Slot::Body);
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            if Some(child) != condition {
                self.visit(child);
                continue;
            }
            let checks = self.checks_in(child);
            let text = &self.text[child.byte_range()];
            let is_negative = text.starts_with("not ");
            let Some(body) = body else { continue };
            if !is_negative && !text.contains(" or ") {
                self.narrow(&checks, range(body));
            } else if is_negative && !text.contains(" and ") && self.leaves(body) {
                let end = self.facts.scopes[self.at.scope as usize].range.end;
                self.narrow(&checks, as_u32(body.end_byte())..end);
            }
        }
        self.close(children);
    }

    pub(super) fn assert(&mut self, node: Node<'t>) {
        let checks = self.checks_in(node);
        let text = &self.text[node.byte_range()];
        if !text.contains(" or ") && !text.contains(" not ") {
            let end = self.facts.scopes[self.at.scope as usize].range.end;
            self.narrow(&checks, as_u32(node.end_byte())..end);
        }
    }

    /// Visits a condition, and returns what it asks `isinstance` of.
    pub(super) fn checks_in(&mut self, node: Node<'t>) -> Vec<(ShapeId, ShapeId)> {
        let n_before = self.checks.len();
        match self.rules.of(node.kind_id()).map(|rule| rule.role) {
            Some(Role::Assert) => self.visit_children(node),
            _ => {
                self.visit(node);
            }
        }
        self.checks.split_off(n_before)
    }

    pub(super) fn narrow(&mut self, checks: &[(ShapeId, ShapeId)], range: Range<u32>) {
        for (subject, class) in checks {
            self.facts.narrowings.push(Narrowing {
                range: range.clone(),
                subject: *subject,
                class: *class,
            });
        }
    }

    /// Whether the last statement of a block leads out of it.
    fn leaves(&self, block: Node<'t>) -> bool {
        let last = block.named_child(
            u32::try_from(block.named_child_count())
                .unwrap_or(1)
                .saturating_sub(1),
        );
        last.is_some_and(|last| {
            let text = &self.text[last.byte_range()];
            ["return", "raise", "continue", "break"]
                .iter()
                .any(|word| text.starts_with(word))
        })
    }

    pub(super) fn give_back(&mut self, node: Node<'t>) {
        let children = self.open(node);
        let first = self.children[children.clone()].first().map(|(it, _)| *it);
        self.close(children);
        let value = match first {
            Some(first) => self.visit(first),
            None => self.shape(Shape::Literal(Literal::Nothing)),
        };
        if let Some(scope) = self.at.function {
            self.facts.results.push(FunctionResult {
                scope,
                is_yielded: false,
                value,
            });
        }
    }

    pub(super) fn give_one(&mut self, node: Node<'t>) {
        let children = self.open(node);
        let first = self.children[children.clone()].first().map(|(it, _)| *it);
        self.close(children);
        let value = first.map_or(ShapeId::UNKNOWN, |it| self.visit(it));
        let is_from = self.text[node.byte_range()].starts_with("yield from");
        let value = if is_from {
            self.wrap(value, Shape::Element)
        } else {
            value
        };
        if let Some(scope) = self.at.function {
            self.facts.results.push(FunctionResult {
                scope,
                is_yielded: true,
                value,
            });
        }
    }

    pub(super) fn declare(&mut self, node: Node<'t>, to: BindingTarget) {
        let children = self.open(node);
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            let name = self.refer(child, ReferenceKind::Name, None);
            self.bind(self.at.scope, name, to);
        }
        self.close(children);
    }

    pub(super) fn delete(&mut self, node: Node<'t>) {
        let children = self.open(node);
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            match self.rules.of(child.kind_id()).copied() {
                Some(rule) if rule.role == Role::Attribute => {
                    self.write(rule, child, ShapeId::UNKNOWN, Defines::No);
                }
                Some(rule) if rule.role == Role::Tuple => self.delete(child),
                _ => {
                    self.visit(child);
                }
            }
        }
        self.close(children);
    }

    /// A pattern of one plain name binds it.
    pub(super) fn case(&mut self, node: Node<'t>) {
        let only = node.named_child(0).filter(|_| node.named_child_count() == 1);
        let is_dotted = |it: &Node<'t>| {
            self.rules
                .of(it.kind_id())
                .is_some_and(|rule| rule.role == Role::ImportName)
        };
        let name = only.filter(is_dotted).filter(|it| it.named_child_count() == 1);
        match name.and_then(|it| it.named_child(0)) {
            Some(name) => self.bind_name(name, ShapeId::UNKNOWN, Defines::No),
            None => self.visit_children(node),
        }
    }

    pub(super) fn doc_of(&mut self, body: Node<'t>) -> Option<NameId> {
        let mut first = body.named_child(0)?;
        while first.is_extra() {
            first = first.next_named_sibling()?;
        }
        let role = |walk: &Self, it: Node<'t>| walk.rules.of(it.kind_id()).map(|rule| rule.role);
        if role(self, first) != Some(Role::Statement) {
            return None;
        }
        let literal = first
            .named_child(0)
            .filter(|it| role(self, *it) == Some(Role::Text))?;
        let text: &'t str = &self.text[literal.byte_range()];
        let text = text.trim_start_matches(|it: char| it.is_ascii_alphabetic());
        let line = text
            .trim_matches(['"', '\''])
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())?;
        Some(self.name_of(line))
    }

    pub(super) fn inside<R>(&mut self, at: Surroundings, work: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.at, at);
        let result = work(self);
        self.at = before;
        result
    }
}
