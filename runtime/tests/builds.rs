//! Keeps the extension built: a test here makes `cargo test` link the library that the end-to-end tests load.
