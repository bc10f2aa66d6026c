//! What an expression means where it stands, across files: names, imports, classes, and simple types.
//!
//! Nothing is stored: each question follows the shapes of the files that it meets. What was followed without a
//! guess is sure; the rest says so. Work is bounded by depth and by steps, so that no text makes a question slow.

mod calls;
mod classes;
mod names;
mod values;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::facts::{DefinitionKind, FileFacts, NameId};
use crate::session::{Session, SymbolId};
use crate::shapes::{Literal, Shape, ShapeId};
use crate::tree::FileIdx;
use crate::types::{Type, Types};

pub(crate) use classes::Ancestor;

/// How many expressions, imports or bases a question follows, one from another.
const MAX_DEPTH: usize = 14;

/// How many expressions one reference may cause to be looked at.
const MAX_STEPS: usize = 4_000;

/// What is known of functions and attributes, for objects of the classes that asked.
type Known<K> = FxHashMap<K, Rc<Types>>;

/// An expression where it is being looked at.
type Asked = (FileIdx, ShapeId, u32, Option<SymbolId>);

/// How many files' facts a question has at hand at once.
const MAX_FILES: usize = 256;

/// Looks things up, with the files of one question.
pub(crate) struct Resolver<'s, 'q> {
    pub(crate) session: &'s Session<'q>,
    files: RefCell<FxHashMap<FileIdx, Option<Arc<FileFacts>>>>,
    ancestors: RefCell<FxHashMap<SymbolId, Rc<[Ancestor]>>>,
    members: RefCell<FxHashMap<SymbolId, Rc<classes::Table>>>,
    results: RefCell<Known<(SymbolId, Option<SymbolId>)>>,
    attributes: RefCell<Known<(SymbolId, SymbolId, Option<SymbolId>)>>,
    open: RefCell<FxHashSet<Asked>>,
    n_steps: Cell<usize>,
    was_cut: Cell<bool>,
}

/// Where an expression stands.
#[derive(Clone)]
pub(crate) struct At {
    pub(crate) file: FileIdx,
    pub(crate) facts: Arc<FileFacts>,
    pub(crate) scope: u32,
    /// The offset, where it counts what was assigned before.
    pub(crate) offset: Option<u32>,
    /// The class of the method's own object, where it is known better than by where the method stands.
    pub(crate) own: Option<SymbolId>,
    pub(crate) depth: usize,
}

impl At {
    fn deeper(&self) -> Self {
        Self {
            depth: self.depth + 1,
            ..self.clone()
        }
    }

    fn in_scope(&self, scope: u32) -> Self {
        Self {
            scope,
            offset: None,
            ..self.deeper()
        }
    }
}

impl<'s, 'q> Resolver<'s, 'q> {
    pub(crate) fn new(session: &'s Session<'q>) -> Self {
        Self {
            session,
            files: RefCell::default(),
            ancestors: RefCell::default(),
            members: RefCell::default(),
            results: RefCell::default(),
            attributes: RefCell::default(),
            open: RefCell::default(),
            n_steps: Cell::new(0),
            was_cut: Cell::new(false),
        }
    }

    /// Returns the facts of a file.
    pub(crate) fn facts(&self, file: FileIdx) -> Option<Arc<FileFacts>> {
        if let Some(known) = self.files.borrow().get(&file) {
            return known.clone();
        }
        let facts = self.session.facts(file);
        let mut files = self.files.borrow_mut();
        if files.len() >= MAX_FILES {
            files.clear();
        }
        files.insert(file, facts.clone());
        facts
    }

    pub(crate) fn at(&self, file: FileIdx, scope: u32, depth: usize) -> Option<At> {
        Some(At {
            file,
            facts: self.facts(file)?,
            scope,
            offset: None,
            own: None,
            depth,
        })
    }

    /// Returns what an expression is, with a new allowance of work.
    pub(crate) fn types_of(&self, at: &At, shape: ShapeId) -> Types {
        self.n_steps.set(0);
        self.was_cut.set(false);
        self.eval(at, shape)
    }

    fn eval(&self, at: &At, id: ShapeId) -> Types {
        let n_steps = self.n_steps.get() + 1;
        self.n_steps.set(n_steps);
        if at.depth > MAX_DEPTH || n_steps > MAX_STEPS {
            self.was_cut.set(true);
            return Types::unknown();
        }
        let key = (at.file, id, at.scope, at.own);
        let shape = at.facts.shapes.get(id);
        if shape == Shape::Unknown || !self.open.borrow_mut().insert(key) {
            self.was_cut.set(true);
            return Types::unknown();
        }
        let types = self.eval_shape(at, id, shape);
        self.open.borrow_mut().remove(&key);
        types
    }

    fn eval_shape(&self, at: &At, id: ShapeId, shape: Shape) -> Types {
        if let Some(narrowed) = self.narrowed(at, id) {
            return narrowed;
        }
        match shape {
            Shape::Unknown => Types::unknown(),
            Shape::Name(name) => self.name(at, name),
            Shape::Attribute(receiver, name) => self.attribute(at, receiver, name),
            Shape::Call(callee, call) => self.call(at, callee, call),
            Shape::Subscript(receiver, _) => self.subscript(at, receiver),
            Shape::Element(iterated) => self.element(at, iterated),
            Shape::Part(whole, idx) => self.part(at, whole, idx),
            Shape::Entered(manager) => self.entered(at, manager),
            Shape::Instance(class) => self.instance_of(at, class),
            Shape::Awaited(value) => self.eval(&at.deeper(), value),
            Shape::Either(one, other) => self.either(at, one, other),
            Shape::Binary(left, right) => self.binary(at, left, right),
            Shape::Tuple(..) => Types::sure(Type::Builtin(Literal::Tuple)),
            Shape::Container(literal, _) | Shape::Literal(literal) => Types::sure(Type::Builtin(literal)),
            Shape::Text(_) => Types::sure(Type::Builtin(Literal::Str)),
        }
    }

    fn either(&self, at: &At, one: ShapeId, other: ShapeId) -> Types {
        let mut found = self.eval(&at.deeper(), one);
        found.add(&self.eval(&at.deeper(), other));
        found.unsure()
    }

    /// An operator mostly gives what it was given.
    fn binary(&self, at: &At, left: ShapeId, right: ShapeId) -> Types {
        let left = self.eval(&at.deeper(), left);
        match left.found.first() {
            Some(Type::Builtin(_)) | None => {}
            Some(_) => return left.unsure(),
        }
        let right = self.eval(&at.deeper(), right);
        match right.found.first() {
            Some(Type::Instance(_)) => right.unsure(),
            _ => left.unsure(),
        }
    }

    /// Returns what an `isinstance` around the place says.
    fn narrowed(&self, at: &At, id: ShapeId) -> Option<Types> {
        let offset = at.offset?;
        let narrowing = at
            .facts
            .narrowings
            .iter()
            .rfind(|it| it.subject == id && it.range.contains(&offset))?;
        let types = self.instance_of(at, narrowing.class);
        (!types.is_unknown()).then_some(types.unsure())
    }

    pub(crate) fn kind(&self, symbol: SymbolId) -> Option<DefinitionKind> {
        let facts = self.facts(symbol.file)?;
        Some(facts.definitions[symbol.definition as usize].kind)
    }

    fn text(at: &At, name: NameId) -> &str {
        at.facts.text(name)
    }
}
