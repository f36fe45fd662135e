//! Finds clusters of points among noise, by density.

#![forbid(unsafe_code)]

use ndarray::Array2;
use petal_clustering::{Dbscan, Fit, HDbscan};
use petal_neighbors::distance::Euclidean;
use std::collections::HashMap;
use workload::{Checksum, Random};

const POINTS: usize = 24_000;
const DIMENSIONS: usize = 6;
const GROUPS: usize = 12;

fn add(checksum: &mut Checksum, clusters: HashMap<usize, Vec<usize>>, noise: &[usize]) {
    let mut all: Vec<Vec<usize>> = clusters.into_values().chain([noise.to_vec()]).collect();
    all.iter_mut().for_each(|members| members.sort_unstable());
    all.sort();
    for members in all {
        checksum.number(members.len() as u64);
        members.iter().for_each(|member| checksum.number(*member as u64));
    }
}

fn main() {
    let mut random = Random::new(8);
    let centres: Vec<f64> = (0..GROUPS * DIMENSIONS).map(|_| 20.0 * random.unit()).collect();
    let points =
        Array2::from_shape_fn((POINTS, DIMENSIONS), |(point, axis)| match point % (GROUPS + 1) {
            GROUPS => 20.0 * random.unit(),
            group => centres[group * DIMENSIONS + axis] + random.normal(),
        });
    let mut checksum = Checksum::default();
    let (clusters, noise) = Dbscan::new(1.5, 8, Euclidean::default()).fit(&points, None);
    add(&mut checksum, clusters, &noise);
    let mut by_density = HDbscan {
        alpha: 1.0,
        min_samples: 10,
        min_cluster_size: 40,
        metric: Euclidean::default(),
        boruvka: true,
    };
    let (clusters, noise, _) = by_density.fit(&points, None);
    add(&mut checksum, clusters, &noise);
    checksum.print();
}
