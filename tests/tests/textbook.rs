//! Textbook kernels whose groups write rows and tiles, without `unsafe`: softmax, layer
//! normalisation, transposes, Fourier transforms. Each runs on every device, and its results are
//! compared with the host's.

#![forbid(unsafe_code)]

use schism::SubGroup;
use schism::prelude::*;
use schism_tests::sub_groups::{on_every_device, random};

/// Numbers between -4 and 4.
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    random(seed).take(count).map(|bits| (bits >> 40) as f32 / (1 << 21) as f32 - 4.0).collect()
}

fn assert_close(found: &[f32], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let distance = (f64::from(*found) - expected).abs();
        let near = distance <= tolerance * expected.abs().max(1.0);
        assert!(near, "{what}: element {i} is {found}, not {expected}");
    }
}

const SHAPES: [(usize, usize); 8] =
    [(0, 7), (1, 1), (3, 5), (2, 64), (5, 65), (7, 257), (2, 1000), (33, 31)];

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// A group for each row.
fn softmax(
    queue: &Queue,
    input: &Buffer<f32>,
    output: &mut Buffer<f32>,
    columns: usize,
) -> Result<(), LaunchError> {
    let range = NdRange::from_groups(input.len() / columns, 64)?;
    let rows = (per_group(input.chunks(columns)), per_group(output.chunks_mut(columns)));
    queue.for_each_in(range, rows, |item, (input, mut output)| {
        let own = item.strided(input.len()).map(|i| input[i]);
        let largest = item.reduce_max(own.fold(f32::NEG_INFINITY, f32::max));
        let mut sum = 0.0;
        for (i, to) in output.iter_mut() {
            *to = (input[i] - largest).exp();
            sum += *to;
        }
        let sum = item.reduce_add(sum);
        for (_, to) in output {
            *to /= sum;
        }
    })
}

#[test]
fn softmax_of_rows() {
    on_every_device(|queue| {
        for (rows, columns) in SHAPES {
            let data = numbers(rows * columns, 1);
            let input = Buffer::from_slice(queue, &data).expect("memory");
            let mut output = Buffer::filled(queue, data.len(), -1.0).expect("memory");
            softmax(queue, &input, &mut output, columns).expect("a launch");
            let expected: Vec<f64> = data
                .chunks(columns)
                .flat_map(|row| {
                    let powers: Vec<f64> = row.iter().map(|x| f64::from(*x).exp()).collect();
                    let sum: f64 = powers.iter().sum();
                    powers.into_iter().map(move |power| power / sum)
                })
                .collect();
            let what = format!("{rows} x {columns} on {}", queue.device());
            assert_close(&output.to_vec(), &expected, 1e-5, &what);
        }
    });
}

/// A sub-group for each row, in place.
fn normalize(
    queue: &Queue,
    data: &mut Buffer<f32>,
    (weights, biases): (&Buffer<f32>, &Buffer<f32>),
) -> Result<(), LaunchError> {
    let columns = weights.len();
    let range = NdRange::from_groups(data.len() / columns, SubGroup::MAX_SIZE)?;
    let sources = (per_sub_group(data.chunks_mut(columns)), whole(weights), whole(biases));
    queue.for_each_in(range, sources, |item, (mut row, weights, biases)| {
        let sub_group = item.sub_group();
        let count = row.part_len() as f32;
        let mean = sub_group.reduce_add(row.iter_mut().map(|(_, x)| *x).sum::<f32>()) / count;
        let squares = row.iter_mut().map(|(_, x)| (*x - mean) * (*x - mean)).sum::<f32>();
        let scale = 1.0 / (sub_group.reduce_add(squares) / count + 1e-5).sqrt();
        for (i, x) in row {
            *x = (*x - mean) * scale * weights[i] + biases[i];
        }
    })
}

#[test]
fn layer_normalisation() {
    on_every_device(|queue| {
        for (rows, columns) in SHAPES {
            let data = numbers(rows * columns, 2);
            let (weights, biases) = (numbers(columns, 3), numbers(columns, 4));
            let of_columns = [&weights, &biases].map(|x| Buffer::from_slice(queue, x));
            let [on_weights, on_biases] = of_columns.map(|buffer| buffer.expect("memory"));
            let mut buffer = Buffer::from_slice(queue, &data).expect("memory");
            normalize(queue, &mut buffer, (&on_weights, &on_biases)).expect("a launch");
            let expected: Vec<f64> = data
                .chunks(columns)
                .flat_map(|row| {
                    let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
                    let count = row.len() as f64;
                    let mean = row.iter().sum::<f64>() / count;
                    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
                    let scale = 1.0 / (variance + 1e-5).sqrt();
                    let parameters = weights.iter().zip(&biases);
                    let all = row.into_iter().zip(parameters);
                    all.map(|(x, (w, b))| (x - mean) * scale * f64::from(*w) + f64::from(*b))
                        .collect::<Vec<_>>()
                })
                .collect();
            let what = format!("{rows} x {columns} on {}", queue.device());
            assert_close(&buffer.to_vec(), &expected, 1e-4, &what);
        }
    });
}

const TILE: usize = 32;

/// A group for each tile. What it reads and what it writes are rows of 32 elements.
fn transpose<T: GroupValue>(
    queue: &Queue,
    input: &Buffer<T>,
    output: &mut Buffer<T>,
    (height, width): (usize, usize),
) -> Result<(), LaunchError> {
    // The transpose has `width` rows.
    let tiles = [width.div_ceil(TILE), height.div_ceil(TILE)];
    let range = NdRange::from_groups(tiles, [8, TILE])?;
    let from = input.view();
    let sources =
        (local_2d::<T>(TILE, TILE + 1), per_group(output.tiles_mut::<TILE, TILE>(height)));
    queue.for_each_in(range, sources, move |item, (shared, mut tile)| {
        let [row, column] = tile.origin();
        let x = row + item.local_x();
        for i in (item.local_y()..TILE).step_by(8) {
            let y = column + i;
            if y < height && x < width {
                shared.set([i, item.local_x()], from[y * width + x]);
            }
        }
        item.barrier();
        for ([y, x], to) in tile.iter_mut() {
            *to = shared.get([x, y]);
        }
    })
}

fn transposes<T: GroupValue + PartialEq + std::fmt::Debug>(of: impl Fn(u64) -> T) {
    on_every_device(|queue| {
        for (height, width) in [(0, 5), (1, 1), (32, 32), (64, 96), (33, 31), (100, 7), (1, 130)] {
            let data: Vec<T> = random(5).take(height * width).map(&of).collect();
            let input = Buffer::from_slice(queue, &data).expect("memory");
            let mut output = Buffer::filled(queue, data.len(), of(0)).expect("memory");
            transpose(queue, &input, &mut output, (height, width)).expect("a launch");
            let all = (0..width).flat_map(|x| (0..height).map(move |y| (y, x)));
            let expected: Vec<T> = all.map(|(y, x)| data[y * width + x]).collect();
            assert_eq!(output.to_vec(), expected, "{height} x {width} on {}", queue.device());
        }
    });
}

#[test]
fn transposes_of_floats() {
    transposes(|bits| bits as f32);
}

#[test]
fn transposes_of_bytes() {
    transposes(|bits| bits as u8);
}

#[test]
fn transposes_of_tuples() {
    transposes(|bits| (bits as u16, [bits as f64, 0.5], bits % 2 == 0));
}

type Complex = (f32, f32);

fn product(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// A group for each signal of `len` samples, a power of two, in place.
fn transform(
    queue: &Queue,
    signals: &mut Buffer<Complex>,
    len: usize,
) -> Result<(), schism::Error> {
    let roots: Vec<Complex> = (0..len / 2)
        .map(|k| (-std::f64::consts::TAU * k as f64 / len as f64).sin_cos())
        .map(|(sin, cos)| (cos as f32, sin as f32))
        .collect();
    let roots = Buffer::from_slice(queue, &roots)?;
    let range = NdRange::from_groups(signals.len() / len, 64)?;
    let bits = len.ilog2();
    let sources = (local::<Complex>(len), whole(&roots), per_group(signals.cells(len)));
    queue.for_each_in(range, sources, move |item, (tile, roots, signal)| {
        for i in item.strided(len) {
            // The order of reversed bits. Of one sample there are none.
            let place = (i << 1).reverse_bits() >> (usize::BITS - 1 - bits);
            tile.set(place, signal.get(i));
        }
        item.barrier();
        let mut half = 1;
        while half < len {
            for i in item.strided(len / 2) {
                let at = i / half * 2 * half + i % half;
                let root = roots[i % half * (len / 2 / half)];
                let (a, b) = (tile.get(at), product(root, tile.get(at + half)));
                tile.set(at, (a.0 + b.0, a.1 + b.1));
                tile.set(at + half, (a.0 - b.0, a.1 - b.1));
            }
            item.barrier();
            half *= 2;
        }
        for i in item.strided(len) {
            signal.set(i, tile.get(i));
        }
    })?;
    Ok(())
}

#[test]
fn fourier_transforms() {
    on_every_device(|queue| {
        for (count, len) in [(0, 8), (3, 1), (1, 2), (5, 8), (2, 128), (3, 512)] {
            let data = numbers(2 * count * len, 6);
            let data: Vec<Complex> = data.chunks(2).map(|pair| (pair[0], pair[1])).collect();
            let mut signals = Buffer::from_slice(queue, &data).expect("memory");
            transform(queue, &mut signals, len).expect("a launch");
            let mut expected = Vec::new();
            for signal in data.chunks(len) {
                for k in 0..len {
                    let sum = signal.iter().enumerate().fold((0.0, 0.0), |sum, (i, x)| {
                        let angle = -std::f64::consts::TAU * (i * k % len) as f64 / len as f64;
                        let ((sin, cos), (a, b)) =
                            (angle.sin_cos(), (f64::from(x.0), f64::from(x.1)));
                        (sum.0 + a * cos - b * sin, sum.1 + a * sin + b * cos)
                    });
                    expected.extend([sum.0, sum.1]);
                }
            }
            let found: Vec<f32> = signals.to_vec().into_iter().flat_map(|x| [x.0, x.1]).collect();
            let what = format!("{count} of {len} on {}", queue.device());
            assert_close(&found, &expected, 1e-3, &what);
        }
    });
}
