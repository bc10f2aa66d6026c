//! What kinds of things a heal did: read from its journal, its names and its tree.

use std::collections::BTreeSet;

use healcore::tree::{Program, Stmt, StmtKind};
use healguard::Behaviour;
use pyo3::prelude::*;

use crate::frames::NamePlace;

use super::names::Name;

/// The behaviours of writes to names of the frame; what nothing in the frame reads does not count.
pub(super) fn of_names(names: &[Name<'_>]) -> BTreeSet<Behaviour> {
    let lasting = names.iter().filter(|name| name.place != NamePlace::Temporary);
    let behaviours = lasting.filter_map(|name| match &name.old {
        Some(old) if old.is(&name.value) => None,
        Some(old) => Some(of_replacing(old, &name.value)),
        None => Some(Behaviour::InitialiseVariable),
    });
    behaviours.collect()
}

/// The behaviour of putting one value in the place of another.
pub(super) fn of_replacing(old: &Bound<'_, PyAny>, new: &Bound<'_, PyAny>) -> Behaviour {
    if old.is_none() || old.get_type().is(new.get_type()) {
        Behaviour::ChangeValue
    } else {
        Behaviour::AdjustType
    }
}

/// Whether any statement imports.
pub(super) fn imports(program: &Program) -> bool {
    fn any(body: &[Stmt]) -> bool {
        body.iter().any(|stmt| match &stmt.kind {
            StmtKind::Import(_) => true,
            StmtKind::If { body, orelse, .. }
            | StmtKind::For { body, orelse, .. }
            | StmtKind::While { body, orelse, .. } => any(body) || any(orelse),
            StmtKind::Try {
                body,
                handlers,
                orelse,
                finalbody,
            } => {
                any(body)
                    || handlers.iter().any(|handler| any(&handler.body))
                    || any(orelse)
                    || any(finalbody)
            }
            _ => false,
        })
    }
    any(&program.body)
}
