//! The secrets that a frame is known to hold: their texts are masked wherever else they turn up.
//!
//! A name masks the value that it holds; once healing code has copied, joined or raised that value, only the text
//! itself is left to know it by.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::redact::{self, REDACTED, Secrecy};
use super::statics::instance_dict;

/// Shorter texts are too common to be looked for.
const MIN_CHARS: usize = 6;
/// So many values of a frame are looked through.
const MAX_VALUES: usize = 2_000;

/// Texts of secrets, the longest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    texts: Vec<String>,
}

impl Secrets {
    /// Collects them from the frame's variables, one level into dicts and objects, and from the environment.
    pub(crate) fn of(frame: &Bound<'_, PyAny>) -> Self {
        let mut found = Self::default();
        for (name, value) in std::env::vars() {
            found.note(&name, &value);
        }
        let mut left = MAX_VALUES;
        for namespace in ["f_locals", "f_globals"] {
            let Ok(namespace) = frame.getattr(namespace) else {
                continue;
            };
            let dict = namespace.cast_into::<PyDict>().or_else(|error| {
                // From 3.13 on a function's variables come as a proxy, whose copy is a dict.
                error
                    .into_inner()
                    .call_method0("copy")?
                    .cast_into::<PyDict>()
                    .map_err(PyErr::from)
            });
            if let Ok(dict) = dict {
                found.collect(&dict, 1, &mut left);
            }
        }
        found
            .texts
            .sort_unstable_by_key(|text| std::cmp::Reverse(text.len()));
        found.texts.dedup();
        found
    }

    fn collect(&mut self, dict: &Bound<'_, PyDict>, depth: usize, left: &mut usize) {
        for (key, value) in dict.iter() {
            let Some(rest) = left.checked_sub(1) else { return };
            *left = rest;
            let Ok(name) = key
                .cast_exact::<PyString>()
                .map(|name| name.to_string_lossy().into_owned())
            else {
                continue;
            };
            if let Ok(text) = value.cast_exact::<PyString>() {
                self.note(&name, &text.to_string_lossy());
            } else if depth > 0 {
                let inside = value
                    .cast_exact::<PyDict>()
                    .cloned()
                    .ok()
                    .or_else(|| instance_dict(&value));
                if let Some(inside) = inside {
                    self.collect(&inside, depth - 1, left);
                }
            }
        }
    }

    fn note(&mut self, name: &str, text: &str) {
        let secrecy = redact::of_name(name);
        if secrecy != Secrecy::Open && text.chars().count() >= MIN_CHARS && redact::hides(secrecy, text) {
            self.texts.push(text.to_owned());
        }
    }

    /// Returns the text with all secrets masked: those of the frame, and those of known shapes.
    pub(crate) fn mask(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in &self.texts {
            if masked.contains(secret.as_str()) {
                masked = masked.replace(secret.as_str(), REDACTED);
            }
        }
        redact::text(&masked).unwrap_or(masked)
    }
}
