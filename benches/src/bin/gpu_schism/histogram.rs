//! Counts of each byte value: each group counts in local memory, and adds its counts to the global
//! ones.

use std::sync::atomic::Ordering::Relaxed;

use schism::local_array;
use schism::prelude::*;

use crate::Outcome;
use crate::data::mix;
use crate::measure::{Bench, Case, submit};
use crate::reduction::{GROUP, groups};

/// The number of byte values, and of work-items of a group.
const BINS: usize = 256;

/// Measures `histogram`.
pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants(&["histogram"]) {
        return Ok(());
    }
    const { assert!(BINS == GROUP) };
    let n = bench.settings().size(1 << 26, 1 << 15);
    let words: Vec<u32> = (0..n).map(|place| mix(place as u32)).collect();
    let from = Buffer::from_slice(bench.queue(), &words)?;
    let mut counts = Buffer::<u32>::with_len(bench.queue(), BINS)?;
    let range = NdRange::new(groups(bench) * GROUP, GROUP)?;
    for run in bench.runs(Case { kernel: "histogram", element: "u32", size: n, bytes: 4 * n }) {
        let times = run.time(|| {
            let mut launches =
                submit(&run.queue, |scope| scope.for_each(&mut counts, |count| *count = 0))?;
            let (words, counts) = (from.view(), counts.atomic_view());
            launches.extend(submit(&run.queue, |scope| {
                scope.parallel_for(range, move |item| {
                    let bins = local_array!(item, u32; BINS).as_atomics();
                    let lane = item.local_x();
                    bins[lane].store(0, Relaxed);
                    item.barrier();
                    let [stride] = item.global_range();
                    let mut place = item.x();
                    while place < words.len() {
                        for byte in words[place].to_le_bytes() {
                            bins[usize::from(byte)].fetch_add(1, Relaxed);
                        }
                        place += stride;
                    }
                    item.barrier();
                    counts[lane].fetch_add(bins[lane].load(Relaxed), Relaxed);
                })
            })?);
            Ok(launches)
        })?;
        run.report(&times, &counts)?;
        run.check(&counts, 0.0, || {
            let mut counts = vec![0; BINS];
            words.iter().flat_map(|word| word.to_le_bytes()).for_each(|byte| {
                counts[usize::from(byte)] += 1;
            });
            counts
        });
    }
    Ok(())
}
