//! Bodies under gravity, all pairs: each work-item moves one body and reads all.
//!
//! ```text
//! cargo schism run --release --example nbody -- [BODIES] [STEPS] [--check]
//! ```

use std::time::Instant;

use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;
use schism_examples::gravity::{Body, SOFTENING, disc};

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

fn main() -> Result<(), Report> {
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
