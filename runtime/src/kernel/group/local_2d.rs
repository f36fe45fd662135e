//! Local memory in two dimensions.

use crate::kernel::element::Element;
use crate::kernel::group::local::{Local, LocalArray, Placement, local};
use crate::kernel::group::value::{GroupValue, InLocal};
use crate::kernel::specialized::Specialized;

/// An array of rows in the local memory of a work-group: [`Local`] with two indices.
///
/// A launch adds it, see [`local_2d`](fn@local_2d), or the kernel declares it: `local_array!(item,
/// f32; 32, 33)` has 32 rows of 33 elements.
///
/// On a GPU, work-items that access a column of 32 elements at the same time conflict, because
/// local memory has 32 banks. Rows with one element more than are used avoid such bank conflicts.
#[derive(Debug)]
pub struct Local2d<'g, T> {
    /// As many as `rows` times `columns`.
    elements: Local<'g, T>,
    rows: usize,
    columns: usize,
}

impl<T> Clone for Local2d<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Local2d<'_, T> {}

impl<'g, T> Local2d<'g, T> {
    /// Interprets an array as `rows` rows of `columns` elements.
    ///
    /// # Panics
    /// If the array does not have as many elements.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn new(elements: Local<'g, T>, rows: usize, columns: usize) -> Self {
        assert!(
            rows.checked_mul(columns) == Some(elements.len()),
            "{rows} rows of {columns} elements are not {}",
            elements.len()
        );
        Self { elements, rows, columns }
    }

    /// The number of rows.
    #[inline(always)]
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The number of elements of a row.
    #[inline(always)]
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// All elements, row after row.
    #[inline(always)]
    #[must_use]
    pub const fn as_local(&self) -> Local<'g, T> {
        self.elements
    }

    /// The address of an element.
    #[inline(always)]
    #[track_caller]
    fn element(&self, [row, column]: [usize; 2]) -> *mut T {
        let (rows, columns) = (self.rows, self.columns);
        assert!(
            row < rows && column < columns,
            "no element [{row}, {column}] in [{rows}, {columns}]"
        );
        self.elements.as_mut_ptr().wrapping_add(row.wrapping_mul(columns).wrapping_add(column))
    }
}

impl<T: GroupValue> Local2d<'_, T> {
    /// The element at `[row, column]`.
    ///
    /// # Panics
    /// If there is no such row or column.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn get(&self, at: [usize; 2]) -> T {
        // SAFETY: it is one of the elements; work-items access them atomically, and users of
        // the raw pointer keep away from others.
        unsafe { T::load::<InLocal>(self.element(at)) }
    }

    /// Writes the element at `[row, column]`.
    ///
    /// # Panics
    /// If there is no such row or column.
    #[inline(always)]
    #[track_caller]
    pub fn set(&self, at: [usize; 2], value: T) {
        // SAFETY: as above.
        unsafe { value.store::<InLocal>(self.element(at)) };
    }
}

/// A source of `rows` rows of `columns` elements in the local memory of each group of a launch:
/// every work-item of a group gets the same rows, as [`Local2d`].
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// // Each group transposes its 2 x 2 numbers.
/// let queue = Queue::new()?;
/// let mut numbers = Buffer::from_slice(&queue, &[1, 2, 5, 6, 3, 4, 7, 8])?;
/// let range = NdRange::new([2, 4], [2, 2])?;
/// queue.for_each_in(range, (local_2d::<i32>(2, 2), &mut numbers), |item, (tile, number)| {
///     let [y, x] = item.local_id();
///     tile.set([y, x], *number);
///     item.barrier();
///     *number = tile.get([x, y]);
/// })?;
/// assert_eq!(numbers.to_vec(), [1, 3, 5, 7, 2, 4, 6, 8]);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub const fn local_2d<T: Element>(rows: usize, columns: usize) -> LocalArray2d<T> {
    // What does not fit in `usize` does not fit in any memory either.
    let elements = local(rows.saturating_mul(columns));
    LocalArray2d { elements, rows: Specialized::new(rows), columns: Specialized::new(columns) }
}

/// Rows that a launch asks for; see [`local_2d`](fn@local_2d).
#[derive(Debug)]
pub struct LocalArray2d<T> {
    elements: LocalArray<T>,
    rows: Specialized<usize>,
    columns: Specialized<usize>,
}

impl<T> Clone for LocalArray2d<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for LocalArray2d<T> {}

impl<T: Element> LocalArray2d<T> {
    /// Gives the array its place behind those that have one.
    pub(crate) fn place(&mut self, placement: &mut Placement) {
        self.elements.place(placement);
    }

    /// The rows of the running group.
    ///
    /// # Safety
    /// They were placed, and the launch has made room for them.
    #[inline(always)]
    pub(crate) unsafe fn handle<'g>(&self) -> Local2d<'g, T> {
        // SAFETY: the caller's promises.
        let elements = unsafe { self.elements.handle() };
        Local2d { elements, rows: self.rows.get(), columns: self.columns.get() }
    }
}

/// An array of constant length in the local memory of the running work-group:
/// `local_array!(item, f32; 256)` is a [`Local<f32>`](crate::Local).
///
/// Each place in the source that says `local_array!` is one array, whichever work-item comes there
/// and however often. In a generic function, instances with element types of the same size and
/// alignment share one array. Its elements are not initialised, see [`Local`].
///
/// With two lengths it is a [`Local2d`](crate::Local2d): `local_array!(item, f32; 32, 33)` has 32
/// rows of 33 elements.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut sums = Buffer::filled(&queue, 4, 0_u32)?;
/// let out = sums.view_mut();
/// queue.parallel_for(NdRange::new(4 * 8, 8)?, move |item| {
///     let tile = schism::local_array!(item, u32; 8);
///     tile.set(item.local_x(), item.x() as u32);
///     item.barrier();
///     if item.local_x() == 0 {
///         let sum = (0..tile.len()).map(|i| tile.get(i)).sum();
///         // SAFETY: one work-item of each group writes the group's element.
///         unsafe { out.set_unchecked(item.group_x(), sum) }
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
    ($item:expr, $type:ty; $rows:expr, $columns:expr) => {
        $crate::Local2d::new($crate::local_array!($item, $type; { $rows * $columns }), $rows, $columns)
    };
}
