//! Multiplies two matrices, tile by tile: each work-group keeps a tile of both in its local memory.
//!
//! ```text
//! cargo schism run --release --example matrix_multiply -- [SIDE] [--check]
//! ```

use std::time::Instant;

use schism::local_array;
use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;

/// Work-items of a group, in both dimensions.
const TILE: usize = 16;

/// `c = a * b`, of square matrices whose side is a multiple of [`TILE`].
fn multiply(
    queue: &Queue,
    side: usize,
    a: &Buffer<f32>,
    b: &Buffer<f32>,
    c: &mut Buffer<f32>,
) -> Result<(), LaunchError> {
    let (a, b) = (a.view(), b.view());
    let range = NdRange::new([side, side], [TILE, TILE])?;
    queue.for_each_in(range, c, move |item, c| {
        let a_tile = local_array!(item, f32; TILE * TILE);
        let b_tile = local_array!(item, f32; TILE * TILE);
        let ([row, column], [y, x]) = (item.global_id(), item.local_id());
        let mut sum = 0.0;
        for tile in (0..side).step_by(TILE) {
            a_tile.set(y * TILE + x, a[row * side + tile + x]);
            b_tile.set(y * TILE + x, b[(tile + y) * side + column]);
            // No work-item reads an incomplete tile …
            item.barrier();
            for k in 0..TILE {
                sum += a_tile.get(y * TILE + k) * b_tile.get(k * TILE + x);
            }
            // … and none overwrites one that others still read.
            item.barrier();
        }
        *c = sum;
    })
}

fn main() -> Result<(), Report> {
    let arguments = Arguments::read(0, 1, "matrix_multiply [SIDE] [--check]")?;
    let side = arguments.number(0, 256)?;
    let queue = Queue::new()?;
    let numbers = |step: usize| -> Vec<f32> {
        (0..side * side).map(|i| (i * step % 19) as f32 * 0.25 - 2.0).collect()
    };
    let (a, b) = (numbers(7), numbers(11));
    let (device_a, device_b) = (Buffer::from_slice(&queue, &a)?, Buffer::from_slice(&queue, &b)?);
    let mut c = Buffer::with_len(&queue, side * side)?;
    for launch in ["first, with its kernel compiled", "again"] {
        let start = Instant::now();
        multiply(&queue, side, &device_a, &device_b, &mut c)?;
        println!("{side} x {side} on {}, {launch}: {:.2?}", queue.device(), start.elapsed());
    }

    if arguments.check() {
        let sum = |place: usize| -> f32 {
            let (row, column) = (place / side, place % side);
            (0..side).fold(0.0, |sum, k| sum + a[row * side + k] * b[k * side + column])
        };
        let expected: Vec<f32> = (0..side * side).map(sum).collect();
        compare("matrix_multiply", &c.to_vec(), &expected)?;
    }
    Ok(())
}
