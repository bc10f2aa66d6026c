//! A language is a grammar, a folder of queries and what its names look like in plain text.
//!
//! The queries speak one vocabulary of captures (`Capture`), so that `extract` knows no grammar. To add a
//! language, add a query folder and an entry in `LANGUAGES`.

use std::sync::LazyLock;

use tree_sitter::Query;

use crate::facts::{BindingTarget, DefinitionKind, ReferenceKind, ScopeKind};

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
                include_str!("../queries/python/definitions.scm"),
                include_str!("../queries/python/bindings.scm"),
                include_str!("../queries/python/references.scm"),
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

/// The grammar and its queries, made at first use.
pub(crate) struct Compiled {
    pub(crate) grammar: tree_sitter::Language,
    pub(crate) query: Query,
    /// What each capture of `query` says, by capture index.
    pub(crate) captures: Vec<Capture>,
}

impl Compiled {
    fn new(grammar: tree_sitter::Language, source: &str) -> Result<Self, String> {
        let query = Query::new(&grammar, source).map_err(|error| error.to_string())?;
        let captures = query
            .capture_names()
            .iter()
            .map(|name| Capture::of_name(name).ok_or_else(|| format!("unknown capture @{name}")))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            grammar,
            query,
            captures,
        })
    }
}

/// What a captured node is to the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capture {
    Scope(ScopeKind),
    Definition(DefinitionKind),
    Name,
    Body,
    Base,
    Decorator,
    Decorated,
    Doc,
    /// The definition, or the module, that a base, a decorator or a docstring belongs to.
    Owner,
    /// Looked at by a predicate of the query only.
    SelfName,
    Binding(BindingTarget),
    /// A binding that makes a definition where its scope is a module or a class.
    Assignment,
    /// The whole statement of an assignment.
    Whole,
    /// The scope of a binding that does not stand in it.
    In,
    Reference(ReferenceKind),
    Receiver,
    ImportModule,
    ImportFrom,
    ImportName,
    ImportAlias,
    ImportStar,
}

impl Capture {
    fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "scope.class" => Self::Scope(ScopeKind::Class),
            "scope.function" => Self::Scope(ScopeKind::Function),
            "scope.block" => Self::Scope(ScopeKind::Block),
            "definition.class" => Self::Definition(DefinitionKind::Class),
            "definition.function" => Self::Definition(DefinitionKind::Function),
            "definition.instance_attribute" => Self::Definition(DefinitionKind::InstanceAttribute),
            "name" => Self::Name,
            "body" => Self::Body,
            "base" => Self::Base,
            "decorator" => Self::Decorator,
            "decorated" => Self::Decorated,
            "doc" => Self::Doc,
            "owner" => Self::Owner,
            "self" => Self::SelfName,
            "binding.assignment" => Self::Assignment,
            "binding.other" => Self::Binding(BindingTarget::Local),
            "binding.parameter" => Self::Binding(BindingTarget::Parameter),
            "binding.global" => Self::Binding(BindingTarget::Global),
            "binding.nonlocal" => Self::Binding(BindingTarget::Nonlocal),
            "whole" => Self::Whole,
            "in" => Self::In,
            "reference.call" => Self::Reference(ReferenceKind::Call),
            "reference.write" => Self::Reference(ReferenceKind::Write),
            "reference.attribute" => Self::Reference(ReferenceKind::Attribute),
            "reference.keyword" => Self::Reference(ReferenceKind::Keyword),
            "reference.import" => Self::Reference(ReferenceKind::Import),
            "reference.name" => Self::Reference(ReferenceKind::Name),
            "receiver" => Self::Receiver,
            "import.module" => Self::ImportModule,
            "import.from" => Self::ImportFrom,
            "import.name" => Self::ImportName,
            "import.alias" => Self::ImportAlias,
            "import.star" => Self::ImportStar,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queries_of_each_language_compile() {
        for language in &LANGUAGES {
            assert!(language.compiled().query.pattern_count() > 0, "{}", language.name);
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
