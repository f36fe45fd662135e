//! Bodies that attract each other, as a game has them: a galaxy by Barnes and Hut, and a smaller
//! one by all pairs.

#![forbid(unsafe_code)]

use particular::parallel::{BarnesHutSoftened, BruteForceSoftenedScalar};
use particular::prelude::*;
use workload::{Checksum, Random};

const GALAXY: usize = 20_000;
const CLUSTER: usize = 6_000;
const STEPS: usize = 20;
const STEP: f32 = 0.01;
const SOFTENING: f32 = 0.01;

#[derive(Clone, Copy, Particle)]
#[dim(3)]
struct Body {
    position: [f32; 3],
    mu: f32,
    velocity: [f32; 3],
}

fn bodies(count: usize, random: &mut Random) -> Vec<Body> {
    let body = |_| Body {
        position: [(); 3].map(|()| random.normal() as f32),
        mu: (random.unit() / count as f64) as f32,
        velocity: [0.0; 3],
    };
    (0..count).map(body).collect()
}

fn advance(bodies: &mut [Body], accelerations: impl Iterator<Item = [f32; 3]>) {
    for (body, acceleration) in bodies.iter_mut().zip(accelerations) {
        for axis in 0..3 {
            body.velocity[axis] += acceleration[axis] * STEP;
            body.position[axis] += body.velocity[axis] * STEP;
        }
    }
}

fn main() {
    let mut random = Random::new(2);
    let mut galaxy = bodies(GALAXY, &mut random);
    let mut cluster = bodies(CLUSTER, &mut random);
    for _ in 0..STEPS {
        let mut by_tree = BarnesHutSoftened { theta: 0.5, softening: SOFTENING };
        let accelerations: Vec<_> = galaxy.iter().accelerations(&mut by_tree).collect();
        advance(&mut galaxy, accelerations.into_iter());
        let mut by_pairs = BruteForceSoftenedScalar { softening: SOFTENING };
        let accelerations: Vec<_> = cluster.iter().accelerations(&mut by_pairs).collect();
        advance(&mut cluster, accelerations.into_iter());
    }
    let mut checksum = Checksum::default();
    for body in galaxy.iter().chain(&cluster) {
        body.position.iter().for_each(|value| checksum.exact(f64::from(*value)));
    }
    checksum.print();
}
