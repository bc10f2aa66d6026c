//! `outline`: what is defined in this file?

use crate::answer::{Fit, Outline};
use crate::error::Error;
use crate::read::find_file;
use crate::session::{Session, SymbolId, Texts, symbol_hit};

pub(crate) fn outline(session: &Session<'_>, path: &str) -> Result<Outline, Error> {
    let idx = find_file(session, path)?;
    let shown = session.tree.file(idx).shown.clone();
    let Some(facts) = session.facts(idx) else {
        if session.is_partial() {
            let page = session.page_of(Vec::new(), 0, 0, 1);
            return Ok(Outline {
                path: shown,
                doc: None,
                has_errors: false,
                page,
            });
        }
        return Err(Error::Unreadable {
            path: path.into(),
            why: "it is in no language that the index knows".into(),
            hint: "read its lines, or search its text".into(),
        });
    };
    let texts = Texts::default();
    let symbols: Vec<_> = (0..)
        .zip(&facts.definitions)
        .map(|(definition, _)| SymbolId {
            file: idx,
            definition,
        })
        .collect();
    let page = session.page(&symbols, 1, |symbol| {
        symbol_hit(session, &texts, &facts, *symbol, Fit::Whole)
    })?;
    let doc = facts.doc.map(|doc| facts.text(doc).into());
    Ok(Outline {
        path: shown,
        doc,
        has_errors: facts.has_errors,
        page,
    })
}
