//! The indexes of source folders, kept between calls.

/// One index a folder; built when first asked for.
#[derive(Default)]
pub struct CodeCache {}
