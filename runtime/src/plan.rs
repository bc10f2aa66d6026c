//! The resume actions of one frame: which can be, what each will do, and where its jump lands.

use protocol::ActionOffer;
use pyo3::prelude::*;

use crate::control::{Block, Control, Next, NoJump, Statement};
use crate::landing::{Landing, Landings};
use crate::render::{self, FrameAt};
use crate::resume::Action;

/// Where a frame goes on, ready to be carried out.
pub(crate) struct Route {
    /// What the hook does.
    pub(crate) action: Action,
    /// What it will do, in words.
    pub(crate) effect: String,
    /// The line where it goes on, when that is one.
    pub(crate) line: Option<u32>,
    /// Things worth knowing.
    pub(crate) notes: Vec<String>,
}

/// What can be done in one frame.
pub(crate) struct Plan {
    function: String,
    /// Whether the frame is a function's: a module or class body returns nothing.
    is_function: bool,
    landings: Landings,
    here: Option<Landing>,
    control: Option<Control>,
    statement: Option<Statement>,
    /// Locals that have no value: a jump on 3.12 and later makes them `None`.
    unbound: Vec<String>,
}

impl Plan {
    /// Reads a frame and its source; `site` is the handler of ours where the exception is, or will arrive.
    pub(crate) fn of(at: &FrameAt<'_>, site: u32) -> PyResult<Self> {
        let frame = &at.frame;
        let code = frame.getattr("f_code")?;
        let landings = Landings::of(frame)?;
        let here = landings.at_site(site);
        let name: String = code.getattr("co_name")?.extract()?;
        let filename: String = code.getattr("co_filename")?.extract()?;
        let source = render::source(frame.py(), &filename);
        let control = match &source {
            Some(source) => Control::read(source, &name, code.getattr("co_firstlineno")?.extract()?),
            None => None,
        };
        let statement =
            here.zip(control.as_ref().zip(source.as_ref()))
                .and_then(|(here, (control, source))| {
                    let (line, column) = position(&code, here.start).unwrap_or((here.line, None));
                    control.statement_at(source, line, column).cloned()
                });
        const CO_OPTIMIZED: u32 = 1;
        let is_function = code.getattr("co_flags")?.extract::<u32>()? & CO_OPTIMIZED != 0;
        let unbound = if is_function {
            unbound_locals(frame, &code)?
        } else {
            Vec::new()
        };
        Ok(Self {
            function: name,
            is_function,
            landings,
            here,
            control,
            statement,
            unbound,
        })
    }

    /// All actions, each with what it will do or why it cannot be.
    pub(crate) fn offers(&self) -> Vec<ActionOffer> {
        let offer = |then: &str, route: Result<Route, NoJump>| match route {
            Ok(route) => ActionOffer {
                then: then.to_owned(),
                available: true,
                effect: route.effect,
            },
            Err(no_jump) => ActionOffer {
                then: then.to_owned(),
                available: false,
                effect: no_jump.message,
            },
        };
        let line = match (&self.control, self.here) {
            (Some(_), Some(_)) => ActionOffer {
                then: "line".to_owned(),
                available: true,
                effect: format!(
                    "goes on at the statement of {} that starts at `line`",
                    self.function
                ),
            },
            _ => ActionOffer {
                then: "line".to_owned(),
                available: false,
                effect: "the source of this frame cannot be read".to_owned(),
            },
        };
        let returns = match self.can_return() {
            Ok(()) => ActionOffer {
                then: "return".to_owned(),
                available: true,
                effect: format!(
                    "leaves {} with `value`, after the cleanup of its blocks",
                    self.function
                ),
            },
            Err(no_jump) => ActionOffer {
                then: "return".to_owned(),
                available: false,
                effect: no_jump.message,
            },
        };
        vec![
            offer("next", self.next()),
            offer("retry", self.retry()),
            line,
            returns,
            offer("raise", Ok(self.raise())),
            ActionOffer {
                then: "raise-new".to_owned(),
                available: true,
                effect: format!(
                    "raises the exception `value` in {} instead, if a handler of the program takes it",
                    self.function
                ),
            },
        ]
    }

    /// The statement after the failing one.
    pub(crate) fn next(&self) -> Result<Route, NoJump> {
        let skipped = self.statement.as_ref().map(|statement| match statement.end_line {
            end if end == statement.line => format!("skips line {end}, "),
            end => format!("skips lines {} to {end}, ", statement.line),
        });
        let (effect, line) = match self.statement.as_ref().map(|statement| statement.next) {
            Some(Next::Line(line)) => (format!("goes on at line {line}"), Some(line)),
            Some(Next::Loop(line)) => (
                format!("goes on with the next round of the loop at line {line}"),
                Some(line),
            ),
            Some(Next::EndOfWith(line)) => (
                format!("goes on at the end of the `with` block of line {line}"),
                None,
            ),
            Some(Next::Finally(line)) => (
                format!("goes on at the `finally` block at line {line}"),
                Some(line),
            ),
            Some(Next::End) if self.is_function => (format!("{} returns None", self.function), None),
            Some(Next::End) => (format!("{} ends", self.function), None),
            None => ("goes on at the statement after the failing one".to_owned(), None),
        };
        let effect = format!("{}{effect}", skipped.unwrap_or_default());
        Ok(Route {
            action: Action::Next,
            effect,
            line,
            notes: Vec::new(),
        })
    }

    /// The failing statement again.
    pub(crate) fn retry(&self) -> Result<Route, NoJump> {
        let Some(here) = self.here else {
            return Err(self.no_landing());
        };
        let line = self
            .statement
            .as_ref()
            .map_or(here.line, |statement| statement.line);
        let effect = format!("runs the statement at line {line} again from its start");
        self.jump(here.start, line, effect, Vec::new())
    }

    /// A line of the same function.
    pub(crate) fn line(&self, line: Option<u32>) -> Result<Route, NoJump> {
        let Some(line) = line else {
            return Err(NoJump {
                message: "`then: line` needs `line`".to_owned(),
                hint: "give the line to go on at".to_owned(),
            });
        };
        let (Some(here), Some(control), Some(from)) = (self.here, &self.control, &self.statement) else {
            return Err(self.no_landing());
        };
        let jump = control.jump(from, line)?;
        let target = control.starting_at(line).and_then(|target| {
            self.landings
                .within_lines(target.line, target.end_line, here.depth)
        });
        let Some(target) = target else {
            return Err(NoJump {
                message: format!(
                    "the statement at line {line} cannot be jumped to: it cannot raise, or CPython left it out"
                ),
                hint: "choose the statement after it".to_owned(),
            });
        };
        let notes = jump
            .leaves_with
            .iter()
            .map(|with| format!("the `with` block of line {with} is left without its exit"))
            .collect();
        self.jump(target.start, line, format!("goes on at line {line}"), notes)
    }

    /// Behind the innermost loop.
    pub(crate) fn break_loop(&self) -> Result<Route, NoJump> {
        let (header, landing) = self.innermost_loop("break")?;
        let effect = format!("leaves the loop at line {header}");
        self.jump(landing.end, header, effect, Vec::new())
    }

    /// The next round of the innermost loop.
    pub(crate) fn continue_loop(&self) -> Result<Route, NoJump> {
        let (header, _) = self.innermost_loop("continue")?;
        let here = self.here.ok_or_else(|| self.no_landing())?;
        let last = self
            .control
            .as_ref()
            .and_then(|control| control.last_of_loop(header));
        let landing = last.and_then(|last| self.landings.within_lines(last.line, last.end_line, here.depth));
        let Some(landing) = landing else {
            return Err(NoJump {
                message: format!("the end of the loop at line {header} cannot be jumped to"),
                hint: "choose line or next".to_owned(),
            });
        };
        let effect = format!("goes on with the next round of the loop at line {header}");
        self.jump(landing.end, header, effect, Vec::new())
    }

    /// The loop around the failing statement; a `with` block between them would be left without its exit.
    fn innermost_loop(&self, word: &str) -> Result<(u32, Landing), NoJump> {
        let (Some(here), Some(statement)) = (self.here, &self.statement) else {
            return Err(self.no_landing());
        };
        let Some((header, _)) = statement.in_loop else {
            return Err(NoJump {
                message: format!("the failing statement is in no loop to {word}"),
                hint: "choose next, return or line".to_owned(),
            });
        };
        let inner = statement
            .blocks
            .iter()
            .rev()
            .take_while(|block| **block != Block::For(header));
        let with = inner.filter_map(|block| match block {
            Block::With(line) if *line > header => Some(*line),
            _ => None,
        });
        if let Some(line) = with.last() {
            return Err(NoJump {
                message: format!("`{word}` would leave the `with` block of line {line} without its exit"),
                hint: "choose next, or raise".to_owned(),
            });
        }
        let control = self.control.as_ref().ok_or_else(|| self.no_landing())?;
        let around = self.landings.around(&here);
        let landing = match control.n_around(statement, header) {
            // The line of a loop's first instruction that can raise may be that of its last statement.
            (n_around, n_within) if n_around == around.len() => around.get(n_within).copied(),
            // Blocks that are nested too deep have no handlers of ours.
            _ => control
                .starting_at(header)
                .and_then(|each| self.landings.within_lines(header, each.end_line, here.depth)),
        };
        landing
            .map(|landing| (header, landing))
            .ok_or_else(|| self.no_landing())
    }

    /// The frame returns.
    pub(crate) fn return_value(&self, value: &Bound<'_, PyAny>) -> Result<Route, NoJump> {
        self.can_return()?;
        let shown = render::value(value, &render::Limits::default()).text;
        Ok(Route {
            action: Action::Return(value.clone().unbind()),
            effect: format!("{} returns {shown}", self.function),
            line: None,
            notes: self.unbound_notes(),
        })
    }

    fn can_return(&self) -> Result<(), NoJump> {
        match (self.is_function, self.landings.epilogue) {
            (true, Some(epilogue)) if self.landings.is_reachable(epilogue) => Ok(()),
            (true, Some(_)) => Err(self.no_way()),
            (false, _) => Err(NoJump {
                message: format!("{} is no function: it cannot return", self.function),
                hint: "choose next, retry or line".to_owned(),
            }),
            (true, None) => Err(self.no_landing()),
        }
    }

    /// The line of the failing statement.
    pub(crate) fn line_here(&self) -> Option<u32> {
        let line = self.statement.as_ref().map(|statement| statement.line);
        line.or(self.here.map(|here| here.line))
    }

    /// The exception goes on.
    pub(crate) fn raise(&self) -> Route {
        let effect = "the exception goes on as in plain Python".to_owned();
        Route {
            action: Action::Raise,
            effect,
            line: None,
            notes: Vec::new(),
        }
    }

    fn jump(&self, offset: u32, line: u32, effect: String, mut notes: Vec<String>) -> Result<Route, NoJump> {
        if !self.landings.is_reachable(offset) {
            return Err(self.no_way());
        }
        notes.extend(self.unbound_notes());
        Ok(Route {
            action: Action::Jump(offset),
            effect,
            line: Some(line),
            notes,
        })
    }

    fn no_way(&self) -> NoJump {
        NoJump {
            message: format!(
                "CPython refuses this jump: no way leads there from the start of {}",
                self.function
            ),
            hint: "choose another action, or heal a caller with --frame".to_owned(),
        }
    }

    fn unbound_notes(&self) -> Vec<String> {
        if self.unbound.is_empty() {
            return Vec::new();
        }
        vec![format!(
            "CPython sets local variables without a value to None at a jump: {}",
            self.unbound.join(", ")
        )]
    }

    fn no_landing(&self) -> NoJump {
        NoJump {
            message: format!("the code of {} has no place to jump to here", self.function),
            hint: "choose next or raise".to_owned(),
        }
    }
}

/// The line and column (0-based, in bytes) of an instruction.
fn position(code: &Bound<'_, PyAny>, offset: u32) -> Option<(u32, Option<u32>)> {
    let position = code
        .call_method0("co_positions")
        .ok()?
        .try_iter()
        .ok()?
        .nth(offset as usize / 2)?
        .ok()?;
    Some((
        position.get_item(0).ok()?.extract().ok()?,
        position.get_item(2).ok()?.extract().ok()?,
    ))
}

/// Plain locals without a value, on versions where a jump binds them.
fn unbound_locals(frame: &Bound<'_, PyAny>, code: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if crate::frames::minor_version(frame.py()) < 12 {
        return Ok(Vec::new());
    }
    let names: Vec<String> = code.getattr("co_varnames")?.extract()?;
    let locals = frame.getattr("f_locals")?;
    Ok(names
        .into_iter()
        .filter(|name| !locals.contains(name).unwrap_or(true))
        .collect())
}
