//! How `search_code` shows what belongs to a symbol: calls, classes, overrides, imports, meanings of a name.

use repo_index::{
    CallHit, Callers, Certainty, ContextHit, DefinitionHit, Definitions, Page, RelatedHit, Relation,
};

use super::search_code::{Counts, Found, counts, json, mark, place, symbol};
use crate::text;

pub(super) fn of_callers(callers: &Callers) -> Found {
    let mut about: Vec<String> = callers
        .targets
        .iter()
        .map(|hit| format!("meant: {}", symbol(hit)))
        .collect();
    let n_listed = callers.page.n_matches;
    if callers.n_same_name > n_listed {
        about.push(format!(
            "{} of {} places with the name call it, or may",
            n_listed, callers.n_same_name
        ));
    }
    Found {
        lines: callers.page.items.iter().map(call).collect(),
        about,
        counts: counts(&callers.page),
        json: json(callers),
    }
}

fn call(hit: &CallHit) -> String {
    let enclosing = hit
        .enclosing
        .as_ref()
        .map_or_else(String::new, |name| format!(" in {name}"));
    format!(
        "{} {}{enclosing}: {}",
        mark(hit.certainty),
        place(&hit.location),
        text::clip(hit.text.trim(), 160)
    )
}

pub(super) fn of_related(page: &Page<RelatedHit>) -> Found {
    Found {
        lines: page.items.iter().map(related).collect(),
        about: Vec::new(),
        counts: counts(page),
        json: json(page),
    }
}

fn related(hit: &RelatedHit) -> String {
    let relation = match hit.relation {
        Relation::Callee => "calls",
        Relation::Ancestor => "base",
        Relation::Derived => "derived",
        Relation::Overridden => "overridden",
        Relation::Override => "override",
        Relation::Importer => "importer",
    };
    let name = hit
        .name
        .as_ref()
        .map_or_else(String::new, |name| format!(" {name}"));
    format!(
        "{} {relation:<10} {}{name}: {}",
        mark(hit.certainty),
        place(&hit.location),
        text::clip(hit.text.trim(), 160)
    )
}

pub(super) fn of_context(page: &Page<ContextHit>) -> Found {
    let line = |hit: &ContextHit| format!("{}  [{}]", symbol(&hit.symbol), hit.why);
    Found {
        lines: page.items.iter().map(line).collect(),
        about: Vec::new(),
        counts: counts(page),
        json: json(page),
    }
}

pub(super) fn of_definitions(found: &Definitions) -> Found {
    let n = found.candidates.len();
    Found {
        lines: found.candidates.iter().map(definition).collect(),
        about: Vec::new(),
        counts: Counts {
            n_matches: n,
            next_cursor: None,
            is_partial: found.is_partial,
            n_files_searched: 0,
            n_files: 0,
        },
        json: json(found),
    }
}

fn definition(hit: &DefinitionHit) -> String {
    let why = match hit.certainty {
        Certainty::Confirmed => "confirmed",
        Certainty::ByType => "by type",
        Certainty::ByName => "by name only",
    };
    let constructor = hit.constructor.as_ref().map_or_else(String::new, |it| {
        format!("; runs {} {}.{}", place(&it.location), it.module, it.name)
    });
    format!(
        "{} {} ({why}){constructor}",
        mark(hit.certainty),
        symbol(&hit.symbol)
    )
}
