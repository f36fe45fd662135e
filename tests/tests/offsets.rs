//! Launches over ranges that do not begin at zero, on every device.

use std::ops::Range as Interval;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use schism::prelude::*;
use schism::{LaunchError, local_array};
use schism_tests::devices::has_recursion;

/// Runs a test on every device.
fn on_every_device(test: impl Fn(&Queue)) {
    for device in schism_tests::devices::listed() {
        println!("on {device}");
        test(&Queue::on(&device).expect("a device that is listed"));
    }
}

/// What a work-item knows of its place: id, offset, range, linear id, and whether it is device
/// code.
type Ids<const D: usize> = ([usize; D], [usize; D], [usize; D], usize, bool);

/// Whether a queue's kernels are device code.
fn on_device(queue: &Queue) -> bool {
    queue.device().name() != "native"
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

#[test]
fn ids_are_shifted_by_exactly_the_offset() {
    on_every_device(|queue| {
        for offset in [[0, 0, 0], [5, 3, 1], [1 << 33, 0, 0], [0, (1 << 32) - 1, 1 << 40]] {
            let [x, y, z] = offset;
            let (width, height, depth) = (7, 4, 3);
            let device = on_device(queue);

            let mut places: Buffer<Ids<1>> = Buffer::with_len(queue, width).expect("memory");
            queue
                .for_each_in(x..x + width, &mut places, |item, place| {
                    *place = (
                        item.id(),
                        item.offset(),
                        item.range(),
                        item.linear_id(),
                        schism::is_device(),
                    );
                })
                .expect("a launch");
            for (i, place) in places.to_vec().into_iter().enumerate() {
                assert_eq!(place, ([x + i], [x], [width], i, device));
            }

            let mut places: Buffer<Ids<2>> =
                Buffer::with_len(queue, width * height).expect("memory");
            queue
                .for_each_in([y..y + height, x..x + width], &mut places, |item, place| {
                    assert!([item.y(), item.x()] == item.id());
                    *place = (
                        item.id(),
                        item.offset(),
                        item.range(),
                        item.linear_id(),
                        schism::is_device(),
                    );
                })
                .expect("a launch");
            for (i, place) in places.to_vec().into_iter().enumerate() {
                let id = [y + i / width, x + i % width];
                assert_eq!(place, (id, [y, x], [height, width], i, device));
            }

            let mut places: Buffer<Ids<3>> =
                Buffer::with_len(queue, width * height * depth).expect("memory");
            let range = [z..z + depth, y..y + height, x..x + width];
            queue
                .for_each_in(range, &mut places, |item, place| {
                    assert!([item.z(), item.y(), item.x()] == item.id());
                    *place = (
                        item.id(),
                        item.offset(),
                        item.range(),
                        item.linear_id(),
                        schism::is_device(),
                    );
                })
                .expect("a launch");
            for (i, place) in places.to_vec().into_iter().enumerate() {
                let plane = i % (width * height);
                let id = [z + i / (width * height), y + plane / width, x + plane % width];
                assert_eq!(place, (id, [z, y, x], [depth, height, width], i, device));
            }
        }
    });
}

#[test]
fn a_launch_that_begins_at_zero_is_the_plain_one() {
    on_every_device(|queue| {
        let n = 1000;
        let mut plain = Buffer::with_len(queue, n * n).expect("memory");
        let mut begun = Buffer::with_len(queue, n * n).expect("memory");
        queue
            .for_each_in([n, n], &mut plain, |item, to| *to = (item.id(), item.offset()))
            .expect("a launch");
        queue
            .for_each_in([0..n, 0..n], &mut begun, |item, to| *to = (item.id(), item.offset()))
            .expect("a launch");
        assert!(plain.to_vec() == begun.to_vec());
    });
}

/// One kernel, launched with and without a beginning: each launch has its own.
#[test]
fn one_kernel_with_one_offset_after_the_other() {
    on_every_device(|queue| {
        let sum = |range: Interval<usize>| {
            let mut sums = Buffer::filled(queue, 1, 0_u64).expect("memory");
            let sum = sums.atomic_view();
            queue
                .parallel_for(range, move |item| {
                    sum[0].fetch_add(item.x() as u64, Relaxed);
                })
                .expect("a launch");
            sums.to_vec()[0]
        };
        for range in [0..10, 5..100, 0..100, 99..100, 1..1_000_001, 0..10] {
            assert_eq!(sum(range.clone()), range.map(|x| x as u64).sum::<u64>());
        }
    });
}

#[test]
fn inclusive_ranges() {
    on_every_device(|queue| {
        let mut ids = Buffer::with_len(queue, 6).expect("memory");
        queue.for_each_in([3..=4, 7..=9], &mut ids, |item, to| *to = item.id()).expect("a launch");
        assert_eq!(ids.to_vec(), [[3, 7], [3, 8], [3, 9], [4, 7], [4, 8], [4, 9]]);
        let mut last = Buffer::with_len(queue, 2).expect("memory");
        queue
            .for_each_in(usize::MAX - 1..=usize::MAX, &mut last, |item, to| *to = item.x())
            .expect("the last numbers there are");
        assert_eq!(last.to_vec(), [usize::MAX - 1, usize::MAX]);
    });
}

/// Functions between the kernel and its id, recursion among them, all know where the launch begins.
#[test]
fn ids_in_functions() {
    #[inline(never)]
    fn digits(item: Item<2>, rest: usize) -> usize {
        if rest == 0 { item.y() } else { rest % 10 + digits(item, rest / 10) }
    }
    let expected = |y: usize, x: usize| {
        x.to_string().bytes().map(|digit| usize::from(digit - b'0')).sum::<usize>() + y
    };
    on_every_device(|queue| {
        if !has_recursion(queue.device()) {
            return;
        }
        let mut sums = Buffer::with_len(queue, 200).expect("memory");
        queue
            .for_each_in([90..110, 995..1005], &mut sums, |item, to| *to = digits(item, item.x()))
            .expect("a launch");
        let host: Vec<usize> =
            (90..110).flat_map(|y| (995..1005).map(move |x| expected(y, x))).collect();
        assert_eq!(sums.to_vec(), host);
    });
}

#[test]
fn nothing_to_do() {
    on_every_device(|queue| {
        let never = |_: Item<1>| panic!("no work-item");
        queue.parallel_for(5..5, never).expect("an empty range is fine");
        // As everywhere in Rust, a range that ends before it begins is empty.
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = 100..5;
        queue.parallel_for(reversed.clone(), never).expect("so is a reversed one");
        queue
            .parallel_for([0..7, reversed.clone()], |_| panic!("no work-item"))
            .expect("and one with a reversed dimension");
        #[allow(clippy::reversed_empty_ranges)]
        let inclusive = 5..=4;
        queue.parallel_for(inclusive, never).expect("so is one that includes its end");
        let mut none = Buffer::<u8>::with_len(queue, 0).expect("no memory");
        queue.for_each_in(reversed, &mut none, |_, _| panic!("no work-item")).expect("fits");
    });
}

#[test]
fn ranges_that_are_too_long() {
    on_every_device(|queue| {
        let refused = |launched| match launched {
            Err(LaunchError::RangeOverflow { range }) => range,
            other => panic!("{other:?}"),
        };
        assert_eq!(refused(queue.parallel_for(0..=usize::MAX, |_| ())), [usize::MAX]);
        assert_eq!(refused(queue.parallel_for(1..usize::MAX, |_| ())), [usize::MAX - 1]);
        let half = 1 << 32;
        assert_eq!(refused(queue.parallel_for([7..half + 7, 9..half + 9], |_| ())), [half, half]);
        let mut three = Buffer::<u8>::with_len(queue, 3).expect("memory");
        assert!(matches!(
            queue.for_each_in(2..6, &mut three, |_, _| ()),
            Err(LaunchError::Length { source_index: 0, expected: 4, found: 3 })
        ));
    });
}

#[test]
fn scopes() {
    on_every_device(|queue| {
        let mut ids = Buffer::filled(queue, 10, 0).expect("memory");
        let mut sums = Buffer::filled(queue, 1, 0_u32).expect("memory");
        queue
            .scope(|scope| {
                let mut ids = scope.lend(&mut ids);
                scope.for_each_in(20..30, &mut ids, |item, id| *id = item.x())?;
                scope.for_each_in(100..110, &mut ids, |item, id| *id += item.x())?;
                let sum = sums.atomic_view();
                scope.parallel_for([1..3, 5..7], move |item| {
                    sum[0].fetch_add((item.y() * 10 + item.x()) as u32, Relaxed);
                })?;
                Ok(())
            })
            .expect("launches");
        assert_eq!(ids.to_vec(), (0..10).map(|i| 120 + 2 * i).collect::<Vec<_>>());
        assert_eq!(sums.to_vec(), [15 + 16 + 25 + 26]);
    });
}

#[test]
fn a_panic_names_the_id() {
    on_every_device(|queue| {
        let launched = queue.parallel_for([50..60, 5..20], |item| {
            assert!(item.id() != [57, 13], "here");
        });
        let Err(LaunchError::Panicked(panic)) = launched else { panic!("{launched:?}") };
        assert!(panic.message.contains("here"), "{panic}");
        if on_device(queue) {
            assert_eq!(panic.work_item, Some(vec![57, 13]));
        }
    });
}

/// What a work-item of a group knows: global id, offset, global range, local id, group id; linear
/// ids, and whether it is device code.
type GroupPlace<const D: usize> = ([[usize; D]; 5], [usize; 3], bool);

fn group_place<const D: usize>(item: &NdItem<'_, D>, arrays: [[usize; D]; 5]) -> GroupPlace<D> {
    let linear = [item.global_linear_id(), item.local_linear_id(), item.group_linear_id()];
    (arrays, linear, schism::is_device())
}

/// The same, made on the host: of the work-item at `place` of a range `global` in groups of
/// `local`.
fn expected_place<const D: usize>(
    place: [usize; D],
    offset: [usize; D],
    global: [usize; D],
    local: [usize; D],
    device: bool,
) -> GroupPlace<D> {
    let linear = |id: [usize; D], range: [usize; D]| {
        id.iter().zip(range).fold(0, |linear, (id, range)| linear * range + id)
    };
    let each = |f: &dyn Fn(usize) -> usize| std::array::from_fn::<usize, D, _>(f);
    let global_id = each(&|at| place[at] + offset[at]);
    let local_id = each(&|at| place[at] % local[at]);
    let group_id = each(&|at| place[at] / local[at]);
    let groups = each(&|at| global[at] / local[at]);
    (
        [global_id, offset, global, local_id, group_id],
        [linear(place, global), linear(local_id, local), linear(group_id, groups)],
        device,
    )
}

/// With a barrier and without, in one to three dimensions.
#[test]
fn ids_in_groups_are_shifted_by_exactly_the_offset() {
    macro_rules! places {
        ($queue:ident, $dimensions:literal, $global:expr, $local:expr, $offset:expr, $wait:literal) => {{
            let (global, local, offset) = ($global, $local, $offset);
            let count = global.iter().product();
            let mut places: Buffer<GroupPlace<$dimensions>> =
                Buffer::with_len($queue, count).expect("memory");
            let to = places.view_mut();
            let global_range =
                std::array::from_fn::<_, $dimensions, _>(|at| offset[at]..offset[at] + global[at]);
            let range = NdRange::new(global_range, local).expect("even groups");
            assert_eq!((range.offset(), range.global()), (offset, global));
            let launched = $queue.for_each_in(range, local_cell(), move |item, cell| {
                let arrays = [
                    item.global_id(),
                    item.offset(),
                    item.global_range(),
                    item.local_id(),
                    item.group_id(),
                ];
                let mut found = group_place(&item, arrays);
                if $wait {
                    if item.local_linear_id() == 0 {
                        cell.set(0, item.x());
                    }
                    item.barrier();
                    let first = item.x() - item.local_x();
                    assert!(cell.get(0) == first);
                    found.1[0] += cell.get(0) - first;
                }
                // SAFETY: each work-item writes its own element.
                unsafe { to.set_unchecked(item.global_linear_id(), found) }
            });
            launched.expect("a launch");
            for (index, found) in places.to_vec().into_iter().enumerate() {
                let mut rest = index;
                let mut place = [0; $dimensions];
                for at in (0..$dimensions).rev() {
                    (place[at], rest) = (rest % global[at], rest / global[at]);
                }
                let device = on_device($queue);
                assert_eq!(found, expected_place(place, offset, global, local, device), "{index}");
            }
        }};
    }
    const fn local_cell() -> schism::source::LocalArray<usize> {
        local::<usize>(1)
    }
    on_every_device(|queue| {
        for [z, y, x] in [[0, 0, 0], [1, 3, 5], [0, 0, 1 << 33], [1 << 40, (1 << 32) - 1, 0]] {
            places!(queue, 1, [12], [4], [x], false);
            places!(queue, 1, [12], [4], [x], true);
            places!(queue, 2, [6, 10], [3, 5], [y, x], false);
            places!(queue, 2, [6, 10], [3, 5], [y, x], true);
            places!(queue, 3, [4, 6, 10], [2, 3, 5], [z, y, x], false);
            places!(queue, 3, [4, 6, 10], [2, 3, 5], [z, y, x], true);
        }
        let (last, all) = (usize::MAX, usize::MAX - 3);
        let mut ids = Buffer::with_len(queue, 4).expect("memory");
        let to = ids.view_mut();
        let range = NdRange::new(all..=last, 2).expect("the last numbers there are");
        queue
            // SAFETY: each work-item writes its own element.
            .parallel_for(range, move |item| unsafe {
                to.set_unchecked(item.global_linear_id(), item.x());
            })
            .expect("a launch");
        assert_eq!(ids.to_vec(), [last - 3, last - 2, last - 1, last]);
    });
}

/// One kernel, launched with one beginning after the other, by the queue and by a scope.
#[test]
fn one_kernel_with_groups_and_one_offset_after_the_other() {
    on_every_device(|queue| {
        let mut sums = Buffer::filled(queue, 1, 0_u64).expect("memory");
        let mut expected = 0;
        for begin in [0, 64, 1 << 35, 0, 7] {
            let range = NdRange::new(begin..begin + 640, 64).expect("even groups");
            let sum = sums.atomic_view();
            let kernel = move |item: NdItem<'_, 1>, tile: Local<'_, u64>| {
                let total = local_array!(item, u64; 1);
                tile.set(item.local_x(), item.x() as u64);
                item.barrier();
                if item.local_x() == 1 {
                    total.set(0, (0..tile.len()).map(|i| tile.get(i)).sum());
                }
                item.barrier();
                if item.local_x() == 0 {
                    sum[0].fetch_add(total.get(0), Relaxed);
                }
            };
            queue.for_each_in(range, local::<u64>(64), kernel).expect("a launch");
            queue
                .scope(|scope| {
                    scope.for_each_in(range, local::<u64>(64), kernel)?;
                    Ok(())
                })
                .expect("a launch");
            expected += 2 * (begin..begin + 640).map(|x| x as u64).sum::<u64>();
            assert_eq!(sums.to_vec(), [expected], "{begin}");
        }
    });
}

#[test]
fn a_panic_in_a_group_names_the_id() {
    on_every_device(|queue| {
        let range = NdRange::new([10..18, 100..104], [4, 2]).expect("even groups");
        let launched = queue.parallel_for(range, |item| {
            assert!(item.global_id() != [15, 103], "here");
        });
        let Err(LaunchError::Panicked(panic)) = launched else { panic!("{launched:?}") };
        assert!(panic.message.contains("here"), "{panic}");
        assert_eq!((panic.work_item, panic.local_id), (Some(vec![15, 103]), Some(vec![1, 1])));
    });
}

#[test]
fn groups_over_ranges_that_are_empty_or_wrong() {
    let uneven = NdRange::new(5..105, 32).expect_err("100 work-items");
    assert!(uneven.to_string().contains("[128]"), "{uneven}");
    let large = NdRange::new(0..=usize::MAX, 1).expect_err("one more than fits");
    assert!(matches!(large, LaunchError::RangeOverflow { .. }), "{large}");
    on_every_device(|queue| {
        let none = NdRange::new([5..5, 3..7], [2, 2]).expect("an empty range is fine");
        assert_eq!(none.groups(), [0, 2]);
        queue.parallel_for(none, |_| panic!("no work-item")).expect("nothing runs");
    });
}

/// One launch by each name over each kind of range. Each adds to all of `$counts`, which are
/// atomics, or to all of `$elements`, a source.
macro_rules! one_launch_each {
    ($on:expr, $counts:expr, $elements:expr) => {{
        let (n, counts) = (N, $counts);
        let groups = NdRange::new(n, 32)?;
        let begun = NdRange::new(5..5 + n, 32)?;
        $on.parallel_for(n, move |item| count(counts, item.x()))?;
        $on.parallel_for(5..5 + n, move |item| count(counts, item.x() - 5))?;
        $on.parallel_for(groups, move |item| count(counts, item.x()))?;
        $on.parallel_for(begun, move |item| count(counts, item.x() - 5))?;
        $on.for_each(&mut $elements, |element| *element += ADDEND.get())?;
        $on.for_each_in(n, &mut $elements, |item, element| *element += item.x() as u32)?;
        $on.for_each_in(5..5 + n, &mut $elements, |item, element| *element += item.x() as u32)?;
        $on.for_each_in(groups, (&mut $elements, local::<u32>(32)), |item, (element, tile)| {
            tile.set(item.local_x(), item.x() as u32);
            item.barrier();
            *element += tile.get(31 - item.local_x());
        })?;
        $on.for_each_in(begun, &mut $elements, |item, element| *element += item.x() as u32)?;
        // Nothing runs.
        $on.parallel_for(0, move |_| count(counts, 0))?;
        $on.parallel_for(NdRange::new(0, 32)?, move |_| count(counts, 0))?;
    }};
}

const N: usize = 96;

static ADDEND: SpecConst<u32> = SpecConst::new(1);

fn count(counts: View<'_, AtomicU32>, at: usize) {
    counts[at].fetch_add(ADDEND.get(), Relaxed);
}

fn launch_all(
    queue: &Queue,
    counts: View<'_, AtomicU32>,
    elements: &mut Buffer<u32>,
) -> Result<(), schism::Error> {
    one_launch_each!(queue, counts, *elements);
    queue.scope(|scope| {
        let mut elements = scope.lend(elements);
        one_launch_each!(scope, counts, elements);
        Ok(())
    })
}

/// The same launches on queues and in scopes, without options and with.
#[test]
fn all_names_over_all_kinds_of_ranges() {
    on_every_device(|queue| {
        for (queue, addend) in [(queue.clone(), 1), (queue.with_constant(&ADDEND, 100), 100)] {
            let mut counts = Buffer::filled(&queue, N, 0_u32).expect("memory");
            let mut elements = Buffer::filled(&queue, N, 0_u32).expect("memory");
            let view = counts.atomic_view();
            launch_all(&queue, view, &mut elements).expect("launches");
            assert_eq!(counts.to_vec(), [2 * 4 * addend; N]);
            let expected = |i: u32| {
                let mirrored = i / 32 * 32 + (31 - i % 32);
                2 * (addend + i + (i + 5) + mirrored + (i + 5))
            };
            assert_eq!(elements.to_vec(), (0..N as u32).map(expected).collect::<Vec<_>>());
        }
    });
}

/// A launch that cannot be says so to who waits, and to who does not.
#[test]
fn groups_that_are_too_large_on_queues_and_in_scopes() {
    on_every_device(|queue| {
        let limit = queue.device().max_group_size();
        let range = NdRange::new(2 * limit, 2 * limit).expect("one group");
        let is_refused = |result| match result {
            Err(LaunchError::GroupTooLarge { items, .. }) => items == 2 * limit,
            _ => false,
        };
        assert!(is_refused(queue.parallel_for(range, |_| ())));
        let waited = queue.scope(|scope| {
            let refused = match scope.parallel_for(range, |_| ()) {
                Ok(event) => event.wait(),
                Err(error) => Err(error),
            };
            assert!(is_refused(refused));
            Ok(())
        });
        waited.expect("the error was told");
    });
}
