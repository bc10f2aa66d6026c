//! JSON Schemas that every client takes: one object at the root, nothing nullable, nothing by reference.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Returns the schema of a tool's arguments; its description is the tool's.
pub(crate) fn of_input<T: JsonSchema>() -> Value {
    plain(SchemaSettings::draft2020_12().for_deserialize(), T::json_schema)
}

/// Returns the schema of an answer's value.
pub(crate) fn of_output<T: JsonSchema>() -> Value {
    plain(SchemaSettings::draft2020_12().for_serialize(), T::json_schema)
}

fn plain(
    settings: SchemaSettings,
    schema_of: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
) -> Value {
    let mut generator = settings
        .with(|settings| settings.inline_subschemas = true)
        .into_generator();
    let mut schema = Value::from(schema_of(&mut generator));
    simplify(&mut schema);
    if let Value::Object(members) = &mut schema {
        members
            .entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

/// Takes the description off the root of a schema.
pub(crate) fn split(mut schema: Value) -> (String, Value) {
    let description = match &mut schema {
        Value::Object(members) => members.shift_remove("description"),
        _ => None,
    };
    let description = description
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    (description, schema)
}

/// Renders the properties as a hint for whoever got them wrong: `crash_id: string, frame?: integer`.
pub(crate) fn usage(schema: &Value) -> String {
    let Some(properties) = schema["properties"].as_object() else {
        return "no arguments".to_owned();
    };
    let is_required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|names| names.iter().any(|it| it == name))
    };
    let described: Vec<String> = properties
        .iter()
        .map(|(name, property)| {
            let mark = if is_required(name) { "" } else { "?" };
            let kind = match property["enum"].as_array() {
                Some(words) => words
                    .iter()
                    .filter_map(Value::as_str)
                    .collect::<Vec<_>>()
                    .join("|"),
                None => property["type"].as_str().unwrap_or("value").to_owned(),
            };
            format!("{name}{mark}: {kind}")
        })
        .collect();
    if described.is_empty() {
        "no arguments".to_owned()
    } else {
        described.join(", ")
    }
}

/// Absent means default, so that `null` need not be a type; some clients know no type lists and no `format`.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            for unwanted in ["$schema", "title", "format"] {
                // A property may bear any of these names; its schema is an object.
                if members.get(unwanted).is_some_and(Value::is_string) {
                    members.shift_remove(unwanted);
                }
            }
            if let Some(Value::String(description)) = members.get_mut("description") {
                // Where a doc comment is wrapped is for whoever edits it.
                *description = description.replace('\n', " ");
            }
            if members.get("default").is_some_and(Value::is_null) {
                members.shift_remove("default");
            }
            if let Some(Value::Array(types)) = members.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    members.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(words)) = members.get_mut("enum") {
                words.retain(|word| !word.is_null());
            }
            if let Some(Value::Array(branches)) = members.get_mut("anyOf") {
                branches.retain(|branch| branch["type"] != "null");
                if let [Value::Object(only)] = branches.as_slice() {
                    let only = only.clone();
                    members.shift_remove("anyOf");
                    for (name, value) in only {
                        members.entry(name).or_insert(value);
                    }
                }
            }
            if members.get("minimum") == Some(&0.into()) && members.get("maximum").is_none() {
                members.shift_remove("minimum");
            }
            members.values_mut().for_each(simplify);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// Says what
    /// it does.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its schema is of interest")]
    struct Sample {
        /// Which one.
        id: String,
        /// How many.
        #[schemars(range(min = 1, max = 9))]
        count: Option<usize>,
        kind: Option<Kind>,
        title: Option<String>,
    }

    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        OneThing,
        Another,
    }

    #[test]
    fn an_option_is_a_property_that_may_be_absent() {
        let (description, schema) = split(of_input::<Sample>());
        assert_eq!(description, "Says what it does.");
        assert_eq!(
            schema.to_string(),
            r#"{"type":"object","additionalProperties":false,"properties":{"id":{"type":"string","description":"Which one."},"count":{"type":"integer","minimum":1,"description":"How many.","maximum":9},"kind":{"type":"string","enum":["one_thing","another"]},"title":{"type":"string"}},"required":["id"]}"#
        );
    }

    #[test]
    fn usage_marks_what_may_be_left_out() {
        assert_eq!(
            usage(&of_input::<Sample>()),
            "id: string, count?: integer, kind?: one_thing|another, title?: string"
        );
    }
}
