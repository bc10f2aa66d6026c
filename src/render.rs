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

/// The commands that do what a tool does, with the arguments that stand without a name.
const VERBS: [(&str, &str, &[&str]); 9] = [
    ("list_crashes", "crashes", &[]),
    ("get_crash", "show", &["crash_id"]),
    ("get_frame", "frame", &["crash_id"]),
    ("evaluate", "eval", &["crash_id", "expression"]),
    ("search_code", "search", &["query"]),
    ("read_code", "read", &["symbol", "path"]),
    ("check_heal", "check", &["crash_id"]),
    ("resume", "resume", &["crash_id", "heal_id"]),
    ("abort", "abort", &["crash_id"]),
];

/// Stands in a call for the arguments that the reader has to fill in.
const OPEN_END: &str = "…";

/// Rewrites the calls that a tool's text names into commands: `get_crash(crash_id="c1")` into `healmcp show c1`.
pub(crate) fn for_people(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    'text: while let Some(open) = rest.find('(') {
        let (before, after) = rest.split_at(open);
        for (tool, command, bare) in VERBS {
            if let Some(kept) = before.strip_suffix(tool)
                && !kept.ends_with(|letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.'))
                && let Some((arguments, end)) = call_arguments(&after[1..])
            {
                out.push_str(kept);
                out.push_str("healmcp ");
                out.push_str(command);
                for &(name, value) in &arguments {
                    out.push(' ');
                    // A symbol stands alone; with it, the path says where to look.
                    let is_second = name == "path" && arguments.iter().any(|(other, _)| *other == "symbol");
                    if name == OPEN_END {
                        out.push_str(OPEN_END);
                    } else if name == "code" {
                        out.push_str("-e ");
                    } else if !bare.contains(&name) || is_second {
                        out.push_str("--");
                        out.push_str(
                            &name
                                .replace("wait_s", "wait")
                                .replace("crash_id", "crash")
                                .replace('_', "-"),
                        );
                        out.push(' ');
                    }
                    out.push_str(value);
                }
                rest = &after[1 + end..];
                continue 'text;
            }
        }
        out.push_str(before);
        out.push('(');
        rest = &after[1..];
    }
    out + rest
}

/// Reads `name=value, …)`; returns the pairs and where the call ends. Plain words lose their quotes.
fn call_arguments(text: &str) -> Option<(Vec<(&str, &str)>, usize)> {
    let mut pairs = Vec::new();
    let mut place = 0;
    loop {
        let rest = &text[place..];
        let trimmed = rest.trim_start_matches([',', ' ']);
        place += rest.len() - trimmed.len();
        if trimmed.starts_with(')') {
            return Some((pairs, place + 1));
        }
        if trimmed.starts_with(OPEN_END) {
            pairs.push((OPEN_END, ""));
            place += OPEN_END.len();
            continue;
        }
        let name_len = trimmed.find('=')?;
        let name = &trimmed[..name_len];
        if name.is_empty()
            || !name
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter == '_')
        {
            return None;
        }
        let value = &trimmed[name_len + 1..];
        let value_len = match value.strip_prefix('"') {
            Some(quoted) => quoted.find('"')? + 2,
            None => value.find([',', ')'])?,
        };
        let shown = &value[..value_len];
        let plain = shown.trim_matches('"');
        let is_word = !plain.is_empty()
            && plain
                .chars()
                .all(|letter| letter.is_alphanumeric() || "_-./:".contains(letter));
        pairs.push((name, if is_word { plain } else { shown }));
        place += name_len + 1 + value_len;
    }
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
    fn calls_of_tools_become_commands() {
        let check = |text: &str, expect: &str| assert_eq!(for_people(text), expect);
        check("next: get_crash(crash_id=\"c1\")", "next: healmcp show c1");
        check(
            "list_crashes(wait_s=25) waits (a bit)",
            "healmcp crashes --wait 25 waits (a bit)",
        );
        check(
            "evaluate(crash_id=\"c1\", frame=2, expression=\"a + b\") or abort()",
            "healmcp eval c1 --frame 2 \"a + b\" or healmcp abort",
        );
        check(
            "read_code(path=\"a.py\", start_line=1)",
            "healmcp read a.py --start-line 1",
        );
        check(
            "read_code(symbol=\"f\", path=\"a.py\")",
            "healmcp read f --path a.py",
        );
        check(
            "check_heal(crash_id=\"c1\", code=…, then=…) or read_code(crash_id=\"c1\", …)",
            "healmcp check c1 -e … --then … or healmcp read --crash c1 …",
        );
        check(
            "job.resume(1) and resume(x) stay",
            "job.resume(1) and resume(x) stay",
        );
    }

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
