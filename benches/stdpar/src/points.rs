//! A step of k-means: each point to its nearest centre, and the centres of the points. Coordinates
//! are such that sums are exact.

use rayon::prelude::*;

use crate::measure::{Bench, checksum};
use crate::random::Random;

const CENTRES: usize = 16;

type Point = [f32; 3];

fn nearest(point: &Point, centres: &[Point; CENTRES]) -> usize {
    let mut best = (0, f32::INFINITY);
    for (index, centre) in centres.iter().enumerate() {
        let distance: f32 = point.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum();
        if distance < best.1 {
            best = (index, distance);
        }
    }
    best.0
}

#[derive(Clone, Copy, Default)]
struct Cluster {
    sum: [f64; 3],
    points: u32,
}

type Clusters = [Cluster; CENTRES];

fn joined(mut a: Clusters, b: Clusters) -> Clusters {
    for (a, b) in a.iter_mut().zip(&b) {
        for (a, b) in a.sum.iter_mut().zip(&b.sum) {
            *a += b;
        }
        a.points += b.points;
    }
    a
}

/// Measures it.
pub fn run(bench: &Bench) {
    if !bench.wants(&["kmeans"]) {
        return;
    }
    let mut random = Random::new(4);
    let mut coordinate = || random.below(1024) as f32 / 64.0;
    let points: Vec<Point> = (0..bench.size(400_000, 1_021))
        .map(|_| [coordinate(), coordinate(), coordinate()])
        .collect();
    let mut first = [[0.0; 3]; CENTRES];
    first.copy_from_slice(&points[..CENTRES]);
    bench.measure("kmeans", || {
        let mut centres = first;
        for _ in 0..2 {
            let clusters = points
                .par_iter()
                .fold(Clusters::default, |mut clusters, point| {
                    let cluster = &mut clusters[nearest(point, &centres)];
                    for (sum, coordinate) in cluster.sum.iter_mut().zip(point) {
                        *sum += f64::from(*coordinate);
                    }
                    cluster.points += 1;
                    clusters
                })
                .reduce(Clusters::default, joined);
            for (centre, cluster) in centres.iter_mut().zip(&clusters) {
                for (centre, sum) in centre.iter_mut().zip(&cluster.sum) {
                    *centre = (sum / f64::from(cluster.points.max(1))) as f32;
                }
            }
        }
        checksum(centres.iter().flatten().map(|value| u64::from(value.to_bits())))
    });
}
