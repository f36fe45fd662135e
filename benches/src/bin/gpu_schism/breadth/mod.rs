//! Kernels that no pass was made for: what people bring along, in safe Rust, with all checks.
//!
//! They are in the manner of collections such as HeCBench, Rodinia and Parboil, and each was chosen
//! for something that the others do not have: private arrays, tables, pivots that are known at run
//! time, indices that are clamped, chains of iterators, bytes, records, wide integers, steps of a
//! graph, exchange in local memory. Their baselines are in `benches/gpu/breadth*.cuh`.

mod algebra;
mod chains;
mod exchange;
mod filters;
mod graphs;
mod hashing;
mod random;
mod records;

use crate::Outcome;
use crate::measure::Bench;

/// The kernels, in the order of their runs.
pub const KERNELS: &[&str] = &[
    "sha256",
    "fnv",
    "solve4",
    "cholesky6",
    "powmod",
    "convolve",
    "blur9",
    "sobel",
    "chain",
    "windows",
    "chunks",
    "until",
    "pieces",
    "monte_carlo",
    "collatz",
    "quotients",
    "crc",
    "relax_edges",
    "edit_distance",
    "particles",
    "kmeans",
    "bitonic",
    "fft",
    "normalise",
];

/// Measures them.
pub fn run(bench: &Bench) -> Outcome {
    hashing::run(bench)?;
    algebra::run(bench)?;
    filters::run(bench)?;
    chains::run(bench)?;
    random::run(bench)?;
    graphs::run(bench)?;
    records::run(bench)?;
    exchange::run(bench)
}
