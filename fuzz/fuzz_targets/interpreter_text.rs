//! The interpreter on any text, over live objects.

#![no_main]

use healmcp_fuzz::interpreter;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|source: &str| interpreter::run(source));
