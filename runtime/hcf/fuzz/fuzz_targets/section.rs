//! A section of any bytes.
#![no_main]

#[allow(dead_code)]
#[path = "../../tests/suite/support.rs"]
mod support;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| support::exercise_section(bytes));
