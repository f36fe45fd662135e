//! Pipelines whose items have nothing to do with each other, and sums of floating-point numbers: items
//! are computed several at once. Prints results, which are the same whatever runs it. What is
//! summed are whole numbers, or powers of two, so that the order does not count.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

fn show(name: &str, length: usize, value: impl std::fmt::Debug) {
    println!("{name} of {length}: {value:?}");
}

/// Each number takes as many steps as it does.
fn collatz(mut number: u64) -> u32 {
    let mut steps = 0;
    while number > 1 {
        number = if number % 2 == 0 { number / 2 } else { 3 * number + 1 };
        steps += 1;
    }
    steps
}

fn root(number: f64) -> f64 {
    let mut root = number.max(1.0);
    while (root * root - number).abs() > 1e-9 * number {
        root = 0.5 * (root + number / root);
    }
    root
}

fn collected(length: usize) {
    let numbers: Vec<u32> =
        (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 13).collect();
    let roots: Vec<f64> = numbers.par_iter().map(|x| root(f64::from(*x))).collect();
    show("roots", length, &roots);
    let steps: Vec<u32> = (0..length).into_par_iter().map(|i| collatz(i as u64)).collect();
    show("collatz", length, &steps);
    let backwards: Vec<(usize, u32)> =
        numbers.par_iter().copied().rev().enumerate().map(|(i, x)| (i, x / 3)).collect();
    show("rev, enumerate", length, &backwards);
    let stepped: Vec<u8> =
        numbers.par_iter().zip(&steps).step_by(3).map(|(a, b)| (a ^ b) as u8).collect();
    show("zip, step_by", length, &stepped);
    // The longer one has items that are not taken.
    let shorter: Vec<u64> =
        numbers.par_iter().zip(3..3 + length / 2).map(|(a, b)| u64::from(*a) * b as u64).collect();
    show("zip with a shorter one", length, &shorter);
    let bounded: Vec<bool> = (0..length as i32)
        .into_par_iter()
        .with_min_len(4)
        .with_max_len(9)
        .map(|i| i % 7 == 3)
        .collect();
    show("with_min_len", length, &bounded);
    let mut changed = numbers.clone();
    changed.par_iter_mut().zip(&steps).for_each(|(x, steps)| {
        if *steps % 2 == 0 {
            *x = x.rotate_left(*steps % 32);
        }
    });
    show("for_each", length, &changed);
    let triples: Vec<[f32; 3]> =
        numbers.par_iter().map(|x| [*x as f32, 0.5, -(*x as f32)]).collect();
    show("triples", length, &triples);
    let updated: Vec<u32> = numbers.clone().into_par_iter().update(|x| *x += 1).collect();
    show("a vector's own", length, &updated);
    let table = [3_u8, 1, 4, 1, 5, 9, 2, 6];
    let looked_up: Vec<u8> = numbers.par_iter().map(|x| table[*x as usize % 8]).collect();
    show("a table", length, &looked_up);
    let by_hand: Vec<u32> = numbers
        .par_iter()
        .map(|x| {
            let mut digits = [0_u8; 8];
            let (mut rest, mut count) = (*x, 0);
            while rest != 0 {
                digits[count] = (rest % 16) as u8;
                rest /= 16;
                count += 1;
            }
            digits[..count].iter().rev().fold(0, |all, digit| all * 3 + u32::from(*digit))
        })
        .collect();
    show("digits", length, &by_hand);
}

fn sums(length: usize) {
    let numbers: Vec<f64> = (0..length).map(|i| (i * 7919 % 1000) as f64).collect();
    show("sum", length, numbers.par_iter().sum::<f64>());
    let dot: f64 = numbers.par_iter().zip(numbers.par_iter().rev()).map(|(a, b)| a * b).sum();
    show("dot", length, dot);
    show("filter, sum", length, numbers.par_iter().filter(|x| **x > 300.0).copied().sum::<f64>());
    let halves: f32 =
        (0..length).into_par_iter().filter_map(|i| (i % 3 != 1).then_some(i as f32 * 0.5)).sum();
    show("filter_map, sum", length, halves);
    let signs: f64 =
        (0..length).into_par_iter().map(|i| if i % 5 == 1 { -1.0 } else { 1.0 }).product();
    show("product", length, signs);
    let powers: f32 = numbers.par_iter().map(|x| if *x > 990.0 { 2.0 } else { 1.0 }).product();
    show("powers", length, powers);
    let steps: f64 = (0..length).into_par_iter().map(|i| f64::from(collatz(i as u64))).sum();
    show("sum of steps", length, steps);
    show("no items", 0, numbers[..0].par_iter().sum::<f64>());
}

/// Loops over the elements of a chunk, of which nothing says that they are independent.
fn rows(length: usize) {
    struct Scale {
        from: u64,
        most: u32,
    }
    let scale = &&Scale { from: 27, most: 60 };
    let source: Vec<u32> = (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 9).collect();
    for width in [1, 3, 21, 64, 150] {
        let name = |what: &str| format!("{what} in rows of {width}");
        let mut steps = vec![0_u32; length];
        steps.par_chunks_mut(width).enumerate().for_each(|(row, to)| {
            for (column, to) in to.iter_mut().enumerate() {
                let number = scale.from + (row * width + column) as u64;
                *to = collatz(number).min(scale.most);
            }
        });
        show(&name("steps"), length, &steps);
        // Elements near the borders have fewer neighbours, and what is read is checked.
        let mut smooth = vec![0_u32; length];
        smooth.par_chunks_mut(width).zip(source.par_chunks(width)).for_each(|(to, from)| {
            for (column, to) in to.iter_mut().enumerate() {
                *to = (0..5)
                    .map(|tap| from[(column + tap).saturating_sub(2).min(from.len() - 1)] >> tap)
                    .fold(0, u32::wrapping_add);
            }
        });
        show(&name("neighbours"), length, &smooth);
        // Each element is made of the one before it, or of the one behind it: these stay in order.
        let mut ordered = source.clone();
        ordered.par_chunks_mut(width).for_each(|row| {
            for column in 1..row.len() {
                row[column] = collatz(u64::from(row[column - 1] % 97)) + row[column] % 5;
            }
            for column in 1..row.len() {
                row[column - 1] = collatz(u64::from(row[column] % 89)) + row[column - 1] % 5;
            }
        });
        show(&name("ordered"), length, &ordered);
        let mut pairs = vec![[0_u32; 2]; length];
        pairs.par_chunks_mut(width).zip(source.par_chunks(width)).for_each(|(to, from)| {
            for (to, from) in to.iter_mut().zip(from) {
                to[1] = collatz(u64::from(from % 1000));
                to[0] = to[1] / 2;
            }
        });
        show(&name("pairs"), length, &pairs);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            steps.par_chunks_mut(width).for_each(|row| {
                for to in row {
                    *to = source[collatz(u64::from(*to) + 1) as usize] + 1;
                }
            });
        }));
        show(&name("an index too far"), length, caught.is_err());
    }
}

struct Counted<'a>(u64, &'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_add(1, Relaxed);
    }
}

fn drops(length: usize) {
    let dropped = AtomicUsize::new(0);
    let all = || -> Vec<Counted<'_>> { (0..length as u64).map(|i| Counted(i, &dropped)).collect() };
    let kept: Vec<Counted<'_>> =
        all().into_par_iter().map(|item| Counted(item.0 + 1, item.1)).collect();
    show("dropped by map", length, dropped.swap(0, Relaxed));
    show("kept", length, kept.iter().map(|item| item.0).sum::<u64>());
    drop(kept);
    show("dropped after collect", length, dropped.swap(0, Relaxed));
    all().into_par_iter().for_each(|item| drop(item));
    show("dropped by for_each", length, dropped.swap(0, Relaxed));
}

fn panics(length: usize) {
    let numbers: Vec<u32> = (0..length as u32).collect();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        let index = |i: u32| numbers[(i as usize + 1) % (length + 1)];
        numbers.par_iter().map(|i| index(*i)).collect::<Vec<u32>>()
    }));
    let said = caught.err().map(|payload| payload.downcast_ref::<String>().cloned());
    show("an index too far", length, said);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        numbers
            .par_iter()
            .map(|i| f64::from(100 / (i + 1 - (i / 20).min(1) * (i + 1))))
            .sum::<f64>()
    }));
    let said = caught.err().map(|payload| payload.is::<String>() || payload.is::<&str>());
    show("a division by zero", length, said);
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for size in [0, 1, 2, 15, 16, 17, 33, 1000, 4099] {
        collected(size);
        sums(size);
        rows(size);
        drops(size);
        panics(size);
    }
}
