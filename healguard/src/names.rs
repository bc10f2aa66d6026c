//! Dotted names of Python, as the policy writes them and as objects carry them.

/// A dotted name such as `shop.pay.Gate.pay`; a `*` at its end stands for anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
}

/// Why a text is no dotted name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing stands there.
    #[error("the name is empty")]
    Empty,
    /// A part is no Python identifier.
    #[error("`{0}` is no Python identifier")]
    Part(String),
    /// A `*` stands before the end.
    #[error("`*` may only stand at the end")]
    Star,
    /// Too few parts to name what is asked for.
    #[error("the name has {has} of the {needs} parts it needs")]
    Short {
        /// How many it has.
        has: usize,
        /// How many it needs.
        needs: usize,
    },
}

impl Pattern {
    /// Returns the pattern that `text` writes, which must have at least `min_parts` parts.
    pub fn parse(text: &str, min_parts: usize) -> Result<Self, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let fixed = text.strip_suffix('*').unwrap_or(text);
        if fixed.contains('*') {
            return Err(NameError::Star);
        }
        let parts: Vec<&str> = fixed.split('.').collect();
        for (part_idx, part) in parts.iter().enumerate() {
            // `shop.db.*` leaves an empty part before the star.
            let stands_for_star = part.is_empty() && part_idx + 1 == parts.len() && fixed.len() < text.len();
            if !stands_for_star && !is_identifier(part) {
                return Err(NameError::Part((*part).to_owned()));
            }
        }
        if parts.len() < min_parts {
            return Err(NameError::Short {
                has: parts.len(),
                needs: min_parts,
            });
        }
        Ok(Self {
            text: text.to_owned(),
        })
    }

    /// Returns the pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns whether it ends in `*`.
    pub fn is_glob(&self) -> bool {
        self.text.ends_with('*')
    }

    /// Returns whether it names `qualname` of `module`.
    ///
    /// Functions of C modules carry the private module's name (`posix.system`); they are found under the public one.
    pub fn matches(&self, module: &str, qualname: &str) -> bool {
        let name = format!("{}.{qualname}", public_module(module));
        match self.text.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == self.text,
        }
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.text)
    }
}

pub(crate) fn is_identifier(part: &str) -> bool {
    let mut chars = part.chars();
    chars
        .next()
        .is_some_and(|first| first == '_' || first.is_alphabetic())
        && chars.all(|char| char == '_' || char.is_alphanumeric())
}

fn public_module(module: &str) -> &str {
    match module {
        "posix" | "nt" => "os",
        "_io" => "io",
        "_socket" => "socket",
        "_sqlite3" => "sqlite3",
        "_posixsubprocess" => "subprocess",
        "pathlib._local" => "pathlib",
        _ => module,
    }
}

#[cfg(test)]
mod tests {
    use super::{NameError, Pattern};

    fn check(pattern: &str, module: &str, qualname: &str, expect: bool) {
        let parsed = Pattern::parse(pattern, 2).expect("a valid pattern");
        assert_eq!(
            parsed.matches(module, qualname),
            expect,
            "{pattern} on {module}.{qualname}"
        );
    }

    #[test]
    fn names_match_functions_methods_and_globs() {
        check("shop.pay.charge", "shop.pay", "charge", true);
        check("shop.pay.charge", "shop.pay", "charge_all", false);
        check("shop.pay.charge", "shop", "pay.charge", true);
        check("shop.pay.Gate.pay", "shop.pay", "Gate.pay", true);
        check("shop.db.*", "shop.db", "Table.insert", true);
        check("shop.db.*", "shop.dbx", "insert", false);
        check("shop.db.write_*", "shop.db", "write_row", true);
        check("os.system", "posix", "system", true);
    }

    #[test]
    fn wrong_names_say_what_is_wrong() {
        let parse = |text| Pattern::parse(text, 2).expect_err("a wrong name");
        assert_eq!(parse(""), NameError::Empty);
        assert_eq!(parse("shop.*.pay"), NameError::Star);
        assert_eq!(parse("shop..pay"), NameError::Part(String::new()));
        assert_eq!(parse("shop.2pay"), NameError::Part("2pay".into()));
        assert_eq!(parse("shop."), NameError::Part(String::new()));
        assert_eq!(parse("charge"), NameError::Short { has: 1, needs: 2 });
    }
}
