//! The toolkit: functions that healing code may call as `heal.name(…)`. What they compute from texts is here, without
//! Python; the interpreter applies them to live values.

mod date;
mod file_name;
mod number;

pub use date::{DateError, Moment, date};
pub use file_name::file_name;
pub use number::{Number, number};

use crate::tables::Shape;

/// The name under which healing code finds the toolkit, unless the frame has that name itself.
pub const NAMESPACE: &str = "heal";

macro_rules! toolkit {
    ($($variant:ident $name:literal $signature:literal ($min:literal..$max:literal, $keywords:expr): $summary:literal;)+) => {
        /// One function of the toolkit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Tool {
            $(#[doc = $summary] $variant,)+
        }

        impl Tool {
            /// All of them, by name.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// Returns its name, without the namespace.
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns its parameters as Python writes them.
            pub fn signature(self) -> &'static str {
                match self { $(Self::$variant => $signature,)+ }
            }

            /// Returns what it does, in one sentence.
            pub fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)+ }
            }

            pub(crate) fn shape(self) -> Shape {
                match self {
                    $(Self::$variant => Shape { min: $min, max: $max, keywords: $keywords, star: false },)+
                }
            }
        }
    };
}

toolkit! {
    Clamp "clamp" "value, low, high" (3..3, &["value", "low", "high"]):
        "the number, or the bound that it is beyond";
    Date "date" "text, dayfirst=None" (1..2, &["text", "dayfirst"]):
        "the `datetime` that a text means, in any of the usual forms";
    Default "default" "kind" (1..1, &["kind"]):
        "the empty value of a builtin type, or of the type of a value";
    Number "number" "value, default" (1..2, &["value", "default"]):
        "the int or float that a text means; `default`, where given, for what is none";
    Pad "pad" "sequence, length, fill=None" (2..3, &["sequence", "length", "fill"]):
        "a copy of a list, tuple or text, filled up at its end";
    Save "save" "value, name" (2..2, &["value", "name"]):
        "saves a value as a JSON file in the healing folder, when the heal is resumed";
}

impl Tool {
    /// Returns the function of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tool| tool.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::Tool;
    use crate::testing::{check, check_with};
    use crate::{FrameName, Options};

    #[test]
    fn the_page_has_a_row_for_each_function() {
        let page = crate::topic("toolkit").expect("there is a page");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `heal.")).collect();
        let expect: Vec<String> = Tool::ALL
            .iter()
            .map(|tool| {
                format!(
                    "| `heal.{}({})` | {} |",
                    tool.name(),
                    tool.signature(),
                    tool.summary()
                )
            })
            .collect();
        assert_eq!(rows, expect);
    }

    #[test]
    fn calls_are_checked() {
        check("x = heal.clamp(x, 0, 10)", "");
        check("heal.save(rows, 'rows')", "");
        check("x = heal.clamp(x)", "HC504");
        check("x = heal.number(x, fallback=3)", "HC504");
        check("x = heal.clam(x, 0, 1)", "HC507");
        check("x = heal.number.inner(x)", "HC503");
    }

    #[test]
    fn a_name_of_the_frame_or_of_the_code_wins() {
        let options = Options {
            names: [("heal".to_owned(), FrameName::Value)].into(),
            ..Options::default()
        };
        check_with("x = heal.clamp(x, 0, 10)", &options, "HC503");
        check("heal = {}\nx = heal.clamp(x, 0, 10)", "HC503");
    }
}
