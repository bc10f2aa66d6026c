//! The interpreter on heals that follow the grammar of HealCore, over live objects.

#![no_main]

use healmcp_fuzz::{grammar, interpreter};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| interpreter::run(&grammar::heal(bytes, grammar::Words::Allowed)));
