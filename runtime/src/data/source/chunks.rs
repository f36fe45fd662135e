//! Several neighbouring elements for each work-item.

// `&*pointer` would carry checks in debug builds, which panic; device code must not.
#![allow(clippy::transmute_ptr_to_ref)]

use std::marker::PhantomData;
use std::mem::transmute;
use std::ptr::{self, NonNull};

use crate::data::source::length::Lengths;
use crate::data::source::share::Share;
use crate::data::source::traits::{GroupSource, Prepare, Source, ready_at_once};
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;
use crate::kernel::group::member::Member;

/// Runs of neighbouring elements, shared: see [`Buffer::chunks`](crate::Buffer::chunks).
#[derive(Debug)]
pub struct Chunks<'a, T> {
    elements: &'a [T],
    size: usize,
}

impl<'a, T> Chunks<'a, T> {
    pub(crate) const fn new(view: View<'a, T>, size: usize) -> Self {
        Self { elements: view.raw(), size }
    }
}

/// The elements of chunk `index`: where it starts, and how many.
///
/// # Safety
/// `index` is below the number of chunks of `size` in `len` elements.
#[inline(always)]
unsafe fn chunk<T>(elements: NonNull<T>, len: usize, size: usize, index: usize) -> *mut [T] {
    // Below `len`, so nothing wraps; the wrapping forms keep debug builds free of checks.
    let begin = index.wrapping_mul(size);
    let rest = len.wrapping_sub(begin);
    let count = if size < rest { size } else { rest };
    // SAFETY: begin < len.
    ptr::slice_from_raw_parts_mut(unsafe { elements.add(begin) }.as_ptr(), count)
}

// SAFETY: shared references to what the borrow keeps from changing, or to atomics.
unsafe impl<T: Sync + 'static> Source for Chunks<'_, T> {
    type Item<'item> = &'item [T];

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> &'item [T] {
        let elements = NonNull::from(self.elements).cast();
        // SAFETY: the index is below the number of chunks; the borrow outlives the launch.
        unsafe { transmute(chunk::<T>(elements, self.elements.len(), self.size, at.index)) }
    }
}

// SAFETY: shared references to what the borrow keeps from changing, or to atomics.
unsafe impl<T: Sync + 'static> GroupSource for Chunks<'_, T> {
    type Item<'item> = &'item [T];

    #[inline(always)]
    unsafe fn of_group<'item>(&self, group: GridPoint, _: Member) -> &'item [T] {
        // SAFETY: the caller's promises.
        unsafe { self.get(group) }
    }
}

impl<'a, T: Sync + 'static, M> Prepare<M> for Chunks<'a, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.reads(self.elements.as_ptr(), self.elements.len());
        lengths.add_chunks(self.elements.len(), self.size)
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self { elements: placement.shared(self.elements), ..self }
    }
}

/// Runs of neighbouring elements, exclusive: see [`Buffer::chunks_mut`](crate::Buffer::chunks_mut).
#[derive(Debug)]
pub struct ChunksMut<'a, T> {
    elements: NonNull<T>,
    len: usize,
    size: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element> Send for ChunksMut<'_, T> {}
// SAFETY: work-items share it, but each takes another chunk.
unsafe impl<T: Element> Sync for ChunksMut<'_, T> {}

impl<'a, T: Element> ChunksMut<'a, T> {
    pub(crate) const fn new(view: ViewMut<'a, T>, size: usize) -> Self {
        Self { elements: view.elements(), len: view.len(), size, borrow: PhantomData }
    }

    /// The elements of chunk `index`.
    ///
    /// # Safety
    /// `index` is below the number of chunks.
    #[inline(always)]
    pub(super) unsafe fn chunk(&self, index: usize) -> *mut [T] {
        // SAFETY: the caller's promise.
        unsafe { chunk(self.elements, self.len, self.size, index) }
    }
}

// SAFETY: chunks with distinct indices do not overlap.
unsafe impl<T: Element> Source for ChunksMut<'_, T> {
    type Item<'item> = &'item mut [T];

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> &'item mut [T] {
        // SAFETY: the index is below the number of chunks and this work-item's own; the borrow
        // outlives the launch.
        unsafe { transmute(self.chunk(at.index)) }
    }
}

// SAFETY: chunks of distinct groups do not overlap, and shares of distinct members do not either.
unsafe impl<T: Element> GroupSource for ChunksMut<'_, T> {
    type Item<'item> = Share<'item, T>;

    #[inline(always)]
    unsafe fn of_group<'item>(&self, group: GridPoint, member: Member) -> Share<'item, T> {
        // SAFETY: the index is below the number of chunks; no other work-item has the group and the
        // number; the borrow outlives the launch.
        unsafe { Share::new(self.chunk(group.index), member) }
    }
}

impl<'a, T: Element, M> Prepare<M> for ChunksMut<'a, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.changes(self.elements.as_ptr(), self.len);
        lengths.add_chunks(self.len, self.size)
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self { elements: placement.exclusive(self.elements), ..self }
    }
}

impl<'a, T> View<'a, T> {
    /// A source that gives each work-item `size` neighbouring elements; the last one gets what is
    /// left.
    #[must_use]
    pub const fn chunks(self, size: usize) -> Chunks<'a, T> {
        Chunks::new(self, size)
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// A source that gives each work-item `size` neighbouring elements to change; the last one gets
    /// what is left.
    #[must_use]
    pub const fn chunks_mut(self, size: usize) -> ChunksMut<'a, T> {
        ChunksMut::new(self, size)
    }
}
