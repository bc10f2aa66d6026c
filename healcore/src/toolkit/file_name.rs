//! `heal.save`: the name of the file.

/// Longer names are cut.
const MAX_LENGTH: usize = 64;

/// Returns a name that is safe as a file's, without its ending; nothing where no letter or digit is left.
///
/// ```
/// use healcore::toolkit::file_name;
/// assert_eq!(file_name("../../etc/rows of 3").as_deref(), Some("etc_rows_of_3"));
/// assert_eq!(file_name("..").as_deref(), None);
/// ```
pub fn file_name(text: &str) -> Option<String> {
    let mut name = String::new();
    for letter in text.chars() {
        let is_plain = letter.is_ascii_alphanumeric() || letter == '-';
        match is_plain {
            true => name.push(letter),
            false if name.ends_with('_') || name.is_empty() => {}
            false => name.push('_'),
        }
        if name.len() == MAX_LENGTH {
            break;
        }
    }
    let name = name.trim_matches(['_', '-']);
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::file_name;

    #[test]
    fn names_lead_nowhere_else() {
        let check = |text: &str, expect: Option<&str>| assert_eq!(file_name(text).as_deref(), expect);
        check("rows", Some("rows"));
        check("/tmp/x.json", Some("tmp_x_json"));
        check(".hidden", Some("hidden"));
        check("a\0b\nc", Some("a_b_c"));
        check("-rf", Some("rf"));
        check("été", Some("t"));
        check("", None);
        check(&"x".repeat(100), Some(&"x".repeat(64)));
    }
}
