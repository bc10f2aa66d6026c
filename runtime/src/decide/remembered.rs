//! Decisions that need not be made twice.
//!
//! A loop that handles an exception a million times would have the stack simulated a million times. Where a decision
//! followed from code alone, which is the rule, the same type of exception at the same instruction under the same
//! callers comes to the same end, as long as the names in the `except` clauses still mean the same. Then the frames
//! are compared where they lie in memory, without an object for any of them, and so the exception goes on in a
//! fraction of a microsecond. Only decisions not to pause are remembered.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rustc_hash::FxHashMap;

use super::reads::{Reading, Reads};
use crate::layout::{Layout, RawFrame};
use crate::passing::Site;

/// A decision not to pause.
struct Remembered {
    /// The running frames from the asking one to the last that the decision depended on, as they were.
    path: Vec<Place>,
    readings: Vec<Reading>,
    /// The other handlers of ours that the exception meets: the frame's index in `path` and the instruction.
    sites: Vec<(usize, usize)>,
    /// The addresses in `path` stay those of this code as long as it lives.
    _codes: Vec<Py<PyAny>>,
    _exception_type: Py<PyAny>,
}

/// Where a frame stands.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    code: usize,
    instruction: usize,
    /// Whether C code called it, where the frame itself says so.
    is_entry: bool,
}

/// An instruction that asks, and the type of the exception.
type Key = (usize, usize);

/// So many decisions are kept for one place and type, each with other callers, and so many places.
const MAX_CALLERS: usize = 4;
const MAX_PLACES: usize = 4096;
/// A decision that depends on more frames or names is made anew each time.
const MAX_FRAMES: usize = 64;
const MAX_READINGS: usize = 32;

static REMEMBERED: LazyLock<Mutex<FxHashMap<Key, Vec<Remembered>>>> = LazyLock::new(Mutex::default);

/// An exception that goes on by a remembered decision, and where it will ask again: frame and instruction.
#[derive(Default)]
struct OnItsWay {
    exception: usize,
    sites: Vec<(usize, usize)>,
    next: usize,
}

/// How many threads may have an exception on its way: where none has, nobody needs to look.
static N_ON_THEIR_WAY: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static ON_ITS_WAY: RefCell<OnItsWay> = RefCell::new(OnItsWay::default());
}

/// Whether an earlier decision says that the exception goes on; `false` means only that nobody knows.
pub(crate) fn goes_on(py: Python<'_>, exception: &Bound<'_, PyAny>) -> bool {
    let Some(frame) = Layout::of(py).and_then(|layout| RawFrame::running(py, layout)) else {
        return false;
    };
    is_expected(exception, frame) || recall(exception, frame)
}

/// Whether the exception is on its way and asks where it was to ask next.
fn is_expected(exception: &Bound<'_, PyAny>, frame: RawFrame) -> bool {
    if N_ON_THEIR_WAY.load(Ordering::Relaxed) == 0 {
        return false;
    }
    ON_ITS_WAY.with_borrow_mut(|way| {
        let here = (frame.address(), frame.instruction());
        let expected = way.sites.get(way.next) == Some(&here) && way.exception == exception.as_ptr() as usize;
        way.next += 1;
        if !expected || way.next == way.sites.len() {
            way.clear();
        }
        expected
    })
}

/// Looks for a decision made at this place before, and notes where the exception will ask again.
fn recall(exception: &Bound<'_, PyAny>, frame: RawFrame) -> bool {
    let key = (frame.instruction(), exception.get_type_ptr() as usize);
    let Some(remembered) = remembered() else {
        return false;
    };
    let Some(decisions) = remembered.get(&key) else {
        return false;
    };
    let same = decisions.iter().find(|decision| {
        decision.is_path_of(frame) && decision.readings.iter().all(|reading| reading.still_holds())
    });
    let Some(decision) = same else { return false };
    if !decision.sites.is_empty() {
        ON_ITS_WAY.with_borrow_mut(|way| way.expect(exception, frame, &decision.sites));
    }
    true
}

impl OnItsWay {
    fn expect(&mut self, exception: &Bound<'_, PyAny>, frame: RawFrame, sites: &[(usize, usize)]) {
        self.clear();
        N_ON_THEIR_WAY.fetch_add(1, Ordering::Relaxed);
        self.exception = exception.as_ptr() as usize;
        let mut frames = frame.and_callers().map(RawFrame::address).enumerate();
        // The sites come in the order of the frames; some are in the same one.
        let mut at = frames.next();
        for (index, instruction) in sites {
            while at.is_some_and(|(passed, _)| passed < *index) {
                at = frames.next();
            }
            if let Some((_, address)) = at {
                self.sites.push((address, *instruction));
            }
        }
    }

    fn clear(&mut self) {
        if !self.sites.is_empty() {
            N_ON_THEIR_WAY.fetch_sub(1, Ordering::Relaxed);
        }
        self.sites.clear();
        self.next = 0;
    }
}

/// Remembers a decision not to pause, unless it depended on more than code and names.
///
/// `frames` are those that the exception would leave and the last one, which handles it; `with_caller` says that the
/// decision depended on what the last one's caller calls, too.
pub(super) fn remember(
    exception: &Bound<'_, PyAny>,
    frames: &[Bound<'_, PyAny>],
    with_caller: bool,
    sites: &[Site],
    reads: Reads,
) -> PyResult<()> {
    let py = exception.py();
    let (Some(readings), Some(layout)) = (reads.only_names(), Layout::of(py)) else {
        return Ok(());
    };
    let (Some(last), Some(first)) = (frames.last(), RawFrame::running(py, layout)) else {
        return Ok(());
    };
    if readings.len() > MAX_READINGS {
        return Ok(());
    }
    let last = RawFrame::of(last, layout).address();
    let running: Vec<RawFrame> = first.and_callers().take(MAX_FRAMES).collect();
    let Some(n_frames) = running.iter().position(|frame| frame.address() == last) else {
        // The exception went to another task, or the path is too long.
        return Ok(());
    };
    let Some(running) = running.get(..=n_frames + usize::from(with_caller)) else {
        return Ok(());
    };
    let mut later = Vec::new();
    for site in sites.iter().skip(1) {
        let frame = frames.iter().find(|frame| frame.as_ptr() as usize == site.frame);
        let Some(frame) = frame else { return Ok(()) };
        let raw = RawFrame::of(frame, layout);
        let Some(index) = running.iter().position(|frame| frame.address() == raw.address()) else {
            return Ok(());
        };
        let offset: usize = frame.getattr("f_lasti")?.extract()?;
        later.push((index, raw.instruction() - offset + site.offset as usize));
    }
    let codes = running.iter().filter_map(|frame| frame.code_object(py)).collect();
    let decision = Remembered {
        path: running.iter().copied().map(Place::of).collect(),
        readings,
        sites: later,
        _codes: codes,
        _exception_type: exception.get_type().into_any().unbind(),
    };
    let key = (first.instruction(), exception.get_type_ptr() as usize);
    let Some(mut all) = remembered() else {
        return Ok(());
    };
    if all.len() >= MAX_PLACES {
        all.clear();
    }
    let decisions = all.entry(key).or_default();
    if decisions.len() == MAX_CALLERS {
        decisions.remove(0);
    }
    decisions.push(decision);
    Ok(())
}

impl Remembered {
    /// Whether the frame and its callers stand where they stood.
    fn is_path_of(&self, frame: RawFrame) -> bool {
        let mut running = frame.and_callers();
        self.path
            .iter()
            .all(|place| running.next().is_some_and(|frame| Place::of(frame) == *place))
    }
}

impl Place {
    fn of(frame: RawFrame) -> Self {
        Self {
            code: frame.code(),
            instruction: frame.instruction(),
            is_entry: frame.is_entry(),
        }
    }
}

impl Reading {
    fn still_holds(&self) -> bool {
        let found = |dict: &Py<PyDict>| {
            // SAFETY: both are live objects; the name is an exact string, so no code of the program runs.
            let value = unsafe { pyo3::ffi::PyDict_GetItemWithError(dict.as_ptr(), self.name.as_ptr()) };
            value as usize
        };
        let value = match (found(&self.globals), &self.builtins) {
            (0, Some(builtins)) => found(builtins),
            (value, _) => value,
        };
        value == self.value
    }
}

/// All decisions; `None` where somebody is just looking at them.
fn remembered() -> Option<MutexGuard<'static, FxHashMap<Key, Vec<Remembered>>>> {
    REMEMBERED.try_lock().ok()
}
