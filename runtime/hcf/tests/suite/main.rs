//! Tests of the container format, from outside.

mod aot;
mod corpus;
#[cfg(feature = "file")]
mod files;
mod roundtrip;
mod rules;
mod sample;
mod support;
