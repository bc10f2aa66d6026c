//! Reads the policy's table: every mistake is found, with its path and the nearest word that would be right.

use std::fmt;

use serde_json::{Map, Value};

use crate::behaviour::Behaviour;
use crate::names::{self, Pattern};
use crate::policy::{OnUnconfirmed, Policy, Protected, Target, Trusted};
use crate::presets::Preset;

/// All that is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct PolicyError {
    /// In the order of the table; never empty.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong with a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, below the table: `protected[2].oop`; empty for the table itself.
    pub path: String,
    /// What is wrong: a lower-case fragment.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (problem_idx, problem) in self.problems.iter().enumerate() {
            if problem_idx > 0 {
                formatter.write_str("; ")?;
            }
            write!(formatter, "{problem}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(formatter, "{}: ", self.path)?;
        }
        formatter.write_str(&self.message)
    }
}

const TABLE_KEYS: &[&str] = &[
    "on-unconfirmed",
    "presets",
    "protected",
    "trusted",
    "pure",
    "allow-behaviours",
];
const PROTECTED_KEYS: &[&str] = &["op", "attribute", "context", "args", "label", "control"];
const TRUSTED_KEYS: &[&str] = &["op"];

pub(crate) fn policy(table: &Value) -> Result<Policy, PolicyError> {
    let mut reader = Reader { problems: Vec::new() };
    let mut policy = Policy::default();
    // A program without the table protects nothing.
    let empty = Map::new();
    let fields = match table {
        Value::Null => Some(&empty),
        _ => reader.table("", table),
    };
    for (key, value) in fields.into_iter().flatten() {
        match key.as_str() {
            "on-unconfirmed" => policy.on_unconfirmed = reader.on_unconfirmed(value),
            "presets" => policy.presets = reader.presets(value),
            "protected" => {
                let entries = reader.list("protected", value);
                policy.protected = entries
                    .iter()
                    .filter_map(|(path, entry)| reader.protected(path, entry))
                    .collect();
            }
            "trusted" => policy.trusted = reader.trusted("trusted", value),
            "pure" => policy.pure = reader.trusted("pure", value),
            "allow-behaviours" => policy.allow_behaviours = Some(reader.behaviours(value)),
            unknown => reader.unknown_key("", unknown, TABLE_KEYS),
        }
    }
    for trusted in &policy.trusted {
        if policy
            .protected
            .iter()
            .any(|protected| protected.name() == trusted.op.as_str())
        {
            reader.report(
                "trusted",
                format!("`{}` is both protected and trusted", trusted.op),
                "keep one of the two: a trusted operation's result is taken as clean",
            );
        }
    }
    for preset in policy.presets.clone() {
        policy
            .protected
            .extend(preset.operations().iter().map(|name| preset_entry(preset, name)));
    }
    if reader.problems.is_empty() {
        Ok(policy)
    } else {
        Err(PolicyError {
            problems: reader.problems,
        })
    }
}

fn preset_entry(preset: Preset, name: &str) -> Protected {
    let pattern = Pattern::parse(name, 2).expect("a test parses every preset's names");
    Protected {
        target: Target::Operation(pattern),
        args: Vec::new(),
        label: name.to_owned(),
        control: false,
        preset: Some(preset),
    }
}

struct Reader {
    problems: Vec<Problem>,
}

impl Reader {
    fn on_unconfirmed(&mut self, value: &Value) -> OnUnconfirmed {
        match value.as_str() {
            Some("ask") => OnUnconfirmed::Ask,
            Some("deny") => OnUnconfirmed::Deny,
            Some(other) => {
                self.report(
                    "on-unconfirmed",
                    format!("unknown value `{other}`"),
                    nearest(other, &["ask", "deny"]),
                );
                OnUnconfirmed::default()
            }
            None => {
                self.wrong_type("on-unconfirmed", value, "`ask` or `deny`");
                OnUnconfirmed::default()
            }
        }
    }

    fn presets(&mut self, value: &Value) -> Vec<Preset> {
        let words = Preset::ALL.map(Preset::as_str);
        let mut presets = Vec::new();
        for (path, word) in self.texts("presets", value) {
            match Preset::parse(&word) {
                Some(preset) if presets.contains(&preset) => {
                    self.report(&path, format!("`{word}` stands twice"), "remove one of them");
                }
                Some(preset) => presets.push(preset),
                None => self.report(&path, format!("unknown preset `{word}`"), nearest(&word, &words)),
            }
        }
        presets
    }

    fn behaviours(&mut self, value: &Value) -> Vec<Behaviour> {
        let words = Behaviour::ALL.map(Behaviour::as_str);
        let mut behaviours = Vec::new();
        for (path, word) in self.texts("allow-behaviours", value) {
            match Behaviour::parse(&word) {
                Some(behaviour) if behaviours.contains(&behaviour) => {
                    self.report(&path, format!("`{word}` stands twice"), "remove one of them");
                }
                Some(behaviour) => behaviours.push(behaviour),
                None => self.report(
                    &path,
                    format!("unknown behaviour `{word}`"),
                    nearest(&word, &words),
                ),
            }
        }
        behaviours
    }

    fn protected(&mut self, path: &str, entry: &Value) -> Option<Protected> {
        let fields = self.table(path, entry)?;
        let mut targets = Vec::new();
        let mut args = Vec::new();
        let mut label = None;
        let mut control = false;
        for (key, value) in fields {
            let key_path = format!("{path}.{key}");
            match key.as_str() {
                "op" => targets.push(self.name(&key_path, value, 2).map(Target::Operation)),
                "attribute" => targets.push(self.name(&key_path, value, 3).map(Target::Attribute)),
                "context" => targets.push(self.name(&key_path, value, 2).map(Target::Context)),
                "args" => args = self.args(&key_path, value),
                "label" => label = self.text(&key_path, value),
                "control" => match value {
                    Value::Bool(control_value) => control = *control_value,
                    _ => self.wrong_type(&key_path, value, "true or false"),
                },
                unknown => self.unknown_key(path, unknown, PROTECTED_KEYS),
            }
        }
        if targets.len() != 1 {
            let message = if targets.is_empty() {
                "nothing is named"
            } else {
                "more than one thing is named"
            };
            self.report(
                path,
                message,
                "give exactly one of `op`, `attribute` and `context`",
            );
            return None;
        }
        let target = targets.pop().flatten()?;
        if !args.is_empty() && !matches!(target, Target::Operation(_)) {
            self.report(
                &format!("{path}.args"),
                "only an operation has arguments",
                "remove it, or name an `op`",
            );
        }
        let mut protected = Protected {
            target,
            args,
            label: String::new(),
            control,
            preset: None,
        };
        protected.label = label.unwrap_or_else(|| protected.name().to_owned());
        Some(protected)
    }

    fn args(&mut self, path: &str, value: &Value) -> Vec<String> {
        let texts = self.texts(path, value);
        for (text_path, text) in &texts {
            if !names::is_identifier(text) {
                self.report(
                    text_path,
                    format!("`{text}` is no parameter's name"),
                    "write the name that stands in the function's signature",
                );
            }
        }
        if texts.is_empty() && matches!(value, Value::Array(_)) {
            self.report(
                path,
                "no argument is named",
                "leave `args` out to protect all of them",
            );
        }
        texts.into_iter().map(|(_, text)| text).collect()
    }

    fn trusted(&mut self, path: &str, value: &Value) -> Vec<Trusted> {
        let mut all = Vec::new();
        for (entry_path, entry) in self.list(path, value) {
            let Some(fields) = self.table(&entry_path, entry) else {
                continue;
            };
            for key in fields.keys().filter(|key| *key != "op") {
                self.unknown_key(&entry_path, key, TRUSTED_KEYS);
            }
            match fields.get("op") {
                Some(op) => {
                    let name = self.name(&format!("{entry_path}.op"), op, 2);
                    all.extend(name.map(|op| Trusted { op }));
                }
                None => self.report(&entry_path, "nothing is named", "give `op = \"module.function\"`"),
            }
        }
        all
    }

    fn name(&mut self, path: &str, value: &Value, min_parts: usize) -> Option<Pattern> {
        let text = self.text(path, value)?;
        match Pattern::parse(&text, min_parts) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                let help = match min_parts {
                    3 => "write module, class and attribute: `shop.acct.Account.balance`",
                    _ => "write module and name: `shop.pay.charge`, `shop.pay.Gate.pay`, `shop.db.*`",
                };
                self.report(path, format!("`{text}`: {error}"), help);
                None
            }
        }
    }

    fn texts(&mut self, path: &str, value: &Value) -> Vec<(String, String)> {
        let mut texts = Vec::new();
        for (entry_path, entry) in self.list(path, value) {
            if let Some(text) = self.text(&entry_path, entry) {
                texts.push((entry_path, text));
            }
        }
        texts
    }

    fn text(&mut self, path: &str, value: &Value) -> Option<String> {
        if value.as_str().is_none() {
            self.wrong_type(path, value, "a text");
        }
        value.as_str().map(str::to_owned)
    }

    fn list<'a>(&mut self, path: &str, value: &'a Value) -> Vec<(String, &'a Value)> {
        let Value::Array(entries) = value else {
            self.wrong_type(path, value, "a list");
            return Vec::new();
        };
        let with_path = |(entry_idx, entry)| (format!("{path}[{entry_idx}]"), entry);
        entries.iter().enumerate().map(with_path).collect()
    }

    fn table<'a>(&mut self, path: &str, value: &'a Value) -> Option<&'a Map<String, Value>> {
        if !value.is_object() {
            self.wrong_type(path, value, "a table");
        }
        value.as_object()
    }

    fn unknown_key(&mut self, path: &str, key: &str, known: &[&str]) {
        let key_path = if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        };
        self.report(&key_path, "unknown key", nearest(key, known));
    }

    fn wrong_type(&mut self, path: &str, value: &Value, wanted: &str) {
        let found = match value {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a text",
            Value::Array(_) => "a list",
            Value::Object(_) => "a table",
        };
        self.report(
            path,
            format!("{found} stands where {wanted} is expected"),
            format!("write {wanted}"),
        );
    }

    fn report(&mut self, path: &str, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Problem {
            path: path.to_owned(),
            message: message.into(),
            help: help.into(),
        });
    }
}

fn nearest(word: &str, known: &[&str]) -> String {
    let best = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        // Short words differ by a large share when one letter is wrong.
        .filter(|(likeness, candidate)| *likeness >= 0.75 || strsim::osa_distance(word, candidate) == 1)
        .max_by(|left, right| left.0.total_cmp(&right.0));
    match best {
        Some((_, candidate)) => format!("did you mean `{candidate}`?"),
        None => format!("known are: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::behaviour::Behaviour;

    use crate::policy::{OnUnconfirmed, Policy};

    fn check(table: Value, expect: &[&str]) {
        let error = Policy::from_json(&table).expect_err("a wrong policy");
        let lines: Vec<String> = error
            .problems
            .iter()
            .map(|problem| format!("{problem} | {}", problem.help))
            .collect();
        assert_eq!(lines, expect);
    }

    #[test]
    fn no_table_protects_nothing() {
        for table in [Value::Null, json!({})] {
            let policy = Policy::from_json(&table).expect("a valid policy");
            assert!(policy.is_empty());
            assert_eq!(policy.on_unconfirmed, OnUnconfirmed::Ask);
        }
    }

    #[test]
    fn unknown_words_name_the_nearest_known_one() {
        check(
            json!({"on_unconfirmed": "ask"}),
            &["on_unconfirmed: unknown key | did you mean `on-unconfirmed`?"],
        );
        check(
            json!({"on-unconfirmed": "denny"}),
            &["on-unconfirmed: unknown value `denny` | did you mean `deny`?"],
        );
        check(
            json!({"presets": ["proces", "gpu"]}),
            &[
                "presets[0]: unknown preset `proces` | did you mean `process`?",
                "presets[1]: unknown preset `gpu` | known are: process, network-send, file-write, file-delete, \
                 db-write, exec",
            ],
        );
    }

    #[test]
    fn all_mistakes_are_reported_at_once() {
        check(
            json!({"protected": [
                {"op": "shop.pay.charge"},
                {"oop": "shop.pay.charge"},
                {"op": "charge", "control": "yes"},
                {"op": "a.b", "context": "a.c"},
                {"attribute": "shop.balance"},
                {"context": "a.c", "args": ["x"]},
                7,
            ]}),
            &[
                "protected[1].oop: unknown key | did you mean `op`?",
                "protected[1]: nothing is named | give exactly one of `op`, `attribute` and `context`",
                "protected[2].op: `charge`: the name has 1 of the 2 parts it needs | write module and name: \
                 `shop.pay.charge`, `shop.pay.Gate.pay`, `shop.db.*`",
                "protected[2].control: a text stands where true or false is expected | write true or false",
                "protected[3]: more than one thing is named | give exactly one of `op`, `attribute` and `context`",
                "protected[4].attribute: `shop.balance`: the name has 2 of the 3 parts it needs | write module, \
                 class and attribute: `shop.acct.Account.balance`",
                "protected[5].args: only an operation has arguments | remove it, or name an `op`",
                "protected[6]: a number stands where a table is expected | write a table",
            ],
        );
    }

    #[test]
    fn trust_is_checked_like_protection() {
        check(
            json!({"trusted": [{"op": "a.b", "label": "x"}, {}], "pure": "numpy"}),
            &[
                "trusted[0].label: unknown key | known are: op",
                "trusted[1]: nothing is named | give `op = \"module.function\"`",
                "pure: a text stands where a list is expected | write a list",
            ],
        );
        check(
            json!({"protected": [{"op": "a.b"}], "trusted": [{"op": "a.b"}]}),
            &[
                "trusted: `a.b` is both protected and trusted | keep one of the two: a trusted operation's result \
               is taken as clean",
            ],
        );
    }

    #[test]
    fn arguments_are_parameter_names() {
        check(
            json!({"protected": [{"op": "a.b", "args": ["x.y"]}, {"op": "a.b", "args": []}]}),
            &[
                "protected[0].args[0]: `x.y` is no parameter's name | write the name that stands in the \
                 function's signature",
                "protected[1].args: no argument is named | leave `args` out to protect all of them",
            ],
        );
    }

    #[test]
    fn behaviours_are_words_of_the_list() {
        check(
            json!({"allow-behaviours": ["change-value", "fill-containers", "change-value"]}),
            &[
                "allow-behaviours[1]: unknown behaviour `fill-containers` | did you mean `fill-container`?",
                "allow-behaviours[2]: `change-value` stands twice | remove one of them",
            ],
        );
        let policy =
            Policy::from_json(&json!({"allow-behaviours": ["change-value"]})).expect("a valid policy");
        let both = [Behaviour::ChangeValue, Behaviour::Import];
        assert_eq!(policy.refused(&both), [Behaviour::Import]);
        assert_eq!(Policy::default().refused(&both), []);
    }
}
