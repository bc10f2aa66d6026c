//! What one file says by its syntax alone.
//!
//! Facts never name another file: who means whom is worked out when it is asked (`resolve`), so that a changed
//! file makes nothing stale but its own facts. Everything is an index or an offset, ready to be stored flat.

use std::cmp::Reverse;
use std::ops::Range;

use serde::Serialize;

use crate::shapes::{CallId, FunctionResult, NameTable, Narrowing, Parameter, ShapeId, Shapes, Value, Write};

/// An index into the names of a file, see [`FileFacts::text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub(crate) u32);

/// The syntax facts of one file.
#[derive(Clone, Debug, Default)]
pub struct FileFacts {
    pub(crate) names: NameTable,
    /// In the order of the source.
    pub definitions: Vec<Definition>,
    /// In the order of the source, an outer one before those inside; the first is the module's.
    pub scopes: Vec<Scope>,
    /// Sorted by scope and name.
    pub bindings: Vec<Binding>,
    /// In the order of the source; the name in a definition is not a reference.
    pub references: Vec<Reference>,
    /// In the order of the source.
    pub imports: Vec<Import>,
    /// Every expression that something is taken from, called on or bound to, each once.
    pub shapes: Shapes,
    /// What names are bound to, sorted by scope and name.
    pub values: Vec<Value>,
    /// What attributes are set to, in the order of the source.
    pub writes: Vec<Write>,
    /// The parameters of all functions; each function knows its own.
    pub parameters: Vec<Parameter>,
    /// What functions give back, sorted by their scopes.
    pub results: Vec<FunctionResult>,
    /// Stretches of text in which something is known to be of a class.
    pub narrowings: Vec<Narrowing>,
    /// The first line of the module's docstring.
    pub doc: Option<NameId>,
    /// Whether a part of the file could not be parsed.
    pub has_errors: bool,
}

/// A place in the text: a byte offset and its line, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Bytes before it.
    pub offset: u32,
    /// Its line.
    pub line: u32,
}

/// Something that has a name of its own.
#[derive(Clone, Debug)]
pub struct Definition {
    /// What it is.
    pub kind: DefinitionKind,
    /// Its name, without its parents'.
    pub name: NameId,
    /// Where the name stands.
    pub name_at: Place,
    /// All of it, from the first decorator to the last line of the body.
    pub range: Range<u32>,
    /// Its first and last line.
    pub lines: (u32, u32),
    /// The line of its last word before the body.
    pub header_end: u32,
    /// The class or function it stands in, an index into the definitions.
    pub parent: Option<u32>,
    /// The scope that binds it; an attribute of an instance is bound by none.
    pub scope: Option<u32>,
    /// The scope of its body.
    pub body: Option<u32>,
    /// The bases of a class as they are written.
    pub bases: Vec<NameId>,
    /// The bases of a class.
    pub base_shapes: Vec<ShapeId>,
    /// The decorators as they are written, without the `@`.
    pub decorators: Vec<NameId>,
    /// The parameters of a function, indices into those of the file.
    pub parameters: Range<u32>,
    /// What a function says it returns, or a variable that it is.
    pub annotation: ShapeId,
    /// The first line of its docstring.
    pub doc: Option<NameId>,
}

/// What a definition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionKind {
    /// A class.
    Class,
    /// A function in a module or in another function.
    Function,
    /// A function in a class.
    Method,
    /// A name that a module assigns.
    Variable,
    /// A name that the body of a class assigns.
    ClassAttribute,
    /// A name that a method assigns on its own object.
    InstanceAttribute,
}

impl DefinitionKind {
    /// Whether other definitions can stand in it.
    #[must_use]
    pub fn is_container(self) -> bool {
        matches!(self, Self::Class | Self::Function | Self::Method)
    }
}

/// A stretch of text in which the names it binds are visible.
#[derive(Clone, Debug)]
pub struct Scope {
    /// How names are looked up in it.
    pub kind: ScopeKind,
    /// Its text.
    pub range: Range<u32>,
    /// The scope around it.
    pub parent: Option<u32>,
    /// The class or function whose body it is.
    pub definition: Option<u32>,
}

/// How names are looked up in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScopeKind {
    /// The whole file.
    Module,
    /// The body of a class: not visible from the functions in it.
    Class,
    /// The body of a function.
    Function,
    /// A lambda or a comprehension.
    Block,
}

/// A name that a scope binds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Binding {
    /// The scope.
    pub scope: u32,
    /// The name.
    pub name: NameId,
    /// What binds it.
    pub to: BindingTarget,
}

/// What binds a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BindingTarget {
    /// A definition, by index.
    Definition(u32),
    /// An import, by index.
    Import(u32),
    /// A parameter.
    Parameter,
    /// An assignment, a loop, a `with`, a pattern.
    Local,
    /// A statement that says that the module binds it.
    Global,
    /// A statement that says that an outer function binds it.
    Nonlocal,
}

/// A use of a name.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The name, without its receiver.
    pub name: NameId,
    /// Where the name stands.
    pub at: Place,
    /// How it is used.
    pub kind: ReferenceKind,
    /// What it is taken from; nothing for a plain name.
    pub receiver: Option<ShapeId>,
    /// The scope it is looked up in.
    pub scope: u32,
    /// What a call passes.
    pub call: Option<CallId>,
}

/// How a name is used, the most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReferenceKind {
    /// `name()` or `x.name()`.
    Call,
    /// `x.name = …`, `del x.name`.
    Write,
    /// `x.name`.
    Attribute,
    /// `f(name=…)`.
    Keyword,
    /// In an import.
    Import,
    /// `name`.
    Name,
}

/// A name, a module or all names taken from a module.
#[derive(Clone, Debug)]
pub struct Import {
    /// The module as it is written, with its leading dots.
    pub module: NameId,
    /// What is taken from it.
    pub taken: Taken,
    /// The name under which it is known here; `import a.b` binds `a`.
    pub bound: Option<NameId>,
    /// Where the taken name, or the module's, stands.
    pub at: Place,
    /// The scope that binds it.
    pub scope: u32,
}

/// What an import takes from its module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// The module itself.
    Module,
    /// The module, binding its first part only: `import a.b`.
    FirstPart,
    /// A name of it.
    Name(NameId),
    /// All its names.
    All,
}

impl FileFacts {
    /// Returns the text of a name.
    #[must_use]
    pub fn text(&self, name: NameId) -> &str {
        self.names.text(name)
    }

    /// Returns the id of a name, if the file has it.
    #[must_use]
    pub fn name_id(&self, text: &str) -> Option<NameId> {
        self.names.find(text)
    }

    /// Returns the name of a definition with those of the classes and functions around it: `Order.total`.
    #[must_use]
    pub fn qualified_name(&self, definition_idx: u32) -> String {
        let mut parts = Vec::new();
        let mut next = Some(definition_idx);
        while let Some(definition) = next.map(|idx| &self.definitions[idx as usize]) {
            parts.push(self.text(definition.name));
            next = definition.parent;
        }
        parts.reverse();
        parts.join(".")
    }

    /// Returns what a scope binds a name to.
    pub fn bindings_of(&self, scope: u32, name: NameId) -> &[Binding] {
        let start = self
            .bindings
            .partition_point(|binding| (binding.scope, binding.name) < (scope, name));
        let n_found =
            self.bindings[start..].partition_point(|binding| (binding.scope, binding.name) == (scope, name));
        &self.bindings[start..start + n_found]
    }

    /// Returns the innermost class or function whose text holds the offset.
    #[must_use]
    pub fn enclosing(&self, offset: u32) -> Option<u32> {
        let n_before = self
            .definitions
            .partition_point(|definition| definition.range.start <= offset);
        let nearest = self.definitions[..n_before]
            .iter()
            .rposition(|it| it.kind.is_container());
        let mut next = nearest.and_then(|idx| u32::try_from(idx).ok());
        while let Some(idx) = next {
            let definition = &self.definitions[idx as usize];
            if definition.range.contains(&offset) {
                return Some(idx);
            }
            next = definition.parent;
        }
        None
    }

    /// Returns the innermost scope that holds the offset.
    #[must_use]
    pub fn scope_at(&self, offset: u32) -> u32 {
        let n_before = self.scopes.partition_point(|scope| scope.range.start <= offset);
        let mut next = n_before.saturating_sub(1);
        while !self.scopes[next].range.contains(&offset)
            && let Some(parent) = self.scopes[next].parent
        {
            next = parent as usize;
        }
        u32::try_from(next).unwrap_or_default()
    }

    /// Returns the outermost scope with exactly this text.
    #[must_use]
    pub fn scope_of(&self, range: &Range<u32>) -> Option<u32> {
        let key = |range: &Range<u32>| (range.start, Reverse(range.end));
        let idx = self
            .scopes
            .partition_point(|scope| key(&scope.range) < key(range));
        let is_same = self.scopes.get(idx).is_some_and(|scope| scope.range == *range);
        u32::try_from(idx).ok().filter(|_| is_same)
    }

    /// Returns the innermost scope of a class at or around a scope.
    #[must_use]
    pub fn class_scope(&self, scope: u32) -> Option<u32> {
        self.scopes_from(scope)
            .find(|idx| self.scopes[*idx as usize].kind == ScopeKind::Class)
    }

    /// Returns the class that a scope belongs to: the one whose body, or whose method, it is in.
    #[must_use]
    pub fn class_around(&self, scope: u32) -> Option<u32> {
        self.class_scope(scope)
            .and_then(|idx| self.scopes[idx as usize].definition)
    }

    /// Returns a scope and those around it, innermost first.
    pub fn scopes_from(&self, scope: u32) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(scope), |idx| self.scopes[*idx as usize].parent)
    }
}
