//! What a pipeline is cut into, and the kernel that runs the pieces.

use std::marker::PhantomData;
use std::time::Duration;

use rayon::iter::plumbing::{Consumer, Folder, Producer, Reducer};
use schism::__private::Kernel;
use schism::Item;

/// Pieces for each thread: enough for uneven ones to even out, and few enough for splitting and
/// joining to cost nothing.
pub(crate) const PIECES_PER_THREAD: usize = 16;

/// A piece of long pipelines takes about this: while a thread runs the last one, others may have
/// nothing to do.
const LONG: Duration = Duration::from_micros(200);

/// A pipeline has a piece for so much of its time at most: the calling thread alone splits and joins
/// them, which takes a hundredth of this.
const PER_PIECE: Duration = Duration::from_micros(20);

/// Where items are computed several at once, pieces begin at multiples of this: what does not fill a
/// vector is slower.
const SEVERAL: usize = 32;

/// The fewest pieces that a thread is to have for that.
const FEWEST: usize = 4;

/// The most pieces of a launch. A pipeline that is to have more stays with rayon, which does not
/// make them all at once.
pub(crate) const MOST_PIECES: usize = 1 << 14;

/// A part of a pipeline, which a work-item runs.
pub trait Piece: Sized {
    /// What becomes of it.
    type Result;

    /// Joins the results of two neighbours.
    type Reducer;

    /// Whether it may have no end, and run until another piece of the pipeline has found
    /// what is searched for.
    const IS_ENDLESS: bool;

    /// Runs it as a loop.
    fn run(self) -> Self::Result;

    /// Splits it in two, before the item `middle` if its items are counted. Returns whether that can
    /// be done; if not, it stays as it was.
    ///
    /// # Safety
    /// There is one, and places for its second half and for a reducer. If this unwinds, none of the
    /// three is there.
    unsafe fn split(
        piece: *mut Self,
        middle: usize,
        right: *mut Self,
        reducer: *mut Self::Reducer,
    ) -> bool;

    /// Joins the results of two halves.
    fn reduce(reducer: Self::Reducer, left: Self::Result, right: Self::Result) -> Self::Result;
}

/// A part of an indexed pipeline.
#[repr(C)]
pub struct Indexed<P, C> {
    /// Its items.
    pub(crate) len: usize,
    pub(crate) producer: P,
    pub(crate) consumer: C,
}

impl<P, C> Piece for Indexed<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    type Result = C::Result;
    type Reducer = C::Reducer;

    /// A pipeline that has been counted ends.
    const IS_ENDLESS: bool = false;

    #[inline(always)]
    fn run(self) -> C::Result {
        fold(self.producer, self.consumer)
    }

    #[inline(always)]
    unsafe fn split(
        piece: *mut Self,
        middle: usize,
        right: *mut Self,
        reducer: *mut C::Reducer,
    ) -> bool {
        // SAFETY: the caller's promises. Where the piece cannot be split, it goes back.
        unsafe {
            let Self { len, producer, consumer } = piece.read();
            if consumer.full() {
                piece.write(Self { len, producer, consumer });
                return false;
            }
            let (left_producer, right_producer) = producer.split_at(middle);
            let (left_consumer, right_consumer, own_reducer) = consumer.split_at(middle);
            piece.write(Self { len: middle, producer: left_producer, consumer: left_consumer });
            right.write(Self {
                len: len - middle,
                producer: right_producer,
                consumer: right_consumer,
            });
            reducer.write(own_reducer);
            true
        }
    }

    #[inline(always)]
    fn reduce(reducer: C::Reducer, left: C::Result, right: C::Result) -> C::Result {
        reducer.reduce(left, right)
    }
}

/// Runs a pipeline, or a piece of one, as a loop.
#[inline(always)]
pub(crate) fn fold<P, C>(producer: P, consumer: C) -> C::Result
where
    P: Producer,
    C: Consumer<P::Item>,
{
    if consumer.full() {
        consumer.into_folder().complete()
    } else {
        producer.fold_with(consumer.into_folder()).complete()
    }
}

/// How far a piece has come.
pub(crate) type State = u8;
/// Its producer and its consumer are there.
pub(crate) const UNTOUCHED: State = 0;
/// A work-item has taken them.
pub(crate) const TAKEN: State = 1;
/// Its result is there.
pub(crate) const DONE: State = 2;

/// The piece of a work-item. Threads begin in different parts of the pipeline, as rayon's do: what
/// ends it early may be in any of them.
#[inline(always)]
fn piece_of(item: usize, count: usize, parts: usize) -> usize {
    let (part, place) = (item % parts, item / parts);
    let (shortest, longer) = (count / parts, count % parts);
    part * shortest + part.min(longer) + place
}

/// Where the pieces of a pipeline are, whatever their type.
#[derive(Clone, Copy)]
pub(crate) struct Places {
    pub(crate) pieces: *mut u8,
    pub(crate) results: *mut u8,
    pub(crate) states: *mut State,
    /// Into how many parts the pieces are divided; of each, a piece is taken in turn.
    pub(crate) parts: usize,
}

/// The kernel: a work-item for each piece. The compiler knows it by its name.
#[repr(transparent)]
pub struct Pieces<W: Piece>(Places, PhantomData<W>);

// SAFETY: each piece goes to one thread, which has its result and its state for itself.
unsafe impl<W: Piece<Result: Send> + Send> Sync for Pieces<W> {}

impl<W: Piece<Result: Send> + Send> Kernel<1> for Pieces<W> {
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        self.run_by(item, W::run);
    }
}

impl<W: Piece> Pieces<W> {
    /// Runs the piece of a work-item by `run`.
    #[inline(always)]
    pub(crate) fn run_by(&self, item: Item<1>, run: impl FnOnce(W) -> W::Result) {
        let Places { pieces, results, states, parts } = self.0;
        let index = piece_of(item.x(), item.size(), parts);
        // SAFETY: a launch has as many work-items as there are pieces, and each runs its own. There are
        // as many results and states as pieces, and what belongs to this one is used by nothing else.
        // The piece is there, and is not taken again: the state says so before anything of it runs.
        unsafe {
            states.add(index).write(TAKEN);
            let piece = pieces.cast::<W>().add(index).read();
            let result = run(piece);
            results.cast::<W::Result>().add(index).write(result);
            states.add(index).write(DONE);
        }
    }
}

/// Into how many pieces threads should divide what takes them so long together.
fn wanted(threads: usize, expected: Duration) -> usize {
    let parts = |of: Duration| (expected.as_micros() / of.as_micros()) as usize;
    let long = threads.saturating_mul(parts(LONG)).min(parts(PER_PIECE));
    long.min(MOST_PIECES).max(threads * PIECES_PER_THREAD)
}

/// Into how many pieces a pipeline of `len` items is to be cut that is expected to take so long, if no
/// piece may be longer than `most`; `None` if these are too many.
pub(crate) fn count(len: usize, most: usize, expected: Duration) -> Option<usize> {
    let asked = len / most.max(1);
    let count = wanted(rayon::current_num_threads(), expected).max(asked).min(len);
    (count <= MOST_PIECES).then_some(count)
}

/// What the places are multiples of at which threads cut so many items, several of which are computed
/// at once.
pub(crate) fn unit(len: usize, threads: usize) -> usize {
    const LEAST: usize = 8;
    let most = len / threads.saturating_mul(FEWEST).max(1);
    let unit = if most == 0 { 1 } else { SEVERAL.min(1 << most.ilog2()) };
    if unit < LEAST { 1 } else { unit }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_has_a_work_item() {
        for (count, parts) in [(1, 1), (7, 1), (7, 2), (32, 2), (33, 4), (100, 16), (5, 5)] {
            let mut pieces: Vec<usize> =
                (0..count).map(|item| piece_of(item, count, parts)).collect();
            assert_eq!(pieces[0], 0);
            assert!(parts < 2 || pieces[1] >= count / parts, "{count} in {parts}");
            pieces.sort_unstable();
            assert!(pieces.into_iter().eq(0..count), "{count} in {parts}");
        }
    }

    #[test]
    fn long_pipelines_have_more_pieces() {
        let of = |threads, micros| wanted(threads, Duration::from_micros(micros));
        assert_eq!([of(16, 0), of(16, 3_000), of(2, 6_000)], [256, 256, 60]);
        assert_eq!([of(16, 20_000), of(16, u64::MAX)], [1_000, MOST_PIECES]);
        assert_eq!(of(2_000, 0), 32_000);
    }

    #[test]
    fn pieces_fill_vectors_where_there_are_enough() {
        let of = |len| unit(len, 16);
        assert_eq!(
            [of(1), of(511), of(512), of(1_024), of(3_000), of(1 << 30)],
            [1, 1, 8, 16, 32, 32]
        );
        assert_eq!(unit(usize::MAX, usize::MAX), 1);
    }
}
