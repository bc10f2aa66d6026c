//! The crashes of this process, as the socket's threads see them: no Python object is touched here.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use protocol::{
    Answer, Client, CrashStatus, CrashSummary, Failure, FailureKind, HealOutcome, Holder, Location, Reply,
    Request,
};

/// So many crashes that are over are still listed.
const MAX_ENDED: usize = 20;
/// A client that says nothing for so long no longer holds its crash.
const LEASE: Duration = Duration::from_secs(120);

/// A request on its way to the paused thread.
pub(crate) struct Job {
    /// What is asked.
    pub(crate) request: Request,
    /// Where the answer goes.
    pub(crate) answer: Sender<Answer>,
}

/// A client as the socket knows it.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// What it says of itself.
    pub(crate) client: Client,
    /// Its process, from the socket.
    pub(crate) pid: i32,
}

struct Lease {
    peer: Peer,
    last_call: Instant,
}

struct Entry {
    summary: CrashSummary,
    deadline: Instant,
    jobs: Sender<Job>,
    lease: Option<Lease>,
    /// Counts the pauses and the ends of pauses of this process.
    serial: u64,
}

#[derive(Default)]
struct Registry {
    entries: Vec<Entry>,
    serial: u64,
    exiting: bool,
    /// Requests whose last answer has not been written yet.
    n_in_flight: usize,
    /// The crashes that a client lets go on, until it is told that they do.
    untold: Vec<String>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);
static CHANGED: Condvar = Condvar::new();

fn registry() -> MutexGuard<'static, Option<Registry>> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<T>(act: impl FnOnce(&mut Registry) -> T) -> T {
    act(registry().get_or_insert_default())
}

/// Lists a new crash and returns where its jobs arrive.
pub(crate) fn add(summary: CrashSummary, deadline: Instant) -> Receiver<Job> {
    let (jobs, arriving) = channel();
    with(|registry| {
        registry.serial += 1;
        let serial = registry.serial;
        registry.entries.push(Entry {
            summary,
            deadline,
            jobs,
            lease: None,
            serial,
        });
        let n_ended = registry
            .entries
            .iter()
            .filter(|entry| entry.summary.status != CrashStatus::Paused)
            .count();
        if n_ended > MAX_ENDED {
            let oldest = registry
                .entries
                .iter()
                .position(|entry| entry.summary.status != CrashStatus::Paused);
            registry.entries.remove(oldest.expect("some have ended"));
        }
    });
    CHANGED.notify_all();
    arriving
}

/// Says that a crash is over, once the client that ended it knows: the program may leave at once by `os._exit`.
pub(crate) fn end(crash_id: &str, status: CrashStatus) {
    with(|registry| {
        registry.serial += 1;
        let serial = registry.serial;
        if let Some(entry) = registry
            .entries
            .iter_mut()
            .find(|entry| entry.summary.crash_id == crash_id)
        {
            entry.summary.status = status;
            entry.lease = None;
            entry.serial = serial;
        }
    });
    CHANGED.notify_all();
    wait_until(|registry| registry.untold.iter().all(|untold| untold != crash_id));
}

/// The longest that the program waits for its socket's threads to write an answer.
const MOMENT: Duration = Duration::from_secs(1);

/// Waits a moment at most.
fn wait_until(is_so: impl Fn(&Registry) -> bool) {
    let deadline = Instant::now() + MOMENT;
    let mut guard = registry();
    while !is_so(guard.get_or_insert_default()) {
        let Some(left) = deadline.checked_duration_since(Instant::now()) else {
            break;
        };
        guard = CHANGED
            .wait_timeout(guard, left)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
}

/// Counts a heal that was tried.
pub(crate) fn count_attempt(crash_id: &str) {
    with(|registry| {
        if let Some(entry) = registry
            .entries
            .iter_mut()
            .find(|entry| entry.summary.crash_id == crash_id)
        {
            entry.summary.n_attempts += 1;
        }
    });
}

/// All crashes: paused ones first, then those that are over, the newest first.
pub(crate) fn list() -> Vec<CrashSummary> {
    with(|registry| {
        let mut summaries: Vec<CrashSummary> = registry.entries.iter().rev().map(Entry::now).collect();
        summaries.sort_by_key(|summary| summary.status != CrashStatus::Paused);
        summaries
    })
}

/// One crash as it is now.
pub(crate) fn summary(crash_id: &str) -> Option<CrashSummary> {
    with(|registry| {
        registry
            .entries
            .iter()
            .find(|entry| entry.summary.crash_id == crash_id)
            .map(Entry::now)
    })
}

impl Entry {
    fn now(&self) -> CrashSummary {
        let paused = self.summary.status == CrashStatus::Paused;
        CrashSummary {
            seconds_left: paused.then(|| self.deadline.saturating_duration_since(Instant::now()).as_secs()),
            held_by: self
                .lease
                .as_ref()
                .filter(|lease| lease.is_held())
                .map(Lease::holder),
            ..self.summary.clone()
        }
    }
}

impl Lease {
    fn is_held(&self) -> bool {
        self.last_call.elapsed() < LEASE && is_alive(self.peer.pid)
    }

    fn holder(&self) -> Holder {
        Holder {
            name: self.peer.client.name.clone(),
            pid: self.peer.pid.unsigned_abs(),
            idle_s: self.last_call.elapsed().as_secs(),
        }
    }

    fn is_by(&self, peer: &Peer) -> bool {
        self.peer.pid == peer.pid && self.peer.client.session == peer.client.session
    }
}

fn is_alive(pid: i32) -> bool {
    !matches!(
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), None),
        Err(nix::errno::Errno::ESRCH)
    )
}

/// Passes a request to the paused thread and waits for its answer.
pub(crate) fn ask(crash_id: &str, request: Request, peer: &Peer) -> Answer {
    let changes_it = matches!(
        request,
        Request::Check { .. } | Request::Resume { .. } | Request::Abort { .. }
    );
    let sent = with(|registry| {
        let known: Vec<String> = registry
            .entries
            .iter()
            .map(|entry| entry.summary.crash_id.clone())
            .collect();
        let Some(entry) = registry
            .entries
            .iter_mut()
            .find(|entry| entry.summary.crash_id == crash_id)
        else {
            return Err(unknown(crash_id, &known));
        };
        if entry.summary.status != CrashStatus::Paused {
            return Err(over(&entry.summary));
        }
        if changes_it {
            entry.take_lease(peer)?;
        }
        let (answer, arriving) = channel();
        entry
            .jobs
            .send(Job { request, answer })
            .map_err(|_| over(&entry.summary))?;
        Ok((arriving, registry.serial))
    });
    let (arriving, _) = match sent {
        Ok(sent) => sent,
        Err(failure) => return Answer::Failed(failure),
    };
    arriving.recv().unwrap_or_else(|_| {
        Answer::Failed(Failure::new(
            FailureKind::UnknownCrash,
            format!("crash {crash_id} ended before it answered"),
            "call list_crashes to see what is paused now",
        ))
    })
}

impl Entry {
    fn take_lease(&mut self, peer: &Peer) -> Result<(), Failure> {
        match &self.lease {
            Some(lease) if lease.is_held() && !lease.is_by(peer) => {
                let Holder { name, pid, idle_s } = lease.holder();
                Err(Failure::new(
                    FailureKind::Held,
                    format!(
                        "crash {} is held by {name} (process {pid}, last call {idle_s} s ago)",
                        self.summary.crash_id
                    ),
                    format!(
                        "look on with get_crash, or wait: it is free when {name} ends or is silent for {} s",
                        LEASE.as_secs()
                    ),
                ))
            }
            _ => {
                self.lease = Some(Lease {
                    peer: peer.clone(),
                    last_call: Instant::now(),
                });
                Ok(())
            }
        }
    }
}

fn unknown(crash_id: &str, known: &[String]) -> Failure {
    let hint = if known.is_empty() {
        "this process has no crash: call list_crashes".to_owned()
    } else {
        format!("this process knows {}", known.join(", "))
    };
    Failure::new(
        FailureKind::UnknownCrash,
        format!("no crash is called {crash_id}"),
        hint,
    )
}

fn over(summary: &CrashSummary) -> Failure {
    let how = match summary.status {
        CrashStatus::Resumed => "was healed, and the program went on",
        CrashStatus::Released | CrashStatus::Paused => "is over: its exception went on",
    };
    Failure::new(
        FailureKind::UnknownCrash,
        format!("crash {} {how}", summary.crash_id),
        "call list_crashes to see what is paused now",
    )
}

/// Waits for the next pause or the end of the process, after a heal of `crash_id`; tells what happened.
pub(crate) fn what_next(crash_id: &str, mut outcome: HealOutcome, wait: Duration) -> Reply {
    let deadline = Instant::now() + wait;
    let mut guard = registry();
    let since = guard.as_ref().and_then(|registry| {
        registry
            .entries
            .iter()
            .find(|entry| entry.summary.crash_id == crash_id)
            .map(|entry| entry.serial)
    });
    loop {
        let registry = guard.get_or_insert_default();
        let next = registry
            .entries
            .iter()
            .find(|entry| entry.summary.status == CrashStatus::Paused && Some(entry.serial) > since);
        if let Some(next) = next {
            outcome.outcome = "crashed".to_owned();
            outcome
                .evidence
                .push_str(&format!("; paused again as {}", next.summary.crash_id));
            outcome.next_crash = Some(next.now());
            break;
        }
        if registry.exiting {
            if outcome.outcome == "running" {
                outcome.outcome = "exited".to_owned();
            }
            outcome.evidence.push_str("; the program ran to its end");
            break;
        }
        let Some(left) = deadline
            .checked_duration_since(Instant::now())
            .filter(|left| !left.is_zero())
        else {
            break;
        };
        guard = CHANGED
            .wait_timeout(guard, left)
            .unwrap_or_else(PoisonError::into_inner)
            .0;
    }
    drop(guard);
    Reply::Went(Box::new(outcome))
}

/// A request from its arrival until its answer is written: the process does not end in between.
pub(crate) struct InFlight;

impl InFlight {
    /// Counts a request that has arrived.
    pub(crate) fn begin() -> Self {
        with(|registry| registry.n_in_flight += 1);
        Self
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        with(|registry| registry.n_in_flight = registry.n_in_flight.saturating_sub(1));
        CHANGED.notify_all();
    }
}

/// A request to go on, until the client is told that the program does.
pub(crate) struct Untold(String);

impl Untold {
    /// Notes the request, if it is one to go on.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let (Request::Resume { crash_id, .. } | Request::Abort { crash_id, .. }) = request else {
            return None;
        };
        with(|registry| registry.untold.push(crash_id.clone()));
        Some(Self(crash_id.clone()))
    }
}

impl Drop for Untold {
    fn drop(&mut self) {
        with(|registry| {
            if let Some(index) = registry.untold.iter().position(|untold| *untold == self.0) {
                registry.untold.swap_remove(index);
            }
        });
        CHANGED.notify_all();
    }
}

/// Tells waiting clients that the process ends, and gives all that asked a moment to get their answers.
pub(crate) fn announce_exit() {
    with(|registry| registry.exiting = true);
    CHANGED.notify_all();
    wait_until(|registry| registry.n_in_flight == 0);
}

/// Forgets everything: a forked child has no crash yet, and no thread of its parent's.
pub(crate) fn forget_all() {
    with(|registry| *registry = Registry::default());
}

/// Where a crash is, for people.
pub(crate) fn place(location: &Location) -> String {
    format!("{} ({}:{})", location.function, location.file, location.line)
}
