//! The repeat guard: a crash that comes again and again, and each time with the same state, is not healed any more.
//!
//! The same crash is the same exception text at the same place of the same thread, with the same values in the
//! variables of the frames in scope, after the same heal. So a loop over bad records can be healed record by record,
//! and a `retry` that changes nothing is cut short.

use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;

use crate::decide::Code;
use crate::exception_table::covering;
use crate::layout::Layout;
use crate::render::{self, FrameAt};

/// Variables and frames that are looked at.
const MAX_NAMES: usize = 200;
const MAX_FRAMES: usize = 20;

/// The crashes of one thread that were the same, up to now.
#[derive(Default)]
struct Row {
    /// Exception and place.
    key: u64,
    /// The variables, once the crash has come a second time.
    state: Option<u64>,
    /// The heal between the crashes, once there are two.
    heal: Option<u64>,
    n_crashes: u32,
    /// The last heal of this thread.
    last_heal: Option<u64>,
}

thread_local! {
    static ROW: RefCell<Row> = RefCell::new(Row::default());
}

/// Notes a crash and says how often it has come in a row now.
pub(crate) fn count(exception: (&str, &str), stack: &[FrameAt<'_>]) -> PyResult<u32> {
    let in_scope = || stack.iter().filter(|at| at.in_scope).take(MAX_FRAMES);
    let mut key = DefaultHasher::new();
    exception.hash(&mut key);
    for at in in_scope() {
        let code = at.frame.getattr("f_code")?.as_ptr() as usize;
        (code, at.lasti).hash(&mut key);
    }
    let key = key.finish();
    let comes_again = ROW.with_borrow(|row| row.n_crashes > 0 && row.key == key);
    let state = if comes_again {
        let mut state = DefaultHasher::new();
        for at in in_scope() {
            hash_variables(&at.frame, &mut state)?;
            hash_iterators(&at.frame, &mut state)?;
        }
        Some(state.finish())
    } else {
        None
    };
    Ok(ROW.with_borrow_mut(|row| {
        let same_heal = row.heal.is_none() || row.heal == row.last_heal;
        let same_state = row.state.is_none() || row.state == state;
        if comes_again && same_heal && same_state {
            row.n_crashes += 1;
            row.heal = row.last_heal;
        } else {
            row.n_crashes = 1;
            row.heal = None;
        }
        row.key = key;
        row.state = state;
        row.n_crashes
    }))
}

/// Notes the heal with which this thread goes on.
pub(crate) fn note_heal(proposal: &protocol::HealProposal) {
    let mut heal = DefaultHasher::new();
    (
        proposal.frame,
        &proposal.code,
        proposal.then.map(protocol::ResumeAction::as_str),
        &proposal.value,
        proposal.line,
    )
        .hash(&mut heal);
    ROW.with_borrow_mut(|row| row.last_heal = Some(heal.finish()));
}

fn hash_variables(frame: &Bound<'_, PyAny>, state: &mut DefaultHasher) -> PyResult<()> {
    let limits = render::Limits::default();
    for item in frame
        .getattr("f_locals")?
        .call_method0("items")?
        .try_iter()?
        .take(MAX_NAMES)
    {
        let (name, value) = item?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
        let Ok(name) = name.extract::<String>() else {
            continue;
        };
        name.hash(state);
        match progress(&value) {
            Some(progress) => progress.hash(state),
            None => render::value(&value, &limits).text.hash(state),
        }
    }
    Ok(())
}

/// The iterators of the loops that the frame is in lie on its stack.
fn hash_iterators(frame: &Bound<'_, PyAny>, state: &mut DefaultHasher) -> PyResult<()> {
    let Some(layout) = Layout::of(frame.py()) else {
        return Ok(());
    };
    let code = Code::of(frame)?;
    let offset: u32 = frame.getattr("f_lasti")?.extract()?;
    let depth = covering(&code.regions, offset).map_or(0, |region| region.depth);
    for place in 0..depth as usize {
        // SAFETY: the frame is alive and executes within the region, so its stack holds `depth` values.
        let value = unsafe { layout.stack_value(frame, code.locals.len(), place) };
        value.as_ref().and_then(progress).hash(state);
    }
    Ok(())
}

/// How far a value has come that the usual rendering does not show: by CPython's own code alone.
fn progress(value: &Bound<'_, PyAny>) -> Option<String> {
    let class = value.get_type();
    let (module, name) = (class.module().ok()?, class.name().ok()?);
    match (module.to_str().ok()?, name.to_str().ok()?) {
        ("re", "Match") => value.repr().ok().map(|text| text.to_string()),
        ("builtins", name) if name.ends_with("iterator") => {
            let left = value.call_method0("__length_hint__").ok()?;
            Some(format!("{name} {left}"))
        }
        _ => None,
    }
}
