//! The checker on heals that follow the grammar of Python.

#![no_main]

use healmcp_fuzz::{checker, grammar};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| checker::check(&grammar::heal(bytes, grammar::Words::All)));
