//! Typed memory of a device.

use std::alloc::Layout;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::RangeBounds;
use std::ptr::NonNull;
use std::slice;

use crate::api::queue::Queue;
use crate::data::home::BufferHome;
use crate::data::source::chunks::{Chunks, ChunksMut};
use crate::data::view::{View, ViewMut};
use crate::error::BufferError;
use crate::hal::dispatch::BackendMemory;
use crate::kernel::element::Element;
use crate::launch::options::bytes_of;

/// Alignment of buffers in bytes: a cache line on any host, and enough for any vector instruction.
const ALIGNMENT: usize = 128;

/// `len` elements of type `T` in memory of a device. A buffer is created on a [queue](crate::Queue)
/// or on a [device](crate::Device); all queues of the device can use it.
///
/// The host reads and writes it by copying ([`read`](Self::read), [`write`](Self::write),
/// [`to_vec`](Self::to_vec)). Kernels use it as a source of
/// [`Queue::for_each`](crate::Queue::for_each), or through captured views ([`view`](Self::view),
/// [`view_mut`](Self::view_mut), [`atomic_view`](Self::atomic_view)). The borrow checker separates
/// the two: while a launch may still use a buffer, the host cannot.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut squares = Buffer::from_slice(&queue, &[1, 2, 3, 4])?;
/// queue.for_each(&mut squares, |x| *x *= *x)?;
/// assert_eq!(squares.to_vec(), [1, 4, 9, 16]);
/// # Ok(())
/// # }
/// ```
pub struct Buffer<T: Element> {
    /// For device memory, an address in the address window that represents it.
    elements: NonNull<T>,
    len: usize,
    /// `None` if the elements have no bytes.
    memory: Option<BackendMemory>,
}

/// What allocates memory.
type ByLayout<'a> = &'a mut dyn FnMut(Layout) -> Result<BackendMemory, BufferError>;

/// Memory for so many elements; `None` if these have no bytes.
fn allocate_for(
    allocate: ByLayout<'_>,
    element: Layout,
    capacity: usize,
) -> Result<Option<BackendMemory>, BufferError> {
    let bytes = element.size().checked_mul(capacity);
    let layout = bytes
        .and_then(|bytes| Layout::from_size_align(bytes, element.align().max(ALIGNMENT)).ok())
        .ok_or(BufferError::TooLarge { len: capacity, element_size: element.size() })?;
    if layout.size() == 0 { Ok(None) } else { allocate(layout).map(Some) }
}

// SAFETY: a buffer owns its elements as a `Vec` does.
unsafe impl<T: Element> Send for Buffer<T> {}
// SAFETY: a shared buffer gives shared access only, and elements are `Sync`.
unsafe impl<T: Element> Sync for Buffer<T> {}

impl<T: Element> Buffer<T> {
    /// Creates a buffer with a copy of `data`.
    ///
    /// # Errors
    /// [`BufferError`], among others [`BufferError::OutOfMemory`] and [`BufferError::TooLarge`].
    pub fn from_slice(on: &impl BufferHome, data: &[T]) -> Result<Self, BufferError> {
        let mut buffer = Self::allocate(on, data.len())?;
        if let Some(memory) = &mut buffer.memory {
            // SAFETY: the memory is as large as `data`.
            unsafe { memory.write(0, data.as_ptr().cast(), size_of_val(data))? };
        }
        buffer.len = data.len();
        tracing::debug!(
            bytes = size_of_val(data),
            device = on.device_name(),
            "copied to the device"
        );
        Ok(buffer)
    }

    /// Creates a buffer of `len` times `value`.
    ///
    /// # Errors
    /// [`BufferError`], among others [`BufferError::OutOfMemory`] and [`BufferError::TooLarge`].
    pub fn filled(on: &impl BufferHome, len: usize, value: T) -> Result<Self, BufferError> {
        let mut buffer = Self::allocate(on, len)?;
        match &mut buffer.memory {
            Some(memory) if !memory.is_on_host() => memory.fill(&bytes_of(value))?,
            _ => {
                for index in 0..len {
                    // SAFETY: `allocate` made room for `len` elements, which the host reaches.
                    unsafe { buffer.elements.add(index).write(value) };
                }
            }
        }
        buffer.len = len;
        Ok(buffer)
    }

    /// Creates a buffer of `len` default values: zeros, for numbers.
    ///
    /// # Errors
    /// [`BufferError::OutOfMemory`] or [`BufferError::TooLarge`].
    pub fn with_len(on: &impl BufferHome, len: usize) -> Result<Self, BufferError>
    where
        T: Default,
    {
        Self::filled(on, len, T::default())
    }

    /// Creates a buffer for results of launches, without writing to its memory: the host reads it
    /// fast. It is small.
    pub(crate) fn for_results(
        queue: &Queue,
        len: usize,
    ) -> Result<Buffer<MaybeUninit<T>>, BufferError> {
        let mut allocate = |layout| queue.backend().allocate_for_results(layout);
        let mut buffer = Buffer::<MaybeUninit<T>>::allocate_by(&mut allocate, len)?;
        // There is room for as many elements, and any bytes are one.
        buffer.len = len;
        Ok(buffer)
    }

    /// Creates a buffer of zeros, which are written before the launches that are submitted to the
    /// queue afterwards.
    ///
    /// # Safety
    /// Zeros are a value of `T`. Nothing but launches of this queue uses the buffer until one of
    /// these has ended, or `wait_for_zeros` has; also, it is not dropped before.
    pub(crate) unsafe fn zeroed_in_order(queue: &Queue, len: usize) -> Result<Self, BufferError> {
        let mut buffer = Self::allocate(queue, len)?;
        if let Some(memory) = &mut buffer.memory
            && let Err(error) = queue.backend().zero_in_order(memory)
        {
            // A part of it may be in the queue.
            queue.backend().wait_for_zeros();
            return Err(error);
        }
        buffer.len = len;
        Ok(buffer)
    }

    /// Creates a buffer without writing to its memory.
    pub(crate) fn uninit(
        on: &impl BufferHome,
        len: usize,
    ) -> Result<Buffer<MaybeUninit<T>>, BufferError> {
        let mut buffer = Buffer::<MaybeUninit<T>>::allocate(on, len)?;
        // There is room for as many elements, and any bytes are one.
        buffer.len = len;
        Ok(buffer)
    }

    /// Allocates memory for `capacity` elements; none is initialised yet.
    fn allocate(on: &impl BufferHome, capacity: usize) -> Result<Self, BufferError> {
        Self::allocate_by(&mut |layout| on.allocate(layout).map(|allocated| allocated.0), capacity)
    }

    fn allocate_by(allocate: ByLayout<'_>, capacity: usize) -> Result<Self, BufferError> {
        let memory = allocate_for(allocate, Layout::new::<T>(), capacity)?;
        let begin = memory.as_ref().map(BackendMemory::address);
        let elements = begin.map_or(NonNull::dangling(), NonNull::cast);
        Ok(Self { elements, len: 0, memory })
    }

    /// The number of elements.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A read-only view for kernels to capture.
    #[must_use]
    pub fn view(&self) -> View<'_, T> {
        if let Some(memory) = &self.memory {
            memory.shared();
        }
        View::new(self.elements())
    }

    /// An exclusive view: a source for [`Queue::for_each`](crate::Queue::for_each), or a capture
    /// with `unsafe` access.
    #[must_use]
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        self.exclusive(false)
    }

    /// The view; if it is `atomic`, only kernels of the buffer's device may access the elements
    /// through it.
    pub(crate) fn exclusive(&mut self, atomic: bool) -> ViewMut<'_, T> {
        if let Some(memory) = &mut self.memory {
            memory.exclusive(atomic);
        }
        // SAFETY: the buffer is borrowed exclusively while the view lives, and `len` elements are
        // initialised.
        unsafe { ViewMut::new(self.elements, self.len) }
    }

    /// A view of some of the elements, with indices from 0.
    ///
    /// # Errors
    /// [`BufferError::Range`] if the range ends beyond the buffer or before it starts.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<View<'_, T>, BufferError> {
        self.view().slice(range)
    }

    /// An exclusive view of some of the elements, with indices from 0.
    ///
    /// # Errors
    /// [`BufferError::Range`] if the range ends beyond the buffer or before it starts.
    pub fn slice_mut(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> Result<ViewMut<'_, T>, BufferError> {
        self.view_mut().slice(range)
    }

    /// A source that gives each work-item `size` consecutive elements to read, such as a row of an
    /// image; the last work-item gets the rest. A `size` of 0 is a launch error.
    #[must_use]
    pub fn chunks(&self, size: usize) -> Chunks<'_, T> {
        self.view().chunks(size)
    }

    /// A source that gives each work-item `size` consecutive elements to change; the last work-item
    /// gets the rest. A `size` of 0 is a launch error.
    #[must_use]
    pub fn chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        self.view_mut().chunks_mut(size)
    }

    pub(crate) const fn address(&self) -> *const T {
        self.elements.as_ptr()
    }

    pub(super) const fn memory(&self) -> Option<&BackendMemory> {
        self.memory.as_ref()
    }

    pub(crate) fn into_memory(self) -> Option<BackendMemory> {
        self.memory
    }

    pub(super) const fn memory_mut(&mut self) -> Option<&mut BackendMemory> {
        self.memory.as_mut()
    }

    /// The elements; the host must not access them if they are in device memory.
    pub(super) const fn elements(&self) -> &[T] {
        // SAFETY: `len` elements are initialised, and `&self` excludes writers.
        unsafe { slice::from_raw_parts(self.elements.as_ptr(), self.len) }
    }

    /// Like `elements`, to be changed.
    pub(super) const fn elements_mut(&mut self) -> &mut [T] {
        // SAFETY: `len` elements are initialised, and `&mut self` excludes everyone else.
        unsafe { slice::from_raw_parts_mut(self.elements.as_ptr(), self.len) }
    }
}

impl<T: Element> Buffer<MaybeUninit<T>> {
    /// The buffer, with all elements initialised.
    ///
    /// # Safety
    /// All elements have been written.
    pub(crate) unsafe fn assume_init(self) -> Buffer<T> {
        Buffer { elements: self.elements.cast(), len: self.len, memory: self.memory }
    }
}

impl<'a, T: Element> From<&'a Buffer<T>> for View<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.view()
    }
}

impl<'a, T: Element> From<&'a mut Buffer<T>> for ViewMut<'a, T> {
    fn from(buffer: &'a mut Buffer<T>) -> Self {
        buffer.view_mut()
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&*self.view()).finish()
    }
}
