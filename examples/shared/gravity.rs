//! Bodies that attract each other.

/// Softening length, squared: it keeps close bodies from flying apart.
pub const SOFTENING: f32 = 0.01;

/// Length of a time step.
pub const STEP: f32 = 0.001;

/// A body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Body {
    /// Where it is.
    pub position: [f32; 3],
    /// How heavy it is.
    pub mass: f32,
    /// How fast it moves.
    pub velocity: [f32; 3],
}

impl Body {
    /// The body one step later, under the attraction of all.
    #[inline]
    #[must_use]
    pub fn moved(self, all: &[Body]) -> Self {
        let mut acceleration = [0.0_f32; 3];
        for other in all {
            let [x, y, z] = [0, 1, 2].map(|axis| other.position[axis] - self.position[axis]);
            let squared = x * x + y * y + z * z + SOFTENING;
            let pull = other.mass / (squared * squared.sqrt());
            for (sum, distance) in acceleration.iter_mut().zip([x, y, z]) {
                *sum += distance * pull;
            }
        }
        let mut moved = self;
        for (axis, acceleration) in acceleration.into_iter().enumerate() {
            moved.velocity[axis] += acceleration * STEP;
            moved.position[axis] += moved.velocity[axis] * STEP;
        }
        moved
    }
}

/// A flat disc of bodies that turns around its centre.
#[must_use]
pub fn disc(count: usize) -> Vec<Body> {
    // Pseudo-random numbers that are the same everywhere (Park and Miller's generator).
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
