//! Regular expressions: literal patterns that cannot take exponential time.

use super::define_rules;
use crate::context::Context;
use crate::tables::{Member, Module};
use crate::tree::{Argument, BinaryOp, Call, Constant, Expr, ExprKind, Keyword};

define_rules! {
    PATTERN = "HC710" "regex-pattern": "a pattern that is not a literal";
    FLAGS = "HC717" "regex-flags": "flags of a pattern that are computed, or that make its spaces count for nothing";
    UNSAFE_PATTERN = "HC711" "unsafe-pattern": "a pattern that may take exponential time";
    REPLACEMENT = "HC712" "regex-replacement": "a replacement that is not a literal";
}

/// The longest pattern.
const PATTERN_CHARS: usize = 500;
/// The most levels of groups.
const GROUP_DEPTH: usize = 20;
/// The largest count in braces.
const REPEAT: u32 = 1_000;

/// Checks a call of a function of `re`.
pub(crate) fn check_call(cx: &mut Context<'_>, call: &Call, member: &Member) {
    if member.module != Module::Re || member.path == "escape" {
        return;
    }
    match call.args.first() {
        Some(Argument::One(Expr {
            kind: ExprKind::Constant(Constant::Str(pattern)),
            span,
        })) => {
            if let Err(why) = check_pattern(pattern) {
                cx.report(
                    &UNSAFE_PATTERN,
                    *span,
                    why,
                    "use a simpler pattern, or string methods",
                );
            }
        }
        Some(Argument::One(Expr {
            kind: ExprKind::Constant(Constant::Bytes(pattern)),
            span,
        })) => {
            let pattern: String = pattern.iter().map(|byte| char::from(*byte)).collect();
            if let Err(why) = check_pattern(&pattern) {
                cx.report(
                    &UNSAFE_PATTERN,
                    *span,
                    why,
                    "use a simpler pattern, or bytes methods",
                );
            }
        }
        Some(_) => cx.report(
            &PATTERN,
            call.span,
            "the pattern is not a literal",
            "write the pattern as a literal; for plain text use `in`, `find`, `replace` or `split`",
        ),
        // The number of arguments is another rule's.
        None => {}
    }
    let flags_position = match member.path {
        "compile" => 1,
        "sub" | "subn" => 4,
        "split" => 3,
        _ => 2,
    };
    if let Some(flags) = super::formats::argument(call, flags_position, "flags")
        && !are_listed_flags(flags)
    {
        cx.report(
            &FLAGS,
            flags.span,
            "the flags are computed, or not listed",
            "write flags as `re.I | re.M`",
        );
    }
    if matches!(member.path, "sub" | "subn") {
        check_replacement(cx, call, 1);
    }
}

/// Checks the replacement of `sub` and `subn`, at a position.
pub(crate) fn check_replacement(cx: &mut Context<'_>, call: &Call, position: usize) {
    let is_literal = match call.args.get(position) {
        Some(Argument::One(value)) => {
            matches!(
                value.kind,
                ExprKind::Constant(Constant::Str(_) | Constant::Bytes(_))
            )
        }
        Some(_) => false,
        None => !call
            .keywords
            .iter()
            .any(|keyword| !matches!(keyword, Keyword::One { .. })),
    };
    if !is_literal {
        cx.report(
            &REPLACEMENT,
            call.span,
            "the replacement is not a literal",
            "write the replacement as a literal; it may not be a function",
        );
    }
}

/// The flags are constants of `re`: the one that changes how a pattern is read is not listed.
fn are_listed_flags(flags: &Expr) -> bool {
    match &flags.kind {
        ExprKind::Member(reference) => reference.member.module == Module::Re,
        ExprKind::Binary {
            left,
            op: BinaryOp::BitOr,
            right,
        } => are_listed_flags(left) && are_listed_flags(right),
        ExprKind::Constant(Constant::Int(value)) => value.bits() == 0,
        // Stands for what was refused for itself; as it stands, `re` refuses it.
        ExprKind::Constant(Constant::None) => true,
        _ => false,
    }
}

/// What a part of a pattern can match, seen roughly.
#[derive(Clone, Debug, Default)]
struct Part {
    /// Whether it can match text of more than one length, without a bound.
    is_unbounded: bool,
    /// Whether the length of what it matches varies because of `?` or a count.
    is_variable: bool,
    /// Whether it can match nothing.
    is_nullable: bool,
    /// The first characters that it can match; nothing where they are not known.
    first: Option<Vec<char>>,
    /// Whether it holds alternatives that may begin alike.
    is_ambiguous: bool,
}

struct Reader<'p> {
    characters: std::iter::Peekable<std::str::Chars<'p>>,
    depth: usize,
}

/// Says why a pattern may not be used.
fn check_pattern(pattern: &str) -> Result<(), String> {
    if pattern.chars().count() > PATTERN_CHARS {
        return Err(format!("the pattern has more than {PATTERN_CHARS} characters"));
    }
    if pattern.contains("(?P=") {
        return Err("the pattern refers back to a group".to_owned());
    }
    let mut reader = Reader {
        characters: pattern.chars().peekable(),
        depth: 0,
    };
    while reader.characters.peek().is_some() {
        reader.alternatives()?;
        // A closing bracket without an opening one is an error of `re` itself.
        reader.characters.next();
    }
    Ok(())
}

impl Reader<'_> {
    fn alternatives(&mut self) -> Result<Part, String> {
        self.depth += 1;
        if self.depth > GROUP_DEPTH {
            return Err(format!(
                "the pattern has groups more than {GROUP_DEPTH} levels deep"
            ));
        }
        let mut whole = self.sequence()?;
        while self.characters.next_if_eq(&'|').is_some() {
            let next = self.sequence()?;
            let overlaps = match (&whole.first, &next.first) {
                (Some(a), Some(b)) => a.iter().any(|character| b.contains(character)),
                _ => true,
            };
            whole = Part {
                is_unbounded: whole.is_unbounded || next.is_unbounded,
                is_variable: whole.is_variable || next.is_variable,
                is_nullable: whole.is_nullable || next.is_nullable,
                first: whole.first.zip(next.first).map(|(a, b)| [a, b].concat()),
                is_ambiguous: whole.is_ambiguous || next.is_ambiguous || overlaps,
            };
        }
        self.depth -= 1;
        Ok(whole)
    }

    fn sequence(&mut self) -> Result<Part, String> {
        let mut whole = Part {
            is_nullable: true,
            first: Some(Vec::new()),
            ..Part::default()
        };
        // Unbounded repeats in a row share the text between them: more than a few make time grow with a high power.
        let mut n_repeats = 0;
        while let Some(character) = self
            .characters
            .next_if(|character| !matches!(character, '|' | ')'))
        {
            let atom = self.atom(character)?;
            let part = self.repeated(atom)?;
            if part.is_unbounded {
                n_repeats += 1;
            }
            if n_repeats > 8 {
                return Err("the pattern has more than 8 unbounded repeats in a row".to_owned());
            }
            if whole.is_nullable {
                whole.first = whole.first.zip(part.first).map(|(a, b)| [a, b].concat());
            }
            whole.is_nullable &= part.is_nullable;
            whole.is_unbounded |= part.is_unbounded;
            whole.is_variable |= part.is_variable;
            whole.is_ambiguous |= part.is_ambiguous;
        }
        Ok(whole)
    }

    fn atom(&mut self, character: char) -> Result<Part, String> {
        match character {
            '(' => self.group(),
            '[' => Ok(self.class()),
            '\\' => match self.characters.next() {
                Some('1'..='9') => Err("the pattern refers back to a group".to_owned()),
                Some('b' | 'B' | 'A' | 'Z') => Ok(nothing()),
                Some('d' | 'D' | 's' | 'S' | 'w' | 'W') => Ok(Part::default()),
                Some(escaped) if escaped.is_ascii_alphanumeric() => Ok(Part::default()),
                Some(escaped) => Ok(one(escaped)),
                None => Ok(nothing()),
            },
            '.' => Ok(Part::default()),
            '^' | '$' => Ok(nothing()),
            _ => Ok(one(character)),
        }
    }

    fn group(&mut self) -> Result<Part, String> {
        let mut is_assertion = false;
        if self.characters.next_if_eq(&'?').is_some() {
            match self.characters.next() {
                Some(':') => {}
                Some('=' | '!') => is_assertion = true,
                Some('P') => while self.characters.next().is_some_and(|character| character != '>') {},
                Some('<') => {
                    self.characters.next();
                    is_assertion = true;
                }
                Some('#') => {
                    while self.characters.next().is_some_and(|character| character != ')') {}
                    return Ok(nothing());
                }
                Some('(') => return Err("the pattern has a conditional group".to_owned()),
                Some('>') => {}
                _ => return Err("the pattern has flags inside".to_owned()),
            }
        }
        let inside = self.alternatives()?;
        self.characters.next_if_eq(&')');
        Ok(if is_assertion {
            Part {
                is_nullable: true,
                first: Some(Vec::new()),
                ..inside
            }
        } else {
            inside
        })
    }

    fn class(&mut self) -> Part {
        let mut characters = Vec::new();
        let mut is_known = self.characters.next_if_eq(&'^').is_none();
        let mut is_first = true;
        while let Some(character) = self.characters.next() {
            match character {
                ']' if !is_first => break,
                '\\' => {
                    self.characters.next();
                    is_known = false;
                }
                '-' => is_known = false,
                _ => characters.push(fold_case(character)),
            }
            is_first = false;
        }
        Part {
            first: is_known.then_some(characters),
            ..Part::default()
        }
    }

    fn repeated(&mut self, mut part: Part) -> Result<Part, String> {
        while let Some(repeat) = self.repeat()? {
            // A `?` makes the repeat lazy, a `+` possessive: neither is a repeat of its own.
            if self.characters.next_if_eq(&'?').is_none() {
                self.characters.next_if_eq(&'+');
            }
            let is_many = repeat.most.is_none_or(|most| most > 5);
            if part.is_unbounded && is_many {
                return Err("the pattern repeats a part that itself has an unbounded repeat".to_owned());
            }
            if (part.is_ambiguous && repeat.most != Some(1)) || (part.is_variable && is_many) {
                return Err(
                    "the pattern repeats a part that may match the same text in several ways".to_owned(),
                );
            }
            if part.is_nullable && is_many {
                return Err("the pattern repeats a part that may be empty".to_owned());
            }
            part.is_ambiguous |= part.is_unbounded && repeat.most != Some(1);
            part.is_unbounded |= repeat.most.is_none();
            part.is_variable |= repeat.most.is_some_and(|most| most != repeat.least);
            part.is_nullable |= repeat.least == 0;
        }
        Ok(part)
    }

    /// Reads `*`, `+`, `?` or a count in braces.
    fn repeat(&mut self) -> Result<Option<Repeat>, String> {
        let repeat = match self.characters.peek() {
            Some('*') => Repeat { least: 0, most: None },
            Some('+') => Repeat { least: 1, most: None },
            Some('?') => Repeat {
                least: 0,
                most: Some(1),
            },
            Some('{') => return self.count(),
            _ => return Ok(None),
        };
        self.characters.next();
        Ok(Some(repeat))
    }

    fn count(&mut self) -> Result<Option<Repeat>, String> {
        let mut ahead = self.characters.clone();
        ahead.next();
        let count: String = ahead.by_ref().take_while(|character| *character != '}').collect();
        let is_count = !count.is_empty()
            && count
                .chars()
                .all(|character| character.is_ascii_digit() || character == ',');
        if !is_count {
            return Ok(None);
        }
        self.characters = ahead;
        let (least, most) = count.split_once(',').unwrap_or((&count, &count));
        let read = |digits: &str| {
            if digits.is_empty() {
                Some(0)
            } else {
                digits.parse().ok().filter(|n| *n <= REPEAT)
            }
        };
        let (Some(least), Some(number)) = (read(least), read(most)) else {
            return Err(format!("the pattern repeats more than {REPEAT} times"));
        };
        Ok(Some(Repeat {
            least,
            most: (!most.is_empty()).then_some(number),
        }))
    }
}

/// How often a part is repeated.
struct Repeat {
    least: u32,
    /// Nothing where there is no bound.
    most: Option<u32>,
}

fn nothing() -> Part {
    Part {
        is_nullable: true,
        first: Some(Vec::new()),
        ..Part::default()
    }
}

fn one(character: char) -> Part {
    Part {
        first: Some(vec![fold_case(character)]),
        ..Part::default()
    }
}

/// Letters that `re.I` may take for each other become one.
fn fold_case(character: char) -> char {
    let upper = character.to_uppercase().next().unwrap_or(character);
    upper.to_lowercase().next().unwrap_or(upper)
}

#[cfg(test)]
mod tests {
    use crate::testing::check as check_source;

    #[track_caller]
    fn check(pattern: &str, expect: &str) {
        check_source(&format!("import re\nx = re.search(r'{pattern}', text)"), expect);
    }

    #[test]
    fn simple_patterns_are_accepted() {
        check(r"-?\d+(\.\d+)?", "");
        check(r"^\s*(\w+)\s*=\s*(.*?)\s*$", "");
        check(r"(?P<year>\d{4})-(?P<month>\d{2})", "");
        check(r"(a|b)*c", "");
        check(r"[^\]]+", "");
        check(r"[]a]+", "");
        check(r"a{2,3}?b{,5}c{x}", "");
        check(r"(?:ab|cd)+", "");
        check(r"(?<=a)b(?!c)", "");
        check(r"\(\d+\)", "");
        check(r"(\d{1,3}\.){3}\d{1,3}", "");
        check(r"(\d+\.){2}\d+", "");
    }

    #[test]
    fn patterns_that_may_take_long_are_refused() {
        check("(a+)+b", "HC711");
        check("(a*)*", "HC711");
        check("((a)+)+", "HC711");
        check("(a+){2,}", "HC711");
        check("(a+){50}", "HC711");
        check("(a|a)*b", "HC711");
        check("(a|ab)+", "HC711");
        check(r"(\w|\d)+", "HC711");
        check("(.|a)*", "HC711");
        check("(a?)*", "HC711");
        check("(aa?)+b", "HC711");
        check("(a{1,3})+b", "HC711");
        check("((a+){5}){5}", "HC711");
        check("(|a)+", "HC711");
        check(r"(a)\1", "HC711");
        check("(?P<a>b)(?P=a)", "HC711");
        check("a{9999}", "HC711");
        check("a{2,99999999999}", "HC711");
        check("(?:(?:a+)?)+", "HC711");
        check("(?=(a+)+)b", "HC711");
        check("(?i:(a|A))+", "HC711");
        check("(a|A)+", "HC711");
        check("(s|\u{17f})+", "HC711");
        check("(?x)a", "HC711");
        check(".*.*.*.*.*.*.*.*.*", "HC711");
        check(&"(".repeat(30), "HC711");
    }

    #[test]
    fn patterns_are_literals() {
        check_source("import re\nx = re.compile(p)", "HC710");
        check_source("import re\nx = re.compile('a' + p)", "HC710");
        check_source("import re\nx = re.compile(f'{p}')", "HC710");
        check_source("import re\nx = re.split(pattern='a', string=b)", "HC504");
        check_source("from re import sub as s\nx = s('(a+)+', '', b)", "HC711");
        check_source("import re\nx = re.match(b'(a+)+', b)", "HC711");
        check_source("import re\np = re.compile('a')\nx = p.sub('b', c)", "");
        check_source("import re\np = re.compile('a')\nx = p.sub(f, c)", "HC712");
        check_source("import re\nx = re.sub('a', b, c)", "HC712");
        check_source("import re\nx = re.search('(a+) +b', t, re.X)", "HC203");
        check_source("import re\nx = re.search('(a+) +b', t, 64)", "HC717");
        check_source("import re\nx = re.compile('(a+) +b', flags=f)", "HC717");
        check_source("import re\nx = re.search('a', t, re.I | 64)", "HC717");
        check_source("import re\nx = re.sub('a', 'b', c, flags=re.I | re.M)", "");
    }
}
