//! Gravity of all pairs of bodies: a group keeps as many bodies in local memory as it has
//! work-items.

use schism::prelude::*;
use schism::{Specialized, local_array};

use crate::Outcome;
use crate::data::between;
use crate::measure::{Bench, Case, submit};
use crate::real::Digest;

/// Work-items of a group, and bodies of a tile.
const GROUP: usize = 256;

/// Softening length, squared: it keeps close bodies from flying apart.
const SOFTENING: f32 = 0.01;

/// A position and a mass, or an acceleration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(16))]
struct Body {
    x: f32,
    y: f32,
    z: f32,
    mass: f32,
}

impl Digest for Body {
    const NAME: &'static str = "f32x4";

    fn bits(self) -> u64 {
        u64::from(self.x.to_bits())
            ^ u64::from(self.y.to_bits()) << 16
            ^ u64::from(self.z.to_bits()) << 32
    }

    fn value(self) -> f64 {
        f64::from(self.x) + f64::from(self.y) + f64::from(self.z)
    }
}

impl Body {
    /// Adds the attraction of another body to `acceleration`.
    #[inline(always)]
    fn pulled(self, acceleration: Self, other: Self) -> Self {
        let (x, y, z) = (other.x - self.x, other.y - self.y, other.z - self.z);
        let squared = x * x + y * y + z * z + SOFTENING;
        let inverse = 1.0 / squared.sqrt();
        let pull = other.mass * (inverse * inverse * inverse);
        Self {
            x: acceleration.x + x * pull,
            y: acceleration.y + y * pull,
            z: acceleration.z + z * pull,
            mass: 0.0,
        }
    }
}

/// The acceleration of a body under the attraction of all, with the help of its group.
#[inline(always)]
fn acceleration(item: NdItem<'_, 1>, body: &Body, bodies: &[Body]) -> Body {
    let tile = local_array!(item, Body; GROUP).as_mut_ptr();
    let lane = item.local_x();
    let mut acceleration = Body::default();
    for first in (0..bodies.len()).step_by(GROUP) {
        // SAFETY: the tile has an element for each work-item; what others read of it lies between
        // the barriers.
        unsafe { tile.add(lane).write(bodies[first + lane]) };
        item.barrier();
        for other in 0..GROUP {
            // SAFETY: all elements were written before the barrier, and are not again before the
            // next.
            let other = unsafe { tile.add(other).read() };
            acceleration = body.pulled(acceleration, other);
        }
        item.barrier();
    }
    acceleration
}

/// Measures `nbody`.
pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants(&["nbody"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 16, 1 << 10);
    let [x, y, z, mass] = [3, 5, 7, 11].map(|seed| between(seed << 20, n, -1.0, 1.0));
    let bodies: Vec<_> = (0..n)
        .map(|i| Body { x: x[i], y: y[i], z: z[i], mass: mass[i].abs() / n as f32 })
        .collect();
    let from = Buffer::from_slice(bench.queue(), &bodies)?;
    let mut to = Buffer::with_len(bench.queue(), n)?;
    let range = NdRange::new(n, GROUP)?;
    for run in bench.sized_runs(Case { kernel: "nbody", element: Body::NAME, size: n, bytes: 0 }) {
        let times = run.time(|| {
            let sources = (&from, whole(&from), &mut to);
            submit(&run.queue, |scope| {
                if run.is_specialised() {
                    let n = Specialized::new(n);
                    return scope.for_each_in(range, sources, move |item, (body, bodies, to)| {
                        *to = acceleration(item, body, &bodies[..*n]);
                    });
                }
                scope.for_each_in(range, sources, |item, (body, bodies, to)| {
                    *to = acceleration(item, body, bodies);
                })
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 1e-4, || {
            let acceleration = |body: &Body| {
                bodies.iter().fold(Body::default(), |sum, other| body.pulled(sum, *other))
            };
            bodies.iter().map(acceleration).collect()
        });
    }
    Ok(())
}
