//! Imports: what a module takes from another one.

use tree_sitter::Node;

use super::{Walk, as_u32, place};
use crate::facts::{BindingTarget, Import, NameId, ReferenceKind, Taken};
use crate::rules::{Role, Rule, Slot};

impl<'t> Walk<'t> {
    /// `import a.b, c as d`.
    pub(super) fn import(&mut self, node: Node<'t>) {
        let children = self.open(node);
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            let (name, alias) = self.name_and_alias(child);
            self.refer_parts(name);
            let module = self.module_name(name);
            let (taken, bound) = match alias {
                Some(alias) => (Taken::Module, self.name(alias)),
                None => {
                    let text: &'t str = &self.text[name.byte_range()];
                    let first = text.split('.').next().unwrap_or(text).trim();
                    (Taken::FirstPart, self.name_of(first))
                }
            };
            self.add_import(module, taken, Some(bound), name);
        }
        self.close(children);
    }

    /// `from a import b as c, d`.
    pub(super) fn import_from(&mut self, rule: Rule, node: Node<'t>) {
        let children = self.open(node);
        let from = self.part(&children, rule, Slot::Module);
        let Some(from) = from else {
            self.close(children);
            return;
        };
        self.refer_parts(from);
        let module = self.module_name(from);
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            if child == from {
                continue;
            }
            let role = self.rules.of(child.kind_id()).map(|rule| rule.role);
            if role == Some(Role::ImportAll) {
                self.add_import(module, Taken::All, None, child);
                continue;
            }
            let (name, alias) = self.name_and_alias(child);
            self.refer_parts(name);
            let taken = self.name(name);
            let bound = alias.map_or(taken, |alias| self.name(alias));
            self.add_import(module, Taken::Name(taken), Some(bound), name);
        }
        self.close(children);
    }

    /// `import a, {b as c}, * as d from "./e"`.
    pub(super) fn import_whole(&mut self, rule: Rule, node: Node<'t>) {
        let children = self.open(node);
        let from = self.part(&children, rule, Slot::Module);
        self.close(children);
        let Some(from) = from else { return };
        let text: &'t str = &self.text[from.byte_range()];
        let module = self.name_of(text.trim_matches(['"', '\'', '`']));
        self.import_items(module, node, from);
    }

    fn import_items(&mut self, module: NameId, node: Node<'t>, from: Node<'t>) {
        let children = self.open(node);
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            if child == from {
                continue;
            }
            match self.rules.of(child.kind_id()).copied() {
                Some(rule) if rule.role == Role::Name => {
                    let bound = self.refer(child, ReferenceKind::Import, None);
                    let default = self.name_of("default");
                    self.add_import(module, Taken::Name(default), Some(bound), child);
                }
                Some(rule) if rule.role == Role::ImportNamespace => {
                    if let Some(name) = child.named_child(0) {
                        let bound = self.name(name);
                        self.add_import(module, Taken::Module, Some(bound), name);
                    }
                }
                Some(rule) if rule.role == Role::ImportItem => {
                    let parts = self.open(child);
                    let name = self.part(&parts, rule, Slot::Name);
                    let alias = self.part(&parts, rule, Slot::Target);
                    self.close(parts);
                    if let Some(name) = name {
                        let taken = self.refer(name, ReferenceKind::Import, None);
                        let bound = alias.map_or(taken, |alias| self.name(alias));
                        self.add_import(module, Taken::Name(taken), Some(bound), name);
                    }
                }
                _ => self.import_items(module, child, from),
            }
        }
        self.close(children);
    }

    fn name_and_alias(&mut self, node: Node<'t>) -> (Node<'t>, Option<Node<'t>>) {
        match self.rules.of(node.kind_id()).copied() {
            Some(rule) if rule.role == Role::ImportAlias => {
                let children = self.open(node);
                let name = self.part(&children, rule, Slot::Name);
                let alias = self.part(&children, rule, Slot::Target);
                self.close(children);
                (name.unwrap_or(node), alias)
            }
            _ => (node, None),
        }
    }

    /// Each part of a module's name is a use of it.
    fn refer_parts(&mut self, node: Node<'t>) {
        let children = self.open(node);
        for idx in children.clone() {
            let (child, _) = self.children[idx];
            match self.rules.of(child.kind_id()).map(|rule| rule.role) {
                Some(Role::Name) => {
                    self.refer(child, ReferenceKind::Import, None);
                }
                _ => self.refer_parts(child),
            }
        }
        self.close(children);
    }

    /// `from . import a` may be written with spaces and comments between the dots.
    fn module_name(&mut self, node: Node<'t>) -> NameId {
        let text: &'t str = &self.text[node.byte_range()];
        if !text.contains(char::is_whitespace) {
            return self.name_of(text);
        }
        let joined: String = text.split_whitespace().collect();
        let names = &mut self.facts.names;
        let id = NameId(as_u32(names.len()));
        names.text.push_str(&joined);
        names.ends.push(as_u32(names.text.len()));
        id
    }

    fn add_import(&mut self, module: NameId, taken: Taken, bound: Option<NameId>, at: Node<'t>) {
        let scope = self.at.scope;
        let idx = as_u32(self.facts.imports.len());
        if let Some(bound) = bound {
            self.bind(scope, bound, BindingTarget::Import(idx));
        }
        self.facts.imports.push(Import {
            module,
            taken,
            bound,
            at: place(at),
            scope,
        });
    }
}
