//! Reductions and scans of sub-groups and groups, and clocks: each case runs on every device, and
//! its results are compared with the host's, bit for bit.

use schism::GroupNumber;
use schism::prelude::*;
use schism_tests::sub_groups::{SIZES, on_every_device, random};

/// A number whose bits can be compared, with what the host computes.
trait Number: GroupNumber {
    fn add(self, other: Self) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn of(bits: u64) -> Self;
    fn bits(self) -> u64;
}

macro_rules! integers {
    ($($number:ident)*) => {$(
        impl Number for $number {
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn min(self, other: Self) -> Self {
                Ord::min(self, other)
            }
            fn max(self, other: Self) -> Self {
                Ord::max(self, other)
            }
            fn of(bits: u64) -> Self {
                bits as $number
            }
            fn bits(self) -> u64 {
                self as u64
            }
        }
    )*};
}
integers! { u8 i8 u16 i16 u32 i32 u64 i64 usize isize }

macro_rules! floats {
    ($($number:ident)*) => {$(
        impl Number for $number {
            fn add(self, other: Self) -> Self {
                self + other
            }
            fn min(self, other: Self) -> Self {
                match (self.is_nan(), other.is_nan()) {
                    (true, _) => other,
                    (_, true) => self,
                    _ if self.total_cmp(&other).is_le() => self,
                    _ => other,
                }
            }
            fn max(self, other: Self) -> Self {
                match (self.is_nan(), other.is_nan()) {
                    (true, _) => other,
                    (_, true) => self,
                    _ if self.total_cmp(&other).is_ge() => self,
                    _ => other,
                }
            }
            fn of(bits: u64) -> Self {
                // All sizes of numbers, both signs, zeros of both.
                let sign = if bits & 1 == 0 { 1.0 } else { -1.0 };
                match bits >> 1 & 15 {
                    0 => sign * 0.0,
                    1 => sign * (bits >> 8) as $number,
                    _ => sign * (bits >> 40) as $number / 1000.0,
                }
            }
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
        }
    )*};
}
floats! { f32 f64 }

/// The reduction that the documentation describes.
fn reduce<T: Copy>(values: &[T], both: impl Fn(T, T) -> T) -> T {
    let mut lanes = values.to_vec();
    for step in [16, 8, 4, 2, 1] {
        for lane in 0..step {
            if lane + step < lanes.len() {
                lanes[lane] = both(lanes[lane], lanes[lane + step]);
            }
        }
    }
    lanes[0]
}

/// The scan that the documentation describes.
fn scan<T: Copy>(values: &[T], both: impl Fn(T, T) -> T) -> Vec<T> {
    let mut lanes = values.to_vec();
    for step in [1, 2, 4, 8, 16] {
        let before = lanes.clone();
        for lane in step..lanes.len() {
            lanes[lane] = both(before[lane - step], before[lane]);
        }
    }
    lanes
}

fn zero<T: Number>() -> T {
    T::of(0)
}

/// Reductions and scans of sub-groups, of one type.
fn of_sub_groups<T: Number>(queue: &Queue, seed: u64) {
    for size in SIZES {
        let count = 2 * size;
        let numbers: Vec<T> = random(seed).take(count).map(T::of).collect();
        let from = Buffer::from_slice(queue, &numbers).expect("memory");
        let mut out = Buffer::filled(queue, count, [zero::<T>(); 7]).expect("memory");
        let range = NdRange::new(count, size).expect("even groups");
        queue
            .for_each_in(range, (&mut out, &from), |item, (out, from)| {
                let sub_group = item.sub_group();
                // Neither commutative nor associative.
                let both = |a: T, b: T| if sub_group.size() % 2 == 0 { b } else { a };
                *out = [
                    sub_group.reduce_add(*from),
                    sub_group.reduce_min(*from),
                    sub_group.reduce_max(*from),
                    sub_group.inclusive_scan_add(*from),
                    sub_group.exclusive_scan_add(*from),
                    sub_group.reduce(*from, both),
                    sub_group.exclusive_scan(*from, *from, both),
                ];
            })
            .expect("it runs");
        let mut found = out.to_vec().into_iter();
        for group in numbers.chunks(size) {
            for values in group.chunks(32) {
                let sums = scan(values, T::add);
                let even = values.len().is_multiple_of(2);
                let both = |a: T, b: T| if even { b } else { a };
                let lasts = scan(values, both);
                for (lane, own) in values.iter().enumerate() {
                    let before = lane.checked_sub(1);
                    let expected = [
                        reduce(values, T::add),
                        reduce(values, T::min),
                        reduce(values, T::max),
                        sums[lane],
                        before.map_or(zero(), |before| sums[before]),
                        reduce(values, both),
                        before.map_or(*own, |before| both(*own, lasts[before])),
                    ];
                    let found = found.next().expect("as many").map(T::bits);
                    let place = format!("{lane} of groups of {size} on {}", queue.device());
                    assert_eq!(found, expected.map(T::bits), "{place}");
                }
            }
        }
    }
}

/// The same of groups.
fn of_groups<T: Number>(queue: &Queue, seed: u64) {
    for size in SIZES {
        let count = 2 * size;
        let numbers: Vec<T> = random(seed).take(count).map(T::of).collect();
        let from = Buffer::from_slice(queue, &numbers).expect("memory");
        let mut out = Buffer::filled(queue, count, [zero::<T>(); 7]).expect("memory");
        let range = NdRange::new(count, size).expect("even groups");
        queue
            .for_each_in(range, (&mut out, &from), move |item, (out, from)| {
                *out = [
                    item.reduce_add(*from),
                    item.reduce_min(*from),
                    item.reduce_max(*from),
                    item.inclusive_scan_add(*from),
                    item.exclusive_scan_add(*from),
                    item.reduce(*from, |a, b| if size.is_multiple_of(3) { b } else { a }),
                    item.broadcast(*from, size / 2),
                ];
            })
            .expect("it runs");
        let mut found = out.to_vec().into_iter();
        for group in numbers.chunks(size) {
            let all = |both: &dyn Fn(T, T) -> T| {
                let parts = group.chunks(32).map(|values| reduce(values, both));
                parts.reduce(both).expect("a sub-group")
            };
            let both = |a: T, b: T| if size.is_multiple_of(3) { b } else { a };
            let mut before = None;
            for values in group.chunks(32) {
                let sums = scan(values, T::add);
                let and = |sum: T| before.map_or(sum, |before: T| before.add(sum));
                for lane in 0..values.len() {
                    let expected = [
                        all(&T::add),
                        all(&T::min),
                        all(&T::max),
                        and(sums[lane]),
                        and(lane.checked_sub(1).map_or(zero(), |before| sums[before])),
                        all(&both),
                        group[size / 2],
                    ];
                    let found = found.next().expect("as many").map(T::bits);
                    let place = format!("{lane} of groups of {size} on {}", queue.device());
                    assert_eq!(found, expected.map(T::bits), "{place}");
                }
                before = Some(and(sums[values.len() - 1]));
            }
        }
    }
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

#[test]
fn sub_groups_of_small_integers() {
    on_every_device(|queue| {
        of_sub_groups::<u8>(queue, 1);
        of_sub_groups::<i8>(queue, 2);
        of_sub_groups::<u16>(queue, 3);
        of_sub_groups::<i16>(queue, 4);
        of_sub_groups::<u32>(queue, 5);
        of_sub_groups::<i32>(queue, 6);
    });
}

#[test]
fn sub_groups_of_large_integers() {
    on_every_device(|queue| {
        of_sub_groups::<u64>(queue, 7);
        of_sub_groups::<i64>(queue, 8);
        of_sub_groups::<usize>(queue, 9);
        of_sub_groups::<isize>(queue, 10);
    });
}

#[test]
fn sub_groups_of_floats() {
    on_every_device(|queue| {
        of_sub_groups::<f32>(queue, 11);
        of_sub_groups::<f64>(queue, 12);
    });
}

#[test]
fn groups_of_numbers() {
    on_every_device(|queue| {
        of_groups::<u32>(queue, 13);
        of_groups::<i64>(queue, 14);
        of_groups::<f32>(queue, 15);
        of_groups::<f64>(queue, 16);
    });
}

/// What is no number does not count, unless nothing else is there.
#[test]
fn the_least_and_the_greatest_of_odd_floats() {
    on_every_device(|queue| {
        for (numbers, least, greatest) in [
            (vec![f32::NAN, 1.0, f32::NAN, -2.0], -2.0, 1.0),
            (vec![0.0, -0.0, 0.0], -0.0, 0.0_f32),
            (vec![f32::INFINITY, f32::NEG_INFINITY], f32::NEG_INFINITY, f32::INFINITY),
            (vec![f32::NAN; 40], f32::NAN, f32::NAN),
        ] {
            let count = numbers.len();
            let from = Buffer::from_slice(queue, &numbers).expect("memory");
            let mut out = Buffer::filled(queue, count, [0.0_f32; 4]).expect("memory");
            let range = NdRange::new(count, count).expect("one group");
            queue
                .for_each_in(range, (&mut out, &from), |item, (out, from)| {
                    let sub_group = item.sub_group();
                    *out = [
                        sub_group.reduce_min(*from),
                        item.reduce_min(*from),
                        sub_group.reduce_max(*from),
                        item.reduce_max(*from),
                    ];
                })
                .expect("it runs");
            for found in out.to_vec() {
                for (found, expected) in found.into_iter().zip([least, least, greatest, greatest]) {
                    let same = found.to_bits() == expected.to_bits();
                    assert!(same || found.is_nan() && expected.is_nan(), "{found} of {numbers:?}");
                }
            }
        }
    });
}

#[test]
fn votes_of_groups() {
    on_every_device(|queue| {
        for size in SIZES {
            let mut out = Buffer::filled(queue, size, [false; 4]).expect("memory");
            let range = NdRange::new(size, size).expect("one group");
            queue
                .for_each_in(range, &mut out, move |item, out| {
                    let last = item.local_x() + 1 == size;
                    *out = [item.any(last), item.any(false), item.all(!last), item.all(true)];
                })
                .expect("it runs");
            assert_eq!(out.to_vec(), vec![[true, false, false, true]; size], "{}", queue.device());
        }
    });
}

/// Clocks go on, for a work-item and from launch to launch.
#[test]
fn clocks() {
    on_every_device(|queue| {
        if !schism_tests::devices::has_clocks(queue.device()) {
            return;
        }
        let read = || {
            let mut out = Buffer::filled(queue, 100, [0_u64; 4]).expect("memory");
            queue
                .for_each(&mut out, |out| {
                    let (ticks, time) = (schism::device_clock(), schism::device_time());
                    let mut state = ticks;
                    for _ in 0..1000 {
                        state = std::hint::black_box(state.wrapping_mul(3));
                    }
                    std::hint::black_box(state);
                    *out = [ticks, schism::device_clock(), time, schism::device_time()];
                })
                .expect("it runs");
            out.to_vec()
        };
        let (first, second) = (read(), read());
        for [start, end, time, later] in first.iter().chain(&second) {
            assert!(start < end && end - start < 1 << 32, "{start} to {end} on {}", queue.device());
            assert!(time <= later && *time > 0, "{time} to {later} on {}", queue.device());
        }
        let last = first.iter().map(|times| times[3]).max();
        let next = second.iter().map(|times| times[2]).min();
        assert!(last <= next, "{last:?} and then {next:?} on {}", queue.device());
        let taken = next.expect("times") - last.expect("times");
        assert!(taken < 60_000_000_000, "{taken} ns between two launches on {}", queue.device());
    });
    // The host may ask, too.
    assert!(schism::device_time() > 0 && schism::device_clock() > 0);
}
