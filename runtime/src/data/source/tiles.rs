//! Tiles of a matrix.

use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::data::buffer::Buffer;
use crate::data::source::length::Lengths;
use crate::data::source::traits::{GroupSource, Prepare, Source, ready_at_once};
use crate::data::view::ViewMut;
use crate::error::LaunchError;
use crate::kernel::element::Element;
use crate::kernel::grid::GridPoint;
use crate::kernel::group::local::Placement;
use crate::kernel::group::member::Member;

/// Tiles of a row-major matrix: see [`Buffer::tiles_mut`](crate::Buffer::tiles_mut).
#[derive(Debug)]
pub struct TilesMut<'a, T, const H: usize, const W: usize> {
    elements: NonNull<T>,
    len: usize,
    /// Elements of a row of the matrix.
    width: usize,
    /// Rows of the matrix.
    height: usize,
    borrow: PhantomData<&'a mut [T]>,
}

// SAFETY: it stands for a `&mut [T]` of elements, which are `Send`.
unsafe impl<T: Element, const H: usize, const W: usize> Send for TilesMut<'_, T, H, W> {}
// SAFETY: work-items share it, but each takes other elements.
unsafe impl<T: Element, const H: usize, const W: usize> Sync for TilesMut<'_, T, H, W> {}

impl<'a, T: Element, const H: usize, const W: usize> TilesMut<'a, T, H, W> {
    pub(crate) const fn new(view: ViewMut<'a, T>, width: usize) -> Self {
        const { assert!(H > 0 && W > 0, "a tile has at least one element") };
        let height = match view.len().checked_div(width) {
            Some(height) => height,
            None => 0,
        };
        Self { elements: view.elements(), len: view.len(), width, height, borrow: PhantomData }
    }

    /// What a work-item owns of the tile at a point of the grid of tiles.
    ///
    /// # Safety
    /// The index of `at` is below the number of tiles. No other work-item has the same tile and the same
    /// number among as many members.
    #[inline(always)]
    unsafe fn tile<'item>(&self, at: GridPoint, member: Member) -> TileShare<'item, T, H, W> {
        let [row, column] = at.in_rows_of(self.width.div_ceil(W));
        let (row, column) = (row.wrapping_mul(H), column.wrapping_mul(W));
        let (below, beside) = (self.height.wrapping_sub(row), self.width.wrapping_sub(column));
        let first = row.wrapping_mul(self.width).wrapping_add(column);
        TileShare {
            // SAFETY: there is such a tile, so its first element is in the matrix.
            elements: unsafe { self.elements.add(first) },
            pitch: self.width,
            rows: if below < H { below } else { H },
            columns: if beside < W { beside } else { W },
            origin: [row, column],
            member,
            tile: PhantomData,
        }
    }
}

// SAFETY: tiles with distinct indices do not overlap.
unsafe impl<T: Element, const H: usize, const W: usize> Source for TilesMut<'_, T, H, W> {
    type Item<'item> = TileShare<'item, T, H, W>;

    #[inline(always)]
    unsafe fn get<'item>(&self, at: GridPoint) -> Self::Item<'item> {
        // SAFETY: the caller's promises.
        unsafe { self.tile(at, Member::ALONE) }
    }
}

// SAFETY: tiles with distinct indices do not overlap, and neither do what distinct members own of a
// tile.
unsafe impl<T: Element, const H: usize, const W: usize> GroupSource for TilesMut<'_, T, H, W> {
    type Item<'item> = TileShare<'item, T, H, W>;

    #[inline(always)]
    unsafe fn of_group<'item>(&self, group: GridPoint, member: Member) -> Self::Item<'item> {
        // SAFETY: the caller's promises.
        unsafe { self.tile(group, member) }
    }
}

impl<T: Element, const H: usize, const W: usize, M> Prepare<M> for TilesMut<'_, T, H, W> {
    type Source = Self;
    ready_at_once!();

    fn check(&self, lengths: &mut Lengths) -> Result<(), LaunchError> {
        lengths.changes(self.elements.as_ptr(), self.len);
        lengths.add_tiles(self.len, self.width, [H, W])
    }

    fn prepare(self, placement: &mut Placement) -> Self {
        Self { elements: placement.exclusive(self.elements), ..self }
    }
}

/// A work-item's share of a tile of a row-major matrix, of `H` rows and `W` columns: of the `n`
/// work-items of the tile's group, number `i` owns the elements `i`, `i + n`, `i + 2n` and so on of
/// the tile, in row-major order. Tiles at the bottom and right edges may be cut off; each work-item
/// then owns those of its elements that exist.
///
/// Kernels get it from [`per_group`](fn@crate::per_group) around
/// [`tiles_mut`](crate::Buffer::tiles_mut). Without `per_group`, a work-item owns its whole tile.
/// If a group has `W` work-items along `x`, each of them owns elements of one column, its own
/// [`local_x`](crate::NdItem::local_x).
///
/// As for [`Share`](crate::Share), no two work-items own the same element, so this is sound.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::prelude::*;
///
/// // The transpose of a matrix, by tiles. Both sides are read and written row by row.
/// let queue = Queue::new()?;
/// let (height, width) = (6, 5);
/// let matrix = Buffer::from_slice(&queue, &(0..30).collect::<Vec<u32>>())?;
/// let mut transpose = Buffer::filled(&queue, 30, 0)?;
/// let from = matrix.view();
/// // Two groups beside each other cover the 6 columns of the transpose, two below each other its 5 rows.
/// let range = NdRange::new([2 * 2, 2 * 4], [2, 4])?;
/// let tiles = per_group(transpose.tiles_mut::<4, 4>(height));
/// queue.for_each_in(range, (local_2d::<u32>(4, 5), tiles), move |item, (shared, mut tile)| {
///     let [row, column] = tile.origin();
///     for i in (item.local_y()..4).step_by(2) {
///         let (y, x) = (column + i, row + item.local_x());
///         if y < height && x < width {
///             shared.set([i, item.local_x()], from[y * width + x]);
///         }
///     }
///     item.barrier();
///     for ([y, x], to) in tile.iter_mut() {
///         *to = shared.get([x, y]);
///     }
/// })?;
/// assert_eq!(transpose.to_vec()[..12], [0, 5, 10, 15, 20, 25, 1, 6, 11, 16, 21, 26]);
/// # Ok(())
/// # }
/// ```
pub struct TileShare<'g, T, const H: usize, const W: usize> {
    /// The first element of the tile.
    elements: NonNull<T>,
    /// From one row of the tile to the next.
    pitch: usize,
    /// What there is of the tile.
    rows: usize,
    columns: usize,
    origin: [usize; 2],
    member: Member,
    tile: PhantomData<&'g mut [T]>,
}

impl<'g, T, const H: usize, const W: usize> TileShare<'g, T, H, W> {
    /// The row and the column of the matrix where the tile begins.
    #[inline(always)]
    #[must_use]
    pub const fn origin(&self) -> [usize; 2] {
        self.origin
    }

    /// The rows of the tile: `H`, or fewer at the lower edge of the matrix.
    #[inline(always)]
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The columns of the tile: `W`, or fewer at the right edge of the matrix.
    #[inline(always)]
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// The work-item's elements, each with its `[row, column]` in the tile.
    #[inline(always)]
    pub const fn iter_mut(&mut self) -> TileShareIter<'_, T, H, W> {
        // SAFETY: the share is borrowed exclusively as long as the iterator.
        unsafe { TileShareIter::new(self) }
    }
}

impl<'g, T, const H: usize, const W: usize> IntoIterator for TileShare<'g, T, H, W> {
    type Item = ([usize; 2], &'g mut T);
    type IntoIter = TileShareIter<'g, T, H, W>;

    #[inline(always)]
    fn into_iter(self) -> TileShareIter<'g, T, H, W> {
        // SAFETY: the share is gone.
        unsafe { TileShareIter::new(&self) }
    }
}

impl<'s, T, const H: usize, const W: usize> IntoIterator for &'s mut TileShare<'_, T, H, W> {
    type Item = ([usize; 2], &'s mut T);
    type IntoIter = TileShareIter<'s, T, H, W>;

    #[inline(always)]
    fn into_iter(self) -> TileShareIter<'s, T, H, W> {
        self.iter_mut()
    }
}

impl<T, const H: usize, const W: usize> fmt::Debug for TileShare<'_, T, H, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { origin, rows, columns, member, .. } = self;
        f.debug_struct("TileShare")
            .field("origin", origin)
            .field("rows", rows)
            .field("columns", columns)
            .field("member", member)
            .finish()
    }
}

/// The elements of a [`TileShare`], each with its `[row, column]` in the tile.
#[derive(Debug)]
pub struct TileShareIter<'s, T, const H: usize, const W: usize> {
    elements: NonNull<T>,
    pitch: usize,
    rows: usize,
    columns: usize,
    /// In row-major order of the whole tile, whatever there is of it.
    next: usize,
    step: usize,
    tile: PhantomData<&'s mut [T]>,
}

impl<T, const H: usize, const W: usize> TileShareIter<'_, T, H, W> {
    /// # Safety
    /// As long as the iterator is there, nothing else reaches the share's elements.
    #[inline(always)]
    const unsafe fn new(share: &TileShare<'_, T, H, W>) -> Self {
        Self {
            elements: share.elements,
            pitch: share.pitch,
            rows: share.rows,
            columns: share.columns,
            next: share.member.index,
            step: share.member.count,
            tile: PhantomData,
        }
    }
}

impl<'s, T, const H: usize, const W: usize> Iterator for TileShareIter<'s, T, H, W> {
    type Item = ([usize; 2], &'s mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<([usize; 2], &'s mut T)> {
        while self.next < const { H * W } {
            let (row, column) = (self.next / W, self.next % W);
            // A tile is far smaller than what fits in `usize`, and groups are small.
            self.next = self.next.wrapping_add(self.step);
            if row < self.rows && column < self.columns {
                let place = row.wrapping_mul(self.pitch).wrapping_add(column);
                // SAFETY: the element is in the matrix and in the tile, and the work-item's own; no
                // other call of `next` gives it.
                return Some(([row, column], unsafe { self.elements.add(place).as_mut() }));
            }
        }
        None
    }
}

impl<'a, T: Element> ViewMut<'a, T> {
    /// A source of the tiles of a matrix: see [`Buffer::tiles_mut`](crate::Buffer::tiles_mut).
    #[must_use]
    pub const fn tiles_mut<const H: usize, const W: usize>(
        self,
        width: usize,
    ) -> TilesMut<'a, T, H, W> {
        TilesMut::new(self, width)
    }
}

impl<T: Element> Buffer<T> {
    /// A source of the tiles of a matrix with rows of `width` elements, one after the other: `H`
    /// rows and `W` columns each, row by row of tiles. Tiles at the right and bottom edges may be
    /// cut off.
    ///
    /// There are as many tiles as cover the matrix. With [`per_group`](fn@crate::per_group), each
    /// group gets a tile, and each of its work-items a [share](crate::TileShare) of it. A matrix
    /// that is not a whole number of rows is a launch error.
    #[must_use]
    pub fn tiles_mut<const H: usize, const W: usize>(
        &mut self,
        width: usize,
    ) -> TilesMut<'_, T, H, W> {
        self.view_mut().tiles_mut(width)
    }
}
