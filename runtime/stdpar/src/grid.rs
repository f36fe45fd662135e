//! Pipelines on devices with many work-items: each work-item cuts its own piece out.
//!
//! The kernel has the bytes of the producer and of the consumer. A work-item copies them, splits
//! its piece off on both sides, forgets the rest, and folds the piece. So the host does nothing for
//! a piece, and there can be as many as there are items. Then each work-item of a second kernel
//! joins some adjacent results, again and again, until the host joins the last ones.
//!
//! This is for producers and consumers that drop nothing, and that are rayon's own: copies of these
//! may be split side by side, since the parts have nothing in common. The compiler makes no kernels
//! of others in this module, which it knows by its name.

use std::mem::{MaybeUninit, forget, needs_drop};

use rayon::iter::plumbing::{Consumer, Producer, Reducer};
use schism::__private::{Kernel, run_unchecked};
use schism::{Item, LaunchError, Queue};

use crate::pieces::fold;

/// From so many items on, pieces have more than one: 2 to this power.
const FEW: u32 = 18;

/// The most items of a piece, unless the pipeline asks for more. Adjacent work-items should find
/// their items in the same lines of the cache.
const MOST: usize = 8;

/// Results that a work-item joins.
const JOINED: usize = 32;

/// The host joins so many results itself.
const LAST: usize = 256;

/// Whether copies of a producer and a consumer may be forgotten.
pub(crate) const fn may_copy<P, C>() -> bool {
    !needs_drop::<P>() && !needs_drop::<C>()
}

/// A pipeline, as bytes.
struct Copied<P, C> {
    producer: MaybeUninit<P>,
    consumer: MaybeUninit<C>,
    len: usize,
    /// Items of a piece. The last one may be shorter.
    piece: usize,
}

impl<P, C> Copied<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    /// # Safety
    /// Producer and consumer are used by nobody while the copy is, and drop nothing.
    unsafe fn of(producer: &P, consumer: &C, len: usize, piece: usize) -> Self {
        // SAFETY: bytes of a value may be copied; what may be done with them is up to the caller.
        unsafe {
            Self {
                producer: std::ptr::from_ref(producer).cast::<MaybeUninit<P>>().read(),
                consumer: std::ptr::from_ref(consumer).cast::<MaybeUninit<C>>().read(),
                len,
                piece,
            }
        }
    }

    /// Where a piece begins.
    #[inline(always)]
    fn begin(&self, piece: usize) -> usize {
        piece.saturating_mul(self.piece).min(self.len)
    }

    /// Folds a piece.
    ///
    /// # Safety
    /// Each piece is folded once.
    #[inline(always)]
    unsafe fn fold(&self, piece: usize) -> C::Result {
        let (begin, end) = (self.begin(piece), self.begin(piece + 1));
        // SAFETY: bytes of a value of this type; of what it stands for, this piece alone is used.
        let producer = unsafe { self.producer.assume_init_read() };
        let (before, producer) = producer.split_at(begin);
        let (producer, after) = producer.split_at(end - begin);
        forget((before, after));
        fold(producer, self.consumer(begin, end))
    }

    /// The consumer of some items.
    #[inline(always)]
    fn consumer(&self, begin: usize, end: usize) -> C {
        // SAFETY: as in `fold`. Where it is not for one piece, it is only split.
        let consumer = unsafe { self.consumer.assume_init_read() };
        let (before, consumer, first) = consumer.split_at(begin);
        let (consumer, after, second) = consumer.split_at(end - begin);
        forget((before, first, after, second));
        consumer
    }

    /// Joins the results of two adjacent ranges of pieces.
    #[inline(always)]
    fn join(
        &self,
        [begin, middle, end]: [usize; 3],
        left: C::Result,
        right: C::Result,
    ) -> C::Result {
        let [begin, middle, end] = [begin, middle, end].map(|piece| self.begin(piece));
        let (before, after, reducer) = self.consumer(begin, end).split_at(middle - begin);
        forget((before, after));
        reducer.reduce(left, right)
    }
}

/// The kernel that folds: a work-item for each piece.
pub struct Fold<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    pipeline: Copied<P, C>,
    results: *mut MaybeUninit<C::Result>,
}

impl<P, C> Kernel<1> for Fold<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        let piece = item.x();
        // SAFETY: a launch has as many work-items as there are pieces and results, and each has its
        // own.
        unsafe {
            let result = self.pipeline.fold(piece);
            self.results.add(piece).write(MaybeUninit::new(result));
        }
    }
}

/// The kernel that joins: a work-item for some adjacent results.
pub struct Join<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    pipeline: Copied<P, C>,
    /// Pieces of each result.
    pieces: usize,
    from: *const MaybeUninit<C::Result>,
    count: usize,
    to: *mut MaybeUninit<C::Result>,
}

impl<P, C> Kernel<1> for Join<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        let first = item.x() * JOINED;
        let end = (first + JOINED).min(self.count);
        // SAFETY: a launch has a work-item for every so many results, all of which are there; each
        // takes its own, once, and writes one.
        unsafe {
            let mut joined = self.from.add(first).read().assume_init();
            for next in first + 1..end {
                let right = self.from.add(next).read().assume_init();
                let at = [first, next, next + 1].map(|result| result * self.pieces);
                joined = self.pipeline.join(at, joined, right);
            }
            self.to.add(item.x()).write(MaybeUninit::new(joined));
        }
    }
}

/// Why there is no result.
pub(crate) enum Failed {
    /// Nothing has run: producer and consumer are as they were.
    NotBegun(LaunchError),
    /// Some pieces have run.
    Within(LaunchError),
}

/// A pipeline that is to run, with room for its results.
pub(crate) struct Launch<'a, P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    producer: &'a P,
    consumer: &'a C,
    len: usize,
    piece: usize,
    /// For the results of the pieces, and for those that each further launch joins them to.
    results: Vec<Vec<MaybeUninit<C::Result>>>,
}

impl<'a, P, C> Launch<'a, P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    /// Makes room for all results: the device sees only what is there when the first launch begins.
    pub(crate) fn new(len: usize, producer: &'a P, consumer: &'a C) -> Self {
        let has_results = size_of::<C::Result>() != 0;
        let piece = piece(len, has_results, producer.min_len(), producer.max_len());
        let mut count = len.div_ceil(piece);
        let mut results = vec![room(count)];
        while has_results && count > LAST {
            count = count.div_ceil(JOINED);
            results.push(room(count));
        }
        Self { producer, consumer, len, piece, results }
    }

    /// The number of work-items.
    pub(crate) const fn pieces(&self) -> usize {
        self.len.div_ceil(self.piece)
    }

    fn pipeline(&self) -> Copied<P, C> {
        // SAFETY: the caller waits, and neither drops anything.
        unsafe { Copied::of(self.producer, self.consumer, self.len, self.piece) }
    }

    /// Runs the pipeline as kernels, while the device sees all of the program's memory.
    ///
    /// # Errors
    /// [`Failed`]. Unless that says otherwise, producer and consumer are used up.
    pub(crate) fn run(&mut self, queue: &Queue) -> Result<C::Result, Failed> {
        let pieces = self.pieces();
        let kernel = Fold { pipeline: self.pipeline(), results: self.results[0].as_mut_ptr() };
        // SAFETY: kernel and results live until the launch is over; the rest is borrowed by the
        // pipeline. Work-items have pieces of their own, which may go to other threads.
        unsafe { run_unchecked(queue, &kernel, pieces) }.map_err(|error| {
            if has_not_begun(&error) { Failed::NotBegun(error) } else { Failed::Within(error) }
        })?;
        let (mut last, mut of_each) = (0, 1);
        for next in 1..self.results.len() {
            let (from, count) = (self.results[last].as_ptr(), self.results[last].len());
            let (to, joined) = (self.results[next].as_mut_ptr(), self.results[next].len());
            let kernel = Join { pipeline: self.pipeline(), pieces: of_each, from, count, to };
            // SAFETY: as above; each result is there.
            match unsafe { run_unchecked(queue, &kernel, joined) } {
                Ok(()) => (last, of_each) = (next, of_each * JOINED),
                // All results are where they were, and the host joins them.
                Err(error) if has_not_begun(&error) => break,
                Err(error) => return Err(Failed::Within(error)),
            }
        }
        let pipeline = self.pipeline();
        // SAFETY: the last launch that ran has written all of these.
        let mut rest = self.results[last].iter().map(|result| unsafe { result.assume_init_read() });
        let mut joined = rest.next().expect("a pipeline with items has a piece");
        for (number, right) in rest.enumerate() {
            let at = [0, number + 1, number + 2].map(|result| result * of_each);
            joined = pipeline.join(at, joined, right);
        }
        Ok(joined)
    }
}

/// Items of a piece.
fn piece(len: usize, has_results: bool, least: usize, most: usize) -> usize {
    let wanted = if has_results { (len >> FEW).clamp(1, MOST) } else { 1 };
    wanted.min(most).max(least).clamp(1, len.max(1))
}

/// Room for results. It is not initialised: the device may be the first to touch it.
fn room<R>(count: usize) -> Vec<MaybeUninit<R>> {
    let mut room = Vec::with_capacity(count);
    // SAFETY: these need no value.
    unsafe { room.set_len(count) };
    room
}

/// Whether nothing of a launch has run.
fn has_not_begun(error: &LaunchError) -> bool {
    !matches!(
        error,
        LaunchError::Panicked(_) | LaunchError::DeviceLost { .. } | LaunchError::Driver { .. }
    )
}
