//! The checker on any text.

#![no_main]

use healmcp_fuzz::checker;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| checker::check(source));
