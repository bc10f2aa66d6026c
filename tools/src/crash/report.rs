//! A crash as text: what stopped, where, with which values, and what each resume action would do.

use protocol::{ActionOffer, CrashReport, FrameReport, HealRecord, SourceLine, Variable};

use crate::text;

/// Frames shown one by one; the others are counted.
const MOST_FRAMES: usize = 12;
/// Runs of the same function longer than this are folded.
const LONGEST_RUN: usize = 2;

/// Renders a report within a budget: the frames give way first, since other calls show them.
pub(super) fn render(report: &CrashReport, max_chars: usize) -> String {
    let crash_id = text::quoted(&report.summary.crash_id);
    let head = head(report);
    let tail = tail(report);
    let frames = frames(report);
    let room = max_chars
        .saturating_sub(head.chars().count() + tail.chars().count())
        .max(200);
    let more = format!("get_frame(crash_id={crash_id}, frame=N) shows a frame");
    let whole = format!("{head}{}\n{tail}", text::fit(frames, room, &more).trim_end());
    let more = format!(
        "get_crash(crash_id={crash_id}, max_chars={}) shows more",
        text::MOST_CHARS
    );
    text::fit(whole, max_chars, &more)
}

fn head(report: &CrashReport) -> String {
    let summary = &report.summary;
    let mut lines = vec![format!(
        "{} {}  thread {}  pid {}  {}",
        text::status(summary.status).to_uppercase(),
        summary.crash_id,
        summary.thread,
        summary.pid,
        report.decision
    )];
    if let Some(seconds) = summary.seconds_left {
        lines.push(format!("the exception goes on by itself in {seconds} s"));
    }
    if let Some(holder) = &summary.held_by {
        lines.push(format!(
            "held by {} (pid {}), idle for {} s",
            holder.name, holder.pid, holder.idle_s
        ));
    }
    lines.push(format!(
        "{}: {}",
        summary.exception_type,
        text::clip(&summary.message, 1_000)
    ));
    for link in &report.chain {
        let place = link.location.as_ref().map_or(String::new(), |it| {
            format!(" at {}", text::short_place(it, &summary.root))
        });
        lines.push(format!(
            "  {} {}: {}{place}",
            link.link,
            link.exception_type,
            text::clip(&link.message, 300)
        ));
    }
    lines.push(format!(
        "at {}",
        text::short_place(&summary.location, &summary.root)
    ));
    if let Some(frame) = report.frames.first() {
        lines.extend(source(&frame.source));
    }
    lines.join("\n") + "\n"
}

/// Renders lines of source with their numbers, the failing ones marked, the failing expression underlined.
pub(super) fn source(lines: &[SourceLine]) -> Vec<String> {
    let mut rendered = Vec::new();
    for line in lines {
        let mark = if line.failing { '>' } else { ' ' };
        rendered.push(
            format!("  {mark} {:>4}  {}", line.line, line.text)
                .trim_end()
                .to_owned(),
        );
        if let Some((start, end)) = line.caret {
            // Tabs stay tabs, so that the underline stands below what it underlines.
            let indent: String = line
                .text
                .chars()
                .take(start as usize)
                .map(|it| if it == '\t' { '\t' } else { ' ' })
                .collect();
            let width = end.saturating_sub(start).max(1) as usize;
            rendered.push(format!("          {indent}{}", "^".repeat(width)));
        }
    }
    rendered
}

fn frames(report: &CrashReport) -> String {
    let mut lines = Vec::new();
    if !report.below.is_empty() {
        lines.push("below f0, outside of the scope: can be read, not healed; innermost first".to_owned());
        lines.extend(folded(&report.below, &report.summary.root));
        lines.push("from the crashed frame outwards".to_owned());
    }
    lines.extend(folded(&report.frames, &report.summary.root));
    lines.join("\n")
}

fn folded(frames: &[FrameReport], root: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = frames;
    let mut n_shown = 0;
    while let Some(frame) = rest.first() {
        if n_shown == MOST_FRAMES {
            lines.push(format!(
                "⋯ {} more frames, to f{}",
                rest.len(),
                rest[rest.len() - 1].index
            ));
            break;
        }
        n_shown += 1;
        let n_same = rest.iter().take_while(|it| same_function(it, frame)).count();
        let n_outside = rest.iter().take_while(|it| is_plain(it) && !it.in_scope).count();
        let n_folded = if n_outside > 1 {
            lines.push(format!(
                "⋯ {n_outside} frames {}, f{} to f{}",
                package(frame),
                frame.index,
                rest[n_outside - 1].index
            ));
            n_outside
        } else if n_same > LONGEST_RUN {
            lines.extend(one(frame, root));
            lines.push(format!(
                "⋯ {} x {}() again, to f{}",
                n_same - 1,
                frame.location.function,
                rest[n_same - 1].index
            ));
            n_same
        } else {
            lines.extend(one(frame, root));
            1
        };
        rest = &rest[n_folded..];
    }
    lines
}

fn same_function(left: &FrameReport, right: &FrameReport) -> bool {
    left.location.function == right.location.function && left.location.file == right.location.file
}

fn is_plain(frame: &FrameReport) -> bool {
    frame.variables.is_empty()
}

/// Names the installed package of a frame, or its folder.
fn package(frame: &FrameReport) -> String {
    let short = text::short_path(&frame.location.file, "");
    let first = short
        .split('/')
        .find(|part| !part.is_empty())
        .unwrap_or("")
        .trim_end_matches(".py");
    if short.starts_with('/') {
        "outside of the scope".to_owned()
    } else {
        format!("in {first}")
    }
}

fn one(frame: &FrameReport, root: &str) -> Vec<String> {
    let failing = frame
        .source
        .iter()
        .find(|line| line.failing)
        .or_else(|| frame.source.first());
    let mut header = format!("f{} {}", frame.index, text::short_place(&frame.location, root));
    if let Some(line) = failing {
        header.push_str(&format!("  {}", text::clip(line.text.trim(), 100)));
    }
    let mut lines = vec![header];
    lines.extend(
        frame
            .variables
            .iter()
            .map(|variable| format!("   {}", self::variable(variable))),
    );
    if !frame.more_names.is_empty() {
        lines.push(format!(
            "     … +{} names: {}",
            frame.more_names.len(),
            text::clip(&frame.more_names.join(", "), 300)
        ));
    }
    for sub in &frame.sub_expressions {
        lines.push(format!("   {} → {}", sub.expression, sub.value));
    }
    lines
}

/// `name: type = value`, marked where the failing statement reads it.
pub(super) fn variable(variable: &Variable) -> String {
    let mark = if variable.in_statement { '*' } else { ' ' };
    format!(
        "{mark} {}: {} = {}",
        variable.name, variable.type_name, variable.value
    )
}

fn tail(report: &CrashReport) -> String {
    let mut lines = Vec::new();
    let calls_made = report.frames.first().map_or(&[][..], |frame| &frame.calls_made);
    if !calls_made.is_empty() {
        lines.push(format!(
            "calls already made in this statement: {} (retry makes them again)",
            text::clip(&calls_made.join(", "), 400)
        ));
    }
    if !report.actions.is_empty() {
        lines.push("RESTARTS (then=…)".to_owned());
        lines.extend(report.actions.iter().map(action));
    }
    if !report.attempts.is_empty() {
        lines.push("ALREADY TRIED".to_owned());
        lines.extend(report.attempts.iter().rev().take(6).map(attempt));
    }
    let crash_id = text::quoted(&report.summary.crash_id);
    lines.push(format!(
        "next: get_frame(crash_id={crash_id}, frame=0, path=\"NAME\") opens a value; \
         evaluate(crash_id={crash_id}, expression=…); search_code(crash_id={crash_id}, …), read_code(crash_id={crash_id}, …); \
         then check_heal(crash_id={crash_id}, code=…, then=…)"
    ));
    lines.join("\n")
}

fn action(offer: &ActionOffer) -> String {
    if offer.available {
        format!("  {:<7} {}", offer.then, offer.effect)
    } else {
        format!("  {:<7} not here: {}", offer.then, offer.effect)
    }
}

fn attempt(record: &HealRecord) -> String {
    let proposal = &record.proposal;
    let then = proposal.then.map_or("by the code", |then| then.as_str());
    let code = text::clip(&proposal.code.trim().replace('\n', "; "), 200);
    let code = if code.is_empty() {
        "no code".to_owned()
    } else {
        code
    };
    format!(
        "  f{} `{code}` then {then}: {}",
        proposal.frame,
        text::clip(&record.outcome, 200)
    )
}
