//! The first examples of two models of directives: OpenACC's sum of scaled vectors, with a region
//! around two loops, and Intel's sum over of which only the first elements are sent.
//!
//! ```text
//! cargo schism run --release --example vectors -- [LENGTH] [--check]
//! ```

#![forbid(unsafe_code)]

use std::time::Instant;

use schism::directives::{acc, offload, with_queue};
use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;

/// `c = a + b`, and then `c` times a factor.
#[acc]
pub fn add_and_scale(a: &[f32], b: &[f32], factor: f32, c: &mut [f32]) {
    #[acc(data, copyin(a, b), copyout(c))]
    {
        #[acc(parallel, loop)]
        for i in 0..c.len() {
            c[i] = a[i] + b[i];
        }
        #[acc(parallel, loop)]
        for i in 0..c.len() {
            c[i] *= factor;
        }
    }
}

/// Adds the first elements of each vector to `to`, as many as the vector's extent says.
#[offload]
pub fn add_all(vectors: &[Vec<f32>], extents: &[usize], to: &mut [f32]) {
    for (vector, extent) in vectors.iter().zip(extents) {
        let used = &vector[..*extent];
        #[offload(in(used), inout(to))]
        for (sum, own) in to.iter_mut().zip(used) {
            *sum += own;
        }
    }
}

fn main() -> Result<(), Report> {
    let arguments = Arguments::read(0, 1, "vectors [LENGTH] [--check]")?;
    let n: usize = arguments.number(0, 1_000_000)?;
    let vectors: Vec<Vec<f32>> =
        (0..5).map(|own| (0..n).map(|i| ((i + own) % 100) as f32).collect()).collect();
    let extents: Vec<usize> = (1..=5).map(|own| n * own / 5).collect();
    let (mut scaled, mut sums) = (vec![0.0; n], vec![0.0; n]);

    let queue = Queue::new()?;
    let start = Instant::now();
    with_queue(&queue, || {
        add_and_scale(&vectors[0], &vectors[1], 0.5, &mut scaled);
        add_all(&vectors, &extents, &mut sums);
    });
    println!("7 launches over {n} elements on {} in {:.2?}", queue.device(), start.elapsed());

    if arguments.check() {
        let pairs = vectors[0].iter().zip(&vectors[1]);
        compare("scaled", &scaled, &pairs.map(|(a, b)| (a + b) * 0.5).collect::<Vec<_>>())?;
        let mut expected = vec![0.0; n];
        for (vector, extent) in vectors.iter().zip(&extents) {
            for (sum, own) in expected.iter_mut().zip(&vector[..*extent]) {
                *sum += own;
            }
        }
        compare("sums", &sums, &expected)?;
    }
    Ok(())
}
