//! Pipelines on devices with many work-items: each work-item cuts its own pieces out.
//!
//! The kernel has the bytes of the producer and of the consumer. A work-item copies them, splits
//! its piece off on both sides, forgets the rest, and folds the piece. So the host does nothing for
//! a piece, and there can be as many as there are items.
//!
//! [`Fold`] has a work-item for each item where there are no results. Otherwise it runs in groups:
//! each sub-group has a part of the pieces, all next to each other. Its lanes fold neighbouring
//! pieces, join the results in rayon's order, and take the next ones. A group has one result in the
//! end (`group.rs`), and the host joins those.
//!
//! [`Sums`] is for sums and products of numbers, where order does not matter: each lane has sums of
//! its own, and neighbouring lanes take neighbouring items, so that a GPU reads whole cache lines.
//!
//! [`Collect`] is for pipelines that collect all items: a work-item for each, and no results
//! (`collected.rs`).
//!
//! This is for producers and consumers that drop nothing, and that are rayon's own: copies of these
//! may be split side by side, since the parts have nothing in common. The compiler makes no kernels
//! of others in this module, which it knows by its name, and of each pipeline one of the three.

use std::array;
use std::mem::{ManuallyDrop, MaybeUninit, forget, needs_drop};

use rayon::iter::plumbing::{Consumer, Folder, Producer, Reducer};
use schism::__private::{Kernel, concurrency, descriptor, run_in_groups, run_unchecked};
use schism::{Item, LaunchError, Queue};

use crate::captures::{self, Captures, Copy};
use crate::collected::Collected;
use crate::each::{Items, OfItems};
use crate::group::{self, LANES, Member, Panicked};
use crate::pieces::fold;
use crate::results::Results;

/// From so many items on, pieces have more than one: 2 to this power.
const FEW: u32 = 18;

/// The most items of a piece, unless the pipeline asks for more. Adjacent work-items should find
/// their items in the same lines of the cache.
const MOST: usize = 8;

/// For so many bytes of a result a piece has one more item: large results take long to join.
const BYTES_PER_ITEM: usize = 32;

/// Large results or not, there are so many pieces if there are as many items: 2 to this power.
const PIECES: u32 = 13;

/// Sums of a lane. Their items are loaded side by side.
const SUMS: usize = 4;

/// There are more groups than run at a time only if each lane has so many pieces. They even out
/// what takes some longer than others.
const ENOUGH: usize = 16;

/// So many times the groups that run at a time, at most.
const WAVES: usize = 4;

/// A device is taken to run so many work-items at least.
const LEAST: usize = 4096;

/// Whether copies of a producer and a consumer may be forgotten, and groups have room for results.
pub(crate) const fn may_copy<P, C>() -> bool
where
    P: Producer,
    C: Consumer<P::Item>,
{
    !needs_drop::<P>() && !needs_drop::<C>() && group::has_room_for::<C::Result>()
}

/// A pipeline, as bytes.
struct Copied<P, C> {
    producer: MaybeUninit<P>,
    consumer: MaybeUninit<C>,
    len: usize,
    /// Items of a piece. The last one may be shorter.
    piece: usize,
    /// Pieces of a sub-group, or of a work-item if there are no results.
    part: usize,
}

/// Declares the pipeline of a kernel, with copies in the place of what it refers to. Each copy is a
/// separate variable: together they could not become registers.
macro_rules! rebound {
    ($pipeline:ident, $kernel:expr) => {
        let (mut a, mut b) = (Copy::uninit(), Copy::uninit());
        let (mut c, mut d) = (Copy::uninit(), Copy::uninit());
        let (mut e, mut f) = (Copy::uninit(), Copy::uninit());
        let (mut g, mut h) = (Copy::uninit(), Copy::uninit());
        let copies = [
            &raw mut a, &raw mut b, &raw mut c, &raw mut d, &raw mut e, &raw mut f, &raw mut g,
            &raw mut h,
        ];
        // SAFETY: the launch has gathered them from this pipeline. The variables live as long as
        // what refers to them.
        let $pipeline = unsafe { $kernel.pipeline.rebound(&$kernel.captures, copies) };
    };
}

impl<P, C> Copied<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    /// # Safety
    /// Producer and consumer are not used while the copy is, and drop nothing.
    unsafe fn of(producer: &P, consumer: &C, len: usize, shape: Shape) -> Self {
        // SAFETY: bytes of a value may be copied; what may be done with them is up to the caller.
        unsafe {
            Self {
                producer: std::ptr::from_ref(producer).cast::<MaybeUninit<P>>().read(),
                consumer: std::ptr::from_ref(consumer).cast::<MaybeUninit<C>>().read(),
                len,
                piece: shape.piece,
                part: shape.part,
            }
        }
    }

    /// The same with copies in the place of what it refers to.
    ///
    /// # Safety
    /// As for [`captures::rebind`].
    #[inline(always)]
    unsafe fn rebound(&self, captures: &Captures, copies: [*mut Copy; captures::MOST]) -> Self {
        let &Self { len, piece, part, .. } = self;
        // SAFETY: bytes of values may be copied; as for the rest, the caller's promise.
        unsafe {
            let mut producer = std::ptr::from_ref(&self.producer).read();
            let mut consumer = std::ptr::from_ref(&self.consumer).read();
            let captures = std::ptr::from_ref(captures).cast();
            captures::rebind(captures, producer.as_mut_ptr(), consumer.as_mut_ptr(), copies);
            Self { producer, consumer, len, piece, part }
        }
    }

    /// Copies of what it refers to.
    fn captures(&self, queue: &Queue) -> Captures {
        // SAFETY: both have the bytes of values that are borrowed for the launch.
        unsafe { Captures::gather(queue, self.producer.as_ptr(), self.consumer.as_ptr()) }
    }

    /// The number of pieces.
    #[inline(always)]
    fn pieces(&self) -> usize {
        self.len.div_ceil(self.piece)
    }

    /// Pieces of a group.
    #[inline(always)]
    fn part_of_group(&self) -> usize {
        self.part.wrapping_mul(const { group::size_for::<C::Result>() / LANES })
    }

    /// Some neighbouring items.
    ///
    /// # Safety
    /// They are there, and nothing else takes them.
    #[inline(always)]
    unsafe fn row(&self, begin: usize, count: usize) -> Items<P> {
        // SAFETY: as in `fold`.
        let producer = unsafe { self.producer.assume_init_read() };
        let (before, producer) = producer.split_at(begin);
        let (producer, after) = producer.split_at(count);
        forget((before, after));
        Items(ManuallyDrop::new(producer))
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
        // SAFETY: the caller's promise.
        unsafe { self.fold_items(self.begin(piece), self.begin(piece.wrapping_add(1))) }
    }

    /// Folds a piece of a pipeline without results. Unless the producer asks for longer ones, it is
    /// an item, which the compiler mostly sees by the type.
    ///
    /// # Safety
    /// As for [`fold`](Self::fold).
    #[inline(always)]
    unsafe fn fold_alone(&self, piece: usize) -> C::Result {
        // SAFETY: the producer's bytes; it is only asked.
        let least = unsafe { self.producer.assume_init_ref() }.min_len();
        // SAFETY: the caller's promise.
        unsafe {
            if least <= 1 {
                self.fold_items(piece, piece.wrapping_add(1))
            } else {
                self.fold(piece)
            }
        }
    }

    /// Folds some items.
    ///
    /// # Safety
    /// They are there, and each is folded once.
    #[inline(always)]
    unsafe fn fold_items(&self, begin: usize, end: usize) -> C::Result {
        // SAFETY: bytes of a value of this type; of what it stands for, this piece alone is used.
        let producer = unsafe { self.producer.assume_init_read() };
        let (before, producer) = producer.split_at(begin);
        let (producer, after) = producer.split_at(end.wrapping_sub(begin));
        forget((before, after));
        fold(producer, self.consumer(begin, end))
    }

    /// The consumer of some items.
    #[inline(always)]
    fn consumer(&self, begin: usize, end: usize) -> C {
        // SAFETY: as in `fold`. Where it is not for one piece, it is only split.
        let consumer = unsafe { self.consumer.assume_init_read() };
        let (before, consumer, first) = consumer.split_at(begin);
        let (consumer, after, second) = consumer.split_at(end.wrapping_sub(begin));
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
        let (begin, middle, end) = (self.begin(begin), self.begin(middle), self.begin(end));
        let (before, after, reducer) = self.consumer(begin, end).split_at(middle - begin);
        forget((before, after));
        reducer.reduce(left, right)
    }
}

/// The kernel for all pipelines: a work-item for each piece, or groups that have a result.
pub struct Fold<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    pipeline: Copied<P, C>,
    captures: Captures,
    results: *mut MaybeUninit<C::Result>,
}

impl<P, C> Kernel<1> for Fold<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        if const { has_results::<P, C>() } {
            // A panic ends the launch, whichever work-item has seen it.
            let _ = self.run_in_group(item);
        } else {
            rebound!(pipeline, self);
            // SAFETY: a launch has as many work-items as there are pieces. The result has no bytes,
            // and is taken by the host.
            unsafe { forget(pipeline.fold_alone(item.x())) };
        }
    }
}

impl<P, C> Fold<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    #[inline(always)]
    fn run_in_group(&self, item: Item<1>) -> Result<(), Panicked> {
        rebound!(pipeline, self);
        // SAFETY: a launch of a pipeline with results is one of such groups.
        let member = unsafe { Member::<C::Result>::new(item) };
        let pieces = pipeline.pieces();
        let begin = member.sub_group().wrapping_mul(pipeline.part).min(pieces);
        let end = begin.wrapping_add(pipeline.part).min(pieces);
        let mut joined = None;
        let mut row = begin;
        while row < end {
            let count = (end - row).min(LANES);
            let piece = row.wrapping_add(member.lane());
            // SAFETY: no other sub-group has this piece, and no other lane.
            let own = (piece < end).then(|| unsafe { pipeline.fold(piece) });
            let of_row = member.join_lanes(own, count, |left, right, own, other| {
                let to = right.wrapping_add(right.wrapping_sub(left)).min(count);
                pipeline.join([row + left, row + right, row + to], own, other)
            })?;
            if let Some(right) = of_row {
                joined = Some(match joined {
                    Some(left) => pipeline.join([begin, row, row + count], left, right),
                    None => right,
                });
            }
            row = row.wrapping_add(LANES);
        }
        let first = member.group().wrapping_mul(pipeline.part_of_group());
        let join = |number: usize, left, right| {
            let middle = first.wrapping_add(number.wrapping_mul(pipeline.part));
            let at = [first, middle, middle.wrapping_add(pipeline.part).min(pieces)];
            pipeline.join(at, left, right)
        };
        // SAFETY: there is room for one of each group.
        unsafe { member.give(joined, join, self.results) }
    }
}

/// The kernel for sums and products of numbers, in groups.
pub struct Sums<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    pipeline: Copied<P, C>,
    captures: Captures,
    results: *mut MaybeUninit<C::Result>,
}

impl<P, C> Kernel<1> for Sums<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        // A panic ends the launch, whichever work-item has seen it.
        let _ = self.run_in_group(item);
    }
}

impl<P, C> Sums<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    #[inline(always)]
    fn run_in_group(&self, item: Item<1>) -> Result<(), Panicked> {
        rebound!(pipeline, self);
        // SAFETY: as in `Fold`.
        let member = unsafe { Member::<C::Result>::new(item) };
        // Pieces are items here.
        let begin = member.sub_group().wrapping_mul(pipeline.part).min(pipeline.len);
        let end = begin.wrapping_add(pipeline.part).min(pipeline.len);
        // SAFETY: as in `Copied::fold`; the compiler makes no such kernel but of consumers whose
        // results are numbers.
        let consumer = unsafe { pipeline.consumer.assume_init_read() };
        let consumer = OfItems::new(consumer);
        let join = |left, right| consumer.reducer().reduce(left, right);
        let mut sums: [C::Result; SUMS] = array::from_fn(|_| consumer.folder().complete());
        let mut add = |row: &Items<P>, number: usize, index: usize| {
            // SAFETY: the lane's own item of the row, which is in it, once.
            if let Some(item) = unsafe { row.take(index) } {
                let own = consumer.folder().consume(item).complete();
                let sum = &raw mut sums[number];
                // SAFETY: the sum is there, and is there again right away: a panic ends the
                // work-item, and numbers drop nothing.
                unsafe { sum.write(join(sum.read(), own)) };
            }
        };
        let mut row = begin;
        while end - row >= LANES * SUMS {
            // SAFETY: the sub-group's own items.
            let items = unsafe { pipeline.row(row, LANES * SUMS) };
            let mut number = 0;
            while number < SUMS {
                schism::unroll_full();
                add(&items, number, number * LANES + member.lane());
                number += 1;
            }
            row = row.wrapping_add(LANES * SUMS);
        }
        while row < end {
            let count = (end - row).min(LANES);
            // SAFETY: as above.
            let items = unsafe { pipeline.row(row, count) };
            if member.lane() < count {
                add(&items, 0, member.lane());
            }
            row = row.wrapping_add(LANES);
        }
        let [mut sum, rest @ ..] = sums;
        for other in rest {
            sum = join(sum, other);
        }
        let sum = member.join_lanes(Some(sum), LANES, |_, _, left, right| join(left, right))?;
        // SAFETY: as in `Fold`.
        unsafe { member.give(sum, |_, left, right| join(left, right), self.results) }
    }
}

/// The kernel for pipelines that collect all items: a work-item for each piece.
pub struct Collect<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    pipeline: Copied<P, C>,
    captures: Captures,
}

impl<P, C> Kernel<1> for Collect<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        rebound!(pipeline, self);
        // SAFETY: a launch has as many work-items as there are pieces. The items are in their
        // places, and the host makes the result that owns them.
        unsafe { forget(pipeline.fold_alone(item.x())) };
    }
}

/// Whether the results of a pipeline have bytes: then its kernel runs in groups.
pub(crate) const fn has_results<P, C>() -> bool
where
    P: Producer,
    C: Consumer<P::Item>,
{
    size_of::<C::Result>() != 0
}

/// The kernels of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Fold,
    Sums,
    Collect,
}

impl Form {
    /// That of the kernel that a pipeline has; `None` if it has none.
    pub(crate) fn find<P, C>() -> Option<Self>
    where
        P: Producer,
        C: Consumer<P::Item>,
    {
        if !descriptor::<Sums<P, C>, 1>().is_null() {
            Some(Self::Sums)
        } else if !descriptor::<Collect<P, C>, 1>().is_null() {
            Some(Self::Collect)
        } else {
            (!descriptor::<Fold<P, C>, 1>().is_null()).then_some(Self::Fold)
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

/// How a pipeline is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    /// Items of a piece.
    piece: usize,
    /// Pieces of a sub-group.
    part: usize,
    /// Groups, or work-items if there are no results.
    count: usize,
}

impl Shape {
    /// One work-item for each piece.
    fn without_groups(len: usize, piece: usize) -> Self {
        Self { piece, part: 1, count: len.div_ceil(piece) }
    }

    /// Groups of `sub_groups` sub-groups each, on a device that runs so many work-items at a time.
    fn in_groups(len: usize, piece: usize, sub_groups: usize, concurrency: usize) -> Self {
        let pieces = len.div_ceil(piece);
        let concurrency = concurrency.max(LEAST);
        let waves = (pieces / concurrency / ENOUGH).clamp(1, WAVES);
        let most = concurrency * waves / LANES;
        let rows = pieces.div_ceil(LANES);
        let part = rows.div_ceil(most).max(1) * LANES;
        Self { piece, part, count: pieces.div_ceil(part).div_ceil(sub_groups) }
    }
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
    output: Output<C::Result>,
    shape: Shape,
}

/// What a pipeline leaves.
enum Output<R> {
    /// Without results.
    Each,
    /// Without results, but there is one of the whole.
    Collect(Collected),
    /// In groups, with room for the result of each.
    Fold(Results<R>),
    Sums(Results<R>),
}

impl<'a, P, C> Launch<'a, P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    /// Makes room for all results: the device sees only what is there when the launch begins.
    /// `None` if the results are not what this module knows.
    pub(crate) fn new(
        queue: &Queue,
        form: Form,
        len: usize,
        producer: &'a P,
        consumer: &'a C,
    ) -> Option<Self> {
        let limits = (producer.min_len(), producer.max_len());
        let in_groups = |piece: usize| {
            let sub_groups = const { group::size_for::<C::Result>() / LANES };
            Shape::in_groups(len, piece, sub_groups, concurrency(queue))
        };
        let (output, shape) = match form {
            Form::Collect => {
                // SAFETY: the bytes of a consumer that drops nothing. The compiler makes no such
                // kernel of other consumers.
                let copy = unsafe { std::ptr::from_ref(consumer).read() };
                // SAFETY: as above.
                let collected = unsafe { Collected::find(copy, len)? };
                (Output::Collect(collected), Shape::without_groups(len, piece(len, 0, limits)))
            }
            Form::Fold if const { !has_results::<P, C>() } => {
                (Output::Each, Shape::without_groups(len, piece(len, 0, limits)))
            }
            Form::Fold => {
                let shape = in_groups(piece(len, size_of::<C::Result>(), limits));
                (Output::Fold(Results::new(shape.count)), shape)
            }
            Form::Sums => {
                let shape = in_groups(1);
                (Output::Sums(Results::new(shape.count)), shape)
            }
        };
        Some(Self { producer, consumer, len, output, shape })
    }

    /// The number of pieces.
    pub(crate) const fn pieces(&self) -> usize {
        self.len.div_ceil(self.shape.piece)
    }

    fn pipeline(&self) -> Copied<P, C> {
        // SAFETY: the caller waits, and neither drops anything.
        unsafe { Copied::of(self.producer, self.consumer, self.len, self.shape) }
    }

    /// Runs the pipeline as a kernel.
    ///
    /// # Errors
    /// [`Failed`]. Unless that says otherwise, producer and consumer are used up.
    pub(crate) fn run(&mut self, queue: &Queue) -> Result<C::Result, Failed> {
        let (pipeline, shape) = (self.pipeline(), self.shape);
        let captures = pipeline.captures(queue);
        // SAFETY: kernel and results live until the launch is over; the rest is borrowed by the
        // pipeline. Work-items have separate pieces, which may move to other threads.
        let launched = unsafe {
            match &mut self.output {
                Output::Each => {
                    // Nothing of the results is written.
                    let results = std::ptr::dangling_mut();
                    run_unchecked(queue, &Fold { pipeline, captures, results }, shape.count)
                }
                Output::Collect(_) => {
                    run_unchecked(queue, &Collect { pipeline, captures }, shape.count)
                }
                Output::Fold(results) => {
                    let results = results.as_mut_ptr();
                    launch_groups::<_, C::Result>(
                        queue,
                        &Fold { pipeline, captures, results },
                        shape,
                    )
                }
                Output::Sums(results) => {
                    let results = results.as_mut_ptr();
                    launch_groups::<_, C::Result>(
                        queue,
                        &Sums { pipeline, captures, results },
                        shape,
                    )
                }
            }
        };
        launched.map_err(|error| {
            if has_not_begun(&error) { Failed::NotBegun(error) } else { Failed::Within(error) }
        })?;
        let pipeline = self.pipeline();
        match &mut self.output {
            Output::Each => {
                // SAFETY: it has no bytes, and stands for those of all work-items.
                Ok(unsafe { std::ptr::dangling::<C::Result>().read() })
            }
            Output::Collect(collected) => {
                // SAFETY: it was found for this consumer, and all work-items have written theirs.
                Ok(unsafe { collected.result(pipeline.consumer(0, self.len)) })
            }
            Output::Fold(results) | Output::Sums(results) => {
                // SAFETY: each group has written its own.
                let mut rest = unsafe { results.take() };
                let mut joined = rest.next().expect("a pipeline with items has a group");
                let (of_group, pieces) = (pipeline.part_of_group(), pipeline.pieces());
                let begin = |group: usize| (group * of_group).min(pieces);
                for (number, right) in rest.enumerate() {
                    let at = [0, begin(number + 1), begin(number + 2)];
                    joined = pipeline.join(at, joined, right);
                }
                Ok(joined)
            }
        }
    }
}

/// Launches groups with results of type `R`.
///
/// # Errors
/// [`LaunchError`].
///
/// # Safety
/// As for [`run_in_groups`].
unsafe fn launch_groups<K: Kernel<1>, R>(
    queue: &Queue,
    kernel: &K,
    shape: Shape,
) -> Result<(), LaunchError> {
    let local = const { group::size_for::<R>() };
    let memory = const { group::memory_for::<R>() };
    // SAFETY: the caller's promises.
    unsafe { run_in_groups(queue, kernel, (shape.count, local), memory) }
}

/// Items of a piece whose result has so many bytes.
fn piece(len: usize, result: usize, (least, most): (usize, usize)) -> usize {
    let wanted = match result {
        0 => 1,
        _ => (len >> FEW).clamp(1, MOST).max((result / BYTES_PER_ITEM).min(len >> PIECES)),
    };
    wanted.min(most).max(least).clamp(1, len.max(1))
}

/// Whether nothing of a launch has run.
fn has_not_begun(error: &LaunchError) -> bool {
    !matches!(
        error,
        LaunchError::Panicked(_) | LaunchError::DeviceLost { .. } | LaunchError::Driver { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_with_large_results_are_larger() {
        let none = (1, usize::MAX);
        let of = |len, result| piece(len, result, none);
        assert_eq!([of(1 << 26, 0), of(1 << 17, 8), of(1 << 20, 8), of(1 << 26, 8)], [1, 1, 4, 8]);
        assert_eq!([of(400_000, 512), of(1 << 26, 1024), of(9_000, 1024)], [16, 32, 1]);
        assert_eq!(
            [piece(100, 8, (7, 50)), piece(5, 8, (7, 50)), piece(100, 8, (1, 0))],
            [7, 5, 1]
        );
    }

    #[test]
    fn groups_have_all_pieces_once() {
        for len in [1, 2, 31, 32, 33, 255, 256, 257, 100_003, 1 << 20, (1 << 26) + 5] {
            for (piece, sub_groups, concurrency) in [(1, 8, 2), (8, 8, 1 << 18), (3, 1, 1000)] {
                let shape = Shape::in_groups(len, piece, sub_groups, concurrency);
                let pieces = len.div_ceil(piece);
                let of_group = shape.part * sub_groups;
                assert!(shape.count * of_group >= pieces, "{len} {shape:?}");
                assert!((shape.count - 1) * of_group < pieces, "{len} {shape:?}");
                assert_eq!(shape.part % LANES, 0);
                assert!(shape.count <= concurrency.max(LEAST) * WAVES / LANES + 1);
            }
        }
    }
}
