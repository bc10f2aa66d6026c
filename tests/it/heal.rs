//! Heals of tests, and what a program comes to with them.

use crate::program::Program;
use crate::python::{Python, on_each};

/// A heal as a test writes it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heal<'a> {
    code: &'a str,
    then: Option<&'a str>,
    line: Option<u32>,
    value: Option<&'a str>,
    frame: usize,
}

const NOTHING: Heal<'static> = Heal {
    code: "",
    then: None,
    line: None,
    value: None,
    frame: 0,
};

/// Healing code that says itself where to go on.
pub(crate) const fn code(code: &str) -> Heal<'_> {
    Heal { code, ..NOTHING }
}

/// On at the next statement, after some code.
pub(crate) const fn next(code: &str) -> Heal<'_> {
    Heal {
        code,
        then: Some("next"),
        ..NOTHING
    }
}

/// The failing statement again, after some code.
pub(crate) const fn retry(code: &str) -> Heal<'_> {
    Heal {
        code,
        then: Some("retry"),
        ..NOTHING
    }
}

/// On at a line, after some code.
pub(crate) const fn line(line: u32, code: &str) -> Heal<'_> {
    Heal {
        code,
        then: Some("line"),
        line: Some(line),
        ..NOTHING
    }
}

/// The frame returns a value.
pub(crate) const fn returns(value: &str) -> Heal<'_> {
    Heal {
        then: Some("return"),
        value: Some(value),
        ..NOTHING
    }
}

/// The exception goes on.
pub(crate) const fn raise() -> Heal<'static> {
    Heal {
        then: Some("raise"),
        ..NOTHING
    }
}

/// Another exception in its place.
pub(crate) const fn raise_new(value: &str) -> Heal<'_> {
    Heal {
        then: Some("raise-new"),
        value: Some(value),
        ..NOTHING
    }
}

impl<'a> Heal<'a> {
    /// The same in an outer frame.
    pub(crate) fn frame(self, frame: usize) -> Self {
        Self { frame, ..self }
    }

    /// As options of `healmcp check`.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec![
            format!("--expression={}", self.code),
            format!("--frame={}", self.frame),
        ];
        words.extend(self.then.map(|then| format!("--then={then}")));
        words.extend(self.line.map(|line| format!("--line={line}")));
        words.extend(self.value.map(|value| format!("--value={value}")));
        words
    }
}

/// Runs a program and applies the heals, one a pause; returns what it told. Pauses without a heal are let go.
pub(crate) fn healed(python: &Python, main: &str, heals: &[Heal<'_>]) -> String {
    let mut program = Program::new(python, main);
    program.start();
    let mut heals = heals.iter();
    while let Some(crash_id) = program.next_pause() {
        match heals.next() {
            Some(heal) => drop(program.heal(&crash_id, heal)),
            None => program.abort(&crash_id),
        }
    }
    let ended = program.finish();
    assert_eq!(heals.len(), 0, "heals without a pause: {ended:?}");
    ended.told()
}

/// A program with heals tells the same on every interpreter.
#[track_caller]
pub(crate) fn check(main: &str, heals: &[Heal<'_>], expect: &str) {
    on_each(|python| {
        let told = healed(python, main, heals);
        assert_eq!(told, expect, "on Python 3.{}, of\n{main}", python.minor);
    });
}
