//! Typed memory of a device.

use std::alloc::{self, Layout};
use std::fmt;
use std::ops::{Range, RangeBounds};
use std::ptr::NonNull;
use std::slice;

use crate::data::home::BufferHome;
use crate::data::source::{
    CellChunks, Chunks, ChunksMut, Permuted, Permutes, RectangleMut, TilesMut,
};
use crate::data::view::{View, ViewMut};
use crate::error::BufferError;
use crate::hal::cuda::Memory;
use crate::kernel::element::Element;
use crate::kernel::group::GroupValue;
use crate::launch::options::bytes_of;

/// Buffers start on a boundary of this many bytes: a cache line on any host, and wide enough for any vector instruction.
const ALIGNMENT: usize = 128;

/// `len` elements of type `T` in memory that a device reaches. A buffer is made on a [queue](crate::Queue) or on a
/// [device](crate::Device); all queues of the device can use it.
///
/// The host reads and writes it by copying ([`read`](Self::read), [`write`](Self::write), [`to_vec`](Self::to_vec)). Kernels reach it
/// as sources of [`Queue::for_each`](crate::Queue::for_each), or through captured views ([`view`](Self::view), [`view_mut`](Self::view_mut),
/// [`atomic_view`](Self::atomic_view)). The borrow checker keeps these apart: while a launch may still use a buffer, the host cannot.
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
    /// On a device with memory of its own, an address that stands for the device's.
    elements: NonNull<T>,
    len: usize,
    layout: Layout,
    remote: Option<Memory>,
}

// SAFETY: a buffer owns its elements as a `Vec` does.
unsafe impl<T: Element> Send for Buffer<T> {}
// SAFETY: a shared buffer gives shared access only, and elements are `Sync`.
unsafe impl<T: Element> Sync for Buffer<T> {}

impl<T: Element> Buffer<T> {
    /// A buffer with a copy of `data`.
    ///
    /// # Errors
    /// [`BufferError`], among others [`BufferError::OutOfMemory`] and [`BufferError::TooLarge`].
    pub fn from_slice(on: &impl BufferHome, data: &[T]) -> Result<Self, BufferError> {
        let mut buffer = Self::allocate(on, data.len())?;
        if let Some(remote) = &mut buffer.remote {
            // SAFETY: the memory is as large as `data`.
            unsafe { remote.write(0, data.as_ptr().cast(), size_of_val(data))? };
        } else {
            // SAFETY: `allocate` made room for `data.len()` elements, which nothing else knows yet.
            unsafe {
                std::ptr::copy_nonoverlapping(data.as_ptr(), buffer.elements.as_ptr(), data.len())
            };
        }
        buffer.len = data.len();
        tracing::debug!(
            bytes = size_of_val(data),
            device = on.device_name(),
            "copied to the device"
        );
        Ok(buffer)
    }

    /// A buffer of `len` times `value`.
    ///
    /// # Errors
    /// [`BufferError`], among others [`BufferError::OutOfMemory`] and [`BufferError::TooLarge`].
    pub fn filled(on: &impl BufferHome, len: usize, value: T) -> Result<Self, BufferError> {
        let mut buffer = Self::allocate(on, len)?;
        if let Some(remote) = &mut buffer.remote {
            remote.fill(&bytes_of(value))?;
            buffer.len = len;
            return Ok(buffer);
        }
        for index in 0..len {
            // SAFETY: `allocate` made room for `len` elements.
            unsafe { buffer.elements.add(index).write(value) };
        }
        buffer.len = len;
        Ok(buffer)
    }

    /// A buffer of `len` default values: zeros, for numbers.
    ///
    /// # Errors
    /// [`BufferError::OutOfMemory`] or [`BufferError::TooLarge`].
    pub fn with_len(on: &impl BufferHome, len: usize) -> Result<Self, BufferError>
    where
        T: Default,
    {
        Self::filled(on, len, T::default())
    }

    /// Memory for `capacity` elements, of which none counts yet.
    fn allocate(on: &impl BufferHome, capacity: usize) -> Result<Self, BufferError> {
        let layout = Layout::array::<T>(capacity)
            .and_then(|layout| layout.align_to(ALIGNMENT))
            .map_err(|_| BufferError::TooLarge { len: capacity, element_size: size_of::<T>() })?;
        if layout.size() != 0
            && let Some(remote) = on.memory(size_of::<T>() * capacity)?
        {
            let elements = remote.shadow().cast();
            return Ok(Self { elements, len: 0, layout, remote: Some(remote) });
        }
        let elements = if layout.size() == 0 {
            NonNull::dangling()
        } else {
            // SAFETY: the size is not zero.
            NonNull::new(unsafe { alloc::alloc(layout) })
                .ok_or_else(|| BufferError::OutOfMemory {
                    bytes: layout.size(),
                    device: on.device_name(),
                    available: None,
                })?
                .cast()
        };
        Ok(Self { elements, len: 0, layout, remote: None })
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
        if let Some(remote) = &self.remote {
            remote.shared();
        }
        View::new(self.elements())
    }

    /// An exclusive view: a source for [`Queue::for_each`](crate::Queue::for_each), or a capture with `unsafe` access.
    #[must_use]
    pub fn view_mut(&mut self) -> ViewMut<'_, T> {
        self.exclusive(false)
    }

    /// The view; if it is `atomic`, only kernels of the buffer's device reach the elements through what is made of it.
    pub(crate) fn exclusive(&mut self, atomic: bool) -> ViewMut<'_, T> {
        if let Some(remote) = &mut self.remote {
            remote.exclusive(atomic);
        }
        // SAFETY: the buffer is borrowed exclusively while the view lives, and `len` elements are initialised.
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

    /// A source that gives each work-item `size` neighbouring elements to read, such as a row of an image; the last one gets
    /// what is left. A launch with a `size` of 0 is an error.
    #[must_use]
    pub fn chunks(&self, size: usize) -> Chunks<'_, T> {
        self.view().chunks(size)
    }

    /// A source that gives each work-item `size` neighbouring elements to change; the last one gets what is left. A launch with
    /// a `size` of 0 is an error.
    #[must_use]
    pub fn chunks_mut(&mut self, size: usize) -> ChunksMut<'_, T> {
        self.view_mut().chunks_mut(size)
    }

    /// A source that gives each group `size` neighbouring elements, which all of its work-items read and write in any order: see
    /// [`Cells`](crate::Cells), and [`per_group`](fn@crate::per_group). The last group gets what is left. A launch with a `size` of 0
    /// is an error.
    #[must_use]
    pub fn cells(&mut self, size: usize) -> CellChunks<'_, T>
    where
        T: GroupValue,
    {
        self.view_mut().cells(size)
    }

    /// A source of the tiles of a matrix, which has rows of `width` elements one after the other: `H` rows and `W` columns each, row by
    /// row of tiles. Tiles at the right and the lower edge may be cut off.
    ///
    /// There are as many tiles as it takes to cover the matrix. With [`per_group`](fn@crate::per_group), each group gets a tile, and each of its
    /// work-items a [share](crate::TileShare) of it. A launch whose matrix has no whole number of rows is an error.
    #[must_use]
    pub fn tiles_mut<const H: usize, const W: usize>(
        &mut self,
        width: usize,
    ) -> TilesMut<'_, T, H, W> {
        self.view_mut().tiles_mut(width)
    }

    /// A source that gives each work-item an element of a rectangle of a matrix, row by row. The matrix has rows of `width` elements, one
    /// after the other.
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::prelude::*;
    ///
    /// // The inner points of a grid become the mean of their neighbours.
    /// let queue = Queue::new()?;
    /// let (h, w) = (3, 4);
    /// let grid = Buffer::from_slice(&queue, &[0, 2, 2, 0, 4, 9, 9, 8, 0, 6, 6, 0])?;
    /// let mut next = Buffer::from_slice(&queue, &grid.to_vec())?;
    /// let inner = [1..h - 1, 1..w - 1];
    /// let sources = (next.rectangle_mut(w, inner.clone())?, whole(&grid));
    /// queue.for_each_in(inner, sources, move |item, (next, grid)| {
    ///     let at = item.y() * w + item.x();
    ///     *next = (grid[at - 1] + grid[at + 1] + grid[at - w] + grid[at + w]) / 4;
    /// })?;
    /// assert_eq!(next.to_vec(), [0, 2, 2, 0, 4, 5, 6, 8, 0, 6, 6, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`BufferError::Rectangle`] if the rectangle is not part of the matrix.
    pub fn rectangle_mut(
        &mut self,
        width: usize,
        [rows, columns]: [Range<usize>; 2],
    ) -> Result<RectangleMut<'_, T>, BufferError> {
        self.view_mut().rectangle_mut(width, [rows, columns])
    }

    /// A source that gives each work-item one element to change, in another order: work-item `i` gets the element where `order` has `i`.
    /// `order` is [`Reversal`](crate::Reversal), [`BitReversal`](crate::BitReversal), or the list of a
    /// [`Permutation`](crate::Permutation).
    ///
    /// ```
    /// # fn main() -> Result<(), schism::Error> {
    /// use schism::Reversal;
    /// use schism::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut numbers = Buffer::with_len(&queue, 4)?;
    /// queue.for_each((0.., numbers.permuted_mut(Reversal)), |(i, number)| *number = i)?;
    /// assert_eq!(numbers.to_vec(), [3, 2, 1, 0]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn permuted_mut<P: Permutes>(&mut self, order: P) -> Permuted<'_, T, P> {
        self.view_mut().permuted_mut(order)
    }

    pub(crate) const fn address(&self) -> *const T {
        self.elements.as_ptr()
    }

    pub(super) const fn remote(&self) -> Option<&Memory> {
        self.remote.as_ref()
    }

    pub(super) const fn remote_mut(&mut self) -> Option<&mut Memory> {
        self.remote.as_mut()
    }

    /// The elements, which the host must not look at if they are in a device's memory.
    pub(super) const fn elements(&self) -> &[T] {
        // SAFETY: `len` elements are initialised, and `&self` excludes writers.
        unsafe { slice::from_raw_parts(self.elements.as_ptr(), self.len) }
    }

    pub(super) const fn elements_mut(&mut self) -> &mut [T] {
        // SAFETY: `len` elements are initialised, and `&mut self` excludes everyone else.
        unsafe { slice::from_raw_parts_mut(self.elements.as_ptr(), self.len) }
    }
}

impl<'a, T: Element> From<&'a Buffer<T>> for View<'a, T> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.view()
    }
}

impl<T: Element> Drop for Buffer<T> {
    fn drop(&mut self) {
        if self.layout.size() != 0 && self.remote.is_none() {
            // SAFETY: allocated in `allocate` with this layout. Elements are `Copy` and need no drop.
            unsafe { alloc::dealloc(self.elements.as_ptr().cast(), self.layout) };
        }
    }
}

impl<T: Element + fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&*self.view()).finish()
    }
}
