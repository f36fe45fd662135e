//! Slices of the host in launches, on every device: in place where the device uses the host's
//! memory, elsewhere copied there and back; and slices that stay on a device over several launches.

#![forbid(unsafe_code)]

use std::ops;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fastrand::Rng;
use schism::prelude::*;
use schism::{DeviceKind, Error, Reversal};
use schism_tests::devices::listed;

/// Runs a test on every device.
fn on_every_device(test: impl Fn(&Queue)) {
    for device in listed() {
        println!("on {device}");
        test(&Queue::on(&device).expect("a device that is listed"));
    }
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

const SIZES: [usize; 6] = [0, 1, 31, 1000, 4099, (1 << 18) + 1];

/// Vectors, slices, arrays and boxed slices, whole and in part.
#[test]
fn every_kind_of_slice_is_a_source() {
    on_every_device(|queue| {
        for size in SIZES {
            let x: Vec<u32> = (0..size as u32).collect();
            let mut y = vec![1_u32; size];
            queue.for_each((&mut y, &x), |(y, x)| *y += 2 * *x).expect("a launch");
            assert!(y.iter().zip(&x).all(|(y, x)| *y == 1 + 2 * x));

            let half = size / 2;
            let sources = (&mut y[half..], &x[size - (size - half)..]);
            queue.for_each(sources, |(y, x)| *y = x ^ 7).expect("a launch");
            let expected = |i: usize| if i < half { 1 + 2 * i as u32 } else { i as u32 ^ 7 };
            assert!(y.iter().enumerate().all(|(i, y)| *y == expected(i)));

            let mut boxed: Box<[u32]> = x.clone().into();
            queue.for_each((&mut boxed, &y), |(to, y)| *to ^= y).expect("a launch");
            assert!(boxed.iter().zip(&x).zip(&y).all(|((to, x), y)| *to == x ^ y));
        }
        let from = [1_u8, 2, 3, 4, 5];
        let mut to = [0_u16; 5];
        queue
            .for_each((&mut to, &from), |(to, from)| *to = u16::from(*from) * 300)
            .expect("a launch");
        assert_eq!(to, [300, 600, 900, 1200, 1500]);
    });
}

/// Views of slices have the methods of other sources.
#[test]
fn views_of_slices_are_chunks_and_tiles() {
    on_every_device(|queue| {
        let x: Vec<u32> = (0..100).collect();
        let mut sums = [0; 10];
        let sources = (&mut sums, View::from(&x).chunks(10));
        queue.for_each(sources, |(sum, row)| *sum = row.iter().sum::<u32>()).expect("a launch");
        assert!(sums.iter().enumerate().all(|(i, sum)| *sum == i as u32 * 100 + 45));

        let mut rows = vec![0; 99];
        let sources = (0.., ViewMut::from(&mut rows).chunks_mut(10), whole(&sums));
        queue
            .for_each(sources, |(i, row, sums)| {
                for (j, element) in row.iter_mut().enumerate() {
                    *element = sums[(i + j) % sums.len()];
                }
            })
            .expect("a launch");
        assert!(rows.iter().enumerate().all(|(i, row)| *row == sums[(i / 10 + i % 10) % 10]));

        let mut numbers = vec![0; 1000];
        let reversed = ViewMut::from(&mut numbers).permuted_mut(Reversal);
        queue.for_each((0.., reversed), |(i, number)| *number = i).expect("a launch");
        assert!(numbers.iter().enumerate().all(|(i, number)| *number == 999 - i));

        let mut matrix = vec![0_u32; 12 * 10];
        let part = ViewMut::from(&mut matrix).rectangle_mut(10, [2..12, 3..10]).expect("a part");
        queue.for_each((0.., part), |(i, element)| *element = i as u32 + 1).expect("a launch");
        for (i, element) in matrix.iter().enumerate() {
            let (row, column) = (i / 10, i % 10);
            let inside = row >= 2 && column >= 3;
            let expected = if inside { (row - 2) * 7 + column - 3 + 1 } else { 0 };
            assert_eq!(*element as usize, expected, "{row} {column}");
        }

        let mut in_groups = vec![0_u32; 64];
        let range = NdRange::new(64, 16).expect("groups");
        let sources = (&mut in_groups, per_group(View::from(&sums[..4])));
        queue.for_each_in(range, sources, |_, (to, sum)| *to = *sum).expect("a launch");
        assert!(in_groups.iter().enumerate().all(|(i, to)| *to == sums[i / 16]));
    });
}

/// Parts of one slice that are read overlap, and parts that are changed lie beside each other.
#[test]
fn parts_of_one_slice_are_sources_of_one_launch() {
    on_every_device(|queue| {
        let x: Vec<u64> = (0..1000).collect();
        let mut y = vec![0_u64; 1000];
        let (low, high) = y.split_at_mut(500);
        let sources = (low, high, &x[..500], &x[250..750], &x[499..999], whole(&x));
        queue
            .for_each(sources, |(low, high, a, b, c, all)| {
                *low = a + b;
                *high = c * 3 + all[all.len() - 1];
            })
            .expect("a launch");
        for i in 0..500 {
            let a = i as u64;
            assert_eq!((y[i], y[500 + i]), (a + 250 + a, (499 + a) * 3 + 999));
        }
    });
}

/// A kernel that panics leaves what its work-items have written, in each device's own order.
#[test]
fn what_is_written_before_a_panic_arrives() {
    on_every_device(|queue| {
        let mut y = vec![0_u32; 10_000];
        let error = queue
            .for_each((0.., &mut y), |(i, y)| {
                *y = 7;
                assert!(i != 5000, "item {i}");
            })
            .expect_err("a panic");
        assert!(error.to_string().contains("item 5000"), "{error}");
        assert!(y.iter().all(|y| matches!(y, 0 | 7)) && y[5000] == 7);
    });
}

/// What is copied: each byte once, and back only what may have changed.
#[test]
fn reports_count_the_copies() {
    on_every_device(|queue| {
        let x = [1_u32; 1000];
        let mut y = vec![0_u32; 1000];
        let copies = !matches!(queue.device().kind(), DeviceKind::Cpu | DeviceKind::Native);
        let (outcome, reports) = queue.report(|queue| {
            queue.for_each((&mut y, &x, whole(&x[..500])), |(y, x, part)| *y = x + part[0])?;
            queue.resident((&mut y, &x), |(mut y, x)| {
                for _ in 0..10 {
                    queue.for_each((&mut y, x), |(y, x)| *y += x)?;
                }
                Ok(())
            })
        });
        outcome.expect("launches");
        assert_eq!(y, [12; 1000]);
        assert_eq!(reports.len(), 11);
        let expected = if copies { (8000, 4000) } else { (0, 0) };
        assert_eq!((reports[0].bytes_to, reports[0].bytes_from), expected);
        assert!(reports[1..].iter().all(|report| (report.bytes_to, report.bytes_from) == (0, 0)));
    });
}

/// Launches of a scope use slices one after the other.
#[test]
fn scopes_take_slices() {
    on_every_device(|queue| {
        let x: Vec<u32> = (0..5000).collect();
        let (mut y, mut z) = (vec![0; 5000], vec![0; 5000]);
        let mut buffer = Buffer::filled(queue, 5000, 1).expect("memory");
        queue
            .scope(|scope| {
                let mut lent = scope.lend(&mut buffer);
                scope.for_each((&mut y, &x), |(y, x)| *y = x + 1)?;
                scope.for_each((&mut lent, &x), |(to, x)| *to += x)?;
                scope.for_each_in(5000, (&mut z, &lent), |item, (z, from)| {
                    *z = from + item.x() as u32;
                })?;
                Ok(())
            })
            .expect("launches");
        assert!((0..5000).all(|i| y[i] == i as u32 + 1 && z[i] == 2 * i as u32 + 1));
    });
}

/// Slices that stay on the device come back, however the region ends.
#[test]
fn resident_slices_come_back() {
    on_every_device(|queue| {
        let x = vec![2_u32; 3000];
        let launch =
            |y: &mut ViewMut<'_, u32>, x: View<'_, u32>| queue.for_each((y, x), |(y, x)| *y += x);

        let mut y = vec![1_u32; 3000];
        let turns = queue
            .resident((&mut y, &x), |(mut y, x)| {
                for _ in 0..1000 {
                    launch(&mut y, x)?;
                }
                Ok(1000)
            })
            .expect("launches");
        assert!(turns == 1000 && y.iter().all(|y| *y == 2001));

        // By an error.
        let mut y = vec![1_u32; 3000];
        let error = queue.resident((&mut y[..2000], &x[..]), |(mut y, x)| {
            queue.for_each(&mut y, |y| *y += 5)?;
            launch(&mut y, x)?;
            Ok(())
        });
        assert!(error.expect_err("other lengths").to_string().contains("3000"));
        assert!(y[..2000].iter().all(|y| *y == 6) && y[2000..].iter().all(|y| *y == 1));

        // By a panic.
        let mut y = [1_u32; 100];
        let payload = catch_unwind(AssertUnwindSafe(|| {
            queue.resident(&mut y, |mut y| -> Result<(), Error> {
                queue.for_each(&mut y, |y| *y += 5)?;
                panic!("in the region");
            })
        }));
        let payload = payload.expect_err("a panic");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"in the region"));
        assert_eq!(y, [6; 100]);

        // Two that change places, as references do.
        let (mut now, mut next) = (vec![1_u32; 100], vec![0_u32; 100]);
        queue
            .resident((&mut now, &mut next), |(mut now, mut next)| {
                for _ in 0..5 {
                    queue.for_each((&mut next, &mut now), |(next, now)| *next = *now * 2)?;
                    std::mem::swap(&mut now, &mut next);
                }
                Ok(())
            })
            .expect("launches");
        assert!(now.iter().all(|x| *x == 16) && next.iter().all(|x| *x == 32));
    });
}

/// What a kernel captures of resident slices, and what functions that know nothing of the region do.
#[test]
fn resident_slices_are_captured_and_found() {
    on_every_device(|queue| {
        let table: Vec<u32> = (0..256).map(|i| i * i).collect();
        let mut y = vec![0_u32; 1000];
        let mut other = [1_u32; 100];
        let add = |to: &mut [u32], from: &[u32]| {
            queue.for_each((to, from), |(to, from)| *to = to.wrapping_add(*from))
        };
        queue
            .resident((&mut y, &table), |(mut y, view)| {
                queue.for_each((0.., &mut y), move |(i, y)| *y = view[i % 256])?;
                add(&mut other, &table[50..150])?;
                // One region within another, of parts of the same.
                queue.resident((&mut other, &table[..200]), |(mut other, part)| {
                    queue.for_each((&mut other, part.slice(100..)?), |(to, from)| *to ^= from)?;
                    Ok(())
                })
            })
            .expect("launches");
        assert!((0..1000).all(|i| y[i] == table[i % 256]));
        assert!((0..100).all(|i| other[i] == (1 + table[50 + i]) ^ table[100 + i]));
    });
}

/// One array or another, in part.
fn part(random: &mut Rng, len: usize) -> ops::Range<usize> {
    let begin = random.usize(..=len);
    begin..random.usize(begin..=len)
}

/// Random launches over slices and parts of them, in regions and regions within regions, against
/// plain loops. `SCHISM_TEST_SLICES` is how many.
#[test]
fn random_launches_are_plain_loops() {
    let count =
        std::env::var("SCHISM_TEST_SLICES").map_or(200, |count| count.parse().expect("a number"));
    on_every_device(|queue| {
        for number in 0..count {
            let mut random = Rng::with_seed(number);
            let len = random.usize(..3000);
            let x: Vec<u32> = (0..len).map(|_| random.u32(..)).collect();
            let mut y = x.clone();
            let mut expected = x.clone();
            for _ in 0..random.usize(1..=5) {
                let factor = random.u32(..);
                let to = part(&mut random, len);
                let begin = random.usize(..=len - to.len());
                let from = begin..begin + to.len();
                for (to, from) in expected[to.clone()].iter_mut().zip(&x[from.clone()]) {
                    *to = to.wrapping_mul(factor) ^ from;
                }
                let launch = |to: &mut [u32], from: &[u32]| {
                    queue.for_each((to, from), move |(to, from)| {
                        *to = to.wrapping_mul(factor) ^ from
                    })
                };
                match random.usize(..4) {
                    0 => launch(&mut y[to], &x[from]).expect("a launch"),
                    1 => queue
                        .resident((&mut y[to], &x[from]), |(to, from)| {
                            Ok(queue.for_each((to, from), move |(to, from)| {
                                *to = to.wrapping_mul(factor) ^ from;
                            })?)
                        })
                        .expect("a region"),
                    2 => {
                        queue.resident(&x, |_| Ok(launch(&mut y[to], &x[from])?)).expect("a region")
                    }
                    _ => queue
                        .resident((&mut y, &x), |(y, all)| {
                            let (to, part) = (y.slice(to)?, all.slice(from)?);
                            // A second region, of what the first has.
                            queue.resident(&x[..len / 2], |_| {
                                Ok(queue.for_each((to, part), move |(to, from)| {
                                    *to = to.wrapping_mul(factor) ^ from;
                                })?)
                            })
                        })
                        .expect("regions"),
                }
            }
            assert!(y == expected, "number {number} on {}", queue.device());
        }
    });
}
