//! What the kernels with barriers compute, as one would write it for rayon.

use rayon::prelude::*;
use schism_bench::{GROUP, SCANNED, SIDE, SORTED, TILE, checksum, keys, matrices, measure};

/// Runs all of them.
pub(crate) fn run() {
    let from = keys(SCANNED);
    let mut sums = vec![0_u32; SCANNED / GROUP];
    measure("group_sum", || {
        sums.par_iter_mut().zip(from.par_chunks(GROUP)).for_each(|(sum, chunk)| {
            *sum = chunk.iter().fold(0, |sum, key| sum.wrapping_add(*key));
        });
        checksum(&sums, |sum| u64::from(*sum))
    });
    let mut scanned = vec![0_u32; SCANNED];
    measure("group_scan", || {
        scanned.par_chunks_mut(GROUP).zip(from.par_chunks(GROUP)).for_each(|(to, from)| {
            let mut sum = 0_u32;
            for (to, from) in to.iter_mut().zip(from) {
                sum = sum.wrapping_add(*from);
                *to = sum;
            }
        });
        checksum(&scanned, |sum| u64::from(*sum))
    });
    let from = keys(SORTED);
    let mut sorted = vec![0_u32; SORTED];
    measure("group_sort", || {
        sorted.par_chunks_mut(GROUP).zip(from.par_chunks(GROUP)).for_each(|(to, from)| {
            to.copy_from_slice(from);
            to.sort_unstable();
        });
        checksum(&sorted, |key| u64::from(*key))
    });
    let (a, b) = matrices();
    let mut c = vec![0.0_f32; SIDE * SIDE];
    measure("transpose", || {
        c.par_chunks_mut(SIDE * TILE).enumerate().for_each(|(tile, rows)| {
            for first in (0..SIDE).step_by(TILE) {
                for (column, row) in rows.chunks_mut(SIDE).enumerate() {
                    for k in first..first + TILE {
                        row[k] = a[k * SIDE + tile * TILE + column];
                    }
                }
            }
        });
        checksum(&c, |c| u64::from(c.to_bits()))
    });
    measure("sgemm_tiles", || {
        c.par_chunks_mut(SIDE).zip(a.par_chunks(SIDE)).for_each(|(c, a)| {
            c.fill(0.0);
            for (k, a) in a.iter().enumerate() {
                for (c, b) in c.iter_mut().zip(&b[k * SIDE..][..SIDE]) {
                    *c += a * b;
                }
            }
        });
        checksum(&c, |c| u64::from(c.to_bits()))
    });
}
