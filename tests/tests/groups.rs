//! Work-groups: each case runs on every device, and its results are compared with the host's.

use std::sync::atomic::Ordering::Relaxed;

use schism::prelude::*;
use schism::{Device, KernelPanic, local_array};
use schism_tests::devices::{has_recursion, notices_who_does_not_come};

/// Runs a case on every device.
fn on_every_device(mut case: impl FnMut(&Queue)) {
    for device in schism_tests::devices::listed() {
        case(&Queue::on(&device).expect("a device that is listed"));
    }
}

const SIZES: [usize; 6] = [1, 3, 17, 64, 256, 1024];

fn numbers(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect()
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

#[test]
fn places() {
    on_every_device(|queue| {
        let mut out = Buffer::filled(queue, 4 * 6 * 10, [[0_usize; 3]; 6]).expect("memory");
        let view = out.view_mut();
        let range = NdRange::new([4, 6, 10], [2, 3, 5]).expect("even groups");
        queue
            .parallel_for(range, move |item| {
                let value = [
                    item.global_id(),
                    item.local_id(),
                    item.group_id(),
                    item.local_range(),
                    item.group_range(),
                    [item.global_linear_id(), item.local_linear_id(), item.group_linear_id()],
                ];
                assert!(item.global_range() == [4, 6, 10]);
                assert!(item.group_size() == 30 && item.groups() == 8);
                assert!(item.global_id() == [item.z(), item.y(), item.x()]);
                assert!(item.local_id() == [item.local_z(), item.local_y(), item.local_x()]);
                assert!(item.group_id() == [item.group_z(), item.group_y(), item.group_x()]);
                assert!(item.item().id() == item.global_id());
                // SAFETY: each work-item writes its own element.
                unsafe { view.set_unchecked(item.global_linear_id(), value) }
            })
            .expect("it runs");
        let out = out.to_vec();
        for (index, found) in out.into_iter().enumerate() {
            let [z, y, x] = [index / 60, index / 10 % 6, index % 10];
            let (local, group) = ([z % 2, y % 3, x % 5], [z / 2, y / 3, x / 5]);
            let linear = |[z, y, x]: [usize; 3], [_, ny, nx]: [usize; 3]| (z * ny + y) * nx + x;
            let expected = [
                [z, y, x],
                local,
                group,
                [2, 3, 5],
                [2, 2, 2],
                [index, linear(local, [2, 3, 5]), linear(group, [2, 2, 2])],
            ];
            assert_eq!(found, expected, "{index}");
        }
    });
}

#[test]
fn tree_reduction_of_every_size() {
    on_every_device(|queue| {
        for size in SIZES {
            let groups = 5;
            let input = numbers(size * groups);
            let from = Buffer::from_slice(queue, &input).expect("memory");
            let mut sums = Buffer::filled(queue, groups, 0_u32).expect("memory");
            let (from, to) = (from.view(), sums.view_mut());
            let range = NdRange::new(size * groups, size).expect("even groups");
            queue
                .for_each_in(range, local::<u32>(size), move |item, tile| {
                    let i = item.local_x();
                    tile.set(i, from[item.x()]);
                    item.barrier();
                    let mut count = item.group_size();
                    while count > 1 {
                        let half = count.div_ceil(2);
                        if i + half < count {
                            tile.set(i, tile.get(i).wrapping_add(tile.get(i + half)));
                        }
                        item.barrier();
                        count = half;
                    }
                    if i == 0 {
                        // SAFETY: one work-item of each group writes the group's element.
                        unsafe { to.set_unchecked(item.group_x(), tile.get(0)) }
                    }
                })
                .expect("it runs");
            let expected: Vec<u32> = input
                .chunks(size)
                .map(|chunk| chunk.iter().fold(0_u32, |sum, x| sum.wrapping_add(*x)))
                .collect();
            assert_eq!(sums.to_vec(), expected, "{} of {size}", queue.device());
        }
    });
}

#[test]
fn inclusive_scan_of_every_size() {
    on_every_device(|queue| {
        for size in SIZES {
            let input: Vec<f32> = numbers(size * 3).iter().map(|x| *x as f32 * 1e-3).collect();
            let from = Buffer::from_slice(queue, &input).expect("memory");
            let mut out = Buffer::filled(queue, input.len(), 0_f32).expect("memory");
            let (from, to) = (from.view(), out.view_mut());
            let range = NdRange::new(input.len(), size).expect("even groups");
            let arrays = (local::<f32>(size), local::<f32>(size));
            queue
                .for_each_in(range, arrays, move |item, (mut tile, mut other)| {
                    let i = item.local_x();
                    tile.set(i, from[item.x()]);
                    item.barrier();
                    let mut distance = 1;
                    while distance < item.group_size() {
                        let before = if i >= distance { tile.get(i - distance) } else { 0.0 };
                        other.set(i, tile.get(i) + before);
                        item.barrier();
                        (tile, other) = (other, tile);
                        distance *= 2;
                    }
                    // SAFETY: each work-item writes its own element.
                    unsafe { to.set_unchecked(item.x(), tile.get(i)) }
                })
                .expect("it runs");
            let mut expected = Vec::new();
            for chunk in input.chunks(size) {
                let mut tile = chunk.to_vec();
                let mut distance = 1;
                while distance < size {
                    tile = (0..size)
                        .map(|i| tile[i] + if i >= distance { tile[i - distance] } else { 0.0 })
                        .collect();
                    distance *= 2;
                }
                expected.extend(tile);
            }
            assert_eq!(out.to_vec(), expected, "{} of {size}", queue.device());
        }
    });
}

#[test]
fn tiled_transpose() {
    const TILE: usize = 8;
    on_every_device(|queue| {
        let (height, width) = (5 * TILE, 3 * TILE);
        let input = numbers(height * width);
        let from = Buffer::from_slice(queue, &input).expect("memory");
        let mut out = Buffer::filled(queue, input.len(), 0_u32).expect("memory");
        let (from, to) = (from.view(), out.view_mut());
        let range = NdRange::new([height, width], [TILE, TILE]).expect("even groups");
        queue
            .parallel_for(range, move |item| {
                let tile = local_array!(item, u32; TILE * (TILE + 1));
                let [y, x] = item.local_id();
                tile.set(y * (TILE + 1) + x, from[item.y() * width + item.x()]);
                item.barrier();
                let [group_y, group_x] = item.group_id();
                let place = (group_x * TILE + y) * height + group_y * TILE + x;
                // SAFETY: each work-item writes its own element.
                unsafe { to.set_unchecked(place, tile.get(x * (TILE + 1) + y)) }
            })
            .expect("it runs");
        let expected: Vec<u32> = (0..input.len())
            .map(|place| input[(place % height) * width + place / height])
            .collect();
        assert_eq!(out.to_vec(), expected);
    });
}

/// A sum over the neighbours in three dimensions, with the border of the tile in local memory.
#[test]
fn stencil_with_halo() {
    const N: usize = 12;
    const TILE: usize = 4;
    const SIDE: usize = TILE + 2;
    let at = |input: &[f32], z: isize, y: isize, x: isize| -> f32 {
        let inside = |i: isize| (0..N as isize).contains(&i);
        if inside(z) && inside(y) && inside(x) {
            input[(z as usize * N + y as usize) * N + x as usize]
        } else {
            0.5
        }
    };
    let input: Vec<f32> = numbers(N * N * N).iter().map(|x| (*x % 1000) as f32 * 0.37).collect();
    on_every_device(|queue| {
        let from = Buffer::from_slice(queue, &input).expect("memory");
        let mut out = Buffer::filled(queue, input.len(), 0_f32).expect("memory");
        let (from, to) = (from.view(), out.view_mut());
        let range = NdRange::new([N, N, N], [TILE, TILE, TILE]).expect("even groups");
        queue
            .for_each_in(range, local::<f32>(SIDE * SIDE * SIDE), move |item, tile| {
                let [gz, gy, gx] = item.group_id();
                let mut i = item.local_linear_id();
                while i < tile.len() {
                    let (z, y, x) = (i / (SIDE * SIDE), i / SIDE % SIDE, i % SIDE);
                    let place = |group: usize, i: usize| (group * TILE + i) as isize - 1;
                    tile.set(i, at(&from, place(gz, z), place(gy, y), place(gx, x)));
                    i += item.group_size();
                }
                item.barrier();
                let [z, y, x] = item.local_id().map(|i| i + 1);
                let get = |z: usize, y: usize, x: usize| tile.get((z * SIDE + y) * SIDE + x);
                let sum = get(z - 1, y, x)
                    + get(z + 1, y, x)
                    + get(z, y - 1, x)
                    + get(z, y + 1, x)
                    + get(z, y, x - 1)
                    + get(z, y, x + 1);
                // SAFETY: each work-item writes its own element.
                unsafe { to.set_unchecked(item.global_linear_id(), sum - 6.0 * get(z, y, x)) }
            })
            .expect("it runs");
        let out = out.to_vec();
        for (place, found) in out.into_iter().enumerate() {
            let (z, y, x) = (place / (N * N), place / N % N, place % N);
            let [z, y, x] = [z, y, x].map(|i| i as isize);
            let sum = at(&input, z - 1, y, x)
                + at(&input, z + 1, y, x)
                + at(&input, z, y - 1, x)
                + at(&input, z, y + 1, x)
                + at(&input, z, y, x - 1)
                + at(&input, z, y, x + 1);
            assert_eq!(found, sum - 6.0 * at(&input, z, y, x), "{place}");
        }
    });
}

/// Every work-item adds what its left neighbour wrote in the round before.
fn neighbours(size: usize, rounds: usize) -> Vec<u32> {
    let mut tile: Vec<u32> = (0..size as u32).collect();
    for _ in 0..rounds {
        tile = (0..size).map(|i| tile[i].wrapping_mul(3) + tile[(i + 1) % size] % 7).collect();
    }
    tile
}

fn step(item: &NdItem<'_, 1>, tile: Local<'_, u32>) {
    let i = item.local_x();
    let next = tile.get(i).wrapping_mul(3) + tile.get((i + 1) % tile.len()) % 7;
    item.barrier();
    tile.set(i, next);
    item.barrier();
}

#[inline(never)]
fn step_not_inlined(item: &NdItem<'_, 1>, tile: Local<'_, u32>) {
    step(item, tile);
}

#[inline(never)]
fn recursive(item: &NdItem<'_, 1>, tile: Local<'_, u32>, rounds: usize) -> usize {
    if rounds == 0 {
        return 0;
    }
    step_not_inlined(item, tile);
    1 + recursive(item, tile, rounds - 1)
}

trait Step {
    fn go(&self, item: &NdItem<'_, 1>, tile: Local<'_, u32>);
}

struct Once;
impl Step for Once {
    fn go(&self, item: &NdItem<'_, 1>, tile: Local<'_, u32>) {
        step(item, tile);
    }
}

struct Twice(u32);
impl Step for Twice {
    fn go(&self, item: &NdItem<'_, 1>, tile: Local<'_, u32>) {
        if self.0 == 2 {
            step(item, tile);
        }
        step_not_inlined(item, tile);
    }
}

/// Runs `rounds` in every group and compares with as many rounds of [`neighbours`].
macro_rules! rounds {
    ($count:expr, |$item:ident, $tile:ident| $body:expr) => {
        rounds!($count, |_| true, |$item, $tile| $body)
    };
    ($count:expr, $runs_on:expr, |$item:ident, $tile:ident| $body:expr) => {
        on_every_device(|queue| {
            let runs_on: fn(&Device) -> bool = $runs_on;
            if !runs_on(queue.device()) {
                return;
            }
            for size in [1, 3, 64, 257] {
                let mut out = Buffer::filled(queue, size * 4, 0_u32).expect("memory");
                let to = out.view_mut();
                let range = NdRange::new(size * 4, size).expect("even groups");
                queue
                    .for_each_in(range, local::<u32>(size), move |$item, $tile| {
                        $tile.set($item.local_x(), $item.local_x() as u32);
                        $item.barrier();
                        $body;
                        // SAFETY: each work-item writes its own element.
                        unsafe { to.set_unchecked($item.x(), $tile.get($item.local_x())) }
                    })
                    .expect("it runs");
                let expected = neighbours(size, $count).repeat(4);
                assert_eq!(out.to_vec(), expected, "{} of {size}", queue.device());
            }
        });
    };
}

#[test]
fn barriers_in_a_loop() {
    rounds!(20, |item, tile| (0..20).for_each(|_| step(&item, tile)));
}

#[test]
fn barriers_in_uniform_branches() {
    rounds!(9, |item, tile| for round in 0..20 {
        match (item.group_range()[0] + round) % 5 {
            0 => step(&item, tile),
            1 => step_not_inlined(&item, tile),
            _ => {}
        }
        if round == 7 && item.group_size() > 0 {
            step(&item, tile);
        }
    });
}

#[test]
fn barriers_in_functions() {
    rounds!(3, |item, tile| for _ in 0..3 {
        step_not_inlined(&item, tile);
    });
}

#[test]
fn barriers_in_a_recursive_function() {
    rounds!(11, has_recursion, |item, tile| {
        let depth = recursive(&item, tile, 11);
        assert!(depth == 11);
    });
}

#[test]
fn barriers_behind_pointers() {
    rounds!(8, |item, tile| {
        let steps: [&dyn Step; 3] = [&Once, &Twice(2), &Twice(1)];
        for round in 0..6 {
            steps[(round + item.group_range()[0]) % 3].go(&item, tile);
        }
    });
}

#[test]
fn private_values_live_across_barriers() {
    on_every_device(|queue| {
        let mut out = Buffer::filled(queue, 96, [0_u64; 4]).expect("memory");
        let to = out.view_mut();
        let range = NdRange::new(96, 32).expect("even groups");
        queue
            .parallel_for(range, move |item| {
                let mut own = [item.x() as u64; 40];
                for round in 0..40 {
                    own[(round * 7 + item.x()) % 40] += round as u64;
                    item.barrier();
                }
                let mut sums = [0; 4];
                for (at, value) in own.iter().enumerate() {
                    sums[at % 4] += value * at as u64;
                }
                // SAFETY: each work-item writes its own element.
                unsafe { to.set_unchecked(item.x(), sums) }
            })
            .expect("it runs");
        for (x, found) in out.to_vec().into_iter().enumerate() {
            let mut own = [x as u64; 40];
            for round in 0..40 {
                own[(round * 7 + x) % 40] += round as u64;
            }
            let mut sums = [0; 4];
            for (at, value) in own.iter().enumerate() {
                sums[at % 4] += value * at as u64;
            }
            assert_eq!(found, sums, "{x}");
        }
    });
}

/// Arrays of different types, sizes and alignments, constant and chosen, interleaved with scalars.
#[test]
fn arrays_do_not_overlap() {
    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Aligned([u8; 64]);
    on_every_device(|queue| {
        let mut wrong = Buffer::filled(queue, 1, 0_u32).expect("memory");
        let (scale, offset) = (3_u64, 5_u8);
        let bad = wrong.atomic_view();
        let arrays = (local::<u8>(13), local::<f64>(7), local::<u16>(0), local::<i32>(33));
        let range = NdRange::new(40 * 13, 13).expect("even groups");
        queue
            .for_each_in(range, arrays, move |item, (bytes, floats, none, ints)| {
                let odd = local_array!(item, u8; 7);
                let words = local_array!(item, u64; 5);
                let aligned = local_array!(item, Aligned; 2);
                let empty = local_array!(item, f32; 0);
                let i = item.local_x();
                let seed = item.group_x() as u64;
                let check = |good: bool| {
                    if !good {
                        bad[0].fetch_add(1, Relaxed);
                    }
                };
                bytes.set(i, i as u8 ^ offset ^ seed as u8);
                if i < 7 {
                    odd.set(i, (i * 11) as u8 ^ seed as u8);
                    floats.set(i, i as f64 + seed as f64);
                }
                if i < 5 {
                    words.set(i, (i as u64 * scale) ^ (seed << 32));
                }
                if i < 2 {
                    // SAFETY: one work-item writes it, and a barrier comes before it is read.
                    unsafe { (*aligned.as_mut_ptr().add(i)).0 = [i as u8 + 100; 64] }
                }
                for at in (i..33).step_by(13) {
                    ints.set(at, -(at as i32) - seed as i32);
                }
                item.barrier();
                check(none.is_empty() && empty.is_empty());
                check(aligned.as_mut_ptr().addr() % 64 == 0);
                check(words.as_mut_ptr().addr() % 8 == 0 && floats.as_mut_ptr().addr() % 8 == 0);
                check((0..13).all(|i| bytes.get(i) == i as u8 ^ offset ^ seed as u8));
                check((0..7).all(|i| odd.get(i) == (i * 11) as u8 ^ seed as u8));
                check((0..7).all(|i| floats.get(i) == i as f64 + seed as f64));
                check((0..5).all(|i| words.get(i) == (i as u64 * scale) ^ (seed << 32)));
                check((0..33).all(|i| ints.get(i) == -(i as i32) - seed as i32));
                // SAFETY: there are no more writes.
                check(
                    (0..2).all(
                        |i| unsafe { (*aligned.as_mut_ptr().add(i)).0 } == [i as u8 + 100; 64],
                    ),
                );
            })
            .expect("it runs");
        assert_eq!(wrong.to_vec(), [0], "on {}", queue.device());
    });
}

fn shared_array(item: &NdItem<'_, 1>, add: u32) -> u32 {
    let cell = local_array!(item, u32; 1);
    if item.local_x() == 0 {
        cell.set(0, add);
    }
    item.barrier();
    let value = cell.get(0);
    item.barrier();
    value
}

/// Two kernels with arrays of their own and one function with an array that both use; many groups
/// at once.
#[test]
fn kernels_share_functions_and_groups_share_nothing() {
    on_every_device(|queue| {
        let count = 600;
        let mut first = Buffer::filled(queue, count, 0_u32).expect("memory");
        let mut second = Buffer::filled(queue, count, 0_u32).expect("memory");
        let range = NdRange::new(count * 4, 4).expect("even groups");
        let to = first.view_mut();
        queue
            .for_each_in(range, local::<u32>(3), move |item, more| {
                let own = local_array!(item, u32; 4);
                own.set(item.local_x(), 7);
                if item.local_x() < 3 {
                    more.set(item.local_x(), item.group_x() as u32);
                }
                let value = shared_array(&item, item.group_x() as u32);
                let sum = (0..4).map(|i| own.get(i)).sum::<u32>() + more.get(2);
                if item.local_x() == 3 {
                    // SAFETY: one work-item of each group writes the group's element.
                    unsafe { to.set_unchecked(item.group_x(), value + sum) }
                }
            })
            .expect("it runs");
        let to = second.view_mut();
        queue
            .parallel_for(range, move |item| {
                let own = local_array!(item, u64; 100);
                own.set(item.local_x() * 20, 5);
                let value = shared_array(&item, 2 * item.group_x() as u32);
                if item.local_x() == 3 {
                    // SAFETY: one work-item of each group writes the group's element.
                    unsafe { to.set_unchecked(item.group_x(), value + own.get(60) as u32) }
                }
            })
            .expect("it runs");
        let expected: Vec<u32> = (0..count as u32).map(|group| 2 * group + 28).collect();
        assert_eq!(first.to_vec(), expected);
        let expected: Vec<u32> = (0..count as u32).map(|group| 2 * group + 5).collect();
        assert_eq!(second.to_vec(), expected);
    });
}

#[test]
fn integers_in_local_memory_are_atomics() {
    on_every_device(|queue| {
        let input = numbers(4096);
        let from = Buffer::from_slice(queue, &input).expect("memory");
        let mut counts = Buffer::filled(queue, 32, 0_u32).expect("memory");
        let (from, to) = (from.view(), counts.atomic_view());
        let range = NdRange::new(4096, 128).expect("even groups");
        queue
            .for_each_in(range, local::<u32>(32), move |item, bins| {
                if item.local_x() < bins.len() {
                    bins.set(item.local_x(), 0);
                }
                item.barrier();
                bins.as_atomics()[from[item.x()] as usize % 32].fetch_add(1, Relaxed);
                item.barrier();
                if item.local_x() < bins.len() {
                    to[item.local_x()].fetch_add(bins.get(item.local_x()), Relaxed);
                }
            })
            .expect("it runs");
        let mut expected = [0_u32; 32];
        input.iter().for_each(|x| expected[*x as usize % 32] += 1);
        assert_eq!(counts.to_vec(), expected);
    });
}

#[test]
fn groups_without_barriers() {
    on_every_device(|queue| {
        for size in SIZES {
            let mut out = Buffer::filled(queue, size * 7, 0_usize).expect("memory");
            let to = out.view_mut();
            let range = NdRange::new(size * 7, size).expect("even groups");
            queue
                .parallel_for(range, move |item| {
                    let value = item.group_x() * 10_000 + item.local_x();
                    // SAFETY: each work-item writes its own element.
                    unsafe { to.set_unchecked(item.x(), value) }
                })
                .expect("it runs");
            let expected: Vec<_> = (0..size * 7).map(|x| x / size * 10_000 + x % size).collect();
            assert_eq!(out.to_vec(), expected);
        }
    });
}

#[test]
fn an_empty_range_runs_nothing() {
    on_every_device(|queue| {
        for (global, local) in [([0, 8], [4, 4]), ([8, 0], [1, 1024])] {
            let range = NdRange::new(global, local).expect("even groups");
            queue
                .parallel_for(range, |item| {
                    item.barrier();
                    panic!("there is no work-item")
                })
                .expect("nothing runs");
        }
    });
}

#[test]
fn ranges_that_are_wrong() {
    let message = |error: LaunchError| error.to_string();
    let empty = NdRange::new([8, 8], [4, 0]).expect_err("an empty group");
    assert!(matches!(empty, LaunchError::EmptyGroup { .. }), "{empty}");
    let uneven = NdRange::new([8, 9], [4, 4]).expect_err("uneven groups");
    assert!(message(uneven).contains("round the range up to [8, 12]"));
    let large = NdRange::new([usize::MAX, 4], [1, 1]).expect_err("too many work-items");
    assert!(matches!(large, LaunchError::RangeOverflow { .. }), "{large}");
    on_every_device(|queue| {
        let range = NdRange::new(2050, 1025).expect("even groups");
        let large = queue.parallel_for(range, |_| ()).expect_err("a large group");
        assert!(message(large).contains("[1025] has 1025 work-items"));
        assert_eq!(queue.device().max_group_size(), 1024);
    });
}

#[test]
fn local_memory_has_a_limit() {
    on_every_device(|queue| {
        let limit = queue.device().local_memory_size();
        let range = NdRange::new(8, 4).expect("even groups");
        let run = |len: usize| {
            queue.for_each_in(range, local::<u64>(len), |item, array| {
                let last = array.len() - 1;
                array.set(last - item.local_x(), 1);
            })
        };
        run(limit / 8).expect("what there is can be had");
        let is_refused = |result: Result<(), LaunchError>, at_least: usize| match result {
            Err(LaunchError::LocalMemory { bytes, limit: said, .. }) => {
                assert!(said == limit && bytes >= at_least, "{bytes} of {said}");
            }
            other => panic!("{other:?}"),
        };
        is_refused(run(limit / 8 + 1), limit + 8);
        is_refused(run(usize::MAX / 8), limit);
        is_refused(run(usize::MAX), limit);
        let both = queue.for_each_in(range, local::<u8>(40_000), |item, array| {
            let more = local_array!(item, u8; 40_000);
            array.set(item.local_x(), 1);
            more.set(item.local_x(), 1);
            item.barrier();
        });
        if limit < 80_000 {
            is_refused(both, 80_000);
        } else {
            both.expect("there is as much");
        }
        // The queue continues.
        run(1 << 5).expect("it runs");
    });
}

fn panic_of(result: Result<(), LaunchError>) -> KernelPanic {
    match result {
        Err(LaunchError::Panicked(panic)) => *panic,
        other => panic!("{other:?}"),
    }
}

#[test]
fn panics_before_and_after_barriers() {
    on_every_device(|queue| {
        let range = NdRange::new([12, 16], [4, 8]).expect("even groups");
        for barriers in [0, 1, 5] {
            let result = queue.for_each_in(range, local::<u32>(1), move |item, array| {
                for _ in 0..barriers {
                    item.barrier();
                }
                array.set(if item.global_id() == [6, 13] { 1 } else { 0 }, 3);
                item.barrier();
            });
            let panic = panic_of(result);
            assert_eq!(panic.work_item, Some(vec![6, 13]), "{panic}");
            assert_eq!(panic.local_id, Some(vec![2, 5]), "{panic}");
            assert!(panic.message.contains("index out of bounds"), "{panic}");
            let location = panic.location.as_deref().unwrap_or_default();
            assert!(location.contains("groups.rs"), "{panic}");
        }
        if !has_recursion(queue.device()) {
            return;
        }
        // In a function that is no part of the loop.
        #[inline(never)]
        fn fails(item: &NdItem<'_, 2>, depth: usize) -> usize {
            item.barrier();
            assert!(item.x() < 9, "nine");
            if depth == 0 { item.x() } else { fails(item, depth - 1) + 1 }
        }
        let result = queue.parallel_for(range, |item| {
            assert!(fails(&item, 3) < 100);
        });
        let panic = panic_of(result);
        let (global, local) = (panic.work_item.unwrap(), panic.local_id.unwrap());
        assert_eq!((global[1], local[1]), (9, 1));
        assert_eq!(panic.message, "nine");
    });
}

#[test]
fn a_barrier_that_not_all_come_to() {
    on_every_device(|queue| {
        if !notices_who_does_not_come(queue.device()) {
            return;
        }
        let range = NdRange::new([2, 8], [2, 4]).expect("even groups");
        let run = |kind: u32| {
            queue.parallel_for(range, move |item| {
                let late = item.group_x() == 1 && item.local_linear_id() >= 5;
                match kind {
                    0 if late => item.barrier(),
                    1 if !late => item.barrier(),
                    2 => {
                        item.barrier();
                        if late {
                            item.barrier();
                        }
                    }
                    _ => {}
                }
            })
        };
        for (kind, waits) in [(0, 3), (2, 3)] {
            match run(kind) {
                Err(LaunchError::DivergentBarrier { group, waiting, ended, .. }) => {
                    assert_eq!((group, waiting, ended), (vec![0, 1], waits, 8 - waits));
                }
                other => panic!("{other:?}"),
            }
        }
        match run(1) {
            Err(LaunchError::DivergentBarrier { group, waiting, ended, .. }) => {
                assert_eq!((group, waiting, ended), (vec![0, 1], 5, 3));
            }
            other => panic!("{other:?}"),
        }
        // The queue continues.
        run(3).expect("no barrier");
    });
}

/// On the native device, work-items that are given up unwind: what they own is dropped.
#[test]
fn what_waits_is_dropped_when_the_group_is_given_up() {
    struct Counts<'a>(&'a std::sync::atomic::AtomicU32);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    let queue =
        Queue::on(&Device::by_name("native").expect("it is always there")).expect("threads");
    for fails in [true, false] {
        let mut drops = Buffer::filled(&queue, 1, 0_u32).expect("memory");
        let count = drops.atomic_view();
        let range = NdRange::new(8, 8).expect("even groups");
        let result = queue.parallel_for(range, move |item| {
            let _guard = Counts(&count[0]);
            if item.local_x() == 5 {
                assert!(!fails, "five");
                return;
            }
            item.barrier();
        });
        result.expect_err("it fails");
        assert_eq!(drops.to_vec(), [if fails { 6 } else { 8 }]);
    }
}

#[test]
fn groups_in_a_scope() {
    on_every_device(|queue| {
        let mut sums = Buffer::filled(queue, 16, 0_u32).expect("memory");
        let mut total = Buffer::filled(queue, 1, 0_u32).expect("memory");
        queue
            .scope(|scope| {
                let to = sums.atomic_view();
                let all = total.atomic_view();
                let range = NdRange::new(16 * 32, 32)?;
                scope.for_each_in(range, local::<u32>(1), move |item, sum| {
                    sum.set(0, 0);
                    item.barrier();
                    sum.as_atomics()[0].fetch_add(item.x() as u32, Relaxed);
                    item.barrier();
                    if item.local_x() == 0 {
                        to[item.group_x()].store(sum.get(0), Relaxed);
                    }
                })?;
                scope.parallel_for(16, move |item| {
                    all[0].fetch_add(to[item.x()].load(Relaxed), Relaxed);
                })?;
                Ok(())
            })
            .expect("it runs");
        assert_eq!(total.to_vec(), [511 * 512 / 2]);
    });
}

/// Queues of several threads run groups with many work-items that wait, all at once.
#[test]
fn many_groups_wait_at_once() {
    on_every_device(|queue| {
        let device = queue.device().clone();
        std::thread::scope(|threads| {
            for seed in 0..4_u32 {
                let device = &device;
                threads.spawn(move || {
                    let queue = Queue::on(device).expect("threads");
                    let mut out = Buffer::filled(&queue, 40 * 1024, 0_u32).expect("memory");
                    let to = out.view_mut();
                    let range = NdRange::new(40 * 1024, 1024).expect("even groups");
                    queue
                        .for_each_in(range, local::<u32>(1024), move |item, tile| {
                            let i = item.local_x();
                            tile.set(i, item.x() as u32 + seed);
                            item.barrier();
                            let value = tile.get(1023 - i);
                            // SAFETY: each work-item writes its own element.
                            unsafe { to.set_unchecked(item.x(), value) }
                        })
                        .expect("it runs");
                    for (x, found) in out.to_vec().into_iter().enumerate() {
                        let other = x / 1024 * 1024 + 1023 - x % 1024;
                        assert_eq!(found, other as u32 + seed);
                    }
                });
            }
        });
    });
}
