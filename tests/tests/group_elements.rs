//! Launches with work-groups whose work-items own elements, on every device.

use schism::prelude::*;
use schism::{LaunchError, local_array};

/// Runs a test on every device.
fn on_every_device(test: impl Fn(&Queue)) {
    for device in schism_tests::devices::listed() {
        println!("on {device}");
        test(&Queue::on(&device).expect("a device that is listed"));
    }
}

fn numbers(count: usize) -> Vec<u32> {
    (0..count as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 9).collect()
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// Each work-item keeps its element while it waits, and all of a group's come together in one.
#[test]
fn own_elements_across_barriers() {
    on_every_device(|queue| {
        for size in [1, 3, 64, 257] {
            let groups = 9;
            let input = numbers(size * groups);
            let from = Buffer::from_slice(queue, &input).expect("memory");
            let mut sums = Buffer::filled(queue, input.len(), 1_u32).expect("memory");
            let mut totals = Buffer::filled(queue, groups, 5_u32).expect("memory");
            let range = NdRange::new(input.len(), size).expect("even groups");
            let sources = (&from, &mut sums, per_group(&mut totals), 7..);
            queue
                .for_each_in(range, (local::<u32>(size), sources), |item, (tile, elements)| {
                    let (from, sum, total, number) = elements;
                    assert!(number == item.x() + 7);
                    assert!(total.is_some() == (item.local_x() == 0));
                    let i = item.local_x();
                    tile.set(i, *from);
                    item.barrier();
                    *sum += tile.get((i + 1) % tile.len());
                    item.barrier();
                    tile.set(i, *sum);
                    item.barrier();
                    *sum = sum.wrapping_add(tile.get(tile.len() - 1 - i));
                    if let Some(total) = total {
                        for i in 0..tile.len() {
                            *total = total.wrapping_add(tile.get(i));
                        }
                    }
                })
                .expect("a launch");
            let (mut all, mut each) = (Vec::new(), Vec::new());
            for group in input.chunks(size) {
                let tile: Vec<u32> = (0..size).map(|i| 1 + group[(i + 1) % size]).collect();
                all.extend((0..size).map(|i| tile[i].wrapping_add(tile[size - 1 - i])));
                each.push(tile.iter().fold(5_u32, |total, x| total.wrapping_add(*x)));
            }
            assert_eq!(sums.to_vec(), all, "{} of {size}", queue.device());
            assert_eq!(totals.to_vec(), each, "{} of {size}", queue.device());
        }
    });
}

/// In three dimensions, from elsewhere than zero, without a barrier: elements go by the place in
/// the range.
#[test]
fn elements_of_groups_in_three_dimensions() {
    on_every_device(|queue| {
        let (global, group) = ([4, 6, 10], [2, 3, 5]);
        for begin in [[0, 0, 0], [7, 1 << 33, 3]] {
            let range = std::array::from_fn::<_, 3, _>(|at| begin[at]..begin[at] + global[at]);
            let range = NdRange::new(range, group).expect("even groups");
            let mut ids = Buffer::filled(queue, 240, [0; 3]).expect("memory");
            let mut rows = Buffer::filled(queue, 8 * 3, 0_usize).expect("memory");
            let sources = (&mut ids, per_group(rows.chunks_mut(3)));
            queue
                .for_each_in(range, sources, |item, (id, row)| {
                    *id = item.global_id();
                    for (axis, to) in row {
                        *to = item.group_id()[axis];
                    }
                })
                .expect("a launch");
            for (i, id) in ids.to_vec().into_iter().enumerate() {
                assert_eq!(id, [begin[0] + i / 60, begin[1] + i / 10 % 6, begin[2] + i % 10]);
            }
            let expected: Vec<usize> = (0..8).flat_map(|i| [i / 4, i / 2 % 2, i % 2]).collect();
            assert_eq!(rows.to_vec(), expected);
        }
    });
}

/// Several sources for each group, shared ones and views among them.
#[test]
fn sources_of_groups() {
    on_every_device(|queue| {
        let factors = Buffer::from_slice(queue, &[10_u32, 20, 30, 40]).expect("memory");
        let mut sums = Buffer::filled(queue, 4, 0_u32).expect("memory");
        let mut counts = Buffer::filled(queue, 4, 0_u32).expect("memory");
        let range = NdRange::new(64, 16).expect("even groups");
        let mut count_view = counts.view_mut();
        let sources = (per_group((&factors, &mut sums, 100..104)), per_group(&mut count_view));
        queue
            .for_each_in(range, sources, |item, (of_group, count)| {
                let cells = local_array!(item, u32; 16);
                cells.set(item.local_x(), item.x() as u32);
                item.barrier();
                let (factor, sum, number) = of_group;
                if let Some(sum) = sum {
                    let all: u32 = (0..16).map(|i| cells.get(i)).sum();
                    *sum = *factor * all + number as u32;
                }
                if let Some(count) = count {
                    *count += cells.len() as u32;
                }
            })
            .expect("a launch");
        let expected: Vec<u32> = (0..4_u32)
            .map(|i| (i + 1) * 10 * (i * 16..i * 16 + 16).sum::<u32>() + 100 + i)
            .collect();
        assert_eq!(sums.to_vec(), expected);
        assert_eq!(counts.to_vec(), [16; 4]);
    });
}

#[test]
fn loans_of_a_scope() {
    on_every_device(|queue| {
        let mut values = Buffer::from_slice(queue, &numbers(96)).expect("memory");
        let mut sums = Buffer::filled(queue, 6, 0_u64).expect("memory");
        let range = NdRange::new(96, 16).expect("even groups");
        queue
            .scope(|scope| {
                let (mut values, mut sums) = (scope.lend(&mut values), scope.lend(&mut sums));
                let tile = local::<u32>(16);
                for _ in 0..2 {
                    // Turned around in each group.
                    scope.for_each_in(range, (tile, &mut values), |item, (tile, value)| {
                        tile.set(item.local_x(), *value);
                        item.barrier();
                        *value = tile.get(15 - item.local_x()) / 2;
                    })?;
                    let sources = (values.whole(), per_group(&mut sums));
                    scope.for_each_in(range, sources, |item, (values, sum)| {
                        if let Some(sum) = sum {
                            let first = item.x();
                            *sum += values[first..first + 16]
                                .iter()
                                .map(|x| u64::from(*x))
                                .sum::<u64>();
                        }
                    })?;
                }
                Ok(())
            })
            .expect("launches");
        let expected = |shift: u32| {
            numbers(96)
                .chunks(16)
                .map(move |group| group.iter().map(|x| u64::from(x >> shift)).sum::<u64>())
                .collect::<Vec<_>>()
        };
        let expected: Vec<u64> =
            expected(1).into_iter().zip(expected(2)).map(|(a, b)| a + b).collect();
        assert_eq!(sums.to_vec(), expected);
        let values = values.to_vec();
        assert_eq!(values, numbers(96).iter().map(|x| x >> 2).collect::<Vec<_>>());
    });
}

#[test]
fn lengths_that_do_not_fit() {
    on_every_device(|queue| {
        let length = |launched: Result<(), LaunchError>| match launched {
            Err(LaunchError::Length { source_index, expected, found }) => {
                (source_index, expected, found)
            }
            other => panic!("{other:?}"),
        };
        let range = NdRange::new([4, 6], [2, 3]).expect("even groups");
        let mut elements = Buffer::filled(queue, 24, 0).expect("memory");
        let mut groups = Buffer::filled(queue, 4, 0).expect("memory");
        let refused = queue.for_each_in(range, &mut groups, |_, _| ());
        assert_eq!(length(refused), (0, 24, 4));
        let sources = (&mut elements, 0.., per_group((0..4, 0..5)), &mut groups);
        let refused = queue.for_each_in(range, sources, |_, _| ());
        assert_eq!(length(refused), (3, 4, 5));
        let sources = (per_group(groups.chunks_mut(0)), &mut elements);
        let refused = queue.for_each_in(range, sources, |_, _| ());
        assert!(matches!(refused, Err(LaunchError::EmptyChunks { source_index: 0 })));
        let sources = (per_group((&mut groups, 5..)), &mut elements);
        queue.for_each_in(range, sources, |_, _| ()).expect("this fits");
        let none = NdRange::new([4, 0], [2, 3]).expect("no groups");
        let mut empty = Buffer::<u8>::with_len(queue, 0).expect("no memory");
        queue
            .for_each_in(none, per_group(&mut empty), |_, _| panic!("no work-item"))
            .expect("nothing runs");
    });
}
