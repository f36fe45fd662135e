//! Pieces whose items have nothing to do with each other, and the kernels that run them so.
//!
//! The loop over a piece's items counts, and takes each item out of a copy of the producer that is
//! split there. Nothing goes from one item to the next, so the loop is marked, and stage 2 computes
//! several items at once, in the lanes of vectors.
//!
//! [`Each`] is for consumers that keep nothing of one item for the next but the place of the next
//! result: rayon's own `for_each` and `collect`, with `map` and its like in between. [`Sums`] is for
//! sums and products of floating-point numbers: item `i` goes to the sum `i % 16` of `SUMS`, and these
//! are joined at the end. So what a piece gives does not depend on the width of a machine's vectors.
//!
//! The compiler knows such producers and consumers by their names. It makes no kernels of others in
//! this module, which it knows by its name, too; and where it makes one, it does not make
//! the general one.

use std::array;
use std::mem::{ManuallyDrop, forget, needs_drop};

use rayon::iter::plumbing::{Consumer, Folder, Producer, Reducer};
use schism::__private::{Kernel, independent_iterations};
use schism::Item;

use crate::pieces::{Indexed, Piece, Pieces};

/// The sums of a piece.
const SUMS: usize = 16;

/// The kernel for independent items: a work-item for each piece.
#[repr(transparent)]
pub struct Each<W: Piece>(Pieces<W>);

impl<P, C> Kernel<1> for Each<Indexed<P, C>>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        self.0.run_by(item, run_each);
    }
}

/// The kernel for sums: a work-item for each piece.
#[repr(transparent)]
pub struct Sums<W: Piece>(Pieces<W>);

impl<P, C> Kernel<1> for Sums<Indexed<P, C>>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        self.0.run_by(item, run_sums);
    }
}

/// Which of the kernels of this module one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Each,
    Sums,
}

/// Runs a piece, item by item.
#[inline(always)]
fn run_each<P, C>(piece: Indexed<P, C>) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let Indexed { len, producer, consumer } = piece;
    // Declared before the folder, and so dropped after it, as an iterator is that a folder consumes.
    let mut items = InOrder::new(producer);
    let mut folder = consumer.into_folder();
    let mut index = 0;
    while index < len {
        // SAFETY: rayon may have other threads run any of the items meanwhile, and consumers that
        // keep something from one item to the next make no such kernel.
        unsafe { independent_iterations() };
        // SAFETY: each index comes once, in order, and is below the length.
        if let Some(item) = unsafe { items.take(index) } {
            folder = folder.consume(item);
        }
        index += 1;
    }
    drop(items);
    folder.complete()
}

/// Runs a piece, some items beside each other.
#[inline(always)]
fn run_sums<P, C>(piece: Indexed<P, C>) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let Indexed { len, producer, consumer } = piece;
    let mut items = InOrder::new(producer);
    let consumer = OfItems::new(consumer);
    let mut sums: [C::Result; SUMS] = array::from_fn(|_| consumer.folder().complete());
    let mut add = |index: usize, number: usize| {
        // SAFETY: each index comes once, in order, and is below the length.
        if let Some(item) = unsafe { items.take(index + number) } {
            let own = consumer.folder().consume(item).complete();
            let sum = &raw mut sums[number];
            // SAFETY: the sum is there, and is there again right away; if adding panics, nothing looks
            // at it, and floating-point numbers drop nothing.
            unsafe { sum.write(consumer.reducer().reduce(sum.read(), own)) };
        }
    };
    let mut index = 0;
    while len - index >= SUMS {
        let mut number = 0;
        while number < SUMS {
            // SAFETY: as in `run_each`; each iteration has a separate sum.
            unsafe { independent_iterations() };
            add(index, number);
            number += 1;
        }
        index += SUMS;
    }
    for number in 0..len - index {
        add(index, number);
    }
    drop(items);
    let mut sums = sums.into_iter();
    let first = sums.next().expect("there are some");
    sums.fold(first, |left, right| consumer.reducer().reduce(left, right))
}

/// The consumer of a sum, copies of which are for one item each. It is the same for all items, so it
/// does not count where it is split.
pub(crate) struct OfItems<C>(ManuallyDrop<C>);

impl<C> OfItems<C> {
    #[inline(always)]
    pub(crate) const fn new(consumer: C) -> Self {
        Self(ManuallyDrop::new(consumer))
    }

    #[inline(always)]
    fn copy(&self) -> C {
        // SAFETY: the listed consumers hold references and drop nothing.
        unsafe { std::ptr::from_ref(&*self.0).read() }
    }

    #[inline(always)]
    pub(crate) fn folder<T>(&self) -> C::Folder
    where
        C: Consumer<T>,
    {
        self.copy().into_folder()
    }

    #[inline(always)]
    pub(crate) fn reducer<T>(&self) -> C::Reducer
    where
        C: Consumer<T>,
    {
        let (left, right, reducer) = self.copy().split_at(0);
        forget((left, right));
        reducer
    }
}

/// The items of a piece, which are taken out of copies of the producer.
pub(crate) struct Items<P>(pub(crate) ManuallyDrop<P>);

impl<P: Producer> Items<P> {
    /// Takes an item.
    ///
    /// # Safety
    /// There is one with this number, and it was not taken.
    #[inline(always)]
    pub(crate) unsafe fn take(&self, index: usize) -> Option<P::Item> {
        // SAFETY: of this copy's items, one is used, and no other copy's is the same; the others are
        // forgotten. Rayon's own producers split into parts that have nothing in common.
        let producer = unsafe { std::ptr::from_ref(&*self.0).read() };
        let (before, producer) = producer.split_at(index);
        let (producer, after) = producer.split_at(1);
        forget((before, after));
        producer.into_iter().next()
    }
}

/// Items that are taken in order. Those that are not taken when it is dropped, because the loop over
/// them unwinds, are dropped with it; and so is what the producer has besides: where two are zipped,
/// the longer one has more, after the items, or before them if they are reversed. With rayon, the
/// iterator over the items drops all that.
struct InOrder<P: Producer> {
    items: Items<P>,
    /// How many have been taken.
    taken: usize,
}

impl<P: Producer> InOrder<P> {
    #[inline(always)]
    const fn new(producer: P) -> Self {
        Self { items: Items(ManuallyDrop::new(producer)), taken: 0 }
    }

    /// Takes an item.
    ///
    /// # Safety
    /// It is the next one, and there is one.
    #[inline(always)]
    unsafe fn take(&mut self, index: usize) -> Option<P::Item> {
        self.taken = index + 1;
        // SAFETY: the caller's promise.
        unsafe { self.items.take(index) }
    }
}

impl<P: Producer> Drop for InOrder<P> {
    #[inline(always)]
    fn drop(&mut self) {
        if const { needs_drop::<P>() } {
            // SAFETY: the producer is not used again.
            let producer = unsafe { ManuallyDrop::take(&mut self.items.0) };
            let (before, items) = producer.split_at(0);
            let (taken, rest) = items.split_at(self.taken);
            forget(taken);
            drop((before, rest));
        }
    }
}
