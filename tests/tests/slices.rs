//! Slices of the host in launches, on every device: in place where the device uses the host's
//! memory, elsewhere copied there and back; and slices that stay on a device over several launches.

#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use schism::prelude::*;
use schism::{BufferError, Error, LaunchError, LaunchReport, Reversal, algorithms};
use schism_tests::devices::{copies, with_copies};

/// Runs a test on every device.
fn on_every_device(test: impl Fn(&Queue)) {
    for device in with_copies() {
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
        let mut expected = vec![(0, 0); 11];
        if copies(queue.device()) {
            // The launch; the begin and the end of the region.
            expected[0] = (8000, 4000);
            expected[1] = (8000, 0);
            expected[10] = (0, 4000);
        }
        let bytes = reports.iter().map(|report| (report.bytes_to, report.bytes_from));
        assert_eq!(bytes.collect::<Vec<_>>(), expected);
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

/// Runs launches of a queue, and says how many bytes were copied to the device and from it.
fn copied(queue: &Queue, launches: impl FnOnce(&Queue) -> Result<(), Error>) -> (u64, u64) {
    let mut buffer = Buffer::filled(queue, 1, 0_u8).expect("memory");
    let (outcome, reports) = queue.report(|queue| {
        // A launch that copies nothing, which what is copied without a launch is reported with.
        queue.for_each(&mut buffer, |x| *x += 1)?;
        launches(queue)
    });
    outcome.expect("launches");
    let sum = |bytes: fn(&LaunchReport) -> u64| reports.iter().map(bytes).sum();
    (sum(|report| report.bytes_to), sum(|report| report.bytes_from))
}

/// Whether so many bytes were copied by a device with its own memory, and none by others.
#[track_caller]
fn expect_copies(queue: &Queue, expected: (u64, u64), found: (u64, u64)) {
    let expected = if copies(queue.device()) { expected } else { (0, 0) };
    assert_eq!(found, expected, "bytes to and from {}", queue.device());
}

/// What a launch is given without a word on copies is used where it is present, and copied elsewhere.
#[test]
fn sources_are_present_or_copied() {
    on_every_device(|queue| {
        let (x, mut y) = (vec![2_u32; 100], vec![1_u32; 100]);
        let found = copied(queue, |queue| {
            queue.for_each((&mut y, &x), |(y, x)| *y += x)?;
            queue.resident(&x, |_| Ok(queue.for_each((&mut y, &x[..]), |(y, x)| *y += x)?))
        });
        expect_copies(queue, (800 + 400 + 400, 800), found);
        assert_eq!(y, [5; 100]);
    });
}

/// What is only read is copied to the device only; what is only written, from it only.
#[test]
fn types_say_what_is_copied() {
    on_every_device(|queue| {
        let (x, mut y, mut z) = (vec![2_u32; 100], vec![1_u64; 50], vec![7_u8; 100]);
        let read = copied(queue, |queue| {
            let mut sum = Buffer::filled(queue, 100, 0_u32)?;
            Ok(queue.for_each((&mut sum, &x), |(sum, x)| *sum += x)?)
        });
        expect_copies(queue, (400, 0), read);
        let written = copied(queue, |queue| {
            queue.for_each((0.., out(&mut y)), |(i, y)| y.set(i as u64))?;
            Ok(algorithms::generate(queue, &mut z, |i| i as u8)?)
        });
        expect_copies(queue, (0, 400 + 100), written);
        assert!((0..50).all(|i| y[i] == i as u64) && (0..100).all(|i| z[i] == i as u8));
        let both = copied(queue, |queue| Ok(queue.for_each(&mut z, |z| *z += 1)?));
        expect_copies(queue, (100, 100), both);
    });
}

/// What no work-item writes, and what a failed launch leaves, are values that there were.
#[test]
fn what_is_not_written_has_a_value() {
    on_every_device(|queue| {
        let mut y: Vec<u16> = (5..105).collect();
        let set_even = queue.for_each((0.., out(&mut y)), |(i, y)| {
            if i % 2 == 0 {
                y.set(1000);
            }
        });
        set_even.expect("a launch");
        for (i, y) in y.iter().enumerate() {
            let is_kept = *y == 5 || usize::from(*y) == i + 5;
            assert!(if i % 2 == 0 { *y == 1000 } else { is_kept }, "{y} at {i}");
        }
        let mut y: Vec<u16> = (5..105).collect();
        let failed = queue.for_each((0.., out(&mut y)), |(i, y)| {
            assert!(i != 50, "item {i}");
            y.set(1000);
        });
        assert!(failed.expect_err("a panic").to_string().contains("item 50"));
        assert!((0..100).all(|i| y[i] == 1000 || usize::from(y[i]) == i + 5));
    });
}

/// A region moves elements, and runs nothing by itself.
#[test]
fn regions_move_and_run_nothing() {
    on_every_device(|queue| {
        let (x, mut y) = (vec![2_u32; 100], vec![1_u32; 100]);
        let (sum, reports) = queue.report(|queue| {
            queue.resident((&mut y, &x), |(y, x)| {
                Ok(x.iter().sum::<u32>() + y.into_view().iter().sum::<u32>())
            })
        });
        assert_eq!((sum.expect("no launch"), reports), (300, vec![]));
        assert_eq!(y, [1; 100]);
    });
}

/// Whether there is a region can be decided when the program runs: what is inside takes views.
#[test]
fn regions_can_depend_on_a_condition() {
    on_every_device(|queue| {
        for is_kept in [false, true] {
            let (x, mut y) = (vec![2_u32; 100], vec![1_u32; 100]);
            let twice = |queue: &Queue, mut y: ViewMut<'_, u32>, x: View<'_, u32>| {
                queue.for_each((&mut y, x), |(y, x)| *y += x)?;
                queue.for_each((&mut y, x), |(y, x)| *y *= x)?;
                Ok::<_, Error>(())
            };
            let found = copied(queue, |queue| {
                if is_kept {
                    queue.resident((&mut y, &x), |(y, x)| twice(queue, y, x))
                } else {
                    twice(queue, ViewMut::from(&mut y), View::from(&x))
                }
            });
            let times = if is_kept { 1 } else { 2 };
            expect_copies(queue, (times * 800, times * 400), found);
            assert_eq!(y, [6; 100]);
        }
    });
}

/// `&x` of a region is copied to the device, and not back.
#[test]
fn shared_elements_of_a_region_are_copied_in() {
    on_every_device(|queue| {
        let x = vec![2_u32; 100];
        let found = copied(queue, |queue| {
            queue.resident(&x, |x| {
                let mut y = Buffer::filled(queue, 100, 1_u32)?;
                queue.for_each((&mut y, x), |(y, x)| *y += x)?;
                queue.for_each((&mut y, x), |(y, x)| *y += x)?;
                assert_eq!(y.to_vec(), [5; 100]);
                Ok(())
            })
        });
        expect_copies(queue, (400, 0), found);
    });
}

/// `out(&mut y)` of a region is copied from the device, and not to it.
#[test]
fn out_elements_of_a_region_are_copied_out() {
    on_every_device(|queue| {
        let mut y = vec![1_u32; 100];
        let found = copied(queue, |queue| {
            queue.resident(out(&mut y), |mut y| {
                queue.for_each((0.., out(&mut y)), |(i, y)| y.set(i as u32))?;
                Ok(queue.for_each(&mut y, |y| *y *= 3)?)
            })
        });
        expect_copies(queue, (0, 400), found);
        assert!((0..100).all(|i| y[i] == 3 * i as u32));
    });
}

/// `&mut y` of a region is copied to the device and from it, once.
#[test]
fn exclusive_elements_of_a_region_are_copied_in_and_out() {
    on_every_device(|queue| {
        let mut y = vec![1_u32; 100];
        let found = copied(queue, |queue| {
            queue.resident(&mut y, |mut y| {
                for _ in 0..3 {
                    queue.for_each(&mut y, |y| *y *= 3)?;
                }
                Ok(())
            })
        });
        expect_copies(queue, (400, 400), found);
        assert_eq!(y, [27; 100]);
    });
}

/// Memory of a region alone is a buffer: nothing is copied, and it has values from the begin.
#[test]
fn memory_of_a_region_alone_is_created_there() {
    on_every_device(|queue| {
        let mut y = vec![1_u64; 100];
        let found = copied(queue, |queue| {
            queue.resident(&mut y, |mut y| {
                let mut scratch = Buffer::<u64>::with_len(queue, 100)?;
                queue.for_each((&mut scratch, &mut y), |(scratch, y)| *scratch += *y * 5)?;
                Ok(queue.for_each((&mut y, &scratch), |(y, scratch)| *y += scratch)?)
            })
        });
        expect_copies(queue, (800, 800), found);
        assert_eq!(y, [6; 100]);
    });
}

/// What a kernel captures has to be present; a view of what is not is an error.
#[test]
fn captured_elements_have_to_be_present() {
    on_every_device(|queue| {
        let (x, mut y) = (vec![2_u32; 100], Buffer::filled(queue, 100, 1_u32).expect("memory"));
        let mut add = |x: View<'_, u32>| {
            queue.for_each((0.., &mut y), move |(i, y)| *y += x[x.len() - 1 - i])
        };
        let outcome = add(View::from(&x));
        if copies(queue.device()) {
            let error = outcome.expect_err("nothing is copied for a capture");
            assert!(matches!(error, LaunchError::ForeignBuffer { .. }), "{error}");
            queue.resident(&x, |x| Ok(add(x)?)).expect("a launch");
        } else {
            outcome.expect("a launch");
        }
        assert_eq!(y.to_vec(), [3; 100]);
    });
}

/// A function with a region, for what may be kept around it.
fn triple<'a>(queue: &Queue, y: impl Into<ViewMut<'a, u32>>) -> Result<(), Error> {
    queue.resident(&mut y.into(), |mut y| Ok(queue.for_each(&mut y, |y| *y *= 3)?))
}

/// A region within another finds what that keeps, and copies the rest in and out.
#[test]
fn regions_are_present_or_copied() {
    on_every_device(|queue| {
        let mut y = vec![1_u32; 100];
        expect_copies(queue, (400, 400), copied(queue, |queue| triple(queue, &mut y)));
        let found = copied(queue, |queue| {
            queue.resident(&mut y, |mut y| {
                triple(queue, &mut y)?;
                triple(queue, y.slice(50..)?)
            })
        });
        expect_copies(queue, (400, 400), found);
        assert!(y[..50] == [9; 50] && y[50..] == [27; 50]);
    });
}

/// The same for what is only read: it is found by its address.
#[test]
fn regions_are_present_or_copied_in() {
    on_every_device(|queue| {
        let x: Vec<u32> = (0..100).collect();
        let total = |range: std::ops::Range<u32>| range.sum::<u32>();
        let found = copied(queue, |queue| {
            queue.resident(&x, |_| {
                let inner = |x: &[u32]| {
                    queue.resident(x, |x| Ok(algorithms::reduce(queue, &x, 0, |a, b| a + b)?))
                };
                assert_eq!(inner(&x[..50])?, total(0..50));
                assert_eq!(inner(&x[50..])?, total(50..100));
                assert_eq!(algorithms::reduce(queue, &x[20..30], 0, |a, b| a + b)?, total(20..30));
                Ok(())
            })
        });
        expect_copies(queue, (400, 0), found);
    });
}

/// The same for what is only written.
#[test]
fn regions_are_present_or_copied_out() {
    on_every_device(|queue| {
        let mut y = vec![1_u32; 100];
        let fill = |queue: &Queue, y: ViewMut<'_, u32>| {
            queue.resident(out(y), |mut y| {
                Ok(queue.for_each((0.., out(&mut y)), |(i, y)| y.set(i as u32))?)
            })
        };
        let alone = copied(queue, |queue| fill(queue, ViewMut::from(&mut y)));
        expect_copies(queue, (0, 400), alone);
        let within = copied(queue, |queue| queue.resident(&mut y, |y| fill(queue, y.slice(50..)?)));
        expect_copies(queue, (400, 400), within);
        assert!((0..100).all(|i| y[i] as usize == i % 50));
    });
}

/// A function that takes memory where there is some, and creates it otherwise.
#[test]
fn memory_is_present_or_created() {
    on_every_device(|queue| {
        let with_scratch = |queue: &Queue, y: &mut ViewMut<'_, u32>, scratch: &mut Option<_>| {
            if scratch.is_none() {
                *scratch = Some(Buffer::with_len(queue, y.len())?);
            }
            let scratch: &mut Buffer<u32> = scratch.as_mut().expect("there is one");
            queue.resident((y, scratch), |(mut y, mut scratch)| {
                queue.for_each((&mut scratch, &mut y), |(scratch, y)| *scratch += *y)?;
                Ok(queue.for_each((&mut y, &mut scratch), |(y, scratch)| *y += *scratch)?)
            })
        };
        let mut y = vec![1_u32; 100];
        let found = copied(queue, |queue| {
            queue.resident(&mut y, |mut y| {
                let mut scratch = None;
                with_scratch(queue, &mut y, &mut scratch)?;
                with_scratch(queue, &mut y, &mut scratch)
            })
        });
        expect_copies(queue, (400, 400), found);
        // 1 + 1, and 2 + (1 + 2).
        assert_eq!(y, [5; 100]);
    });
}

/// What is kept is known by its address: parts are found, a slice of which a part is kept is an error,
/// and when the region ends nothing is left.
#[test]
fn the_runtime_knows_what_is_present() {
    on_every_device(|queue| {
        let x: Vec<u32> = (0..100).collect();
        let mut y = vec![0_u32; 60];
        let copy = |queue: &Queue, y: &mut [u32], x: &[u32]| {
            queue.for_each((out(y), x), |(y, x)| y.set(*x))
        };
        let found = copied(queue, |queue| {
            queue.resident(&x[20..80], |_| {
                copy(queue, &mut y, &x[20..80])?;
                copy(queue, &mut y[..20], &x[..20])?;
                let outcome = copy(queue, &mut y, &x[10..70]);
                if copies(queue.device()) {
                    let error = outcome.expect_err("a part is kept");
                    let text = error.to_string();
                    let LaunchError::Memory(BufferError::PartlyPresent { slice, present, .. }) =
                        error
                    else {
                        panic!("{text}");
                    };
                    let address = |i: usize| x.as_ptr().wrapping_add(i).addr();
                    assert_eq!(slice, address(10)..address(70));
                    assert_eq!(present, address(20)..address(80));
                    assert!(text.contains(&format!("{slice:#x?}")), "{text}");
                    assert!(text.contains(&format!("{present:#x?}")), "{text}");
                }
                Ok(())
            })?;
            Ok(copy(queue, &mut y, &x[10..70])?)
        });
        expect_copies(queue, (240 + 80 + 240, 240 + 80 + 240), found);
        assert!((0..60).all(|i| y[i] as usize == 10 + i));
    });
}

/// One statement with all there is: what goes in, what comes out, and what does both.
#[test]
fn one_launch_says_what_goes_where() {
    on_every_device(|queue| {
        let (a, table) = ([1_u16; 40], [3_u8; 10]);
        let (mut sums, mut squares, mut counts) = ([5_u16; 40], vec![0_u32; 40], [0_u32; 4]);
        let factor = 2;
        let found = copied(queue, |queue| {
            let sources =
                ((0.., &a, whole(&table)), (&mut sums, out(&mut squares), atomics(&mut counts)));
            Ok(queue.for_each(sources, move |((i, a, table), (sum, square, counts))| {
                *sum += a * factor + u16::from(table[i % 10]);
                square.set((i * i) as u32);
                counts[i % 4].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            })?)
        });
        expect_copies(queue, (80 + 10 + 80 + 16, 80 + 160 + 16), found);
        assert!(sums == [10; 40] && counts == [10; 4]);
        assert!((0..40).all(|i| squares[i] as usize == i * i));
    });
}

/// `out` of a launch is copied from the device only.
#[test]
fn out_is_copied_from_the_device_only() {
    on_every_device(|queue| {
        let mut boxed: Box<[f64]> = vec![0.0; 33].into();
        let found = copied(queue, |queue| {
            Ok(queue.for_each((out(&mut boxed), 0..33), |(y, i)| y.set(i as f64 / 2.0))?)
        });
        expect_copies(queue, (0, 264), found);
        assert!((0..33).all(|i| boxed[i] == i as f64 / 2.0));
    });
}

/// `&mut` of a launch is copied in both directions.
#[test]
fn exclusive_sources_are_copied_in_and_out() {
    on_every_device(|queue| {
        let mut array = [[1_u8, 2, 3]; 21];
        let found = copied(queue, |queue| {
            Ok(queue.for_each(&mut array, |[a, b, c]| (*a, *b, *c) = (*c, *a, *b))?)
        });
        expect_copies(queue, (63, 63), found);
        assert_eq!(array, [[3, 1, 2]; 21]);
    });
}

/// What goes along are the captures, by value, and the listed sources; nothing else.
#[test]
fn captures_and_sources_are_all_that_goes_along() {
    on_every_device(|queue| {
        #[derive(Clone, Copy)]
        struct Line {
            slope: f32,
            constants: [f32; 3],
        }
        let (line, scale) = (Line { slope: 2.0, constants: [0.5, 1.0, 1.5] }, 4.0_f32);
        let (x, unused) = (vec![1.0_f32; 64], vec![9.0_f32; 1000]);
        let mut y = vec![0.0_f32; 64];
        let found = copied(queue, |queue| {
            Ok(queue.for_each((0.., out(&mut y), &x), move |(i, y, x)| {
                y.set((line.slope * x + line.constants[i % 3]) * scale);
            })?)
        });
        expect_copies(queue, (256, 256), found);
        assert!((0..64).all(|i| y[i] == [10.0, 12.0, 14.0][i % 3]));
        assert_eq!(unused.len(), 1000);
    });
}

/// Each source takes slices: those of groups, matrices, loans and atomics, too.
#[test]
fn every_source_takes_slices() {
    on_every_device(|queue| {
        // Tiles: a transpose.
        let (height, width) = (6, 5);
        let matrix: Vec<u32> = (0..30).collect();
        let mut transpose = vec![0_u32; 30];
        let tiles = ViewMut::from(&mut transpose).tiles_mut::<2, 3>(height);
        let sources = (tiles, whole(&matrix));
        queue
            .for_each(sources, move |(mut tile, matrix)| {
                let [row, column] = tile.origin();
                for ([y, x], to) in tile.iter_mut() {
                    *to = matrix[(column + x) * width + row + y];
                }
            })
            .expect("a launch");
        for (i, to) in transpose.iter().enumerate() {
            assert_eq!(*to as usize, i % height * width + i / height);
        }

        // Shares and cells of groups, and one element for each of them.
        let mut rows = vec![1_u32; 40];
        let (mut sorted, mut firsts) = (vec![0_u32; 40], [0_u32; 10]);
        let range = NdRange::new(40, 4).expect("groups");
        let parts = (
            per_group(ViewMut::from(&mut rows).chunks_mut(4)),
            per_group(ViewMut::from(&mut sorted).cells(4)),
            per_group((View::from(&matrix[..10]), &mut firsts)),
        );
        queue
            .for_each_in(range, parts, |item, (mut row, sorted, (number, first))| {
                row.fill(*number);
                sorted.set(3 - item.local_x(), item.local_x() as u32);
                if let Some(first) = first {
                    *first = number * 2;
                }
            })
            .expect("a launch");
        assert!((0..40).all(|i| rows[i] as usize == i / 4 && sorted[i] as usize == 3 - i % 4));
        assert!((0..10).all(|i| firsts[i] as usize == 2 * i));

        // Rows of one block, as slices of slices.
        let (first, rest) = rows.split_at_mut(20);
        let sources = (&mut first[..], View::from(&rest[..]).chunks(1));
        queue.for_each(sources, |(to, from)| *to = from[0]).expect("a launch");
        assert!((0..20).all(|i| rows[i] == rows[20 + i]));

        // Loans of slices, and of what a region keeps.
        let (x, mut y) = (vec![3_u32; 40], vec![1_u32; 40]);
        let lend = |queue: &Queue, y: ViewMut<'_, u32>| {
            queue.scope(|scope| {
                let mut y = scope.lend(y);
                scope.for_each((&mut y, &x), |(y, x)| *y += x)?;
                scope.for_each((y.chunks_mut(4), &x[..10]), |(y, x)| y[0] += x)?;
                scope.for_each((0..40, y.atomics()), |(i, y)| {
                    y[i / 40].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                })?;
                scope.for_each((&mut y, &x), |(y, x)| *y *= x)?;
                Ok(())
            })
        };
        let expected = |i: usize| {
            3 * (4 + if i.is_multiple_of(4) { 3 } else { 0 } + if i == 0 { 40 } else { 0 })
        };
        let found = copied(queue, |queue| lend(queue, ViewMut::from(&mut y)));
        // The launches copy the loan, and the first what the others find.
        expect_copies(queue, (4 * 160 + 160, 4 * 160), found);
        assert!((0..40).all(|i| y[i] as usize == expected(i)), "{y:?}");
        let mut y = vec![1_u32; 40];
        let found = copied(queue, |queue| queue.resident(&mut y, |y| lend(queue, y)));
        expect_copies(queue, (160 + 160, 160), found);
        assert!((0..40).all(|i| y[i] as usize == expected(i)), "{y:?}");
    });
}
