//! Inclusive scan of integers: each group scans a tile, the tiles' sums are scanned in the same
//! way, and added.

use schism::local_array;
use schism::prelude::*;

use crate::Outcome;
use crate::data::mix;
use crate::measure::{Bench, Case, submit};

/// Work-items of a group.
const GROUP: usize = 256;

/// Elements of one work-item.
const EACH: usize = 4;

/// Elements of one group.
const TILE: usize = GROUP * EACH;

/// A level: the sums of the tiles of the previous level, and their scan.
struct Level {
    scanned: Buffer<u32>,
    sums: Buffer<u32>,
}

impl Level {
    fn new(queue: &Queue, len: usize) -> Result<Self, schism::Error> {
        let scanned = Buffer::with_len(queue, len)?;
        let sums = Buffer::with_len(queue, len.div_ceil(TILE))?;
        Ok(Self { scanned, sums })
    }
}

/// Scans each tile of `from`.
fn tiles(queue: &Queue, from: &Buffer<u32>, to: &mut Level) -> Result<Vec<Event>, schism::Error> {
    let range = NdRange::new(from.len().div_ceil(TILE) * GROUP, GROUP)?;
    let scanned = to.scanned.view_mut();
    let sources = (whole(from), per_group(&mut to.sums));
    submit(queue, |scope| {
        scope.for_each_in(range, sources, move |item, (from, group_sum)| {
            let shared = local_array!(item, u32; GROUP);
            let lane = item.local_x();
            let begin = item.x() * EACH;
            let own: [u32; EACH] =
                std::array::from_fn(|k| from.get(begin + k).copied().unwrap_or_default());
            let total = own.iter().fold(0_u32, |sum, own| sum.wrapping_add(*own));

            // The sums of the work-items up to this one.
            shared.set(lane, total);
            item.barrier();
            let mut distance = 1;
            while distance < GROUP {
                let before = if lane >= distance { shared.get(lane - distance) } else { 0 };
                item.barrier();
                shared.set(lane, shared.get(lane).wrapping_add(before));
                item.barrier();
                distance *= 2;
            }

            let mut sum = shared.get(lane).wrapping_sub(total);
            for (k, own) in own.into_iter().enumerate() {
                sum = sum.wrapping_add(own);
                if begin + k < scanned.len() {
                    // SAFETY: within the length; the elements are this work-item's own.
                    unsafe { scanned.set_unchecked(begin + k, sum) }
                }
            }
            if let Some(group_sum) = group_sum {
                *group_sum = shared.get(GROUP - 1);
            }
        })
    })
}

/// Adds to each tile the sum of those before it.
fn add(
    queue: &Queue,
    scanned: &mut Buffer<u32>,
    sums: &Buffer<u32>,
) -> Result<Vec<Event>, schism::Error> {
    submit(queue, |scope| {
        scope.for_each((0.., scanned, whole(sums)), |(place, scanned, sums)| {
            if place >= TILE {
                *scanned = scanned.wrapping_add(sums[place / TILE - 1]);
            }
        })
    })
}

/// Measures `scan`.
pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants(&["scan"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 26, 1 << 15);
    let queue = bench.queue();
    let numbers: Vec<u32> = (0..n).map(|place| mix(place as u32) >> 20).collect();
    let from = Buffer::from_slice(queue, &numbers)?;
    let mut first = Level::new(queue, n)?;
    let mut second = Level::new(queue, first.sums.len())?;
    let mut third = Level::new(queue, second.sums.len())?;
    for run in bench.runs(Case { kernel: "scan", element: "u32", size: n, bytes: 8 * n }) {
        let times = run.time(|| {
            let mut launches = tiles(&run.queue, &from, &mut first)?;
            launches.extend(tiles(&run.queue, &first.sums, &mut second)?);
            launches.extend(tiles(&run.queue, &second.sums, &mut third)?);
            launches.extend(add(&run.queue, &mut second.scanned, &third.scanned)?);
            launches.extend(add(&run.queue, &mut first.scanned, &second.scanned)?);
            Ok(launches)
        })?;
        run.report(&times, &first.scanned)?;
        run.check(&first.scanned, 0.0, || {
            let mut sum = 0_u32;
            let scan = numbers.iter().map(|number| {
                sum = sum.wrapping_add(*number);
                sum
            });
            scan.collect()
        });
    }
    Ok(())
}
