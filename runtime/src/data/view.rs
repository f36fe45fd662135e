//! What kernels capture to reach buffers.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Deref, RangeBounds};
use std::ptr::NonNull;
use std::slice;

use crate::data::device_memory;
use crate::error::BufferError;
use crate::kernel::element::Element;

/// A shared view of a buffer's elements, made to be captured by kernels. It is `Copy` and works like the slice `&[T]`.
///
/// Over plain elements a view is read only. Over atomics ([`Buffer::atomic_view`](crate::Buffer::atomic_view)) all work-items may
/// change the elements.
///
/// A captured view gives each work-item all elements, and so does the source
/// [`whole(&buffer)`](crate::whole()), which says when to use which. As a source itself, a view gives
/// each work-item its own element.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let table = Buffer::from_slice(&queue, &[0.5_f32, 1.5, 2.5])?;
/// let mut picked = Buffer::from_slice(&queue, &[0.0; 6])?;
/// let view = table.view();
/// queue.for_each((0..6, &mut picked), move |(i, to)| *to = view[i % 3])?;
/// assert_eq!(picked.to_vec(), [0.5, 1.5, 2.5, 0.5, 1.5, 2.5]);
/// # Ok(())
/// # }
/// ```
#[repr(transparent)]
pub struct View<'a, T>(&'a [T]);

// SAFETY: devices reach the elements at the address that the view has.
#[cfg(schism_driver)]
unsafe impl<T> crate::kernel::capture::Capture for View<'_, T> {}

impl<'a, T> View<'a, T> {
    #[inline(always)]
    pub(crate) const fn new(elements: &'a [T]) -> Self {
        Self(elements)
    }

    /// What kernels see. If the buffer is in memory of its device's own, the host cannot read there.
    #[inline(always)]
    pub(crate) const fn raw(self) -> &'a [T] {
        self.0
    }

    /// The elements as a slice that lives as long as the borrow of the buffer.
    ///
    /// On the host, this and every other access to the elements reads a copy, if the buffer is in memory of its device's own. The copy
    /// is made when it is first needed; take the slice once, not for each element.
    ///
    /// # Panics
    /// On the host: if the device was lost; if this is a view of atomics of such a buffer.
    #[inline(always)]
    #[must_use]
    pub fn as_slice(self) -> &'a [T] {
        device_memory::readable(self.0)
    }

    /// A view of some of the elements, with indices from 0.
    ///
    /// # Errors
    /// [`BufferError::Range`] if the range ends beyond the view or before it starts.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<Self, BufferError> {
        let (begin, end) = bounds(range, self.0.len())?;
        Ok(Self(&self.0[begin..end]))
    }
}

impl<T> Clone for View<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<T> Deref for View<'_, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        self.as_slice()
    }
}

impl<T: fmt::Debug> fmt::Debug for View<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

/// An exclusive view of a buffer's elements.
///
/// Hand it to [`for_each`](crate::Queue::for_each) and each work-item gets `&mut` of its own element; that is safe. Captured by a
/// kernel it gives access to all elements from every work-item. That is `unsafe`, because nothing keeps two work-items from the same
/// element, and seldom needed: groups write their rows and tiles by [`per_group`](fn@crate::per_group), elements in another order are
/// [`permuted_mut`](Self::permuted_mut), and numbers that any work-item may write are an [atomic view](crate::Buffer::atomic_view).
///
/// [`read`](Self::read) and [`write`](Self::write) check the index; methods whose names say `unchecked` do not. The elements of a buffer in
/// memory of its device's own are out of the host's reach: all of these panic there.
///
/// It is neither `Copy` nor `Clone`: whoever has it is the only one who reaches the elements.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut reversed = Buffer::from_slice(&queue, &[0_u32; 5])?;
/// let out = reversed.view_mut();
/// queue.parallel_for(5, move |item| {
///     let i = item.x();
///     // SAFETY: no two work-items write the same element.
///     unsafe { out.write(4 - i, i as u32) }
/// })?;
/// assert_eq!(reversed.to_vec(), [4, 3, 2, 1, 0]);
/// # Ok(())
/// # }
/// ```
#[repr(C)]
pub struct ViewMut<'a, T> {
    elements: NonNull<T>,
    len: usize,
    lifetime: PhantomData<&'a mut [T]>,
}

// SAFETY: as of `View`.
#[cfg(schism_driver)]
unsafe impl<T> crate::kernel::capture::Capture for ViewMut<'_, T> {}

// SAFETY: it stands for `&'a mut [T]`, and elements are `Send`.
unsafe impl<T: Element> Send for ViewMut<'_, T> {}
// SAFETY: through a shared reference, elements are reached by `unsafe` methods only, whose callers exclude races.
unsafe impl<T: Element> Sync for ViewMut<'_, T> {}

impl<'a, T: Element> ViewMut<'a, T> {
    /// # Safety
    /// For `'a`, nothing else reaches the `len` valid elements at `elements`.
    #[inline(always)]
    pub(crate) const unsafe fn new(elements: NonNull<T>, len: usize) -> Self {
        Self { elements, len, lifetime: PhantomData }
    }

    #[inline(always)]
    pub(crate) const fn elements(&self) -> NonNull<T> {
        self.elements
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

    /// The element at `index`.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    ///
    /// # Safety
    /// No other work-item writes this element during the launch, unless there is a barrier between the two.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub unsafe fn read(&self, index: usize) -> T {
        self.check(index);
        // SAFETY: the index is below the length; the caller vouches for the absence of writers.
        unsafe { self.get_unchecked(index) }
    }

    /// Writes the element at `index`.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    ///
    /// # Safety
    /// No other work-item reads or writes this element during the launch, unless there is a barrier between the two.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn write(&self, index: usize, value: T) {
        self.check(index);
        // SAFETY: the index is below the length; the caller vouches for being alone with the element.
        unsafe { self.set_unchecked(index, value) }
    }

    #[inline(always)]
    #[track_caller]
    fn check(&self, index: usize) {
        let len = self.len;
        assert!(index < len, "index out of bounds: the len is {len} but the index is {index}");
    }

    /// The element at `index`, which is not checked.
    ///
    /// # Safety
    /// `index < self.len()`, and no other work-item writes this element during the launch.
    #[inline(always)]
    #[must_use]
    pub unsafe fn get_unchecked(&self, index: usize) -> T {
        // SAFETY: the caller vouches for the index and for the absence of writers.
        unsafe { *device_memory::reachable(self.elements).add(index).as_ref() }
    }

    /// Writes the element at `index`, which is not checked.
    ///
    /// # Safety
    /// `index < self.len()`, and no other work-item reads or writes this element during the launch.
    #[inline(always)]
    pub unsafe fn set_unchecked(&self, index: usize, value: T) {
        // SAFETY: the caller vouches for the index and for being alone with the element.
        unsafe { *device_memory::reachable(self.elements).add(index).as_mut() = value }
    }

    /// The element at `index`, which is not checked, to be changed in place.
    ///
    /// # Safety
    /// `index < self.len()`, and while the reference lives nothing else reaches this element: no other work-item, and no second
    /// reference in this one.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn get_unchecked_mut(&self, index: usize) -> &mut T {
        // SAFETY: the caller vouches for the index and for being alone with the element.
        unsafe { device_memory::reachable(self.elements).add(index).as_mut() }
    }

    /// The first element's address, for code that does its own arithmetic. It means something where the buffer is: to kernels on its
    /// device, and to the host if the device has the host's memory.
    #[inline(always)]
    #[must_use]
    pub const fn as_mut_ptr(&self) -> *mut T {
        self.elements.as_ptr()
    }

    /// The same view for a shorter time.
    #[must_use]
    pub const fn reborrow(&mut self) -> ViewMut<'_, T> {
        // SAFETY: `self` is borrowed exclusively for as long as the new view lives.
        unsafe { ViewMut::new(self.elements, self.len) }
    }

    /// Turns this into a shared, read-only view.
    #[must_use]
    pub fn into_view(self) -> View<'a, T> {
        device_memory::exclusive(self.elements, self.len);
        // SAFETY: `self` stands for an exclusive borrow of these elements for `'a` and is consumed.
        View(unsafe { slice::from_raw_parts(self.elements.as_ptr(), self.len) })
    }

    /// An exclusive view of some of the elements, with indices from 0.
    ///
    /// # Errors
    /// [`BufferError::Range`] if the range ends beyond the view or before it starts.
    pub fn slice(self, range: impl RangeBounds<usize>) -> Result<Self, BufferError> {
        let (begin, end) = bounds(range, self.len)?;
        // SAFETY: begin <= end <= len, and `self` is consumed.
        Ok(unsafe { Self::new(self.elements.add(begin), end - begin) })
    }

    /// Two exclusive views: of the elements before `middle`, and of the rest.
    ///
    /// # Errors
    /// [`BufferError::Range`] if `middle` is beyond the end.
    pub fn split_at(self, middle: usize) -> Result<(Self, Self), BufferError> {
        bounds(..middle, self.len)?;
        // SAFETY: middle <= len; the halves do not overlap, and `self` is consumed.
        Ok(unsafe {
            (
                Self::new(self.elements, middle),
                Self::new(self.elements.add(middle), self.len - middle),
            )
        })
    }
}

impl<T> fmt::Debug for ViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewMut").field("elements", &self.elements).field("len", &self.len).finish()
    }
}

/// The half-open interval that `range` means in `len` elements.
pub(crate) fn bounds(
    range: impl RangeBounds<usize>,
    len: usize,
) -> Result<(usize, usize), BufferError> {
    let begin = match range.start_bound() {
        Bound::Included(begin) => Some(*begin),
        Bound::Excluded(before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(last) => last.checked_add(1),
        Bound::Excluded(end) => Some(*end),
        Bound::Unbounded => Some(len),
    };
    match (begin, end) {
        (Some(begin), Some(end)) if begin <= end && end <= len => Ok((begin, end)),
        (begin, end) => Err(BufferError::Range {
            begin: begin.unwrap_or(usize::MAX),
            end: end.unwrap_or(usize::MAX),
            len,
        }),
    }
}
