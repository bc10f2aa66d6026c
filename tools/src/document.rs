//! What is derived from the list of tools: a recorded schema of each, and the page for people.

use serde_json::{Value, json};

use crate::{INSTRUCTIONS, TOOLS, Tool};

/// Returns the recorded form of a tool: everything a client is told about it.
pub fn recorded(tool: &Tool) -> Value {
    let mut listed = json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description(),
        "annotations": {
            "readOnlyHint": tool.effect.read_only,
            "destructiveHint": tool.effect.destructive,
            "idempotentHint": tool.effect.idempotent,
            "openWorldHint": tool.effect.open_world,
        },
        "inputSchema": tool.input_schema(),
    });
    if let Some(schema) = tool.output_schema() {
        listed["outputSchema"] = schema;
    }
    listed
}

/// Returns `docs/tools.md`.
pub fn markdown() -> String {
    let mut page = String::from(
        "# The tools\n\n\
         Derived from `tools::TOOLS`; do not edit. `HEALMCP_REWRITE=1 cargo test -p tools` writes it anew.\n\n\
         ## What the server tells a model first\n\n",
    );
    for line in INSTRUCTIONS.lines() {
        page.push_str(format!("> {line}").trim_end());
        page.push('\n');
    }
    for tool in TOOLS {
        page.push_str(&section(tool));
    }
    page
}

fn section(tool: &Tool) -> String {
    let effect = match tool.effect {
        effect if effect.read_only => "reads only",
        effect if effect.destructive => "changes the program; cannot be taken back",
        _ => "leaves the program as it was, but may take its lock",
    };
    let mut section = format!("\n## `{}`\n\n{}\n\n*{effect}*\n", tool.name, tool.description());
    let schema = tool.input_schema();
    let Some(properties) = schema["properties"]
        .as_object()
        .filter(|properties| !properties.is_empty())
    else {
        return section;
    };
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    section.push_str("\n| argument | type | meaning |\n| --- | --- | --- |\n");
    for (name, property) in properties {
        let kind = match property["enum"].as_array() {
            Some(words) => words
                .iter()
                .map(|word| format!("`{}`", word.as_str().unwrap_or_default()))
                .collect::<Vec<_>>()
                .join(", "),
            None => property["type"].as_str().unwrap_or("any").to_owned(),
        };
        let range = match (&property["minimum"], &property["maximum"]) {
            (Value::Number(low), Value::Number(high)) => format!(" {low}..{high}"),
            _ => String::new(),
        };
        let need = if required.iter().any(|it| it == name) {
            ", required"
        } else {
            ""
        };
        let meaning = property["description"]
            .as_str()
            .unwrap_or_default()
            .replace('\n', " ")
            .replace('|', "\\|");
        section.push_str(&format!("| `{name}` | {kind}{range}{need} | {meaning} |\n"));
    }
    section
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn crate_folder() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR"))
    }

    /// Compares a committed file with what the list says, or writes it anew when asked to.
    #[track_caller]
    fn check_committed(path: &Path, expect: &str) {
        if std::env::var_os("HEALMCP_REWRITE").is_some() {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, expect).unwrap();
        }
        let committed = fs::read_to_string(path).unwrap_or_default();
        assert!(
            committed == expect,
            "{} differs from tools::TOOLS: look at the change, then HEALMCP_REWRITE=1 cargo test -p tools",
            path.display()
        );
    }

    #[test]
    fn recorded_schemas_are_those_of_the_list() {
        for tool in TOOLS {
            let path = crate_folder().join("schemas").join(format!("{}.json", tool.name));
            check_committed(&path, &format!("{:#}\n", recorded(tool)));
        }
        let mut files: Vec<String> = fs::read_dir(crate_folder().join("schemas"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        let mut names: Vec<String> = TOOLS.iter().map(|tool| format!("{}.json", tool.name)).collect();
        names.sort();
        assert_eq!(files, names, "a schema without a tool");
    }

    #[test]
    fn the_page_is_that_of_the_list() {
        check_committed(&crate_folder().join("../docs/tools.md"), &markdown());
    }

    #[test]
    fn definitions_cost_at_most_2500_tokens() {
        let bytes: usize = TOOLS
            .iter()
            .map(|tool| tool.name.len() + tool.description().len() + tool.input_schema().to_string().len())
            .sum();
        assert!(bytes <= 10_000, "{} tokens", bytes / 4);
    }

    #[test]
    fn descriptions_and_instructions_stay_short() {
        assert!(INSTRUCTIONS.len() < 1_500, "{}", INSTRUCTIONS.len());
        for tool in TOOLS {
            let description = tool.description();
            assert!(
                (40..600).contains(&description.len()),
                "{}: {}",
                tool.name,
                description.len()
            );
            assert!(tool.name.len() <= 24, "{}", tool.name);
        }
    }

    #[test]
    fn schemas_are_strict_and_portable() {
        for tool in TOOLS {
            let schema = tool.input_schema();
            assert_eq!(schema["type"], "object", "{}", tool.name);
            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
            check_portable(tool.name, &schema);
            if let Some(schema) = tool.output_schema() {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                check_portable(tool.name, &schema);
            }
        }
    }

    fn check_portable(tool: &str, schema: &Value) {
        match schema {
            Value::Object(members) => {
                for word in ["$ref", "anyOf", "oneOf", "allOf", "format"] {
                    assert!(
                        members.get(word).is_none_or(Value::is_object),
                        "{tool}: {word} in {schema}"
                    );
                }
                assert!(
                    !members.get("type").is_some_and(Value::is_array),
                    "{tool}: a list of types in {schema}"
                );
                members.values().for_each(|it| check_portable(tool, it));
            }
            Value::Array(items) => items.iter().for_each(|it| check_portable(tool, it)),
            Value::Bool(true) => panic!("{tool}: a bare true"),
            _ => {}
        }
    }
}
