//! Random kernels, as a search for what the tests of the language do not think of.
//!
//! A kernel is generated from two numbers, a seed and its own number; nothing else goes in.
//! Programs of [`BATCH`] kernels are compiled by the driver and by plain rustc, with the same
//! options. Each program runs each kernel's function on the host, item by item, and launches the
//! kernel on every device. Then all must agree, bit for bit: the outputs, which work-items panic,
//! where and with what message, and what one that panics has left in memory.
//!
//! ```text
//! kernel.rs     a kernel: what it captures, how it is launched
//! groups.rs     launches with work-groups and barriers
//! statement.rs  expression.rs  iterators.rs  checked.rs  stores.rs     the grammar
//! types.rs      generator.rs   node.rs          what the grammar is written with
//! prelude.rs    what every generated program begins with
//! run.rs        compiles, runs, compares
//! reduce.rs     makes a small kernel of one that shows a difference
//! ```
//!
//! The generated programs have one meaning: they end, have no undefined behaviour, and see nothing
//! that Rust leaves open. `prelude.rs` says what that excludes.

mod checked;
mod expression;
mod generator;
mod groups;
mod iterators;
mod kernel;
mod node;
mod reduce;
mod run;
mod statement;
mod stores;
mod types;

use std::path::PathBuf;

pub use run::{Finding, Kind, Report, reproduce, run};

/// Kernels of one program. They share the compiler's options, too.
pub const BATCH: u64 = 100;

/// What to generate, and how to compile it.
#[derive(Clone, Debug)]
pub struct Options {
    /// All kernels follow from it.
    pub seed: u64,
    /// The number of the first kernel.
    pub first: u64,
    /// How many kernels.
    pub count: u64,
    /// Levels of optimisation, taken in turn; each is what `-Copt-level=` accepts.
    pub levels: Vec<String>,
    /// Whether the device `cpu` also runs them with each number of lanes, and with stacks at
    /// barriers.
    pub cpu_settings: bool,
    /// Programs compiled and run at the same time.
    pub jobs: usize,
    /// Where to leave the programs that show a difference.
    pub keep: Option<PathBuf>,
    /// Where to leave all programs, which are not run then.
    pub pack: Option<PathBuf>,
    /// Whether to make small kernels of those that show a difference.
    pub reduce: bool,
    /// Whether to tell of each program.
    pub verbose: bool,
}

/// Why a run could not be made. What the kernels show is no error, but a [`Finding`].
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder.
    #[error("cannot write {}: {source}; make room there, or choose another folder", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A program that does not start.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A program that cannot be compiled, to be run elsewhere.
    #[error(
        "the program of kernel {first} and its neighbours cannot be compiled; search there without --pack:\n{why}"
    )]
    Pack {
        /// The first kernel's number.
        first: u64,
        /// What the driver says.
        why: String,
    },
    /// Plain rustc refuses a program, and not because of a kernel.
    #[error("plain rustc cannot compile generated programs; the first lines of what it says:\n{0}")]
    Prelude(String),
}

/// The text of a kernel.
#[must_use]
pub fn source(seed: u64, kernel: u64) -> String {
    kernel::Kernel::generate(seed, kernel).source.render()
}
