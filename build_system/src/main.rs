//! cargo-schism.
fn main() {}
