//! An ordinary program with rayon: closures that capture small values by reference, in all kinds of
//! ways. It prints the same on every device.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Picture {
    width: usize,
    height: usize,
    scale: f64,
}

impl Picture {
    /// The closure captures a reference to what it is called on.
    fn draw(&self, pixels: &mut [f64]) {
        pixels.par_iter_mut().enumerate().for_each(|(index, pixel)| {
            let (column, row) = (index % self.width, index / self.width);
            *pixel = self.scale * column as f64 + row as f64 / self.height as f64;
        });
    }
}

/// A value that refers to another one.
struct Inner<'a> {
    factor: &'a u32,
    shift: u32,
}

struct Outer<'a> {
    inner: &'a Inner<'a>,
    add: u32,
}

/// More than fits.
struct Large([u64; 40]);

#[derive(Clone, Copy)]
enum Mode {
    Add(u32),
    Multiply(u32),
}

fn sum(values: &[u32]) -> u64 {
    values.iter().map(|value| u64::from(*value)).sum()
}

fn run(len: usize) {
    let numbers: Vec<u32> =
        (0..len as u32).map(|index| index.wrapping_mul(2_654_435_761)).collect();

    let picture = Picture { width: 33, height: len + 1, scale: 0.5 };
    let mut pixels = vec![0.0; len];
    picture.draw(&mut pixels);
    println!("picture {}", pixels.iter().sum::<f64>());

    // References behind references.
    let (factor, add) = (7, 11);
    let inner = Inner { factor: &factor, shift: 3 };
    let outer = Outer { inner: &inner, add };
    let through = &outer;
    let changed: Vec<u32> = numbers
        .par_iter()
        .map(|number| {
            (number >> through.inner.shift).wrapping_mul(*through.inner.factor) ^ through.add
        })
        .collect();
    println!("nested {}", sum(&changed));

    // An array, by an index that is not known; a slice of it; a large one.
    let weights = [1_u32, 10, 100, 1_000, 10_000];
    let part = &weights[1..4];
    let large = Large(std::array::from_fn(|index| index as u64 * 3 + 1));
    let weighted: Vec<u32> = numbers
        .par_iter()
        .map(|number| {
            weights[(number % 5) as usize]
                + part[(number % 3) as usize]
                + large.0[(number % 40) as usize] as u32
        })
        .collect();
    println!("arrays {}", sum(&weighted));
    let inside: u64 = numbers
        .par_iter()
        .map(|number| weights.iter().filter(|w| *w < number).count() as u64)
        .sum();
    println!("iterated {inside}");

    // Enums, options, tuples, a string and a vector of the stack's.
    let mode = if len % 2 == 0 { Mode::Add(5) } else { Mode::Multiply(3) };
    let (limit, pair) = (Some(1 << 30), (2_u32, 0.5_f32));
    let (text, table) = (String::from("a small text"), vec![3_u32, 1, 4, 1, 5, 9, 2, 6]);
    let mixed: Vec<u32> = numbers
        .par_iter()
        .map(|number| {
            let value = match mode {
                Mode::Add(other) => number.wrapping_add(other),
                Mode::Multiply(other) => number.wrapping_mul(other),
            };
            let value =
                if limit.is_some_and(|limit| value > limit) { value / pair.0 } else { value };
            let byte = u32::from(text.as_bytes()[(number % text.len() as u32) as usize]);
            value
                .wrapping_add(table[(number % 8) as usize])
                .wrapping_add(byte)
                .wrapping_add((pair.1 * 4.0) as u32)
        })
        .collect();
    println!("mixed {}", sum(&mixed));

    // Addresses that can be told apart: results that refer to what is captured, comparisons.
    let chosen = numbers.get(len / 2).copied().unwrap_or(0);
    let references: Vec<&u32> =
        numbers.par_iter().map(|number| if *number < chosen { &chosen } else { number }).collect();
    let same = references.iter().filter(|reference| std::ptr::eq(**reference, &chosen)).count();
    println!("references {same} {}", references.iter().map(|r| u64::from(**r)).sum::<u64>());
    let middle = numbers.get(len / 2);
    let found = numbers
        .par_iter()
        .filter(|number| middle.is_some_and(|middle| std::ptr::eq(*number, middle)))
        .count();
    println!("compared {found}");
    let at = std::ptr::from_ref(&picture).addr();
    let addresses = numbers
        .par_iter()
        .map(|_| std::ptr::from_ref(&picture).addr() == at)
        .filter(|is| *is)
        .count();
    println!("addresses {}", addresses == len);

    let (one, other) = (&picture, &picture);
    let twice = numbers.par_iter().filter(|_| std::ptr::eq(one, other)).count();
    println!("twice {}", twice == len);

    // What changes meanwhile is not copied.
    let count = AtomicU64::new(0);
    numbers.par_iter().for_each(|number| {
        count.fetch_add(u64::from(number % 7), Ordering::Relaxed);
    });
    println!("counted {}", count.into_inner());

    // What changes between launches is copied anew.
    let mut offset = 1_u32;
    let cell = Cell::new(3_u32);
    let mut total = 0_u64;
    for _ in 0..4 {
        let now = cell.get();
        let moved: Vec<u32> = numbers
            .par_iter()
            .map(|number| number.wrapping_add(offset).wrapping_mul(now))
            .collect();
        total += sum(&moved);
        offset = offset.wrapping_mul(31);
        cell.set(now + 2);
    }
    println!("again {total}");

    // A field of an item that is in a large vector.
    let points: Vec<[f32; 4]> =
        numbers.iter().map(|number| [*number as f32, 1.0, 2.0, 3.0]).collect();
    if let Some(first) = points.first() {
        let near = points
            .par_iter()
            .filter(|point| point[0] <= first[0] + 1e9 && point[3] == first[3])
            .count();
        println!("near {near}");
    }
    // Ordered results of groups.
    let base = Picture { width: 3, height: 4, scale: 2.0 };
    let joined = numbers
        .par_iter()
        .fold(
            || (0_u64, base.width as u64),
            |(a, b), number| (a.wrapping_mul(b) + u64::from(*number), b + base.height as u64),
        )
        .map(|(a, b)| a ^ b)
        .sum::<u64>();
    println!("folded {}", joined != 1);
}

fn main() {
    for len in [0, 1, 2, 31, 1000, 70_001] {
        println!("length {len}");
        run(len);
    }
}
