//! Points of ten clusters, laid out in a plane as for a plot.

#![forbid(unsafe_code)]

use bhtsne::tSNE;
use workload::{Checksum, Random};

const POINTS: usize = 3_000;
const DIMENSIONS: usize = 32;
const CLUSTERS: usize = 10;
const EPOCHS: usize = 600;

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
    embedding.embedding().iter().for_each(|value| checksum.exact(f64::from(*value)));
    checksum.print();
}
