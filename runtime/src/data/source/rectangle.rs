//! A rectangle of a matrix, element by element.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::data::source::{Lengths, Placement, Prepare, Source, ready_at_once};
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;

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
    /// For the lifetime, nothing else reaches the elements of the rectangle, which lies in a matrix of rows that are `pitch` elements apart.
    pub(crate) const unsafe fn new(
        elements: NonNull<T>,
        pitch: usize,
        rows: usize,
        columns: usize,
    ) -> Self {
        Self { elements, pitch, rows, columns, borrow: PhantomData }
    }
}

// SAFETY: distinct indices are distinct elements: a row of the rectangle is no longer than one of the matrix.
unsafe impl<T: Element> Source for RectangleMut<'_, T> {
    type Item<'item> = &'item mut T;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> &'item mut T {
        let [row, column] = at.in_rows_of(self.columns);
        let place = row.wrapping_mul(self.pitch).wrapping_add(column);
        // SAFETY: the index is below the number of elements and this work-item's own; the borrow outlives the launch.
        unsafe { self.elements.add(place).as_mut() }
    }
}

impl<T: Element, M> Prepare<M> for RectangleMut<'_, T> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.elements_at(self.elements.as_ptr());
        // Both are parts of a buffer, so nothing wraps.
        lengths.add(self.rows.wrapping_mul(self.columns))
    }

    fn prepare(self, _: &mut Placement) -> Self {
        self
    }
}
