//! Points of grids, and their row-major indices.

/// Row-major index of a position.
#[inline(always)]
pub(crate) const fn linear(id: [usize; 3], range: [usize; 3]) -> usize {
    // A launch never starts unless the product of its range fits in `usize`; wrapping keeps debug
    // builds free of checks.
    id[2].wrapping_mul(range[1]).wrapping_add(id[1]).wrapping_mul(range[0]).wrapping_add(id[0])
}

/// Row-major size of a range.
#[inline(always)]
pub(crate) const fn size([x, y, z]: [usize; 3]) -> usize {
    x.wrapping_mul(y).wrapping_mul(z)
}

/// A point of a grid of work-items or of groups: its row-major index, and its row and column. All
/// dimensions but the fastest count as rows.
#[derive(Clone, Copy, Debug)]
pub struct GridPoint {
    pub(crate) index: usize,
    pub(crate) row: usize,
    pub(crate) column: usize,
    /// The points of a row.
    pub(crate) columns: usize,
    /// The position in the order x, y, z.
    pub(crate) id: [usize; 3],
}

impl GridPoint {
    /// The point `id` of `range`, both in the order x, y, z.
    #[inline(always)]
    pub(crate) const fn new(id: [usize; 3], range: [usize; 3]) -> Self {
        let row = id[2].wrapping_mul(range[1]).wrapping_add(id[1]);
        Self { index: linear(id, range), row, column: id[0], columns: range[0], id }
    }

    /// The point `index` of a grid of one row.
    #[inline(always)]
    pub(crate) const fn on_a_line(index: usize, points: usize) -> Self {
        Self { index, row: 0, column: index, columns: points, id: [index, 0, 0] }
    }

    /// The row and the column in a grid with the same number of points and `columns` points in a
    /// row.
    #[inline(always)]
    pub(crate) const fn in_rows_of(self, columns: usize) -> [usize; 2] {
        if self.columns == columns {
            return [self.row, self.column];
        }
        // A division by 0 occurs only where there are no points.
        match (self.index.checked_div(columns), self.index.checked_rem(columns)) {
            (Some(row), Some(column)) => [row, column],
            _ => [0; 2],
        }
    }
}
