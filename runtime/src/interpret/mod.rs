//! Runs checked HealCore over the live objects, with a journal of every write.
//!
//! Names are written aside and reach the frame with [`Run::commit`]; attributes, items and containers are written at
//! once and taken back by [`Run::rollback`], which also happens where a run fails or is dropped.

mod attributes;
mod behaviours;
mod builtins;
mod callee;
mod calls;
mod expressions;
mod guards;
mod instances;
mod instructions;
mod interpreter;
mod items;
mod iteration;
mod journal;
mod library;
mod limits;
mod machine;
mod members;
mod methods;
mod names;
mod native;
mod operators;
mod overrides;
mod policy;
pub(crate) mod probe;
mod purity;
mod regex;
mod replay;
pub(crate) mod speed;
mod stack;
mod statements;
mod statics;
mod stop;
mod strings;
mod targets;
mod toolkit;
mod variables;
mod vet;
mod world;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use healcore::tree;
use healguard::Behaviour;
use protocol::StateChange;
use pyo3::prelude::*;

use crate::frames::{self, NamePlace};

pub(crate) use interpreter::Purpose;
pub(crate) use limits::Limits;
pub(crate) use policy::{CallPolicy, Decision};
pub(crate) use stack::with_room;
pub(crate) use stop::{HealError, HealErrorKind};
pub(crate) use toolkit::Saved;

use interpreter::{Interpreter, Mode};
use journal::{Journal, UNSET, render};
use names::Name;
use stop::{Stop, rule};

/// How a heal ended.
#[derive(Debug)]
pub(crate) enum Flow<'py> {
    /// At its end.
    End,
    /// `return`: the crashed function returns this.
    Return(Bound<'py, PyAny>),
    /// `break`: out of the loop of the crashed frame.
    Break,
    /// `continue`: the next round of the loop of the crashed frame.
    Continue,
}

/// A heal that ran to its end, and what it has changed. Dropped without a commit, it takes everything back.
pub(crate) struct Run<'py> {
    /// How it ended.
    pub(crate) flow: Flow<'py>,
    journal: Journal<'py>,
    names: Vec<Name<'py>>,
    printed: String,
    behaviours: BTreeSet<Behaviour>,
    saved: Vec<Saved>,
    trusted: Vec<String>,
    called_once: Vec<String>,
    horizon: Option<Horizon>,
    is_open: bool,
}

/// Where a check ended before the heal did: at a call that only the resume makes.
#[derive(Clone, Debug)]
pub(crate) struct Horizon {
    /// The function, as the heal names it.
    pub(crate) path: String,
    /// The line of the heal.
    pub(crate) line: u32,
}

/// Runs a heal in a frame. After an error everything is as it was, but for what functions did that are called for good.
pub(crate) fn run<'py>(
    program: &tree::Program,
    frame: &Bound<'py, PyAny>,
    policy: &dyn CallPolicy,
    purpose: Purpose,
) -> Result<Run<'py>, HealError> {
    let mut interpreter = start(frame, Mode::Heal, purpose, policy, &Limits::default())?;
    let outcome = guarded(&mut interpreter, |interpreter| interpreter.program(program));
    let mut journal = std::mem::take(&mut interpreter.journal);
    let (outcome, horizon) = match outcome {
        Err(stop) => match stop.as_horizon() {
            Some((path, line)) => {
                let path = path.to_owned();
                (Ok(statements::Flow::Normal), Some(Horizon { path, line }))
            }
            None => (Err(stop), None),
        },
        outcome => (outcome, None),
    };
    match outcome {
        Ok(flow) => {
            let mut behaviours = journal.behaviours();
            let has_called = !interpreter.machine.followed.is_empty()
                || !interpreter.trusted.is_empty()
                || !interpreter.called_once.is_empty();
            for (behaviour, is_shown) in [
                (Behaviour::CallProgram, has_called || horizon.is_some()),
                (Behaviour::Import, behaviours::imports(program)),
                (Behaviour::SaveValue, !interpreter.saved.is_empty()),
            ] {
                if is_shown {
                    behaviours.insert(behaviour);
                }
            }
            let Interpreter {
                names,
                printed,
                saved,
                trusted,
                called_once,
                ..
            } = interpreter;
            let names = names.into_written();
            behaviours.extend(behaviours::of_names(&names));
            let flow = match flow {
                statements::Flow::Return(value) => Flow::Return(value),
                statements::Flow::ResumeBreak => Flow::Break,
                statements::Flow::ResumeContinue => Flow::Continue,
                // The checker leaves no `break` outside a loop of the heal.
                statements::Flow::Normal | statements::Flow::Break | statements::Flow::Continue => Flow::End,
            };
            Ok(Run {
                flow,
                journal,
                names,
                printed,
                behaviours,
                saved,
                trusted,
                called_once,
                horizon,
                is_open: true,
            })
        }
        Err(stop) => {
            let mut error = undone(frame, stop, &mut journal);
            if let Some(stays) = what_stays(&interpreter.called_once) {
                error.hint = format!("{}; {stays}", error.hint);
            }
            Err(error)
        }
    }
}

/// What is said of functions that were called before a heal failed.
fn what_stays(called_once: &[String]) -> Option<String> {
    let names: Vec<String> = called_once.iter().map(|name| format!("`{name}`")).collect();
    let names = names.join(", ");
    (!names.is_empty()).then(|| format!("but {names} had been called, and what that did stays"))
}

/// Evaluates an expression in a frame; it can write nothing.
pub(crate) fn evaluate<'py>(
    expr: &tree::Expr,
    frame: &Bound<'py, PyAny>,
    policy: &dyn CallPolicy,
    limits: &Limits,
) -> Result<Bound<'py, PyAny>, HealError> {
    let mut interpreter = start(frame, Mode::Read, Purpose::Rehearsal, policy, limits)?;
    let outcome = guarded(&mut interpreter, |interpreter| {
        interpreter.expr(expr).map_err(|stop| stop.at(expr.span.line))
    });
    let mut journal = std::mem::take(&mut interpreter.journal);
    match outcome {
        Ok(value) if journal.is_empty() => Ok(value),
        Ok(_) => {
            let stop = Stop::refused(
                rule::PURE,
                "the expression writes to the program's state",
                "write it as healing code",
            );
            Err(undone(frame, stop, &mut journal))
        }
        Err(stop) => Err(undone(frame, stop, &mut journal)),
    }
}

fn start<'a, 'py>(
    frame: &Bound<'py, PyAny>,
    mode: Mode,
    purpose: Purpose,
    policy: &'a dyn CallPolicy,
    limits: &Limits,
) -> Result<Interpreter<'a, 'py>, HealError> {
    Interpreter::new(frame, mode, purpose, policy, limits)
        .map_err(|error| Stop::from(error).into_error(frame.py()))
}

/// No panic leaves the interpreter: it would end the program.
fn guarded<'a, 'py, T>(
    interpreter: &mut Interpreter<'a, 'py>,
    work: impl FnOnce(&mut Interpreter<'a, 'py>) -> Result<T, Stop>,
) -> Result<T, Stop> {
    catch_unwind(AssertUnwindSafe(|| work(interpreter))).unwrap_or_else(|panic| {
        let what = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default();
        Err(Stop::limit(
            rule::PANIC,
            format!("the interpreter failed: {what}"),
            "write the code another way",
        ))
    })
}

fn undone(frame: &Bound<'_, PyAny>, stop: Stop, journal: &mut Journal<'_>) -> HealError {
    let py = frame.py();
    let mut error = stop.into_error(py);
    if let Err(failure) = journal.rollback() {
        let failure = failure
            .value(py)
            .get_type()
            .qualname()
            .map_or_else(|_| "?".to_owned(), |name| name.to_string());
        error.hint = format!("{}; taking the changes back failed with {failure}", error.hint);
    }
    error
}

fn all_changes(journal: &Journal<'_>, names: &[Name<'_>]) -> Vec<StateChange> {
    let mut changes = journal.told();
    for name in names {
        let kind = match name.place {
            NamePlace::Local => "name",
            NamePlace::Global => "global",
            NamePlace::Temporary => continue,
        };
        if name.old.as_ref().is_some_and(|old| old.is(&name.value)) {
            continue;
        }
        changes.push((
            name.line,
            StateChange {
                kind: kind.to_owned(),
                place: name.name.clone(),
                old: name
                    .old
                    .as_ref()
                    .map_or_else(|| UNSET.to_owned(), |old| render(&name.name, old)),
                new: render(&name.name, &name.value),
                heal_line: name.line,
            },
        ));
    }
    // In the order of the heal's lines, as far as the last write to a place tells it.
    changes.sort_by_key(|(line, _)| *line);
    changes.into_iter().map(|(_, change)| change).collect()
}

impl<'py> Run<'py> {
    /// What was changed, with the values as they are now.
    pub(crate) fn changes(&self) -> Vec<StateChange> {
        all_changes(&self.journal, &self.names)
    }

    /// What kinds of things it did.
    pub(crate) fn behaviours(&self) -> &BTreeSet<Behaviour> {
        &self.behaviours
    }

    /// What `heal.save` is to write.
    pub(crate) fn saved(&self) -> &[Saved] {
        &self.saved
    }

    /// Functions that were called unseen, at the word of the program's developers.
    pub(crate) fn trusted(&self) -> &[String] {
        &self.trusted
    }

    /// What cannot be taken back, in words.
    pub(crate) fn what_stays(&self) -> Option<String> {
        what_stays(&self.called_once)
    }

    /// Where the check ended, if that was before the heal's end.
    pub(crate) fn horizon(&self) -> Option<&Horizon> {
        self.horizon.as_ref()
    }

    /// What it printed.
    pub(crate) fn printed(&self) -> &str {
        &self.printed
    }

    /// Every object that was written, with its place: first the names of the frame, then the rest in order.
    pub(crate) fn written_values(&self) -> Vec<(String, Bound<'py, PyAny>)> {
        let names = self
            .names
            .iter()
            .filter(|name| name.place != NamePlace::Temporary);
        let names = names.map(|name| (name.name.clone(), name.value.clone()));
        names.chain(self.journal.values().iter().cloned()).collect()
    }

    /// The names of the frame that were written.
    pub(crate) fn written_names(&self) -> Vec<String> {
        let names = self
            .names
            .iter()
            .filter(|name| name.place != NamePlace::Temporary);
        names.map(|name| name.name.clone()).collect()
    }

    /// The attributes that were written, each with its owner.
    pub(crate) fn written_attributes(&self) -> Vec<(Bound<'py, PyAny>, String)> {
        self.journal.attributes().to_vec()
    }

    /// Names that were written but that nothing in the frame reads: they are gone with the heal.
    pub(crate) fn temporary_names(&self) -> Vec<String> {
        let names = self
            .names
            .iter()
            .filter(|name| name.place == NamePlace::Temporary);
        names.map(|name| name.name.clone()).collect()
    }

    /// Takes everything back, and says whether that worked.
    pub(crate) fn rollback(mut self) -> PyResult<()> {
        self.is_open = false;
        self.journal.rollback()
    }

    /// Writes the names to the frame and keeps everything else. Where that fails, everything is taken back.
    pub(crate) fn commit(mut self, frame: &Bound<'py, PyAny>) -> PyResult<()> {
        for (position, name) in self.names.iter().enumerate() {
            if let Err(error) = frames::assign(frame, name.place, &name.name, &name.value) {
                for done in self.names[..position].iter().rev() {
                    if let Some(old) = &done.old {
                        frames::assign(frame, done.place, &done.name, old)?;
                    }
                }
                return Err(error);
            }
        }
        self.is_open = false;
        self.journal.commit();
        Ok(())
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if self.is_open {
            // There is nobody to tell: the state is restored as far as it can be.
            drop(self.journal.rollback());
        }
    }
}
