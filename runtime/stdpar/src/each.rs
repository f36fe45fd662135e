//! Pieces whose items have nothing to do with each other, and the kernel that runs them so.
//!
//! The loop over a piece's items counts, and takes each item out of a copy of the producer that is
//! split there. Nothing goes from one item to the next but the place of the next result, so the
//! loop is marked, and stage 2 computes several items at once, in the lanes of vectors.
//!
//! This is for producers that give an item by its number, and for consumers that keep nothing of
//! one item for the next: rayon's own `for_each` and `collect`, with `map` and its like in between.
//! The compiler knows them by their names. It makes no kernels of others in this module, which it
//! knows by its name, too; and where it makes one, it makes none of [`Pieces`].

use std::mem::{ManuallyDrop, forget};

use rayon::iter::plumbing::{Consumer, Folder, Producer};
use schism::__private::{HostThreads, Kernel, descriptor, independent_iterations, run_on_threads};
use schism::{Item, LaunchError, Queue};

use crate::pieces::{Indexed, Piece, Pieces};

/// The kernel: a work-item for each piece.
pub struct Each<W: Piece>(Pieces<W>);

impl<P, C> Kernel<1> for Each<Indexed<P, C>>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        self.0.run_by(item, run);
    }
}

/// The address of its descriptor; 0 if it is no kernel.
#[inline(always)]
pub(crate) fn descriptor_of<P, C>() -> usize
where
    P: Producer,
    C: Consumer<P::Item>,
{
    descriptor::<Each<Indexed<P, C>>, 1>().addr()
}

/// Launches the kernel.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// As for [`pieces::launch`](crate::pieces::launch).
pub(crate) unsafe fn launch<P, C>(
    queue: &Queue,
    pieces: Pieces<Indexed<P, C>>,
    count: usize,
    threads: HostThreads,
) -> Result<(), LaunchError>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    // SAFETY: the caller's promises.
    unsafe { run_on_threads(queue, &Each(pieces), count, threads) }
}

/// Runs a piece, item by item.
#[inline(always)]
fn run<P, C>(piece: Indexed<P, C>) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let Indexed { len, producer, consumer } = piece;
    // Its items are all taken out of copies.
    let producer = ManuallyDrop::new(producer);
    let mut folder = consumer.into_folder();
    let mut index = 0;
    while index < len {
        // SAFETY: rayon may have other threads run any of the items meanwhile, and consumers that
        // keep something from one item to the next make no kernel.
        unsafe { independent_iterations() };
        // SAFETY: of this copy's items, one is used, and no other copy's is the same; the others are
        // forgotten. Rayon's own producers split into parts that have nothing in common.
        let producer = unsafe { std::ptr::from_ref(&*producer).read() };
        let (before, producer) = producer.split_at(index);
        let (producer, after) = producer.split_at(1);
        forget((before, after));
        if let Some(item) = producer.into_iter().next() {
            folder = folder.consume(item);
        }
        index += 1;
    }
    folder.complete()
}
