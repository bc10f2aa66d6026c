//! Names: scopes, imports, `import *`, members of modules.

use super::{At, MAX_DEPTH, Resolver};
use crate::facts::{Binding, BindingTarget, DefinitionKind, Import, NameId, ScopeKind, Taken};
use crate::session::SymbolId;
use crate::shapes::{Literal, ParameterKind, ShapeId};
use crate::tree::FileIdx;
use crate::types::{Type, Types};

/// Decorators of a method whose first argument is the class.
const CLASS_METHODS: [&str; 4] = [
    "classmethod",
    "abc.abstractclassmethod",
    "validator",
    "root_validator",
];

/// Methods whose first argument is the class without a decorator.
const IMPLICIT_CLASS_METHODS: [&str; 3] = ["__new__", "__init_subclass__", "__class_getitem__"];

impl Resolver<'_, '_> {
    /// Looks a plain name up in the scopes around it.
    pub(super) fn name(&self, at: &At, name: NameId) -> Types {
        for scope in at.facts.scopes_from(at.scope) {
            let kind = at.facts.scopes[scope as usize].kind;
            if kind == ScopeKind::Class && scope != at.scope {
                continue;
            }
            let bindings = at.facts.bindings_of(scope, name);
            if bindings.iter().any(|it| it.to == BindingTarget::Global) {
                let found = self.bound(at, 0, name, at.facts.bindings_of(0, name));
                return found.unwrap_or_else(|| self.in_stars(at, Self::text(at, name)));
            }
            if bindings.iter().any(|it| it.to == BindingTarget::Nonlocal) {
                continue;
            }
            if let Some(found) = self.bound(at, scope, name, bindings) {
                return found;
            }
        }
        self.in_stars(at, Self::text(at, name))
    }

    /// Returns what bindings mean, or nothing if there are none.
    fn bound(&self, at: &At, scope: u32, name: NameId, bindings: &[Binding]) -> Option<Types> {
        if bindings.is_empty() {
            return None;
        }
        let mut found = Types::none_yet();
        let mut n_ways = 0;
        for binding in bindings {
            match binding.to {
                BindingTarget::Definition(idx) => {
                    let symbol = SymbolId {
                        file: at.file,
                        definition: idx,
                    };
                    match at.facts.definitions[idx as usize].kind {
                        DefinitionKind::Class => found.push(Type::Class(symbol)),
                        DefinitionKind::Function | DefinitionKind::Method => {
                            found.push(Type::Function(symbol));
                        }
                        DefinitionKind::Variable
                        | DefinitionKind::ClassAttribute
                        | DefinitionKind::InstanceAttribute => continue,
                    }
                    n_ways += 1;
                }
                BindingTarget::Import(import) => {
                    let import = &at.facts.imports[import as usize];
                    let types = self.import(&at.deeper(), import);
                    found.add(&types);
                    n_ways += 1;
                }
                BindingTarget::Parameter => {
                    found.add(&self.parameter(at, scope, name));
                    n_ways += 1;
                }
                BindingTarget::Local | BindingTarget::Global | BindingTarget::Nonlocal => {}
            }
        }
        let values = self.values_of(at, scope, name, &mut n_ways);
        // What is assigned later, or before, comes first.
        let mut all = values;
        all.add_known(&found);
        if n_ways > 1 {
            all.is_sure &= all.found.len() == 1;
        }
        if n_ways == 0 {
            return Some(Types::unknown());
        }
        Some(all)
    }

    /// Returns what a name is assigned in a scope: what counts at the offset first.
    fn values_of(&self, at: &At, scope: u32, name: NameId, n_ways: &mut usize) -> Types {
        let values = &at.facts.values;
        let start = values.partition_point(|it| (it.scope, it.name) < (scope, name));
        let n_values = values[start..].partition_point(|it| (it.scope, it.name) == (scope, name));
        let values = &values[start..start + n_values];
        let mut found = Types::none_yet();
        *n_ways += n_values;
        let is_here = scope == at.scope || at.facts.scopes_from(at.scope).any(|it| it == scope);
        let offset = at.offset.filter(|_| is_here);
        let (before, after) = match offset {
            Some(offset) => values.split_at(values.partition_point(|it| it.at < offset)),
            None => (values, &values[..0]),
        };
        // A value stands in its own right-hand side: `x = x.next()` asks what x was before.
        for value in before.iter().rev() {
            let here = At {
                scope,
                offset: Some(value.at),
                ..at.deeper()
            };
            let here = if at.scope == scope || scope == 0 {
                here
            } else {
                At { scope, ..here }
            };
            let types = self.eval(&here, value.value);
            if types.is_unknown() {
                found.is_open = true;
                found.is_sure = false;
                continue;
            }
            found.add(&types);
            // The last one that is before counts; others may hold in another branch.
            if found.found.len() >= 3 {
                break;
            }
        }
        if found.found.is_empty() {
            for value in after {
                let here = At {
                    scope,
                    offset: None,
                    ..at.deeper()
                };
                found.add(&self.eval(&here, value.value));
            }
        }
        if n_values > 1 {
            found.is_sure = false;
        }
        found
    }

    fn parameter(&self, at: &At, scope: u32, name: NameId) -> Types {
        let Some(idx) = at.facts.scopes[scope as usize].definition else {
            return Types::unknown();
        };
        let definition = &at.facts.definitions[idx as usize];
        let parameters =
            &at.facts.parameters[definition.parameters.start as usize..definition.parameters.end as usize];
        let Some(position) = parameters.iter().position(|it| it.name == name) else {
            return Types::unknown();
        };
        let parameter = &parameters[position];
        match parameter.kind {
            ParameterKind::Rest => return Types::sure(Type::Builtin(Literal::Tuple)),
            ParameterKind::Keywords => return Types::sure(Type::Builtin(Literal::Dict)),
            _ => {}
        }
        let outside = definition.scope.unwrap_or(0);
        if position == 0
            && definition.kind == DefinitionKind::Method
            && let Some(own) = self.own_object(at, idx)
        {
            return own;
        }
        let here = At {
            own: at.own,
            ..at.in_scope(outside)
        };
        if parameter.annotation.is_known() {
            return self.instance_of(&here, parameter.annotation);
        }
        if parameter.default.is_known() {
            // A default of None says nothing; another one says what is usual.
            let types = self.eval(&here, parameter.default);
            let is_nothing = types.found == [Type::Builtin(Literal::Nothing)];
            if !is_nothing
                && types
                    .found
                    .iter()
                    .any(|it| matches!(it, Type::Class(_) | Type::Instance(_)))
            {
                return Types {
                    is_open: true,
                    ..types.unsure()
                };
            }
        }
        Types::unknown()
    }

    /// Returns what the first argument of a method is.
    fn own_object(&self, at: &At, method: u32) -> Option<Types> {
        let definition = &at.facts.definitions[method as usize];
        let class = definition
            .parent
            .filter(|it| at.facts.definitions[*it as usize].kind == DefinitionKind::Class)?;
        let stands_in = SymbolId {
            file: at.file,
            definition: class,
        };
        let is_static = definition
            .decorators
            .iter()
            .any(|it| at.facts.text(*it) == "staticmethod");
        let name = at.facts.text(definition.name);
        if is_static && name != "__new__" {
            return None;
        }
        let own = at
            .own
            .filter(|own| self.derives(*own, stands_in))
            .unwrap_or(stands_in);
        let is_of_class = IMPLICIT_CLASS_METHODS.contains(&name)
            || definition
                .decorators
                .iter()
                .any(|it| CLASS_METHODS.contains(&at.facts.text(*it)))
            || at.facts.parameters[definition.parameters.start as usize..]
                .first()
                .is_some_and(|it| at.facts.text(it.name) == "cls");
        Some(Types::sure(if is_of_class {
            Type::Class(own)
        } else {
            Type::Instance(own)
        }))
    }

    /// Looks a name up that no scope binds: in `import *`, else it is the language's own.
    fn in_stars(&self, at: &At, name: &str) -> Types {
        let mut is_known = true;
        for import in at.facts.imports.iter().filter(|it| it.taken == Taken::All) {
            let modules = self.modules(at, at.facts.text(import.module));
            is_known &= !modules.is_empty();
            for module in modules {
                if let Some(found) = self.member_of_module(module, name, at.depth + 1) {
                    return found;
                }
            }
        }
        if is_known {
            Types::sure(Type::Outside)
        } else {
            Types::unknown()
        }
    }

    pub(crate) fn import(&self, at: &At, import: &Import) -> Types {
        if at.depth > MAX_DEPTH {
            return Types::unknown();
        }
        let module = at.facts.text(import.module);
        let modules = match import.taken {
            Taken::FirstPart => self.modules(at, module.split('.').next().unwrap_or(module)),
            Taken::Module | Taken::All | Taken::Name(_) => self.modules(at, module),
        };
        let Taken::Name(name) = import.taken else {
            if modules.is_empty() {
                return self.unknown_module(module);
            }
            return Types {
                found: modules.iter().map(|it| Type::Module(*it)).collect(),
                is_sure: modules.len() == 1,
                is_open: false,
            };
        };
        let name = at.facts.text(name);
        let mut found = Types::none_yet();
        for module in &modules {
            if let Some(types) = self.member_of_module(*module, name, at.depth + 1) {
                found.add(&types);
            }
        }
        if found.is_unknown() && !found.is_open {
            let joiner = if module.ends_with('.') { "" } else { "." };
            for below in self.modules(at, &format!("{module}{joiner}{name}")) {
                found.push(Type::Module(below));
            }
        }
        match (found.is_unknown(), modules.is_empty()) {
            (true, true) => self.unknown_module(module),
            (true, false) => Types::unknown(),
            _ => found,
        }
    }

    /// A module of a package that is not in the index is outside; one of a package that is, is unknown.
    fn unknown_module(&self, module: &str) -> Types {
        let first = module.split('.').next().unwrap_or(module);
        let is_outside = !first.is_empty() && !self.session.tree.knows_package(first);
        if is_outside {
            Types::sure(Type::Outside)
        } else {
            Types::unknown()
        }
    }

    /// Returns the files of a module as it is written, with leading dots, in a file.
    pub(crate) fn modules(&self, at: &At, written: &str) -> Vec<FileIdx> {
        let name = written.trim_start_matches('.');
        let n_dots = written.len() - name.len();
        if n_dots == 0 {
            return self.session.tree.modules(name, at.file);
        }
        let file = self.session.tree.file(at.file);
        let parts: Vec<&str> = file.module.split('.').collect();
        let n_dropped = n_dots - usize::from(file.is_package);
        let Some(n_kept) = parts.len().checked_sub(n_dropped) else {
            return Vec::new();
        };
        let mut parts = parts[..n_kept].to_vec();
        if !name.is_empty() {
            parts.push(name);
        }
        self.session.tree.modules(&parts.join("."), at.file)
    }

    /// Returns what a module calls a name, or nothing if it does not have it.
    pub(super) fn member_of_module(&self, module: FileIdx, name: &str, depth: usize) -> Option<Types> {
        if depth > MAX_DEPTH {
            return None;
        }
        let at = self.at(module, 0, depth)?;
        if let Some(id) = at.facts.name_id(name)
            && let Some(found) = self.bound(&at, 0, id, at.facts.bindings_of(0, id))
        {
            return Some(found);
        }
        let found = self.in_stars(&at, name);
        (found.found.first() != Some(&Type::Outside) && !found.is_unknown()).then_some(found)
    }

    /// Returns the shapes that a name is bound to in the scopes around, for what looks into them.
    pub(super) fn shapes_of_name(&self, at: &At, name: NameId) -> Vec<(At, ShapeId)> {
        for scope in at.facts.scopes_from(at.scope) {
            if at.facts.scopes[scope as usize].kind == ScopeKind::Class && scope != at.scope {
                continue;
            }
            if at.facts.bindings_of(scope, name).is_empty() {
                continue;
            }
            let values = at
                .facts
                .values
                .iter()
                .filter(|it| (it.scope, it.name) == (scope, name));
            let mut found: Vec<(At, ShapeId)> = values
                .map(|it| {
                    let here = At {
                        scope,
                        offset: Some(it.at),
                        ..at.deeper()
                    };
                    (here, it.value)
                })
                .collect();
            if let Some(annotation) = self.annotation_of_parameter(at, scope, name) {
                found.push(annotation);
            }
            return found;
        }
        Vec::new()
    }

    /// Returns the definitions that a plain name has where it stands, if it has any; variables, too.
    pub(crate) fn plain_definitions(&self, at: &At, name: NameId, depth: usize) -> Vec<SymbolId> {
        for scope in at.facts.scopes_from(at.scope) {
            if at.facts.scopes[scope as usize].kind == ScopeKind::Class && scope != at.scope {
                continue;
            }
            let bindings = at.facts.bindings_of(scope, name);
            if bindings.iter().any(|it| matches!(it.to, BindingTarget::Nonlocal)) {
                continue;
            }
            let is_global = bindings.iter().any(|it| it.to == BindingTarget::Global);
            let bindings = if is_global {
                at.facts.bindings_of(0, name)
            } else {
                bindings
            };
            if !bindings.is_empty() {
                return self.definitions_bound(at, bindings, depth);
            }
        }
        self.definitions_in_stars(at, Self::text(at, name), depth)
    }

    fn definitions_bound(&self, at: &At, bindings: &[Binding], depth: usize) -> Vec<SymbolId> {
        let mut found = Vec::new();
        for binding in bindings {
            match binding.to {
                BindingTarget::Definition(definition) => found.push(SymbolId {
                    file: at.file,
                    definition,
                }),
                BindingTarget::Import(import) => {
                    let here = At { depth, ..at.clone() };
                    found.extend(self.imported_definitions(&here, &at.facts.imports[import as usize]));
                }
                _ => {}
            }
        }
        // Where a name has functions and classes, what it is assigned besides is another matter.
        let is_container = |it: &SymbolId| self.kind(*it).is_some_and(DefinitionKind::is_container);
        if found.iter().any(is_container) {
            found.retain(is_container);
        }
        found
    }

    fn definitions_in_stars(&self, at: &At, name: &str, depth: usize) -> Vec<SymbolId> {
        for import in at.facts.imports.iter().filter(|it| it.taken == Taken::All) {
            for module in self.modules(at, at.facts.text(import.module)) {
                let found = self.definitions_in_module(module, name, depth + 1);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Vec::new()
    }

    /// Returns the definitions that an import brings.
    pub(crate) fn imported_definitions(&self, at: &At, import: &Import) -> Vec<SymbolId> {
        let Taken::Name(name) = import.taken else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for module in self.modules(at, at.facts.text(import.module)) {
            found.extend(self.definitions_in_module(module, at.facts.text(name), at.depth + 1));
        }
        found
    }

    pub(crate) fn definitions_in_module(&self, module: FileIdx, name: &str, depth: usize) -> Vec<SymbolId> {
        if depth > MAX_DEPTH {
            return Vec::new();
        }
        let Some(at) = self.at(module, 0, depth) else {
            return Vec::new();
        };
        let bindings = at
            .facts
            .name_id(name)
            .map(|id| at.facts.bindings_of(0, id))
            .unwrap_or_default();
        if bindings.is_empty() {
            return self.definitions_in_stars(&at, name, depth);
        }
        self.definitions_bound(&at, bindings, depth)
    }

    fn annotation_of_parameter(&self, at: &At, scope: u32, name: NameId) -> Option<(At, ShapeId)> {
        let idx = at.facts.scopes[scope as usize].definition?;
        let definition = &at.facts.definitions[idx as usize];
        let range = definition.parameters.start as usize..definition.parameters.end as usize;
        let parameter = at.facts.parameters[range].iter().find(|it| it.name == name)?;
        let here = at.in_scope(definition.scope.unwrap_or(0));
        parameter
            .annotation
            .is_known()
            .then_some((here, parameter.annotation))
    }
}

impl Types {
    /// Takes further alternatives, if there are any.
    pub(crate) fn add_known(&mut self, other: &Self) {
        for one in &other.found {
            self.push(*one);
        }
        self.is_sure &= other.is_sure;
        self.is_open |= other.is_open;
    }
}
