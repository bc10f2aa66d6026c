//! `heal.number`: the number that a text means.

/// A number as Python's `int` or `float` reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Number {
    /// Digits with an optional sign.
    Int(String),
    /// With a point or an exponent.
    Float(String),
    /// The same as a float, to be divided by 100.
    Percent(String),
}

/// Longer texts are no number.
const MAX_LENGTH: usize = 100;

/// Returns the number that a text means; nothing where it is none, or could be two.
///
/// ```
/// use healcore::toolkit::{Number, number};
/// assert_eq!(number("$ 1,234.50"), Some(Number::Float("1234.50".to_owned())));
/// assert_eq!(number("twelve"), None);
/// ```
pub fn number(text: &str) -> Option<Number> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let is_currency = |letter: char| matches!(letter, '$' | '€' | '£' | '¥') || letter.is_whitespace();
    let mut text = text.trim();
    let mut sign = "";
    if let Some(inner) = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        // Bookkeepers write negative numbers in parentheses.
        (text, sign) = (inner, "-");
    }
    text = text.trim_matches(is_currency);
    if sign.is_empty() {
        if let Some(rest) = text.strip_prefix(['-', '\u{2212}']) {
            (text, sign) = (rest, "-");
        } else if let Some(rest) = text.strip_prefix('+') {
            text = rest;
        }
        text = text.trim_matches(is_currency);
    }
    let percent = text.strip_suffix('%');
    let digits = ungrouped(percent.unwrap_or(text).trim_end())?;
    let number = format!("{sign}{digits}");
    Some(match percent {
        Some(_) => Number::Percent(number),
        None if digits.bytes().all(|byte| byte.is_ascii_digit()) => Number::Int(number),
        None => Number::Float(number),
    })
}

/// Returns the digits without what groups them, with a point before the fraction.
fn ungrouped(text: &str) -> Option<String> {
    if text.starts_with(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ',') {
        return None;
    }
    // Spaces, apostrophes and underscores only group.
    let only_group = |letter: char| matches!(letter, ' ' | '\u{a0}' | '\u{202f}' | '\'' | '_');
    let text: String = text.chars().filter(|letter| !only_group(*letter)).collect();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text.as_str(), None),
    };
    if let Some(exponent) = exponent {
        let digits = exponent.trim_start_matches(['+', '-']);
        let is_plain = !digits.is_empty() && digits.len() <= 3 && exponent.len() - digits.len() <= 1;
        if !is_plain || !all_digits(digits) {
            return None;
        }
    }
    let mantissa = pointed(mantissa)?;
    Some(match exponent {
        Some(exponent) => format!("{mantissa}e{exponent}"),
        None => mantissa,
    })
}

/// Decides which of `.` and `,` is the point.
fn pointed(text: &str) -> Option<String> {
    let point = match (text.rfind('.'), text.rfind(',')) {
        (Some(dot), Some(comma)) if dot > comma => Some('.'),
        (Some(_), Some(_)) => Some(','),
        (Some(_), None) if text.matches('.').count() == 1 => Some('.'),
        (None, Some(comma)) if text.matches(',').count() == 1 && text.len() - comma - 1 != 3 => Some(','),
        // `1,234` and `1.234.567`: groups of three.
        _ => None,
    };
    let (whole, fraction) = match point {
        Some(point) => text.rsplit_once(point)?,
        None => (text, ""),
    };
    let group = if point == Some('.') || point.is_none() && whole.contains(',') {
        ','
    } else {
        '.'
    };
    let groups: Vec<&str> = whole.split(group).collect();
    let is_grouped = groups.len() == 1
        || groups[1..].iter().all(|group| group.len() == 3) && (1..=3).contains(&groups[0].len());
    let whole = groups.concat();
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    if !is_grouped || !has_digits || !all_digits(&whole) || !all_digits(fraction) {
        return None;
    }
    Some(match point {
        Some(_) => format!("{}.{fraction}", if whole.is_empty() { "0" } else { &whole }),
        None => whole,
    })
}

fn all_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{Number, number};

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let told = match number(text) {
            Some(Number::Int(digits)) => format!("int {digits}"),
            Some(Number::Float(digits)) => format!("float {digits}"),
            Some(Number::Percent(digits)) => format!("percent {digits}"),
            None => "nothing".to_owned(),
        };
        assert_eq!(told, expect, "{text}");
    }

    #[test]
    fn the_usual_forms_are_read() {
        check(" 12 ", "int 12");
        check("-3", "int -3");
        check("+7", "int 7");
        check("1_000", "int 1000");
        check("1,234", "int 1234");
        check("1,234,567.5", "float 1234567.5");
        check("1.234.567,5", "float 1234567.5");
        check("1.234.567", "int 1234567");
        check("12,5", "float 12.5");
        check("1 234,50 €", "float 1234.50");
        check("$5", "int 5");
        check("-$5.00", "float -5.00");
        check("($5)", "int -5");
        check("12.5%", "percent 12.5");
        check("3e-4", "float 3e-4");
        check(".5", "float 0.5");
    }

    #[test]
    fn what_is_no_number_or_two_is_nothing() {
        for text in [
            "",
            "x",
            "1-2",
            "1,23,456",
            "--1",
            "1e",
            "1e9999",
            "12 apples",
            "nan",
            "inf",
            ".",
            "1..2",
            "(-",
            "0x10",
        ] {
            check(text, "nothing");
        }
        check(&"1".repeat(101), "nothing");
    }
}
