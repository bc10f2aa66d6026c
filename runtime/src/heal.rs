//! A heal at a crash: checked, given an id, run for good when it is resumed.
//!
//! A check runs the healing code over the live objects and takes everything back; a resume runs it again and keeps
//! what it wrote. Between the two nothing of the heal is in the program.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use healcore::tree::{Program, Stmt, StmtKind};
use healguard::{Behaviour, Policy};
use protocol::{
    ActionOffer, Check, Failure, FailureKind, HealProposal, HealRecord, Location, Refusal, ResumeAction,
    StateChange, Verdict, VerdictKind,
};
use pyo3::prelude::*;
use serde_json::json;

use crate::frame_names;
use crate::gate::{self, Written};
use crate::interpret::{self, Flow, HealError, Purpose, Run};
use crate::journal::{self, Healed};
use crate::passing::Site;
use crate::plan::{Plan, Route};
use crate::raise_new::{self, Making};
use crate::render::{self, FrameAt, Secrets};
use crate::resume::Action;
use crate::saved;
use crate::{repeats, state};

/// How long a checked heal can be resumed.
const GOOD_FOR: Duration = Duration::from_secs(600);

/// A heal that a check let pass.
struct Checked {
    proposal: HealProposal,
    program: Program,
    making: Making,
    checked_at: Instant,
}

/// What the paused thread does once a heal has been applied.
pub(crate) struct Resumption {
    /// The frame that goes on.
    pub(crate) frame: Py<PyAny>,
    /// Where it goes on.
    pub(crate) action: Action,
    /// The heal.
    pub(crate) heal_id: String,
    /// What it wrote, for the gate.
    pub(crate) written: Vec<Written>,
    /// Where it goes on, when that is a line.
    pub(crate) location: Option<Location>,
    /// What was done, in words.
    pub(crate) evidence: String,
    /// What kinds of things were done.
    pub(crate) behaviours: Vec<String>,
}

/// A frame in which healing code can run.
struct Target<'py> {
    index: usize,
    frame: Bound<'py, PyAny>,
    location: Location,
    plan: Plan,
    /// Whether it is on the running stack, and not of a task that waits.
    is_running: bool,
}

/// Checks and applies heals in the frames of a crash.
pub(crate) struct Healer<'py> {
    /// The crashed frame first.
    targets: Vec<Target<'py>>,
    exception: String,
    crash_id: String,
    checked: HashMap<String, Checked>,
    attempts: Vec<HealRecord>,
}

impl<'py> Healer<'py> {
    /// Prepares for heals in the frames of the stack that have a handler of ours on the exception's way.
    pub(crate) fn new(
        stack: &[FrameAt<'py>],
        sites: &[Site],
        exception: &str,
        crash_id: &str,
    ) -> PyResult<Self> {
        let mut targets = Vec::new();
        for at in stack {
            let address = at.frame.as_ptr() as usize;
            if let Some(site) = sites.iter().find(|site| site.frame == address) {
                targets.push(Target {
                    index: at.index,
                    frame: at.frame.clone(),
                    location: render::location(at),
                    plan: Plan::of(at, site.offset)?,
                    is_running: is_running(&stack[0].frame, &at.frame)?,
                });
            }
        }
        Ok(Self {
            targets,
            exception: exception.to_owned(),
            crash_id: crash_id.to_owned(),
            checked: HashMap::new(),
            attempts: Vec::new(),
        })
    }

    /// The resume actions in the crashed frame, each with what it will do.
    pub(crate) fn offers(&self) -> Vec<ActionOffer> {
        self.targets
            .first()
            .map(|target| target.plan.offers())
            .unwrap_or_default()
    }

    fn target(&self, index: usize) -> Result<&Target<'py>, Failure> {
        self.targets
            .iter()
            .find(|target| target.index == index)
            .ok_or_else(|| {
                let known: Vec<String> = self
                    .targets
                    .iter()
                    .map(|target| target.index.to_string())
                    .collect();
                Failure::new(
                    FailureKind::UnknownPlace,
                    format!("frame {index} cannot be healed: the exception meets no handler of ours in it"),
                    format!("frames that can be healed: {}", known.join(", ")),
                )
            })
    }

    /// The heals that were tried here.
    pub(crate) fn attempts(&self) -> &[HealRecord] {
        &self.attempts
    }

    /// Checks a heal and leaves the program as it was.
    pub(crate) fn check(&mut self, proposal: &HealProposal) -> Result<Check, Failure> {
        let check = self.look_at(proposal)?;
        let outcome = match &check.heal_id {
            Some(_) => "checked, not applied".to_owned(),
            None => check.verdict.reason.clone(),
        };
        let heal_id = check.heal_id.clone().unwrap_or_default();
        journal::write(
            "check",
            json!({ "crash_id": self.crash_id, "proposal": proposal, "check": check }),
        );
        let verdict = check.verdict.verdict;
        self.attempts.push(HealRecord {
            heal_id,
            proposal: proposal.clone(),
            verdict,
            outcome,
        });
        Ok(check)
    }

    fn look_at(&mut self, proposal: &HealProposal) -> Result<Check, Failure> {
        let target = self.target(proposal.frame)?;
        let (program, making) = match read(proposal, &target.frame)? {
            Ok(read) => read,
            Err(violations) => {
                let reason = match &violations[..] {
                    [one] => one.message.clone(),
                    all => format!("{} rules are broken; the first: {}", all.len(), all[0].message),
                };
                let rule = violations[0].rule.clone();
                return Ok(Check {
                    violations,
                    ..denied("healcore", &rule, reason, String::new())
                });
            }
        };
        let run = match interpret::run(&program, &target.frame, &gate::Calls, Purpose::Rehearsal) {
            Ok(run) => run,
            Err(error) => {
                let rule = error.rule().unwrap_or_default().to_owned();
                let secrets = Secrets::of(&target.frame);
                return Ok(denied(
                    "run",
                    &rule,
                    secrets.mask(&what(&error)),
                    secrets.mask(&error.hint),
                ));
            }
        };
        let secrets = Secrets::of(&target.frame);
        let changes = masked(&run.changes(), &secrets);
        let printed = secrets.mask(run.printed());
        let written = gate::written(&run);
        let temporary = run.temporary_names();
        let horizon = run.horizon().cloned();
        let route = match (&horizon, proposal.then) {
            (Some(_), None | Some(ResumeAction::Return | ResumeAction::RaiseNew)) => Ok(None),
            _ => target.route(proposal, making, &run.flow).map(Some),
        };
        let is_outer = target.index != self.targets[0].index;
        let behaviours = behaviours(&run, proposal, is_outer);
        let trusted = notes_of_toolkit(&run);
        run.rollback().map_err(|error| internal(&error))?;
        let route = match route {
            Ok(route) => route,
            Err(no_jump) => {
                return Ok(Check {
                    changes,
                    printed,
                    ..denied("jump", "", no_jump.message, no_jump.hint)
                });
            }
        };
        let (effect, notes) = match route {
            Some(route) => (route.effect, route.notes),
            None => ("goes on as the code says, once it has run".to_owned(), Vec::new()),
        };
        let on_writes = gate::verdict_on_writes(target.frame.py(), &written);
        if let Some(verdict) = on_writes.or_else(|| verdict_on_behaviours(&behaviours)) {
            return Ok(Check {
                changes,
                printed,
                effect,
                behaviours: in_names(&behaviours),
                ..with_verdict(verdict)
            });
        }
        let verdict = match &horizon {
            None => allowed(),
            Some(horizon) => Verdict {
                checked_until: format!(
                    "line {} of the healing code, which calls `{}`: from here on not run beforehand",
                    horizon.line, horizon.path
                ),
                ..allowed()
            },
        };
        let heal_id = format!("h-{}", &crate::announce::new_crash_id()[2..]);
        let checked = Checked {
            proposal: proposal.clone(),
            program,
            making,
            checked_at: Instant::now(),
        };
        self.checked.insert(heal_id.clone(), checked);
        Ok(Check {
            heal_id: Some(heal_id),
            changes,
            printed,
            effect,
            behaviours: in_names(&behaviours),
            notes: notes
                .into_iter()
                .chain(note_of_temporary(&temporary))
                .chain(trusted)
                .collect(),
            expires_s: GOOD_FOR.as_secs(),
            ..with_verdict(verdict)
        })
    }

    /// Applies a checked heal, once.
    pub(crate) fn resume(&mut self, heal_id: &str) -> Result<Resumption, Failure> {
        let Some(checked) = self.checked.remove(heal_id) else {
            let known = self.checked.keys().cloned().collect::<Vec<_>>().join(", ");
            let hint = match known.as_str() {
                "" => "call check_heal first: it gives a heal_id when the verdict is allow".to_owned(),
                known => format!("checked and unused at this crash: {known}"),
            };
            let message = format!(
                "heal {heal_id} is unknown at crash {}, or was used",
                self.crash_id
            );
            return Err(Failure::new(FailureKind::UnknownHeal, message, hint));
        };
        if checked.checked_at.elapsed() > GOOD_FOR {
            return Err(Failure::new(
                FailureKind::UnknownHeal,
                format!(
                    "heal {heal_id} was checked more than {} s ago",
                    GOOD_FOR.as_secs()
                ),
                "call check_heal again with the same code",
            ));
        }
        let target = self.target(checked.proposal.frame)?;
        let run = interpret::run(&checked.program, &target.frame, &gate::Calls, Purpose::ForGood).map_err(
            |error| {
                let secrets = Secrets::of(&target.frame);
                let hint = format!("nothing was changed; {}", secrets.mask(&error.hint));
                Failure::new(FailureKind::HealFailed, secrets.mask(&what(&error)), hint)
            },
        )?;
        let route = target
            .route(&checked.proposal, checked.making, &run.flow)
            .map_err(|no_jump| {
                Failure::new(
                    FailureKind::JumpRefused,
                    no_jump.message,
                    and_stays(no_jump.hint, &run),
                )
            })?;
        let written = gate::written(&run);
        let is_outer = target.index != self.targets[0].index;
        let behaviours = behaviours(&run, &checked.proposal, is_outer);
        let on_writes = gate::verdict_on_writes(target.frame.py(), &written);
        if let Some(verdict) = on_writes.or_else(|| verdict_on_behaviours(&behaviours)) {
            return Err(Failure::new(
                FailureKind::NotAllowed,
                verdict.reason,
                and_stays("nothing was changed; heal another way".to_owned(), &run),
            ));
        }
        let changes = masked(&run.changes(), &Secrets::of(&target.frame));
        journal::write(
            "resume",
            json!({
                "crash_id": self.crash_id, "heal_id": heal_id, "proposal": checked.proposal,
                "changes": changes, "effect": route.effect, "behaviours": in_names(&behaviours),
                "saves": run.saved().iter().map(|saved| &saved.name).collect::<Vec<_>>(),
            }),
        );
        let files = match saved::write(run.saved()) {
            Ok(files) => files,
            Err((files, error)) => {
                let message = format!("saving a value failed: {error}");
                let hint = with_files("nothing was changed; heal without heal.save".to_owned(), &files);
                return Err(Failure::new(
                    FailureKind::HealFailed,
                    message,
                    and_stays(hint, &run),
                ));
            }
        };
        let stays = run.what_stays();
        run.commit(&target.frame).map_err(|error| {
            Failure::new(
                FailureKind::HealFailed,
                format!("writing to the frame failed: {error}"),
                with_files(
                    match &stays {
                        None => "nothing was changed; check the heal again".to_owned(),
                        Some(stays) => format!("nothing was changed, {stays}; check the heal again"),
                    },
                    &files,
                ),
            )
        })?;
        repeats::note_heal(&checked.proposal);
        if !matches!(route.action, Action::Raise) {
            journal::note_heal(Healed {
                exception: self.exception.clone(),
                place: crate::crashes::place(&target.location),
                changes: changes.iter().map(in_words).collect(),
                effect: route.effect.clone(),
            });
        }
        let n_changes = changes.len();
        let evidence = with_files(format!("{n_changes} write(s) applied; {}", route.effect), &files);
        Ok(Resumption {
            action: route.action,
            heal_id: heal_id.to_owned(),
            written,
            location: route.line.map(|line| Location {
                line,
                ..target.location.clone()
            }),
            frame: target.frame.clone().unbind(),
            evidence,
            behaviours: in_names(&behaviours),
        })
    }
}

impl<'py> Target<'py> {
    fn route(
        &self,
        proposal: &HealProposal,
        making: Making,
        flow: &Flow<'py>,
    ) -> Result<Route, crate::control::NoJump> {
        let masked = |route: Route| {
            let effect = Secrets::of(&self.frame).mask(&route.effect);
            Route { effect, ..route }
        };
        match flow {
            Flow::Return(value) if proposal.then == Some(ResumeAction::RaiseNew) => {
                let line = self.plan.line_here();
                raise_new::route(&self.frame, line, making, value, self.is_running).map(masked)
            }
            Flow::Return(value) => self.plan.return_value(value).map(masked),
            Flow::Break => self.plan.break_loop(),
            Flow::Continue => self.plan.continue_loop(),
            Flow::End => match proposal.then {
                Some(ResumeAction::Next) => self.plan.next(),
                Some(ResumeAction::Retry) => self.plan.retry(),
                Some(ResumeAction::Line) => self.plan.line(proposal.line),
                Some(ResumeAction::Return) => self
                    .plan
                    .return_value(self.frame.py().None().bind(self.frame.py())),
                // `read` has put the exception at the end of the code, as what it returns, and lets only code through that goes on itself where `then` is absent; it did not reach its
                // own return here, so the exception stands.
                Some(ResumeAction::Raise | ResumeAction::RaiseNew) | None => Ok(self.plan.raise()),
            },
        }
    }
}

/// Reads code and value into one program; the inner error holds the rules that they break.
fn read(
    proposal: &HealProposal,
    frame: &Bound<'_, PyAny>,
) -> Result<Result<(Program, Making), Vec<Refusal>>, Failure> {
    let options = frame_names::options(frame).map_err(|error| internal(&error))?;
    let checked = roomy(|| healcore::check(&proposal.code, &options))?;
    let mut violations: Vec<Refusal> = checked.violations.into_iter().map(refusal).collect();
    let (making, value) = match (&proposal.value, proposal.then) {
        (None, Some(ResumeAction::RaiseNew)) => {
            return Err(Failure::new(
                FailureKind::BadRequest,
                "`then: raise-new` needs `value`, the exception",
                "give an exception, such as KeyError('id')",
            ));
        }
        (None, _) => (Making::AsIs, None),
        (Some(_), then) if !matches!(then, Some(ResumeAction::Return | ResumeAction::RaiseNew)) => {
            return Err(Failure::new(
                FailureKind::BadRequest,
                "`value` is only for `then: return` and `then: raise-new`",
                "leave `value` out, or choose one of them",
            ));
        }
        (Some(text), then) => {
            let builtin = match then {
                Some(ResumeAction::RaiseNew) => roomy(|| raise_new::read_builtin(text, &options))?,
                _ => None,
            };
            match builtin {
                Some((making, arguments)) => (making, Some(arguments)),
                None => {
                    let checked = roomy(|| healcore::check_expression(text, &options))?;
                    violations.extend(checked.violations.into_iter().map(|violation| {
                        let refusal = refusal(violation);
                        Refusal {
                            message: format!("in `value`: {}", refusal.message),
                            ..refusal
                        }
                    }));
                    (Making::AsIs, checked.expression)
                }
            }
        }
    };
    let Some(mut program) = checked.program.filter(|_| violations.is_empty()) else {
        return Ok(Err(violations));
    };
    let goes_on_itself = program.body.iter().any(goes_on_itself);
    match (proposal.then, goes_on_itself) {
        (Some(then), true) => Err(Failure::new(
            FailureKind::BadRequest,
            format!(
                "the code says where to go on (return, break or continue), and so does `then: {}`",
                then.as_str()
            ),
            "give only one of them",
        )),
        (None, false) => Err(Failure::new(
            FailureKind::BadRequest,
            "nothing says where to go on",
            "give `then`: next, retry, line (with `line`), return (with `value`), raise or raise-new (with `value`)",
        )),
        _ => {
            if let Some(value) = value {
                let span = value.span;
                program.body.push(Stmt {
                    span,
                    kind: StmtKind::Return(Some(value)),
                });
            }
            Ok(Ok((program, making)))
        }
    }
}

/// Whether a frame is the crashed one or one of its callers.
fn is_running(crashed: &Bound<'_, PyAny>, frame: &Bound<'_, PyAny>) -> PyResult<bool> {
    let mut next = crashed.clone();
    while !next.is_none() {
        if next.is(frame) {
            return Ok(true);
        }
        next = next.getattr("f_back")?;
    }
    Ok(false)
}

/// What a run of healing code ended in, in words.
fn what(error: &HealError) -> String {
    if error.line == 0 {
        error.message.clone()
    } else {
        format!("{} (line {} of the healing code)", error.message, error.line)
    }
}

/// What kinds of things a heal did, with where it goes on.
fn behaviours(run: &Run<'_>, proposal: &HealProposal, is_outer: bool) -> Vec<Behaviour> {
    let mut all: BTreeSet<Behaviour> = run.behaviours().clone();
    let then = match (&run.flow, run.horizon()) {
        (Flow::End, None) | (_, Some(_)) => proposal.then,
        (Flow::Return(_) | Flow::Break | Flow::Continue, None) => Some(ResumeAction::Return),
    };
    match then {
        Some(ResumeAction::Next) => all.insert(Behaviour::SkipStatement),
        Some(ResumeAction::Line | ResumeAction::Return | ResumeAction::RaiseNew) => {
            all.insert(Behaviour::ChangeControlFlow)
        }
        // Not run to its end, so that its own `return`, `break` or `continue` may still come.
        None if run.horizon().is_some() => all.insert(Behaviour::ChangeControlFlow),
        Some(ResumeAction::Retry | ResumeAction::Raise) | None => false,
    };
    let goes_on = !matches!(then, None | Some(ResumeAction::Raise));
    if is_outer && goes_on {
        all.insert(Behaviour::ChangeControlFlow);
    }
    all.into_iter().collect()
}

fn in_names(behaviours: &[Behaviour]) -> Vec<String> {
    behaviours.iter().map(Behaviour::to_string).collect()
}

/// The denial of what the configuration does not let heals do.
fn verdict_on_behaviours(behaviours: &[Behaviour]) -> Option<Verdict> {
    healguard::Verdict::on_behaviours(behaviours, policy()).map(|verdict| converted(&verdict))
}

/// What a check says of functions that are taken at their word, and of files that the resume writes.
fn notes_of_toolkit(run: &Run<'_>) -> Vec<String> {
    let trusted = run.trusted().iter().map(|name| {
        format!("`{name}` was really called: the program's developers call it pure, and its effects are not in the journal")
    });
    let horizon = run.horizon().map(|horizon| {
        format!(
            "`{}` (line {}) is of the developers' toolkit: the resume really calls it, its effects are not in the \
             journal and cannot be taken back; from here on nothing was run beforehand",
            horizon.path, horizon.line
        )
    });
    let files = run.saved().iter().map(|saved| {
        format!(
            "the resume saves {} bytes as {}.json in .healmcp/saved; that is not taken back",
            saved.json.len(),
            saved.name
        )
    });
    trusted.chain(horizon).chain(files).collect()
}

/// A hint, with what functions did that were called for good.
fn and_stays(hint: String, run: &Run<'_>) -> String {
    match run.what_stays() {
        None => hint,
        Some(stays) => format!("{hint}; {stays}"),
    }
}

/// A text with the files that were written and stay.
fn with_files(text: String, files: &[std::path::PathBuf]) -> String {
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    match names.as_slice() {
        [] => text,
        names => format!("{text}; saved: {}", names.join(", ")),
    }
}

fn note_of_temporary(names: &[String]) -> Option<String> {
    let names = names.join(", ");
    (!names.is_empty()).then(|| format!("no code of the frame reads {names}: gone with the healing code"))
}

fn internal(error: &PyErr) -> Failure {
    Failure::new(
        FailureKind::Internal,
        format!("reading the program failed: {error}"),
        "the pause goes on: try again, and report this",
    )
}

/// Checks where there is room: the program's thread may have a small stack, or have used it up.
fn roomy<T: Send>(check: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    interpret::with_room(check).map_err(|error| {
        let message = format!("checking failed: {error}");
        Failure::new(
            FailureKind::Internal,
            message,
            "the pause goes on: write the code another way, and report this",
        )
    })
}

/// Evaluates an expression in a frame; it can change nothing.
pub(crate) fn evaluate<'py>(text: &str, frame: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>, Failure> {
    let options = frame_names::options(frame).map_err(|error| internal(&error))?;
    let checked = roomy(|| healcore::check_expression(text, &options))?;
    if let Some(violation) = checked.violations.first() {
        let message = format!("{}: {}", violation.rule, violation.message);
        return Err(Failure::new(
            FailureKind::BadRequest,
            message,
            violation.help.clone(),
        ));
    }
    let Some(expression) = checked.expression else {
        return Err(Failure::new(
            FailureKind::BadRequest,
            "there is no expression",
            "write one, such as `rows[0]`",
        ));
    };
    interpret::evaluate(&expression, frame, &gate::Calls, &interpret::Limits::default()).map_err(|error| {
        let secrets = Secrets::of(frame);
        Failure::new(
            FailureKind::HealFailed,
            secrets.mask(&error.message),
            secrets.mask(&error.hint),
        )
    })
}

/// What a heal changed, without the texts of secrets that it moved.
fn masked(changes: &[StateChange], secrets: &Secrets) -> Vec<StateChange> {
    let mask = |change: &StateChange| StateChange {
        place: secrets.mask(&change.place),
        old: secrets.mask(&change.old),
        new: secrets.mask(&change.new),
        ..change.clone()
    };
    changes.iter().map(mask).collect()
}

fn in_words(change: &StateChange) -> String {
    format!("{}: {} -> {}", change.place, change.old, change.new)
}

/// Whether the statement holds a top-level `return`, `break` or `continue`.
fn goes_on_itself(statement: &Stmt) -> bool {
    match &statement.kind {
        StmtKind::Return(_) | StmtKind::ResumeBreak | StmtKind::ResumeContinue => true,
        StmtKind::If { body, orelse, .. }
        | StmtKind::For { body, orelse, .. }
        | StmtKind::While { body, orelse, .. } => body.iter().chain(orelse).any(goes_on_itself),
        StmtKind::Try {
            body,
            handlers,
            orelse,
            finalbody,
        } => {
            let handled = handlers.iter().flat_map(|handler| &handler.body);
            body.iter()
                .chain(handled)
                .chain(orelse)
                .chain(finalbody)
                .any(goes_on_itself)
        }
        _ => false,
    }
}

fn refusal(violation: healcore::Violation) -> Refusal {
    Refusal {
        rule: violation.rule.to_owned(),
        line: violation.line,
        column: violation.column,
        message: violation.message,
        help: violation.help,
    }
}

/// The program's policy; a process whose policy cannot be read was refused by `healmcp run`.
pub(crate) fn policy() -> &'static Policy {
    static POLICY: std::sync::OnceLock<Policy> = std::sync::OnceLock::new();
    POLICY.get_or_init(|| {
        Policy::from_json(&state::settings().guard).unwrap_or_else(|error| {
            state::complain(&format!("the guard's configuration cannot be read: {error}"));
            Policy::default()
        })
    })
}

fn allowed() -> Verdict {
    let checked_until = if policy().is_empty() {
        "the heal's own writes; the program names no protected operation"
    } else {
        "the heal's own writes; protected operations stay gated while the program goes on"
    };
    converted(&healguard::Verdict::allow(policy().on_unconfirmed, checked_until))
}

/// A verdict of the guard as it crosses the socket.
pub(crate) fn converted(verdict: &healguard::Verdict) -> Verdict {
    Verdict {
        verdict: match verdict.kind {
            healguard::VerdictKind::Allow => VerdictKind::Allow,
            healguard::VerdictKind::NeedsApproval => VerdictKind::NeedsApproval,
            healguard::VerdictKind::Deny => VerdictKind::Deny,
        },
        stage: verdict.stage.to_owned(),
        rule: verdict.rule.to_owned(),
        reason: verdict.reason.clone(),
        source: None,
        sink: verdict.sink.clone(),
        checked_until: verdict.checked_until.clone(),
        policy: verdict.policy.to_owned(),
    }
}

fn denied(stage: &str, rule: &str, reason: String, hint: String) -> Check {
    Check {
        notes: if hint.is_empty() { Vec::new() } else { vec![hint] },
        ..with_verdict(Verdict {
            verdict: VerdictKind::Deny,
            stage: stage.to_owned(),
            rule: rule.to_owned(),
            reason,
            source: None,
            sink: None,
            checked_until: "the healing code".to_owned(),
            policy: policy().on_unconfirmed.as_str().to_owned(),
        })
    }
}

fn with_verdict(verdict: Verdict) -> Check {
    Check {
        heal_id: None,
        verdict,
        violations: Vec::new(),
        changes: Vec::new(),
        printed: String::new(),
        effect: String::new(),
        behaviours: Vec::new(),
        notes: Vec::new(),
        expires_s: 0,
    }
}
