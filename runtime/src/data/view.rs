//! What kernels capture to reach buffers.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Deref, Index, IndexMut, RangeBounds};
use std::ptr::NonNull;
use std::slice;

use crate::data::device_memory;
use crate::error::BufferError;
use crate::kernel::element::Element;

/// A shared view of a buffer's elements, made to be captured by kernels. It is `Copy` and works
/// like the slice `&[T]`.
///
/// Over plain elements a view is read only. Over atomics
/// ([`Buffer::atomic_view`](crate::Buffer::atomic_view)) all work-items may change the elements.
///
/// A captured view gives each work-item all elements, and so does the source
/// [`whole(&buffer)`](crate::whole()), which says when to use which. As a source itself, a view
/// gives each work-item its own element.
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

    /// What kernels see. If the buffer is in its device's own memory, the host cannot read there.
    #[inline(always)]
    pub(crate) const fn raw(self) -> &'a [T] {
        self.0
    }

    /// The elements as a slice that lives as long as the borrow of the buffer.
    ///
    /// On the host, this and every other access reads a copy if the buffer is in its device's own
    /// memory. The copy is made when it is first needed; call this once, not for each element.
    ///
    /// # Panics
    /// On the host: if the device was lost, or if this is a view of atomics of such a buffer.
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
/// As a source of [`for_each`](crate::Queue::for_each) it gives each work-item `&mut` to one
/// element; that is safe. Captured by a kernel it gives every work-item access to all elements.
/// That is `unsafe`, because nothing keeps two work-items from the same element. It is rarely
/// needed: groups write their rows and tiles through [`per_group`](fn@crate::per_group),
/// [`permuted_mut`](Self::permuted_mut) gives elements in another order, and numbers that any
/// work-item may write are an [atomic view](crate::Buffer::atomic_view).
///
/// [`read`](Self::read) and [`write`](Self::write) check the index; methods with `unchecked` in
/// their names do not. The host cannot access elements in device memory: all of these panic there.
///
/// It is neither `Copy` nor `Clone`: its owner has exclusive access to the elements.
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
// SAFETY: through a shared reference, elements are reached by `unsafe` methods only, whose callers
// exclude races.
unsafe impl<T: Element> Sync for ViewMut<'_, T> {}

impl<'a, T: Element> ViewMut<'a, T> {
    /// # Safety
    /// For `'a`, nothing else accesses the `len` valid elements at `elements`.
    #[inline(always)]
    pub(crate) const unsafe fn new(elements: NonNull<T>, len: usize) -> Self {
        Self { elements, len, lifetime: PhantomData }
    }

    #[inline(always)]
    pub(crate) const fn elements(&self) -> NonNull<T> {
        self.elements
    }

    /// A view of elements in the host's memory.
    pub(crate) const fn of_slice(elements: &'a mut [T]) -> Self {
        let len = elements.len();
        // SAFETY: they are borrowed exclusively for `'a`.
        unsafe { Self::new(NonNull::from_mut(elements).cast(), len) }
    }

    /// The same elements, to be read while the view is borrowed.
    pub(crate) const fn shared(&self) -> View<'_, T> {
        // There may be others, and slices of them.
        // SAFETY: nothing else accesses the elements for `'a`, and `self` does not change them
        // while it is borrowed, except by methods whose callers exclude readers.
        View(unsafe { slice::from_raw_parts(self.elements.as_ptr(), self.len) })
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

    /// Reads the element at `index`.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    ///
    /// # Safety
    /// No other work-item writes this element during the launch, unless there is a barrier between
    /// the two.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub unsafe fn read(&self, index: usize) -> T {
        self.check(index);
        // SAFETY: the index is below the length; the caller excludes writers.
        unsafe { self.get_unchecked(index) }
    }

    /// Writes the element at `index`.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    ///
    /// # Safety
    /// No other work-item reads or writes this element during the launch, unless there is a barrier
    /// between the two.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn write(&self, index: usize, value: T) {
        self.check(index);
        // SAFETY: the index is below the length; the caller excludes other accesses.
        unsafe { self.set_unchecked(index, value) }
    }

    #[inline(always)]
    #[track_caller]
    fn check(&self, index: usize) {
        let len = self.len;
        assert!(index < len, "index out of bounds: the len is {len} but the index is {index}");
    }

    /// Reads the element at `index` without a bounds check.
    ///
    /// # Safety
    /// `index < self.len()`, and no other work-item writes this element during the launch.
    #[inline(always)]
    #[must_use]
    pub unsafe fn get_unchecked(&self, index: usize) -> T {
        // SAFETY: the caller checks the index and excludes writers.
        unsafe { *device_memory::reachable(self.elements).add(index).as_ref() }
    }

    /// Writes the element at `index` without a bounds check.
    ///
    /// # Safety
    /// `index < self.len()`, and no other work-item reads or writes this element during the launch.
    #[inline(always)]
    pub unsafe fn set_unchecked(&self, index: usize, value: T) {
        // SAFETY: the caller checks the index and excludes other accesses.
        unsafe { *device_memory::reachable(self.elements).add(index).as_mut() = value }
    }

    /// The element at `index`, to be changed in place, without a bounds check.
    ///
    /// # Safety
    /// `index < self.len()`, and while the reference lives nothing else accesses this element: no
    /// other work-item, and no second reference in this one.
    #[inline(always)]
    #[must_use]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn get_unchecked_mut(&self, index: usize) -> &mut T {
        // SAFETY: the caller checks the index and excludes other accesses.
        unsafe { device_memory::reachable(self.elements).add(index).as_mut() }
    }

    /// The first element's address, for pointer arithmetic. It is valid where the buffer is: for
    /// kernels on its device, and for the host if the device uses the host's memory.
    #[inline(always)]
    #[must_use]
    pub const fn as_mut_ptr(&self) -> *mut T {
        self.elements.as_ptr()
    }

    /// Reborrows the view for a shorter lifetime.
    #[must_use]
    pub const fn reborrow(&mut self) -> ViewMut<'_, T> {
        // SAFETY: `self` is borrowed exclusively for as long as the new view lives.
        unsafe { ViewMut::new(self.elements, self.len) }
    }

    /// Converts this into a shared, read-only view.
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

    /// Splits the view in two: the elements before `middle`, and the rest.
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

mod sealed {
    /// No type is one: so that `view[i]` of a [`ViewMut`](super::ViewMut) is an error that says what
    /// there is in its place.
    #[diagnostic::on_unimplemented(
        message = "a `ViewMut` has no `[]`: any work-item could change any element",
        label = "cannot index an exclusive view",
        note = "give each work-item its own element (`for_each_in(range, &mut buffer, |item, element| ...)`); or `unsafe {{ view.write(i, value) }}` and `view.read(i)`, if no two work-items touch the same one"
    )]
    pub trait IndexOfViewMut {}
}

#[doc(hidden)]
impl<T: Element, I: sealed::IndexOfViewMut> Index<I> for ViewMut<'_, T> {
    type Output = T;

    fn index(&self, _: I) -> &T {
        unreachable!("no type is such an index")
    }
}

#[doc(hidden)]
impl<T: Element, I: sealed::IndexOfViewMut> IndexMut<I> for ViewMut<'_, T> {
    fn index_mut(&mut self, _: I) -> &mut T {
        unreachable!("no type is such an index")
    }
}

impl<T> fmt::Debug for ViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewMut").field("elements", &self.elements).field("len", &self.len).finish()
    }
}

/// Resolves `range` in `len` elements to a half-open interval.
pub(crate) fn bounds(
    range: impl RangeBounds<usize>,
    len: usize,
) -> Result<(usize, usize), BufferError> {
    resolved((range.start_bound().cloned(), range.end_bound().cloned()), len)
}

fn resolved(
    (begin, end): (Bound<usize>, Bound<usize>),
    len: usize,
) -> Result<(usize, usize), BufferError> {
    let begin = match begin {
        Bound::Included(begin) => Some(begin),
        Bound::Excluded(before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match end {
        Bound::Included(last) => last.checked_add(1),
        Bound::Excluded(end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match (begin, end) {
        (Some(begin), Some(end)) if begin <= end && end <= len => Ok((begin, end)),
        (begin, end) => Err(BufferError::Range {
            begin: begin.unwrap_or(usize::MAX),
            end: end.unwrap_or(usize::MAX),
            inclusive: end.is_none(),
            len,
        }),
    }
}
