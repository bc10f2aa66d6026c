//! Exceptions on their way: what was decided once is not asked again at each handler of ours that they meet.

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyType;

/// A handler of ours in a frame: the frame's address and the offset of the instruction that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// The address of the frame object.
    pub(crate) frame: usize,
    /// The byte offset of the instruction.
    pub(crate) offset: u32,
}

impl Site {
    /// The site where the frame stands.
    pub(crate) fn of(frame: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self {
            frame: frame.as_ptr() as usize,
            offset: frame.getattr("f_lasti")?.extract()?,
        })
    }
}

/// An exception that goes on, and the sites that it will meet before something handles it.
struct Passing {
    exception: usize,
    sites: Vec<Site>,
    next: usize,
}

thread_local! {
    static PASSING: RefCell<Option<Passing>> = const { RefCell::new(None) };
}

/// An exception that went on after a pause, known again by itself and by the traceback entry of the pause.
#[derive(Clone, PartialEq, Eq)]
struct Released {
    exception: usize,
    entry: usize,
    /// The types, by address, of the exceptions that take its place on the way.
    becomes: Vec<usize>,
}

static RELEASED: Mutex<Vec<Released>> = Mutex::new(Vec::new());

/// How many released exceptions are remembered; older ones may pause a second time.
const MAX_RELEASED: usize = 64;

/// Remembers that the exception goes on through `sites`, the first of which is asking now.
pub(crate) fn expect(exception: &Bound<'_, PyAny>, sites: Vec<Site>) {
    let passing = (sites.len() > 1).then(|| Passing {
        exception: exception.as_ptr() as usize,
        sites,
        next: 1,
    });
    PASSING.set(passing);
}

/// Whether the exception is on its way and meets the site that was next.
///
/// An exception raised anew, even at the address of an old one, starts at the front and so meets another site.
pub(crate) fn is_expected(exception: &Bound<'_, PyAny>, site: Site) -> bool {
    PASSING.with_borrow_mut(|passing| {
        let Some(expected) = passing else { return false };
        let meets =
            expected.exception == exception.as_ptr() as usize && expected.sites[expected.next] == site;
        expected.next += usize::from(meets);
        if !meets || expected.next == expected.sites.len() {
            *passing = None;
        }
        meets
    })
}

/// Remembers an exception that a pause let go, so that raising it again does not pause again, and neither does an
/// exception of a type in `becomes` that is raised in its place.
pub(crate) fn release(exception: &Bound<'_, PyAny>, becomes: &[Bound<'_, PyType>]) -> PyResult<()> {
    let traceback = exception.getattr("__traceback__")?;
    let released = Released {
        exception: exception.as_ptr() as usize,
        entry: traceback.as_ptr() as usize,
        becomes: becomes.iter().map(|class| class.as_ptr() as usize).collect(),
    };
    let mut all = RELEASED.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() == MAX_RELEASED {
        all.remove(0);
    }
    all.push(released);
    Ok(())
}

/// Whether a pause let this very exception go before, or the one in whose place it is raised.
pub(crate) fn was_released(exception: &Bound<'_, PyAny>) -> bool {
    let all = RELEASED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    if all.is_empty() {
        return false;
    }
    let class = exception.get_type().as_ptr() as usize;
    if all.iter().any(|released| is_released(exception, released)) {
        return true;
    }
    let in_its_place = all.iter().filter(|released| released.becomes.contains(&class));
    let mut origins = Vec::new();
    for released in in_its_place {
        if origins.is_empty() {
            origins = replaced(exception);
        }
        if origins.iter().any(|origin| is_released(origin, released)) {
            return true;
        }
    }
    false
}

fn is_released(exception: &Bound<'_, PyAny>, released: &Released) -> bool {
    if released.exception != exception.as_ptr() as usize {
        return false;
    }
    let mut traceback = exception.getattr("__traceback__").ok();
    while let Some(entry) = traceback.filter(|entry| !entry.is_none()) {
        if entry.as_ptr() as usize == released.entry {
            return true;
        }
        traceback = entry.getattr("tb_next").ok();
    }
    false
}

/// So many exceptions are looked at in whose place one may have been raised.
const MAX_REPLACED: usize = 32;

/// The exceptions in whose place this one was raised: its causes and contexts, and the members of groups.
pub(crate) fn replaced<'py>(exception: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    let mut found: Vec<Bound<'py, PyAny>> = vec![exception.clone()];
    let mut index = 0;
    while index < found.len() && found.len() < MAX_REPLACED {
        let each = found[index].clone();
        index += 1;
        let mut add = |other: Bound<'py, PyAny>| {
            if !other.is_none() && !found.iter().any(|known| known.is(&other)) {
                found.push(other);
            }
        };
        for name in ["__cause__", "__context__"] {
            if let Ok(other) = each.getattr(name) {
                add(other);
            }
        }
        // Only groups have members under this name; another class's attribute would be the program's.
        if crate::decide::is_exact_group(&each)
            && let Ok(members) = each.getattr("exceptions").and_then(|members| members.try_iter())
        {
            members.flatten().for_each(add);
        }
    }
    found.remove(0);
    found
}
