//! Reads `[tool.healmcp]` of a project's `pyproject.toml`; a key that is not known is an error with its line.

use std::fs;
use std::io;
use std::path::Path;

use healguard::{Policy, PolicyError};
use protocol::Boundary;
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Error, Result};
use crate::folders::cannot;
use crate::own_tools;

/// What a project says about healmcp.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Config {
    /// `include`: importable names of installed packages that are in scope too.
    pub(crate) include: Vec<String>,
    /// `timeout`: seconds to wait for a healer.
    pub(crate) timeout_s: Option<u64>,
    /// `repeat-limit`: so often in a row the same crash pauses.
    pub(crate) repeat_limit: Option<u32>,
    /// `unhandled-in` and `handled-in`: what functions do with the exceptions that they catch.
    pub(crate) boundaries: Vec<Boundary>,
    /// `toolkit` of `[tool.healmcp.heal]`: functions that healing code may call, each as `package.module:function`.
    pub(crate) toolkit: Vec<String>,
    /// `[tool.healmcp.guard]`; `{}` when there is none.
    pub(crate) guard: Value,
}

const KEYS: [&str; 7] = [
    "include",
    "timeout",
    "repeat-limit",
    "unhandled-in",
    "handled-in",
    "guard",
    "heal",
];

/// Reads the configuration of the project at `root`; without a `pyproject.toml` it is empty.
pub(crate) fn read(root: &Path) -> Result<Config> {
    let path = root.join("pyproject.toml");
    match fs::read_to_string(&path) {
        Ok(text) => parse(&text, &path.display().to_string(), Some(root)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => parse("", "pyproject.toml", None),
        Err(error) => Err(cannot("read", &path, &error)),
    }
}

/// Parses the text of a `pyproject.toml` that errors call `file`; names are resolved in the project at `root`.
pub(crate) fn parse(text: &str, file: &str, root: Option<&Path>) -> Result<Config> {
    let source = Source { root, text, file };
    let document = DeTable::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        source.error(
            start,
            error.message(),
            "correct the file: `python -m tomllib` would refuse it too",
        )
    })?;
    let mut config = Config {
        guard: Value::Object(serde_json::Map::new()),
        ..Config::default()
    };
    let Some(tool) = document
        .get_ref()
        .get("tool")
        .and_then(|tool| tool.get_ref().as_table())
    else {
        return Ok(config);
    };
    let Some(ours) = tool.get("healmcp") else {
        return Ok(config);
    };
    let Some(table) = ours.get_ref().as_table() else {
        return Err(source.wrong_type(ours, "[tool.healmcp]", "a table"));
    };
    for (key, value) in table {
        match key.get_ref().as_ref() {
            "include" => config.include = source.names(value)?,
            "timeout" => config.timeout_s = Some(source.seconds(value)?),
            "repeat-limit" => config.repeat_limit = Some(source.count(value)?),
            "unhandled-in" => config
                .boundaries
                .extend(source.boundaries(value, "unhandled-in")?),
            "handled-in" => config.boundaries.extend(source.boundaries(value, "handled-in")?),
            "guard" => config.guard = source.guard(value)?,
            "heal" => config.toolkit = source.heal(value)?,
            unknown => return Err(source.unknown_key(key.span().start, unknown, "[tool.healmcp]", &KEYS)),
        }
    }
    Ok(config)
}

/// Whether a text can be part of a pattern: dotted names, in which `*` stands for any part.
fn is_pattern(text: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|letter| letter.is_alphanumeric() || "_*<>".contains(letter))
    };
    text.split('.').all(is_part)
}

/// The text that is being read, for the lines of errors.
struct Source<'a> {
    root: Option<&'a Path>,
    text: &'a str,
    file: &'a str,
}

impl Source<'_> {
    fn names(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>> {
        let wrong = || self.wrong_type(value, "include", "a list of package names, such as [\"shop\"]");
        let items = value.get_ref().as_array().ok_or_else(wrong)?;
        items
            .iter()
            .map(|item| item.get_ref().as_str().map(str::to_owned).ok_or_else(wrong))
            .collect()
    }

    /// `[tool.healmcp.heal]`, whose one key is `toolkit`.
    fn heal(&self, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>> {
        let Some(table) = value.get_ref().as_table() else {
            return Err(self.wrong_type(value, "[tool.healmcp.heal]", "a table"));
        };
        let mut toolkit = Vec::new();
        for (key, value) in table {
            if key.get_ref() != "toolkit" {
                let offset = key.span().start;
                return Err(self.unknown_key(offset, key.get_ref(), "[tool.healmcp.heal]", &["toolkit"]));
            }
            let wanted = "a list of functions, such as [\"shop.tools:repair\"]";
            let Some(items) = value.get_ref().as_array() else {
                return Err(self.wrong_type(value, "toolkit", wanted));
            };
            for item in items {
                let Some(name) = item.get_ref().as_str() else {
                    return Err(self.wrong_type(item, "toolkit", wanted));
                };
                toolkit.push(self.tool(item, name)?);
            }
        }
        Ok(toolkit)
    }

    fn tool(&self, item: &Spanned<DeValue<'_>>, name: &str) -> Result<String> {
        let offset = item.span().start;
        let is_path = |path: &str| {
            let mut parts = path.split('.');
            parts.all(|part| {
                part.starts_with(|letter: char| letter.is_alphabetic() || letter == '_')
                    && part
                        .chars()
                        .all(|letter| letter.is_alphanumeric() || letter == '_')
            })
        };
        let Some((_, function)) = name
            .split_once(':')
            .filter(|(module, function)| is_path(module) && is_path(function))
        else {
            let message = format!("`{name}` in `toolkit` names no function");
            return Err(self.error(
                offset,
                &message,
                "write package.module:function, such as shop.tools:repair",
            ));
        };
        let last = function.rsplit('.').next().unwrap_or(function);
        if healcore::toolkit::Tool::from_name(last).is_some() {
            let message = format!("the toolkit has a `{last}` of its own");
            return Err(self.error(offset, &message, "give the function of the program another name"));
        }
        match own_tools::fault(self.root, name) {
            None => Ok(name.to_owned()),
            Some(fault) => Err(self.error(offset, &fault.message, &fault.help)),
        }
    }

    fn seconds(&self, value: &Spanned<DeValue<'_>>) -> Result<u64> {
        let integer = value.get_ref().as_integer();
        integer
            .and_then(|integer| u64::from_str_radix(integer.as_str(), integer.radix()).ok())
            .ok_or_else(|| self.wrong_type(value, "timeout", "a whole number of seconds"))
    }

    fn count(&self, value: &Spanned<DeValue<'_>>) -> Result<u32> {
        let integer = value.get_ref().as_integer();
        integer
            .and_then(|integer| u32::from_str_radix(integer.as_str(), integer.radix()).ok())
            .ok_or_else(|| self.wrong_type(value, "repeat-limit", "a whole number, 0 for no limit"))
    }

    /// `module:function` patterns.
    fn boundaries(&self, value: &Spanned<DeValue<'_>>, key: &str) -> Result<Vec<Boundary>> {
        const WANTED: &str = "a list of `module:function`, such as [\"shop.worker:Worker.run\"]";
        let items = value
            .get_ref()
            .as_array()
            .ok_or_else(|| self.wrong_type(value, key, WANTED))?;
        let boundary = |item: &Spanned<DeValue<'_>>| {
            let text = item
                .get_ref()
                .as_str()
                .ok_or_else(|| self.wrong_type(item, key, WANTED))?;
            let parts = text.split_once(':');
            let parts = parts.filter(|(module, function)| is_pattern(module) && is_pattern(function));
            let (module, function) = parts.ok_or_else(|| {
                let message = format!("`{text}` in `{key}` names no function");
                let hint = "write `module:function`, with the qualified name behind the colon; `*` stands for any part";
                self.error(item.span().start, &message, hint)
            })?;
            Ok(Boundary {
                module: module.to_owned(),
                function: function.to_owned(),
                dies: key == "unhandled-in",
            })
        };
        items.iter().map(boundary).collect()
    }

    fn guard(&self, value: &Spanned<DeValue<'_>>) -> Result<Value> {
        let json = to_json(value.get_ref());
        let Err(PolicyError { problems }) = Policy::from_json(&json) else {
            return Ok(json);
        };
        let told: Vec<Error> = problems
            .iter()
            .map(|problem| {
                let place = if problem.path.is_empty() {
                    String::new()
                } else {
                    format!("`{}`: ", problem.path)
                };
                let message = format!("in [tool.healmcp.guard], {place}{}", problem.message);
                self.error(offset_of(value, &problem.path), &message, &problem.help)
            })
            .collect();
        match told.as_slice() {
            [one] => Err(Error::usage(one.to_string(), one.hint())),
            several => {
                let lines: Vec<String> = several
                    .iter()
                    .map(|error| format!("\n  {error} ({})", error.hint()))
                    .collect();
                Err(Error::usage(
                    format!(
                        "the guard's configuration has {} mistakes:{}",
                        several.len(),
                        lines.concat()
                    ),
                    "correct them: nothing is started under rules that cannot be read",
                ))
            }
        }
    }

    fn wrong_type(&self, value: &Spanned<DeValue<'_>>, key: &str, wanted: &str) -> Error {
        let found = value.get_ref().type_str();
        self.error(
            value.span().start,
            &format!("`{key}` is of type {found}"),
            &format!("write {wanted}"),
        )
    }

    fn unknown_key(&self, offset: usize, unknown: &str, table: &str, known: &[&str]) -> Error {
        self.error(
            offset,
            &format!("unknown key `{unknown}` in {table}"),
            &nearest(unknown, known).map_or_else(
                || format!("the keys are {}", known.join(", ")),
                |nearest| format!("did you mean `{nearest}`? the keys are {}", known.join(", ")),
            ),
        )
    }

    fn error(&self, offset: usize, message: &str, hint: &str) -> Error {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line = before.matches('\n').count() + 1;
        Error::usage(format!("{}:{line}: {message}", self.file), hint)
    }
}

/// Returns the known word that `unknown` was probably meant to be.
fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    let scored = known
        .iter()
        .map(|known| (strsim::jaro_winkler(unknown, known), *known));
    let (score, nearest) = scored.max_by(|left, right| left.0.total_cmp(&right.0))?;
    (score > 0.7).then_some(nearest)
}

/// Returns where the value at `path`, such as `protected[2].op`, begins; a key begins before its value.
fn offset_of(table: &Spanned<DeValue<'_>>, path: &str) -> usize {
    let mut value = table;
    let mut offset = table.span().start;
    let steps = path.split(['.', '[', ']']).filter(|step| !step.is_empty());
    for step in steps {
        let next = match value.get_ref() {
            DeValue::Table(entries) => entries
                .iter()
                .find(|(key, _)| key.get_ref() == step)
                .map(|(key, value)| (key.span().start, value)),
            DeValue::Array(items) => step
                .parse::<usize>()
                .ok()
                .and_then(|item| items.get(item))
                .map(|item| (item.span().start, item)),
            _ => None,
        };
        let Some((start, next)) = next else {
            break;
        };
        (offset, value) = (start, next);
    }
    offset
}

fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map_or_else(|_| integer.as_str().into(), Value::from),
        DeValue::Float(float) => float
            .as_str()
            .parse::<f64>()
            .map_or_else(|_| float.as_str().into(), Value::from),
        DeValue::Datetime(moment) => Value::String(moment.to_string()),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => table
            .iter()
            .map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref())))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        let said = match parse(text, "pyproject.toml", None) {
            Ok(config) => format!("{:?} {:?} {}", config.include, config.timeout_s, config.guard),
            Err(error) => format!("{error} ({})", error.hint()),
        };
        assert_eq!(said, expect);
    }

    #[test]
    fn a_project_without_a_table_says_nothing() {
        check("", "[] None {}");
        check("[tool.ruff]\nline-length = 110\n", "[] None {}");
    }

    #[test]
    fn all_keys_are_read() {
        check(
            "[tool.healmcp]\ninclude = [\"a\", 'b']\ntimeout = 1_000\n[tool.healmcp.guard]\non-unconfirmed = \"ask\"\n\
             [[tool.healmcp.guard.protected]]\nop = \"shop.pay\"\ncontrol = true\n",
            r#"["a", "b"] Some(1000) {"on-unconfirmed":"ask","protected":[{"control":true,"op":"shop.pay"}]}"#,
        );
    }

    #[test]
    fn an_unknown_key_is_named_with_its_line_and_its_neighbour() {
        check(
            "[project]\nname = 'x'\n\n[tool.healmcp]\nincludes = []\n",
            "pyproject.toml:5: unknown key `includes` in [tool.healmcp] \
             (did you mean `include`? the keys are include, timeout, repeat-limit, unhandled-in, handled-in, guard, heal)",
        );
        check(
            "[tool.healmcp]\nzz = 1\n",
            "pyproject.toml:2: unknown key `zz` in [tool.healmcp] (the keys are include, timeout, repeat-limit, unhandled-in, handled-in, guard, heal)",
        );
    }

    #[test]
    fn mistakes_in_the_guard_have_their_lines() {
        check(
            "[tool.healmcp.guard]\non-unconfirmd = 'ask'\n",
            "pyproject.toml:2: in [tool.healmcp.guard], `on-unconfirmd`: unknown key \
             (did you mean `on-unconfirmed`?)",
        );
        check(
            "[tool.healmcp.guard]\non-unconfirmed = 'ask'\npreset = []\n[[tool.healmcp.guard.protected]]\n\
             op = 'shop.pay'\n[[tool.healmcp.guard.protected]]\nop = 'shop.pay'\narg = []\n",
            "the guard's configuration has 2 mistakes:\
             \n  pyproject.toml:3: in [tool.healmcp.guard], `preset`: unknown key (did you mean `presets`?)\
             \n  pyproject.toml:8: in [tool.healmcp.guard], `protected[1].arg`: unknown key (did you mean `args`?) \
             (correct them: nothing is started under rules that cannot be read)",
        );
        check(
            "[tool.healmcp]\nguard = 1\n",
            "pyproject.toml:2: in [tool.healmcp.guard], a number stands where a table is expected (write a table)",
        );
    }

    #[test]
    fn wrong_types_say_what_to_write() {
        check(
            "[tool.healmcp]\ntimeout = '5'\n",
            "pyproject.toml:2: `timeout` is of type string (write a whole number of seconds)",
        );
        check(
            "[tool.healmcp]\ninclude = 'shop'\n",
            "pyproject.toml:2: `include` is of type string (write a list of package names, such as [\"shop\"])",
        );
        check(
            "[tool]\nhealmcp = 1\n",
            "pyproject.toml:2: `[tool.healmcp]` is of type integer (write a table)",
        );
    }

    #[test]
    fn boundaries_are_modules_and_functions() {
        let text = "[tool.healmcp]\nunhandled-in = ['shop.worker:Worker.run', 'jobs.*:*']\nhandled-in = ['web:app.<locals>.call']\n";
        let said: Vec<String> = parse(text, "pyproject.toml", None)
            .unwrap()
            .boundaries
            .iter()
            .map(|boundary| format!("{} {} {}", boundary.module, boundary.function, boundary.dies))
            .collect();
        assert_eq!(
            said,
            [
                "web app.<locals>.call false",
                "shop.worker Worker.run true",
                "jobs.* * true"
            ]
        );
        check(
            "[tool.healmcp]\nunhandled-in = ['shop.worker.run']\n",
            "pyproject.toml:2: `shop.worker.run` in `unhandled-in` names no function \
             (write `module:function`, with the qualified name behind the colon; `*` stands for any part)",
        );
        check(
            "[tool.healmcp]\nhandled-in = 'a:b'\n",
            "pyproject.toml:2: `handled-in` is of type string \
             (write a list of `module:function`, such as [\"shop.worker:Worker.run\"])",
        );
        check(
            "[tool.healmcp]\nrepeat-limit = -1\n",
            "pyproject.toml:2: `repeat-limit` is of type integer (write a whole number, 0 for no limit)",
        );
    }

    #[test]
    fn a_toolkit_names_functions() {
        let heal = |toolkit: &str| format!("[tool.healmcp.heal]\ntoolkit = {toolkit}\n");
        let config = parse(&heal("['shop.tools:Desk.repair']"), "pyproject.toml", None).unwrap();
        assert_eq!(config.toolkit, ["shop.tools:Desk.repair"]);
        check(
            &heal("['shop.tools.repair']"),
            "pyproject.toml:2: `shop.tools.repair` in `toolkit` names no function \
             (write package.module:function, such as shop.tools:repair)",
        );
        check(
            &heal("['shop.tools:clamp']"),
            "pyproject.toml:2: the toolkit has a `clamp` of its own (give the function of the program another name)",
        );
        check(
            "[tool.healmcp.heal]\ntoolkits = []\n",
            "pyproject.toml:2: unknown key `toolkits` in [tool.healmcp.heal] \
             (did you mean `toolkit`? the keys are toolkit)",
        );
    }

    #[test]
    fn broken_toml_has_a_line() {
        let error = parse("[tool]\nx = \n", "pyproject.toml", None).unwrap_err();
        assert!(error.to_string().starts_with("pyproject.toml:2: "), "{error}");
    }
}
