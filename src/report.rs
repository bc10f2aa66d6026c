//! A journal as a page: what happened, what was changed, and what to mend in the source.

use std::fmt::Write;

use serde_json::Value;

/// One crash with all that was tried at it.
#[derive(Debug, Default)]
struct Story {
    crash: Value,
    decision: String,
    steps: Vec<String>,
    ended: String,
    healed: bool,
}

/// Turns the lines of a journal into Markdown; lines that are torn are counted, not lost silently.
pub(crate) fn markdown(journal: &str) -> String {
    let mut stories: Vec<(String, Story)> = Vec::new();
    let mut denials = Vec::new();
    let mut n_torn = 0;
    for line in journal.lines().filter(|line| !line.trim().is_empty()) {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            n_torn += 1;
            continue;
        };
        if event["event"] == "denied" {
            denials.push(format!(
                "- {}: {}",
                text(&event["operation"]),
                text(&event["reason"])
            ));
            continue;
        }
        let id = match &event["event"] {
            kind if kind == "crash" => text(&event["crash"]["crash_id"]),
            _ => text(&event["crash_id"]),
        };
        let at = stories
            .iter()
            .position(|(known, _)| *known == id)
            .unwrap_or_else(|| {
                stories.push((id.clone(), Story::default()));
                stories.len() - 1
            });
        tell(&mut stories[at].1, &event);
    }
    let n_healed = stories.iter().filter(|(_, story)| story.healed).count();
    let mut page = format!(
        "# What happened: {} crash(es), {n_healed} healed\n\n",
        stories.len()
    );
    for (id, story) in &stories {
        write_story(&mut page, id, story);
    }
    if !denials.is_empty() {
        let _ = writeln!(
            page,
            "## Protected operations that were stopped\n\n{}\n",
            denials.join("\n")
        );
    }
    if n_torn > 0 {
        let _ = writeln!(page, "{n_torn} line(s) of the journal could not be read.");
    }
    page
}

fn tell(story: &mut Story, event: &Value) {
    match event["event"].as_str() {
        Some("crash") => {
            story.crash = event["crash"].clone();
            story.decision = text(&event["decision"]);
        }
        Some("check") => {
            let verdict = &event["check"]["verdict"];
            let (kind, reason) = (text(&verdict["verdict"]), text(&verdict["reason"]));
            story.steps.push(format!(
                "checked, {kind}: {reason}\n\n{}",
                heal(&event["proposal"])
            ));
        }
        Some("resume") => {
            story.healed = event["proposal"]["then"] != "raise";
            let changes = event["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
            let changes: String = changes
                .iter()
                .map(|change| {
                    let (place, old, new) =
                        (text(&change["place"]), text(&change["old"]), text(&change["new"]));
                    format!("\n  - `{place}`: `{old}` -> `{new}`")
                })
                .collect();
            let behaviours = event["behaviours"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            let behaviours: Vec<String> = behaviours.iter().map(text).collect();
            let behaviours = match behaviours.join(", ") {
                none if none.is_empty() => none,
                names => format!(" (behaviours: {names})"),
            };
            story.steps.push(format!(
                "applied; {}{behaviours}{changes}",
                text(&event["effect"])
            ));
            story.ended = "the program went on".to_owned();
        }
        Some("abort") => story.ended = format!("let go: {}", text(&event["reason"])),
        Some("released") => story.ended = format!("the exception went on: {}", text(&event["reason"])),
        _ => {}
    }
}

fn write_story(page: &mut String, id: &str, story: &Story) {
    let crash = &story.crash;
    let place = &crash["location"];
    let _ = writeln!(
        page,
        "## {} `{}`\n\nin `{}`, {}:{} (crash {id}, process {})\n\n{}. {}.\n",
        text(&crash["exception_type"]),
        text(&crash["message"]).replace('`', "'"),
        text(&place["function"]),
        text(&place["file"]),
        place["line"],
        crash["pid"],
        capitalised(&story.decision),
        capitalised(if story.ended.is_empty() {
            "the journal ends while it was paused"
        } else {
            &story.ended
        }),
    );
    for (number, step) in story.steps.iter().enumerate() {
        let _ = writeln!(page, "{}. {step}\n", number + 1);
    }
    if story.healed {
        let _ = writeln!(
            page,
            "**To mend in the source:** the bug that raised `{}` is still at {}:{}.\n",
            text(&crash["exception_type"]),
            text(&place["file"]),
            place["line"],
        );
    }
}

fn heal(proposal: &Value) -> String {
    let mut out = String::new();
    let code = text(&proposal["code"]);
    if !code.is_empty() {
        let indented: String = code.lines().map(|line| format!("   {line}\n")).collect();
        let _ = write!(out, "   ```python\n{indented}   ```\n");
    }
    let then = proposal["then"].as_str().unwrap_or("as the code says");
    let _ = write!(out, "   then {then}");
    if let Some(line) = proposal["line"].as_u64() {
        let _ = write!(out, " {line}");
    }
    if let Some(value) = proposal["value"].as_str() {
        let _ = write!(out, " `{value}`");
    }
    out
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    letters
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRASH: &str = r#"{"at":1.0,"pid":7,"event":"crash","crash":{"crash_id":"c-1","exception_type":"KeyError","message":"'x'","location":{"file":"/p/a.py","line":3,"function":"f"},"pid":7},"decision":"nothing handles it"}"#;
    const CHECK: &str = r#"{"event":"check","crash_id":"c-1","proposal":{"code":"d['x'] = 1","then":"retry"},"check":{"verdict":{"verdict":"allow","reason":"nothing protected is reached"}}}"#;
    const RESUME: &str = r#"{"event":"resume","crash_id":"c-1","proposal":{"then":"retry"},"changes":[{"place":"d['x']","old":"<unset>","new":"1"}],"effect":"runs line 3 again","behaviours":["fill-container"]}"#;

    fn check(lines: &[&str], expected: &[&str]) {
        let page = markdown(&lines.join("\n"));
        for part in expected {
            assert!(page.contains(part), "{part:?} is not in\n{page}");
        }
    }

    #[test]
    fn a_healed_crash_tells_what_to_mend() {
        check(
            &[CRASH, CHECK, RESUME],
            &[
                "1 crash(es), 1 healed",
                "KeyError `'x'`",
                "d['x'] = 1",
                "`d['x']`: `<unset>` -> `1`",
                "runs line 3 again (behaviours: fill-container)",
                "still at /p/a.py:3",
                "The program went on.",
            ],
        );
    }

    #[test]
    fn a_crash_that_was_let_go_asks_for_nothing() {
        let released = r#"{"event":"released","crash_id":"c-1","reason":"nobody healed it in time"}"#;
        check(
            &[CRASH, released],
            &["0 healed", "The exception went on: nobody healed it in time."],
        );
        assert!(!markdown(CRASH).contains("To mend"));
    }

    #[test]
    fn a_torn_line_is_counted() {
        check(
            &[CRASH, "{\"at\":"],
            &["1 line(s) of the journal could not be read"],
        );
    }
}
