//! What work-items of groups own and share, on every device: shares of rows and tiles, cells,
//! permuted elements, rectangles; local memory of values with several numbers; buffers that are
//! read, written and copied in part.

#![forbid(unsafe_code)]

use std::sync::atomic::Ordering::Relaxed;

use schism::prelude::*;
use schism::{
    AtomicRef, BitReversal, BufferError, LaunchError, Permutation, Reversal, group_value,
    local_array, memory_scope,
};
use schism_tests::sub_groups::{SIZES, on_every_device, random};

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// Every element belongs to one work-item: the one that the documentation says.
#[test]
fn shares_are_disjoint_and_whole() {
    on_every_device(|queue| {
        for size in SIZES {
            for (groups, part) in [(1, 1), (3, 31), (4, 32), (2, 100), (3, 1500)] {
                // The last group has less.
                let len = groups * part - part / 3;
                let mut owners = Buffer::filled(queue, len, [0_usize; 3]).expect("memory");
                let range = NdRange::from_groups(groups, size).expect("groups");
                let sources = per_group(owners.chunks_mut(part));
                queue
                    .for_each_in(range, sources, |item, mut share| {
                        let (own, of_part) = (share.len(), share.part_len());
                        let mut visited = 0;
                        for (i, [visits, owner, place]) in share.iter_mut() {
                            *visits += 1;
                            *owner = item.global_linear_id();
                            *place = i;
                            visited += 1;
                        }
                        assert!(visited == own && own <= of_part && share.is_empty() == (own == 0));
                        // Each index is one of the part, and one work-item has it.
                        let (first, count) = (item.local_x(), item.group_size());
                        for i in 0..of_part {
                            let is_own = i % count == first;
                            assert!(share.get(i).is_some() == is_own);
                            if is_own {
                                assert!(share[i][2] == i);
                                share[i][0] += 1;
                            }
                            if let Some([visits, ..]) = share.get_mut(i) {
                                *visits -= 1;
                            }
                        }
                        assert!(share.get(of_part).is_none() && share.get(usize::MAX).is_none());
                    })
                    .expect("a launch");
                for (i, [visits, owner, place]) in owners.to_vec().into_iter().enumerate() {
                    let expected = i / part * size + i % part % size;
                    assert_eq!([visits, owner, place], [1, expected, i % part], "{size} {part}");
                }
            }
        }
    });
}

#[test]
fn shares_of_sub_groups() {
    on_every_device(|queue| {
        for size in SIZES {
            let (groups, part) = (3, 50);
            let sub_groups = size.div_ceil(32);
            let mut owners =
                Buffer::filled(queue, groups * sub_groups * part, (0, 0)).expect("memory");
            let mut firsts =
                Buffer::filled(queue, groups * sub_groups, usize::MAX).expect("memory");
            let range = NdRange::from_groups(groups, size).expect("groups");
            let sources = per_sub_group((owners.chunks_mut(part), &mut firsts, 7..));
            queue
                .for_each_in(range, sources, |item, (share, first, number)| {
                    let sub_group = item.sub_group();
                    let expected = item.group_x() * sub_group.group_range() + sub_group.group_id();
                    assert!(number == expected + 7);
                    assert!(first.is_some() == (sub_group.local_id() == 0));
                    for (i, (visits, owner)) in share {
                        assert!(i % sub_group.size() == sub_group.local_id());
                        *visits += 1;
                        *owner = item.x();
                    }
                    if let Some(first) = first {
                        *first = item.x();
                    }
                })
                .expect("a launch");
            for (i, (visits, owner)) in owners.to_vec().into_iter().enumerate() {
                let (sub_group, i) = (i / part, i % part);
                let (group, of_group) = (sub_group / sub_groups, sub_group % sub_groups);
                let lanes = (size - of_group * 32).min(32);
                assert_eq!((visits, owner), (1, group * size + of_group * 32 + i % lanes));
            }
            let expected: Vec<usize> = (0..groups * sub_groups)
                .map(|i| i / sub_groups * size + i % sub_groups * 32)
                .collect();
            assert_eq!(firsts.to_vec(), expected);
        }
    });
}

/// Tiles of all sizes, cut off or not, with the grid of groups like that of the tiles, or with
/// another one of as many groups.
#[test]
fn shares_of_tiles() {
    fn check<const H: usize, const W: usize>(queue: &Queue, [height, width]: [usize; 2]) {
        let [down, across] = [height.div_ceil(H), width.div_ceil(W)];
        for local in [[1, 1], [2, 3], [4, 8]] {
            for groups in [[down, across], [1, down * across]] {
                let mut owners = Buffer::filled(queue, height * width, [0; 3]).expect("memory");
                let range = NdRange::from_groups(groups, local).expect("groups");
                let tiles = per_group(owners.tiles_mut::<H, W>(width));
                queue
                    .for_each_in(range, tiles, |item, mut tile| {
                        let [row, column] = tile.origin();
                        assert!(tile.rows() <= H && tile.columns() <= W);
                        for ([y, x], owner) in tile.iter_mut() {
                            assert!((y * W + x) % item.group_size() == item.local_linear_id());
                            owner[0] += 1;
                            owner[1..].copy_from_slice(&[row + y, column + x]);
                        }
                        for ([_, _], owner) in tile {
                            owner[0] += 1;
                        }
                    })
                    .expect("a launch");
                for (i, owner) in owners.to_vec().into_iter().enumerate() {
                    assert_eq!(owner, [2, i / width, i % width], "{H} x {W} of {height} x {width}");
                }
            }
        }
        let mut whole_tiles = Buffer::filled(queue, height * width, 0).expect("memory");
        queue
            .for_each(whole_tiles.tiles_mut::<H, W>(width), |tile| {
                tile.into_iter().for_each(|(_, visits)| *visits += 1);
            })
            .expect("a launch");
        assert_eq!(whole_tiles.to_vec(), vec![1; height * width]);
    }
    on_every_device(|queue| {
        for shape in [[1, 1], [8, 8], [5, 9], [16, 3], [33, 20]] {
            check::<1, 1>(queue, shape);
            check::<4, 8>(queue, shape);
            check::<5, 3>(queue, shape);
        }
        check::<4, 4>(queue, [0, 6]);
    });
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    value: f64,
    tag: u8,
    position: [u16; 3],
    valid: bool,
}
group_value!(Sample { value: f64, tag: u8, position: [u16; 3], valid: bool });

fn sample(bits: u64) -> Sample {
    let position = [bits as u16, (bits >> 16) as u16, (bits >> 32) as u16];
    Sample { value: bits as f64, tag: (bits >> 50) as u8, position, valid: bits.is_multiple_of(3) }
}

/// Each group turns its part around by cells and by local memory, and reduces structs and tuples.
#[test]
fn values_of_several_numbers() {
    on_every_device(|queue| {
        for size in SIZES {
            let groups = 3;
            let data: Vec<Sample> = random(8).take(groups * size).map(sample).collect();
            let input = Buffer::from_slice(queue, &data).expect("memory");
            let mut turned = Buffer::filled(queue, data.len(), sample(0)).expect("memory");
            let mut again = Buffer::filled(queue, data.len(), sample(0)).expect("memory");
            let mut largest = Buffer::filled(queue, groups, (sample(0), 0_u32)).expect("memory");
            let range = NdRange::from_groups(groups, size).expect("groups");
            let sources = (
                (&input, local::<(Sample, char)>(size)),
                (per_group((turned.cells(size), &mut largest)), &mut again),
            );
            queue
                .for_each_in(range, sources, |item, ((from, tile), ((cells, largest), again))| {
                    let (i, last) = (item.local_x(), item.group_size() - 1);
                    cells.set(last - i, *from);
                    tile.set(i, (*from, 'ß'));
                    item.barrier();
                    assert!(cells.get(last - i) == *from && tile.get(i).1 == 'ß');
                    *again = tile.get(last - i).0;
                    let of_group =
                        item.reduce(
                            (*from, i as u32),
                            |a, b| {
                                if b.0.value > a.0.value { b } else { a }
                            },
                        );
                    let neighbour = item.sub_group().shuffle_xor(*from, 1);
                    let own = item.local_x() ^ 1;
                    assert!(own > last || neighbour == tile.get(own).0);
                    if let Some(largest) = largest {
                        *largest = of_group;
                    }
                })
                .expect("a launch");
            let expected: Vec<Sample> =
                data.chunks(size).flat_map(|part| part.iter().rev().copied()).collect();
            assert_eq!(turned.to_vec(), expected);
            assert_eq!(again.to_vec(), expected);
            for (part, (best, place)) in data.chunks(size).zip(largest.to_vec()) {
                assert!(part.iter().all(|other| other.value <= best.value));
                assert_eq!(part[place as usize], best);
            }
        }
    });
}

/// Cells that work-items write at the same time have one of the values.
#[test]
fn cells_that_all_write() {
    on_every_device(|queue| {
        let mut chosen = Buffer::filled(queue, 6, usize::MAX).expect("memory");
        let range = NdRange::from_groups(3, 100).expect("groups");
        queue
            .for_each_in(range, per_group(chosen.cells(2)), |item, cells| {
                cells.set(0, item.x());
                item.barrier();
                if cells.get(0) == item.x() {
                    cells.set(1, item.group_x());
                }
            })
            .expect("a launch");
        for (group, pair) in chosen.to_vec().chunks(2).enumerate() {
            assert_eq!((pair[0] / 100, pair[1]), (group, group));
        }
        let launched = queue.for_each_in(range, per_group(chosen.cells(2)), |_, cells| {
            cells.set(2, 0);
        });
        let Err(LaunchError::Panicked(panic)) = launched else { panic!("{launched:?}") };
        assert_eq!(panic.message, "index out of bounds: the len is 2 but the index is 2");
    });
}

#[test]
fn local_memory_in_two_dimensions() {
    on_every_device(|queue| {
        let mut out = Buffer::filled(queue, 12 * 20, 0).expect("memory");
        let range = NdRange::new([12, 20], [3, 4]).expect("even groups");
        let sources = (local_2d::<u32>(3, 4), local::<u8>(3), &mut out);
        queue
            .for_each_in(range, sources, |item, (first, bytes, out)| {
                let second = local_array!(item, (u32, u8); 4, 3);
                let [y, x] = item.local_id();
                assert!((second.rows(), second.columns(), first.rows()) == (4, 3, 3));
                first.set([y, x], item.global_linear_id() as u32);
                bytes.set(y, 9);
                item.barrier();
                second.set([x, y], (first.get([y, (x + 1) % 4]), bytes.get(2 - y)));
                item.barrier();
                let (value, byte) = second.get([x, y]);
                assert!(second.as_local().get(x * 3 + y) == (value, byte) && byte == 9);
                *out = value;
            })
            .expect("a launch");
        for (i, value) in out.to_vec().into_iter().enumerate() {
            let x = i % 20;
            assert_eq!(value as usize, i / 20 * 20 + x / 4 * 4 + (x % 4 + 1) % 4);
        }
        let outside = queue.for_each_in(range, local_2d::<u32>(3, 4), |item, tile| {
            tile.set([0, 3 + item.local_x()], 1);
        });
        let Err(LaunchError::Panicked(panic)) = outside else { panic!("{outside:?}") };
        assert!(panic.message.starts_with("no element [0, "), "{}", panic.message);
    });
}

#[test]
fn permuted_elements() {
    on_every_device(|queue| {
        for len in [0, 1, 2, 8, 100, 128] {
            let input: Vec<u64> = random(9).take(len).collect();
            let from = Buffer::from_slice(queue, &input).expect("memory");
            let mut to = Buffer::filled(queue, len, 0).expect("memory");
            let sources = (to.permuted_mut(Reversal), &from);
            queue.for_each(sources, |(to, from)| *to = *from).expect("a launch");
            assert_eq!(to.to_vec(), input.iter().rev().copied().collect::<Vec<_>>());

            let reversed = queue.for_each((to.permuted_mut(BitReversal), &from), |(to, from)| {
                *to = *from;
            });
            if len == 100 {
                let error = reversed.expect_err("no power of two").to_string();
                assert!(error.contains("100 is no power of two"), "{error}");
            } else {
                reversed.expect("a launch");
                for (i, found) in to.to_vec().into_iter().enumerate() {
                    let bits = len.ilog2();
                    let place = (0..bits).fold(0, |all, bit| all << 1 | (i >> bit & 1));
                    assert_eq!(found, input[place], "{i} of {len}");
                }
            }

            // 7 and 100 have no common divisor, nor 7 and a power of two.
            let places: Vec<usize> = (0..len).map(|i| (i * 7 + 3) % len).collect();
            let order = Permutation::new(queue, &places).expect("a permutation");
            let sources = (to.permuted_mut(&order), &from);
            queue.for_each_in(len, sources, |_, (to, from)| *to = *from).expect("a launch");
            let found = to.to_vec();
            assert!(places.iter().zip(&input).all(|(place, value)| found[*place] == *value));

            let mut longer = Buffer::filled(queue, len + 1, 0_u64).expect("memory");
            let launched = queue.for_each(longer.permuted_mut(&order), |_| ());
            let Err(LaunchError::Source { source_index: 0, reason }) = launched else {
                panic!("{launched:?}")
            };
            assert!(reason.contains("in an order of"), "{reason}");
        }
        for (list, wrong) in [(&[0, 2][..], 2), (&[1, 1], 1), (&[usize::MAX], usize::MAX)] {
            let refused = Permutation::new(queue, list);
            let Err(BufferError::Permutation { index, .. }) = refused else {
                panic!("{refused:?}")
            };
            assert_eq!(index, wrong);
        }
    });
}

#[test]
fn rectangles_of_matrices() {
    on_every_device(|queue| {
        let (height, width) = (7, 9);
        for (rows, columns) in
            [(0..7, 0..9), (1..6, 1..8), (2..3, 4..9), (3..3, 0..9), (6..7, 8..9)]
        {
            let mut matrix = Buffer::filled(queue, height * width, 0).expect("memory");
            let part = [rows.clone(), columns.clone()];
            let rectangle = matrix.rectangle_mut(width, part.clone()).expect("a part");
            queue
                .for_each_in(part.clone(), rectangle, |item, x| *x += 1 + item.y() * 100 + item.x())
                .expect("a launch");
            // As one row, where nothing says how long the rows are.
            let rectangle = matrix.rectangle_mut(width, part).expect("a part");
            queue.for_each((0.., rectangle), |(i, x)| *x += 10_000 * (i + 1)).expect("a launch");
            for (i, found) in matrix.to_vec().into_iter().enumerate() {
                let (y, x) = (i / width, i % width);
                let is_inside = rows.contains(&y) && columns.contains(&x);
                let index = if is_inside {
                    (y - rows.start) * columns.len() + x - columns.start
                } else {
                    0
                };
                let expected = 1 + y * 100 + x + 10_000 * (index + 1);
                assert_eq!(found, if is_inside { expected } else { 0 });
            }
        }
        let mut matrix = Buffer::filled(queue, height * width, 0).expect("memory");
        let reversed = std::ops::Range { start: 5, end: 4 };
        for (rows, columns) in [(0..8, 0..9), (0..7, 0..10), (reversed, 0..1)] {
            let refused = matrix.rectangle_mut(width, [rows, columns]);
            assert!(matches!(refused, Err(BufferError::Rectangle { width: 9, len: 63, .. })));
        }
        let launched = queue.for_each(matrix.tiles_mut::<2, 2>(10), |_| ());
        let Err(LaunchError::Rows { source_index: 0, elements: 63, width: 10 }) = launched else {
            panic!("{launched:?}")
        };
    });
}

/// Loans: in turn as atomics, cells, tiles, rows of groups and plain elements.
#[test]
fn loans_in_all_forms() {
    on_every_device(|queue| {
        let mut data = Buffer::filled(queue, 64, 1_u32).expect("memory");
        queue
            .scope(|scope| {
                let mut data = scope.lend(&mut data);
                let groups = NdRange::from_groups(4, 8)?;
                scope.for_each((0..64, data.atomics()), |(i, data)| {
                    data[63 - i].fetch_add(i as u32, Relaxed);
                })?;
                scope.for_each_in(groups, per_group(data.cells(16)), |item, cells| {
                    let i = item.local_x();
                    let (a, b) = (cells.get(i), cells.get(15 - i));
                    cells.set(i, b);
                    cells.set(15 - i, a);
                })?;
                let grid = NdRange::from_groups([2, 2], [2, 2])?;
                scope.for_each_in(grid, per_group(data.tiles_mut::<4, 4>(8)), |_, tile| {
                    tile.into_iter().for_each(|(_, x)| *x *= 2);
                })?;
                scope.for_each_in(groups, per_group(data.chunks_mut(16)), |_, row| {
                    row.into_iter().for_each(|(_, x)| *x += 1);
                })?;
                Ok(())
            })
            .expect("launches");
        let expected: Vec<u32> = (0..64)
            .map(|i| {
                let turned = i / 16 * 16 + 15 - i % 16;
                let atomic = 1 + 63 - turned;
                2 * atomic + 1
            })
            .collect();
        // The matrix of 8 x 8 has four tiles of 4 x 4, which cover all of it.
        assert_eq!(data.to_vec(), expected);
    });
}

#[test]
fn least_and_greatest_floats() {
    on_every_device(|queue| {
        let values = [0.5_f32, -0.0, 0.0, f32::NAN, -7.25, 1e30, f32::NEG_INFINITY, -1e-40];
        for count in 1..=values.len() {
            let numbers = Buffer::from_slice(queue, &values[..count]).expect("memory");
            let mut ends = Buffer::from_slice(queue, &[f32::NAN, f32::NAN]).expect("memory");
            let mut of_f64 = Buffer::from_slice(queue, &[0.0_f64, -0.0]).expect("memory");
            let (view, wide) = (ends.atomic_view(), of_f64.atomic_view());
            queue
                .for_each(&numbers, move |number| {
                    view[0].fetch_min(*number, Relaxed);
                    AtomicRef::<_, memory_scope::Device>::new(&view[1]).fetch_max(*number, Relaxed);
                    wide[0].fetch_min(f64::from(*number), Relaxed);
                    wide[1].fetch_max(f64::from(*number), Relaxed);
                })
                .expect("a launch");
            let known = || values[..count].iter().copied().filter(|x| !x.is_nan());
            let least = known().min_by(f32::total_cmp).expect("a number");
            let greatest = known().max_by(f32::total_cmp).expect("a number");
            let bits = |all: Vec<f32>| all.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            assert_eq!(bits(ends.to_vec()), bits(vec![least, greatest]), "{count}");
            let least = known().map(f64::from).chain([0.0]).min_by(f64::total_cmp);
            let greatest = known().map(f64::from).chain([-0.0]).max_by(f64::total_cmp);
            let bits = |all: Vec<f64>| all.into_iter().map(f64::to_bits).collect::<Vec<_>>();
            let expected = least.into_iter().chain(greatest).collect();
            assert_eq!(bits(of_f64.to_vec()), bits(expected), "{count}");
        }
    });
}

#[test]
fn parts_of_buffers() {
    on_every_device(|queue| {
        let device = queue.device();
        let mut data =
            Buffer::from_slice(device, &(0..100_u64).collect::<Vec<_>>()).expect("memory");
        assert_eq!((data.get(0), data.get(99), data.get(100)), (Some(0), Some(99), None));
        data.set(99, 7).expect("a copy");
        data.write_at(10, &[1, 2, 3]).expect("a copy");
        data.write_at(100, &[]).expect("nothing to copy");
        let mut some = [0; 5];
        data.read_at(9, &mut some).expect("a copy");
        assert_eq!(some, [9, 1, 2, 3, 13]);
        data.read_at(95, &mut some).expect("a copy");
        assert_eq!(some, [95, 96, 97, 98, 7]);
        let outside = data.read_at(96, &mut some);
        assert!(matches!(outside, Err(BufferError::Range { begin: 96, end: 101, len: 100, .. })));
        assert!(data.write_at(usize::MAX, &[1, 2]).is_err() && data.set(100, 1).is_err());

        // What the host has seen through a view is not what it sees after a write.
        assert_eq!(data.view()[10], 1);
        data.set(10, 77).expect("a copy");
        assert_eq!(data.view()[10], 77);

        let mut copy = Buffer::filled(device, 100, 5).expect("memory");
        copy.copy_from(&data).expect("a copy");
        assert_eq!(copy.to_vec(), data.to_vec());
        copy.fill(0x0102_0304_0506_0708).expect("a fill");
        assert_eq!(copy.to_vec(), [0x0102_0304_0506_0708; 100]);
        let shorter = Buffer::filled(device, 99, 5).expect("memory");
        let refused = copy.copy_from(&shorter);
        assert!(matches!(refused, Err(BufferError::Length { buffer: 100, host: 99 })));
        queue.for_each(&mut copy, |x| *x = x.rotate_left(8)).expect("a launch");
        assert_eq!(copy.get(50), Some(0x0203_0405_0607_0801));

        // From one device to the other.
        let host = Device::by_name("native").expect("the host");
        let mut there = Buffer::filled(&host, 100, 0).expect("memory");
        there.copy_from(&data).expect("a copy");
        assert_eq!(there.to_vec(), data.to_vec());
        there.set(0, 123).expect("a copy");
        data.copy_from(&there).expect("a copy");
        assert_eq!(data.get(0), Some(123));
    });
}
