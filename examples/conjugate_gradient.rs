//! The benchmark CG of the NAS suite: the smallest eigenvalue of a sparse matrix with random places,
//! by the inverse power method, whose systems are solved by 25 steps of conjugate gradients.
//! Directives make kernels of the loops; the region around them copies the matrix once.
//!
//! ```text
//! cargo schism run --release --example conjugate_gradient -- [S|W|A] [--check]
//! ```

#![forbid(unsafe_code)]

use std::time::Instant;

use schism::directives::{acc, with_queue};
use schism::prelude::*;
use schism_examples::arguments::Arguments;

/// The sizes of a problem, and its verification value.
#[derive(Clone, Copy)]
pub struct Class {
    /// Rows of the matrix.
    rows: usize,
    /// Entries of a random vector.
    entries: usize,
    /// Steps of the power method.
    steps: usize,
    shift: f64,
    zeta: f64,
}

impl Class {
    /// The class of a name.
    pub fn named(name: &str) -> Option<Self> {
        let (rows, entries, shift, zeta) = match name {
            "S" => (1400, 7, 10.0, 8.597_177_507_864_8),
            "W" => (7000, 8, 12.0, 10.362_595_087_124),
            "A" => (14_000, 11, 20.0, 17.130_235_054_029),
            _ => return None,
        };
        Some(Self { rows, entries, steps: 15, shift, zeta })
    }

    /// Whether a result is the benchmark's.
    pub fn is_right(&self, zeta: f64) -> bool {
        (zeta - self.zeta).abs() / self.zeta <= 1e-10
    }
}

/// The suite's random numbers: a linear congruential generator, modulo 2⁴⁶.
struct Random(u64);

impl Random {
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(5_u64.pow(13)) & ((1 << 46) - 1);
        self.0 as f64 / (1_u64 << 46) as f64
    }
}

/// A sparse matrix by rows.
pub struct Matrix {
    /// Where the entries of each row begin, and where the last one's end.
    begins: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Matrix {
    /// The sum of as many outer products of random sparse vectors as there are rows. Their weights
    /// make its condition number about 10.
    pub fn random(class: &Class) -> Self {
        let n = class.rows;
        let mut random = Random(314_159_265);
        random.number();
        let mut rows: Vec<Vec<(u32, f64)>> = vec![Vec::new(); n];
        let (mut weight, ratio) = (1.0, 0.1_f64.powf(1.0 / n as f64));
        for own in 0..n {
            let mut vector: Vec<(usize, f64)> = Vec::new();
            while vector.len() < class.entries {
                let (value, place) = (random.number(), random.number());
                let place = (place * n.next_power_of_two() as f64) as usize;
                if place < n && vector.iter().all(|(taken, _)| *taken != place) {
                    vector.push((place, value));
                }
            }
            match vector.iter_mut().find(|(place, _)| *place == own) {
                Some(entry) => entry.1 = 0.5,
                None => vector.push((own, 0.5)),
            }
            for (row, factor) in &vector {
                for (column, value) in &vector {
                    let on_diagonal = *row == own && *column == own;
                    let more = if on_diagonal { 0.1 - class.shift } else { 0.0 };
                    rows[*row].push((*column as u32, value * (weight * factor) + more));
                }
            }
            weight *= ratio;
        }
        let mut all = Self { begins: vec![0], columns: Vec::new(), values: Vec::new() };
        for mut row in rows {
            row.sort_by_key(|(column, _)| *column);
            for same in row.chunk_by(|(a, _), (b, _)| a == b) {
                all.columns.push(same[0].0);
                all.values.push(same.iter().map(|(_, value)| value).sum());
            }
            all.begins.push(all.columns.len());
        }
        all
    }
}

/// The benchmark's steps: the estimate of the eigenvalue, and the residual of the last system.
#[acc]
pub fn smallest_eigenvalue(matrix: &Matrix, class: &Class) -> (f64, f64) {
    let n = class.rows;
    let Matrix { begins, columns, values } = matrix;
    let mut x = vec![1.0; n];
    let (mut z, mut p) = (vec![0.0; n], vec![0.0; n]);
    let (mut q, mut r) = (vec![0.0; n], vec![0.0; n]);
    let (mut zeta, mut residual) = (0.0, 0.0);
    #[acc(data, copyin(begins, columns, values), copy(x), create(z, p, q, r))]
    for _ in 0..class.steps {
        let mut rho = 0.0;
        #[acc(parallel, loop, reduction(+: rho))]
        for i in 0..n {
            z[i] = 0.0;
            r[i] = x[i];
            p[i] = x[i];
            rho += x[i] * x[i];
        }
        for _ in 0..25 {
            let mut curvature = 0.0;
            #[acc(parallel, loop, reduction(+: curvature))]
            for i in 0..n {
                let mut sum = 0.0;
                for k in begins[i]..begins[i + 1] {
                    sum += values[k] * p[columns[k] as usize];
                }
                q[i] = sum;
                curvature += p[i] * sum;
            }
            let alpha = rho / curvature;
            let before = rho;
            rho = 0.0;
            #[acc(parallel, loop, reduction(+: rho))]
            for i in 0..n {
                z[i] += alpha * p[i];
                r[i] -= alpha * q[i];
                rho += r[i] * r[i];
            }
            let beta = rho / before;
            #[acc(parallel, loop)]
            for i in 0..n {
                p[i] = r[i] + beta * p[i];
            }
        }
        let (mut product, mut square, mut distance) = (0.0, 0.0, 0.0);
        #[acc(parallel, loop, reduction(+: product, square, distance))]
        for i in 0..n {
            let mut sum = 0.0;
            for k in begins[i]..begins[i + 1] {
                sum += values[k] * z[columns[k] as usize];
            }
            distance += (x[i] - sum) * (x[i] - sum);
            product += x[i] * z[i];
            square += z[i] * z[i];
        }
        residual = distance.sqrt();
        zeta = class.shift + 1.0 / product;
        let norm = 1.0 / square.sqrt();
        #[acc(parallel, loop)]
        for i in 0..n {
            x[i] = norm * z[i];
        }
    }
    (zeta, residual)
}

fn main() -> Result<(), Report> {
    let usage = "conjugate_gradient [S|W|A] [--check]";
    let arguments = Arguments::read(0, 1, usage)?;
    let name = arguments.word(0).unwrap_or("S");
    let class = Class::named(name).ok_or("there are the classes S, W and A")?;
    let matrix = Matrix::random(&class);

    let queue = Queue::new()?;
    let start = Instant::now();
    let (zeta, residual) = with_queue(&queue, || smallest_eigenvalue(&matrix, &class));
    println!(
        "class {name}, {} entries, on {} in {:.2?}: zeta {zeta:.13}, residual {residual:.2e}",
        matrix.values.len(),
        queue.device(),
        start.elapsed(),
    );

    if arguments.check() {
        if !class.is_right(zeta) {
            return Err(format!("zeta is {zeta}, the benchmark's is {}", class.zeta).into());
        }
        println!("check: zeta is the benchmark's, {}", class.zeta);
    }
    Ok(())
}
