//! Where a statement starts and where it ends, in bytecode: the places that a jump lands on.
//!
//! Every statement that can raise has a handler of ours, so the exception table tells its first instruction (the
//! start of what the handler covers), and the handler's end tells what follows it. A line number alone is not
//! enough: a statement of several lines comes back to its first line in the middle of its work.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::compile::RETURN_LINE;
use crate::decide::{Code, Op};
use crate::exception_table::covering;

/// A statement with a handler of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Landing {
    /// The instruction that asks our hook.
    pub(crate) site: u32,
    /// The statement's first instruction.
    pub(crate) start: u32,
    /// The line of that instruction.
    pub(crate) line: u32,
    /// The instruction after the statement, reached when our handler lets control fall through.
    pub(crate) end: u32,
    /// How many values the blocks around the statement keep on the stack.
    pub(crate) depth: u32,
    /// The first instruction of our handler.
    handler: u32,
}

/// All statements of one code object that a jump can land on.
pub(crate) struct Landings {
    code: Arc<Code>,
    landings: Vec<Landing>,
    /// The `return HOOK.value` of a function.
    pub(crate) epilogue: Option<u32>,
}

impl Landings {
    /// Reads them from a frame's code.
    pub(crate) fn of(frame: &Bound<'_, PyAny>) -> PyResult<Self> {
        let code = Code::of(frame)?;
        let lines = line_ranges(frame)?;
        let line_of = |offset: u32| {
            let range = lines.iter().find(|range| range.0 <= offset && offset < range.1);
            range.and_then(|range| range.2)
        };
        let py = frame.py();
        let mut landings = Vec::new();
        for (index, instruction) in code.instructions.iter().enumerate() {
            if instruction.op != Op::LoadAttr || !code.is_hook_load(py, index, "pending") {
                continue;
            }
            let handler = code
                .regions
                .iter()
                .map(|region| region.target)
                .filter(|target| *target <= instruction.offset);
            let Some(handler) = handler.max() else { continue };
            let covered = code.regions.iter().filter(|region| region.target == handler);
            let Some(first) = covered.min_by_key(|region| region.start) else {
                continue;
            };
            // Our handler ends in the POP_EXCEPT at JUMP_LINE.
            let rest = &code.instructions[index..];
            let Some(end) = rest
                .iter()
                .position(|after| after.op == Op::PopExcept)
                .and_then(|at| rest.get(at + 1))
            else {
                continue;
            };
            landings.push(Landing {
                site: instruction.offset,
                start: first.start,
                line: line_of(first.start).unwrap_or(0),
                end: end.offset,
                depth: first.depth,
                handler,
            });
        }
        landings.sort_by_key(|landing| landing.start);
        let epilogue = lines
            .iter()
            .find(|range| range.2 == Some(RETURN_LINE as u32))
            .map(|range| range.0);
        Ok(Self {
            code,
            landings,
            epilogue,
        })
    }

    /// The statement whose handler asks at this instruction.
    pub(crate) fn at_site(&self, site: u32) -> Option<Landing> {
        self.landings.iter().copied().find(|landing| landing.site == site)
    }

    /// The statements around one, innermost first: each one's handler covers the handler of the one within.
    pub(crate) fn around(&self, landing: &Landing) -> Vec<Landing> {
        let mut around = Vec::new();
        let mut offset = landing.site;
        // Handlers cover only what is further in, so there are no more rounds than regions.
        for _ in 0..self.code.regions.len() {
            let Some(region) = covering(&self.code.regions, offset) else {
                break;
            };
            offset = region.target;
            around.extend(self.landings.iter().find(|outer| outer.handler == offset));
        }
        around
    }

    /// Whether CPython jumps to this instruction: only where it finds a way there from the start of the code.
    pub(crate) fn is_reachable(&self, offset: u32) -> bool {
        let code = &self.code;
        let mut reached = vec![false; code.instructions.len()];
        let mut todo = vec![0];
        while let Some(index) = todo.pop() {
            let Some(instruction) = code.instructions.get(index) else {
                continue;
            };
            if std::mem::replace(&mut reached[index], true) {
                continue;
            }
            if matches!(
                instruction.op,
                Op::Jump | Op::JumpBack | Op::JumpIf(_) | Op::JumpBackIf(_) | Op::Branch | Op::BranchBack
            ) {
                todo.extend(code.index_at(instruction.target()));
            }
            let ends = matches!(
                instruction.op,
                Op::Jump | Op::JumpBack | Op::Return | Op::ReturnConst | Op::Reraise | Op::RaiseVarargs
            );
            if !ends {
                todo.push(index + 1);
            }
            let covered = code.regions.iter();
            let handlers = covered.filter(|region| code.index_at(region.start) == Some(index));
            todo.extend(handlers.filter_map(|region| code.index_at(region.target)));
        }
        code.index_at(offset).is_some_and(|index| reached[index])
    }

    /// Whether an exception at this instruction meets the statement's handler.
    pub(crate) fn guards(&self, landing: &Landing, offset: u32) -> bool {
        let mut offset = offset;
        // As in `around`.
        for _ in 0..=self.code.regions.len() {
            match covering(&self.code.regions, offset) {
                Some(region) if region.target == landing.handler => return true,
                Some(region) => offset = region.target,
                None => return false,
            }
        }
        false
    }

    /// The statement whose first instruction lies within these lines, as far out and as early as possible, under
    /// no more blocks than `depth`.
    pub(crate) fn within_lines(&self, first: u32, last: u32, depth: u32) -> Option<Landing> {
        let in_lines = |landing: &&Landing| (first..=last).contains(&landing.line) && landing.depth <= depth;
        self.landings
            .iter()
            .filter(in_lines)
            .min_by_key(|landing| (landing.line != first, landing.start))
            .copied()
    }
}

/// `(first offset, offset behind the last, line)` in the order of the offsets.
fn line_ranges(frame: &Bound<'_, PyAny>) -> PyResult<Vec<(u32, u32, Option<u32>)>> {
    frame
        .getattr("f_code")?
        .call_method0("co_lines")?
        .try_iter()?
        .map(|range| range?.extract())
        .collect()
}
