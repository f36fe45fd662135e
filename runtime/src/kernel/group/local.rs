//! Local memory, which the work-items of a group share.

use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use crate::data::host_range::{self, AllPlaced};
use crate::kernel::atomic::AtomicElement;
use crate::kernel::element::Element;
use crate::kernel::group::nd_item::NdItem;
use crate::kernel::group::value::{GroupValue, InLocal};
use crate::kernel::specialized::Specialized;

// They have the Rust ABI: on the host they may unwind, and a crate that calls such a function of
// another ABI cannot be linked into programs that abort on panics.
unsafe extern "Rust" {
    fn __schism_local_static(tag: *const u8, size: usize, align: usize) -> *mut u8;
    fn __schism_local_dynamic() -> *mut u8;
}

/// The alignment of the memory that a launch adds. It suffices for every element whose type has no larger
/// alignment.
pub(crate) const DYNAMIC_ALIGN: usize = 128;

/// An array in the local memory of a work-group, shared by the group's work-items only.
///
/// Its elements are not initialised. At the start of a group they have unspecified values, for
/// example those of an earlier group, and they may differ from device to device: write before you
/// read.
///
/// Elements are [values that work-items can share](GroupValue): numbers, tuples, arrays, and
/// structs of [`group_value!`](crate::group_value). [`get`](Self::get) and [`set`](Self::set) read
/// and write them, from any work-item at any time: without a [barrier](NdItem::barrier) between
/// them, the order of two accesses to the same number is unspecified, but they are not undefined
/// behaviour. Numbers can also be changed [atomically](Self::as_atomics). For elements of other
/// types, and where the compiler should be free to combine accesses, there is the [raw
/// pointer](Self::as_mut_ptr).
///
/// A launch adds arrays whose length it chooses, see [`local`](fn@local); a kernel declares those
/// of constant length, see [`local_array!`](crate::local_array). [`Local2d`](crate::Local2d) is the
/// same in two dimensions.
pub struct Local<'g, T> {
    elements: *mut T,
    len: usize,
    /// Valid while the group runs, and on its thread only.
    group: PhantomData<&'g [T]>,
}

impl<T> Clone for Local<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Local<'_, T> {}

impl<T> fmt::Debug for Local<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("elements", &self.elements).field("len", &self.len).finish()
    }
}

impl<'g, T> Local<'g, T> {
    /// # Safety
    /// `len` elements at the aligned, non-null `elements` belong to the group alone during `'g`;
    /// their bytes are initialised.
    #[inline(always)]
    unsafe fn new(elements: *mut T, len: usize) -> Self {
        Self { elements, len, group: PhantomData }
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

    /// The first element's address. It may be used until the group ends, under the usual rules: no
    /// work-item writes what another one reads or writes unless there is a barrier between the two
    /// or both are atomic, and no reference to an element that changes lives across a barrier.
    #[inline(always)]
    #[must_use]
    pub const fn as_mut_ptr(&self) -> *mut T {
        self.elements
    }

    /// The elements as atomics of another type.
    #[inline(always)]
    fn cells<A>(&self) -> &'g [A] {
        const { assert!(size_of::<A>() == size_of::<T>() && align_of::<A>() == align_of::<T>()) };
        let cells: *const [A] = std::ptr::slice_from_raw_parts(self.elements.cast(), self.len);
        // SAFETY: the elements exist during `'g`, with the size and alignment of `A`; callers
        // choose an atomic. A transmute, because `&*cells` would have checks in debug builds.
        #[allow(clippy::transmute_ptr_to_ref)]
        unsafe {
            std::mem::transmute::<*const [A], &'g [A]>(cells)
        }
    }
}

impl<T: GroupValue> Local<'_, T> {
    /// Reads the element at `index`.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn get(&self, index: usize) -> T {
        let cell = self.cells::<UnsafeCell<MaybeUninit<T>>>()[index].get();
        // SAFETY: it is one of the elements; work-items access them atomically, and users of the
        // raw pointer must not interfere.
        unsafe { T::load::<InLocal>(cell.cast()) }
    }

    /// Writes the element at `index`.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    #[inline(always)]
    #[track_caller]
    pub fn set(&self, index: usize, value: T) {
        let cell = self.cells::<UnsafeCell<MaybeUninit<T>>>()[index].get();
        // SAFETY: as above.
        unsafe { value.store::<InLocal>(cell.cast()) };
    }
}

impl<'g, T: AtomicElement> Local<'g, T> {
    /// The elements as atomics, which all work-items of the group may change at any time.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use std::sync::atomic::Ordering::Relaxed;
    ///
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let text = Buffer::from_slice(&queue, b"to be or not to be, that is it..")?;
    /// let mut spaces = Buffer::filled(&queue, 2, 0_u32)?;
    /// let (bytes, sums) = (text.view(), spaces.atomic_view());
    /// queue.parallel_for(NdRange::new(text.len(), 16)?, move |item| {
    ///     let count = schism::local_array!(item, u32; 1);
    ///     count.set(0, 0);
    ///     item.barrier();
    ///     if bytes[item.x()] == b' ' {
    ///         count.as_atomics()[0].fetch_add(1, Relaxed);
    ///     }
    ///     item.barrier();
    ///     if item.local_x() == 0 {
    ///         sums[item.group_x()].store(count.get(0), Relaxed);
    ///     }
    /// })?;
    /// assert_eq!(spaces.to_vec(), [5, 3]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn as_atomics(&self) -> &'g [T::Atomic] {
        self.cells()
    }
}

/// A source: an array of `len` elements in the local memory of each group of a launch. Every
/// work-item of a group gets the same array, as [`Local`].
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let input = Buffer::from_slice(&queue, &[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// let mut reversed = Buffer::with_len(&queue, 6)?;
/// let (from, to) = (input.view(), reversed.view_mut());
/// let size = 3;
/// queue.for_each_in(NdRange::new(6, size)?, local::<f32>(size), move |item, tile| {
///     tile.set(item.local_x(), from[item.x()]);
///     item.barrier();
///     // SAFETY: each work-item writes its own element.
///     unsafe { to.set_unchecked(item.x(), tile.get(size - 1 - item.local_x())) }
/// })?;
/// assert_eq!(reversed.to_vec(), [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub const fn local<T: Element>(len: usize) -> LocalArray<T> {
    const { assert!(align_of::<T>() <= DYNAMIC_ALIGN, "local memory is aligned to 128 bytes") };
    LocalArray { offset: Specialized::new(0), len: Specialized::new(len), element: PhantomData }
}

/// An array that a launch adds; see [`local`](fn@local).
///
/// Launches rarely change its length, so that is a constant of the compiled kernel: index checks
/// with indices of known ranges disappear.
#[derive(Debug)]
pub struct LocalArray<T> {
    /// Offset in bytes in the memory that the launch adds.
    offset: Specialized<usize>,
    len: Specialized<usize>,
    element: PhantomData<T>,
}

impl<T> Clone for LocalArray<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for LocalArray<T> {}

/// Allocates offsets to the arrays that a launch adds, and says where the device has its sources.
#[derive(Debug)]
pub struct Placement {
    /// Bytes so far; `None` if they exceed `usize`.
    bytes: Option<usize>,
    /// Where the device has copies of the sources in the host's memory; none if it needs none.
    placed: AllPlaced,
}

impl Placement {
    /// Starts with no arrays.
    #[inline]
    pub(crate) const fn new(placed: AllPlaced) -> Self {
        Self { bytes: Some(0), placed }
    }

    /// Where the kernel reads elements.
    #[inline]
    pub(crate) fn shared<'a, T>(&self, elements: &'a [T]) -> &'a [T] {
        let place = self.exclusive(NonNull::from(elements).cast::<T>());
        // SAFETY: the elements or a copy are there as long as the launch runs, which the borrow
        // outlives. A copy is read by kernels of its device only.
        unsafe { std::slice::from_raw_parts(place.as_ptr(), elements.len()) }
    }

    /// Where the kernel changes elements.
    #[inline]
    pub(crate) fn exclusive<T>(&self, elements: NonNull<T>) -> NonNull<T> {
        self.place(elements.cast(), NonNull::<T>::dangling().cast()).cast()
    }

    #[inline(never)]
    fn place(&self, elements: NonNull<u8>, nowhere: NonNull<u8>) -> NonNull<u8> {
        host_range::place(&self.placed, elements, nowhere)
    }

    /// The bytes that the arrays need. A sum that exceeds `usize` is more than any launch allows.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.unwrap_or(usize::MAX)
    }
}

impl<T: Element> LocalArray<T> {
    /// Gives the array the next free offset.
    pub(crate) fn place(&mut self, placement: &mut Placement) {
        placement.bytes = placement.bytes.and_then(|bytes| {
            let offset = bytes.checked_next_multiple_of(align_of::<T>())?;
            self.offset = Specialized::new(offset);
            offset.checked_add(self.len.get().checked_mul(size_of::<T>())?)
        });
    }

    /// The array of the running group.
    ///
    /// # Safety
    /// It has an offset, and the launch has allocated the memory.
    #[inline(always)]
    pub(crate) unsafe fn handle<'g>(&self) -> Local<'g, T> {
        // SAFETY: a launch with groups is running, which has allocated the array at its offset.
        unsafe {
            Local::new(
                __schism_local_dynamic().wrapping_add(self.offset.get()).cast(),
                self.len.get(),
            )
        }
    }
}

/// The memory that a launch adds for the running group.
///
/// # Safety
/// A launch with groups is running.
#[inline(always)]
pub(crate) unsafe fn dynamic() -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { __schism_local_dynamic() }
}

/// A declaration of an array in the source, identified by its address.
#[derive(Debug)]
pub struct LocalSite(u8);

impl LocalSite {
    /// Creates a declaration.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "only `local_array!` makes one")]
    pub const fn new() -> Self {
        Self(0)
    }
}

/// The array of `N` elements that belongs to `site`, in the work-item's group.
#[inline(always)]
pub fn local_array<'g, T: Element, const N: usize, const D: usize>(
    _: &NdItem<'g, D>,
    site: &'static LocalSite,
) -> Local<'g, T> {
    // SAFETY: there is a work-item, so a group is running. The memory has the requested size and
    // alignment, and belongs to the group as long as it runs.
    unsafe {
        let elements = __schism_local_static(
            &raw const site.0,
            const { size_of::<[T; N]>() },
            const { align_of::<T>() },
        );
        Local::new(elements.cast(), N)
    }
}
