//! Workloads whose work-items meet at barriers.

use std::sync::atomic::Ordering::Relaxed;

use schism::local_array;
use schism::prelude::*;
use schism::{Local, NdItem};
use schism_bench::cpu::{COUNT, WAITING, Workload, words};
use schism_bench::{GROUP, SCANNED, SIDE, TILE, keys, matrices};

use crate::workload;

/// Byte values.
const BINS: usize = 256;
/// How deep work-items go that wait on stacks, and how often they wait twice at each depth.
const DEPTH: u32 = 10;
const ROUNDS: u32 = 10;
/// Groups that count.
const COUNTERS: usize = 64;

/// Makes a workload's inputs, if it is one of these.
pub(crate) fn open(queue: &Queue, name: &str) -> Result<Option<Workload>, schism::Report> {
    let q = queue.clone();
    let groups = NdRange::new(SCANNED, GROUP)?;
    let tiles = NdRange::new([SIDE, SIDE], [TILE, TILE])?;
    Ok(match name {
        "reduction" => {
            let from = Buffer::from_slice(queue, &keys(SCANNED))?;
            workload(Buffer::filled(queue, SCANNED / GROUP, 0_u32)?, move |sums| {
                let sources = (local::<u32>(GROUP), &from, per_group(sums.chunks_mut(1)));
                q.for_each_in(groups, sources, |item, (tile, from, mut sum)| {
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
                })
            })
        }
        "scan" => {
            let from = Buffer::from_slice(queue, &keys(SCANNED))?;
            workload(Buffer::filled(queue, SCANNED, 0_u32)?, move |to| {
                let sources = (local::<u32>(GROUP), local::<u32>(GROUP), &from, to);
                q.for_each_in(groups, sources, |item, (mut tile, mut other, from, to)| {
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
                })
            })
        }
        "transpose" => {
            let a = Buffer::from_slice(queue, &matrices().0)?;
            workload(Buffer::filled(queue, SIDE * SIDE, 0.0_f32)?, move |c| {
                let to = c.view_mut();
                q.for_each_in(tiles, whole(&a), move |item: NdItem<'_, 2>, a: &[f32]| {
                    let tile = local_array!(item, f32; TILE * (TILE + 1));
                    let [y, x] = item.local_id();
                    tile.set(y * (TILE + 1) + x, a[item.y() * SIDE + item.x()]);
                    item.barrier();
                    let [group_y, group_x] = item.group_id();
                    let place = (group_x * TILE + y) * SIDE + group_y * TILE + x;
                    // SAFETY: each work-item writes its own element.
                    unsafe { to.set_unchecked(place, tile.get(x * (TILE + 1) + y)) }
                })
            })
        }
        "sgemm" => {
            let (a, b) = matrices();
            let (a, b) = (Buffer::from_slice(queue, &a)?, Buffer::from_slice(queue, &b)?);
            workload(Buffer::filled(queue, SIDE * SIDE, 0.0_f32)?, move |c| {
                q.for_each_in(tiles, (whole(&a), whole(&b), c), |item, (a, b, c)| {
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
                })
            })
        }
        "histogram" => {
            let from = Buffer::from_slice(queue, &words())?;
            let range = NdRange::new(COUNTERS * BINS, BINS)?;
            workload(Buffer::filled(queue, BINS, 0_u32)?, move |counts| {
                q.for_each(&mut *counts, |count| *count = 0)?;
                let (words, counts) = (from.view(), counts.atomic_view());
                q.parallel_for(range, move |item| {
                    let bins = local_array!(item, u32; BINS).as_atomics();
                    let lane = item.local_x();
                    bins[lane].store(0, Relaxed);
                    item.barrier();
                    let [stride] = item.global_range();
                    let mut place = item.x();
                    while place < COUNT {
                        for byte in words[place].to_le_bytes() {
                            bins[usize::from(byte)].fetch_add(1, Relaxed);
                        }
                        place += stride;
                    }
                    item.barrier();
                    counts[lane].fetch_add(bins[lane].load(Relaxed), Relaxed);
                })
            })
        }
        "stacks" => {
            let groups = NdRange::new(WAITING, GROUP)?;
            workload(Buffer::filled(queue, WAITING, 0_u32)?, move |sums| {
                q.for_each_in(groups, (local::<u32>(GROUP), sums), |item, (tile, sum)| {
                    *sum = descend(&item, &tile, DEPTH, 0);
                })
            })
        }
        _ => None,
    })
}

/// Work-items wait at barriers in a loop, and so do those of the next depth. A kernel with recursion cannot be
/// cut at its barriers.
fn descend(item: &NdItem<'_, 1>, tile: &Local<'_, u32>, depth: u32, mut sum: u32) -> u32 {
    let i = item.local_x();
    for round in 0..ROUNDS {
        tile.set(i, sum ^ round);
        item.barrier();
        sum = sum.wrapping_add(tile.get((i + 1) % item.group_size()));
        item.barrier();
    }
    if depth == 1 { sum } else { descend(item, tile, depth - 1, sum).wrapping_mul(3) }
}
