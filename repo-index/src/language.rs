//! A language is a grammar, a folder of queries and what its names look like in plain text.
//!
//! The queries speak one vocabulary (`rules`), so that `extract` knows no grammar. To add a language, add a query
//! folder and an entry in `LANGUAGES`.

use std::sync::LazyLock;

use crate::rules::Rules;

/// The languages that the index can read.
pub static LANGUAGES: [Language; 1] = [Language {
    name: "Python",
    extensions: &["py", "pyi", "pyw"],
    interpreter: "python",
    definition_words: &["class", "def", "type"],
    package_file: "__init__",
    self_names: &["self", "cls"],
    compiled: LazyLock::new(|| {
        Compiled::new(
            tree_sitter_python::LANGUAGE.into(),
            concat!(
                include_str!("../queries/python/scopes.scm"),
                include_str!("../queries/python/statements.scm"),
                include_str!("../queries/python/expressions.scm"),
                include_str!("../queries/python/imports.scm"),
            ),
        )
        .expect("a test compiles the committed queries with the committed grammar")
    }),
}];

/// A programming language that the index can read.
pub struct Language {
    /// What people call it.
    pub name: &'static str,
    /// The endings of its files, without the dot.
    pub extensions: &'static [&'static str],
    /// The word in the `#!` line of a file that has no ending.
    pub interpreter: &'static str,
    /// The words after which a name is being defined.
    pub definition_words: &'static [&'static str],
    /// The file that stands for its whole folder, without its ending.
    pub package_file: &'static str,
    /// The names that a method's own object goes by.
    pub self_names: &'static [&'static str],
    compiled: LazyLock<Compiled>,
}

impl Language {
    /// Returns the language of a file with this ending.
    #[must_use]
    pub fn of_extension(extension: &str) -> Option<&'static Self> {
        LANGUAGES
            .iter()
            .find(|language| language.extensions.contains(&extension))
    }

    /// Returns the language that the `#!` line of a text names.
    #[must_use]
    pub fn of_first_line(text: &str) -> Option<&'static Self> {
        let first = text.lines().next().filter(|line| line.starts_with("#!"))?;
        LANGUAGES
            .iter()
            .find(|language| first.contains(language.interpreter))
    }

    pub(crate) fn compiled(&self) -> &Compiled {
        &self.compiled
    }
}

/// The grammar and its rules, made at first use.
pub(crate) struct Compiled {
    pub(crate) grammar: tree_sitter::Language,
    pub(crate) rules: Rules,
    /// The query files, one after another.
    #[cfg(test)]
    source: &'static str,
}

impl Compiled {
    fn new(grammar: tree_sitter::Language, source: &'static str) -> Result<Self, String> {
        let rules = Rules::new(&grammar, source)?;
        Ok(Self {
            grammar,
            rules,
            #[cfg(test)]
            source,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queries_of_each_language_compile() {
        for language in &LANGUAGES {
            let compiled = language.compiled();
            // The files are tree-sitter queries, too.
            let query = tree_sitter::Query::new(&compiled.grammar, compiled.source).unwrap();
            assert!(query.pattern_count() > 0, "{}", language.name);
        }
    }

    #[test]
    fn a_script_without_an_ending_is_known_by_its_first_line() {
        let name = |text| Language::of_first_line(text).map(|language| language.name);
        assert_eq!(name("#!/usr/bin/env python3\nprint()\n"), Some("Python"));
        assert_eq!(name("#!/bin/sh\npython x\n"), None);
        assert_eq!(name("python\n"), None);
    }
}
