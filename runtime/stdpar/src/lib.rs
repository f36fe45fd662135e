//! Runs rayon's pipelines as kernels.
//!
//! No program names this crate. `cargo schism build --stdpar` compiles it against the rayon of a
//! program, and the compiler resolves calls of the functions in [`originals`] to those of the same
//! name here, which have the same generics and the same signatures. Every pipeline of rayon ends in
//! one of them, whichever adaptors it is made of, with all that there is to say about it: a
//! producer, which can be split and gives items, and a consumer, which can be split, takes items and
//! gives a result.
//!
//! [`host`] forgets the types of both at once (`steps.rs`), so that a program has most of this crate
//! once, and not for each pipeline.
//!
//! A launch splits both on the host, with rayon's own methods, into pieces (`pieces.rs`,
//! `unindexed.rs`, `launch.rs`). A work-item of the kernel takes one piece and folds it, and the host joins the
//! results with rayon's own reducers, in rayon's order. Where items have nothing to do with each
//! other, a work-item computes several of them at once ([`each`]). So each producer, consumer, item
//! and result is moved as often as in rayon, and dropped once. On a GPU, work-items cut pieces out
//! themselves, and groups join results ([`grid`], `cut.rs`, `group.rs`, `results.rs`, `collected.rs`); the
//! launch has copies of small values that closures capture ([`captures`]).
//!
//! `choose.rs` decides where a pipeline runs, by `policy.rs` or `joint.rs`, and `budget.rs` when a kernel is made; where it is not a kernel, rayon's
//! threads share it (`share.rs`). `history.rs` keeps what was
//! measured for later runs, and `report.rs` tells what became of them.

mod at_exit;
mod budget;
pub mod captures;
mod choose;
mod collected;
mod cut;
mod device;
pub mod each;
pub mod grid;
mod group;
mod history;
pub mod host;
mod joint;
mod launch;
mod memory;
mod pieces;
mod policy;
mod report;
mod results;
mod setting;
mod share;
pub mod sort;
pub mod sorts;
mod steps;
mod unindexed;

use rayon::iter::plumbing::{Consumer, Producer, UnindexedConsumer, UnindexedProducer};

use pieces::Piece;

/// The functions that others of this crate stand in for. The compiler knows them by their names.
pub mod originals {
    pub use rayon::iter::plumbing::{bridge_producer_consumer, bridge_unindexed};
    pub use rayon::slice::ParallelSliceMut;
}

/// Runs a pipeline of `len` items: what calls of [`originals::bridge_producer_consumer`]
/// become.
///
/// # Panics
/// If the pipeline's closures do.
#[inline(never)]
pub fn bridge_producer_consumer<P, C>(len: usize, producer: P, consumer: C) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    // One item is nothing to share out, and rayon does the same then.
    if is_loop() || (schism::is_device() && len < 2) {
        return pieces::fold(producer, consumer);
    }
    host::pipeline(len, producer, consumer)
}

/// Runs a pipeline of an unknown number of items: what calls of [`originals::bridge_unindexed`]
/// become.
///
/// # Panics
/// If the pipeline's closures do.
#[inline(never)]
pub fn bridge_unindexed<P, C>(producer: P, consumer: C) -> C::Result
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    if is_loop() {
        return unindexed::Unindexed { producer, consumer }.run();
    }
    host::unindexed_pipeline(producer, consumer)
}

/// Whether a pipeline is a loop of one work-item, as in kernels that a program launches itself. In
/// one that is made of a pipeline itself, it is the program's own, and may be another kernel.
#[inline(always)]
fn is_loop() -> bool {
    schism::is_device() && !schism::__private::is_in_process()
}
