//! `search_code`: where is it defined, used, or written?

use repo_index::{
    Certainty, DefinitionKind, FrameAt, Location, Options, Page, ReferenceGroup, ReferenceHit, References,
    SymbolHit, TextHit, TextPattern,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::around::{Around, within_time};
use super::related;
use crate::tool::{Context, Effect, TypedTool};
use crate::{Answer, ToolError, text};

pub(crate) struct SearchCode;

/// Search the project's code and the installed packages in the traceback. symbol: definitions by name or dotted end of
/// name ("Order.total"). definition: what a name in a line means ("shop/cart.py:12 total"). references, callers, callees,
/// hierarchy, overrides, writers (who sets an attribute), importers: of a symbol (~ = by type, ? = by name only).
/// outline: of a file. context: functions around a crash, any query. text: lines with this text, any case. regex.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    query: String,
    /// Default symbol.
    kind: Option<Kind>,
    /// Only files below this path, or of this glob.
    path: Option<String>,
    /// Default: a paused crash, else the current project.
    crash_id: Option<String>,
    /// Default 30.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<usize>,
    /// From the previous answer.
    cursor: Option<String>,
    /// Default 6000.
    #[schemars(range(min = 200, max = 20000))]
    max_chars: Option<usize>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Symbol,
    Text,
    References,
    Regex,
    Definition,
    Callers,
    Callees,
    Hierarchy,
    Overrides,
    Writers,
    Importers,
    Outline,
    Context,
}

impl TypedTool for SearchCode {
    const NAME: &'static str = "search_code";
    const TITLE: &'static str = "Search the code";
    const EFFECT: Effect = Effect::READS;
    type Input = Input;

    fn run(cx: &Context<'_>, input: Input) -> Result<Answer, ToolError> {
        let around = Around::find(cx, input.crash_id.as_deref())?;
        let frames = match input.kind {
            Some(Kind::Context) => around.frames(cx)?,
            _ => Vec::new(),
        };
        let search = Search {
            frames,
            max_chars: text::budget(input.max_chars)?,
            limit: text::within("limit", input.limit, 1..=200, 30)?,
            kind: input.kind.unwrap_or(Kind::Symbol),
            around,
            input,
        };
        let found = search.ask(cx, search.limit)?;
        // A page ends where the room ends, so that its cursor goes on exactly there.
        match search.n_fitting(&found) {
            n if n < found.lines.len() => Ok(search.answer(&search.ask(cx, n)?)),
            _ => Ok(search.answer(&found)),
        }
    }
}

struct Search {
    input: Input,
    kind: Kind,
    limit: usize,
    max_chars: usize,
    around: Around,
    /// Of the crash whose context is asked for, innermost first.
    frames: Vec<FrameAt>,
}

/// An answer of the index, one line a match.
pub(super) struct Found {
    pub(super) lines: Vec<String>,
    /// What to say before the matches.
    pub(super) about: Vec<String>,
    pub(super) counts: Counts,
    pub(super) json: serde_json::Value,
}

pub(super) struct Counts {
    pub(super) n_matches: usize,
    pub(super) next_cursor: Option<String>,
    pub(super) is_partial: bool,
    pub(super) n_files_searched: usize,
    pub(super) n_files: usize,
}

impl Search {
    fn ask(&self, cx: &Context<'_>, limit: usize) -> Result<Found, ToolError> {
        let query = self.input.query.trim();
        within_time(cx, &self.around.index, |options| {
            let options = Options {
                limit,
                cursor: self.input.cursor.as_deref(),
                path: self.input.path.as_deref(),
                ..options
            };
            let index = &self.around.index;
            Ok(match self.kind {
                Kind::Symbol => of_symbols(&index.symbols(query, options)?),
                Kind::References => of_references(&index.references(query, options)?),
                Kind::Text => {
                    let pattern = TextPattern {
                        ignore_case: true,
                        ..TextPattern::literal(query)
                    };
                    of_texts(&index.text(&pattern, options)?)
                }
                Kind::Regex => of_texts(&index.text(&TextPattern::regex(query), options)?),
                Kind::Definition => match place_of(query) {
                    Some((path, line, name)) => {
                        let name = Some(name).filter(|name| !name.is_empty());
                        related::of_definitions(&index.definition(path, line, name, None, options)?)
                    }
                    None => of_symbols(&index.symbols(query, options)?),
                },
                Kind::Callers => related::of_callers(&index.callers(query, options)?),
                Kind::Callees => related::of_related(&index.callees(query, options)?),
                Kind::Hierarchy => related::of_related(&index.hierarchy(query, options)?),
                Kind::Overrides => related::of_related(&index.overrides(query, options)?),
                Kind::Importers => related::of_related(&index.importers(query, options)?),
                Kind::Writers => of_references(&index.writers(query, options)?),
                Kind::Context => related::of_context(&index.context(&self.frames, options)?),
                Kind::Outline => of_symbols(&index.outline(query, options)?.page),
            })
        })
    }

    /// Returns how many matches there is room for; at least one.
    fn n_fitting(&self, found: &Found) -> usize {
        let about: usize = found.about.iter().map(|line| line.chars().count() + 1).sum();
        let mut room = self.max_chars.saturating_sub(about + 420);
        let fits = |line: &&String| {
            let n_chars = line.chars().count() + 1;
            let is_room = n_chars <= room;
            room = room.saturating_sub(n_chars);
            is_room
        };
        found.lines.iter().take_while(fits).count().max(1)
    }

    fn answer(&self, found: &Found) -> Answer {
        let counts = &found.counts;
        let mut lines = vec![self.headline(counts)];
        lines.extend(found.about.iter().cloned());
        lines.extend(found.lines.iter().cloned());
        if counts.is_partial {
            lines.push(format!(
                "! only {} of {} files were searched in the time there is: call again, or narrow it with path",
                counts.n_files_searched, counts.n_files
            ));
        }
        if let Some(cursor) = &counts.next_cursor {
            lines.push(format!(
                "… more: {}",
                self.call(self.kind, &format!(", cursor={}", text::quoted(cursor)))
            ));
        } else if found.lines.is_empty() && self.kind != Kind::Text {
            lines.push(format!("next: {}", self.call(Kind::Text, "")));
        }
        let wider = format!("narrow it with path, or max_chars={}", text::MOST_CHARS);
        Answer::text(text::fit(lines.join("\n"), self.max_chars, &wider), &found.json)
    }

    fn headline(&self, counts: &Counts) -> String {
        let what = match self.kind {
            Kind::Symbol | Kind::Definition | Kind::Outline => "definition",
            Kind::References | Kind::Writers => "use",
            Kind::Callers => "call",
            Kind::Context => "function",
            Kind::Callees | Kind::Hierarchy | Kind::Overrides | Kind::Importers => "symbol",
            Kind::Text | Kind::Regex => "line",
        };
        let plural = if counts.n_matches == 1 { "" } else { "s" };
        let at_least = if counts.is_partial { "at least " } else { "" };
        format!(
            "{at_least}{} {what}{plural} for {} {}",
            counts.n_matches,
            text::quoted(&text::clip(&self.input.query, 100)),
            self.around.where_()
        )
    }

    fn call(&self, kind: Kind, rest: &str) -> String {
        let kind = serde_json::to_value(kind).unwrap_or_default();
        let path = self
            .input
            .path
            .as_ref()
            .map_or_else(String::new, |path| format!(", path={}", text::quoted(path)));
        format!(
            "search_code(query={}, kind={kind}{path}{}{rest})",
            text::quoted(&self.input.query),
            self.around.crash_argument()
        )
    }
}

pub(super) fn counts<T>(page: &Page<T>) -> Counts {
    Counts {
        n_matches: page.n_matches,
        next_cursor: page.next_cursor.clone(),
        is_partial: page.is_partial,
        n_files_searched: page.n_files_searched,
        n_files: page.n_files,
    }
}

fn of_symbols(page: &Page<SymbolHit>) -> Found {
    Found {
        lines: page.items.iter().map(symbol).collect(),
        about: Vec::new(),
        counts: counts(page),
        json: json(page),
    }
}

fn of_texts(page: &Page<TextHit>) -> Found {
    Found {
        lines: page
            .items
            .iter()
            .map(|hit| format!("{}: {}", place(&hit.location), hit.text.trim()))
            .collect(),
        about: Vec::new(),
        counts: counts(page),
        json: json(page),
    }
}

fn of_references(references: &References) -> Found {
    let mut about: Vec<String> = references
        .targets
        .iter()
        .take(5)
        .map(|hit| format!("meant: {}", symbol(hit)))
        .collect();
    if references.targets.is_empty() {
        about.push("it is not defined in this code; all uses are by name".to_owned());
    }
    if references.n_excluded > 0 {
        about.push(format!(
            "{} uses of the same name mean something else and are left out",
            references.n_excluded
        ));
    }
    Found {
        lines: references.page.items.iter().map(reference).collect(),
        about,
        counts: counts(&references.page),
        json: json(references),
    }
}

pub(super) fn json(answer: &impl Serialize) -> serde_json::Value {
    serde_json::to_value(answer).expect("answers of the index are structs with string keys")
}

/// One definition in one line; also used where `read_code` finds several.
pub(super) fn symbol(hit: &SymbolHit) -> String {
    let kind = match hit.kind {
        DefinitionKind::Class => "class",
        DefinitionKind::Function => "function",
        DefinitionKind::Method => "method",
        DefinitionKind::Variable => "variable",
        DefinitionKind::ClassAttribute => "class attribute",
        DefinitionKind::InstanceAttribute => "attribute",
    };
    let doc = hit
        .doc
        .as_ref()
        .map_or_else(String::new, |doc| format!("  # {}", text::clip(doc.trim(), 100)));
    format!(
        "{}-{} {kind} {}.{}: {}{doc}",
        place(&hit.location),
        hit.last_line,
        hit.module,
        hit.name,
        text::clip(hit.text.trim(), 160)
    )
}

fn reference(hit: &ReferenceHit) -> String {
    let group = match hit.group {
        ReferenceGroup::Definition => "def",
        ReferenceGroup::Call => "call",
        ReferenceGroup::AttributeWrite => "set",
        ReferenceGroup::Attribute => "get",
        ReferenceGroup::Import => "import",
        ReferenceGroup::Name => "name",
        ReferenceGroup::Keyword => "keyword",
    };
    let mark = mark(hit.certainty);
    let enclosing = hit
        .enclosing
        .as_ref()
        .map_or_else(String::new, |name| format!(" in {name}"));
    format!(
        "{mark} {group:<7} {}{enclosing}: {}",
        place(&hit.location),
        text::clip(hit.text.trim(), 160)
    )
}

/// How sure something is, in one character.
pub(super) fn mark(certainty: Certainty) -> char {
    match certainty {
        Certainty::Confirmed => ' ',
        Certainty::ByType => '~',
        Certainty::ByName => '?',
    }
}

/// Reads `shop/cart.py:12 total`, `shop/cart.py:12:total` or `shop/cart.py:12`.
fn place_of(query: &str) -> Option<(&str, u32, &str)> {
    let (path, rest) = query.split_once(':')?;
    let end = rest.find(|it: char| !it.is_ascii_digit()).unwrap_or(rest.len());
    let line = rest[..end].parse().ok()?;
    let name = rest[end..].trim_start_matches([':', ' ']);
    // `Order.total` at a place is `total`.
    Some((path, line, name.rsplit('.').next().unwrap_or(name)))
}

pub(super) fn place(location: &Location) -> String {
    format!("{}:{}", location.path, location.line)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::scripted::{Scripted, shop};

    #[track_caller]
    fn check(arguments: serde_json::Value, expect: &str) {
        let (folder, world) = shop();
        let said = world.call("search_code", arguments);
        assert_eq!(said.replace(&folder.path().display().to_string(), "ROOT"), expect);
    }

    #[test]
    fn a_symbol_is_found_by_the_end_of_its_name() {
        check(
            json!({"query": "Cart.total"}),
            "1 definition for \"Cart.total\" in ROOT\n\
             shop/cart.py:5-6 method shop.cart.Cart.total: def total(self):  # Sums up.",
        );
    }

    #[test]
    fn calls_and_meanings_say_how_sure_they_are() {
        check(
            json!({"query": "Cart.total", "kind": "callers"}),
            "1 call for \"Cart.total\" in ROOT\n\
             meant: shop/cart.py:5-6 method shop.cart.Cart.total: def total(self):  # Sums up.\n  \
             main.py:2: print(Cart().total())",
        );
        check(
            json!({"query": "main.py:2 total", "kind": "definition"}),
            "1 definition for \"main.py:2 total\" in ROOT\n  \
             shop/cart.py:5-6 method shop.cart.Cart.total: def total(self):  # Sums up. (confirmed)",
        );
    }

    #[test]
    fn the_context_of_no_crash_says_what_it_needs() {
        let (_folder, world) = shop();
        let said = world.call("search_code", json!({"query": "x", "kind": "context"}));
        assert!(said.starts_with("error: there is no paused crash"), "{said}");
    }

    #[test]
    fn text_is_found_in_any_case() {
        check(
            json!({"query": "SUMS up", "kind": "text"}),
            "1 line for \"SUMS up\" in ROOT\n\
             shop/cart.py:6: \"\"\"Sums up.\"\"\"; return sum(self.rows)",
        );
    }

    #[test]
    fn uses_say_what_is_meant() {
        let (_folder, world) = shop();
        let said = world.call("search_code", json!({"query": "Cart", "kind": "references"}));
        assert!(
            said.contains("meant: shop/cart.py:1-6 class shop.cart.Cart: class Cart:"),
            "{said}"
        );
        assert!(
            said.contains("import  main.py:1: from shop.cart import Cart"),
            "{said}"
        );
        assert!(
            said.contains("  call    main.py:2: print(Cart().total())"),
            "{said}"
        );
    }

    #[test]
    fn a_page_that_is_full_names_the_next() {
        let (_folder, world) = shop();
        let said = world.call("search_code", json!({"query": "r", "kind": "text", "limit": 2}));
        assert!(
            said.contains("… more: search_code(query=\"r\", kind=\"text\", cursor=\""),
            "{said}"
        );
    }

    #[test]
    fn what_does_not_fit_is_on_the_next_page() {
        let (_folder, world) = shop();
        let arguments = json!({"query": "[a-z]", "kind": "regex", "max_chars": 600});
        let first = world.call("search_code", arguments.clone());
        assert!(first.chars().count() <= 600, "{first}");
        let cursor = first.rsplit_once("cursor=\"").unwrap().1.trim_end_matches("\")");
        let mut arguments = arguments;
        arguments["cursor"] = cursor.into();
        let second = world.call("search_code", arguments);
        let last_of_first = first.lines().rev().nth(1).unwrap();
        assert!(!second.contains(last_of_first), "{first}\n{second}");
    }

    #[test]
    fn nothing_found_proposes_a_wider_search() {
        check(
            json!({"query": "grand_total"}),
            "0 definitions for \"grand_total\" in ROOT\nnext: search_code(query=\"grand_total\", kind=\"text\")",
        );
    }

    #[test]
    fn a_bad_pattern_says_why() {
        let nowhere = std::env::temp_dir().join("healmcp-no-such-folder");
        let said = Scripted::in_project(&nowhere).call("search_code", json!({"query": "x"}));
        assert!(said.starts_with("error: cannot index"), "{said}");
        let (_folder, world) = shop();
        let said = world.call("search_code", json!({"query": "(", "kind": "regex"}));
        assert!(
            said.starts_with("error: `(` is not a regular expression"),
            "{said}"
        );
    }
}
