//! A library with a concrete kernel, generic ones, and kernels in a trait's implementations.
//!
//! Every kernel also writes which half ran: the last bit of its result.

use schism::prelude::*;

/// What kernels of this file work on.
pub trait Number: Element + Default + PartialEq + std::fmt::Debug {
    fn from_index(index: usize) -> Self;
    fn mix(self, other: Self) -> Self;
}

macro_rules! number {
    ($($ty:ty)*) => {$(
        impl Number for $ty {
            fn from_index(index: usize) -> Self {
                index as Self
            }
            fn mix(self, other: Self) -> Self {
                self * (2 as Self) - other
            }
        }
    )*};
}
number!(i32 i64 f32 f64);

/// Runs `launch` over `n` elements of `make`, and compares with the host's loop.
pub fn compare<T: Number>(
    queue: &Queue,
    n: usize,
    expected: impl Fn(usize, T) -> T,
    launch: impl Fn(View<'_, T>, ViewMut<'_, T>, ViewMut<'_, u8>),
) {
    let data: Vec<T> = (0..n).map(T::from_index).collect();
    let input = Buffer::from_slice(queue, &data).unwrap();
    let mut output = Buffer::from_slice(queue, &vec![T::default(); n]).unwrap();
    let mut halves = Buffer::from_slice(queue, &vec![0_u8; n]).unwrap();
    launch(input.view(), output.view_mut(), halves.view_mut());
    let host: Vec<T> = data.iter().enumerate().map(|(i, x)| expected(i, *x)).collect();
    assert_eq!(output.to_vec(), host);
    let half = if queue.device().name() == "native" { 1 } else { 2 };
    assert!(halves.to_vec().iter().all(|ran| *ran == half), "another half ran");
}

/// 2 on a device, 1 in the host's own body.
pub fn half() -> u8 {
    if schism::is_device() { 2 } else { 1 }
}

#[inline(never)]
pub fn not_generic(x: i32) -> i32 {
    (0..x % 7).fold(x, |sum, i| sum ^ (i << 3))
}

/// A kernel in a library, of a function that is not generic.
pub fn concrete(queue: &Queue, n: usize) {
    compare::<i32>(
        queue,
        n,
        |_, x| not_generic(x),
        |from, to, halves| {
            queue
                .parallel_for(n, move |item| {
                    let i = item.x();
                    // SAFETY: in range, its own elements.
                    unsafe {
                        to.set_unchecked(i, not_generic(from[i]));
                        halves.set_unchecked(i, half());
                    }
                })
                .unwrap();
        },
    );
}

/// A generic kernel, instantiated by its callers.
pub fn generic<T: Number>(queue: &Queue, n: usize, addend: T) {
    compare::<T>(
        queue,
        n,
        |_, x| x.mix(addend),
        |from, to, halves| {
            queue
                .parallel_for(n, move |item| {
                    let i = item.x();
                    // SAFETY: in range, its own elements.
                    unsafe {
                        to.set_unchecked(i, from[i].mix(addend));
                        halves.set_unchecked(i, half());
                    }
                })
                .unwrap();
        },
    );
}

/// Generic in a function, a constant and a trait, one inside the other.
pub fn nested<T: Number, const N: usize>(
    queue: &Queue,
    n: usize,
    f: impl Fn(T, T) -> T + Copy + Send + Sync + Capture,
) {
    fn inner<T: Number, F: Fn(T) -> T + Copy + Send + Sync + Capture, const N: usize>(
        queue: &Queue,
        n: usize,
        f: F,
    ) {
        let apply = move |x: T| (0..N).fold(x, |x, _| f(x));
        compare::<T>(
            queue,
            n,
            move |_, x| apply(x),
            |from, to, halves| {
                queue
                    .parallel_for(n, move |item| {
                        let i = item.x();
                        // SAFETY: in range, its own elements.
                        unsafe {
                            to.set_unchecked(i, apply(from[i]));
                            halves.set_unchecked(i, half());
                        }
                    })
                    .unwrap();
            },
        );
    }
    let one = T::from_index(1);
    inner::<T, _, N>(queue, n, move |x| f(x, one));
}

/// Something with kernels in its methods.
pub trait Filter {
    const NAME: &'static str;

    fn run(&self, queue: &Queue, n: usize);

    /// A kernel in a provided method.
    fn provided(&self, queue: &Queue, n: usize) {
        let length = Self::NAME.len() as i64;
        compare::<i64>(
            queue,
            n,
            |i, x| x + length - i as i64,
            |from, to, halves| {
                queue
                    .parallel_for(n, move |item| {
                        let i = item.x();
                        // SAFETY: in range, its own elements.
                        unsafe {
                            to.set_unchecked(i, from[i] + length - i as i64);
                            halves.set_unchecked(i, half());
                        }
                    })
                    .unwrap();
            },
        );
    }
}

pub struct Scale(pub f32);
pub struct Clamp<T>(pub T, pub T);

impl Filter for Scale {
    const NAME: &'static str = "scale";

    fn run(&self, queue: &Queue, n: usize) {
        let scale = self.0;
        compare::<f32>(
            queue,
            n,
            |_, x| x * scale + 1.0,
            |from, to, halves| {
                queue
                    .parallel_for(n, move |item| {
                        let i = item.x();
                        // SAFETY: in range, its own elements.
                        unsafe {
                            to.set_unchecked(i, from[i] * scale + 1.0);
                            halves.set_unchecked(i, half());
                        }
                    })
                    .unwrap();
            },
        );
    }
}

impl<T: Number + PartialOrd> Filter for Clamp<T> {
    const NAME: &'static str = "clamp to a range";

    fn run(&self, queue: &Queue, n: usize) {
        let (low, high) = (self.0, self.1);
        let clamp = move |x: T| {
            if x < low {
                low
            } else if x > high {
                high
            } else {
                x
            }
        };
        compare::<T>(
            queue,
            n,
            move |_, x| clamp(x),
            |from, to, halves| {
                queue
                    .parallel_for(n, move |item| {
                        let i = item.x();
                        // SAFETY: in range, its own elements.
                        unsafe {
                            to.set_unchecked(i, clamp(from[i]));
                            halves.set_unchecked(i, half());
                        }
                    })
                    .unwrap();
            },
        );
    }
}
