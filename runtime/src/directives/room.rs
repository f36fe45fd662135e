//! How many elements each iteration can own.

use std::ptr::NonNull;
use std::slice;

use smallvec::SmallVec;

/// No index of an element is further from 0.
const FURTHEST: i128 = 1 << 60;

/// Panics as a slice does, unless the index is below the length. An assertion of our own would keep
/// what its message has in memory, which loops over work-items would have to fill.
#[inline(always)]
#[track_caller]
pub(super) fn check(index: usize, len: usize) {
    // SAFETY: these elements have no bytes.
    let elements: &[()] = unsafe { slice::from_raw_parts(NonNull::dangling().as_ptr(), len) };
    let () = elements[index];
}

/// How many neighbouring elements each iteration can own in each lane, so that no two iterations own
/// the same. Each begins at its multiples of the strides from the first iteration's; `lanes` are where
/// that one's elements begin. An error if these are fewer than `least`.
pub(super) fn width(
    lanes: &[i128],
    strides: &[(i128, usize)],
    least: usize,
) -> Result<usize, String> {
    if strides.iter().any(|(_, count)| *count == 0) {
        return Ok(least);
    }
    let mut moving: SmallVec<[(i128, i128); 4]> = strides
        .iter()
        .filter(|(_, count)| *count > 1)
        .map(|(stride, count)| (*stride, (*count - 1) as i128))
        .collect();
    moving.sort_by_key(|(stride, _)| stride.unsigned_abs());
    // The distance from the first element of the iterations so far to the last of these.
    let (mut reach, mut room) = (0_i128, FURTHEST);
    let mut lowest = lanes.iter().copied().min().unwrap_or(0);
    let mut highest = lanes.iter().copied().max().unwrap_or(0);
    for (stride, last) in &mut moving {
        let size = stride.saturating_abs();
        room = room.min(size.saturating_sub(reach));
        let all = size.saturating_mul(*last);
        reach = reach.saturating_add(all);
        if *stride < 0 {
            lowest = lowest.saturating_sub(all);
        } else {
            highest = highest.saturating_add(all);
        }
        // Differences of iterations have both signs.
        *stride = size;
    }
    let is_known = lowest >= -FURTHEST && highest <= FURTHEST;
    if room > 0 && is_known && !moving.is_empty() {
        // All are small enough, as are their differences and those of points.
        let small = |(size, last): &(i128, i128)| (*size as i64, *last as i64);
        let moving: SmallVec<[(i64, i64); 4]> = moving.iter().map(small).collect();
        for (number, lane) in lanes.iter().enumerate() {
            for other in &lanes[..number] {
                room = room.min(nearest(&moving, (lane - other) as i64, true).into());
            }
        }
    }
    let room = room.max(0);
    if room < least as i128 {
        return Err("two iterations may access the same element".to_owned());
    }
    if !is_known {
        return Err(format!("the indices from {lowest} to {highest} are none"));
    }
    Ok(usize::try_from(room).unwrap_or(least))
}

/// How many neighbouring elements each iteration can own so that all that they own, in all lanes, is
/// less than `pitch`; `None` if there are none. The strides have a [`width`].
pub(super) fn plane_width(lanes: &[i128], strides: &[(i128, usize)], pitch: i128) -> Option<usize> {
    let ways = strides.iter().map(|(stride, count)| {
        stride.saturating_abs().saturating_mul(count.saturating_sub(1) as i128)
    });
    let reach = ways.fold(0, i128::saturating_add);
    let (least, most) = (lanes.iter().min()?, lanes.iter().max()?);
    let room = pitch.saturating_sub(reach).saturating_sub(most.saturating_sub(*least));
    usize::try_from(room).ok().filter(|room| *room > 0 && pitch <= FURTHEST)
}

/// How far `distance` is from the nearest difference of two iterations, which are other ones if
/// `is_same`. Strides are in order, and each is larger than the way through all before it.
fn nearest(strides: &[(i64, i64)], distance: i64, is_same: bool) -> i64 {
    let Some(((size, last), smaller)) = strides.split_last() else {
        return if is_same { FURTHEST as i64 } else { distance.abs() };
    };
    // The way through the smaller ones is less than a stride, so others are further.
    let middle = distance.div_euclid(*size);
    let (mut least, mut before) = (FURTHEST as i64, None);
    for count in middle - 1..=middle + 2 {
        let count = count.clamp(-*last, *last);
        if before.replace(count) != Some(count) {
            let rest = nearest(smaller, distance - count * size, is_same && count == 0);
            least = least.min(rest);
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{plane_width, width};

    /// Every point of small grids, with strides of both signs.
    #[test]
    fn no_two_points_own_the_same_element() {
        let mut accepted = 0;
        for a in -9_i128..10 {
            for b in -4..5 {
                for (m, n) in [(1, 1), (1, 4), (3, 1), (2, 3), (4, 2), (3, 4)] {
                    for least in 1..4 {
                        let strides = [(a, m), (b, n)];
                        let Ok(width) = width(&[5], &strides, least) else { continue };
                        assert!(width >= least);
                        accepted += 1;
                        let mut owners = HashMap::new();
                        for i in 0..m {
                            for j in 0..n {
                                let begin = a * i as i128 + b * j as i128;
                                for element in begin..begin + width.min(20) as i128 {
                                    let owner = owners.insert(element, (i, j));
                                    assert!(owner.is_none(), "{strides:?} {width}");
                                }
                            }
                        }
                    }
                }
            }
        }
        assert!(accepted > 500, "{accepted}");
    }

    #[test]
    fn what_is_no_index_is_refused() {
        assert!(width(&[0], &[(1, usize::MAX)], 1).is_err());
        assert!(width(&[i128::MAX], &[(1, 2)], 1).is_err());
        assert!(width(&[0], &[(i128::MIN, 2)], 1).is_err());
        assert!(width(&[0], &[(0, 2)], 1).is_err());
        assert_eq!(width(&[0], &[(0, 2), (1, 0)], 1), Ok(1));
        assert_eq!(width(&[0], &[(10, 5), (1, 10)], 1), Ok(1));
        assert_eq!(width(&[0], &[(10, 5)], 1), Ok(10));
        // What is checked at each access may have no room.
        assert_eq!(width(&[0], &[(0, 5)], 0), Ok(0));
        assert_eq!(width(&[0], &[(1, 5), (2, 5)], 0), Ok(0));
    }

    /// All lanes of small grids, against what a search finds.
    #[test]
    fn lanes_have_as_many_elements_as_there_are_between_them() {
        let (mut random, mut accepted) = (1_u64, 0);
        let mut below = |end: i128| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            i128::from(random >> 33) % end
        };
        for _ in 0..3000 {
            let counts: [usize; 3] = std::array::from_fn(|_| 1 + below(4) as usize);
            let strides: [(i128, usize); 3] =
                std::array::from_fn(|at| (below([6, 30, 90][at]) - 2, counts[at]));
            let lanes: Vec<i128> = (0..=below(4)).map(|_| below(120) - 20).collect();
            let mut begins: Vec<i128> = vec![0];
            for (stride, count) in strides {
                let steps = 0..count as i128;
                begins =
                    steps.flat_map(|at| begins.iter().map(move |own| own + at * stride)).collect();
            }
            let mut room = i128::MAX;
            for (number, a) in begins.iter().enumerate() {
                for b in begins[..number].iter() {
                    for lane in &lanes {
                        for other in &lanes {
                            room = room.min((a + lane - b - other).abs());
                        }
                    }
                }
            }
            match width(&lanes, &strides, 1) {
                Ok(width) if room == i128::MAX => assert_eq!(width, super::FURTHEST as usize),
                Ok(width) => {
                    assert_eq!(width as i128, room, "{lanes:?} {strides:?}");
                    accepted += usize::from(lanes.len() > 1);
                }
                // Strides that are not nested are refused, whether iterations meet or not.
                Err(_) => assert!(room == 0 || width(&lanes[..1], &strides, 1).is_err()),
            }
        }
        assert!(accepted > 200, "{accepted}");
    }

    #[test]
    fn planes_are_apart_or_there_are_none() {
        // Rows of 10 elements in planes of 50.
        let strides = [(10, 5), (1, 10)];
        assert_eq!(plane_width(&[0], &strides, 50), Some(1));
        assert_eq!(plane_width(&[0], &strides, 49), None);
        assert_eq!(plane_width(&[0, 50], &strides, 120), Some(21));
        assert_eq!(plane_width(&[0], &strides, -50), None);
        assert_eq!(plane_width(&[0], &strides, 0), None);
        assert_eq!(plane_width(&[0], &[(-7, 3)], 20), Some(6));
        assert_eq!(plane_width(&[3], &[], 4), Some(4));
    }
}
