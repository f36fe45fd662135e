//! Small problems, one for each work-item: linear systems with pivots, Cholesky's decomposition,
//! powers modulo a number.

use schism::prelude::*;

use crate::Outcome;
use crate::data::{mix, unit};
use crate::measure::{Bench, Case, submit};

/// A linear system of four equations: coefficients, and the right side.
type System = [[f64; 5]; 4];

/// The sum of the solution, by elimination with partial pivots.
fn solve4(system: &System) -> f64 {
    let mut rows = *system;
    for column in 0..4 {
        let mut pivot = column;
        for row in column + 1..4 {
            if rows[row][column].abs() > rows[pivot][column].abs() {
                pivot = row;
            }
        }
        rows.swap(column, pivot);
        let above = rows[column];
        for row in &mut rows[column + 1..] {
            let factor = row[column] / above[column];
            for (own, above) in row[column..].iter_mut().zip(&above[column..]) {
                *own -= factor * above;
            }
        }
    }
    let mut solution = [0.0; 4];
    for row in (0..4).rev() {
        let mut rest = rows[row][4];
        for k in row + 1..4 {
            rest -= rows[row][k] * solution[k];
        }
        solution[row] = rest / rows[row][row];
    }
    solution.iter().sum()
}

const SIDE: usize = 6;

/// The product of the diagonal of Cholesky's factor of A·Aᵀ + 6.
fn cholesky6(a: &[[f32; SIDE]; SIDE]) -> f32 {
    let mut m = [[0.0_f32; SIDE]; SIDE];
    for i in 0..SIDE {
        for j in 0..SIDE {
            m[i][j] = a[i].iter().zip(&a[j]).map(|(x, y)| x * y).sum();
        }
        m[i][i] += SIDE as f32;
    }
    let mut product = 1.0;
    for j in 0..SIDE {
        for k in 0..j {
            for i in j..SIDE {
                m[i][j] -= m[i][k] * m[j][k];
            }
        }
        let diagonal = m[j][j].sqrt();
        for row in &mut m[j..] {
            row[j] /= diagonal;
        }
        product *= diagonal;
    }
    product
}

/// `base^exponent` modulo `modulus`.
fn powmod(base: u64, exponent: u32, modulus: u64) -> u64 {
    let times = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64;
    let (mut result, mut square, mut rest) = (1, base % modulus, exponent);
    while rest != 0 {
        if rest & 1 != 0 {
            result = times(result, square);
        }
        square = times(square, square);
        rest >>= 1;
    }
    result
}

/// Measures `solve4`, `cholesky6` and `powmod`.
pub fn run(bench: &Bench) -> Outcome {
    solve(bench)?;
    decompose(bench)?;
    powers(bench)
}

fn solve(bench: &Bench) -> Outcome {
    if !bench.wants(&["solve4"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 21, 1 << 10);
    let number = |place: usize| f64::from(unit(place as u32)) - 0.5;
    let system = |i: usize| -> System {
        std::array::from_fn(|row| std::array::from_fn(|k| number(20 * i + 5 * row + k)))
    };
    let systems: Vec<System> = (0..n).map(system).collect();
    let from = Buffer::from_slice(bench.queue(), &systems)?;
    let mut to = Buffer::<f64>::with_len(bench.queue(), n)?;
    for run in bench.runs(Case { kernel: "solve4", element: "f64", size: n, bytes: 168 * n }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each((&mut to, &from), |(to, system)| *to = solve4(system))
            })
        })?;
        run.report(&times, &to)?;
        run.check_near(&to.to_vec(), if run.is_precise() { 0.0 } else { 1e-2 }, || {
            systems.iter().map(solve4).collect()
        });
    }
    Ok(())
}

fn decompose(bench: &Bench) -> Outcome {
    if !bench.wants(&["cholesky6"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 20, 1 << 10);
    let number = |place: usize| unit(place as u32 ^ 0x1234_0000) - 0.5;
    let matrix = |i: usize| -> [[f32; SIDE]; SIDE] {
        std::array::from_fn(|row| {
            std::array::from_fn(|column| number(SIDE * SIDE * i + SIDE * row + column))
        })
    };
    let matrices: Vec<_> = (0..n).map(matrix).collect();
    let from = Buffer::from_slice(bench.queue(), &matrices)?;
    let mut to = Buffer::<f32>::with_len(bench.queue(), n)?;
    for run in bench.runs(Case { kernel: "cholesky6", element: "f32", size: n, bytes: 148 * n }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each((&mut to, &from), |(to, matrix)| *to = cholesky6(matrix))
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 1e-3, || matrices.iter().map(cholesky6).collect());
    }
    Ok(())
}

fn powers(bench: &Bench) -> Outcome {
    if !bench.wants(&["powmod"]) {
        return Ok(());
    }
    let n = bench.settings().size(1 << 20, 1 << 10);
    let wide = |place: usize| {
        u64::from(mix(place as u32)) << 32 | u64::from(mix(place as u32 ^ 0x7777_0000))
    };
    let bases: Vec<u64> = (0..n).map(wide).collect();
    let moduli: Vec<u64> = (0..n).map(|place| wide(place + n) >> (place % 40) | 1).collect();
    let (from, by) =
        (Buffer::from_slice(bench.queue(), &bases)?, Buffer::from_slice(bench.queue(), &moduli)?);
    let mut to = Buffer::<u64>::with_len(bench.queue(), n)?;
    for run in bench.runs(Case { kernel: "powmod", element: "u64", size: n, bytes: 0 }) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                scope.for_each((&mut to, &from, &by), |(to, base, modulus)| {
                    *to = powmod(*base, 65_537, *modulus);
                })
            })
        })?;
        run.report(&times, &to)?;
        run.check(&to, 0.0, || {
            bases
                .iter()
                .zip(&moduli)
                .map(|(base, modulus)| powmod(*base, 65_537, *modulus))
                .collect()
        });
    }
    Ok(())
}
