//! Cells: parts of a buffer that all work-items of a group write, in any order.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::data::buffer::Buffer;
use crate::data::source::chunks::ChunksMut;
use crate::data::source::length::Lengths;
use crate::data::source::traits::{GroupSource, Prepare, Source, ready_at_once};
use crate::data::view::ViewMut;
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;
use crate::kernel::group::member::Member;
use crate::kernel::group::value::{GroupValue, InBuffer};

/// A part of a buffer that the work-items of a group read and write in any order: like
/// [`Local`](crate::Local) memory, but in the buffer, where it stays after the launch.
///
/// Kernels get it from [`per_group`](fn@crate::per_group) and
/// [`per_sub_group`](fn@crate::per_sub_group) around [`cells`](crate::Buffer::cells). Where it is
/// known beforehand which elements each work-item writes, a [`Share`](crate::Share) is simpler, and
/// faster on CPUs, whose vector instructions cannot write cells.
///
/// [`get`](Self::get) and [`set`](Self::set) work from any work-item at any time. Without a
/// [barrier](crate::NdItem::barrier) between them, the order of two accesses to the same number is
/// unspecified.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// // Each group sorts 4 numbers: the work-items count where theirs goes.
/// let queue = Queue::new()?;
/// let input = Buffer::from_slice(&queue, &[3, 1, 4, 2, 8, 5, 5, 7])?;
/// let mut sorted = Buffer::filled(&queue, 8, 0)?;
/// let parts = (per_group(input.chunks(4)), per_group(sorted.cells(4)));
/// queue.for_each_in(NdRange::new(8, 4)?, parts, |item, (input, sorted)| {
///     let i = item.local_x();
///     let is_before = |j: &usize| (input[*j], *j) < (input[i], i);
///     sorted.set((0..input.len()).filter(is_before).count(), input[i]);
/// })?;
/// assert_eq!(sorted.to_vec(), [1, 2, 3, 4, 5, 5, 7, 8]);
/// # Ok(())
/// # }
/// ```
///
/// # Why this is sound
/// All accesses through it are relaxed atomics with the scope of one group, and nothing else has
/// the part: parts of distinct groups do not overlap, and the launch has exclusive access to the
/// buffer. On a GPU, an atomic store with the scope of a group is as fast as a plain one.
pub struct Cells<'g, T> {
    elements: NonNull<T>,
    len: usize,
    part: PhantomData<&'g [T]>,
}

impl<T> Clone for Cells<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Cells<'_, T> {}

impl<T> fmt::Debug for Cells<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cells").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T> Cells<'_, T> {
    /// # Safety
    /// The elements are valid for the lifetime, and accessed through cells only.
    #[inline(always)]
    const unsafe fn new(part: *mut [T]) -> Self {
        // SAFETY: the elements are valid.
        let elements = unsafe { NonNull::new_unchecked(part.cast()) };
        Self { elements, len: part.len(), part: PhantomData }
    }

    /// The number of elements.
    #[inline(always)]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[inline(always)]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline(always)]
    #[track_caller]
    fn cell(&self, index: usize) -> *mut T {
        assert!(
            index < self.len,
            "index out of bounds: the len is {} but the index is {index}",
            self.len
        );
        self.elements.as_ptr().wrapping_add(index)
    }
}

impl<T: GroupValue> Cells<'_, T> {
    /// Reads the element at `index`.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn get(&self, index: usize) -> T {
        // SAFETY: it is one of the elements, which only cells access.
        unsafe { T::load::<InBuffer>(self.cell(index)) }
    }

    /// Writes the element at `index`.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    #[inline(always)]
    #[track_caller]
    pub fn set(&self, index: usize, value: T) {
        // SAFETY: as above.
        unsafe { value.store::<InBuffer>(self.cell(index)) };
    }
}

/// Chunks of consecutive elements, as cells: see [`Buffer::cells`](crate::Buffer::cells).
#[derive(Debug)]
pub struct CellChunks<'a, T>(ChunksMut<'a, T>);

impl<'a, T: Element> CellChunks<'a, T> {
    pub(crate) const fn new(view: ViewMut<'a, T>, size: usize) -> Self {
        Self(ChunksMut::new(view, size))
    }
}

// SAFETY: chunks with distinct indices do not overlap.
unsafe impl<T: GroupValue> Source for CellChunks<'_, T> {
    type Item<'item> = Cells<'item, T>;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> Cells<'item, T> {
        // SAFETY: the index is below the number of chunks. The launch has the elements to itself,
        // and makes nothing but cells of them.
        unsafe { Cells::new(self.0.chunk(at.index)) }
    }
}

// SAFETY: handles of one chunk access it atomically.
unsafe impl<T: GroupValue> GroupSource for CellChunks<'_, T> {
    type Item<'item> = Cells<'item, T>;

    #[inline(always)]
    unsafe fn of_group<'item>(&self, group: GridPoint, _: Member) -> Cells<'item, T> {
        // SAFETY: the caller's promises.
        unsafe { self.get(group) }
    }
}

impl<T: GroupValue, M> Prepare<M> for CellChunks<'_, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        Prepare::<M>::check(&self.0, lengths)
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self(Prepare::<M>::prepare(self.0, placement))
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// A source of cells: see [`Buffer::cells`](crate::Buffer::cells).
    #[must_use]
    pub const fn cells(self, size: usize) -> CellChunks<'a, T>
    where
        T: GroupValue,
    {
        CellChunks::new(self, size)
    }
}

impl<T: Element> Buffer<T> {
    /// A source that gives each group `size` consecutive elements, which all of its work-items read
    /// and write in any order: see [`Cells`](crate::Cells), and [`per_group`](fn@crate::per_group).
    /// The last group gets the rest. A `size` of 0 is a launch error.
    #[must_use]
    pub fn cells(&mut self, size: usize) -> CellChunks<'_, T>
    where
        T: GroupValue,
    {
        self.view_mut().cells(size)
    }
}
