//! How much work a heal may do, and the meter that counts it.

use std::time::{Duration, Instant};

use nix::libc;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyInt, PyList, PyString, PyTuple};

use super::native;
use super::stack;
use super::stop::{Eval, Stop, rule};

/// How much work a heal may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Statements, expressions and rounds.
    pub(crate) steps: u64,
    /// Time of the thread; other threads may stretch the wall time to ten times as much.
    pub(crate) wall: Duration,
    /// Bytes of one new value; all new values together may have four times as many.
    pub(crate) new_memory: usize,
    /// Elements of one container, and of one iterable that is consumed.
    pub(crate) container: usize,
    /// Bits of a computed integer.
    pub(crate) int_bits: u64,
    /// Characters of a computed string.
    pub(crate) str_len: usize,
    /// Levels of values in one another.
    pub(crate) depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 200_000,
            wall: Duration::from_millis(100),
            new_memory: 16 << 20,
            container: 65_536,
            int_bits: 16_384,
            str_len: 1 << 20,
            depth: 100,
        }
    }
}

/// Counts the work of one run.
pub(super) struct Meter {
    limits: Limits,
    steps: u64,
    until_clock: u32,
    allocated: usize,
    stack_floor: usize,
    start: Instant,
    start_cpu: Duration,
}

/// Steps between two looks at the clock.
const CLOCK_EVERY: u32 = 64;

impl Meter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            limits: *limits,
            steps: 0,
            until_clock: CLOCK_EVERY,
            allocated: 0,
            stack_floor: stack::floor(),
            start: Instant::now(),
            start_cpu: thread_time(),
        }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counts one step.
    pub(super) fn step(&mut self) -> Eval<()> {
        if stack::here() < self.stack_floor {
            return Err(Stop::limit(
                rule::DEPTH,
                "no room on this thread's stack",
                "nest fewer expressions and blocks in one another",
            ));
        }
        self.work(1)
    }

    /// Counts steps for work that is done at once.
    pub(super) fn work(&mut self, steps: u64) -> Eval<()> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > self.limits.steps {
            return Err(Stop::limit(
                rule::STEPS,
                format!("the code did more than {} steps", self.limits.steps),
                "loop over fewer elements, or end the loop earlier",
            ));
        }
        match self
            .until_clock
            .checked_sub(u32::try_from(steps).unwrap_or(u32::MAX))
        {
            Some(left) if left > 0 => {
                self.until_clock = left;
                Ok(())
            }
            _ => self.clock(),
        }
    }

    /// Looks at the clock now.
    pub(super) fn clock(&mut self) -> Eval<()> {
        self.until_clock = CLOCK_EVERY;
        let wall = self.start.elapsed();
        if wall <= self.limits.wall {
            return Ok(());
        }
        if wall > self.limits.wall * 10 || thread_time().saturating_sub(self.start_cpu) > self.limits.wall {
            return Err(self.too_long());
        }
        Ok(())
    }

    /// The error of a run that took too long.
    pub(super) fn too_long(&self) -> Stop {
        Stop::limit(
            rule::TIME,
            format!("the code ran longer than {} ms", self.limits.wall.as_millis()),
            "do less work: a heal repairs state, it does not do the program's job",
        )
    }

    /// The time left before the thread's own limit, at least a little.
    pub(super) fn time_left(&self) -> Duration {
        (self.limits.wall * 2)
            .saturating_sub(self.start.elapsed())
            .max(Duration::from_millis(10))
    }

    /// Counts a new value and refuses one that is too large.
    pub(super) fn created(&mut self, object: &Bound<'_, PyAny>) -> Eval<()> {
        let size = if let Ok(text) = object.cast_exact::<PyString>() {
            let length = native::text_len(text);
            self.text(length)?;
            length
        } else if object.is_exact_instance_of::<PyInt>() {
            let bits = native::bit_length(object)?;
            self.integer(bits)?;
            usize::try_from(bits / 8).unwrap_or(usize::MAX)
        } else if let Ok(list) = object.cast_exact::<PyList>() {
            self.elements(list.len())?;
            list.len() * 8
        } else if let Ok(tuple) = object.cast_exact::<PyTuple>() {
            self.elements(tuple.len())?;
            tuple.len() * 8
        } else if let Ok(dict) = object.cast::<PyDict>() {
            self.elements(dict.len())?;
            dict.len() * 64
        } else if let Some(length) = native::set_len(object) {
            self.elements(length)?;
            length * 32
        } else if let Ok(bytes) = object.cast_exact::<PyBytes>() {
            bytes.as_bytes().len()
        } else if let Ok(bytes) = object.cast_exact::<PyByteArray>() {
            bytes.len()
        } else {
            16
        };
        self.bytes(size.saturating_add(48))
    }

    /// Counts new bytes.
    pub(super) fn bytes(&mut self, size: usize) -> Eval<()> {
        self.allocated = self.allocated.saturating_add(size);
        if size > self.limits.new_memory || self.allocated > self.limits.new_memory * 4 {
            return Err(Stop::limit(
                rule::MEMORY,
                format!(
                    "the code made more than {} MiB of new values",
                    self.limits.new_memory >> 20
                ),
                "build smaller values",
            ));
        }
        // Copying is work, too.
        self.work((size >> 12) as u64)
    }

    /// Refuses a container that is too large.
    pub(super) fn elements(&self, n_elements: usize) -> Eval<()> {
        if n_elements > self.limits.container {
            return Err(Stop::limit(
                rule::CONTAINER,
                format!("a container of more than {} elements", self.limits.container),
                "work on a part of the data, for instance a slice",
            ));
        }
        Ok(())
    }

    /// Refuses an integer that is too large.
    pub(super) fn integer(&self, bits: u64) -> Eval<()> {
        if bits > self.limits.int_bits {
            return Err(Stop::limit(
                rule::INTEGER,
                format!("an integer of more than {} bits", self.limits.int_bits),
                "use a smaller number or a float",
            ));
        }
        Ok(())
    }

    /// Refuses a text that is too long.
    pub(super) fn text(&self, length: usize) -> Eval<()> {
        if length > self.limits.str_len {
            return Err(Stop::limit(
                rule::STRING,
                format!("a text of more than {} characters", self.limits.str_len),
                "work on a part of the text, for instance a slice",
            ));
        }
        Ok(())
    }
}

fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for the answer.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    if failed != 0 {
        return Duration::ZERO;
    }
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or(0),
        u32::try_from(time.tv_nsec).unwrap_or(0),
    )
}
