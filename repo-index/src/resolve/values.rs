//! Values that are taken out of others: items, parts, what `with` binds, and what annotations say.

use super::{At, MAX_DEPTH, Resolver};
use crate::shapes::{Literal, Shape, ShapeId};
use crate::types::{Type, Types};

/// Types of the `typing` module that stand for what they are subscripted with.
const TRANSPARENT: [&str; 10] = [
    "Optional",
    "Union",
    "ClassVar",
    "Final",
    "Annotated",
    "Required",
    "NotRequired",
    "ReadOnly",
    "Awaitable",
    "Unpack",
];

impl Resolver<'_, '_> {
    /// Returns what an object of a class is, where the class is written as an annotation.
    pub(super) fn instance_of(&self, at: &At, class: ShapeId) -> Types {
        if at.depth > MAX_DEPTH {
            return Types::unknown();
        }
        match at.facts.shapes.get(class) {
            Shape::Either(one, other) | Shape::Binary(one, other) => {
                let mut found = self.instance_of(&at.deeper(), one);
                found.add_known(&self.instance_of(&at.deeper(), other));
                found.is_sure &= found.found.len() == 1;
                found
            }
            Shape::Tuple(start, end) => {
                let mut found = Types::none_yet();
                for item in at.facts.shapes.items(start, end).to_vec() {
                    found.add_known(&self.instance_of(&at.deeper(), item));
                }
                found.unsure()
            }
            Shape::Subscript(base, index) => self.instance_of_generic(at, base, index),
            Shape::Literal(Literal::Nothing) | Shape::Unknown => Types::unknown(),
            shape => {
                if let Shape::Name(name) | Shape::Attribute(_, name) = shape
                    && at.facts.text(name) == "Self"
                {
                    return self.own_class(at);
                }
                let classes = self.eval(&at.deeper(), class);
                let mut found = Types {
                    found: Vec::new(),
                    ..classes
                };
                for one in classes.found {
                    match one {
                        Type::Class(class) => found.push(Type::Instance(class)),
                        Type::Outside => found.push(builtin_named(at, shape)),
                        _ => {}
                    }
                }
                found
            }
        }
    }

    fn own_class(&self, at: &At) -> Types {
        let around = at
            .facts
            .class_around(at.scope)
            .map(|definition| crate::session::SymbolId {
                file: at.file,
                definition,
            });
        match at.own.or(around) {
            Some(class) => Types::sure(Type::Instance(class)),
            None => Types::unknown(),
        }
    }

    fn instance_of_generic(&self, at: &At, base: ShapeId, index: ShapeId) -> Types {
        let name = match at.facts.shapes.get(base) {
            Shape::Name(name) | Shape::Attribute(_, name) => at.facts.text(name),
            _ => return Types::unknown(),
        };
        if TRANSPARENT.contains(&name) {
            return match at.facts.shapes.get(index) {
                Shape::Tuple(start, end) if name != "Annotated" => {
                    let mut found = Types::none_yet();
                    for item in at.facts.shapes.items(start, end).to_vec() {
                        found.add_known(&self.instance_of(&at.deeper(), item));
                    }
                    found.is_sure &= found.found.len() == 1;
                    found
                }
                Shape::Tuple(start, end) => match at.facts.shapes.items(start, end).first() {
                    Some(first) => self.instance_of(&at.deeper(), *first),
                    None => Types::unknown(),
                },
                _ => self.instance_of(&at.deeper(), index),
            };
        }
        if name == "type" || name == "Type" {
            let of = self.instance_of(&at.deeper(), index);
            let classes = of.found.iter().filter_map(|it| match it {
                Type::Instance(class) => Some(Type::Class(*class)),
                _ => None,
            });
            return Types {
                found: classes.collect(),
                ..of
            };
        }
        self.instance_of(&at.deeper(), base)
    }

    /// Returns what an iteration over a value gives.
    pub(super) fn element(&self, at: &At, iterated: ShapeId) -> Types {
        if at.depth > MAX_DEPTH {
            return Types::unknown();
        }
        let at = at.deeper();
        match at.facts.shapes.get(iterated) {
            Shape::Container(Literal::Dict, _) => Types::sure(Type::Builtin(Literal::Str)).unsure(),
            Shape::Container(_, element) => self.eval(&at, element).unsure(),
            Shape::Tuple(start, end) => match at.facts.shapes.items(start, end).first() {
                Some(first) => self.eval(&at, *first).unsure(),
                None => Types::unknown(),
            },
            Shape::Either(one, other) => {
                let mut found = self.element(&at, one);
                found.add_known(&self.element(&at, other));
                found.unsure()
            }
            Shape::Instance(annotation) => self.element_of_annotation(&at, annotation),
            Shape::Name(name) => {
                let mut found = Types::none_yet();
                for (there, shape) in self.shapes_of_name(&at, name) {
                    let is_annotation = there.offset.is_none();
                    let types = if is_annotation {
                        self.element_of_annotation(&there, shape)
                    } else {
                        self.element(&there, shape)
                    };
                    found.add_known(&types);
                }
                if found.is_unknown() {
                    return self.iterate(&at, iterated);
                }
                found.unsure()
            }
            Shape::Call(callee, call) => self.element_of_call(&at, iterated, callee, call),
            Shape::Attribute(..) => {
                let found = self.iterate(&at, iterated);
                if found.is_unknown() {
                    return self.element_of_attribute(&at, iterated);
                }
                found
            }
            _ => self.iterate(&at, iterated),
        }
    }

    fn element_of_call(
        &self,
        at: &At,
        iterated: ShapeId,
        callee: ShapeId,
        call: crate::shapes::CallId,
    ) -> Types {
        let first = at.facts.shapes.call(call).first[0];
        if let Shape::Name(name) = at.facts.shapes.get(callee) {
            match at.facts.text(name) {
                "sorted" | "list" | "tuple" | "set" | "frozenset" | "reversed" | "iter" => {
                    return self.element(at, first);
                }
                _ => {}
            }
        }
        if let Shape::Attribute(receiver, name) = at.facts.shapes.get(callee) {
            let name = at.facts.text(name);
            if name == "values" || name == "copy" {
                let found = self.item(at, receiver);
                if !found.is_unknown() {
                    return found;
                }
            }
        }
        let mut found = Types::none_yet();
        for (there, shape) in self.results_of_call(at, callee, true) {
            found.add_known(&self.eval(&there, shape));
        }
        if found.is_unknown() {
            for (there, shape) in self.results_of_call(at, callee, false) {
                let types = match there.offset {
                    Some(_) => self.element(&there, shape),
                    None => self.element_of_annotation(&there, shape),
                };
                found.add_known(&types);
            }
        }
        if found.is_unknown() {
            return self.iterate(at, iterated);
        }
        found.unsure()
    }

    /// `List[X]`, `Iterable[X]`, `dict[K, V]`: its first argument.
    fn element_of_annotation(&self, at: &At, annotation: ShapeId) -> Types {
        match at.facts.shapes.get(annotation) {
            Shape::Subscript(base, index) => {
                if let Shape::Name(name) | Shape::Attribute(_, name) = at.facts.shapes.get(base)
                    && TRANSPARENT.contains(&at.facts.text(name))
                {
                    return self.element_of_annotation(&at.deeper(), index);
                }
                match at.facts.shapes.get(index) {
                    Shape::Tuple(start, end) => match at.facts.shapes.items(start, end).first() {
                        Some(first) => self.instance_of(&at.deeper(), *first),
                        None => Types::unknown(),
                    },
                    _ => self.instance_of(&at.deeper(), index),
                }
            }
            Shape::Either(one, other) | Shape::Binary(one, other) => {
                let found = self.element_of_annotation(&at.deeper(), one);
                if found.is_unknown() {
                    return self.element_of_annotation(&at.deeper(), other);
                }
                found
            }
            _ => Types::unknown(),
        }
    }

    /// What `__iter__` or `__getitem__` of an object gives.
    fn iterate(&self, at: &At, iterated: ShapeId) -> Types {
        let of = self.eval(at, iterated);
        let mut found = Types::none_yet();
        for one in &of.found {
            let Type::Instance(class) = one else { continue };
            for name in ["__iter__", "__getitem__"] {
                let Some(member) = self.member(*class, name, None) else {
                    continue;
                };
                let Some(definition) = member.definitions.last() else {
                    continue;
                };
                let symbol = crate::session::SymbolId {
                    file: member.class.file,
                    definition: *definition,
                };
                let Some(there) = self.at(symbol.file, 0, at.depth + 1) else {
                    continue;
                };
                let Some(body) = there.facts.definitions[symbol.definition as usize].body else {
                    continue;
                };
                let results: Vec<_> = there
                    .facts
                    .results
                    .iter()
                    .filter(|it| it.scope == body)
                    .copied()
                    .collect();
                for result in results {
                    let inside = At {
                        scope: body,
                        own: Some(*class),
                        ..there.clone()
                    };
                    let types = match (name, result.is_yielded) {
                        ("__iter__", false) => self.element(&inside, result.value),
                        _ => self.eval(&inside, result.value),
                    };
                    found.add_known(&types);
                }
                if !found.is_unknown() {
                    break;
                }
            }
        }
        found.is_open |= of.is_open;
        found.unsure()
    }

    /// What a container that an attribute holds was given.
    fn element_of_attribute(&self, at: &At, attribute: ShapeId) -> Types {
        let mut found = Types::none_yet();
        for (there, shape) in self.shapes_of_attribute(at, attribute) {
            found.add_known(&self.element(&there, shape));
        }
        found.unsure()
    }

    /// Returns what an attribute of an object of the index is assigned.
    fn shapes_of_attribute(&self, at: &At, attribute: ShapeId) -> Vec<(At, ShapeId)> {
        let Shape::Attribute(receiver, name) = at.facts.shapes.get(attribute) else {
            return Vec::new();
        };
        let name = at.facts.text(name).to_owned();
        let mut found = Vec::new();
        for one in self.eval(&at.deeper(), receiver).found {
            let (Type::Instance(class) | Type::Class(class)) = one else {
                continue;
            };
            let Some(member) = self.member(class, &name, None) else {
                continue;
            };
            let Some(there) = self.at(member.class.file, 0, at.depth + 1) else {
                continue;
            };
            for definition in &member.definitions {
                let definition = &there.facts.definitions[*definition as usize];
                if let Some(scope) = definition.scope {
                    let values = there.facts.values.iter();
                    for value in values.filter(|it| (it.scope, it.name) == (scope, definition.name)) {
                        let inside = At {
                            scope,
                            offset: Some(value.at),
                            own: Some(class),
                            ..there.clone()
                        };
                        found.push((inside, value.value));
                    }
                }
                let range = &there.facts.definitions[member.class.definition as usize].range;
                for write in &there.facts.writes {
                    if range.contains(&write.at) && write.name == definition.name && write.value.is_known() {
                        let inside = At {
                            scope: write.scope,
                            offset: Some(write.at),
                            own: Some(class),
                            ..there.clone()
                        };
                        found.push((inside, write.value));
                    }
                }
            }
        }
        found
    }

    /// `x[i]`.
    pub(super) fn subscript(&self, at: &At, receiver: ShapeId) -> Types {
        // A class that is subscripted is itself.
        let of = self.eval(&at.deeper(), receiver);
        if matches!(of.found.first(), Some(Type::Class(_))) {
            return of;
        }
        let found = self.item(at, receiver);
        if !found.is_unknown() {
            return found;
        }
        self.iterate(&at.deeper(), receiver)
    }

    /// What a container holds: for a dictionary, its values.
    fn item(&self, at: &At, container: ShapeId) -> Types {
        if at.depth > MAX_DEPTH {
            return Types::unknown();
        }
        let at = at.deeper();
        match at.facts.shapes.get(container) {
            Shape::Container(_, element) => self.eval(&at, element).unsure(),
            Shape::Tuple(start, end) => match at.facts.shapes.items(start, end).first() {
                Some(first) => self.eval(&at, *first).unsure(),
                None => Types::unknown(),
            },
            Shape::Instance(annotation) => self.item_of_annotation(&at, annotation),
            Shape::Name(name) => {
                let mut found = Types::none_yet();
                for (there, shape) in self.shapes_of_name(&at, name) {
                    let types = match there.offset {
                        Some(_) => self.item(&there, shape),
                        None => self.item_of_annotation(&there, shape),
                    };
                    found.add_known(&types);
                }
                found.unsure()
            }
            Shape::Attribute(..) => {
                let mut found = Types::none_yet();
                for (there, shape) in self.shapes_of_attribute(&at, container) {
                    found.add_known(&self.item(&there, shape));
                }
                found.unsure()
            }
            Shape::Call(callee, call) => {
                let found = self.element_of_call(&at, container, callee, call);
                found.unsure()
            }
            _ => Types::unknown(),
        }
    }

    /// The last argument of `dict[K, V]` and `list[X]`.
    fn item_of_annotation(&self, at: &At, annotation: ShapeId) -> Types {
        let Shape::Subscript(_, index) = at.facts.shapes.get(annotation) else {
            return Types::unknown();
        };
        match at.facts.shapes.get(index) {
            Shape::Tuple(start, end) => match at.facts.shapes.items(start, end).last() {
                Some(last) => self.instance_of(&at.deeper(), *last),
                None => Types::unknown(),
            },
            _ => self.instance_of(&at.deeper(), index),
        }
    }

    /// The n-th part of a value.
    pub(super) fn part(&self, at: &At, whole: ShapeId, idx: u32) -> Types {
        if at.depth > MAX_DEPTH {
            return Types::unknown();
        }
        let at = at.deeper();
        match at.facts.shapes.get(whole) {
            Shape::Tuple(start, end) => match at.facts.shapes.items(start, end).get(idx as usize) {
                Some(item) => self.eval(&at, *item),
                None => Types::unknown(),
            },
            Shape::Name(name) => {
                let mut found = Types::none_yet();
                for (there, shape) in self.shapes_of_name(&at, name) {
                    if there.offset.is_some() {
                        found.add_known(&self.part(&there, shape, idx));
                    }
                }
                found.unsure()
            }
            Shape::Call(callee, _) => {
                let mut found = Types::none_yet();
                for (there, shape) in self.results_of_call(&at, callee, false) {
                    let types = match there.offset {
                        Some(_) => self.part(&there, shape, idx),
                        None => self.part_of_annotation(&there, shape, idx),
                    };
                    found.add_known(&types);
                }
                found.unsure()
            }
            // `for key, value in x.items()`, `for i, x in enumerate(xs)`.
            Shape::Element(iterated) => self.part_of_element(&at, iterated, idx),
            Shape::Awaited(value) => self.part(&at, value, idx),
            _ => Types::unknown(),
        }
    }

    fn part_of_annotation(&self, at: &At, annotation: ShapeId, idx: u32) -> Types {
        let Shape::Subscript(_, index) = at.facts.shapes.get(annotation) else {
            return Types::unknown();
        };
        match at.facts.shapes.get(index) {
            Shape::Tuple(start, end) => match at.facts.shapes.items(start, end).get(idx as usize) {
                Some(item) => self.instance_of(&at.deeper(), *item),
                None => Types::unknown(),
            },
            _ => Types::unknown(),
        }
    }

    fn part_of_element(&self, at: &At, iterated: ShapeId, idx: u32) -> Types {
        let Shape::Call(callee, call) = at.facts.shapes.get(iterated) else {
            return match at.facts.shapes.get(iterated) {
                Shape::Container(_, element) => self.part(at, element, idx).unsure(),
                _ => Types::unknown(),
            };
        };
        let first = at.facts.shapes.call(call).first;
        match at.facts.shapes.get(callee) {
            Shape::Name(name) => match (at.facts.text(name), idx) {
                ("enumerate", 1) => self.element(at, first[0]),
                ("zip", 0 | 1) => self.element(at, first[idx as usize]),
                _ => Types::unknown(),
            },
            Shape::Attribute(receiver, name) if at.facts.text(name) == "items" && idx == 1 => {
                self.item(at, receiver)
            }
            _ => Types::unknown(),
        }
    }

    /// What `with` binds.
    pub(super) fn entered(&self, at: &At, manager: ShapeId) -> Types {
        let at = at.deeper();
        if let Shape::Call(callee, _) = at.facts.shapes.get(manager) {
            let mut found = Types::none_yet();
            for (there, shape) in self.results_of_call(&at, callee, true) {
                found.add_known(&self.eval(&there, shape));
            }
            if !found.is_unknown() {
                return found.unsure();
            }
        }
        let managers = self.eval(&at, manager);
        let mut found = Types {
            found: Vec::new(),
            ..managers
        };
        for one in managers.found {
            match one {
                Type::Instance(class) => {
                    let of = Types::sure(one);
                    let enter = ["__enter__", "__aenter__"]
                        .iter()
                        .map(|name| self.attribute_of(&at, &of, name))
                        .find(|it| matches!(it.found.first(), Some(Type::Method(..))));
                    match enter.and_then(|it| it.found.first().copied()) {
                        Some(Type::Method(function, own)) => {
                            found.add(&self.result_of(function, Some(own), at.depth + 1));
                        }
                        _ => found.push(Type::Instance(class)),
                    }
                    found.is_sure = false;
                }
                Type::Outside | Type::Builtin(_) => found.push(Type::Outside),
                _ => {}
            }
        }
        found
    }
}

/// Returns the builtin type that a name of the language means.
fn builtin_named(at: &At, shape: Shape) -> Type {
    let Shape::Name(name) = shape else {
        return Type::Outside;
    };
    Type::Builtin(match at.facts.text(name) {
        "str" => Literal::Str,
        "bytes" => Literal::Bytes,
        "int" | "float" | "complex" => Literal::Number,
        "bool" => Literal::Bool,
        "list" => Literal::List,
        "dict" => Literal::Dict,
        "set" | "frozenset" => Literal::Set,
        "tuple" => Literal::Tuple,
        _ => return Type::Outside,
    })
}
