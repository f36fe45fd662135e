//! The product of a sparse matrix, with compressed rows, and a vector: one work-item per row, or
//! several that share one.

use schism::local_array;
use schism::prelude::*;

use crate::Outcome;
use crate::data::{between, mix, unit};
use crate::measure::{Bench, Case, submit};

/// Work-items of a group.
const GROUP: usize = 256;

/// Work-items that share a row.
const LANES: usize = 32;

/// A matrix: `rows[i]..rows[i + 1]` are the indices of the elements of row `i`, each with a column
/// and a value.
struct Matrix {
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f32>,
}

impl Matrix {
    /// `side` rows of 16 to 48 elements, anywhere in the row.
    fn new(side: usize) -> Self {
        let mut rows = vec![0];
        for row in 0..side as u32 {
            rows.push(rows[row as usize] + 16 + mix(row) % 33);
        }
        let elements = rows[side];
        let columns = (0..elements).map(|place| mix(place ^ 0x5555_0000) % side as u32);
        let values = (0..elements).map(|place| unit(place ^ 0x3333_0000));
        Self { rows, columns: columns.collect(), values: values.collect() }
    }

    fn product(&self, x: &[f32]) -> Vec<f32> {
        let rows = self.rows.windows(2).map(|row| row[0] as usize..row[1] as usize);
        rows.map(|row| row.fold(0.0, |sum, k| sum + self.values[k] * x[self.columns[k] as usize]))
            .collect()
    }
}

/// Measures `spmv_scalar` and `spmv_vector`.
pub fn run(bench: &Bench) -> Outcome {
    if !bench.wants(&["spmv_scalar", "spmv_vector"]) {
        return Ok(());
    }
    let side = bench.settings().size(1 << 20, 1 << 11);
    let queue = bench.queue();
    let matrix = Matrix::new(side);
    let host_x = between(37 << 20, side, -1.0, 1.0);
    let rows = Buffer::from_slice(queue, &matrix.rows)?;
    let columns = Buffer::from_slice(queue, &matrix.columns)?;
    let values = Buffer::from_slice(queue, &matrix.values)?;
    let x = Buffer::from_slice(queue, &host_x)?;
    let mut y = Buffer::with_len(queue, side)?;
    let bytes = 8 * matrix.values.len() + 12 * side;
    let case = |kernel| Case { kernel, element: "f32", size: side, bytes };

    for run in bench.runs(case("spmv_scalar")) {
        let times = run.time(|| {
            submit(&run.queue, |scope| {
                let matrix = (whole(&rows), whole(&columns), whole(&values));
                scope.for_each(
                    (0.., &mut y, matrix, whole(&x)),
                    |(row, y, (rows, columns, values), x)| {
                        let elements = rows[row] as usize..rows[row + 1] as usize;
                        let mut sum = 0.0;
                        for (column, value) in
                            columns[elements.clone()].iter().zip(&values[elements])
                        {
                            sum += value * x[*column as usize];
                        }
                        *y = sum;
                    },
                )
            })
        })?;
        run.report(&times, &y)?;
        run.check(&y, 1e-4, || matrix.product(&host_x));
    }

    let range = NdRange::new(side * LANES, GROUP)?;
    for run in bench.runs(case("spmv_vector")) {
        let times = run.time(|| {
            let (rows, columns, values) = (rows.view(), columns.view(), values.view());
            let (x, y) = (x.view(), y.view_mut());
            submit(&run.queue, |scope| {
                scope.parallel_for(range, move |item| {
                    let sums = local_array!(item, f32; GROUP);
                    let (place, row) = (item.local_x(), item.x() / LANES);
                    let lane = place % LANES;
                    let (begin, end) = (rows[row] as usize, rows[row + 1] as usize);
                    let (columns, values) = (&columns[begin..end], &values[begin..end]);
                    let mut sum = 0.0;
                    let mut k = lane;
                    while k < columns.len() {
                        sum += values[k] * x[columns[k] as usize];
                        k += LANES;
                    }
                    sums.set(place, sum);
                    item.barrier();
                    let mut half = LANES / 2;
                    while half > 0 {
                        if lane < half {
                            sums.set(place, sums.get(place) + sums.get(place + half));
                        }
                        item.barrier();
                        half /= 2;
                    }
                    if lane == 0 {
                        // SAFETY: one of the work-items of each row writes its element.
                        unsafe { y.set_unchecked(row, sums.get(place)) }
                    }
                })
            })
        })?;
        run.report(&times, &y)?;
        run.check_near(&y.to_vec(), 1e-4, || matrix.product(&host_x));
    }
    Ok(())
}
