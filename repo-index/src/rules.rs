//! Compiles the query files of a language into one rule a kind of node.
//!
//! The files are tree-sitter queries of one level: `(kind field: (_) @slot field: (_)? @slot) @role`. The general
//! query engine runs them too (a test does), but asks every pattern at every node, which costs nearly as much as
//! the parse; as each pattern here is about one kind of node, a table by kind finds it at once.

use tree_sitter::Language;

/// What a kind of node is to the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Class,
    Function,
    Lambda,
    ComprehensionList,
    ComprehensionSet,
    ComprehensionDict,
    ComprehensionGenerator,
    Decorated,
    Decorator,
    Parameter,
    OnlyNamed,
    Splat,
    SplatNamed,
    Assign,
    Augment,
    Named,
    Loop,
    As,
    With,
    Except,
    If,
    Assert,
    Return,
    Yield,
    Delete,
    Global,
    Nonlocal,
    Case,
    Statement,
    Name,
    Attribute,
    Call,
    Subscript,
    Keyword,
    Await,
    Group,
    Tuple,
    List,
    Set,
    Dict,
    Pair,
    Conditional,
    Boolean,
    Binary,
    LiteralBool,
    LiteralNumber,
    LiteralNone,
    Text,
    Generic,
    Union,
    Member,
    Import,
    ImportFrom,
    ImportAlias,
    ImportAll,
    ImportName,
    /// JavaScript's `import … from "…"`, `{a as b}`, and `* as a`.
    ImportWhole,
    ImportItem,
    ImportNamespace,
}

const ROLES: [(&str, Role); 59] = [
    ("class", Role::Class),
    ("function", Role::Function),
    ("lambda", Role::Lambda),
    ("comprehension.list", Role::ComprehensionList),
    ("comprehension.set", Role::ComprehensionSet),
    ("comprehension.dict", Role::ComprehensionDict),
    ("comprehension.generator", Role::ComprehensionGenerator),
    ("decorated", Role::Decorated),
    ("decorator", Role::Decorator),
    ("parameter", Role::Parameter),
    ("only.named", Role::OnlyNamed),
    ("splat", Role::Splat),
    ("splat.named", Role::SplatNamed),
    ("assign", Role::Assign),
    ("augment", Role::Augment),
    ("named", Role::Named),
    ("loop", Role::Loop),
    ("as", Role::As),
    ("with", Role::With),
    ("except", Role::Except),
    ("if", Role::If),
    ("assert", Role::Assert),
    ("return", Role::Return),
    ("yield", Role::Yield),
    ("delete", Role::Delete),
    ("global", Role::Global),
    ("nonlocal", Role::Nonlocal),
    ("case", Role::Case),
    ("statement", Role::Statement),
    ("name", Role::Name),
    ("attribute", Role::Attribute),
    ("call", Role::Call),
    ("subscript", Role::Subscript),
    ("keyword", Role::Keyword),
    ("await", Role::Await),
    ("group", Role::Group),
    ("tuple", Role::Tuple),
    ("list", Role::List),
    ("set", Role::Set),
    ("dict", Role::Dict),
    ("pair", Role::Pair),
    ("conditional", Role::Conditional),
    ("boolean", Role::Boolean),
    ("binary", Role::Binary),
    ("literal.bool", Role::LiteralBool),
    ("literal.number", Role::LiteralNumber),
    ("literal.none", Role::LiteralNone),
    ("string", Role::Text),
    ("generic", Role::Generic),
    ("union", Role::Union),
    ("member", Role::Member),
    ("import", Role::Import),
    ("import.from", Role::ImportFrom),
    ("import.alias", Role::ImportAlias),
    ("import.all", Role::ImportAll),
    ("import.name", Role::ImportName),
    ("import.whole", Role::ImportWhole),
    ("import.item", Role::ImportItem),
    ("import.namespace", Role::ImportNamespace),
];

/// A child that a role knows by its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Name,
    Body,
    Bases,
    Parameters,
    Annotation,
    Target,
    Value,
    Condition,
    Receiver,
    Arguments,
    Module,
}

const SLOTS: [(&str, Slot); N_SLOTS] = [
    ("name", Slot::Name),
    ("body", Slot::Body),
    ("bases", Slot::Bases),
    ("parameters", Slot::Parameters),
    ("annotation", Slot::Annotation),
    ("target", Slot::Target),
    ("value", Slot::Value),
    ("condition", Slot::Condition),
    ("receiver", Slot::Receiver),
    ("arguments", Slot::Arguments),
    ("module", Slot::Module),
];

const N_SLOTS: usize = 11;

/// What a kind of node is, and by which fields it has its parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    pub(crate) role: Role,
    fields: [u16; N_SLOTS],
}

impl Rule {
    /// Returns the field of a part; no field is 0.
    pub(crate) fn field(&self, slot: Slot) -> u16 {
        self.fields[slot as usize]
    }
}

/// The rules of a language, by kind of node.
pub(crate) struct Rules {
    by_kind: Vec<Option<Rule>>,
}

impl Rules {
    /// Compiles the text of query files.
    pub(crate) fn new(grammar: &Language, source: &str) -> Result<Self, String> {
        let mut rules = Self {
            by_kind: vec![None; grammar.node_kind_count()],
        };
        let mut tokens = tokens(source).into_iter().peekable();
        while let Some(token) = tokens.next() {
            if token != "(" {
                return Err(format!("a pattern must start with `(`, not `{token}`"));
            }
            let kind = tokens.next().ok_or("a pattern without a kind")?;
            let mut fields = [0; N_SLOTS];
            loop {
                let token = tokens.next().ok_or_else(|| format!("({kind} is not closed"))?;
                if token == ")" {
                    break;
                }
                let field = token
                    .strip_suffix(':')
                    .ok_or_else(|| format!("({kind} has `{token}` where a field is expected"))?;
                for expected in ["(", "_", ")"] {
                    if tokens.next() != Some(expected) {
                        return Err(format!("({kind} {field}: is not followed by (_)"));
                    }
                }
                let _ = tokens.next_if(|token| *token == "?");
                let slot = capture(tokens.next())?;
                let slot = SLOTS.iter().find(|(name, _)| *name == slot);
                let slot = slot
                    .ok_or_else(|| format!("({kind} {field}: has an unknown slot"))?
                    .1;
                let id = grammar.field_id_for_name(field);
                fields[slot as usize] = id.ok_or_else(|| format!("no field {field}"))?.get();
            }
            let role = capture(tokens.next())?;
            let role = ROLES.iter().find(|(name, _)| *name == role);
            let role = role.ok_or_else(|| format!("({kind}) has an unknown role"))?.1;
            let mut is_known = false;
            for id in 0..rules.by_kind.len() {
                let kind_id = u16::try_from(id).map_err(|_| "too many kinds")?;
                // A kind may have several ids, one for each name that the grammar gives it.
                if grammar.node_kind_for_id(kind_id) == Some(kind) && grammar.node_kind_is_named(kind_id) {
                    rules.by_kind[id] = Some(Rule { role, fields });
                    is_known = true;
                }
            }
            if !is_known {
                return Err(format!("the grammar has no node ({kind})"));
            }
        }
        Ok(rules)
    }

    pub(crate) fn of(&self, kind_id: u16) -> Option<&Rule> {
        self.by_kind.get(kind_id as usize)?.as_ref()
    }
}

fn capture(token: Option<&str>) -> Result<&str, String> {
    let token = token.unwrap_or_default();
    token
        .strip_prefix('@')
        .ok_or_else(|| format!("`{token}` where a capture is expected"))
}

fn tokens(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in source.lines() {
        let mut rest = line.split(';').next().unwrap_or_default().trim_start();
        while let Some(first) = rest.chars().next() {
            let end = match first {
                '(' | ')' | '?' => 1,
                _ => rest.find([' ', '(', ')', '?']).unwrap_or(rest.len()),
            };
            found.push(&rest[..end]);
            rest = rest[end..].trim_start();
        }
    }
    found
}
