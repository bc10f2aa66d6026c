//! What people read: errors with their hints, and colour where a terminal shows it.

use std::io::{self, IsTerminal, Write};

use crate::error::Error;

/// What a command prints and ends with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// For standard output.
    pub(crate) text: String,
    /// The exit code.
    pub(crate) code: u8,
}

impl Done {
    /// Builds the outcome of a command that did what it was asked.
    pub(crate) fn ok(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            code: 0,
        }
    }
}

/// Writes text to standard output; a reader that has gone is not an error.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let line_end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let _ = write!(out, "{text}{line_end}").and_then(|()| out.flush());
}

/// Writes an error and what to do next to standard error.
pub(crate) fn print_error(error: &Error) {
    let mut out = io::stderr().lock();
    let _ = writeln!(out, "{}", render_error(error, wants_colour(&out)));
}

fn wants_colour(out: &impl IsTerminal) -> bool {
    out.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn render_error(error: &Error, colour: bool) -> String {
    let (red, bold, off) = if colour {
        ("\x1b[1;31m", "\x1b[1m", "\x1b[0m")
    } else {
        ("", "", "")
    };
    let hint = match error.hint() {
        "" => String::new(),
        hint => format!("\n{bold}hint:{off} {hint}"),
    };
    format!("{red}error:{off} {error}{hint}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_comes_with_its_hint() {
        let error = Error::usage("command not found: `pyhton`", "check the spelling");
        assert_eq!(
            render_error(&error, false),
            "error: command not found: `pyhton`\nhint: check the spelling"
        );
        assert!(render_error(&error, true).starts_with("\x1b[1;31merror:\x1b[0m command"));
        assert_eq!(render_error(&Error::failed("no", ""), false), "error: no");
    }
}
