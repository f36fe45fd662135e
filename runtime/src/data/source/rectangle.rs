//! A rectangle of a matrix, element by element.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

use crate::data::buffer::Buffer;
use crate::data::source::length::Lengths;
use crate::data::source::traits::{Prepare, Source, ready_at_once};
use crate::data::view::ViewMut;
use crate::error::{BufferError, LaunchError};
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;

/// A rectangle of a row-major matrix, whose elements are exclusive: see
/// [`Buffer::rectangle_mut`](crate::Buffer::rectangle_mut).
#[derive(Debug)]
pub struct RectangleMut<'a, T> {
    /// The first element of the rectangle.
    elements: NonNull<T>,
    /// From one row to the next.
    pitch: usize,
    rows: usize,
    columns: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element> Send for RectangleMut<'_, T> {}
// SAFETY: work-items share it, but each takes another element.
unsafe impl<T: Element> Sync for RectangleMut<'_, T> {}

impl<T: Element> RectangleMut<'_, T> {
    /// # Safety
    /// For the lifetime, nothing else reaches the elements of the rectangle, which lies in a matrix
    /// of rows that are `pitch` elements apart.
    pub(crate) const unsafe fn new(
        elements: NonNull<T>,
        pitch: usize,
        rows: usize,
        columns: usize,
    ) -> Self {
        Self { elements, pitch, rows, columns, borrow: PhantomData }
    }
}

// SAFETY: distinct indices are distinct elements: a row of the rectangle is no longer than one of
// the matrix.
unsafe impl<T: Element> Source for RectangleMut<'_, T> {
    type Item<'item> = &'item mut T;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> &'item mut T {
        let [row, column] = at.in_rows_of(self.columns);
        let place = row.wrapping_mul(self.pitch).wrapping_add(column);
        // SAFETY: the index is below the number of elements and this work-item's own; the borrow
        // outlives the launch.
        unsafe { self.elements.add(place).as_mut() }
    }
}

impl<T: Element, M> Prepare<M> for RectangleMut<'_, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        // All of these are parts of a buffer, so nothing wraps.
        let elements = self.rows.wrapping_mul(self.columns);
        let last_row = self.rows.saturating_sub(1).wrapping_mul(self.pitch);
        let reach = if elements == 0 { 0 } else { last_row.wrapping_add(self.columns) };
        lengths.changes(self.elements.as_ptr(), reach);
        lengths.add(elements)
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self { elements: placement.exclusive(self.elements), ..self }
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// A source of the elements of a rectangle of a matrix: see
    /// [`Buffer::rectangle_mut`](crate::Buffer::rectangle_mut).
    ///
    /// # Errors
    /// [`BufferError::Rectangle`] if the rectangle is not part of the matrix.
    pub fn rectangle_mut(
        self,
        width: usize,
        [rows, columns]: [Range<usize>; 2],
    ) -> Result<RectangleMut<'a, T>, BufferError> {
        let height = self.len().checked_div(width).unwrap_or(0);
        let is_part = |part: &Range<usize>, whole| part.start <= part.end && part.end <= whole;
        if !is_part(&rows, height) || !is_part(&columns, width) {
            return Err(BufferError::Rectangle { rows, columns, width, len: self.len() });
        }
        let (height, columns_in) = (rows.len(), columns.len());
        let first =
            if height == 0 || columns_in == 0 { 0 } else { rows.start * width + columns.start };
        // SAFETY: the rectangle is part of the matrix, and `self` is consumed.
        Ok(unsafe { RectangleMut::new(self.elements().add(first), width, height, columns_in) })
    }
}

impl<T: Element> Buffer<T> {
    /// A source that gives each work-item an element of a rectangle of a matrix, row by row. The
    /// matrix has rows of `width` elements, one after the other.
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
}
