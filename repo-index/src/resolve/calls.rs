//! Calls: what they give.

use std::rc::Rc;

use super::{At, MAX_DEPTH, Resolver};
use crate::facts::DefinitionKind;
use crate::session::SymbolId;
use crate::shapes::{CallId, CallShape, Literal, Shape, ShapeId};
use crate::types::{Type, Types};

impl Resolver<'_, '_> {
    pub(super) fn call(&self, at: &At, callee: ShapeId, call: CallId) -> Types {
        let shape = at.facts.shapes.call(call);
        if let Shape::Name(name) = at.facts.shapes.get(callee)
            && let Some(found) = self.builtin_call(at, at.facts.text(name), shape, callee)
        {
            return found;
        }
        let callees = self.eval(&at.deeper(), callee);
        if callees.found.first() == Some(&Type::Outside)
            && let Some(found) = self.outside_call(at, callee, shape)
        {
            return found;
        }
        let mut found = Types {
            found: Vec::new(),
            is_sure: callees.is_sure,
            is_open: callees.is_open,
        };
        for one in &callees.found {
            let types = self.result_of_one(at, *one);
            if types.is_unknown() {
                found.is_open = true;
                found.is_sure = false;
            } else {
                found.add(&types);
            }
        }
        found
    }

    fn result_of_one(&self, at: &At, callee: Type) -> Types {
        match callee {
            Type::Class(class) => Types::sure(Type::Instance(class)),
            Type::Function(function) => (*self.result_of(function, None, at.depth + 1)).clone(),
            Type::Method(function, own) => (*self.result_of(function, Some(own), at.depth + 1)).clone(),
            Type::Instance(class) => {
                let of = Types::sure(Type::Instance(class));
                let method = self.attribute_of(&at.deeper(), &of, "__call__");
                match method.found.first() {
                    Some(Type::Method(function, own)) => {
                        (*self.result_of(*function, Some(*own), at.depth + 1)).clone()
                    }
                    _ => Types::unknown(),
                }
            }
            Type::Outside | Type::Builtin(_) => Types::sure(Type::Outside),
            Type::Super(..) | Type::Module(_) => Types::unknown(),
        }
    }

    /// Functions of the language that tell what they give by what they get.
    fn builtin_call(&self, at: &At, name: &str, call: CallShape, callee: ShapeId) -> Option<Types> {
        let [first, second] = call.first;
        let is_own = || self.eval(&at.deeper(), callee).found.first() == Some(&Type::Outside);
        match name {
            "super" => self.super_of(at, call),
            "type" if call.n_positional == 1 && is_own() => {
                let of = self.eval(&at.deeper(), first);
                let classes = of.found.iter().filter_map(|it| match it {
                    Type::Instance(class) => Some(Type::Class(*class)),
                    _ => None,
                });
                Some(Types {
                    found: classes.collect(),
                    ..of
                })
            }
            // A class that is made by a call is, for lookups, its first base.
            "type" if call.n_positional == 3 && is_own() => {
                let Shape::Tuple(start, end) = at.facts.shapes.get(second) else {
                    return Some(Types::unknown());
                };
                let base = *at.facts.shapes.items(start, end).first()?;
                Some(self.eval(&at.deeper(), base).unsure())
            }
            "getattr" if is_own() => {
                let Shape::Text(name) = at.facts.shapes.get(second) else {
                    return Some(Types::unknown());
                };
                Some(self.attribute(at, first, name).unsure())
            }
            "next" if is_own() => Some(self.element(at, first)),
            "cast" if call.n_positional == 2 => Some(self.instance_of(at, first)),
            "str" | "repr" | "format" if is_own() => Some(Types::sure(Type::Builtin(Literal::Str))),
            "int" | "float" | "len" | "sum" | "abs" | "round" if is_own() => {
                Some(Types::sure(Type::Builtin(Literal::Number)))
            }
            "bool" | "isinstance" | "issubclass" | "hasattr" | "callable" | "any" | "all" if is_own() => {
                Some(Types::sure(Type::Builtin(Literal::Bool)))
            }
            "list" | "sorted" if is_own() => Some(Types::sure(Type::Builtin(Literal::List))),
            "dict" | "vars" if is_own() => Some(Types::sure(Type::Builtin(Literal::Dict))),
            "set" | "frozenset" if is_own() => Some(Types::sure(Type::Builtin(Literal::Set))),
            "tuple" if is_own() => Some(Types::sure(Type::Builtin(Literal::Tuple))),
            _ => None,
        }
    }

    /// What is not in the index gives something that is not, either, but for what hands on its argument.
    fn outside_call(&self, at: &At, callee: ShapeId, call: CallShape) -> Option<Types> {
        let name = match at.facts.shapes.get(callee) {
            Shape::Name(name) | Shape::Attribute(_, name) => at.facts.text(name),
            _ => return None,
        };
        match name {
            "copy" | "deepcopy" if call.n_positional >= 1 => {
                let of = self.eval(&at.deeper(), call.first[0]);
                (!of.is_unknown()).then_some(of)
            }
            // `partial(f)` and the like.
            _ => None,
        }
    }

    fn super_of(&self, at: &At, call: CallShape) -> Option<Types> {
        let class = at.facts.class_around(at.scope)?;
        let mut around = SymbolId {
            file: at.file,
            definition: class,
        };
        if call.n_positional == 2
            && let Some(Type::Class(named)) = self.eval(&at.deeper(), call.first[0]).found.first()
        {
            around = *named;
        }
        let own = at.own.filter(|own| self.derives(*own, around)).unwrap_or(around);
        Some(Types::sure(Type::Super(around, own)))
    }

    /// Returns what a function gives back, to an object of the class that is given.
    pub(super) fn result_of(&self, function: SymbolId, own: Option<SymbolId>, depth: usize) -> Rc<Types> {
        let key = (function, own);
        if let Some(known) = self.results.borrow().get(&key) {
            return Rc::clone(known);
        }
        if depth > MAX_DEPTH {
            self.was_cut.set(true);
            return Rc::new(Types::unknown());
        }
        let was_cut = self.was_cut.replace(false);
        // A function that calls itself gives nothing new.
        self.results.borrow_mut().insert(key, Rc::new(Types::unknown()));
        let found = Rc::new(self.result_of_function(function, own, depth));
        if self.was_cut.get() {
            self.results.borrow_mut().remove(&key);
        } else {
            self.results.borrow_mut().insert(key, Rc::clone(&found));
        }
        self.was_cut.set(was_cut || self.was_cut.get());
        found
    }

    fn result_of_function(&self, function: SymbolId, own: Option<SymbolId>, depth: usize) -> Types {
        let Some(at) = self.at(function.file, 0, depth) else {
            return Types::unknown();
        };
        let definition = &at.facts.definitions[function.definition as usize];
        let outside = At {
            scope: definition.scope.unwrap_or(0),
            own,
            ..at.clone()
        };
        if definition.annotation.is_known() {
            let found = self.instance_of(&outside, definition.annotation);
            if !found.is_unknown() {
                return found;
            }
        }
        let Some(body) = definition.body else {
            return Types::unknown();
        };
        let start = at.facts.results.partition_point(|it| it.scope < body);
        let results: Vec<_> = at.facts.results[start..]
            .iter()
            .take_while(|it| it.scope == body)
            .collect();
        if results.iter().any(|it| it.is_yielded) {
            return Types::sure(Type::Builtin(Literal::Generator));
        }
        let mut found = Types::none_yet();
        let end = at.facts.scopes[body as usize].range.end;
        let inside = At {
            scope: body,
            offset: Some(end),
            own,
            ..at.clone()
        };
        for result in results.iter().rev() {
            let is_nothing = at.facts.shapes.get(result.value) == Shape::Literal(Literal::Nothing);
            if !is_nothing {
                found.add(&self.eval(&inside, result.value));
            }
        }
        if results.len() != 1 {
            found.is_sure = false;
        }
        found
    }

    /// Returns the shapes that a call's functions give back, or give one by one.
    pub(super) fn results_of_call(&self, at: &At, callee: ShapeId, is_yielded: bool) -> Vec<(At, ShapeId)> {
        let mut found = Vec::new();
        for one in self.eval(&at.deeper(), callee).found {
            let (function, own) = match one {
                Type::Function(function) => (function, None),
                Type::Method(function, own) => (function, Some(own)),
                _ => continue,
            };
            let Some(there) = self.at(function.file, 0, at.depth + 1) else {
                continue;
            };
            let definition = &there.facts.definitions[function.definition as usize];
            if !matches!(definition.kind, DefinitionKind::Function | DefinitionKind::Method) {
                continue;
            }
            if definition.annotation.is_known() {
                let scope = definition.scope.unwrap_or(0);
                found.push((
                    At {
                        scope,
                        own,
                        ..there.clone()
                    },
                    definition.annotation,
                ));
                continue;
            }
            let Some(body) = definition.body else { continue };
            let results = there.facts.results.iter().filter(|it| it.scope == body);
            let end = there.facts.scopes[body as usize].range.end;
            for result in results.filter(|it| it.is_yielded == is_yielded) {
                let inside = At {
                    scope: body,
                    offset: Some(end),
                    own,
                    ..there.clone()
                };
                found.push((inside, result.value));
            }
        }
        found
    }
}
