//! Directives' loops whose iterations own several parts of an array: accesses whose indices differ by
//! what the loop does not change. On every device, beside the loops without directives.

#![allow(clippy::needless_range_loop, reason = "loops over indices are what is tested")]

use schism::DeviceKind;
use schism::directives::{acc, with_queue};
use schism::prelude::*;
use schism_tests::devices::with_copies;

/// Runs a test on every device. Plain rustc makes code for one: there the program is the same.
fn on_every_device(test: impl Fn()) {
    let is_native = |device: &Device| device.kind() == DeviceKind::Native;
    for device in with_copies().into_iter().filter(|own| cfg!(schism_driver) || is_native(own)) {
        println!("on {device}");
        with_queue(&Queue::on(&device).expect("a device that is listed"), &test);
    }
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// The planes of several quantities in one array.
#[acc]
fn planes(h: usize, w: usize, from: &[u32], to: &mut [u32]) {
    let plane = h * w;
    #[acc(parallel, loop, collapse(2))]
    for y in 0..h {
        for x in 0..w {
            let at = y * w + x;
            to[at] = from[at];
            to[plane + at] += to[at] + 1;
            to[3 * plane + at] = to[2 * plane + at] ^ from[at];
        }
    }
}

#[test]
fn iterations_own_an_element_of_each_plane() {
    on_every_device(|| {
        for (h, w) in [(1, 1), (1, 31), (31, 1), (20, 33), (0, 5)] {
            let from: Vec<u32> = (0..h * w).map(|i| (i * 7919) as u32).collect();
            let mut to: Vec<u32> = (0..4 * h * w).map(|i| i as u32).collect();
            let mut expected = to.clone();
            planes(h, w, &from, &mut to);
            let plane = h * w;
            for at in 0..plane {
                expected[at] = from[at];
                expected[plane + at] += from[at] + 1;
                expected[3 * plane + at] = expected[2 * plane + at] ^ from[at];
            }
            assert_eq!(to, expected, "{h} {w}");
        }
    });
}

/// The same, by an inner loop.
#[acc]
fn planes_in_order([h, w, count]: [usize; 3], margin: usize, from: &[u32], to: &mut [u32]) {
    let (row, plane) = (w + margin, h * (w + margin));
    #[acc(parallel, loop, collapse(2))]
    for y in 0..h {
        for x in 0..w {
            let at = y * row + x;
            for q in 0..count {
                to[q * plane + at] += from[at] * q as u32;
                if q > 0 {
                    to[q * plane + at] ^= to[at];
                }
            }
        }
    }
}

#[test]
fn inner_loops_go_through_planes() {
    on_every_device(|| {
        for (shape, margin) in [([3, 5, 4], 0), ([1, 1, 1], 0), ([20, 33, 3], 2), ([4, 4, 0], 1)] {
            let [h, w, count] = shape;
            let (row, plane) = (w + margin, h * (w + margin));
            let from: Vec<u32> = (0..plane).map(|i| (i * 31) as u32).collect();
            let mut to: Vec<u32> = (0..4 * plane).map(|i| i as u32).collect();
            let mut expected = to.clone();
            planes_in_order(shape, margin, &from, &mut to);
            for at in (0..h).flat_map(|y| (0..w).map(move |x| y * row + x)) {
                for q in 0..count {
                    expected[q * plane + at] += from[at] * q as u32;
                    if q > 0 {
                        expected[q * plane + at] ^= expected[at];
                    }
                }
            }
            assert_eq!(to, expected, "{shape:?} {margin}");
        }
        // A plane that is not there.
        let mut to = vec![0; 40];
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            planes_in_order([2, 5, 5], 0, &[1; 10], &mut to);
        }));
        let text = *failed.expect_err("out of bounds").downcast::<String>().expect("a text");
        assert!(text.contains("the len is 40 but the index is 4"), "{text}");
    });
}

/// Both ends of a row, of the width of a halo.
#[acc]
fn ends(n: usize, halo: usize, rows: &mut [i64]) {
    let row = n + 2 * halo;
    #[acc(parallel, loop)]
    for y in 0..rows.len() / row {
        for i in 0..halo {
            rows[y * row + i] = rows[y * row + n + i];
            rows[y * row + n + halo + i] = rows[y * row + halo + i];
        }
    }
}

/// Rows that are apart, between the planes.
#[acc]
fn edges(planes: usize, h: usize, w: usize, cells: &mut [i64]) {
    #[acc(parallel, loop, collapse(2))]
    for q in 0..planes {
        for x in 0..w {
            cells[q * h * w + x] = cells[q * h * w + (h - 2) * w + x];
            cells[(q + 1) * h * w - w + x] = -cells[q * h * w + w + x];
        }
    }
}

#[test]
fn lanes_are_inside_of_rows_and_between_planes() {
    on_every_device(|| {
        for (count, n, halo) in [(7, 5, 2), (3, 2, 2), (1, 1, 1), (40, 9, 3)] {
            let row = n + 2 * halo;
            let mut rows: Vec<i64> = (0..(count * row) as i64).collect();
            let mut expected = rows.clone();
            ends(n, halo, &mut rows);
            for own in expected.chunks_mut(row) {
                for i in 0..halo {
                    own[i] = own[n + i];
                    own[n + halo + i] = own[halo + i];
                }
            }
            assert_eq!(rows, expected, "{count} {n} {halo}");
        }
        for (planes, h, w) in [(1, 4, 1), (4, 4, 9), (3, 10, 1), (5, 7, 40)] {
            let mut cells: Vec<i64> = (0..(planes * h * w) as i64).collect();
            let mut expected = cells.clone();
            edges(planes, h, w, &mut cells);
            for own in expected.chunks_mut(h * w) {
                for x in 0..w {
                    own[x] = own[(h - 2) * w + x];
                    own[(h - 1) * w + x] = -own[w + x];
                }
            }
            assert_eq!(cells, expected, "{planes} {h} {w}");
        }
    });
}

#[acc]
fn shifted(by: usize, n: usize, to: &mut [u32]) {
    #[acc(parallel, loop)]
    for i in 0..n {
        to[i] = to[i + by] + 1;
    }
}

#[acc]
fn shifted_kernels(by: usize, n: usize, to: &mut [u32]) -> u32 {
    let mut sum = 0;
    #[acc(kernels, loop, reduction(+: sum))]
    for i in 0..n {
        to[i + by] = to[i] + 1;
        sum += to[i + by];
    }
    sum
}

#[acc]
fn kernels_by_steps(by: usize, n: usize, to: &mut [u32]) {
    #[acc(kernels, loop)]
    for i in 0..n {
        to[by * i] += i as u32;
    }
}

/// What only a run shows: `parallel` refuses where iterations meet, `kernels` runs them in order.
#[test]
fn lanes_that_meet_are_refused_or_run_in_order() {
    on_every_device(|| {
        for by in [0_usize, 1, 50, 99, 100, 120] {
            let start: Vec<u32> = (0..240).map(|i| i * i).collect();
            let mut to = start.clone();
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                shifted(by, 100, &mut to);
            }));
            let is_apart = by == 0 || by >= 100;
            assert_eq!(result.is_ok(), is_apart, "{by}");
            match result {
                Ok(()) => assert!((0..100).all(|i| to[i] == start[i + by] + 1)),
                Err(payload) => {
                    let text = payload.downcast::<String>().expect("a text");
                    assert!(text.contains("two iterations may access the same element"), "{text}");
                    assert_eq!(to, start);
                }
            }

            let (mut to, mut expected, mut sum) = (start.clone(), start.clone(), 0);
            for i in 0..100 {
                expected[i + by] = expected[i] + 1;
                sum += expected[i + by];
            }
            assert_eq!(shifted_kernels(by, 100, &mut to), sum, "{by}");
            assert_eq!(to, expected, "{by}");
        }
        for by in [0_usize, 1, 2] {
            let mut to = vec![1; 200];
            kernels_by_steps(by, 100, &mut to);
            let of = |at: usize| match by {
                0 => 1 + u32::from(at == 0) * 4950,
                by => 1 + if at.is_multiple_of(by) && at / by < 100 { (at / by) as u32 } else { 0 },
            };
            assert!((0..200).all(|at| to[at] == of(at)), "{by}");
        }
    });
}
