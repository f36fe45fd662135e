//! An ordinary program with rayon: pipelines over rows, with loops inside. It prints a checksum of each form
//! for matrices of many sizes, which are the same on every device.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;

/// A matrix and what its rows are made of.
struct Case {
    rows: usize,
    columns: usize,
    numbers: Vec<u32>,
    fractions: Vec<f64>,
    seed: u32,
}

impl Case {
    fn new(number: u32) -> Self {
        let mut state = number.wrapping_mul(0x9e37_79b9) | 1;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        let (rows, columns) = (2 + next() as usize % 40, 1 + next() as usize % 150);
        // Few and many columns alike.
        let columns = if number % 4 == 0 { 1 + columns % 9 } else { columns };
        let numbers: Vec<u32> = (0..rows * columns).map(|_| next()).collect();
        let fractions = numbers.iter().map(|it| f64::from(it % 1000) / 7.0).collect();
        Self { rows, columns, numbers, fractions, seed: next() }
    }
}

fn sum_of(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0xcbf2_9ce4_8422_2325, |sum, value| {
        (sum ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(7)
    })
}

fn of_numbers(values: &[u32]) -> u64 {
    sum_of(values.iter().map(|&value| u64::from(value)))
}

fn of_fractions(values: &[f64]) -> u64 {
    sum_of(values.iter().map(|value| value.to_bits()))
}

/// Loops over iterators and indices, one element of a row each.
fn elements(case: &Case) -> [u64; 8] {
    let Case { rows, columns, ref numbers, ref fractions, seed } = *case;
    let mut out = vec![0_u32; rows * columns];
    let mut sums = [0; 8];
    out.par_chunks_mut(columns).for_each(|row| {
        for it in row {
            *it = it.wrapping_mul(3).wrapping_add(seed);
        }
    });
    sums[0] = of_numbers(&out);
    out.par_chunks_mut(columns).enumerate().for_each(|(y, row)| {
        for x in 0..columns.min(row.len()) {
            row[x] ^= (x as u32).wrapping_mul(y as u32);
        }
    });
    sums[1] = of_numbers(&out);
    out.par_chunks_exact_mut(columns).zip(numbers.par_chunks_exact(columns)).for_each(
        |(to, from)| {
            for (to, from) in to.iter_mut().zip(from) {
                *to = to.wrapping_add(*from);
            }
        },
    );
    sums[2] = of_numbers(&out);
    // Columns become rows.
    let mut turned = vec![0.0; rows * columns];
    turned.par_chunks_mut(rows).enumerate().for_each(|(x, to)| {
        for (y, to) in to.iter_mut().enumerate() {
            *to = fractions[y * columns + x];
        }
    });
    sums[3] = of_fractions(&turned);
    // Every second element, backwards.
    out.par_chunks_mut(columns).for_each(|row| {
        for it in row.iter_mut().rev().step_by(2) {
            *it = it.rotate_left(5);
        }
    });
    sums[4] = of_numbers(&out);
    // Neighbours of another matrix, without the border.
    out.par_chunks_mut(columns).zip(numbers.par_chunks(columns)).for_each(|(to, from)| {
        for x in 1..columns.saturating_sub(1) {
            to[x] = (from[x - 1] ^ from[x + 1]).wrapping_add(to[x]);
        }
    });
    sums[5] = of_numbers(&out);
    // Some elements only.
    out.par_chunks_mut(columns).zip(fractions.par_chunks(columns)).for_each(|(to, from)| {
        for (to, from) in to.iter_mut().zip(from) {
            if *from > 40.0 {
                *to = (*from * 3.0) as u32;
            } else if *to % 2 == 0 {
                *to /= 2;
            }
        }
    });
    sums[6] = of_numbers(&out);
    out.par_chunks_mut(columns * 2).for_each(|two| {
        let (first, second) = two.split_at_mut(two.len() / 2);
        for (first, second) in first.iter_mut().zip(second) {
            std::mem::swap(first, second);
        }
    });
    sums[7] = of_numbers(&out);
    sums
}

/// What a row is needed for before or after its elements.
fn whole_rows(case: &Case) -> [u64; 8] {
    let Case { rows, columns, ref numbers, ref fractions, seed } = *case;
    let mut sums = [0; 8];
    // A sum in order, by which all elements are divided; elements of other lanes are read.
    let mut parts = fractions.clone();
    parts.par_chunks_mut(columns).for_each(|row| {
        for it in row.iter_mut() {
            *it += 1.0;
        }
        let sum: f64 = row.iter().sum();
        for it in row.iter_mut() {
            *it /= sum;
        }
        row[0] = sum;
    });
    sums[0] = of_fractions(&parts);
    // Elements by their neighbour, which another lane has stored right before.
    let mut out = numbers.clone();
    out.par_chunks_mut(columns).zip(parts.par_chunks_mut(columns)).for_each(|(row, other)| {
        for (it, other) in row.iter_mut().zip(other.iter()) {
            *it = it.wrapping_add(*other as u32);
        }
        for x in 1..row.len() {
            other[x] = f64::from(row[x - 1]);
        }
    });
    sums[1] = of_numbers(&out) ^ of_fractions(&parts);
    // Each element depends on the one before.
    out.par_chunks_mut(columns).for_each(|row| {
        for x in 1..row.len() {
            row[x] = row[x].wrapping_add(row[x - 1]);
        }
        for it in row.iter_mut() {
            *it ^= seed;
        }
    });
    sums[2] = of_numbers(&out);
    // One store between loops, read by all.
    out.par_chunks_mut(columns).enumerate().for_each(|(y, row)| {
        let last = row.len() - 1;
        row[last] = row[0].wrapping_add(y as u32);
        for x in 0..last {
            row[x] = row[x].wrapping_mul(3);
        }
        row[0] = row[last] ^ row[last / 2];
    });
    sums[3] = of_numbers(&out);
    // Sums of integers inside of a row, and the greatest.
    let mut totals = vec![(0_u64, 0_u32); rows];
    totals.par_iter_mut().zip(out.par_chunks_mut(columns)).for_each(|(total, row)| {
        total.0 = row.iter().map(|&it| u64::from(it)).sum();
        total.1 = row.iter().copied().max().unwrap_or_default();
        for it in row.iter_mut() {
            *it = it.wrapping_sub(total.1);
        }
    });
    sums[4] = of_numbers(&out) ^ sum_of(totals.iter().map(|it| it.0 ^ u64::from(it.1)));
    // Sorted by exchanges.
    out.par_chunks_mut(columns).for_each(|row| {
        for end in (1..row.len()).rev() {
            for x in 0..end {
                if row[x] > row[x + 1] {
                    row.swap(x, x + 1);
                }
            }
        }
        for (x, it) in row.iter_mut().enumerate() {
            *it = it.wrapping_add(x as u32);
        }
    });
    sums[5] = of_numbers(&out);
    // Filled, copied, reversed.
    let mut copy = vec![7_u32; rows * columns];
    copy.par_chunks_mut(columns).zip(out.par_chunks(columns)).for_each(|(to, from)| {
        to.fill(seed);
        let half = to.len() / 2;
        to[..half].copy_from_slice(&from[..half]);
        to.reverse();
        for it in to.iter_mut() {
            *it = it.rotate_right(3);
        }
    });
    sums[6] = of_numbers(&copy);
    // A row until a number that says where it ends.
    copy.par_chunks_mut(columns).for_each(|row| {
        for it in row.iter_mut() {
            if *it % 61 == 0 {
                break;
            }
            *it += *it % 2;
        }
        for it in row.iter_mut() {
            *it = !*it;
        }
    });
    sums[7] = of_numbers(&copy);
    sums
}

/// Loops inside of loops.
fn nests(case: &Case) -> [u64; 5] {
    let Case { rows, columns, ref numbers, ref fractions, .. } = *case;
    let mut sums = [0; 5];
    let mut product = vec![0.0; rows * rows];
    let (a, b) = (&fractions[..], &fractions[..]);
    product.par_chunks_mut(rows).enumerate().for_each(|(y, to)| {
        for k in 0..columns {
            let left = a[y * columns + k];
            for (x, to) in to.iter_mut().enumerate() {
                *to += left * b[x * columns + k];
            }
        }
    });
    sums[0] = of_fractions(&product);
    product.par_chunks_mut(rows).zip(a.par_chunks(columns)).for_each(|(to, a)| {
        for (to, b) in to.iter_mut().zip(b.chunks_exact(columns)) {
            *to -= a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        }
    });
    sums[1] = of_fractions(&product);
    // An escape time for each point.
    let mut times = vec![0_u32; rows * columns];
    times.par_chunks_mut(columns).enumerate().for_each(|(y, to)| {
        for (x, to) in to.iter_mut().enumerate() {
            let (cx, cy) = (x as f64 / 40.0 - 2.0, y as f64 / 20.0 - 1.0);
            let (mut zx, mut zy, mut count) = (0.0, 0.0, 0);
            while zx * zx + zy * zy < 4.0 && count < 50 {
                (zx, zy) = (zx * zx - zy * zy + cx, 2.0 * zx * zy + cy);
                count += 1;
            }
            *to = count;
        }
    });
    sums[2] = of_numbers(&times);
    // Blocks of rows, with a loop over their rows.
    let mut out = numbers.clone();
    out.par_chunks_mut(columns * 3).for_each(|block| {
        for (y, row) in block.chunks_mut(columns).enumerate() {
            for (x, it) in row.iter_mut().enumerate() {
                *it = it.wrapping_add((x * y) as u32);
            }
        }
    });
    sums[3] = of_numbers(&out);
    // Rows by their numbers, and what they share.
    let mut weights = [0_u32; 5];
    weights.iter_mut().zip(numbers).for_each(|(weight, number)| *weight = number % 5);
    out.par_chunks_exact_mut(columns).enumerate().for_each(|(y, row)| {
        for x in 0..row.len() {
            let mut sum = y as u32;
            for (tap, weight) in weights.iter().enumerate() {
                let at = (x + tap).saturating_sub(2).min(columns - 1);
                sum = sum.wrapping_add(weight.wrapping_mul(numbers[y * columns + at]));
            }
            row[x] = sum;
        }
    });
    sums[4] = of_numbers(&out);
    sums
}

/// What panics does so in the same row of a matrix, with what was stored before.
fn panics(case: &Case) -> [u64; 2] {
    let Case { rows, columns, ref numbers, .. } = *case;
    let mut out = numbers.clone();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        out.par_chunks_mut(columns).enumerate().for_each(|(y, row)| {
            for x in 0..columns {
                assert!(y + 1 < rows || x + 1 < columns, "the last element");
                row[x] = row[x].wrapping_add(1);
            }
        });
    }));
    let payload = ran.expect_err("it panics");
    let message = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
    // Other rows may run or not.
    let last = &out[(rows - 1) * columns..];
    [message.map_or(0, |text| sum_of(text.bytes().map(u64::from))), of_numbers(last)]
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for number in 0..44 {
        let case = Case::new(number);
        print!("{number} {}x{}:", case.rows, case.columns);
        let all = elements(&case).into_iter().chain(whole_rows(&case));
        for sum in all.chain(nests(&case)).chain(panics(&case)) {
            print!(" {sum:016x}");
        }
        println!();
    }
}
