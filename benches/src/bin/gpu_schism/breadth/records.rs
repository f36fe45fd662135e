//! Arrays of records: particles in a field, points and the nearest of some centres.

use schism::prelude::*;

use crate::Outcome;
use crate::data::unit;
use crate::measure::{Bench, Case, submit};
use crate::real::Digest;

/// A particle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    velocity: [f32; 3],
    mass: f32,
    charge: f32,
}

impl Digest for Particle {
    const NAME: &'static str = "particle";

    fn bits(self) -> u64 {
        let [x, y, z] = self.position.map(|x| u64::from(x.to_bits()));
        let [u, v, w] = self.velocity.map(|x| u64::from(x.to_bits()));
        (x ^ y << 16 ^ z << 32).wrapping_mul(31) ^ u ^ v << 16 ^ w << 32
    }

    fn value(self) -> f64 {
        self.position.iter().chain(&self.velocity).map(|x| f64::from(*x)).sum()
    }
}

impl Particle {
    /// A step in a magnetic field and towards the origin (Boris, 1970).
    fn moved(&self, step: f32) -> Self {
        let field = [0.1, 0.2 * self.position[0], 1.0 - 0.1 * self.position[1]];
        let push = self.position.map(|x| -0.5 * x * step * self.charge / self.mass);
        let half = |v: [f32; 3]| -> [f32; 3] { std::array::from_fn(|i| v[i] + 0.5 * push[i]) };
        let cross = |a: [f32; 3], b: [f32; 3]| {
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        };
        let t = field.map(|b| 0.5 * b * step * self.charge / self.mass);
        let squared: f32 = t.iter().map(|t| t * t).sum();
        let minus = half(self.velocity);
        let turned = cross(minus, t);
        let prime: [f32; 3] = std::array::from_fn(|i| minus[i] + turned[i]);
        let s = t.map(|t| 2.0 * t / (1.0 + squared));
        let turned = cross(prime, s);
        let velocity = half(std::array::from_fn(|i| minus[i] + turned[i]));
        let position = std::array::from_fn(|i| self.position[i] + velocity[i] * step);
        Self { position, velocity, ..*self }
    }
}

const DIMENSIONS: usize = 8;
type Point = [f32; DIMENSIONS];

/// The nearest centre to a point.
fn nearest(point: &Point, centres: &[Point]) -> u32 {
    let (mut best, mut least) = (0, f32::INFINITY);
    for (index, centre) in centres.iter().enumerate() {
        let squared = point.iter().zip(centre).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
        if squared < least {
            (best, least) = (index as u32, squared);
        }
    }
    best
}

/// Measures `particles` and `kmeans`.
pub fn run(bench: &Bench) -> Outcome {
    particles(bench)?;
    kmeans(bench)
}

fn particles(bench: &Bench) -> Outcome {
    if !bench.wants(&["particles"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 22, 1 << 10);
    let number = |i: usize, k: usize| unit((8 * i + k) as u32 ^ 0x3030_0000);
    let particle = |i: usize| Particle {
        position: std::array::from_fn(|k| number(i, k) - 0.5),
        velocity: std::array::from_fn(|k| number(i, k + 3) - 0.5),
        mass: 1.0 + number(i, 6),
        charge: number(i, 7) - 0.5,
    };
    let all: Vec<_> = (0..n).map(particle).collect();
    let from = Buffer::from_slice(bench.queue(), &all)?;
    let mut to = Buffer::<Particle>::with_len(bench.queue(), n)?;
    let case = Case { kernel: "particles", element: Particle::NAME, size: n, bytes: 64 * n };
    let step = 0.01;
    for run in bench.runs(case) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each((&mut to, &from), move |(to, from)| *to = from.moved(step))
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 1e-3, || all.iter().map(|particle| particle.moved(step)).collect());
    }
    Ok(())
}

fn kmeans(bench: &Bench) -> Outcome {
    if !bench.wants(&["kmeans"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 22, 1 << 10);
    let point = |i: usize, seed: u32| -> Point {
        std::array::from_fn(|k| unit((DIMENSIONS * i + k) as u32 ^ seed))
    };
    let points: Vec<_> = (0..n).map(|i| point(i, 0)).collect();
    let centres: Vec<_> = (0..16).map(|i| point(i, 0x5050_0000)).collect();
    let from = Buffer::from_slice(bench.queue(), &points)?;
    let middle = Buffer::from_slice(bench.queue(), &centres)?;
    let mut to = Buffer::<u32>::with_len(bench.queue(), n)?;
    for run in bench.runs(Case { kernel: "kmeans", element: "u32", size: n, bytes: 36 * n }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each((&mut to, &from, whole(&middle)), |(to, point, centres)| {
                    *to = nearest(point, centres);
                })
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 16.0, || points.iter().map(|point| nearest(point, &centres)).collect());
    }
    Ok(())
}
