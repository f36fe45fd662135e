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
//! [`Rows`] is for few items without results, such as rows of a matrix: a group for each, whose lanes
//! share out the loops of the item where stage 2 finds some that they can.
//!
//! This is for producers and consumers that drop nothing, and that are rayon's own: copies of these
//! may be split side by side, since the parts have nothing in common. The compiler makes no kernels
//! of others in this module, which it knows by its name, and of each pipeline one of the first three.

use std::array;
use std::mem::{ManuallyDrop, MaybeUninit, forget, needs_drop, offset_of};

use rayon::iter::plumbing::{Consumer, Folder, Producer, Reducer};
use schism::__private::{ErasedKernel, Kernel, KernelType, row_of_group};
use schism::Item;

use crate::captures::{self, Captures, Copy};
use crate::each::{Items, OfItems};
use crate::group::{self, LANES, Member, Panicked};
use crate::pieces::{Indexed, fold};

/// Sums of a lane. Their items are loaded side by side.
const SUMS: usize = 4;

/// Whether copies of a producer and a consumer may be forgotten, and groups have room for results.
const fn may_copy<P, C>() -> bool
where
    P: Producer,
    C: Consumer<P::Item>,
{
    !needs_drop::<P>() && !needs_drop::<C>() && group::has_room_for::<C::Result>()
}

/// How a pipeline is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) len: usize,
    /// Items of a piece. The last one may be shorter.
    pub(crate) piece: usize,
    /// Pieces of a sub-group, or of a work-item if there are no results.
    pub(crate) part: usize,
}

impl Parts {
    /// The number of pieces.
    #[inline(always)]
    pub(crate) fn pieces(self) -> usize {
        self.len.div_ceil(self.piece)
    }

    /// Where a piece begins.
    #[inline(always)]
    fn begin(self, piece: usize) -> usize {
        piece.saturating_mul(self.piece).min(self.len)
    }
}

/// A pipeline, as bytes.
struct Copied<P, C> {
    producer: MaybeUninit<P>,
    consumer: MaybeUninit<C>,
    parts: Parts,
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
        let $pipeline = unsafe { $kernel.0.pipeline.rebound(&$kernel.0.captures, copies) };
    };
}

impl<P, C> Copied<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    /// The same with copies in the place of what it refers to.
    ///
    /// # Safety
    /// As for [`captures::rebind`].
    #[inline(always)]
    unsafe fn rebound(&self, captures: &Captures, copies: [*mut Copy; captures::MOST]) -> Self {
        // SAFETY: bytes of values may be copied; as for the rest, the caller's promise.
        unsafe {
            let mut producer = std::ptr::from_ref(&self.producer).read();
            let mut consumer = std::ptr::from_ref(&self.consumer).read();
            let captures = std::ptr::from_ref(captures).cast();
            captures::rebind(captures, producer.as_mut_ptr(), consumer.as_mut_ptr(), copies);
            Self { producer, consumer, parts: self.parts }
        }
    }

    /// Pieces of a group.
    #[inline(always)]
    fn part_of_group(&self) -> usize {
        self.parts.part.wrapping_mul(const { group::size_for::<C::Result>() / LANES })
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

    /// Folds a piece.
    ///
    /// # Safety
    /// Each piece is folded once.
    #[inline(always)]
    unsafe fn fold(&self, piece: usize) -> C::Result {
        // SAFETY: the caller's promise.
        unsafe { self.fold_items(self.parts.begin(piece), self.parts.begin(piece.wrapping_add(1))) }
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
        let parts = self.parts;
        let (begin, middle, end) = (parts.begin(begin), parts.begin(middle), parts.begin(end));
        let (before, after, reducer) = self.consumer(begin, end).split_at(middle - begin);
        forget((before, after));
        reducer.reduce(left, right)
    }
}

/// What a kernel needs. The host writes it without knowing the types.
#[repr(C)]
struct Data<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    captures: Captures,
    /// Where groups have their results.
    results: *mut MaybeUninit<C::Result>,
    pipeline: Copied<P, C>,
}

/// The kernel for all pipelines: a work-item for each piece, or groups that have a result.
#[repr(transparent)]
pub struct Fold<P, C>(Data<P, C>)
where
    P: Producer,
    C: Consumer<P::Item>;

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
        let pieces = pipeline.parts.pieces();
        let begin = member.sub_group().wrapping_mul(pipeline.parts.part).min(pieces);
        let end = begin.wrapping_add(pipeline.parts.part).min(pieces);
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
            let middle = first.wrapping_add(number.wrapping_mul(pipeline.parts.part));
            let at = [first, middle, middle.wrapping_add(pipeline.parts.part).min(pieces)];
            pipeline.join(at, left, right)
        };
        // SAFETY: there is room for one of each group.
        unsafe { member.give(joined, join, self.0.results) }
    }
}

/// The kernel for sums and products of numbers, in groups.
#[repr(transparent)]
pub struct Sums<P, C>(Data<P, C>)
where
    P: Producer,
    C: Consumer<P::Item>;

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
        let begin = member.sub_group().wrapping_mul(pipeline.parts.part).min(pipeline.parts.len);
        let end = begin.wrapping_add(pipeline.parts.part).min(pipeline.parts.len);
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
        unsafe { member.give(sum, |_, left, right| join(left, right), self.0.results) }
    }
}

/// The kernel for pipelines that collect all items: a work-item for each piece.
#[repr(transparent)]
pub struct Collect<P, C>(Data<P, C>)
where
    P: Producer,
    C: Consumer<P::Item>;

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

/// The kernel for few items, without results: a group for each, or a work-item, as stage 2 decides.
#[repr(transparent)]
pub struct Rows<P, C>(Data<P, C>)
where
    P: Producer,
    C: Consumer<P::Item>;

impl<P, C> Kernel<1> for Rows<P, C>
where
    P: Producer,
    C: Consumer<P::Item>,
{
    #[inline(always)]
    fn run(&self, item: Item<1>) {
        // SAFETY: the launch is one in groups. Not more than one group runs an item, and if more than one
        // work-item of it does, they do as one of them would.
        let row = unsafe { row_of_group(item) };
        rebound!(pipeline, self);
        if row < pipeline.parts.pieces() {
            // SAFETY: as in `Fold`.
            unsafe { forget(pipeline.fold_alone(row)) };
        }
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
    /// Whether a kernel runs in groups, if results have so many bytes.
    pub(crate) const fn is_in_groups(self, result: usize) -> bool {
        match self {
            Self::Fold => result != 0,
            Self::Sums => true,
            Self::Collect => false,
        }
    }
}

/// What the host needs to know of such a pipeline: as for [`Steps`](crate::steps::Steps).
pub(crate) struct Steps {
    /// Of each pipeline there is one.
    kernels: [(Form, KernelType); 3],
    /// The kernel for few items, which some pipelines have as well.
    rows: KernelType,
    /// Where a kernel has the producer and the consumer, how many parts, and the address of results.
    pub(crate) producer: Bytes,
    pub(crate) consumer: Bytes,
    pub(crate) parts: usize,
    pub(crate) results: usize,
    /// The work-items of a group, and its memory.
    pub(crate) group: (usize, usize),
    /// Copies of what the pipeline refers to: [`captures`].
    pub(crate) references: fn() -> [usize; captures::MOST],
    /// What it changes besides its result, if it may allocate.
    pub(crate) changes: fn() -> [usize; captures::MOST_EXCLUSIVE],
    join: unsafe fn(*const u8, [usize; 3], *mut u8, *mut u8),
    of_no_item: unsafe fn(*const u8, *mut u8),
}

/// Bytes of a piece that a kernel has, too.
#[derive(Clone, Copy)]
pub(crate) struct Bytes {
    pub(crate) in_piece: usize,
    pub(crate) in_kernel: usize,
    pub(crate) size: usize,
}

impl Steps {
    /// Those of a pipeline; `None` if it can have no kernel of this module.
    pub(crate) const fn of<P, C>() -> Option<Self>
    where
        P: Producer,
        C: Consumer<P::Item>,
    {
        if !may_copy::<P, C>() {
            return None;
        }
        Some(Self {
            kernels: [
                (Form::Sums, KernelType::of::<Sums<P, C>>()),
                (Form::Collect, KernelType::of::<Collect<P, C>>()),
                (Form::Fold, KernelType::of::<Fold<P, C>>()),
            ],
            rows: KernelType::of::<Rows<P, C>>(),
            producer: Bytes {
                in_piece: offset_of!(Indexed<P, C>, producer),
                in_kernel: offset_of!(Data<P, C>, pipeline.producer),
                size: size_of::<P>(),
            },
            consumer: Bytes {
                in_piece: offset_of!(Indexed<P, C>, consumer),
                in_kernel: offset_of!(Data<P, C>, pipeline.consumer),
                size: size_of::<C>(),
            },
            parts: offset_of!(Data<P, C>, pipeline.parts),
            results: offset_of!(Data<P, C>, results),
            group: (group::size_for::<C::Result>(), group::memory_for::<C::Result>()),
            references: captures::references::<P, C>,
            changes: captures::changes::<P, C>,
            join: join::<P, C>,
            of_no_item: of_no_item::<P, C>,
        })
    }

    /// The kernel that a pipeline has; `None` if it has none.
    pub(crate) fn kernel(&self) -> Option<(Form, ErasedKernel)> {
        let mut kernels = self.kernels.iter().map(|(form, kernel)| (*form, kernel.kernel()));
        kernels.find(|(_, kernel)| kernel.address() != 0)
    }

    /// The kernel for few items; `None` if the pipeline has none. Its data are those of the other one.
    pub(crate) fn rows(&self) -> Option<ErasedKernel> {
        Some(self.rows.kernel()).filter(|kernel| kernel.address() != 0)
    }

    /// Joins the results of two adjacent ranges of pieces, and writes what they give to the place of
    /// `left`.
    ///
    /// # Safety
    /// There are a kernel of this pipeline, and two results, which are used up.
    pub(crate) unsafe fn join(
        &self,
        kernel: *const u8,
        at: [usize; 3],
        left: *mut u8,
        right: *mut u8,
    ) {
        // SAFETY: the caller's promise.
        unsafe { (self.join)(kernel, at, left, right) }
    }

    /// Writes the result of a consumer that gets no item. The consumer stays.
    ///
    /// # Safety
    /// There is a consumer of this pipeline, and a place for a result.
    pub(crate) unsafe fn of_no_item(&self, consumer: *const u8, result: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { (self.of_no_item)(consumer, result) }
    }
}

/// # Safety
/// As for [`Steps::join`].
unsafe fn join<P, C>(kernel: *const u8, at: [usize; 3], left: *mut u8, right: *mut u8)
where
    P: Producer,
    C: Consumer<P::Item>,
{
    let left = left.cast::<C::Result>();
    // SAFETY: the caller's promise.
    unsafe {
        let pipeline = &(*kernel.cast::<Data<P, C>>()).pipeline;
        left.write(pipeline.join(at, left.read(), right.cast::<C::Result>().read()));
    }
}

/// # Safety
/// As for [`Steps::of_no_item`].
unsafe fn of_no_item<P, C>(consumer: *const u8, result: *mut u8)
where
    P: Producer,
    C: Consumer<P::Item>,
{
    // SAFETY: the caller's promise. The bytes of a consumer that drops nothing.
    unsafe {
        let consumer = consumer.cast::<C>().read();
        result.cast::<C::Result>().write(consumer.into_folder().complete());
    }
}
