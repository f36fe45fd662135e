//! Programs that the tests compile: what the compiler, its driver and its tools make of them, and what
//! they do when they run. One test program, so that they are built and run side by side.

mod abort;
mod aot;
mod artifacts;
mod bad_input;
mod barriers;
mod bodies;
mod cache;
mod captures;
mod check;
mod code_split;
mod diagnostics;
mod doctests;
mod editions;
mod emit;
mod fidelity;
mod hip;
mod imports;
mod incremental;
mod instrumentation;
mod internal_errors;
mod kernel_names;
mod launches;
mod matrix;
mod new_packages;
mod pass_effects;
mod print;
mod random;
mod split;
mod stable;
mod thread_locals;
mod times;
mod trust;
