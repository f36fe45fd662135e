//! A pipeline cut into pieces, and the kernel that runs them.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::time::Duration;

use rayon::iter::plumbing::{Consumer, Folder, Producer, Reducer};
use schism::__private::{HostThreads, Kernel, run_on_threads, with_host_memory};
use schism::{Item, LaunchError, Queue};

use crate::device;

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
const MOST_PIECES: usize = 1 << 14;

/// A part of a pipeline, which a work-item runs.
pub trait Piece {
    /// What becomes of it.
    type Result;

    /// Whether it may have no end of its own, and run until another piece of the pipeline has found
    /// what is searched for.
    const IS_ENDLESS: bool;

    /// Runs it as a loop.
    fn run(self) -> Self::Result;
}

/// A part of an indexed pipeline.
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

    /// A pipeline that has been counted ends.
    const IS_ENDLESS: bool = false;

    #[inline(always)]
    fn run(self) -> C::Result {
        fold(self.producer, self.consumer)
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
type State = u8;
/// Its producer and its consumer are there.
const UNTOUCHED: State = 0;
/// A work-item has taken them.
const TAKEN: State = 1;
/// Its result is there.
const DONE: State = 2;

/// The piece of a work-item. Threads begin in different parts of the pipeline, as rayon's do: what
/// ends it early may be in any of them.
#[inline(always)]
fn piece_of(item: usize, count: usize, parts: usize) -> usize {
    let (part, place) = (item % parts, item / parts);
    let (shortest, longer) = (count / parts, count % parts);
    part * shortest + part.min(longer) + place
}

/// The kernel: a work-item for each piece. The compiler knows it by its name.
pub struct Pieces<W: Piece> {
    pieces: *const MaybeUninit<W>,
    results: *mut MaybeUninit<W::Result>,
    states: *mut State,
    /// Into how many parts the pieces are divided; of each, a piece is taken in turn.
    parts: usize,
}

impl<W: Piece> Kernel<1> for Pieces<W> {
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        self.run_by(item, W::run);
    }
}

impl<W: Piece> Pieces<W> {
    /// Runs the piece of a work-item by `run`.
    #[inline(always)]
    pub(crate) fn run_by(&self, item: Item<1>, run: impl FnOnce(W) -> W::Result) {
        let index = piece_of(item.x(), item.size(), self.parts);
        // SAFETY: a launch has as many work-items as there are pieces, results and states, and each
        // touches its own. The piece is there, and nobody takes it again: the state says so before
        // anything of it runs.
        unsafe {
            self.states.add(index).write(TAKEN);
            let piece = self.pieces.add(index).read().assume_init();
            let result = run(piece);
            self.results.add(index).write(MaybeUninit::new(result));
            self.states.add(index).write(DONE);
        }
    }
}

/// Launches the kernel with a work-item for each of `count` pieces.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// What the kernel points to lives until the launch is over, and is used by nobody else. There are
/// as many pieces, results and states.
pub(crate) unsafe fn launch<W: Piece>(
    queue: &Queue,
    pieces: Pieces<W>,
    count: usize,
    threads: HostThreads,
) -> Result<(), LaunchError> {
    // SAFETY: the caller's promises.
    unsafe { run_on_threads(queue, &pieces, count, threads) }
}

/// A function such as [`launch`].
pub(crate) type LaunchOf<W> =
    unsafe fn(&Queue, Pieces<W>, usize, HostThreads) -> Result<(), LaunchError>;

/// How the results of a pipeline are joined: in the order in which a stack machine does it.
pub(crate) enum Join<R> {
    /// The next piece's result.
    Next,
    /// The last two.
    Reduce(R),
}

/// A pipeline that is to be a launch.
pub(crate) struct Launch<W, R> {
    pub(crate) pieces: Vec<W>,
    pub(crate) joins: Vec<Join<R>>,
}

/// Why there is no result.
pub(crate) enum Failed<W, R> {
    /// Nothing has run.
    NotBegun(Launch<W, R>, LaunchError),
    /// Some pieces have run, and all that was left of the pipeline is dropped.
    Within(LaunchError),
}

/// Into how many pieces threads should divide what takes them so long together.
fn wanted(threads: usize, expected: Duration) -> usize {
    let parts = |of: Duration| (expected.as_micros() / of.as_micros()) as usize;
    let long = threads.saturating_mul(parts(LONG)).min(parts(PER_PIECE));
    long.min(MOST_PIECES).max(threads * PIECES_PER_THREAD)
}

/// What the places are multiples of at which threads cut so many items, several of which are computed
/// at once.
pub(crate) fn unit(len: usize, threads: usize) -> usize {
    const LEAST: usize = 8;
    let most = len / threads.saturating_mul(FEWEST).max(1);
    let unit = if most == 0 { 1 } else { SEVERAL.min(1 << most.ilog2()) };
    if unit < LEAST { 1 } else { unit }
}

impl<P, C> Launch<Indexed<P, C>, C::Reducer>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    /// Into how many pieces a pipeline is to be cut that is expected to take so long; `None` if
    /// these are too many.
    pub(crate) fn count(len: usize, producer: &P, expected: Duration) -> Option<usize> {
        let asked = len / producer.max_len().max(1);
        let count = wanted(rayon::current_num_threads(), expected).max(asked).min(len);
        (count <= MOST_PIECES).then_some(count)
    }

    /// Cuts a pipeline of `len` items into pieces, as rayon would: in halves, none smaller than the
    /// producer's least length, and none larger than its greatest one unless that is smaller still.
    /// It is cut at multiples of `unit`, except where its greatest length is less than all.
    pub(crate) fn new(len: usize, wanted: usize, unit: usize, producer: P, consumer: C) -> Self {
        let least = producer.min_len().max(1);
        let unit = if producer.max_len() < len { 1 } else { unit };
        let wanted = wanted.min(len.div_ceil(unit));
        let mut this =
            Self { pieces: Vec::with_capacity(wanted), joins: Vec::with_capacity(2 * wanted) };
        this.split(Indexed { len, producer, consumer }, wanted, least, unit);
        this
    }

    fn split(&mut self, piece: Indexed<P, C>, wanted: usize, least: usize, unit: usize) {
        let Indexed { len, producer, consumer } = piece;
        let middle = len / 2 / unit * unit;
        if wanted < 2 || middle < least || consumer.full() {
            self.pieces.push(Indexed { len, producer, consumer });
            self.joins.push(Join::Next);
            return;
        }
        let (left_producer, right_producer) = producer.split_at(middle);
        let (left_consumer, right_consumer, reducer) = consumer.split_at(middle);
        let left = Indexed { len: middle, producer: left_producer, consumer: left_consumer };
        let right =
            Indexed { len: len - middle, producer: right_producer, consumer: right_consumer };
        // Rounded up, so that no piece is longer than the producer's greatest length.
        self.split(left, wanted.div_ceil(2), least, unit);
        self.split(right, wanted.div_ceil(2), least, unit);
        self.joins.push(Join::Reduce(reducer));
    }
}

impl<W, R> Launch<W, R>
where
    W: Piece<Result: Send> + Send,
    R: Reducer<W::Result>,
{
    /// The number of pieces.
    pub(crate) const fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Runs the pieces as a kernel, by `launch`, and joins their results.
    pub(crate) fn run(
        self,
        queue: &Queue,
        launch: LaunchOf<W>,
    ) -> Result<W::Result, Box<Failed<W, R>>> {
        let Self { pieces, joins } = self;
        let count = pieces.len();
        let mut states: Vec<State> = vec![UNTOUCHED; count];
        let mut results: Vec<MaybeUninit<W::Result>> = Vec::with_capacity(count);
        // SAFETY: there is room for so many, and they need not be initialised.
        unsafe { results.set_len(count) };
        let pieces = as_uninit(pieces);
        // A pool's size is how many threads its pipelines may have.
        let threads = device::host_threads(rayon::current_num_threads(), W::IS_ENDLESS);
        let (pieces_at, results_at) = (pieces.as_ptr(), results.as_mut_ptr());
        let states_at = states.as_mut_ptr();
        let outcome = with_host_memory(queue, &mut || {
            let kernel = Pieces::<W> {
                pieces: pieces_at,
                results: results_at,
                states: states_at,
                parts: threads.most.clamp(1, count.max(1)),
            };
            // SAFETY: the kernel, and what it points to, live until the launch is over. Work-items
            // touch their own piece, result and state; pieces may go to other threads, and results
            // may come from there: both are `Send`.
            unsafe { launch(queue, kernel, count, threads) }
        });
        let error = match outcome {
            Ok(()) => {
                // SAFETY: each work-item has run to its end, so each result is there, and each
                // piece was taken.
                let results = unsafe { assume_init(results) };
                // A reducer may panic, and what is left is dropped then.
                return Ok(join(joins, results.into_iter()));
            }
            Err(error) => error,
        };
        // The launch is over, and nobody but this thread looks at the states.
        if states.iter().all(|state| *state == UNTOUCHED) {
            // SAFETY: each piece is where it was.
            let pieces = unsafe { assume_init(pieces) };
            return Err(Box::new(Failed::NotBegun(Self { pieces, joins }, error)));
        }
        for ((piece, result), state) in pieces.into_iter().zip(results).zip(&states) {
            match *state {
                // SAFETY: the piece is where it was.
                UNTOUCHED => drop(unsafe { piece.assume_init() }),
                // SAFETY: the result is there.
                DONE => drop(unsafe { result.assume_init() }),
                // The work-item that panicked has dropped what it had, where it unwinds. On a device
                // nothing of it is dropped.
                _ => {}
            }
        }
        Err(Box::new(Failed::Within(error)))
    }

    /// Has `run` make a result of each piece, and joins the results.
    pub(crate) fn join_with(self, run: impl FnOnce(Vec<W>) -> Vec<W::Result>) -> W::Result {
        join(self.joins, run(self.pieces).into_iter())
    }
}

/// Values that may be taken out one by one.
fn as_uninit<T>(values: Vec<T>) -> Vec<MaybeUninit<T>> {
    let mut values = ManuallyDrop::new(values);
    // SAFETY: the vector's own block, which it no longer frees, and its values under a type of the
    // same layout.
    unsafe { Vec::from_raw_parts(values.as_mut_ptr().cast(), values.len(), values.capacity()) }
}

/// The reverse.
///
/// # Safety
/// All values are there.
unsafe fn assume_init<T>(values: Vec<MaybeUninit<T>>) -> Vec<T> {
    let mut values = ManuallyDrop::new(values);
    // SAFETY: as above; the caller says that the values are there.
    unsafe { Vec::from_raw_parts(values.as_mut_ptr().cast(), values.len(), values.capacity()) }
}

/// Joins results, in the order in which they are there.
fn join<R: Reducer<T>, T>(joins: Vec<Join<R>>, mut results: impl Iterator<Item = T>) -> T {
    let mut stack: Vec<T> = Vec::new();
    for step in joins {
        let joined = match step {
            Join::Next => results.next(),
            Join::Reduce(reducer) => stack.pop().and_then(|right| {
                let left = stack.pop()?;
                Some(reducer.reduce(left, right))
            }),
        };
        stack.extend(joined);
    }
    stack.pop().expect("a piece for each step, and at least one")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Text;

    impl Reducer<String> for Text {
        fn reduce(self, left: String, right: String) -> String {
            format!("({left} {right})")
        }
    }

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

    #[test]
    fn results_are_joined_in_order() {
        let joins = vec![
            Join::Next,
            Join::Next,
            Join::Reduce(Text),
            Join::Next,
            Join::Next,
            Join::Reduce(Text),
            Join::Reduce(Text),
        ];
        let results = ["a", "b", "c", "d"].map(str::to_owned);
        assert_eq!(join(joins, results.into_iter()), "((a b) (c d))");
        assert_eq!(join(vec![Join::<Text>::Next], std::iter::once("a".to_owned())), "a");
    }
}
