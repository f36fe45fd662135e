//! Sub-groups: each case runs on every device, and its results are compared with the host's.

use std::sync::atomic::Ordering::Relaxed;

use schism::prelude::*;
use schism::{DeviceKind, GroupValue, SubGroup, local_array};
use schism_tests::devices::{has_recursion, notices_who_does_not_come};
use schism_tests::sub_groups::{SIZES, on_every_device, random};

/// Where a work-item is that has the index `x` in a launch of groups of `size`: its lane, the size
/// of its sub-group, and the index of that one's first.
fn place(x: usize, size: usize) -> (usize, usize, usize) {
    let (local, group) = (x % size, x / size);
    let lane = local % 32;
    (lane, (size - (local - lane)).min(32), group * size + local - lane)
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

#[test]
fn places_in_three_dimensions() {
    assert_eq!(SubGroup::MAX_SIZE, 32);
    on_every_device(|queue| {
        for [z, y, x] in [[2, 3, 7], [1, 4, 8], [3, 5, 11], [4, 8, 32], [1, 1, 1], [2, 16, 1]] {
            let local = z * y * x;
            let mut out = Buffer::filled(queue, 8 * local, [0; 5]).expect("memory");
            let range = NdRange::new([2 * z, 2 * y, 2 * x], [z, y, x]).expect("even groups");
            let view = out.view_mut();
            queue
                .parallel_for(range, move |item| {
                    let sub_group = item.sub_group();
                    let value = [
                        sub_group.local_id(),
                        sub_group.size(),
                        sub_group.group_id(),
                        sub_group.group_range(),
                        item.global_linear_id(),
                    ];
                    let place = item.group_linear_id() * item.group_size() + item.local_linear_id();
                    // SAFETY: each work-item writes its own element.
                    unsafe { view.set_unchecked(place, value) }
                })
                .expect("it runs");
            for (at, [lane, size, id, range, _]) in out.to_vec().into_iter().enumerate() {
                let (expected, most, first) = place(at, local);
                assert_eq!((lane, size), (expected, most), "{at} on {}", queue.device());
                assert_eq!((id, range), ((first % local) / 32, local.div_ceil(32)), "{at}");
            }
        }
    });
}

/// All shuffles of one type.
fn shuffles<T: GroupValue + PartialEq + std::fmt::Debug>(
    queue: &Queue,
    seed: u64,
    number: impl Fn(u64) -> T,
) {
    for size in SIZES {
        let count = 3 * size;
        let mut random = random(seed);
        let numbers: Vec<T> = random.by_ref().take(count).map(number_of(&number)).collect();
        // Lanes that there are, and some that there are not.
        let lanes: Vec<usize> =
            random.by_ref().take(count).map(|bits| bits as usize % 40).collect();
        // The same for all of a launch.
        let most = *random.by_ref().map(|bits| bits as usize % 36).next().get_or_insert(0);
        let from = Buffer::from_slice(queue, &numbers).expect("memory");
        let of = Buffer::from_slice(queue, &lanes).expect("memory");
        let mut out = Buffer::filled(queue, count, [numbers[0]; 7]).expect("memory");
        let range = NdRange::new(count, size).expect("even groups");
        queue
            .for_each_in(range, (&mut out, &from, &of), move |item, (out, from, of)| {
                let sub_group = item.sub_group();
                *out = [
                    sub_group.shuffle(*from, *of),
                    sub_group.shuffle_xor(*from, *of),
                    sub_group.shuffle_up(*from, *of),
                    sub_group.shuffle_down(*from, *of),
                    sub_group.shuffle_xor(*from, 1),
                    sub_group.shuffle_down(*from, most),
                    sub_group.broadcast(*from, most),
                ];
            })
            .expect("it runs");
        for (x, found) in out.to_vec().into_iter().enumerate() {
            let (lane, size_of, first) = place(x, size);
            let at = |from: Option<usize>| {
                let from = from.filter(|from| *from < size_of);
                numbers[first + from.unwrap_or(lane)]
            };
            let below = |number: usize| Some(number).filter(|number| *number < 32);
            let expected = [
                at(Some(lanes[x])),
                at(below(lanes[x]).map(|mask| lane ^ mask)),
                at(lane.checked_sub(lanes[x])),
                at(Some(lane + lanes[x])),
                at(Some(lane ^ 1)),
                at(Some(lane + most)),
                at(Some(most)),
            ];
            assert_eq!(found, expected, "{x} of groups of {size} on {}", queue.device());
        }
    }
}

fn number_of<T>(number: &impl Fn(u64) -> T) -> impl Fn(u64) -> T {
    move |bits| number(bits)
}

#[test]
fn shuffles_of_small_numbers() {
    on_every_device(|queue| {
        shuffles(queue, 1, |bits| bits as u8);
        shuffles(queue, 2, |bits| bits as i8);
        shuffles(queue, 3, |bits| bits as u16);
        shuffles(queue, 4, |bits| bits as i16);
        shuffles(queue, 5, |bits| bits as u32);
        shuffles(queue, 6, |bits| bits as i32);
        shuffles(queue, 7, |bits| (bits % 1_000_003) as f32 / 7.0);
        shuffles(queue, 8, |bits| bits % 2 == 0);
    });
}

#[test]
fn shuffles_of_large_values() {
    on_every_device(|queue| {
        shuffles(queue, 9, |bits| bits);
        shuffles(queue, 10, |bits| bits as i64);
        shuffles(queue, 11, |bits| (bits as usize, bits as isize));
        shuffles(queue, 12, |bits| bits as f64 / 3.0);
        shuffles(queue, 13, |bits| [bits as u8, (bits >> 8) as u8, (bits >> 16) as u8]);
        shuffles(queue, 14, |bits| (bits as f32, bits as u16, [bits; 2], bits % 3 == 0));
    });
}

#[test]
fn votes() {
    on_every_device(|queue| {
        for size in SIZES {
            for seed in 0..4 {
                let count = 2 * size;
                // Few, many, none, all.
                let flag = |bits: u64| {
                    [bits.is_multiple_of(40), !bits.is_multiple_of(40), false, true][seed]
                };
                let flags: Vec<bool> = random(size as u64).take(count).map(flag).collect();
                let from = Buffer::from_slice(queue, &flags).expect("memory");
                let mut out = Buffer::filled(queue, count, (0, false, false)).expect("memory");
                let range = NdRange::new(count, size).expect("even groups");
                queue
                    .for_each_in(range, (&mut out, &from), |item, (out, flag)| {
                        let sub_group = item.sub_group();
                        *out =
                            (sub_group.ballot(*flag), sub_group.any(*flag), sub_group.all(*flag));
                    })
                    .expect("it runs");
                for (x, found) in out.to_vec().into_iter().enumerate() {
                    let (_, size, first) = place(x, size);
                    let votes = &flags[first..first + size];
                    let bits = votes.iter().rev().fold(0, |all, vote| all << 1 | u32::from(*vote));
                    let expected = (bits, votes.contains(&true), !votes.contains(&false));
                    assert_eq!(found, expected, "{x} on {}", queue.device());
                }
            }
        }
    });
}

/// Sums of sub-groups go to local memory, and their sum is that of the group: with barriers in
/// between, again and again.
#[test]
fn sums_of_groups() {
    on_every_device(|queue| {
        for size in SIZES {
            let count = 3 * size;
            let numbers: Vec<u64> = random(size as u64).take(count).collect();
            let from = Buffer::from_slice(queue, &numbers).expect("memory");
            let mut out = Buffer::filled(queue, count, 0_u64).expect("memory");
            let range = NdRange::new(count, size).expect("even groups");
            queue
                .for_each_in(range, (&mut out, &from), |item, (out, from)| {
                    let sums = local_array!(item, u64; 32);
                    let sub_group = item.sub_group();
                    let sum_of_all = |value: u64, lanes: usize| {
                        let mut sum = value;
                        for step in [16, 8, 4, 2, 1] {
                            let other = sub_group.shuffle_down(sum, step);
                            if sub_group.local_id() + step < lanes {
                                sum = sum.wrapping_add(other);
                            }
                        }
                        sum
                    };
                    let mut value = *from;
                    for _ in 0..3 {
                        let sum = sum_of_all(value, sub_group.size());
                        if sub_group.local_id() == 0 {
                            sums.set(sub_group.group_id(), sum);
                        }
                        item.barrier();
                        let lane = sub_group.local_id();
                        // All but the last sub-group have a lane for each; here each work-item adds
                        // for itself.
                        let mut all = 0_u64;
                        for at in 0..sub_group.group_range() {
                            all = all.wrapping_add(sums.get(at));
                        }
                        item.barrier();
                        value = value.wrapping_mul(3).wrapping_add(all) ^ lane as u64;
                    }
                    *out = value;
                })
                .expect("it runs");
            let mut expected = numbers.clone();
            for _ in 0..3 {
                for group in expected.chunks_mut(size) {
                    let all = group.iter().fold(0_u64, |sum, value| sum.wrapping_add(*value));
                    for (at, value) in group.iter_mut().enumerate() {
                        *value = value.wrapping_mul(3).wrapping_add(all) ^ (at % 32) as u64;
                    }
                }
            }
            assert_eq!(out.to_vec(), expected, "groups of {size} on {}", queue.device());
        }
    });
}

/// What one work-item writes to local memory, others of its sub-group read behind a barrier of the
/// sub-group.
#[test]
fn barriers_of_sub_groups() {
    on_every_device(|queue| {
        for size in SIZES {
            let mut out = Buffer::filled(queue, 2 * size, 0_u32).expect("memory");
            let range = NdRange::new(2 * size, size).expect("even groups");
            queue
                .for_each_in(range, (local::<u32>(size), &mut out), |item, (tile, out)| {
                    let (sub_group, place) = (item.sub_group(), item.local_x());
                    let first = place - sub_group.local_id();
                    let mut value = item.x() as u32;
                    // Sub-groups do not wait for each other, so each may do it as often as it
                    // likes.
                    for _ in 0..=sub_group.group_id() {
                        tile.set(place, value);
                        sub_group.barrier();
                        let other = first + sub_group.size() - 1 - sub_group.local_id();
                        value = value.wrapping_mul(3).wrapping_add(tile.get(other));
                        sub_group.barrier();
                    }
                    *out = value;
                })
                .expect("it runs");
            let mut expected: Vec<u32> = (0..2 * size as u32).collect();
            for group in expected.chunks_mut(size) {
                for (id, values) in group.chunks_mut(32).enumerate() {
                    for _ in 0..=id {
                        let before = values.to_vec();
                        for (value, other) in values.iter_mut().zip(before.iter().rev()) {
                            *value = value.wrapping_mul(3).wrapping_add(*other);
                        }
                    }
                }
            }
            assert_eq!(out.to_vec(), expected, "groups of {size} on {}", queue.device());
        }
    });
}

/// A sum over the sub-group by recursion, which no compiler can take apart.
#[inline(never)]
fn by_recursion(sub_group: &SubGroup<'_>, value: u32, step: usize) -> u32 {
    if step == 0 {
        return value;
    }
    let sum = value.wrapping_add(sub_group.shuffle_xor(value, step));
    by_recursion(sub_group, sum, step / 2) ^ step as u32
}

#[inline(never)]
fn by_object(operation: &dyn Fn(u32) -> u32, value: u32) -> u32 {
    operation(value).wrapping_mul(5)
}

/// Operations in functions of their own, called by themselves and through pointers.
#[test]
fn in_functions() {
    on_every_device(|queue| {
        if !has_recursion(queue.device()) {
            return;
        }
        let numbers: Vec<u32> = random(99).take(256).map(|bits| bits as u32).collect();
        let from = Buffer::from_slice(queue, &numbers).expect("memory");
        let mut out = Buffer::filled(queue, 256, (0, 0, 0)).expect("memory");
        let range = NdRange::new(256, 64).expect("even groups");
        queue
            .for_each_in(range, (&mut out, &from), |item, (out, from)| {
                let sub_group = item.sub_group();
                let sum = by_recursion(&sub_group, *from, 16);
                let shuffled = by_object(&|value| sub_group.shuffle(value, 3), *from);
                let voted = by_object(
                    &|value| {
                        sub_group.barrier();
                        sub_group.ballot(value % 2 == 0)
                    },
                    *from,
                );
                *out = (sum, shuffled, voted);
            })
            .expect("it runs");
        for (values, found) in numbers.chunks(32).zip(out.to_vec().chunks(32)) {
            let sum = values.iter().fold(0_u32, |sum, value| sum.wrapping_add(*value));
            let even = |bits: u32, value: &u32| bits << 1 | u32::from(value.is_multiple_of(2));
            let even = values.iter().rev().fold(0, even);
            let expected = (sum ^ 31, values[3].wrapping_mul(5), even.wrapping_mul(5));
            assert_eq!(found, [expected; 32], "{}", queue.device());
        }
    });
}

/// Some sub-groups end, others go on; and in those that go on, some work-items never come.
#[test]
fn an_operation_that_not_all_come_to() {
    on_every_device(|queue| {
        if !notices_who_does_not_come(queue.device()) {
            return;
        }
        let range = NdRange::new([2, 80], [2, 40]).expect("even groups");
        let run = |kind: u32| {
            queue.parallel_for(range, move |item| {
                let sub_group = item.sub_group();
                let late =
                    item.group_x() == 1 && sub_group.group_id() == 1 && sub_group.local_id() >= 25;
                match kind {
                    // The others end, before or after.
                    0 if late => drop(sub_group.any(true)),
                    1 => {
                        sub_group.barrier();
                        if !late {
                            sub_group.barrier();
                        }
                    }
                    // The others wait at a barrier of the group, or at another operation.
                    2 if late => sub_group.barrier(),
                    2 => item.barrier(),
                    3 if late => sub_group.barrier(),
                    3 => drop(sub_group.any(true)),
                    // Whole sub-groups may do as they like.
                    4 if sub_group.group_id() == 1 => drop(sub_group.any(late)),
                    5 => {
                        item.barrier();
                        if sub_group.group_id() < 2 {
                            sub_group.barrier();
                        }
                        item.barrier();
                    }
                    _ => {}
                }
            })
        };
        for (kind, waits) in [(0, 7), (1, 25), (2, 7), (3, 25)] {
            match run(kind) {
                Err(LaunchError::DivergentSubGroup {
                    group,
                    sub_group,
                    waiting,
                    elsewhere,
                    ..
                }) => {
                    let found = (group, sub_group, waiting, elsewhere);
                    assert_eq!(found, (vec![0, 1], 1, waits, 32 - waits), "{kind}");
                }
                other => panic!("{kind} on {}: {other:?}", queue.device()),
            }
        }
        for kind in [4, 5, 6] {
            run(kind).expect("all come");
        }
    });
}

/// The error of a range that its groups do not fill names groups that do: a row for each sub-group,
/// for any number of rows.
#[test]
fn groups_that_divide_a_range() {
    on_every_device(|queue| {
        for rows in [1_usize, 2, 7, 51, 64, 97] {
            let columns = 45;
            let numbers: Vec<u64> = random(4).map(|x| x % 1000).take(rows * columns).collect();
            let matrix = Buffer::from_slice(queue, &numbers).expect("memory");
            let mut sums = Buffer::filled(queue, rows, 0).expect("memory");
            let range = match NdRange::new(rows * 32, 256) {
                Err(LaunchError::UnevenGroups { dividing, .. }) => {
                    assert_eq!(dividing[0] % 32, 0);
                    NdRange::new(rows * 32, dividing[0])
                }
                other => other,
            };
            let sources = per_sub_group((matrix.chunks(columns), &mut sums));
            queue
                .for_each_in(range.expect("they divide it"), sources, |item, (row, sum)| {
                    let sub_group = item.sub_group();
                    let own = sub_group.strided(row.len()).map(|i| row[i]).sum();
                    let all = sub_group.reduce_add(own);
                    if let Some(sum) = sum {
                        *sum = all;
                    }
                })
                .expect("it runs");
            let expected: Vec<u64> = numbers.chunks(columns).map(|row| row.iter().sum()).collect();
            assert_eq!(sums.to_vec(), expected, "{rows} rows");
        }
    });
}

/// The error of a range that its groups do not fill says what works: to round the range up, and to
/// let surplus work-items come along. Those that return early make another error.
#[test]
fn ranges_that_are_rounded_up() {
    on_every_device(|queue| {
        let (count, size) = (150, 48);
        let rounded = match NdRange::new(count, size) {
            Err(LaunchError::UnevenGroups { rounded, .. }) => rounded[0],
            other => panic!("{other:?}"),
        };
        let numbers: Vec<u64> = random(3).take(count).collect();
        let from = Buffer::from_slice(queue, &numbers).expect("memory");
        let mut sums = Buffer::filled(queue, rounded / size, 0).expect("memory");
        let mut parts = Buffer::filled(queue, 2 * sums.len(), 0).expect("memory");
        let range = NdRange::new(rounded, size).expect("the range is rounded up");
        let sources = (whole(&from), per_group(&mut sums), per_sub_group(&mut parts));
        queue
            .for_each_in(range, sources, |item, (from, sum, part)| {
                let own = if item.x() < from.len() { from[item.x()] % 1000 } else { 0 };
                let of_sub_group = item.sub_group().reduce_add(own);
                let of_group = item.reduce_add(own);
                if let Some(part) = part {
                    *part = of_sub_group;
                }
                if let Some(sum) = sum {
                    *sum = of_group;
                }
            })
            .expect("what the error says works");
        let mut expected: Vec<u64> = numbers.iter().map(|number| number % 1000).collect();
        expected.resize(rounded, 0);
        let sum_of = |part: &[u64]| part.iter().sum::<u64>();
        assert_eq!(sums.to_vec(), expected.chunks(size).map(sum_of).collect::<Vec<_>>());
        let of_groups = expected.chunks(size).flat_map(|group| group.chunks(32));
        assert_eq!(parts.to_vec(), of_groups.map(sum_of).collect::<Vec<_>>());

        if !notices_who_does_not_come(queue.device()) {
            return;
        }
        let early = queue.for_each_in(range, whole(&from), |item, from| {
            if item.x() < from.len() {
                let _ = item.sub_group().reduce_add(from[item.x()]);
            }
        });
        assert!(matches!(early, Err(LaunchError::DivergentSubGroup { .. })), "{early:?}");
    });
}

/// A work-item that panics takes its group with it, and what others hold is dropped on the device
/// `native`.
#[test]
fn a_panic_between_operations() {
    struct Counts<'a>(&'a std::sync::atomic::AtomicU32);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
        }
    }
    on_every_device(|queue| {
        let kind = queue.device().kind();
        let mut drops = Buffer::filled(queue, 1, 0_u32).expect("memory");
        let count = drops.atomic_view();
        let range = NdRange::new(64, 64).expect("even groups");
        let result = queue.parallel_for(range, move |item| {
            let _guard = Counts(&count[0]);
            let sub_group = item.sub_group();
            let next = sub_group.shuffle(item.local_x(), (sub_group.local_id() + 1) % 32);
            assert!(next != 41, "forty-one");
            sub_group.barrier();
        });
        match result {
            Err(LaunchError::Panicked(panic)) => {
                assert_eq!((panic.message.as_str(), panic.local_id), ("forty-one", Some(vec![40])));
            }
            other => panic!("{other:?} on {}", queue.device()),
        }
        if kind == DeviceKind::Native {
            assert_eq!(drops.to_vec(), [64], "also those of work-items that waited");
        }
    });
}
