//! Local memory: what the work-items of a group share.

use std::fmt;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use crate::kernel::atomic::AtomicElement;
use crate::kernel::capture::Capture;
use crate::kernel::element::Element;
use crate::kernel::group::nd_item::NdItem;

// Of the Rust ABI: on the host these may unwind, and a crate that calls such a function of another ABI cannot be linked into
// programs that abort on panics.
unsafe extern "Rust" {
    fn __schism_local_static(tag: *const u8, size: usize, align: usize) -> *mut u8;
    fn __schism_local_dynamic() -> *mut u8;
}

/// The alignment of the memory that a launch adds. More than any element needs that is not made for it.
const DYNAMIC_ALIGN: usize = 128;

/// An array in the local memory of a work-group: shared by the group's work-items, and by nobody else.
///
/// Its elements are not initialised. At the start of a group they hold any values, such as those that an earlier group has left, and
/// they may differ from device to device: write before you read.
///
/// Numbers are read and written by [`get`](Self::get) and [`set`](Self::set), from any work-item at any time: two work-items that
/// touch the same element without a [barrier](NdItem::barrier) between them get one order or the other, not undefined behaviour.
/// Integers can also be changed [atomically](Self::as_atomics). For elements of other types, and where the compiler should be free to
/// combine accesses, there is the [raw pointer](Self::as_mut_ptr).
///
/// A launch brings arrays whose length it chooses, see [`local`](fn@local); a kernel declares those of a constant length, see
/// [`local_array!`](crate::local_array).
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
    /// `len` elements at the aligned, non-null `elements` are the group's alone during `'g`; their bytes are initialised.
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

    /// The first element's address. It may be used until the group ends, as the rules for all memory say: no work-item writes what
    /// another one reads or writes unless there is a barrier between the two or both are atomic, and no reference to an element that
    /// changes lives across a barrier.
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
        // SAFETY: the elements are there during `'g`, with the size and alignment of `A`; callers choose an atomic. A transmute,
        // because `&*cells` would carry checks in debug builds.
        #[allow(clippy::transmute_ptr_to_ref)]
        unsafe {
            std::mem::transmute::<*const [A], &'g [A]>(cells)
        }
    }
}

impl<'g, T: LocalNumber> Local<'g, T> {
    /// The element at `index`.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn get(&self, index: usize) -> T {
        T::load(&self.cells()[index])
    }

    /// Writes the element at `index`.
    ///
    /// # Panics
    /// If `index` is not less than the length.
    #[inline(always)]
    #[track_caller]
    pub fn set(&self, index: usize, value: T) {
        value.store(&self.cells()[index]);
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
    /// queue.parallel_for_groups(NdRange::new(text.len(), 16)?, (), move |item, ()| {
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

mod sealed {
    pub trait Sealed {}
}

/// Numbers of 1, 2, 4 or 8 bytes, which any work-item can read and write at any time.
pub trait LocalNumber: Element + sealed::Sealed {
    /// The atomic of the same size.
    #[doc(hidden)]
    type Cell;
    #[doc(hidden)]
    fn load(cell: &Self::Cell) -> Self;
    #[doc(hidden)]
    fn store(self, cell: &Self::Cell);
}

macro_rules! local_numbers {
    ($($number:ty => $cell:ty: |$bits:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl sealed::Sealed for $number {}
        impl LocalNumber for $number {
            type Cell = $cell;

            #[inline(always)]
            fn load(cell: &$cell) -> Self {
                let $bits = cell.load(Ordering::Relaxed);
                $from
            }

            #[inline(always)]
            fn store(self, cell: &$cell) {
                let $value = self;
                cell.store($to, Ordering::Relaxed);
            }
        }
    )*};
}
local_numbers! {
    u8 => AtomicU8: |bits| bits, |value| value;
    i8 => AtomicU8: |bits| bits as i8, |value| value as u8;
    u16 => AtomicU16: |bits| bits, |value| value;
    i16 => AtomicU16: |bits| bits as i16, |value| value as u16;
    u32 => AtomicU32: |bits| bits, |value| value;
    i32 => AtomicU32: |bits| bits as i32, |value| value as u32;
    u64 => AtomicU64: |bits| bits, |value| value;
    i64 => AtomicU64: |bits| bits as i64, |value| value as u64;
    usize => AtomicU64: |bits| bits as usize, |value| value as u64;
    isize => AtomicU64: |bits| bits as isize, |value| value as u64;
    f32 => AtomicU32: |bits| f32::from_bits(bits), |value| value.to_bits();
    f64 => AtomicU64: |bits| f64::from_bits(bits), |value| value.to_bits();
}

/// Asks for an array of `len` elements in the local memory of each group of a launch. The kernel gets it as [`Local`].
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
/// queue.parallel_for_groups(NdRange::new(6, size)?, local::<f32>(size), move |item, tile| {
///     tile.set(item.local_x(), from[item.x()]);
///     item.barrier();
///     // SAFETY: each work-item writes its own element.
///     unsafe { to.set(item.x(), tile.get(size - 1 - item.local_x())) }
/// })?;
/// assert_eq!(reversed.to_vec(), [3.0, 2.0, 1.0, 6.0, 5.0, 4.0]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub const fn local<T: Element>(len: usize) -> LocalArray<T> {
    const { assert!(align_of::<T>() <= DYNAMIC_ALIGN, "local memory is aligned to 128 bytes") };
    LocalArray { offset: 0, len, element: PhantomData }
}

/// An array that a launch asks for; see [`local`](fn@local).
#[derive(Debug)]
pub struct LocalArray<T> {
    /// In bytes, from the start of what the launch adds.
    offset: usize,
    len: usize,
    element: PhantomData<T>,
}

impl<T> Clone for LocalArray<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for LocalArray<T> {}

/// Where the next array goes.
#[derive(Debug, Default)]
pub struct Placement {
    /// Bytes so far; `None` if they do not fit in `usize`.
    bytes: Option<usize>,
}

/// What a launch can add to the local memory of its groups: nothing, `()`; an array, [`local`](fn@local); or a tuple of up to four.
pub trait Locals: Copy + Send + Sync + Capture + sealed::Sealed {
    /// What the kernel gets.
    type Handles<'g>;
    #[doc(hidden)]
    fn place(&mut self, placement: &mut Placement);
    /// # Safety
    /// It was placed, and `base` is where the running group's memory for it begins.
    #[doc(hidden)]
    unsafe fn handles<'g>(&self, base: *mut u8) -> Self::Handles<'g>;
    #[doc(hidden)]
    const EMPTY: bool = false;
}

impl sealed::Sealed for () {}
impl Locals for () {
    type Handles<'g> = ();
    const EMPTY: bool = true;

    fn place(&mut self, _: &mut Placement) {}

    #[inline(always)]
    unsafe fn handles<'g>(&self, _: *mut u8) -> Self::Handles<'g> {}
}

impl<T> sealed::Sealed for LocalArray<T> {}
impl<T: Element> Locals for LocalArray<T> {
    type Handles<'g> = Local<'g, T>;

    fn place(&mut self, placement: &mut Placement) {
        placement.bytes = placement.bytes.and_then(|bytes| {
            self.offset = bytes.checked_next_multiple_of(align_of::<T>())?;
            self.offset.checked_add(self.len.checked_mul(size_of::<T>())?)
        });
    }

    #[inline(always)]
    unsafe fn handles<'g>(&self, base: *mut u8) -> Local<'g, T> {
        // SAFETY: the caller vouches for the base; the launch has made room for the array at its offset.
        unsafe { Local::new(base.wrapping_add(self.offset).cast(), self.len) }
    }
}

macro_rules! tuples {
    ($(($($name:ident $at:tt)*))*) => {$(
        impl<$($name: Locals),*> sealed::Sealed for ($($name,)*) {}
        impl<$($name: Locals),*> Locals for ($($name,)*) {
            type Handles<'g> = ($($name::Handles<'g>,)*);

            fn place(&mut self, placement: &mut Placement) {
                $(self.$at.place(placement);)*
            }

            #[inline(always)]
            unsafe fn handles<'g>(&self, base: *mut u8) -> Self::Handles<'g> {
                // SAFETY: the caller's promises.
                unsafe { ($(self.$at.handles(base),)*) }
            }
        }
    )*};
}
tuples! { (A 0) (A 0 B 1) (A 0 B 1 C 2) (A 0 B 1 C 2 D 3) }

/// Gives the arrays their places; the bytes that they take. What does not fit in `usize` is more than any launch allows.
pub(crate) fn place<L: Locals>(locals: &mut L) -> usize {
    let mut placement = Placement { bytes: Some(0) };
    locals.place(&mut placement);
    placement.bytes.unwrap_or(usize::MAX)
}

/// Where the running group's memory for the launch's arrays begins.
#[inline(always)]
pub(super) fn dynamic<L: Locals>() -> *mut u8 {
    if L::EMPTY {
        return std::ptr::null_mut();
    }
    // SAFETY: called by the kernel of a launch with groups only.
    unsafe { __schism_local_dynamic() }
}

/// A place in the source that declares an array: its address is what counts.
#[derive(Debug)]
pub struct LocalSite(u8);

impl LocalSite {
    /// A new place.
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
    // SAFETY: a work-item is at hand, so a group is running. The memory has the size and alignment that is asked for, and belongs to
    // the group for as long as it runs.
    unsafe {
        let elements = __schism_local_static(
            &raw const site.0,
            const { size_of::<[T; N]>() },
            const { align_of::<T>() },
        );
        Local::new(elements.cast(), N)
    }
}

/// An array of constant length in the local memory of the running work-group: `local_array!(item, f32; 256)` is a
/// [`Local<f32>`](crate::Local).
///
/// Each place in the source that says `local_array!` is one array, whichever work-item comes there and however often. In a generic
/// function, instances with element types of the same size and alignment share one array. Its elements are not initialised, see
/// [`Local`].
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut sums = Buffer::filled(&queue, 4, 0_u32)?;
/// let out = sums.view_mut();
/// queue.parallel_for_groups(NdRange::new(4 * 8, 8)?, (), move |item, ()| {
///     let tile = schism::local_array!(item, u32; 8);
///     tile.set(item.local_x(), item.x() as u32);
///     item.barrier();
///     if item.local_x() == 0 {
///         let sum = (0..tile.len()).map(|i| tile.get(i)).sum();
///         // SAFETY: one work-item of each group writes the group's element.
///         unsafe { out.set(item.group_x(), sum) }
///     }
/// })?;
/// assert_eq!(sums.to_vec(), [28, 92, 156, 220]);
/// # Ok(())
/// # }
/// ```
#[macro_export]
macro_rules! local_array {
    ($item:expr, $type:ty; $len:expr) => {{
        static SITE: $crate::__private::LocalSite = $crate::__private::LocalSite::new();
        $crate::__private::local_array::<$type, { $len }, _>(&$item, &SITE)
    }};
}
