//! Runs rayon's pipelines as kernels.
//!
//! Nobody names this crate. `cargo schism build --stdpar` compiles it against the rayon of a
//! program, and the compiler resolves calls of [`original`] to [`bridge_producer_consumer`], which
//! has the same generics and the same signature. Every indexed pipeline of rayon ends there,
//! whichever adaptors it is made of, with all that there is to say about it: a producer, which can
//! be split and gives items, and a consumer, which can be split, takes items and gives a result.
//!
//! A launch splits both on the host, with rayon's own methods, into pieces (`pieces.rs`). A
//! work-item of the kernel takes one piece and folds it, and the host joins the results with
//! rayon's own reducers, in rayon's order. So each producer, consumer, item and result is moved as
//! often as in rayon, and dropped once.
//!
//! `choose.rs` decides where a pipeline runs, by `policy.rs`; where it is not a kernel, [`host`]
//! gives it back to rayon. `report.rs` tells what became of them.

mod choose;
mod device;
pub mod grid;
pub mod host;
mod pieces;
mod policy;
mod report;

use rayon::iter::plumbing::{Consumer, Producer};

/// The function that [`bridge_producer_consumer`] stands in for. The compiler knows it by this
/// name.
pub use rayon::iter::plumbing::bridge_producer_consumer as original;

/// Runs a pipeline of `len` items: what calls of [`original`] become.
///
/// # Panics
/// If the pipeline's closures do.
#[inline(never)]
pub fn bridge_producer_consumer<P, C>(len: usize, producer: P, consumer: C) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    // One item is nothing to share out, and rayon does the same then. The compiler makes no kernel
    // with a pipeline in it. If it did, that would be a loop of its work-item.
    if len < 2 || schism::is_device() {
        return pieces::fold(producer, consumer);
    }
    host::pipeline(len, producer, consumer)
}
