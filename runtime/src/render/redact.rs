//! Secrets, by the names that hold them and by the shapes they have.
//!
//! Pure text in, text out: whatever leaves the process has passed here.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// What stands in the place of a secret.
pub(crate) const REDACTED: &str = "<redacted>";

/// What a name says about its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Secrecy {
    /// Nothing.
    Open,
    /// Texts of four characters and more are secret; `token` is also a word of parsers.
    Texts,
    /// A text is secret when it looks random: `key` is a word of every loop over a dict.
    RandomTexts,
    /// Everything in it is secret.
    All,
}

/// Words that make a name secret wherever they stand.
const SECRET_WORDS: &[&str] = &[
    "apikey",
    "apikeys",
    "apitoken",
    "accesskey",
    "accesstoken",
    "authorization",
    "authtoken",
    "bearer",
    "clientsecret",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "creds",
    "csrftoken",
    "jwt",
    "passcode",
    "passphrase",
    "passwd",
    "passwds",
    "password",
    "passwords",
    "pgpassword",
    "privatekey",
    "pwd",
    "refreshtoken",
    "secret",
    "secretkey",
    "secrets",
    "sessionid",
    "sessionkey",
    "sessiontoken",
    "xsrftoken",
];

/// Words that make `key` or `keys` after them secret.
const KEY_WORDS: &[&str] = &[
    "access",
    "account",
    "api",
    "auth",
    "aws",
    "client",
    "deploy",
    "encryption",
    "hmac",
    "license",
    "master",
    "private",
    "rsa",
    "service",
    "session",
    "shared",
    "signing",
    "ssh",
    "storage",
    "subscription",
];

/// Words that make `token` or `tokens` after them secret.
const TOKEN_WORDS: &[&str] = &[
    "access", "api", "app", "auth", "bot", "csrf", "deploy", "github", "gitlab", "id", "login", "oauth",
    "refresh", "secret", "security", "session", "slack", "user", "xsrf",
];

/// A name that ends in one of these is about the secret, and does not hold it.
const INNOCENT_ENDS: &[&str] = &[
    "at",
    "backend",
    "class",
    "cls",
    "count",
    "dir",
    "enabled",
    "error",
    "errors",
    "exception",
    "exists",
    "expires",
    "expiry",
    "factory",
    "field",
    "fields",
    "file",
    "filename",
    "handler",
    "idx",
    "index",
    "kind",
    "label",
    "len",
    "length",
    "manager",
    "max",
    "min",
    "name",
    "names",
    "parser",
    "path",
    "pattern",
    "policy",
    "pos",
    "position",
    "provider",
    "regex",
    "required",
    "size",
    "timeout",
    "ttl",
    "type",
    "types",
    "url",
    "valid",
    "validator",
];

/// Returns what the name of a variable, attribute, key or header says about its value.
pub(crate) fn of_name(name: &str) -> Secrecy {
    // No name of a secret is that long; a text used as a dict's key may be.
    if name.len() > 80 {
        return Secrecy::Open;
    }
    let words = words(name);
    let Some(last) = words.last() else {
        return Secrecy::Open;
    };
    if INNOCENT_ENDS.contains(&last.as_str()) {
        return Secrecy::Open;
    }
    let follows = |firsts: &[&str], second: &str| {
        words.windows(2).any(|pair| {
            firsts.contains(&pair[0].as_str()) && pair[1].strip_suffix('s').unwrap_or(&pair[1]) == second
        })
    };
    if words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()))
        || follows(KEY_WORDS, "key")
        || follows(TOKEN_WORDS, "token")
        || follows(&["session"], "id")
        || follows(&["connection", "conn"], "string")
    {
        return Secrecy::All;
    }
    match last.as_str() {
        "token" | "auth" | "session" | "otp" => Secrecy::Texts,
        "key" | "keys" | "salt" | "signature" | "tokens" => Secrecy::RandomTexts,
        _ => Secrecy::Open,
    }
}

/// Returns the first name in an expression's text that makes what it gives a secret, as far as names can tell.
pub(crate) fn secret_name_in(expression: &str) -> Option<&str> {
    let words = || {
        expression
            .split(|char: char| !char.is_alphanumeric() && char != '_')
            .filter(|word| !word.is_empty())
    };
    let all = words().find(|word| of_name(word) == Secrecy::All);
    // `token` alone, or as the last attribute or key, names the value itself.
    all.or_else(|| words().next_back().filter(|word| of_name(word) != Secrecy::Open))
}

/// Returns whether a text is secret under a name of this secrecy.
pub(crate) fn hides(secrecy: Secrecy, text: &str) -> bool {
    match secrecy {
        Secrecy::Open => false,
        Secrecy::Texts => text.chars().count() >= 4 && text.chars().any(char::is_alphanumeric),
        Secrecy::RandomTexts => looks_random(text),
        Secrecy::All => !text.is_empty(),
    }
}

/// Returns the text without the secrets in it; `None` when there is none.
pub(crate) fn text(text: &str) -> Option<String> {
    if text.len() < 8 {
        return None;
    }
    let shapes = shapes(text);
    let named = ASSIGNMENT.replace_all(shapes.as_deref().unwrap_or(text), |found: &Captures<'_>| {
        let name = &found["name"];
        let value = &found["value"];
        // `password: too short` is a message; `"password": "x"`, `X-Api-Key: x` and `password=x` are values.
        let by_colon = &found["sign"] == ":";
        let is_header =
            name.contains('-') || ["authorization", "cookie"].contains(&name.to_lowercase().as_str());
        let is_pair = !by_colon || is_header || found.name("quote").is_some_and(|quote| !quote.is_empty());
        let is_plain =
            value.starts_with('<') || ["None", "True", "False", "null", "true", "false"].contains(&value);
        if is_pair && !is_plain && hides(of_name(name), value) {
            format!("{}{REDACTED}", &found["before"])
        } else {
            found[0].to_owned()
        }
    });
    match named {
        std::borrow::Cow::Owned(changed) if changed != text => Some(changed),
        _ => shapes,
    }
}

/// Returns the text with each character of a secret as `*`, so that a part of it can be cut out by position.
pub(crate) fn masked(whole: &str) -> Option<String> {
    let redacted = text(whole)?;
    let pieces: Vec<&str> = redacted.split(REDACTED).collect();
    let mut masked = String::new();
    let mut rest = whole;
    for (piece_idx, piece) in pieces.iter().enumerate() {
        let is_last = piece_idx + 1 == pieces.len();
        let at = match (piece_idx, is_last) {
            (0, _) => 0,
            (_, true) => rest.len().saturating_sub(piece.len()),
            // A secret has at least one character; what follows it is found after that.
            (_, false) => rest.char_indices().nth(1).map_or(rest.len(), |(first, _)| {
                rest[first..]
                    .find(piece)
                    .map_or(rest.len(), |found| first + found)
            }),
        };
        masked.extend(rest[..at].chars().map(|_| '*'));
        masked.push_str(piece);
        rest = rest.get(at + piece.len()..).unwrap_or_default();
    }
    Some(masked)
}

/// Returns a line of source without the secrets that it spells out; `None` when there is none.
pub(crate) fn source_line(line: &str) -> Option<String> {
    let shapes = shapes(line);
    let named = LITERAL.replace_all(shapes.as_deref().unwrap_or(line), |found: &Captures<'_>| {
        let value = found
            .name("double")
            .or_else(|| found.name("single"))
            .map_or("", |value| value.as_str());
        if value != REDACTED && hides(of_name(&found["name"]), value) {
            let quote = if found.name("double").is_some() { '"' } else { '\'' };
            format!("{}{quote}{REDACTED}{quote}", &found["before"])
        } else {
            found[0].to_owned()
        }
    });
    match named {
        std::borrow::Cow::Owned(changed) if changed != line => Some(changed),
        _ => shapes,
    }
}

/// Values that are secret whatever they are called.
static SHAPES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let shape = |pattern: &str, with| (Regex::new(pattern).expect("the tests compile it"), with);
    vec![
        shape(
            r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----|\z)",
            REDACTED,
        ),
        // The start of a cut key may be missing.
        shape(r"(?s)\A.*-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----", REDACTED),
        shape(
            r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)?",
            REDACTED,
        ),
        shape(
            r"\b(?:AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA)[A-Z0-9]{16}\b",
            REDACTED,
        ),
        shape(
            r"\b(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{16,}|gl[a-z]{2,5}-[A-Za-z0-9_-]{16,})",
            REDACTED,
        ),
        shape(r"\bx(?:ox[a-z]|app)-[A-Za-z0-9-]{8,}", REDACTED),
        shape(r"(hooks\.slack\.com/services/)[A-Za-z0-9/]+", "${1}<redacted>"),
        shape(
            r"\b(?:[spr]k_(?:live|test)_[A-Za-z0-9]{8,}|whsec_[A-Za-z0-9]{8,})",
            REDACTED,
        ),
        shape(r"\bsk-[A-Za-z0-9_-]{16,}", REDACTED),
        shape(r"\b(?:AIza[0-9A-Za-z_-]{30,}|ya29\.[0-9A-Za-z_-]{16,})", REDACTED),
        shape(
            r"\b(?:npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|hf_[A-Za-z0-9]{30,}|do[opr]_v1_[a-f0-9]{32,})",
            REDACTED,
        ),
        shape(r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}", REDACTED),
        shape(
            r"([A-Za-z][A-Za-z0-9+.-]*://[^\s/:@'\x22]*:)[^\s/@'\x22]+@",
            "${1}<redacted>@",
        ),
    ]
});

static HEADER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(bearer|basic)(\s+)([A-Za-z0-9._~+/=-]{8,})").expect("the tests compile it")
});

static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?P<before>\b(?P<name>[A-Za-z_][A-Za-z0-9_-]*)(?P<quote>["'])?\s*(?P<sign>[:=])\s*["']?)(?P<value>[^\s"',;&})\]]+)"#,
    )
    .expect("the tests compile it")
});

static LITERAL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?P<before>\b(?P<name>[A-Za-z_][A-Za-z0-9_-]*)["']?\]?\s*(?::\s*[A-Za-z_.]+\s*)?(?:=|:|==|!=)\s*[rRbBfFuU]{0,2})(?:"(?P<double>(?:[^"\\]|\\.)*)"|'(?P<single>(?:[^'\\]|\\.)*)')"#,
    )
    .expect("the tests compile it")
});

fn shapes(text: &str) -> Option<String> {
    let mut changed: Option<String> = None;
    for (regex, with) in SHAPES.iter() {
        if let std::borrow::Cow::Owned(now) = regex.replace_all(changed.as_deref().unwrap_or(text), *with) {
            changed = Some(now);
        }
    }
    let headers = HEADER.replace_all(changed.as_deref().unwrap_or(text), |found: &Captures<'_>| {
        // "basic authentication" is prose.
        let value = &found[3];
        if value.contains(|char: char| char.is_ascii_digit() || char == '=') || value.len() >= 20 {
            format!("{}{}{REDACTED}", &found[1], &found[2])
        } else {
            found[0].to_owned()
        }
    });
    match headers {
        std::borrow::Cow::Owned(now) if now != changed.as_deref().unwrap_or(text) => Some(now),
        _ => changed,
    }
}

/// Returns whether a text is long, of one alphabet of keys, and mixed as only chance mixes.
fn looks_random(text: &str) -> bool {
    let is_alphabet = |char: char| char.is_ascii_alphanumeric() || "+/=_-".contains(char);
    if text.len() < 20 || !text.chars().all(is_alphabet) {
        return false;
    }
    let n_digits = text.chars().filter(char::is_ascii_digit).count();
    let n_letters = text.chars().filter(char::is_ascii_alphabetic).count();
    let mut kinds: Vec<char> = text.chars().collect();
    kinds.sort_unstable();
    kinds.dedup();
    n_digits >= 3 && n_letters >= 3 && kinds.len() >= 10
}

/// Splits `dbPassword2` and `DB_PASSWORD` into lower-case words without digits.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous_lower = false;
    for char in name.chars() {
        let starts_word = !char.is_alphabetic() || (char.is_uppercase() && previous_lower);
        if starts_word && words.last().is_some_and(|word| !word.is_empty()) {
            words.push(String::new());
        }
        if char.is_alphabetic() {
            words
                .last_mut()
                .expect("it starts with one word")
                .extend(char.to_lowercase());
        }
        previous_lower = char.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}
