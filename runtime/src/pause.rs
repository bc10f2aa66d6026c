//! The pause: a thread stands in the handler of a statement that raised, and answers until somebody says how to go on.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use protocol::{
    Answer, CrashReport, CrashStatus, CrashSummary, Failure, FailureKind, HealOutcome, Reply, Request,
};
use pyo3::prelude::*;
use pyo3::types::PyType;
use serde_json::json;

use crate::crashes::{self, Job};
use crate::heal::{Healer, Resumption};
use crate::passing::{self, Site};
use crate::render::{self, FrameAt};
use crate::resume::{self, Action};
use crate::stack::{self, Stack};
use crate::{announce, gate, heal, journal, repeats, socket, state};

/// How often a paused thread looks for signals.
const TICK: Duration = Duration::from_millis(50);

/// Why a pause ended.
enum End {
    /// A client said how to go on.
    Resume(Box<Resumption>),
    /// A client let the exception go on.
    Abort,
    /// Nobody healed in time.
    TimedOut,
    /// Ctrl-C, or another signal whose handler raised.
    Interrupted,
}

/// Everything that the paused thread needs to answer.
struct Paused<'a, 'py> {
    exception: &'a Bound<'py, PyAny>,
    summary: CrashSummary,
    why: &'a str,
    /// The crashed frame first, then outwards.
    stack: Vec<FrameAt<'py>>,
    /// Frames out of scope below the crashed one, the innermost first; numbered behind the stack.
    below: Vec<FrameAt<'py>>,
    healer: Healer<'py>,
}

/// An exception and its way out.
pub(crate) struct Way<'a, 'py> {
    /// The exception.
    pub(crate) exception: &'a Bound<'py, PyAny>,
    /// The crashed frame, whose handler asks.
    pub(crate) frame: &'a Bound<'py, PyAny>,
    /// The handlers of ours that it will meet, the asking one first.
    pub(crate) sites: &'a [Site],
    /// The frames that it will leave, nearest first.
    pub(crate) frames: &'a [Bound<'py, PyAny>],
    /// The types of the exceptions that take its place on the way.
    pub(crate) becomes: &'a [Bound<'py, PyType>],
    /// Why nothing handles it.
    pub(crate) why: &'a str,
}

/// Pauses the thread until the crash is healed or let go; returns whether the exception goes on.
pub(crate) fn pause(way: &Way<'_, '_>) -> PyResult<bool> {
    let Way { exception, why, .. } = *way;
    let py = exception.py();
    let deadline = Instant::now() + Duration::from_secs(state::settings().timeout_s);
    let mut paused = Paused::new(way)?;
    let kind = (
        paused.summary.exception_type.as_str(),
        paused.summary.message.as_str(),
    );
    let n_crashes = repeats::count(kind, &paused.stack)?;
    let limit = state::settings().repeat_limit;
    if limit > 0 && n_crashes > limit {
        announce::repeated(&paused.summary, n_crashes - 1);
        journal::write(
            "repeated",
            json!({ "crash": paused.summary, "times": n_crashes - 1 }),
        );
        passing::release(exception, way.becomes)?;
        return Ok(true);
    }
    if let Err(error) = socket::listen() {
        state::complain(&format!(
            "cannot pause, since the socket folder {} cannot be used: {error}",
            state::settings().sockets
        ));
        return Ok(true);
    }
    let crash_id = paused.summary.crash_id.clone();
    journal::write("crash", json!({ "crash": paused.summary, "decision": why }));
    let jobs = Mutex::new(crashes::add(paused.summary.clone(), deadline));
    announce::paused(py, &paused.summary, state::settings().timeout_s);
    let end = paused.serve(py, &jobs, deadline);
    let status = match &end {
        End::Resume(resumption) if !matches!(resumption.action, Action::Raise) => CrashStatus::Resumed,
        _ => CrashStatus::Released,
    };
    crashes::end(&crash_id, status);
    match end {
        End::Resume(resumption) => {
            let target = resumption.frame.bind(py);
            let goes_on = resume::go_on(way, target, resumption.action)?;
            if status == CrashStatus::Released {
                passing::release(exception, way.becomes)?;
            } else {
                gate::arm(exception, target, resumption.written, &resumption.heal_id)?;
            }
            Ok(goes_on)
        }
        End::Abort | End::TimedOut | End::Interrupted => {
            let reason = match end {
                End::TimedOut => "nobody healed it in time",
                End::Interrupted => "interrupted",
                _ => "aborted",
            };
            journal::write("released", json!({ "crash_id": crash_id, "reason": reason }));
            announce::released(&crash_id, reason);
            passing::release(exception, way.becomes)?;
            Ok(true)
        }
    }
}

impl<'a, 'py> Paused<'a, 'py> {
    fn new(way: &Way<'a, 'py>) -> PyResult<Self> {
        let Way {
            exception,
            frame,
            sites,
            why,
            ..
        } = *way;
        let Stack {
            stack,
            below,
            crashed_in,
        } = stack::read(way)?;
        let (exception_type, message) = render::exception_summary(exception);
        let location = render::location(crashed_in.and_then(|at| below.get(at)).unwrap_or(&stack[0]));
        let thread = frame
            .py()
            .import("threading")?
            .getattr("current_thread")?
            .call0()?
            .getattr("name")?;
        let summary = CrashSummary {
            crash_id: announce::new_crash_id(),
            status: CrashStatus::Paused,
            exception_type,
            message,
            location,
            pid: std::process::id(),
            thread: thread.extract().unwrap_or_default(),
            command: state::settings()
                .command
                .iter()
                .map(|word| render::redacted(word))
                .collect(),
            root: state::settings().scope.root.clone(),
            journal: journal::path().display().to_string(),
            paused_at: journal::now() as u64,
            seconds_left: None,
            n_attempts: 0,
            held_by: None,
        };
        let exception_line = format!("{}: {}", summary.exception_type, summary.message);
        let healer = Healer::new(&stack, sites, &exception_line, &summary.crash_id)?;
        Ok(Self {
            exception,
            summary,
            why,
            stack,
            below,
            healer,
        })
    }

    /// Answers requests until one ends the pause.
    fn serve(&mut self, py: Python<'py>, jobs: &Mutex<Receiver<Job>>, deadline: Instant) -> End {
        loop {
            let wait = deadline.saturating_duration_since(Instant::now()).min(TICK);
            match py.detach(|| {
                jobs.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .recv_timeout(wait)
            }) {
                Ok(job) => {
                    let answered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        self.answer(py, &job.request)
                    }));
                    let (answer, end) = answered.unwrap_or_else(|_| (internal("answering panicked"), None));
                    // A client that has gone misses its answer; what it asked for is done all the same.
                    let _ = job.answer.send(answer);
                    if let Some(end) = end {
                        return end;
                    }
                }
                Err(RecvTimeoutError::Timeout) if Instant::now() >= deadline => return End::TimedOut,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return End::TimedOut,
            }
            if py.check_signals().is_err() || main_was_interrupted(py) {
                return End::Interrupted;
            }
        }
    }

    fn answer(&mut self, py: Python<'py>, request: &Request) -> (Answer, Option<End>) {
        let reply = match request {
            Request::List => Ok(Reply::Crashes {
                crashes: crashes::list(),
            }),
            Request::Describe { max_frames, .. } => self.describe(*max_frames),
            Request::Frame { query, .. } => self
                .frame(query.frame)
                .and_then(|at| render::frame_view(at, query))
                .map(Reply::Frame),
            Request::Evaluate {
                frame,
                expression,
                max_chars,
                user_repr,
                ..
            } => self.evaluate(*frame, expression, *max_chars, *user_repr),
            Request::Check { proposal, .. } => {
                crashes::count_attempt(&self.summary.crash_id);
                self.healer
                    .check(proposal)
                    .map(|check| Reply::Checked(Box::new(check)))
            }
            Request::Resume { heal_id, .. } => match self.healer.resume(heal_id) {
                Ok(resumption) => {
                    let outcome = HealOutcome {
                        outcome: if matches!(resumption.action, Action::Raise) {
                            "released"
                        } else {
                            "running"
                        }
                        .to_owned(),
                        resumed_at: resumption.location.clone(),
                        evidence: resumption.evidence.clone(),
                        behaviours: resumption.behaviours.clone(),
                        next_crash: None,
                    };
                    let end = End::Resume(Box::new(resumption));
                    return (Answer::Ok(Reply::Went(Box::new(outcome))), Some(end));
                }
                Err(failure) => Err(failure),
            },
            Request::Abort { reason, .. } => {
                journal::write(
                    "abort",
                    json!({ "crash_id": self.summary.crash_id, "reason": reason }),
                );
                let outcome = HealOutcome {
                    outcome: "released".to_owned(),
                    resumed_at: None,
                    evidence: "the exception goes on as in plain Python".to_owned(),
                    behaviours: Vec::new(),
                    next_crash: None,
                };
                return (Answer::Ok(Reply::Went(Box::new(outcome))), Some(End::Abort));
            }
        };
        let _ = py;
        (reply.map_or_else(Answer::Failed, Answer::Ok), None)
    }

    fn describe(&self, max_frames: usize) -> Result<Reply, Failure> {
        /// Variables shown of frame 0 and of the others.
        const VARIABLES: (usize, usize) = (20, 8);
        let mut n_shown = 0;
        let report = |at: &FrameAt<'py>, shown: bool| {
            let max_variables = match (shown, at.index) {
                (false, _) => 0,
                (true, 0) => VARIABLES.0,
                (true, _) => VARIABLES.1,
            };
            render::frame_report(at, max_variables, shown).map_err(|error| failed(&error))
        };
        let mut reports = Vec::with_capacity(self.stack.len());
        for at in &self.stack {
            let shown = at.in_scope && n_shown < max_frames.max(1);
            n_shown += usize::from(shown);
            reports.push(report(at, shown)?);
        }
        let mut below = Vec::with_capacity(self.below.len());
        for (index, at) in self.below.iter().enumerate() {
            below.push(report(at, index == 0)?);
        }
        let summary = crashes::summary(&self.summary.crash_id).unwrap_or_else(|| self.summary.clone());
        Ok(Reply::Crash(Box::new(CrashReport {
            summary,
            decision: format!("{}{}", self.why, without_hooks()),
            chain: render::chain(self.exception),
            frames: reports,
            below,
            actions: self.healer.offers(),
            attempts: self.healer.attempts().to_vec(),
        })))
    }

    fn frame(&self, index: usize) -> Result<&FrameAt<'py>, Failure> {
        self.stack
            .iter()
            .chain(&self.below)
            .find(|at| at.index == index)
            .ok_or_else(|| {
                Failure::new(
                    FailureKind::UnknownPlace,
                    format!("there is no frame {index}"),
                    format!(
                        "frames are numbered 0 to {}",
                        self.stack.len() + self.below.len() - 1
                    ),
                )
            })
    }

    fn evaluate(
        &self,
        frame: usize,
        expression: &str,
        max_chars: usize,
        user_repr: bool,
    ) -> Result<Reply, Failure> {
        let at = self.frame(frame)?;
        let value = heal::evaluate(expression, &at.frame)?;
        let rendered = if user_repr {
            render::user_repr(&value, max_chars).map_err(|error| failed(&error))?
        } else {
            render::evaluated(expression, &value, &render::Limits::wide(max_chars))
        };
        // What an expression gave may be a secret under no name, or a piece with one in it.
        let text = render::Secrets::of(&at.frame).mask(&rendered.text);
        Ok(Reply::Value {
            type_name: rendered.type_name,
            text,
            cut: rendered.cut,
        })
    }
}

/// Whether Ctrl-C has ended the main thread: then no other thread keeps the process waiting for a heal.
fn main_was_interrupted(py: Python<'_>) -> bool {
    let ended_by = || -> PyResult<bool> {
        let ended_by = py.import("sys")?.getattr_opt("last_type")?;
        Ok(ended_by
            .is_some_and(|ended_by| ended_by.is(py.get_type::<pyo3::exceptions::PyKeyboardInterrupt>())))
    };
    ended_by().unwrap_or(false)
}

/// Modules in scope whose statements have no hooks: an exception in them pauses further out.
fn without_hooks() -> String {
    let modules = state::unwrapped();
    let named: Vec<String> = modules
        .iter()
        .map(|(file, reason)| format!("{file} ({reason})"))
        .collect();
    if named.is_empty() {
        String::new()
    } else {
        format!("; runs without hooks: {}", named.join(", "))
    }
}

fn internal(message: &str) -> Answer {
    Answer::Failed(Failure::new(
        FailureKind::Internal,
        message,
        "the pause goes on: try another call, and report this",
    ))
}

fn failed(error: &PyErr) -> Failure {
    Failure::new(
        FailureKind::Internal,
        format!("reading the program failed: {error}"),
        "the pause goes on: try another frame or name, and report this",
    )
}
