//! Text and tokens: what is settled before a tree exists.

use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer};

use super::define_rules;
use crate::context::Context;

define_rules! {
    SOURCE_SIZE = "HC601" "source-size": "more than 16 KiB of text";
    CONTROL_CHARACTER = "HC602" "control-character": "a NUL, form feed, lone carriage return or other control character";
    ENCODING = "HC603" "encoding": "a byte order mark or an encoding declaration";
    INVISIBLE_CHARACTER = "HC604" "invisible-character": "a bidirectional or zero-width character";
    IDENTIFIER = "HC605" "non-ascii-identifier": "an identifier that is not ASCII and that the frame does not have";
    NESTING = "HC606" "nesting": "brackets or operators nested too deeply to be parsed";
    INDENTATION = "HC607" "mixed-indentation": "tabs and spaces mixed in indentation";
    SYNTAX = "HC608" "syntax-error": "text that is not Python";
    EMPTY = "HC609" "empty": "no statement";
    PYTHON_VERSION = "HC610" "python-version": "syntax that the program's Python does not have";
}

/// The most operators that may be open at once in the text; the tree's own limit is lower.
const OPEN_OPERATORS: usize = 200;

/// Checks the text; says whether it may be parsed.
pub(crate) fn check(cx: &mut Context<'_>) -> bool {
    let before = cx.violations.len();
    check_size(cx);
    if cx.violations.len() > before {
        return false;
    }
    check_characters(cx);
    check_encoding(cx);
    check_indentation(cx);
    if cx.violations.len() == before {
        check_nesting(cx);
    }
    cx.violations.len() == before
}

fn check_size(cx: &mut Context<'_>) {
    let limit = cx.options.limits.source_bytes;
    if cx.source.len() > limit {
        let message = format!("the code has {} bytes, more than {limit}", cx.source.len());
        cx.report_at(&SOURCE_SIZE, 0, message, "write only what repairs the state");
    }
}

fn check_characters(cx: &mut Context<'_>) {
    for (at, character) in cx.source.char_indices() {
        let code = u32::from(character);
        match character {
            '\n' | '\t' => {}
            '\r' if cx.source[at..].starts_with("\r\n") => {}
            '\u{feff}' => cx.report_at(
                &ENCODING,
                at,
                "a byte order mark stands in the code",
                "send plain UTF-8 text without a byte order mark",
            ),
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => cx.report_at(
                &CONTROL_CHARACTER,
                at,
                format!("the control character U+{code:04X} stands in the code"),
                "end lines with a line feed; write control characters in strings as escapes, such as '\\x00'",
            ),
            _ if is_invisible(character) => cx.report_at(
                &INVISIBLE_CHARACTER,
                at,
                format!("the invisible character U+{code:04X} stands in the code"),
                format!("leave it out, or write it in a string as an escape: '\\u{code:04x}'"),
            ),
            _ => {}
        }
    }
}

/// Says whether a character changes the order of the text or shows nothing.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Python reads an encoding declaration in a comment on the first two lines.
fn check_encoding(cx: &mut Context<'_>) {
    let mut at = 0;
    for line in cx.source.split_inclusive('\n').take(2) {
        let declares = line
            .trim_start()
            .strip_prefix('#')
            .is_some_and(|comment| comment.contains("coding:") || comment.contains("coding="));
        if declares {
            cx.report_at(
                &ENCODING,
                at,
                "an encoding declaration stands in the code",
                "leave it out: healing code is UTF-8",
            );
        }
        at += line.len();
    }
}

fn check_indentation(cx: &mut Context<'_>) {
    let mut at = 0;
    let mut first: Option<char> = None;
    for line in cx.source.split_inclusive('\n') {
        let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        let is_blank = line.trim().is_empty();
        for character in indent.chars().filter(|_| !is_blank) {
            if *first.get_or_insert(character) != character {
                cx.report_at(
                    &INDENTATION,
                    at,
                    "tabs and spaces are mixed in the indentation",
                    "indent with four spaces",
                );
                return;
            }
        }
        at += line.len();
    }
}

/// Counts brackets and open operators on the tokens: neither the parser nor the tree may grow deep.
fn check_nesting(cx: &mut Context<'_>) {
    let mut lexer = lexer::lex(cx.source, Mode::Module);
    let mut open: Vec<usize> = vec![0];
    let mut n_indents = 0_usize;
    let mut n_lambdas = 0_usize;
    let mut line = 0_usize;
    // Each token takes at least one byte, or is one of a few that take none.
    for _ in 0..cx.source.len() * 2 + 16 {
        match lexer.next_token() {
            TokenKind::EndOfFile => return,
            TokenKind::Lpar
            | TokenKind::Lsqb
            | TokenKind::Lbrace
            | TokenKind::FStringStart
            | TokenKind::TStringStart => {
                open.push(1);
            }
            TokenKind::Rpar
            | TokenKind::Rsqb
            | TokenKind::Rbrace
            | TokenKind::FStringEnd
            | TokenKind::TStringEnd
                if open.len() > 1 =>
            {
                open.pop();
                // What follows the bracket stands on top of it: `f(x)(y)(z)`.
                if let Some(top) = open.last_mut() {
                    *top += 1;
                }
            }
            TokenKind::Newline => {
                (open, n_lambdas, line) = (vec![0], 0, line + 1);
            }
            TokenKind::NonLogicalNewline => line += 1,
            TokenKind::Comma | TokenKind::Semi | TokenKind::And | TokenKind::Or => {
                if let Some(top) = open.last_mut() {
                    *top = 0;
                }
            }
            TokenKind::Indent => n_indents += 1,
            TokenKind::Dedent => n_indents = n_indents.saturating_sub(1),
            TokenKind::Lambda => n_lambdas += 1,
            TokenKind::Not
            | TokenKind::Plus
            | TokenKind::Minus
            | TokenKind::Star
            | TokenKind::Slash
            | TokenKind::Vbar
            | TokenKind::Amper
            | TokenKind::Percent
            | TokenKind::Tilde
            | TokenKind::CircumFlex
            | TokenKind::LeftShift
            | TokenKind::RightShift
            | TokenKind::DoubleStar
            | TokenKind::DoubleSlash
            | TokenKind::At
            | TokenKind::Dot
            | TokenKind::If
            | TokenKind::Else
            | TokenKind::Colon
            | TokenKind::Await
            | TokenKind::Yield => {
                if let Some(top) = open.last_mut() {
                    *top += 1;
                }
            }
            _ => {}
        }
        let n_open: usize = open.iter().sum();
        let limits = cx.options.limits;
        if open.len() > limits.bracket_depth + 1
            || n_open > OPEN_OPERATORS
            || n_lambdas > limits.expression_depth
        {
            let at: usize = cx.source.split_inclusive('\n').take(line).map(str::len).sum();
            cx.report_at(
                &NESTING,
                at,
                "brackets or operators are nested too deeply",
                "split the expression: assign its parts to variables first",
            );
            return;
        }
        if n_indents > limits.block_depth + 8 {
            let at: usize = cx.source.split_inclusive('\n').take(line).map(str::len).sum();
            cx.report_at(
                &super::size::BLOCK_DEPTH,
                at,
                "blocks are nested too deeply",
                "join conditions with `and`",
            );
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;

    #[test]
    fn control_characters_are_refused_wherever_they_stand() {
        check("x = 1\0", "HC602");
        check("x = 'a\u{c}'", "HC602");
        check("x = 1 # note\rimport os", "HC602");
        check("x = 1\r\ny = 2\r\n", "");
        check("x = 'a\u{85}b'", "HC602");
        check("x = '\\x00'", "");
    }

    #[test]
    fn encodings_are_refused_on_the_first_two_lines_only() {
        check("\u{feff}x = 1", "HC603");
        check("# -*- coding: utf-7 -*-\nx = 1", "HC603");
        check("\n# vim: set fileencoding=latin-1 :\nx = 1", "HC603");
        check("x = 1\ny = 1\n# coding: utf-8\n", "");
        check("# decoding errors\nx = 1", "");
    }

    #[test]
    fn invisible_characters_are_refused_in_strings_too() {
        check("x = 'a\u{202e}b'", "HC604");
        check("ok = 1  # \u{2066}", "HC604");
        check("x = 'a\u{200b}b'", "HC604");
        check("x = 'a\u{2028}b'", "HC604");
        check("x = 'Grüße'", "");
    }

    #[test]
    fn indentation_is_of_one_kind() {
        check("if ok:\n        x = 1\n\ty = 2", "HC607");
        check("if ok:\n\tx = 1", "");
    }

    #[test]
    fn deep_text_is_refused_before_it_is_parsed() {
        check(&format!("x = {}1{}", "(".repeat(60), ")".repeat(60)), "HC606");
        check(&format!("x = {}1", "-".repeat(10_000)), "HC606");
        check(&format!("x = {}1", "not ".repeat(3_000)), "HC606");
        check(&format!("x = 1{}", " + 1".repeat(3_000)), "HC606");
        check(&format!("x = a{}", ".b".repeat(3_000)), "HC606");
        check(&format!("x = f{}", "()".repeat(3_000)), "HC606");
        check(&format!("x = {}1", "lambda: ".repeat(1_000)), "HC606");
        check(&format!("x = {}1", "1 if 1 else ".repeat(1_000)), "HC606");
        check(&format!("x = [{}]", "1 + 1, ".repeat(300)), "");
    }
}
