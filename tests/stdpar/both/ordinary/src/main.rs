//! A program with parallel iterators, one of whose libraries launches kernels.

use rayon::prelude::*;

fn main() {
    let cubes = kernels::cubes(2000).expect("a launch");
    println!("{}", cubes.par_iter().map(|cube| cube ^ 5).sum::<u64>());
}
