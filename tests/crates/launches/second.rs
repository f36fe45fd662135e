//! A second library: instances of the first one's generic kernels, some of which the program has
//! too.

use library::{Clamp, Filter};
use schism::Queue;

pub fn run(queue: &Queue, n: usize) {
    library::generic::<i32>(queue, n, 7);
    library::generic::<f64>(queue, n, 0.25);
    Clamp(3_i64, 20).run(queue, n);
    Clamp(3_i64, 20).provided(queue, n);
}

/// A kernel of this crate that is generic over what the program gives it.
pub fn with<F: Fn(i32) -> i32 + Copy + Send + Sync + schism::Capture>(
    queue: &Queue,
    n: usize,
    f: F,
) {
    library::nested::<i32, 3>(queue, n, move |x, one| f(x) + one);
}
