//! Bodies under gravity, all pairs.

use rayon::prelude::*;

use crate::measure::{Bench, checksum};
use crate::random::Random;

#[derive(Clone, Copy)]
struct Body {
    position: [f32; 3],
    velocity: [f32; 3],
    mass: f32,
}

const STEP: f32 = 1e-3;
const SOFTENING: f32 = 1e-4;

impl Body {
    /// The body after a step.
    fn moved(&self, all: &[Body]) -> Body {
        let mut force = [0.0_f32; 3];
        for other in all {
            let mut distance = [0.0_f32; 3];
            let mut squared = SOFTENING;
            for axis in 0..3 {
                distance[axis] = other.position[axis] - self.position[axis];
                squared += distance[axis] * distance[axis];
            }
            let factor = other.mass / (squared * squared.sqrt());
            for axis in 0..3 {
                force[axis] += distance[axis] * factor;
            }
        }
        let mut next = *self;
        for axis in 0..3 {
            next.velocity[axis] += force[axis] * STEP;
            next.position[axis] += next.velocity[axis] * STEP;
        }
        next
    }
}

/// Measures it.
pub fn run(bench: &Bench) {
    if !bench.wants(&["nbody"]) {
        return;
    }
    let mut random = Random::new(3);
    let mut coordinate = || random.unit() as f32 - 0.5;
    let bodies: Vec<Body> = (0..bench.size(3_000, 53))
        .map(|_| Body {
            position: [coordinate(), coordinate(), coordinate()],
            velocity: [coordinate(), coordinate(), coordinate()],
            mass: coordinate() + 1.0,
        })
        .collect();
    let mut next = bodies.clone();
    bench.measure("nbody", || {
        next.par_iter_mut().zip(&bodies).for_each(|(next, body)| *next = body.moved(&bodies));
        checksum(next.iter().map(|body| u64::from(body.position[1].to_bits())))
    });
}
