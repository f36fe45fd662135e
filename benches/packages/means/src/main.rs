//! Divides points among clusters by their means, and says to which each belongs.

#![forbid(unsafe_code)]

use linfa::DatasetBase;
use linfa::traits::{Fit, Predict};
use linfa_clustering::{KMeans, KMeansInit};
use ndarray::Array2;
use rand_xoshiro::Xoshiro256Plus;
use rand_xoshiro::rand_core::SeedableRng;
use workload::{Checksum, Random};

const POINTS: usize = 500_000;
const FEATURES: usize = 8;
const CLUSTERS: usize = 24;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut random = Random::new(12);
    let centres: Vec<f64> = (0..CLUSTERS * FEATURES).map(|_| 8.0 * random.unit()).collect();
    let points = Array2::from_shape_fn((POINTS, FEATURES), |(point, feature)| {
        centres[point % CLUSTERS * FEATURES + feature] + 2.0 * random.normal()
    });
    let data = DatasetBase::from(points);
    let model = KMeans::params_with_rng(CLUSTERS, Xoshiro256Plus::seed_from_u64(13))
        .init_method(KMeansInit::KMeansPlusPlus)
        .max_n_iterations(30)
        .n_runs(1)
        .tolerance(1e-3)
        .fit(&data)?;
    let mut checksum = Checksum::default();
    model.centroids().iter().for_each(|value| checksum.exact(*value));
    let members = model.predict(&data);
    members.iter().for_each(|cluster| checksum.number(*cluster as u64));
    checksum.print();
    Ok(())
}
