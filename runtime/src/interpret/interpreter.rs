//! The state of one run.

use std::fmt;

use healcore::tree;
use pyo3::prelude::*;
use rustc_hash::FxHashMap as HashMap;

use super::journal::Journal;
use super::limits::{Limits, Meter};
use super::names::Names;
use super::policy::{CallPolicy, Decision};
use super::purity::Machine;
use super::statics::Facts;
use super::stop::{Eval, Stop, rule};
use super::toolkit::Saved;

/// Whether a run may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A heal.
    Heal,
    /// An expression that only reads.
    Read,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To be taken back: what cannot be is not done.
    Rehearsal,
    /// To stay.
    ForGood,
}

/// An iterator that the heal made, and what it draws from.
#[derive(Clone)]
pub(super) struct OwnIterator<'py> {
    pub(super) _kept: Bound<'py, PyAny>,
    pub(super) sources: Vec<Bound<'py, PyAny>>,
}

/// Runs a checked tree.
pub(super) struct Interpreter<'a, 'py> {
    pub(super) py: Python<'py>,
    pub(super) mode: Mode,
    purpose: Purpose,
    policy: &'a dyn CallPolicy,
    pub(super) meter: Meter,
    pub(super) names: Names<'py>,
    pub(super) journal: Journal<'py>,
    pub(super) facts: Facts<'py>,
    /// The exceptions that enclosing `except` clauses handle, the innermost last.
    pub(super) handled: Vec<PyErr>,
    pub(super) printed: String,
    /// What `heal.save` is to write.
    pub(super) saved: Vec<Saved>,
    /// Functions that were called unseen, at the word of the program's developers.
    pub(super) trusted: Vec<String>,
    /// Functions that were called for good.
    pub(super) called_once: Vec<String>,
    pub(super) iterators: HashMap<usize, OwnIterator<'py>>,
    /// Containers whose keys are known to be plain, with their length then.
    pub(super) plain_keys: HashMap<usize, (Bound<'py, PyAny>, usize)>,
    /// Calls of the program that are followed.
    pub(super) machine: Machine<'py>,
    /// Listed modules all of whose code is the library's own.
    pub(super) sound: Vec<healcore::tables::Module>,
    /// The line that runs.
    pub(super) line: u32,
}

impl<'a, 'py> Interpreter<'a, 'py> {
    pub(super) fn new(
        frame: &Bound<'py, PyAny>,
        mode: Mode,
        purpose: Purpose,
        policy: &'a dyn CallPolicy,
        limits: &Limits,
    ) -> PyResult<Self> {
        let py = frame.py();
        Ok(Self {
            py,
            mode,
            purpose,
            policy,
            meter: Meter::new(limits),
            names: Names::new(frame)?,
            journal: Journal::default(),
            facts: Facts::new(py)?,
            handled: Vec::new(),
            printed: String::new(),
            iterators: HashMap::default(),
            plain_keys: HashMap::default(),
            saved: Vec::new(),
            trusted: Vec::new(),
            called_once: Vec::new(),
            machine: Machine::default(),
            sound: Vec::new(),
            line: 0,
        })
    }

    /// What the policy says of a call.
    pub(super) fn decision(&mut self, callable: &Bound<'py, PyAny>, path: &str) -> Eval<Decision> {
        let address = callable.as_ptr() as usize;
        if self.machine.followed.contains_key(&address) {
            return Ok(Decision::Prove);
        }
        let decision = match self.policy.program_call(callable, path) {
            // Only the healing code itself makes such a call; in code that is followed it is followed too.
            Decision::Once if self.machine.depth > 0 => Decision::Prove,
            Decision::Once if self.purpose == Purpose::Rehearsal => return Err(Stop::horizon(path)),
            Decision::Once => {
                note(&mut self.called_once, path);
                Decision::Allow
            }
            Decision::Allow => {
                note(&mut self.trusted, path);
                Decision::Allow
            }
            other => other,
        };
        if matches!(decision, Decision::Prove) {
            // Nothing that a heal may write changes what the policy says of the object.
            self.machine.followed.insert(address, callable.clone());
        }
        Ok(decision)
    }

    /// What was known of the state is not sure any more.
    pub(super) fn forget(&mut self) {
        self.names.forget();
        self.facts.forget();
        self.plain_keys.clear();
        self.sound.clear();
        self.forget_hashes();
    }

    /// Asks the policy whether CPython may run code of the program, unseen.
    pub(super) fn program_call(&mut self, callable: &Bound<'py, PyAny>, path: &str) -> Eval<()> {
        match self.decision(callable, path)? {
            Decision::Allow | Decision::Once => {
                self.forget();
                Ok(())
            }
            Decision::Prove => Err(Self::not_followed(path)),
            Decision::Refuse { rule, message, help } => Err(Stop::refused(&rule, message, help)),
        }
    }

    /// A function that the program's developers added to the toolkit; nothing where `heal` is a name of the frame.
    pub(super) fn own_tool(&mut self, path: &tree::Path) -> Eval<Option<Bound<'py, PyAny>>> {
        let [name] = &path.attributes[..] else {
            return Ok(None);
        };
        if path.root != healcore::toolkit::NAMESPACE || self.names.find(&path.root)?.is_some() {
            return Ok(None);
        }
        match self.policy.own_tool(self.py, name) {
            None => Ok(None),
            Some(Ok(function)) => Ok(Some(function)),
            Some(Err(message)) => Err(Stop::refused(
                rule::PROGRAM_CALL,
                message,
                "write it with builtins, or heal without it",
            )),
        }
    }

    /// Whether classes and modules of the program may be changed.
    pub(super) fn in_scope(&self, object: &Bound<'py, PyAny>) -> bool {
        self.policy.in_scope(object)
    }

    /// Refuses a write where only reads are allowed.
    pub(super) fn may_write(&self, what: fmt::Arguments<'_>) -> Eval<()> {
        match self.mode {
            Mode::Heal => Ok(()),
            Mode::Read => Err(Stop::refused(
                rule::PURE,
                format!("{what} changes the program's state, and this expression may only read"),
                "make a copy, or write it as healing code",
            )),
        }
    }

    /// The iterator, if the heal made it.
    pub(super) fn own_iterator(&self, object: &Bound<'py, PyAny>) -> Option<&OwnIterator<'py>> {
        self.iterators.get(&(object.as_ptr() as usize))
    }

    /// Remembers an iterator that the heal made.
    pub(super) fn adopt(&mut self, iterator: &Bound<'py, PyAny>, sources: &[Bound<'py, PyAny>]) {
        let own = OwnIterator {
            _kept: iterator.clone(),
            sources: sources.to_vec(),
        };
        self.iterators.insert(iterator.as_ptr() as usize, own);
    }

    /// Counts a new value and gives it back.
    pub(super) fn made(&mut self, object: Bound<'py, PyAny>) -> Eval<Bound<'py, PyAny>> {
        self.meter.created(&object)?;
        Ok(object)
    }

    /// Runs a whole heal.
    pub(super) fn program(&mut self, program: &tree::Program) -> Eval<super::statements::Flow<'py>> {
        self.names.declare(&program.body);
        self.block(&program.body)
    }
}

fn note(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}
