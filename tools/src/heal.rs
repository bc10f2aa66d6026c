//! The tools that heal: propose, apply, give up.

mod abort;
mod check_heal;
mod resume;

mod outcome;

pub(crate) use abort::Abort;
pub(crate) use check_heal::CheckHeal;
pub(crate) use resume::Resume;
