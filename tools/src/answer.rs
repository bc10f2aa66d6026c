//! What a tool gives back, for models, for programs and for people.

use serde::Serialize;
use serde_json::Value;

/// The result of a call that was done.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Plain text for reading.
    pub text: String,
    /// The same as a value, for programs; always an object.
    pub json: Value,
    /// Which of the two a model should get.
    pub shape: Shape,
}

/// Which form of an answer a model reads best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// The text: code, frames and reports, which escaping would make hard to read.
    Text,
    /// The value: lists, verdicts and outcomes.
    Structured,
}

impl Answer {
    pub(crate) fn text(text: String, json: &impl Serialize) -> Self {
        Self {
            text,
            json: value(json),
            shape: Shape::Text,
        }
    }

    pub(crate) fn structured(text: String, json: &impl Serialize) -> Self {
        Self {
            text,
            json: value(json),
            shape: Shape::Structured,
        }
    }

    /// Returns the text to send: a structured answer says the same in both forms, since clients show one or the other.
    pub fn text_to_send(&self) -> String {
        match self.shape {
            Shape::Text => self.text.clone(),
            Shape::Structured => self.json.to_string(),
        }
    }

    /// Returns the value to send beside the text, where the answer is a structured one.
    pub fn value_to_send(&self) -> Option<&Value> {
        match self.shape {
            Shape::Text => None,
            Shape::Structured => Some(&self.json),
        }
    }
}

fn value(json: &impl Serialize) -> Value {
    serde_json::to_value(json).expect("answers are structs with string keys")
}
