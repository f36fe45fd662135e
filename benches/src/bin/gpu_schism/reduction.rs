//! The sum of a vector: each group sums a share, and one more group sums the partial sums.

use schism::local_array;
use schism::prelude::*;

use crate::Outcome;
use crate::data::between;
use crate::measure::{Bench, Case, submit};
use crate::real::Real;

/// Work-items of a group.
pub const GROUP: usize = 256;

/// The number of groups: eight for each multiprocessor of a large GPU fill it.
pub fn groups(bench: &Bench) -> usize {
    bench.settings().size(8 * 132, 8)
}

/// The sum of the values of a group's work-items, for its first work-item. `tile` has an element
/// for each of them.
#[inline]
pub fn sum_group<T: Real>(item: &NdItem<'_, 1>, tile: Local<'_, T>, value: T) -> T {
    let place = item.local_x();
    tile.set(place, value);
    item.barrier();
    let mut half = GROUP / 2;
    while half > 0 {
        if place < half {
            tile.set(place, tile.get(place) + tile.get(place + half));
        }
        item.barrier();
        half /= 2;
    }
    tile.get(0)
}

/// Sums `from` in groups; each writes its sum to `sums`.
fn sum(
    queue: &Queue,
    from: &Buffer<f32>,
    groups: usize,
    sums: &mut Buffer<f32>,
) -> Result<Vec<Event>, schism::Error> {
    let range = NdRange::new(groups * GROUP, GROUP)?;
    submit(queue, |scope| {
        let sources = (whole(from), per_group(sums));
        scope.for_each_in(range, sources, |item, (from, group_sum)| {
            let [stride] = item.global_range();
            let mut sum = 0.0;
            let mut place = item.x();
            while place < from.len() {
                sum += from[place];
                place += stride;
            }
            let sum = sum_group(&item, local_array!(item, f32; GROUP), sum);
            if let Some(group_sum) = group_sum {
                *group_sum = sum;
            }
        })
    })
}

/// Measures `reduction`.
pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants(&["reduction"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 27, 1 << 16);
    let numbers = between(1, n, 0.0, 1.0);
    let from = Buffer::from_slice(bench.queue(), &numbers)?;
    let groups = groups(bench);
    let mut sums = Buffer::with_len(bench.queue(), groups)?;
    let mut all = Buffer::with_len(bench.queue(), 1)?;
    for run in bench.runs(Case { kernel: "reduction", element: "f32", size: n, bytes: 4 * n }) {
        let times = run.time(|| {
            let mut launches = sum(&run.queue, &from, groups, &mut sums)?;
            launches.extend(sum(&run.queue, &sums, 1, &mut all)?);
            Ok(launches)
        })?;
        run.report(&times, &all)?;
        run.check_near(&all.to_vec(), 1e-4, || {
            vec![numbers.iter().map(|&number| f64::from(number)).sum::<f64>() as f32]
        });
    }
    Ok(())
}
