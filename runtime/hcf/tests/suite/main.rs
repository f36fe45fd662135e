//! Tests of the container format, from outside.

mod ahead;
mod corpus;
#[cfg(feature = "file")]
mod files;
mod roundtrip;
mod rules;
mod sample;
mod support;
