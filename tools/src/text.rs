//! Text within a budget: every cut says how much is missing and which call shows it.

use protocol::{CrashStatus, CrashSummary, Location};

use crate::ToolError;

/// Characters of an answer unless asked otherwise.
pub(crate) const DEFAULT_CHARS: usize = 6_000;
/// Characters of an answer at most.
pub(crate) const MOST_CHARS: usize = 20_000;
/// Seconds a call may wait at most.
pub(crate) const MOST_WAIT_S: u64 = 25;

/// Checks `max_chars`, or gives the default.
pub(crate) fn budget(max_chars: Option<usize>) -> Result<usize, ToolError> {
    within("max_chars", max_chars, 200..=MOST_CHARS, DEFAULT_CHARS)
}

/// Checks `wait_s`, or gives the default.
pub(crate) fn wait(wait_s: Option<u64>, default: u64) -> Result<u64, ToolError> {
    within("wait_s", wait_s, 0..=MOST_WAIT_S, default)
}

/// Checks a number that an agent gave.
pub(crate) fn within<N: Copy + PartialOrd + std::fmt::Display>(
    name: &str,
    given: Option<N>,
    allowed: std::ops::RangeInclusive<N>,
    default: N,
) -> Result<N, ToolError> {
    match given {
        None => Ok(default),
        Some(number) if allowed.contains(&number) => Ok(number),
        Some(number) => Err(ToolError::input(
            format!(
                "{name} is {number}, but must be from {} to {}",
                allowed.start(),
                allowed.end()
            ),
            format!("call again with {name} in that range, or leave it out for {default}"),
        )),
    }
}

/// Cuts text to so many bytes, at a character.
pub(crate) fn clip(text: &str, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text.to_owned();
    }
    let mut end = max_bytes.saturating_sub("…".len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// Cuts text after a whole line so that it fits, and says which call shows more.
pub(crate) fn fit(text: String, max_chars: usize, more: &str) -> String {
    let n_chars = text.chars().count();
    if n_chars <= max_chars {
        return text;
    }
    let room = max_chars.saturating_sub(more.chars().count() + 60);
    let cut: usize = text
        .char_indices()
        .nth(room)
        .map_or(text.len(), |(offset, _)| offset);
    let end = match text[..cut].rfind('\n') {
        // A first line longer than the budget is cut inside.
        None | Some(0) => cut,
        Some(end) => end,
    };
    let n_lines = text[end..].lines().filter(|line| !line.is_empty()).count();
    let n_left = n_chars - text[..end].chars().count();
    format!(
        "{}\n… cut here: {n_lines} more lines, {n_left} characters; {more}",
        &text[..end]
    )
}

/// Writes a Python-like string argument: names in hints can be copied as they are.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// `function (file.py:12)`.
pub(crate) fn place(location: &Location) -> String {
    format!("{} ({}:{})", location.function, location.file, location.line)
}

/// `function (file.py:12)` with the file as `read_code` takes it: below the root, or below `site-packages`.
pub(crate) fn short_place(location: &Location, root: &str) -> String {
    format!(
        "{} ({}:{})",
        location.function,
        short_path(&location.file, root),
        location.line
    )
}

/// Cuts a root or the folder of installed packages off a path.
pub(crate) fn short_path<'a>(file: &'a str, root: &str) -> &'a str {
    let below = |folder: &str| file.strip_prefix(folder)?.strip_prefix('/');
    if let Some(short) = (!root.is_empty()).then(|| below(root)).flatten() {
        return short;
    }
    match file.rsplit_once("/site-packages/") {
        Some((_, short)) => short,
        None => file,
    }
}

/// One crash in one line.
pub(crate) fn one_line(crash: &CrashSummary) -> String {
    let mut line = format!(
        "{} {} {}: {} at {}",
        crash.crash_id,
        status(crash.status),
        crash.exception_type,
        clip(&crash.message.replace('\n', " "), 120),
        place(&crash.location),
    );
    if let Some(seconds) = crash.seconds_left {
        line.push_str(&format!(", {seconds} s left"));
    }
    if let Some(holder) = &crash.held_by {
        line.push_str(&format!(", held by {} (pid {})", holder.name, holder.pid));
    }
    line
}

/// The word for a crash's state.
pub(crate) fn status(status: CrashStatus) -> &'static str {
    match status {
        CrashStatus::Paused => "paused",
        CrashStatus::Resumed => "resumed",
        CrashStatus::Released => "released",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fit(text: &str, max_chars: usize, expect: &str) {
        assert_eq!(fit(text.to_owned(), max_chars, "get more"), expect);
    }

    #[test]
    fn what_fits_stays() {
        check_fit("a\nb\n", 200, "a\nb\n");
    }

    #[test]
    fn a_cut_falls_between_lines_and_names_the_next_call() {
        let text = "0123456789\n".repeat(30);
        check_fit(
            &text,
            90,
            "0123456789\n0123456789\n… cut here: 28 more lines, 309 characters; get more",
        );
    }

    #[test]
    fn a_single_long_line_is_cut_inside() {
        let fitted = fit("é".repeat(500), 200, "get more");
        assert!(fitted.chars().count() <= 200, "{fitted}");
        assert!(fitted.starts_with('é'));
    }

    #[test]
    fn numbers_out_of_range_name_the_range() {
        let error = wait(Some(99), 10).unwrap_err();
        assert_eq!(error.message, "wait_s is 99, but must be from 0 to 25");
    }
}
