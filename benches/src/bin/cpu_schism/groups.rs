//! Kernels whose work-items meet at barriers.

use schism::local_array;
use schism::prelude::*;
use schism_bench::{GROUP, SCANNED, SIDE, SORTED, TILE, checksum, keys, matrices, measure};

use super::{expect, peek};

/// Runs all of them.
pub(crate) fn run(queue: &Queue) -> Result<(), schism::Report> {
    let from = Buffer::from_slice(queue, &keys(SCANNED))?;
    let range = NdRange::new(SCANNED, GROUP)?;
    let mut sums = Buffer::filled(queue, SCANNED / GROUP, 0_u32)?;
    measure("group_sum", || {
        let sources = (local::<u32>(GROUP), &from, per_group(sums.chunks_mut(1)));
        expect(queue.for_each_in(range, sources, |item, (tile, from, mut sum)| {
            let i = item.local_x();
            tile.set(i, *from);
            item.barrier();
            let mut half = item.group_size() / 2;
            while half > 0 {
                if i < half {
                    tile.set(i, tile.get(i).wrapping_add(tile.get(i + half)));
                }
                item.barrier();
                half /= 2;
            }
            for (_, sum) in sum.iter_mut() {
                *sum = tile.get(0);
            }
        }));
        checksum(&peek(&sums), |sum| u64::from(*sum))
    });

    let mut scanned = Buffer::filled(queue, SCANNED, 0_u32)?;
    measure("group_scan", || {
        let sources = (local::<u32>(GROUP), local::<u32>(GROUP), &from, &mut scanned);
        let kernel =
            |item: NdItem<'_, 1>, sources: (Local<'_, u32>, Local<'_, u32>, &u32, &mut u32)| {
                let (mut tile, mut other, from, to) = sources;
                let i = item.local_x();
                tile.set(i, *from);
                item.barrier();
                let mut distance = 1;
                while distance < item.group_size() {
                    let before = if i >= distance { tile.get(i - distance) } else { 0 };
                    other.set(i, tile.get(i).wrapping_add(before));
                    item.barrier();
                    (tile, other) = (other, tile);
                    distance *= 2;
                }
                *to = tile.get(i);
            };
        expect(queue.for_each_in(range, sources, kernel));
        checksum(&peek(&scanned), |sum| u64::from(*sum))
    });
    drop((sums, scanned));

    let mut sorted = Buffer::filled(queue, SORTED, 0_u32)?;
    let from = Buffer::from_slice(queue, &keys(SORTED))?;
    let range = NdRange::new(SORTED, GROUP)?;
    measure("group_sort", || {
        let sources = (local::<u32>(GROUP), &from, &mut sorted);
        expect(queue.for_each_in(range, sources, |item, (tile, from, to)| {
            let i = item.local_x();
            tile.set(i, *from);
            item.barrier();
            let mut size = 2;
            while size <= item.group_size() {
                let mut distance = size / 2;
                while distance > 0 {
                    let other = i ^ distance;
                    if other > i {
                        let (a, b) = (tile.get(i), tile.get(other));
                        if (a > b) == (i & size == 0) {
                            tile.set(i, b);
                            tile.set(other, a);
                        }
                    }
                    item.barrier();
                    distance /= 2;
                }
                size *= 2;
            }
            *to = tile.get(i);
        }));
        checksum(&peek(&sorted), |key| u64::from(*key))
    });

    let (a, b) = matrices();
    let (a, b) = (Buffer::from_slice(queue, &a)?, Buffer::from_slice(queue, &b)?);
    let mut c = Buffer::filled(queue, SIDE * SIDE, 0.0_f32)?;
    let range = NdRange::new([SIDE, SIDE], [TILE, TILE])?;
    measure("transpose", || {
        let to = c.view_mut();
        let kernel = move |item: NdItem<'_, 2>, a: &[f32]| {
            let tile = local_array!(item, f32; TILE * (TILE + 1));
            let [y, x] = item.local_id();
            tile.set(y * (TILE + 1) + x, a[item.y() * SIDE + item.x()]);
            item.barrier();
            let [group_y, group_x] = item.group_id();
            let place = (group_x * TILE + y) * SIDE + group_y * TILE + x;
            // SAFETY: each work-item writes its own element.
            unsafe { to.set_unchecked(place, tile.get(x * (TILE + 1) + y)) }
        };
        expect(queue.for_each_in(range, whole(&a), kernel));
        checksum(&peek(&c), |c| u64::from(c.to_bits()))
    });
    measure("sgemm_tiles", || {
        let sources = (whole(&a), whole(&b), &mut c);
        expect(queue.for_each_in(range, sources, |item, (a, b, c)| {
            let a_tile = local_array!(item, f32; TILE * TILE);
            let b_tile = local_array!(item, f32; TILE * TILE);
            let ([row, column], [y, x]) = (item.global_id(), item.local_id());
            let mut sum = 0.0;
            for first in (0..SIDE).step_by(TILE) {
                a_tile.set(y * TILE + x, a[row * SIDE + first + x]);
                b_tile.set(y * TILE + x, b[(first + y) * SIDE + column]);
                item.barrier();
                for k in 0..TILE {
                    sum += a_tile.get(y * TILE + k) * b_tile.get(k * TILE + x);
                }
                item.barrier();
            }
            *c = sum;
        }));
        checksum(&peek(&c), |c| u64::from(c.to_bits()))
    });
    Ok(())
}
