//! Which names a text mentions and which it may define, without parsing it.
//!
//! A scan is some fifty times as fast as a parse and decides which files a question parses at all. It errs on
//! one side only: it also sees names in comments and strings.

use crate::language::Language;

/// The names in one text, folded to lower case and hashed.
#[derive(Clone, Debug, Default)]
pub struct Identifiers {
    /// Sorted hashes of all names.
    mentioned: Box<[u32]>,
    /// Sorted hashes of the names in defining places.
    defined: Box<[u32]>,
    /// The names after a definition word, as they are written, for a search that forgives.
    pub names: Box<[Box<str>]>,
}

impl Identifiers {
    /// Scans a text.
    #[must_use]
    pub fn scan(language: &Language, text: &str) -> Self {
        let bytes = text.as_bytes();
        let (mut mentioned, mut defined, mut names) = (Vec::new(), Vec::new(), Vec::new());
        let (mut previous, mut previous_end) = ("", 0);
        let mut offset = 0;
        while offset < bytes.len() {
            if !is_word(bytes[offset]) {
                offset += 1;
                continue;
            }
            let start = offset;
            let mut hash = HASH_START;
            while offset < bytes.len() && is_word(bytes[offset]) {
                hash = hash_step(hash, bytes[offset]);
                offset += 1;
            }
            if bytes[start].is_ascii_digit() {
                continue;
            }
            let word = &text[start..offset];
            mentioned.push(hash);
            let follows_definition_word = bytes[previous_end..start].iter().all(|byte| *byte == b' ')
                && language.definition_words.contains(&previous);
            if follows_definition_word {
                names.push(word.into());
            }
            if follows_definition_word || is_assigned(language, bytes, start, offset, previous) {
                defined.push(hash);
            }
            (previous, previous_end) = (word, offset);
        }
        names.sort_unstable();
        names.dedup();
        Self {
            mentioned: sorted(mentioned),
            defined: sorted(defined),
            names: names.into(),
        }
    }

    /// Returns whether the text may mention a name, in upper or lower case.
    #[must_use]
    pub fn mentions(&self, hash: u32) -> bool {
        self.mentioned.binary_search(&hash).is_ok()
    }

    /// Returns whether the text may define a name, in upper or lower case.
    #[must_use]
    pub fn may_define(&self, hash: u32) -> bool {
        self.defined.binary_search(&hash).is_ok()
    }
}

/// Returns the hash of a name, the same in upper and lower case.
#[must_use]
pub fn hash_name(name: &str) -> u32 {
    name.bytes().fold(HASH_START, hash_step)
}

/// A name is assigned where it opens its line, or follows the method's own object, before `=`, `:` or `,`.
fn is_assigned(language: &Language, bytes: &[u8], start: usize, end: usize, previous: &str) -> bool {
    let next = bytes[end..]
        .iter()
        .position(|byte| *byte != b' ')
        .map(|idx| &bytes[end + idx..]);
    let is_assignment = match next {
        Some([b'=', b'=', ..]) | None => false,
        Some([b'=' | b':' | b',', ..]) => true,
        Some(_) => false,
    };
    let follows = |byte: u8| start.checked_sub(1).is_some_and(|idx| bytes[idx] == byte);
    let opens_line = || {
        let before = bytes[..start]
            .iter()
            .rposition(|byte| *byte != b' ' && *byte != b'\t');
        before.is_none_or(|idx| bytes[idx] == b'\n')
    };
    is_assignment && ((follows(b'.') && language.self_names.contains(&previous)) || opens_line())
}

fn sorted(mut hashes: Vec<u32>) -> Box<[u32]> {
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

// FNV-1a: the names are short.
const HASH_START: u32 = 0x811c_9dc5;

fn hash_step(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::LANGUAGES;

    fn check(text: &str, defined: &[&str], only_mentioned: &[&str]) {
        let identifiers = Identifiers::scan(&LANGUAGES[0], text);
        for name in defined {
            assert!(identifiers.may_define(hash_name(name)), "{name} in {text}");
        }
        for name in only_mentioned {
            assert!(identifiers.mentions(hash_name(name)), "{name} in {text}");
            assert!(!identifiers.may_define(hash_name(name)), "{name} in {text}");
        }
    }

    #[test]
    fn definitions_stand_after_their_word_or_open_a_line() {
        check(
            "class Order(Base):\n    async def total(self): return x\n",
            &["Order", "total"],
            &["Base", "x"],
        );
        check(
            "A = 1\n  B: int\nC, D = 1\nif E == 2: pass\ntype F = int\n",
            &["a", "b", "c", "f"],
            &["d", "e"],
        );
        check("x.y = 1; self.z = 2; g(k=1)", &["z"], &["x", "y", "g", "k"]);
    }

    #[test]
    fn a_name_is_whole_and_case_does_not_matter() {
        let identifiers = Identifiers::scan(&LANGUAGES[0], "subtotal total2 Grüße x\n");
        assert!(!identifiers.mentions(hash_name("total")));
        assert!(identifiers.mentions(hash_name("Total2")));
        assert!(identifiers.mentions(hash_name("Grüße")));
    }
}
