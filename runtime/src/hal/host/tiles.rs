//! Divides intervals of linear ids into boxes of a range.

use schism_jit_abi::CpuChunk;

use crate::launch::range::Extent;

/// Calls `run` for boxes that together are the work-items `begin..end`, in order: one box in one
/// dimension, at most three in two dimensions and five in three. Stops early where `run` returns an
/// error.
pub(crate) fn for_tiles<E>(
    extent: &Extent,
    begin: usize,
    end: usize,
    mut run: impl FnMut(&CpuChunk) -> Result<(), E>,
) -> Result<(), E> {
    let (range, offset) = (extent.xyz, extent.offset);
    let mut run =
        |begin, end| run(&CpuChunk { begin, end, range, offset, group: std::ptr::null() });
    if extent.dimensions == 1 {
        return run([begin, 0, 0], [end, 1, 1]);
    }
    let [nx, ny, _] = range;
    // Rows are numbered through all planes.
    let mut row = |row: usize, x_begin, x_end| {
        let (y, z) = (row % ny, row / ny);
        run([x_begin, y, z], [x_end, y + 1, z + 1])
    };
    let (mut first_row, x_begin) = (begin / nx, begin % nx);
    let (end_row, x_end) = (end / nx, end % nx);
    if first_row == end_row {
        return row(first_row, x_begin, x_end);
    }
    if x_begin != 0 {
        row(first_row, x_begin, nx)?;
        first_row += 1;
    }
    for_rows([nx, ny], first_row, end_row, &mut run)?;
    if x_end != 0 {
        let (y, z) = (end_row % ny, end_row / ny);
        run([0, y, z], [x_end, y + 1, z + 1])?;
    }
    Ok(())
}

/// The same for whole rows.
fn for_rows<E>(
    [nx, ny]: [usize; 2],
    begin: usize,
    end: usize,
    run: &mut impl FnMut([usize; 3], [usize; 3]) -> Result<(), E>,
) -> Result<(), E> {
    if begin == end {
        return Ok(());
    }
    let (mut first_plane, y_begin) = (begin / ny, begin % ny);
    let (end_plane, y_end) = (end / ny, end % ny);
    if first_plane == end_plane {
        return run([0, y_begin, first_plane], [nx, y_end, first_plane + 1]);
    }
    if y_begin != 0 {
        run([0, y_begin, first_plane], [nx, ny, first_plane + 1])?;
        first_plane += 1;
    }
    if first_plane != end_plane {
        run([0, 0, first_plane], [nx, ny, end_plane])?;
    }
    if y_end != 0 {
        run([0, 0, end_plane], [nx, y_end, end_plane + 1])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::for_tiles;
    use crate::launch::range::Extent;

    fn ids(extent: &Extent, begin: usize, end: usize) -> (Vec<usize>, usize) {
        let [nx, ny, _] = extent.xyz;
        let (mut ids, mut boxes) = (Vec::new(), 0);
        let Ok(()) = for_tiles::<Infallible>(extent, begin, end, |chunk| {
            boxes += 1;
            for z in chunk.begin[2]..chunk.end[2] {
                for y in chunk.begin[1]..chunk.end[1] {
                    ids.extend((chunk.begin[0]..chunk.end[0]).map(|x| (z * ny + y) * nx + x));
                }
            }
            Ok(())
        });
        (ids, boxes)
    }

    fn check_all_intervals(extent: Extent, most_boxes: usize) {
        for begin in 0..extent.items {
            for end in begin + 1..=extent.items {
                let (ids, boxes) = ids(&extent, begin, end);
                assert!(ids.iter().copied().eq(begin..end), "{extent:?} {begin}..{end}: {ids:?}");
                assert!(boxes <= most_boxes, "{extent:?} {begin}..{end}: {boxes} boxes");
            }
        }
    }

    #[test]
    fn every_interval_is_covered_in_order() {
        check_all_intervals(Extent::new(&[13]).expect("small"), 1);
        check_all_intervals(Extent::new(&[4, 5]).expect("small"), 3);
        check_all_intervals(Extent::new(&[1, 7]).expect("small"), 3);
        check_all_intervals(Extent::new(&[7, 1]).expect("small"), 3);
        check_all_intervals(Extent::new(&[3, 4, 5]).expect("small"), 5);
        check_all_intervals(Extent::new(&[4, 1, 3]).expect("small"), 5);
        check_all_intervals(Extent::new(&[1, 3, 1]).expect("small"), 5);
    }
}
