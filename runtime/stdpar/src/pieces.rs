//! A pipeline cut into pieces, and the kernel that runs them.

use std::mem::MaybeUninit;
use std::ops::Range;
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

    /// Whether it may have no end, and run until another piece of the pipeline has found
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

// SAFETY: each piece goes to one thread, which has its result and its state for itself.
unsafe impl<W: Piece<Result: Send> + Send> Sync for Pieces<W> {}

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
        // SAFETY: a launch has as many work-items as there are pieces, and each runs its own.
        unsafe { self.run_piece(index, run) };
    }

    /// # Safety
    /// There is such a piece, and it has not run.
    #[inline(always)]
    unsafe fn run_piece(&self, index: usize, run: impl FnOnce(W) -> W::Result) {
        // SAFETY: there are as many results and states as pieces, and what belongs to this one is used
        // by nothing else. The piece is there, and is not taken again: the state says so before
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
/// What the kernel points to lives until the launch is over, and is used by nothing else. There are
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
enum Join<R> {
    /// The next piece's result.
    Next,
    /// The last two.
    Reduce(R),
}

/// A pipeline that is to be a launch. What is left of it is dropped with it.
pub(crate) struct Launch<W: Piece, R> {
    /// One is there while its state is [`UNTOUCHED`].
    pieces: Vec<MaybeUninit<W>>,
    /// One is there while its state is [`DONE`]. There is none before the pieces run.
    results: Vec<MaybeUninit<W::Result>>,
    /// One for each piece.
    states: Vec<State>,
    joins: Vec<Join<R>>,
}

/// Why there is no result.
pub(crate) enum Failed<W: Piece, R> {
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
        let mut this = Self::with_room_for(wanted);
        this.split(Indexed { len, producer, consumer }, wanted, least, unit);
        this
    }

    fn split(&mut self, piece: Indexed<P, C>, wanted: usize, least: usize, unit: usize) {
        let Indexed { len, producer, consumer } = piece;
        let middle = len / 2 / unit * unit;
        if wanted < 2 || middle < least || consumer.full() {
            return self.push(Indexed { len, producer, consumer });
        }
        let (left_producer, right_producer) = producer.split_at(middle);
        let (left_consumer, right_consumer, reducer) = consumer.split_at(middle);
        let left = Indexed { len: middle, producer: left_producer, consumer: left_consumer };
        let right =
            Indexed { len: len - middle, producer: right_producer, consumer: right_consumer };
        // Rounded up, so that no piece is longer than the producer's greatest length.
        self.split(left, wanted.div_ceil(2), least, unit);
        self.split(right, wanted.div_ceil(2), least, unit);
        self.push_reducer(reducer);
    }
}

impl<W: Piece, R> Launch<W, R> {
    /// One without pieces.
    pub(crate) fn with_room_for(pieces: usize) -> Self {
        Self {
            pieces: Vec::with_capacity(pieces),
            results: Vec::new(),
            states: Vec::with_capacity(pieces),
            joins: Vec::with_capacity(2 * pieces),
        }
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: W) {
        self.joins.push(Join::Next);
        self.pieces.push(MaybeUninit::new(piece));
        self.states.push(UNTOUCHED);
    }

    /// Has the last two results joined.
    pub(crate) fn push_reducer(&mut self, reducer: R) {
        self.joins.push(Join::Reduce(reducer));
    }

    /// The kernel that runs the pieces, whose work-items begin in so many parts of them. It is for one
    /// launch, while `self` stays where it is.
    fn kernel(&mut self, parts: usize) -> Pieces<W> {
        let count = self.pieces.len();
        self.results.reserve_exact(count);
        // SAFETY: there is room for so many, and they need not be initialised.
        unsafe { self.results.set_len(count) };
        Pieces {
            pieces: self.pieces.as_ptr(),
            results: self.results.as_mut_ptr(),
            states: self.states.as_mut_ptr(),
            parts: parts.clamp(1, count.max(1)),
        }
    }
}

impl<W: Piece, R> Drop for Launch<W, R> {
    fn drop(&mut self) {
        for (index, state) in self.states.iter().enumerate() {
            match *state {
                // SAFETY: the piece is where it was.
                UNTOUCHED => unsafe { self.pieces[index].assume_init_drop() },
                // SAFETY: the result is there.
                DONE => unsafe { self.results[index].assume_init_drop() },
                // The work-item that panicked has dropped what it had, where it unwinds. On a device
                // nothing of it is dropped.
                _ => {}
            }
        }
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
        mut self,
        queue: &Queue,
        launch: LaunchOf<W>,
    ) -> Result<W::Result, Box<Failed<W, R>>> {
        // A pool's size is how many threads its pipelines may have.
        let threads = device::host_threads(rayon::current_num_threads(), W::IS_ENDLESS);
        let count = self.pieces.len();
        let outcome = with_host_memory(queue, &mut || {
            // SAFETY: the kernel, and what it points to, live until the launch is over. Work-items
            // touch their own piece, result and state; pieces may go to other threads, and results
            // may come from there: both are `Send`.
            unsafe { launch(queue, self.kernel(threads.most), count, threads) }
        });
        match outcome {
            Ok(()) => Ok(self.joined()),
            // The launch is over, and only this thread reads the states.
            Err(error) if self.states.iter().all(|state| *state == UNTOUCHED) => {
                Err(Box::new(Failed::NotBegun(self, error)))
            }
            Err(error) => Err(Box::new(Failed::Within(error))),
        }
    }

    /// Has `each` call a function once for each number of a range, runs the piece of that number by
    /// `run` there, and joins the results.
    pub(crate) fn run_by(
        mut self,
        each: fn(Range<usize>, &(dyn Fn(usize) + Sync)),
        run: impl Fn(W) -> W::Result + Sync,
    ) -> W::Result {
        let kernel = self.kernel(1);
        // SAFETY: each piece runs once, and what the kernel points to stays where it is meanwhile.
        each(0..self.pieces.len(), &|index| unsafe { kernel.run_piece(index, &run) });
        self.joined()
    }

    /// Joins the results. A reducer may panic, and what is left is dropped then.
    fn joined(mut self) -> W::Result {
        let mut stack: Vec<W::Result> = Vec::new();
        let mut next = 0;
        for step in std::mem::take(&mut self.joins) {
            let joined = match step {
                Join::Next => {
                    assert!(self.states[next] == DONE, "each piece has run to its end");
                    self.states[next] = TAKEN;
                    // SAFETY: the state was that of a result that is there, and is so no longer.
                    let result = unsafe { self.results[next].assume_init_read() };
                    next += 1;
                    Some(result)
                }
                Join::Reduce(reducer) => stack.pop().and_then(|right| {
                    let left = stack.pop()?;
                    Some(reducer.reduce(left, right))
                }),
            };
            stack.extend(joined);
        }
        stack.pop().expect("a piece for each step, and at least one")
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;

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

    impl Piece for &'static str {
        type Result = String;

        const IS_ENDLESS: bool = false;

        fn run(self) -> String {
            self.to_owned()
        }
    }

    #[test]
    fn results_are_joined_in_order() {
        let in_order: fn(Range<usize>, &(dyn Fn(usize) + Sync)) =
            |numbers, run| numbers.for_each(run);
        let mut launch = Launch::with_room_for(4);
        for pair in [["a", "b"], ["c", "d"]] {
            pair.into_iter().for_each(|name| launch.push(name));
            launch.push_reducer(Text);
        }
        launch.push_reducer(Text);
        assert_eq!(launch.run_by(in_order, Piece::run), "((a b) (c d))");
        let mut launch = Launch::<_, Text>::with_room_for(0);
        launch.push("a");
        assert_eq!(launch.run_by(in_order, Piece::run), "a");
    }

    #[test]
    fn what_is_left_is_dropped_once() {
        struct Counted(Arc<()>);

        impl Piece for Counted {
            type Result = Arc<()>;

            const IS_ENDLESS: bool = false;

            fn run(self) -> Arc<()> {
                self.0
            }
        }

        struct Panics;

        impl Reducer<Arc<()>> for Panics {
            fn reduce(self, _: Arc<()>, _: Arc<()>) -> Arc<()> {
                panic!("it is to be caught")
            }
        }

        let count = Arc::new(());
        let launch = || {
            let mut launch = Launch::with_room_for(4);
            (0..4).for_each(|_| launch.push(Counted(Arc::clone(&count))));
            launch.push_reducer(Panics);
            launch
        };
        drop(launch());
        assert_eq!(Arc::strong_count(&count), 1);
        let in_part = |until: usize| {
            let run = AssertUnwindSafe(|| {
                launch().run_by(
                    |numbers, run| numbers.for_each(run),
                    |piece| {
                        assert!(Arc::strong_count(&count) > until, "it is to be caught");
                        piece.run()
                    },
                )
            });
            catch_unwind(run).expect_err("it panics");
            assert_eq!(Arc::strong_count(&count), 1);
        };
        // In the third reducer's place, and in a piece.
        in_part(0);
        in_part(5);
    }
}
