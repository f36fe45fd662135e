//! Neighbours of the elements of a picture, where it ends: copied borders, and clamped coordinates in the
//! ways in which people write them. Pictures of many sizes, on every device, compared with the host bit by
//! bit.

#![forbid(unsafe_code)]

use schism::Capture;
use schism::prelude::*;
use schism_tests::sub_groups::{on_every_device, random};

/// Heights and widths.
const SHAPES: [[usize; 2]; 11] = [
    [0, 3],
    [1, 1],
    [1, 9],
    [2, 2],
    [3, 5],
    [17, 33],
    [40, 16],
    [5, 257],
    [65, 1],
    [9, 1021],
    [3, 1024],
];

fn numbers(count: usize) -> Vec<f32> {
    random(11).take(count).map(|bits| (bits >> 40) as f32 / (1 << 24) as f32).collect()
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// Runs a function for each element of pictures of all sizes.
fn compare<F>(what: &str, element: F)
where
    F: Fn(&[f32], [usize; 2], [usize; 2]) -> f32 + Copy + Send + Sync + Capture,
{
    on_every_device(|queue| {
        for shape in SHAPES {
            let picture = numbers(shape[0] * shape[1]);
            let from = Buffer::from_slice(queue, &picture).expect("memory");
            let mut to = Buffer::filled(queue, picture.len(), -1.0).expect("memory");
            let launch =
                queue.for_each_in(shape, (&mut to, whole(&from)), move |item, (to, from)| {
                    *to = element(from, shape, item.id());
                });
            launch.expect("a launch");
            let places = (0..shape[0]).flat_map(|y| (0..shape[1]).map(move |x| [y, x]));
            let expected = places.map(|place| element(&picture, shape, place).to_bits());
            let found = to.to_vec().into_iter().map(f32::to_bits);
            let first = found.zip(expected).position(|(found, expected)| found != expected);
            assert_eq!(first, None, "{what}: {shape:?} on {}", queue.device());
        }
    });
}

#[test]
fn borders_are_copied() {
    compare("one element", |from, [height, width], [y, x]| {
        let at = y * width + x;
        if y == 0 || x == 0 || y == height - 1 || x == width - 1 {
            return from[at];
        }
        0.2 * (from[at] + from[at - 1] + from[at + 1] + from[at - width] + from[at + width])
    });
    compare("two elements", |from, [height, width], [y, x]| {
        let at = y * width + x;
        let inside = y >= 2 && y + 2 < height && x >= 2 && x + 2 < width;
        if inside { from[at - 2] + from[at + 2] - from[at - 2 * width] } else { from[at] * 2.0 }
    });
    compare("not one column", |from, [_, width], [y, x]| {
        let at = y * width + x;
        if x != 7 && y != 3 { from[at] + 1.0 } else { from[at] - 1.0 }
    });
}

#[test]
fn coordinates_are_clamped() {
    compare("saturating", |from, [height, width], [y, x]| {
        let mut sum = 0.0;
        for dy in 0..3 {
            let y = (y + dy).saturating_sub(1).min(height - 1);
            for dx in 0..5 {
                let x = (x + dx).saturating_sub(2).min(width - 1);
                sum += from[y * width + x] * (dx + 1) as f32;
            }
        }
        sum
    });
    compare("with signs", |from, [height, width], [y, x]| {
        let at = |dy: i32, dx: i32| {
            let y = (y as i32 + dy).clamp(0, height as i32 - 1) as usize;
            let x = (x as i32 + dx).clamp(0, width as i32 - 1) as usize;
            from[y * width + x]
        };
        at(-1, -1) - at(1, 1) + at(0, 3) * at(0, -3)
    });
    compare("isize", |from, [height, width], [y, x]| {
        let at = |dy: isize, dx: isize| {
            let y = y.saturating_add_signed(dy).min(height - 1);
            let x = (x as isize + dx).max(0).min(width as isize - 1) as usize;
            from[y * width + x]
        };
        at(0, 1) + at(0, -1) + at(1, 0) + at(-1, 0)
    });
    compare("a table", |from, [_, width], [y, x]| {
        from[y * width + x.min(3)] + from[y * width + x.max(width / 2)]
    });
}

#[test]
fn clamped_neighbours_of_a_row() {
    on_every_device(|queue| {
        for count in [0, 1, 2, 3, 31, 64, 1000, 4099] {
            for first in [0, 1, 5] {
                let row = numbers(count + first);
                let from = Buffer::from_slice(queue, &row).expect("memory");
                let mut to = Buffer::filled(queue, count, 0.0).expect("memory");
                let sum = |from: &[f32], place: usize| {
                    let last = from.len() - 1;
                    (0..9).map(|tap| from[(place + tap).saturating_sub(4).min(last)]).sum::<f32>()
                };
                let launch =
                    queue.for_each((first.., &mut to, whole(&from)), move |(place, to, from)| {
                        *to = sum(from, place);
                    });
                launch.expect("a launch");
                let expected: Vec<f32> =
                    (first..first + count).map(|place| sum(&row, place)).collect();
                assert_eq!(to.to_vec(), expected, "{count} from {first} on {}", queue.device());
            }
        }
    });
}
