//! Points of ten clusters, laid out in a plane as for a plot.
//!
//! Threads add forces in any order, and small differences grow: what is printed of the plane is how
//! many points have one of their own cluster next to them, in tenths.

#![forbid(unsafe_code)]

use bhtsne::tSNE;
use workload::{Checksum, Random};

const POINTS: usize = 8_000;
const DIMENSIONS: usize = 32;
const CLUSTERS: usize = 10;
const EPOCHS: usize = 1_000;

fn main() {
    let mut random = Random::new(3);
    let centres: Vec<f32> =
        (0..CLUSTERS * DIMENSIONS).map(|_| 6.0 * random.normal() as f32).collect();
    let mut data = Vec::with_capacity(POINTS * DIMENSIONS);
    for point in 0..POINTS {
        let centre = &centres[point % CLUSTERS * DIMENSIONS..][..DIMENSIONS];
        data.extend(centre.iter().map(|value| value + random.normal() as f32));
    }
    let samples: Vec<&[f32]> = data.chunks(DIMENSIONS).collect();
    let start: Vec<f32> = (0..2 * POINTS).map(|_| 1e-4 * random.normal() as f32).collect();
    let mut embedding: tSNE<f32, &[f32], 2> = tSNE::new(&samples);
    embedding.perplexity(20.0).epochs(EPOCHS).initial_embedding(start);
    embedding.barnes_hut(0.5, |a, b| {
        a.iter().zip(b.iter()).map(|(a, b)| (a - b).powi(2)).sum::<f32>().sqrt()
    });
    let mut checksum = Checksum::default();
    if let Some(affinities) = embedding.affinities() {
        affinities.columns().iter().for_each(|column| checksum.number(u64::from(*column)));
    }
    checksum.print();
    println!("{}", 10 * together(&embedding.embedding()) / POINTS);
}

/// How many points of a plane have one of their own cluster next to them.
fn together(plane: &[f32]) -> usize {
    let places: Vec<&[f32]> = plane.chunks(2).collect();
    let next = |point: usize| {
        let distance = |other: &usize| {
            let [a, b] = [places[point], places[*other]];
            (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)
        };
        let others = (0..POINTS).filter(|other| *other != point);
        others.min_by(|a, b| distance(a).total_cmp(&distance(b)))
    };
    let own = |point: &usize| next(*point).is_some_and(|next| next % CLUSTERS == point % CLUSTERS);
    (0..POINTS).filter(own).count()
}
