//! An ordinary program with rayon: results that are joined, in the order of the items or in any.
//! It prints the same on every device.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;

/// `x -> a * x + b`; joining two does not commute.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Affine {
    a: u32,
    b: u32,
}

impl Affine {
    fn of(number: u32) -> Self {
        Self { a: number | 1, b: number.rotate_left(7) }
    }

    fn then(self, next: Self) -> Self {
        let a = next.a.wrapping_mul(self.a);
        Self { a, b: next.a.wrapping_mul(self.b).wrapping_add(next.b) }
    }
}

/// A result of more bytes than one result of each of 256 work-items may have.
#[derive(Clone, Copy)]
struct Histogram([u32; 96]);

fn histogram(numbers: &[u32]) -> u64 {
    let counts = numbers
        .par_iter()
        .fold_with(Histogram([0; 96]), |mut counts, number| {
            counts.0[(*number % 96) as usize] += 1;
            counts
        })
        .reduce(
            || Histogram([0; 96]),
            |mut left, right| {
                left.0.iter_mut().zip(right.0).for_each(|(left, right)| *left += right);
                left
            },
        );
    counts.0.iter().enumerate().map(|(index, count)| (index as u64 + 1) * u64::from(*count)).sum()
}

fn run(len: usize) {
    let numbers: Vec<u32> =
        (0..len as u32).map(|index| index.wrapping_mul(2_654_435_761) >> 8).collect();
    let small: Vec<f32> = numbers.iter().map(|number| (number % 16) as f32 / 4.0).collect();
    let bytes: Vec<u8> = numbers.iter().map(|number| *number as u8).collect();

    // In any order.
    let wide: u64 = numbers.par_iter().map(|number| u64::from(*number)).sum();
    let wrapped: u32 = numbers.par_iter().map(|number| number % 251).sum();
    let exact: f64 =
        small.par_iter().zip(&numbers).map(|(a, b)| f64::from(*a) * f64::from(b % 8)).sum();
    let some: f32 = small.par_iter().filter(|x| **x > 2.0).map(|x| x * 0.25).sum::<f32>().min(1e6);
    let product: f64 = small.par_iter().map(|x| if *x > 1.0 { 1.0 } else { -1.0 }).product();
    let odd = bytes.par_iter().filter(|byte| **byte % 2 == 1).count();
    let references: i64 = numbers.par_iter().map(|x| i64::from(*x) - 5).rev().sum();
    println!("{len}: {wide} {wrapped} {exact} {some} {product} {odd} {references}");

    // In the order of the items.
    let least = numbers.par_iter().min();
    let most = small.par_iter().copied().reduce(|| -1.0, f32::max);
    let all =
        numbers.par_iter().map(|x| Affine::of(*x)).reduce(|| Affine { a: 1, b: 0 }, Affine::then);
    let chained =
        numbers.par_iter().map(|x| Affine::of(*x)).with_min_len(5).reduce_with(Affine::then);
    let last = numbers.par_iter().enumerate().max_by_key(|(_, x)| *x % 1000);
    let first = numbers.par_iter().enumerate().min_by_key(|(_, x)| *x % 1000);
    println!("{least:?} {most} {all:?} {chained:?} {last:?} {first:?}");
    println!("{}", histogram(&numbers));

    let mapped: Vec<u64> = numbers.par_iter().map(|x| u64::from(*x) << 3).collect();
    let pairs: Vec<(u8, u32)> =
        bytes.par_iter().copied().zip(numbers.par_iter().copied()).collect();
    let kept: Vec<[u16; 9]> =
        (0..len).into_par_iter().map(|i| [i as u16; 9]).with_max_len(3).collect();
    let sum = |values: &mut dyn Iterator<Item = u64>| {
        values.fold(0_u64, |sum, value| sum.wrapping_mul(31).wrapping_add(value))
    };
    println!(
        "{} {} {}",
        sum(&mut mapped.iter().copied()),
        sum(&mut pairs.iter().map(|(a, b)| u64::from(*a) ^ u64::from(*b))),
        sum(&mut kept.iter().map(|x| u64::from(x[8])))
    );
    let (left, right): (Vec<u32>, Vec<u8>) =
        numbers.par_iter().map(|x| (x / 3, (x % 7) as u8)).unzip();
    println!(
        "{} {}",
        sum(&mut left.iter().map(|x| u64::from(*x))),
        sum(&mut right.iter().map(|x| u64::from(*x)))
    );
}

/// A closure and a reducer that panic, in the middle of many.
fn panics(len: usize) {
    let numbers: Vec<u32> = (0..len as u32).collect();
    let message = |result: Result<u32, Box<dyn std::any::Any + Send>>| match result {
        Ok(value) => format!("{value}"),
        Err(payload) => payload
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| payload.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default(),
    };
    let in_sum = catch_unwind(AssertUnwindSafe(|| {
        numbers
            .par_iter()
            .map(|x| if *x == 40_001 { panic!("not {}", 40_001) } else { *x % 3 })
            .sum()
    }));
    let in_reducer = catch_unwind(AssertUnwindSafe(|| {
        numbers.par_iter().copied().reduce(
            || 0,
            |left, right| if right > 70_000 { panic!("enough") } else { left.max(right) },
        )
    }));
    println!("{} {}", message(in_sum), message(in_reducer));
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for len in [0, 1, 2, 31, 32, 33, 255, 256, 257, 8_191, 100_003, 1 << 18, (1 << 19) + 77] {
        run(len);
    }
    panics(100_000);
}
