//! Bodies under gravity, all pairs: each work-item moves one body and reads all.
//!
//! ```text
//! cargo schism run --release --example nbody -- [BODIES] [STEPS] [--check]
//! ```

use std::error::Error;
use std::time::Instant;

use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;

/// Keeps two bodies that meet from flying apart, squared.
const SOFTENING: f32 = 0.01;

/// Length of a time step.
const STEP: f32 = 0.001;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Body {
    position: [f32; 3],
    mass: f32,
    velocity: [f32; 3],
}

impl Body {
    /// The body one step later, under the attraction of all.
    fn moved(self, all: &[Body]) -> Self {
        let mut acceleration = [0.0_f32; 3];
        for other in all {
            let mut distance = [0.0_f32; 3];
            for axis in 0..3 {
                distance[axis] = other.position[axis] - self.position[axis];
            }
            let [x, y, z] = distance;
            let squared = x * x + y * y + z * z + SOFTENING;
            let pull = other.mass / (squared * squared.sqrt());
            for axis in 0..3 {
                acceleration[axis] += distance[axis] * pull;
            }
        }
        let mut moved = self;
        for axis in 0..3 {
            moved.velocity[axis] += acceleration[axis] * STEP;
            moved.position[axis] += moved.velocity[axis] * STEP;
        }
        moved
    }
}

/// A flat disc of bodies that turns around its centre.
fn disc(count: usize) -> Vec<Body> {
    // Numbers that look random and are the same everywhere (Park and Miller's generator).
    let mut state = 42_u64;
    let mut random = || {
        state = state * 48_271 % 2_147_483_647;
        state as f32 / 2_147_483_647.0
    };
    (0..count)
        .map(|_| {
            let (radius, turn) = (0.2 + random().sqrt(), random() * std::f32::consts::TAU);
            let (sin, cos) = turn.sin_cos();
            let speed = 0.9 * radius.sqrt();
            Body {
                position: [radius * cos, radius * sin, 0.05 * (random() - 0.5)],
                mass: 1.0 / count as f32,
                velocity: [-speed * sin, speed * cos, 0.0],
            }
        })
        .collect()
}

/// Kinetic and potential energy, in double precision.
fn energy(bodies: &[Body]) -> f64 {
    let mut sum = 0.0;
    for (index, body) in bodies.iter().enumerate() {
        let speed: f64 = body.velocity.iter().map(|v| f64::from(*v).powi(2)).sum();
        sum += 0.5 * f64::from(body.mass) * speed;
        for other in &bodies[..index] {
            let squared: f64 = (0..3)
                .map(|axis| f64::from(other.position[axis] - body.position[axis]).powi(2))
                .sum();
            let distance = (squared + f64::from(SOFTENING)).sqrt();
            sum -= f64::from(body.mass) * f64::from(other.mass) / distance;
        }
    }
    sum
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read(0, 2, "nbody [BODIES] [STEPS] [--check]")?;
    let (count, steps) = (arguments.number(0, 4096)?, arguments.number(1, 10)?);
    let bodies = disc(count);

    let queue = Queue::new()?;
    let mut now = Buffer::from_slice(&queue, &bodies)?;
    let mut next = Buffer::from_slice(&queue, &bodies)?;
    let start = Instant::now();
    for _ in 0..steps {
        queue.for_each((&mut next, &now, whole(&now)), |(next, body, all)| {
            *next = body.moved(all);
        })?;
        std::mem::swap(&mut now, &mut next);
    }
    println!("{count} bodies, {steps} steps on {}: {:.2?}", queue.device(), start.elapsed());
    let moved = now.to_vec();
    let (before, after) = (energy(&bodies), energy(&moved));
    println!("energy {before:.6} before, {after:.6} after");

    if arguments.check() {
        let mut host = bodies;
        for _ in 0..steps {
            host = host.iter().map(|body| body.moved(&host)).collect();
        }
        compare("nbody", &moved, &host)?;
    }
    Ok(())
}
