//! The frames of a crash: the live stack from the crashed frame outwards, then those of tasks that await it, and the
//! frames that were left below it.

use pyo3::prelude::*;

use crate::landing::Landings;
use crate::pause::Way;
use crate::render::FrameAt;
use crate::scope;

/// The frames of a crash.
pub(crate) struct Stack<'py> {
    /// The crashed frame first, then outwards.
    pub(crate) stack: Vec<FrameAt<'py>>,
    /// Frames below the crashed one, the innermost first; numbered behind the stack.
    pub(crate) below: Vec<FrameAt<'py>>,
    /// The index in `below` of the frame that crashed, where that is an expression of the crashed frame's own kind.
    pub(crate) crashed_in: Option<usize>,
}

/// Code that is an expression, and so has no statement to go on at: the frame that runs it stands for it.
const EXPRESSIONS: [&str; 5] = ["<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"];

/// One entry of a traceback: its frame, its instruction, its line.
type Entry<'py> = (Bound<'py, PyAny>, i32, Option<u32>);

/// Reads the frames of a crash.
pub(crate) fn read<'py>(way: &Way<'_, 'py>) -> PyResult<Stack<'py>> {
    let crashed = way.frame;
    let entries = traceback(way.exception)?;
    // A frame that caught and raised again by name has several entries; the first says where it stands now.
    let own = entries.iter().position(|(frame, ..)| frame.is(crashed));
    let mut frames = Vec::new();
    let mut next = Some(crashed.clone());
    while let Some(frame) = next {
        next = Some(frame.getattr("f_back")?).filter(|back| !back.is_none());
        frames.push(frame);
    }
    let awaiting = way
        .frames
        .iter()
        .filter(|frame| !frames.iter().any(|running| running.is(*frame)))
        .cloned();
    let awaiting: Vec<_> = awaiting.collect();
    frames.extend(awaiting);
    let mut stack = Vec::with_capacity(frames.len());
    for (index, frame) in frames.into_iter().enumerate() {
        let (lasti, line) = match own.filter(|_| index == 0) {
            Some(own) => raised_at(way, &entries[own])?,
            None => (
                frame.getattr("f_lasti")?.extract()?,
                frame.getattr("f_lineno")?.extract()?,
            ),
        };
        let in_scope = scope::contains_frame(&frame)?;
        stack.push(FrameAt {
            frame,
            lasti,
            line: line.unwrap_or(0),
            index,
            in_scope,
        });
    }
    let mut below = Vec::new();
    let inner = own.map_or(&entries[..], |own| &entries[own + 1..]);
    for (frame, lasti, line) in inner.iter().rev().filter(|(frame, ..)| !frame.is(crashed)) {
        below.push(FrameAt {
            frame: frame.clone(),
            lasti: *lasti,
            line: line.unwrap_or(0),
            index: stack.len() + below.len(),
            in_scope: scope::contains_frame(frame)?,
        });
    }
    let crashed_in = below.iter().position(|at| at.in_scope);
    let crashed_in = crashed_in.filter(|at| is_expression(&below[*at]));
    Ok(Stack {
        stack,
        below,
        crashed_in,
    })
}

fn traceback<'py>(exception: &Bound<'py, PyAny>) -> PyResult<Vec<Entry<'py>>> {
    let mut entries = Vec::new();
    let mut entry = exception.getattr("__traceback__")?;
    while !entry.is_none() {
        entries.push((
            entry.getattr("tb_frame")?,
            entry.getattr("tb_lasti")?.extract()?,
            entry.getattr("tb_lineno")?.extract()?,
        ));
        entry = entry.getattr("tb_next")?;
    }
    Ok(entries)
}

/// Where the crashed frame raised: a bare `raise` leaves the traceback at the statement that raised first.
fn raised_at(way: &Way<'_, '_>, entry: &Entry<'_>) -> PyResult<(i32, Option<u32>)> {
    let (_, lasti, line) = entry;
    let landings = Landings::of(way.frame)?;
    let asking = way.sites.first().and_then(|site| landings.at_site(site.offset));
    Ok(match (asking, u32::try_from(*lasti)) {
        (Some(asking), Ok(offset)) if !landings.guards(&asking, offset) => {
            (i32::try_from(asking.start).unwrap_or(*lasti), Some(asking.line))
        }
        _ => (*lasti, *line),
    })
}

fn is_expression(at: &FrameAt<'_>) -> bool {
    let code = at
        .frame
        .getattr("f_code")
        .and_then(|code| code.getattr("co_name"));
    code.and_then(|name| name.extract::<String>())
        .is_ok_and(|name| EXPRESSIONS.contains(&name.as_str()))
}
