//! A step of Bellman and Ford's algorithm on a graph, and the edit distance of two words.

use std::sync::atomic::Ordering::Relaxed;

use schism::prelude::*;

use crate::Outcome;
use crate::data::mix;
use crate::measure::{Bench, Case, submit};

/// The letters of a word.
const WORD: usize = 32;

/// The edit distance of two words (Levenshtein), row by row (Wagner and Fischer, 1974).
fn edit_distance(a: &[u8; WORD], b: &[u8; WORD]) -> u32 {
    let mut row: [u32; WORD + 1] = std::array::from_fn(|place| place as u32);
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i as u32 + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + u32::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[WORD]
}

/// Measures `relax_edges` and `edit_distance`.
pub fn run(bench: &Bench) -> Outcome {
    relax_edges(bench)?;
    compare_words(bench)
}

fn relax_edges(bench: &Bench) -> Outcome {
    if !bench.wants(&["relax_edges"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 20, 1 << 10);
    let mut ends = vec![0_u32];
    for vertex in 0..n as u32 {
        ends.push(ends[vertex as usize] + mix(vertex) % 17);
    }
    let targets: Vec<u32> = (0..ends[n]).map(|edge| mix(edge ^ 0x2222_0000) % n as u32).collect();
    let lengths: Vec<u32> = (0..ends[n]).map(|edge| mix(edge ^ 0x4444_0000) % 100).collect();
    let distances: Vec<u32> =
        (0..n as u32).map(|vertex| mix(vertex ^ 0x6666_0000) % 1000).collect();
    let queue = bench.queue();
    let buffers = [&ends, &targets, &lengths, &distances].map(|all| Buffer::from_slice(queue, all));
    let [ends_of, targets_of, lengths_of, from] = buffers;
    let (ends_of, targets_of, lengths_of, from) = (ends_of?, targets_of?, lengths_of?, from?);
    let mut to = Buffer::from_slice(queue, &distances)?;
    for run in bench.runs(Case { kernel: "relax_edges", element: "u32", size: n, bytes: 0 }) {
        let times = run.time(|| {
            let nearest = to.atomic_view();
            submit(&run.queue, |scope| {
                let edges = (whole(&ends_of), whole(&targets_of), whole(&lengths_of));
                scope.for_each(
                    (0.., &from, edges),
                    move |(vertex, distance, (ends, targets, lengths))| {
                        let edges = ends[vertex] as usize..ends[vertex + 1] as usize;
                        for (target, length) in targets[edges.clone()].iter().zip(&lengths[edges]) {
                            nearest[*target as usize].fetch_min(distance + length, Relaxed);
                        }
                    },
                )
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 0.0, || {
            let mut nearest = distances.clone();
            for (vertex, distance) in distances.iter().enumerate() {
                for edge in ends[vertex] as usize..ends[vertex + 1] as usize {
                    let nearest = &mut nearest[targets[edge] as usize];
                    *nearest = (*nearest).min(distance + lengths[edge]);
                }
            }
            nearest
        });
    }
    Ok(())
}

fn compare_words(bench: &Bench) -> Outcome {
    if !bench.wants(&["edit_distance"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 18, 1 << 9);
    let word = |i: usize, seed: u32| -> [u8; WORD] {
        std::array::from_fn(|letter| (mix((WORD * i + letter) as u32 ^ seed) % 4) as u8)
    };
    let a: Vec<_> = (0..n).map(|i| word(i, 0)).collect();
    let b: Vec<_> = (0..n).map(|i| word(i, 0x0f0f_0000)).collect();
    let (from_a, from_b) =
        (Buffer::from_slice(bench.queue(), &a)?, Buffer::from_slice(bench.queue(), &b)?);
    let mut to = Buffer::<u32>::with_len(bench.queue(), n)?;
    for run in bench.runs(Case { kernel: "edit_distance", element: "u32", size: n, bytes: 0 }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each((&mut to, &from_a, &from_b), |(to, a, b)| *to = edit_distance(a, b))
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 0.0, || a.iter().zip(&b).map(|(a, b)| edit_distance(a, b)).collect());
    }
    Ok(())
}
