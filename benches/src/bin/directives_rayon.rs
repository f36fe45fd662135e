//! The loops of `directives_schism`, by rayon.

use rayon::prelude::*;
use schism_bench::directives::{
    AIR, C0, GAMMA, HALO, LENGTH, ROWS, SIDE, air, floats, matrix, numbers, print, timed,
};

fn main() {
    saxpy();
    dot();
    jacobi();
    sparse();
    weather();
}

fn saxpy() {
    let (x, mut y) = (floats(LENGTH), floats(LENGTH));
    let seconds = timed(|| {
        y.par_iter_mut().zip(&x).for_each(|(y, x)| *y += 0.5 * x);
    });
    print("saxpy", "rayon", seconds, &y);
}

fn dot() {
    let (x, y) = (numbers(LENGTH), numbers(LENGTH));
    let mut sum = 0.0;
    let seconds = timed(|| sum = x.par_iter().zip(&y).map(|(x, y)| x * y).sum());
    print("dot", "rayon", seconds, &[sum]);
}

fn jacobi() {
    let n = SIDE;
    let (mut plate, mut next) = (floats(n * n), vec![0.0; n * n]);
    let seconds = timed(|| {
        let inner = n..n * (n - 1);
        next[inner.clone()].par_chunks_mut(n).enumerate().for_each(|(y, row)| {
            for (x, own) in row[1..n - 1].iter_mut().enumerate() {
                let at = (y + 1) * n + x + 1;
                *own = 0.25 * (plate[at - n] + plate[at + n] + plate[at - 1] + plate[at + 1]);
            }
        });
        let rows = plate[inner.clone()].par_chunks_mut(n).zip(next[inner].par_chunks(n));
        rows.for_each(|(row, next)| row[1..n - 1].copy_from_slice(&next[1..n - 1]));
    });
    print("jacobi", "rayon", seconds, &plate);
}

fn sparse() {
    let (begins, columns, values) = matrix();
    let (p, mut q) = (numbers(ROWS), vec![0.0; ROWS]);
    let seconds = timed(|| {
        q.par_iter_mut().zip(begins.par_windows(2)).for_each(|(q, row)| {
            let row = row[0]..row[1];
            let entries = values[row.clone()].iter().zip(&columns[row]);
            let mut sum = 0.0;
            for (value, column) in entries {
                sum += value * p[*column as usize];
            }
            *q = sum;
        });
    });
    print("sparse", "rayon", seconds, &q);
}

fn weather() {
    let ((state, density, heat), [nz, nx]) = (air(), AIR);
    let (row, plane) = (nx + 2 * HALO, (nx + 2 * HALO) * (nz + 2 * HALO));
    let faces = nz * (nx + 1);
    let (mut flux, mut tend) = (vec![0.0; 4 * faces], vec![0.0; 4 * nz * nx]);
    let seconds = timed(|| {
        let (left, right) = flux.split_at_mut(2 * faces);
        let (f0, f1) = left.split_at_mut(faces);
        let (f2, f3) = right.split_at_mut(faces);
        let rows = f0
            .par_chunks_mut(nx + 1)
            .zip(f1.par_chunks_mut(nx + 1))
            .zip(f2.par_chunks_mut(nx + 1))
            .zip(f3.par_chunks_mut(nx + 1));
        rows.enumerate().for_each(|(k, (((f0, f1), f2), f3))| {
            for i in 0..nx + 1 {
                let (mut mean, mut third) = ([0.0; 4], [0.0; 4]);
                for q in 0..4 {
                    let at = q * plane + (k + HALO) * row + i;
                    let [a, b, c, d] = [state[at], state[at + 1], state[at + 2], state[at + 3]];
                    mean[q] = 7.0 / 12.0 * (b + c) - (a + d) / 12.0;
                    third[q] = d - a + 3.0 * (b - c);
                }
                let r = mean[0] + density[k + HALO];
                let (u, w) = (mean[1] / r, mean[2] / r);
                let theta = (mean[3] + heat[k + HALO]) / r;
                let pressure = C0 * (r * theta).powf(GAMMA);
                f0[i] = r * u + 0.1 * third[0];
                f1[i] = r * u * u + pressure + 0.1 * third[1];
                f2[i] = r * u * w + 0.1 * third[2];
                f3[i] = r * u * theta + 0.1 * third[3];
            }
        });
        tend.par_chunks_mut(nx).enumerate().for_each(|(row, tend)| {
            for (i, own) in tend.iter_mut().enumerate() {
                let face = row * (nx + 1) + i;
                *own = (flux[face] - flux[face + 1]) / 50.0;
            }
        });
    });
    print("weather", "rayon", seconds, &tend);
}
