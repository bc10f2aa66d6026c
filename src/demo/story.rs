//! What happens in the demonstration, step by step.

use std::path::Path;

use serde_json::{Value, json};

use super::agent::{Agent, Said};
use super::job::{Job, write_project};
use crate::error::{Error, Result};
use crate::folders::{cannot, make_private};
use crate::render::print;

/// The orders of the night at their rates, the one in lower case included.
const RIGHT_TOTAL: &str = "settled 915.72 EUR in all";

/// Plays the demonstration with an interpreter, and prints it as it goes.
pub(crate) fn tell(executable: &Path, python: &Path, uid: u32) -> Result<()> {
    let temporary = || {
        tempfile::Builder::new()
            .prefix("healmcp-demo-")
            .tempdir()
            .map_err(|error| cannot("make a folder in", &std::env::temp_dir(), &error))
    };
    let (project, runtime_dir) = (temporary()?, temporary()?);
    make_private(&runtime_dir.path().join("healmcp"), uid)?;
    write_project(project.path())?;

    print(
        "A nightly job settles eight orders. The fifth was typed in by hand, as `usd`.\n\
         Plain Python would die there with half of the night booked. Under `healmcp run` it stops, alive,\n\
         and an agent (here a script that speaks MCP to `healmcp serve`) heals it.\n",
    );
    print(&format!("     $ healmcp run -- {} nightly.py", python.display()));
    let job = Job::start(executable, python, project.path(), runtime_dir.path())?;
    let mut agent = Agent::start(executable, project.path(), runtime_dir.path())?;
    let crash_id = find_out(&mut agent)?;
    be_denied(&mut agent, &crash_id)?;
    heal(&mut agent, &crash_id)?;

    let (went_well, last_line) = job.end()?;
    if !went_well || last_line != RIGHT_TOTAL {
        return Err(Error::failed(
            format!("the job ended with {last_line:?}; `{RIGHT_TOTAL}` was expected"),
            "run `healmcp doctor`",
        ));
    }
    print(
        "\nThe job ended with the right total: nothing was lost, nothing was booked twice, no file was changed.\n\
         The bug is still in shop/pricing.py: the agent's next task.\n\
         For programs of your own: `healmcp run -- COMMAND`, and `healmcp mcp-config` for your agent.",
    );
    Ok(())
}

/// Which crash, what is wrong, and where the value comes from.
fn find_out(agent: &mut Agent) -> Result<String> {
    let said = ask(agent, "list_crashes", &json!({"wait_s": 25}))?;
    let crash_id = said.value["crashes"][0]["crash_id"].as_str().map(str::to_owned);
    let crash_id = crash_id.ok_or_else(|| {
        Error::failed(
            "the job did not pause",
            "run `healmcp doctor`: it says whether the runtime loads",
        )
    })?;
    show(&format!(
        "{}, paused",
        said.value["crashes"][0]["exception"].as_str().unwrap_or_default()
    ));
    let said = ask(agent, "get_crash", &json!({"crash_id": crash_id, "frames": 1}))?;
    show_start(&said.text, 24);
    let said = ask(
        agent,
        "evaluate",
        &json!({"crash_id": crash_id, "expression": "order"}),
    )?;
    show_start(&said.text, 6);
    let said = ask(
        agent,
        "search_code",
        &json!({"crash_id": crash_id, "query": "PERCENT_OF_A_EURO"}),
    )?;
    show_start(&said.text, 6);
    Ok(crash_id)
}

/// A heal that an agent must not make: the developers protect what it calls.
fn be_denied(agent: &mut Agent, crash_id: &str) -> Result<()> {
    print("\n agent: Give the order away, so that the job gets to its end?");
    let heal = json!({"crash_id": crash_id, "code": "waive(order)", "then": "retry"});
    let said = ask(agent, "check_heal", &heal)?;
    show_verdict(&said.value);
    if said.value["verdict"] != "deny" {
        return Err(Error::failed(
            "a heal that gives an order away was not denied",
            "report this",
        ));
    }
    Ok(())
}

/// A heal that repairs what is wrong, no more.
fn heal(agent: &mut Agent, crash_id: &str) -> Result<()> {
    print(
        "\n agent: The order is fine, its currency is written wrongly. Correct it and do the statement again.",
    );
    let code = "order[\"currency\"] = order[\"currency\"].upper()";
    let said = ask(
        agent,
        "check_heal",
        &json!({"crash_id": crash_id, "code": code, "then": "retry"}),
    )?;
    show_verdict(&said.value);
    let heal_id = said.value["heal_id"].as_str().unwrap_or_default().to_owned();
    if said.value["verdict"] != "allow" {
        return Err(Error::failed(
            "a heal that corrects a currency was not allowed",
            "report this",
        ));
    }
    let resume = json!({"crash_id": crash_id, "heal_id": heal_id, "wait_s": 15});
    let said = ask(agent, "resume", &resume)?;
    show(said.value["evidence"].as_str().unwrap_or_default());
    if said.value["outcome"] == "crashed" {
        return Err(Error::failed("the job paused again", "run `healmcp doctor`"));
    }
    Ok(())
}

fn ask(agent: &mut Agent, tool: &str, arguments: &Value) -> Result<Said> {
    let shown: Vec<String> = arguments
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| match value {
            // Quotes inside quotes would hide the code.
            Value::String(text) if text.contains('"') => format!("{name}='{text}'"),
            _ => format!("{name}={value}"),
        })
        .collect();
    print(&format!("\n agent: {tool}({})", shown.join(", ")));
    agent.call(tool, arguments)
}

fn show_verdict(value: &Value) {
    let word = |name: &str| value[name].as_str().unwrap_or_default();
    show(&format!("{}: {}", word("verdict"), word("reason")));
    for change in value["changes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        show(change);
    }
    show(word("effect"));
}

fn show_start(text: &str, n_lines: usize) {
    for line in text.lines().take(n_lines) {
        show(line);
    }
    if text.lines().count() > n_lines {
        show("…");
    }
}

fn show(line: &str) {
    if !line.is_empty() {
        print(&format!("  heal │ {line}"));
    }
}
