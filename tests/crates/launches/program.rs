//! Launches kernels of both libraries and its own; each compares itself with the host's loop.

use library::{Clamp, Filter, Number, Scale};
use schism::prelude::*;

struct Row {
    bias: i32,
}

impl Row {
    fn launch(&self, queue: &Queue, n: usize) {
        let bias = self.bias;
        library::compare::<i32>(
            queue,
            n,
            |i, x| x + bias * i as i32,
            |from, to, halves| {
                queue
                    .parallel_for(n, move |item| {
                        let i = item.x();
                        // SAFETY: in range, its own elements.
                        unsafe {
                            to.set_unchecked(i, from[i] + bias * i as i32);
                            halves.set_unchecked(i, library::half());
                        }
                    })
                    .unwrap();
            },
        );
    }
}

/// Elements of a type of this crate, in a library's generic kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pair(i32, f32);

impl Number for Pair {
    fn from_index(index: usize) -> Self {
        Self(index as i32, index as f32 * 0.5)
    }
    fn mix(self, other: Self) -> Self {
        Self(self.0 - other.0, self.1 * other.1)
    }
}

pub fn all(queue: &Queue) {
    for n in [0, 1, 31, 32, 33, 1000] {
        library::concrete(queue, n);
        library::generic::<i32>(queue, n, 5);
        library::generic::<f32>(queue, n, 0.5);
        library::generic::<Pair>(queue, n, Pair(3, 1.5));
        library::nested::<f32, 4>(queue, n, |x, one| x * 0.5 + one);
        library::nested::<i64, 2>(queue, n, |x, one| x ^ (one << 5));
        Scale(1.5).run(queue, n);
        Scale(1.5).provided(queue, n);
        Clamp(2.0_f32, 9.0).run(queue, n);
        second::run(queue, n);
        let three = 3;
        second::with(queue, n, move |x| x * three);
        Row { bias: -4 }.launch(queue, n);
    }
}

#[allow(dead_code)]
fn main() {
    let queue = Queue::new().unwrap();
    all(&queue);
    // From several threads at once, over one queue and over several.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| all(&queue));
            scope.spawn(|| all(&Queue::new().unwrap()));
        }
    });
    println!("{}", queue.device());
}

#[cfg(test)]
mod tests {
    use schism::prelude::*;

    #[test]
    fn a_kernel_in_a_test() {
        let queue = Queue::new().unwrap();
        library::compare::<i64>(
            &queue,
            100,
            |_, x| x * x,
            |from, to, halves| {
                queue
                    .parallel_for(100, move |item| {
                        let i = item.x();
                        // SAFETY: in range, its own elements.
                        unsafe {
                            to.set_unchecked(i, from[i] * from[i]);
                            halves.set_unchecked(i, library::half());
                        }
                    })
                    .unwrap();
            },
        );
        assert_eq!(queue.device().name(), std::env::var("SCHISM_DEVICE").unwrap());
    }

    #[test]
    fn kernels_of_libraries_in_a_test() {
        super::all(&Queue::new().unwrap());
    }
}
