//! Classes: their ancestors in the order of lookup, their members, and what these are on an object.

use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{At, MAX_DEPTH, Resolver};
use crate::facts::{DefinitionKind, FileFacts};
use crate::session::SymbolId;
use crate::shapes::{Shape, ShapeId};
use crate::types::{Type, Types};

/// A step in the order of lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ancestor {
    /// A class of the index.
    Class(SymbolId),
    /// One that is not in the index.
    Outside,
    /// One that could not be found out.
    Unknown,
}

/// What a class itself defines, by name.
pub(super) type Table = FxHashMap<Box<str>, Vec<u32>>;

/// A definition that a class has, by itself or from an ancestor.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The class that defines it.
    pub(crate) class: SymbolId,
    /// Its definitions there, in the order of the source.
    pub(crate) definitions: Vec<u32>,
    /// Whether no class before it could define it unseen.
    pub(crate) is_sure: bool,
}

impl Resolver<'_, '_> {
    /// Returns a class and its ancestors in the order in which they are asked.
    pub(crate) fn ancestors(&self, class: SymbolId) -> Rc<[Ancestor]> {
        self.ancestors_within(class, 0)
    }

    fn ancestors_within(&self, class: SymbolId, depth: usize) -> Rc<[Ancestor]> {
        if let Some(known) = self.ancestors.borrow().get(&class) {
            return Rc::clone(known);
        }
        let itself = Ancestor::Class(class);
        if depth > MAX_DEPTH {
            return Rc::new([itself, Ancestor::Unknown]);
        }
        // A class that is its own ancestor ends here.
        self.ancestors.borrow_mut().insert(class, Rc::new([itself]));
        let bases = self.bases(class);
        let mut lines: Vec<Vec<Ancestor>> = bases
            .iter()
            .map(|base| match base {
                Ancestor::Class(base) => self.ancestors_within(*base, depth + 1).to_vec(),
                other => vec![*other],
            })
            .collect();
        lines.push(bases);
        let mut order = vec![itself];
        merge(lines, &mut order);
        let order: Rc<[Ancestor]> = order.into();
        self.ancestors.borrow_mut().insert(class, Rc::clone(&order));
        order
    }

    fn bases(&self, class: SymbolId) -> Vec<Ancestor> {
        let Some(at) = self.at_class(class) else {
            return vec![Ancestor::Unknown];
        };
        let definition = &at.facts.definitions[class.definition as usize];
        let at = At {
            scope: definition.scope.unwrap_or(0),
            offset: Some(definition.range.start),
            ..at.clone()
        };
        let base = |shape: &ShapeId| {
            let types = self.eval(&at, *shape);
            let is_itself = |it: &Type| *it == Type::Class(class);
            match types.found.iter().find(|it| !is_itself(it)) {
                Some(Type::Class(base)) => Ancestor::Class(*base),
                Some(Type::Outside) => Ancestor::Outside,
                _ => Ancestor::Unknown,
            }
        };
        definition.base_shapes.iter().map(base).collect()
    }

    fn at_class(&self, class: SymbolId) -> Option<At> {
        self.at(class.file, 0, 0)
    }

    /// Whether a class is another one, or derives from it.
    pub(crate) fn derives(&self, class: SymbolId, from: SymbolId) -> bool {
        class == from || self.ancestors(class).contains(&Ancestor::Class(from))
    }

    pub(super) fn table(&self, class: SymbolId) -> Rc<Table> {
        if let Some(known) = self.members.borrow().get(&class) {
            return Rc::clone(known);
        }
        let mut table = Table::default();
        if let Some(facts) = self.facts(class.file) {
            let range = facts.definitions[class.definition as usize].range.clone();
            let from = class.definition as usize + 1;
            for (idx, definition) in (class.definition + 1..).zip(&facts.definitions[from..]) {
                if definition.range.start >= range.end {
                    break;
                }
                if definition.parent == Some(class.definition) {
                    table
                        .entry(facts.text(definition.name).into())
                        .or_default()
                        .push(idx);
                }
            }
        }
        let table = Rc::new(table);
        self.members.borrow_mut().insert(class, Rc::clone(&table));
        table
    }

    /// Looks a name up in a class and its ancestors; after one of them, if that is given.
    pub(crate) fn member(&self, class: SymbolId, name: &str, after: Option<SymbolId>) -> Option<Member> {
        let order = self.ancestors(class);
        let start = match after {
            Some(after) => order
                .iter()
                .position(|it| *it == Ancestor::Class(after))
                .map_or(1, |it| it + 1),
            None => 0,
        };
        let mut is_sure = true;
        let mut assigned = None;
        for ancestor in &order[start.min(order.len())..] {
            let Ancestor::Class(class) = *ancestor else {
                is_sure &= *ancestor == Ancestor::Outside && name.starts_with("__");
                continue;
            };
            if let Some(found) = self.table(class).get(name) {
                let member = Member {
                    class,
                    definitions: found.clone(),
                    is_sure,
                };
                // What objects are given shadows what classes have, wherever it is assigned; but a method, or a
                // class attribute with a value, says more.
                if self.is_only_assigned(class, found) {
                    assigned.get_or_insert(member);
                } else {
                    return Some(assigned.unwrap_or(member));
                }
            }
        }
        assigned
    }

    fn is_only_assigned(&self, class: SymbolId, definitions: &[u32]) -> bool {
        self.facts(class.file).is_some_and(|facts| {
            definitions
                .iter()
                .all(|it| facts.definitions[*it as usize].kind == DefinitionKind::InstanceAttribute)
        })
    }

    /// Looks an attribute up in what an expression may be.
    pub(super) fn attribute(&self, at: &At, receiver: ShapeId, name: crate::facts::NameId) -> Types {
        let name = at.facts.text(name).to_owned();
        let of = self.eval(&at.deeper(), receiver);
        self.attribute_of(at, &of, &name)
    }

    pub(super) fn attribute_of(&self, at: &At, of: &Types, name: &str) -> Types {
        let mut found = Types {
            found: Vec::new(),
            is_sure: of.is_sure,
            is_open: of.is_open,
        };
        for one in &of.found {
            let types = self.attribute_of_one(at, *one, name);
            if types.is_unknown() {
                found.is_open = true;
                found.is_sure = false;
            } else {
                found.add(&types);
            }
        }
        found
    }

    fn attribute_of_one(&self, at: &At, of: Type, name: &str) -> Types {
        match of {
            Type::Module(module) => self
                .member_of_module(module, name, at.depth + 1)
                .unwrap_or_else(|| {
                    let file = &self.session.tree.file(module).module;
                    let below = self.session.tree.modules(&format!("{file}.{name}"), at.file);
                    match below.first() {
                        Some(below) => Types::sure(Type::Module(*below)),
                        None => self.dynamic_member(module, at.depth),
                    }
                }),
            Type::Instance(class) if name == "__class__" => Types::sure(Type::Class(class)),
            Type::Instance(class) | Type::Class(class) => self.attribute_of_class(at, of, class, name, None),
            Type::Super(after, class) => {
                self.attribute_of_class(at, Type::Instance(class), class, name, Some(after))
            }
            Type::Outside | Type::Builtin(_) => Types::sure(Type::Outside),
            Type::Function(_) | Type::Method(..) => Types::unknown(),
        }
    }

    /// A module with `__getattr__` may have anything.
    fn dynamic_member(&self, _module: crate::tree::FileIdx, _depth: usize) -> Types {
        Types::unknown()
    }

    fn attribute_of_class(
        &self,
        at: &At,
        of: Type,
        class: SymbolId,
        name: &str,
        after: Option<SymbolId>,
    ) -> Types {
        let Some(member) = self.member(class, name, after) else {
            return self.without_member(class);
        };
        let Some(facts) = self.facts(member.class.file) else {
            return Types::unknown();
        };
        // The last of several functions of a name is the one that is there.
        let mut found = Types::none_yet();
        let functions = member.definitions.iter().rev().find(|it| {
            matches!(
                facts.definitions[**it as usize].kind,
                DefinitionKind::Method | DefinitionKind::Function
            )
        });
        if let Some(function) = functions {
            let symbol = SymbolId {
                file: member.class.file,
                definition: *function,
            };
            found = self.bind_function(at, &facts, symbol, of, class);
        } else {
            for idx in &member.definitions {
                let symbol = SymbolId {
                    file: member.class.file,
                    definition: *idx,
                };
                if facts.definitions[*idx as usize].kind == DefinitionKind::Class {
                    found.push(Type::Class(symbol));
                    continue;
                }
                found.add_known(&self.value_of_member(at, &member, &facts, symbol, class));
            }
            if found.is_unknown() {
                return Types::unknown();
            }
        }
        found.is_sure &= member.is_sure;
        found
    }

    /// Returns what an attribute of a value is.
    pub(crate) fn attribute_types(&self, at: &At, of: Type, name: &str) -> Types {
        self.attribute_of_one(at, of, name)
    }

    /// Whether what no class of the index defines must come from an ancestor outside.
    pub(crate) fn is_from_outside(&self, class: SymbolId) -> bool {
        let order = self.ancestors(class);
        order.contains(&Ancestor::Outside) && !order.contains(&Ancestor::Unknown)
    }

    /// Nothing defines it: an ancestor outside may, and then it is outside, too.
    fn without_member(&self, class: SymbolId) -> Types {
        let order = self.ancestors(class);
        if order.contains(&Ancestor::Outside) && !order.contains(&Ancestor::Unknown) {
            return Types::sure(Type::Outside).unsure();
        }
        Types::unknown()
    }

    /// Returns what a function of a class is when it is taken from an object or the class.
    fn bind_function(
        &self,
        at: &At,
        facts: &Arc<FileFacts>,
        symbol: SymbolId,
        of: Type,
        class: SymbolId,
    ) -> Types {
        let definition = &facts.definitions[symbol.definition as usize];
        let decorators = definition.decorators.iter().map(|it| facts.text(*it));
        let mut is_static = false;
        for decorator in decorators {
            let last = decorator.rsplit('.').next().unwrap_or(decorator);
            if is_property(last) && matches!(of, Type::Instance(_)) {
                return (*self.result_of(symbol, Some(class), at.depth + 1)).clone();
            }
            is_static |= last == "staticmethod";
        }
        Types::sure(if is_static {
            Type::Function(symbol)
        } else {
            Type::Method(symbol, class)
        })
    }

    /// Returns what an attribute of a class, or of its objects, is assigned.
    fn value_of_member(
        &self,
        at: &At,
        member: &Member,
        facts: &Arc<FileFacts>,
        symbol: SymbolId,
        own: SymbolId,
    ) -> Types {
        let key = (member.class, symbol, Some(own));
        if let Some(known) = self.attributes.borrow().get(&key) {
            return (**known).clone();
        }
        if at.depth > MAX_DEPTH {
            return Types::unknown();
        }
        let was_cut = self.was_cut.replace(false);
        let definition = &facts.definitions[symbol.definition as usize];
        let here = |scope: u32, offset: Option<u32>| At {
            file: member.class.file,
            facts: Arc::clone(facts),
            scope,
            offset,
            own: Some(own),
            depth: at.depth + 1,
        };
        let mut found = Types::none_yet();
        if definition.annotation.is_known() {
            let scope = match definition.scope {
                Some(scope) => scope,
                None => facts.scope_at(definition.range.start),
            };
            found.add(&self.instance_of(&here(scope, None), definition.annotation));
        } else {
            if let Some(scope) = definition.scope {
                let start = facts
                    .values
                    .partition_point(|it| (it.scope, it.name) < (scope, definition.name));
                let values = facts.values[start..].iter();
                for value in values.take_while(|it| (it.scope, it.name) == (scope, definition.name)) {
                    found.add(&self.eval(&here(scope, Some(value.at)), value.value));
                }
            }
            let range = &facts.definitions[member.class.definition as usize].range;
            let writes = facts.writes.partition_point(|it| it.at < range.start);
            for write in facts.writes[writes..].iter().take_while(|it| it.at < range.end) {
                let is_own = matches!(facts.shapes.get(write.receiver), Shape::Name(name)
                    if self.session.self_names(member.class.file).contains(&facts.text(name)));
                if write.name == definition.name && is_own && write.value.is_known() {
                    found.add(&self.eval(&here(write.scope, Some(write.at)), write.value));
                }
            }
        }
        let found = self.through_descriptors(found, at.depth);
        let n_ways = found.found.len();
        let found = Types {
            is_sure: found.is_sure && n_ways == 1 && !found.is_open,
            ..found
        };
        if !self.was_cut.get() {
            self.attributes.borrow_mut().insert(key, Rc::new(found.clone()));
        }
        self.was_cut.set(was_cut || self.was_cut.get());
        found
    }

    /// An object with `__get__` gives what that gives.
    fn through_descriptors(&self, types: Types, depth: usize) -> Types {
        let mut found = Types {
            found: Vec::new(),
            ..types
        };
        for one in types.found {
            let getter = match one {
                Type::Instance(class) => self.member(class, "__get__", None).map(|it| (it, class)),
                _ => None,
            };
            let Some((getter, class)) = getter else {
                found.push(one);
                continue;
            };
            let Some(definition) = getter.definitions.last() else {
                continue;
            };
            let symbol = SymbolId {
                file: getter.class.file,
                definition: *definition,
            };
            let given = self.result_of(symbol, Some(class), depth + 1);
            found.add(&given);
            found.is_sure = false;
        }
        found
    }
}

/// Whether a decorator makes an attribute of a function.
pub(super) fn is_property(decorator: &str) -> bool {
    decorator.ends_with("property") || decorator == "cached" && decorator.len() > 6
}

/// The merge of C3; what it cannot order stays in the order of the bases.
fn merge(mut lines: Vec<Vec<Ancestor>>, order: &mut Vec<Ancestor>) {
    loop {
        lines.retain(|line| !line.is_empty());
        if lines.is_empty() {
            return;
        }
        let is_free = |head: Ancestor| {
            !matches!(head, Ancestor::Class(_)) || lines.iter().all(|line| !line[1..].contains(&head))
        };
        let head = lines
            .iter()
            .map(|line| line[0])
            .find(|head| is_free(*head))
            .unwrap_or(lines[0][0]);
        if !order.contains(&head) || !matches!(head, Ancestor::Class(_)) {
            order.push(head);
        }
        match head {
            Ancestor::Class(_) => {
                for line in &mut lines {
                    line.retain(|it| *it != head);
                }
            }
            other => {
                if let Some(line) = lines.iter_mut().find(|line| line[0] == other) {
                    line.remove(0);
                }
            }
        }
    }
}
