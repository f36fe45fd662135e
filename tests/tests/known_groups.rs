//! Groups whose size the code of the device `cpu` knows: loops over them have known lengths, what
//! work-items leave in local memory stays in registers, and rows run side by side. The device
//! `native` is the oracle.

use schism::local_array;
use schism::prelude::*;
use schism_tests::devices::queue_on;

/// Work-items of a group.
const SIZES: [usize; 9] = [1, 3, 8, 31, 32, 64, 250, 256, 1000];

/// Groups of a launch.
const GROUPS: usize = 3;

fn input(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 5).collect()
}

/// The results of a case on `cpu` and on `native`, which are the same.
fn on_both<R: PartialEq + std::fmt::Debug>(what: &str, case: impl Fn(&Queue) -> R) -> R {
    let [cpu, native] = ["cpu", "native"].map(|name| case(&queue_on(name)));
    assert_eq!(cpu, native, "{what}");
    cpu
}

#[test]
fn trees() {
    for size in SIZES {
        let numbers = input(size * GROUPS);
        let sums = on_both(&format!("groups of {size}"), |queue| {
            let from = Buffer::from_slice(queue, &numbers).expect("memory");
            let mut sums = Buffer::filled(queue, GROUPS, 0_u32).expect("memory");
            let range = NdRange::new(size * GROUPS, size).expect("even groups");
            let sources = (local::<u32>(size), &from, per_group(sums.chunks_mut(1)));
            queue
                .for_each_in(range, sources, |item, (tile, from, mut sum)| {
                    let i = item.local_x();
                    tile.set(i, *from);
                    item.barrier();
                    let mut left = item.group_size();
                    while left > 1 {
                        let half = left.div_ceil(2);
                        if i + half < left {
                            tile.set(i, tile.get(i).wrapping_add(tile.get(i + half)));
                        }
                        item.barrier();
                        left = half;
                    }
                    for (_, sum) in sum.iter_mut() {
                        *sum = tile.get(0);
                    }
                })
                .expect("it runs");
            sums.to_vec()
        });
        let expected: Vec<u32> = numbers
            .chunks(size)
            .map(|group| group.iter().fold(0, |sum: u32, number| sum.wrapping_add(*number)))
            .collect();
        assert_eq!(sums, expected, "groups of {size}");
    }
}

#[test]
fn scans_that_change_places() {
    for size in SIZES {
        let numbers = input(size * GROUPS);
        let found = on_both(&format!("groups of {size}"), |queue| {
            let from = Buffer::from_slice(queue, &numbers).expect("memory");
            let mut to = Buffer::filled(queue, size * GROUPS, 0_u32).expect("memory");
            let range = NdRange::new(size * GROUPS, size).expect("even groups");
            let sources = (local::<u32>(size), local::<u32>(size), &from, &mut to);
            queue
                .for_each_in(range, sources, |item, (mut tile, mut other, from, to)| {
                    let i = item.local_x();
                    tile.set(i, *from);
                    item.barrier();
                    let mut distance = 1;
                    while distance < item.group_size() {
                        let before = if i >= distance { tile.get(i - distance) } else { 0 };
                        other.set(i, tile.get(i).wrapping_add(before));
                        item.barrier();
                        (tile, other) = (other, tile);
                        distance *= 2;
                    }
                    *to = tile.get(i);
                })
                .expect("it runs");
            to.to_vec()
        });
        for (found, numbers) in found.chunks(size).zip(numbers.chunks(size)) {
            let mut sum = 0_u32;
            for (found, number) in found.iter().zip(numbers) {
                sum = sum.wrapping_add(*number);
                assert_eq!(*found, sum, "groups of {size}");
            }
        }
    }
}

#[test]
fn bitonic_sorts() {
    for size in [1, 2, 32, 64, 256, 1024_usize] {
        let numbers = input(size * GROUPS);
        let found = on_both(&format!("groups of {size}"), |queue| {
            let from = Buffer::from_slice(queue, &numbers).expect("memory");
            let mut to = Buffer::filled(queue, size * GROUPS, 0_u32).expect("memory");
            let range = NdRange::new(size * GROUPS, size).expect("even groups");
            let sources = (local::<u32>(size), &from, &mut to);
            queue
                .for_each_in(range, sources, |item, (tile, from, to)| {
                    let i = item.local_x();
                    tile.set(i, *from);
                    item.barrier();
                    let mut run = 2;
                    while run <= item.group_size() {
                        let mut distance = run / 2;
                        while distance > 0 {
                            let other = i ^ distance;
                            if other > i {
                                let (a, b) = (tile.get(i), tile.get(other));
                                if (a > b) == (i & run == 0) {
                                    tile.set(i, b);
                                    tile.set(other, a);
                                }
                            }
                            item.barrier();
                            distance /= 2;
                        }
                        run *= 2;
                    }
                    *to = tile.get(i);
                })
                .expect("it runs");
            to.to_vec()
        });
        for (found, numbers) in found.chunks(size).zip(numbers.chunks(size)) {
            let mut sorted = numbers.to_vec();
            sorted.sort_unstable();
            assert_eq!(found, sorted, "groups of {size}");
        }
    }
}

/// Each work-item reads its neighbours' elements, and those at both ends read a halo.
#[test]
fn stencils_with_a_halo() {
    for size in SIZES {
        let numbers = input(size * GROUPS);
        let found = on_both(&format!("groups of {size}"), |queue| {
            let from = Buffer::from_slice(queue, &numbers).expect("memory");
            let mut to = Buffer::filled(queue, size * GROUPS, 0_u32).expect("memory");
            let range = NdRange::new(size * GROUPS, size).expect("even groups");
            let sources = (local::<u32>(size + 2), whole(&from), &mut to);
            queue
                .for_each_in(range, sources, |item, (tile, from, to)| {
                    let (i, x, last) = (item.local_x(), item.x(), from.len() - 1);
                    tile.set(i + 1, from[x]);
                    if i == 0 {
                        tile.set(0, from[x.saturating_sub(1)]);
                    }
                    if i + 1 == item.group_size() {
                        tile.set(i + 2, from[(x + 1).min(last)]);
                    }
                    item.barrier();
                    *to = tile.get(i) / 4 + tile.get(i + 1) / 2 + tile.get(i + 2) / 4;
                })
                .expect("it runs");
            to.to_vec()
        });
        let at = |x: usize| numbers[x.min(numbers.len() - 1)];
        for (x, found) in found.into_iter().enumerate() {
            let expected = at(x.saturating_sub(1)) / 4 + at(x) / 2 + at(x + 1) / 4;
            assert_eq!(found, expected, "groups of {size}");
        }
    }
}

/// A product of matrices by tiles, for groups of some rows and columns; sums have the order of the
/// loop.
fn product(queue: &Queue, [rows, columns]: [usize; 2], depth: usize) -> Vec<f32> {
    let side = 2 * rows * columns;
    let a: Vec<f32> = (0..side * side).map(|i| (i * 7 % 23) as f32 * 0.37).collect();
    let b: Vec<f32> = (0..side * side).map(|i| (i * 5 % 19) as f32 * 0.61).collect();
    let a = Buffer::from_slice(queue, &a).expect("memory");
    let b = Buffer::from_slice(queue, &b).expect("memory");
    let mut c = Buffer::filled(queue, side * side, 0.0_f32).expect("memory");
    let range = NdRange::new([side, side], [rows, columns]).expect("even groups");
    let sources = (local_2d::<f32>(rows, depth), local_2d::<f32>(depth, columns));
    let sources = (sources.0, sources.1, whole(&a), whole(&b), &mut c);
    queue
        .for_each_in(range, sources, move |item, (a_tile, b_tile, a, b, c)| {
            let ([row, column], [y, x]) = (item.global_id(), item.local_id());
            let mut sum = 0.0;
            for first in (0..side).step_by(depth) {
                let mut k = x;
                while k < depth {
                    a_tile.set([y, k], a[row * side + first + k]);
                    k += columns;
                }
                let mut k = y;
                while k < depth {
                    b_tile.set([k, x], b[(first + k) * side + column]);
                    k += rows;
                }
                item.barrier();
                for k in 0..depth {
                    sum += a_tile.get([y, k]) * b_tile.get([k, x]);
                }
                item.barrier();
            }
            *c = sum;
        })
        .expect("it runs");
    c.to_vec()
}

#[test]
fn products_of_matrices() {
    for (shape, depth) in [([4, 16], 8), ([2, 8], 8), ([3, 5], 5), ([1, 8], 4), ([8, 1], 4)] {
        let found = on_both(&format!("{shape:?}"), |queue| {
            product(queue, shape, depth).into_iter().map(f32::to_bits).collect::<Vec<_>>()
        });
        assert!(found.iter().any(|bits| *bits != found[0]));
    }
}

/// The same with tiles of constant size, and a sum that lives across barriers in every work-item.
#[test]
fn tiles_of_constant_size() {
    const TILE: usize = 16;
    const SIDE: usize = 64;
    let a: Vec<f32> = (0..SIDE * SIDE).map(|i| (i * 7 % 23) as f32 * 0.37).collect();
    let b: Vec<f32> = (0..SIDE * SIDE).map(|i| (i * 5 % 19) as f32 * 0.61).collect();
    let found = on_both("tiles", |queue| {
        let a = Buffer::from_slice(queue, &a).expect("memory");
        let b = Buffer::from_slice(queue, &b).expect("memory");
        let mut c = Buffer::filled(queue, SIDE * SIDE, 0.0_f32).expect("memory");
        let range = NdRange::new([SIDE, SIDE], [TILE, TILE]).expect("even groups");
        queue
            .for_each_in(range, (whole(&a), whole(&b), &mut c), |item, (a, b, c)| {
                let a_tile = local_array!(item, f32; TILE * TILE);
                let b_tile = local_array!(item, f32; TILE * TILE);
                let ([row, column], [y, x]) = (item.global_id(), item.local_id());
                let mut sum = 0.0;
                for first in (0..SIDE).step_by(TILE) {
                    a_tile.set(y * TILE + x, a[row * SIDE + first + x]);
                    b_tile.set(y * TILE + x, b[(first + y) * SIDE + column]);
                    item.barrier();
                    for k in 0..TILE {
                        sum += a_tile.get(y * TILE + k) * b_tile.get(k * TILE + x);
                    }
                    item.barrier();
                }
                *c = sum;
            })
            .expect("it runs");
        c.to_vec().into_iter().map(f32::to_bits).collect::<Vec<_>>()
    });
    for (at, found) in found.into_iter().enumerate() {
        let (row, column) = (at / SIDE, at % SIDE);
        let sum = (0..SIDE).fold(0.0, |sum, k| sum + a[row * SIDE + k] * b[k * SIDE + column]);
        assert_eq!(found, f32::to_bits(sum), "{row}, {column}");
    }
}

#[test]
fn transposes() {
    for [rows, columns] in [[16, 16], [8, 32], [4, 4], [5, 7], [1, 64]] {
        let numbers = input(4 * rows * columns);
        let found = on_both(&format!("{rows} by {columns}"), |queue| {
            let from = Buffer::from_slice(queue, &numbers).expect("memory");
            let mut to = Buffer::filled(queue, numbers.len(), 0_u32).expect("memory");
            let range = NdRange::new([2 * rows, 2 * columns], [rows, columns]).expect("even");
            let sources = (local_2d::<u32>(columns, rows + 1), &from, &mut to);
            queue
                .for_each_in(range, sources, move |item, (tile, from, to)| {
                    let [y, x] = item.local_id();
                    tile.set([x, y], *from);
                    item.barrier();
                    let at = y * columns + x;
                    *to = tile.get([at / rows, at % rows]);
                })
                .expect("it runs");
            to.to_vec()
        });
        let width = 2 * columns;
        for (place, found) in found.into_iter().enumerate() {
            let (y, x) = (place / width, place % width);
            let (first_y, first_x) = (y / rows * rows, x / columns * columns);
            let at = (y - first_y) * columns + (x - first_x);
            let (from_x, from_y) = (at / rows, at % rows);
            let expected = numbers[(first_y + from_y) * width + first_x + from_x];
            assert_eq!(found, expected, "{rows} by {columns}");
        }
    }
}

/// Private arrays that rows change side by side, and control flow that is the same for all.
#[test]
fn rows_with_arrays_of_their_own() {
    const SHAPE: [usize; 2] = [8, 16];
    let found = on_both("rows", |queue| {
        let mut out = Buffer::filled(queue, 4 * 8 * 16, 0_u32).expect("memory");
        let range = NdRange::new([16, 32], SHAPE).expect("even groups");
        let rounds = std::hint::black_box(5_usize);
        queue
            .for_each_in(range, (local::<u32>(16), &mut out), move |item, (tile, out)| {
                let [y, x] = item.local_id();
                let mut own = [y as u32, x as u32, 1, 2];
                for round in 0..rounds {
                    if y == 0 {
                        tile.set(x, (x * round) as u32);
                    }
                    item.barrier();
                    for k in 0..16 {
                        let at = (k + round) % 4;
                        own[at] = own[at].wrapping_mul(31).wrapping_add(tile.get((x + k) % 16));
                    }
                    item.barrier();
                }
                *out = own[0] ^ own[1].rotate_left(8) ^ own[2].rotate_left(16) ^ own[3];
            })
            .expect("it runs");
        out.to_vec()
    });
    assert!(found.iter().any(|number| *number != found[0]));
}

/// There is code for some sizes only, and then for all of them.
#[test]
fn more_sizes_than_versions() {
    for size in (1..30).chain([1, 2, 29]) {
        on_both(&format!("groups of {size}"), |queue| {
            let from = Buffer::from_slice(queue, &input(size * GROUPS)).expect("memory");
            let mut to = Buffer::filled(queue, size * GROUPS, 0_u32).expect("memory");
            let range = NdRange::new(size * GROUPS, size).expect("even groups");
            queue
                .for_each_in(
                    range,
                    (local::<u32>(size), &from, &mut to),
                    |item, (tile, from, to)| {
                        let i = item.local_x();
                        tile.set(i, *from);
                        item.barrier();
                        *to = tile.get(item.group_size() - 1 - i) ^ item.local_range()[0] as u32;
                    },
                )
                .expect("it runs");
            to.to_vec()
        });
    }
}
