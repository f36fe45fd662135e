//! Sorts, selections, merges, operations on sorted sequences.

use schism::algorithms;
use schism::prelude::*;

use crate::{LARGE, Value, every, on_every_device, sorted, values};

/// Data in several orders; much data in one, since the host's sorts are slow without optimisation.
fn arrangements<T: Value>(n: usize) -> Vec<Vec<T>> {
    if n == LARGE {
        return vec![values(n, 1)];
    }
    let ascending = sorted::<T>(n, 2);
    let descending = ascending.iter().rev().copied().collect();
    vec![values(n, 1), ascending, descending, vec![T::of(5); n]]
}

#[test]
fn sorts() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        for data in arrangements::<T>(n) {
            let mut expected = data.clone();
            expected.sort_by(T::order);
            let mut found = data.clone();
            algorithms::stable_sort(queue, &mut found, T::order).expect("a launch");
            assert_eq!(found, expected, "{n}");
            let mut found = data;
            algorithms::sort(queue, &mut found, T::order).expect("a launch");
            let equal = found.iter().zip(&expected).all(|(a, b)| T::order(a, b).is_eq());
            assert!(equal && found.len() == n, "{n}");
        }
    }
    every!(case);
}

/// All numbers of chunks and lengths of the last one, up to some.
#[test]
fn sorts_of_many_lengths() {
    on_every_device(|queue| {
        for n in (0..600).chain([767, 768, 769, 1023, 1025, 1279, 1281, 4095, 4097, 10_000]) {
            let data: Vec<(u8, usize)> = values::<u8>(n, 3).into_iter().zip(0..).collect();
            let mut expected = data.clone();
            expected.sort_by_key(|pair| pair.0);
            let mut found = data;
            algorithms::stable_sort(queue, &mut found, |a, b| a.0.cmp(&b.0)).expect("a launch");
            assert_eq!(found, expected, "{n}");
        }
    });
}

#[test]
fn sort_pairs() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let (mut keys, mut numbers) = (values::<T>(n, 4), (0..n as u32).collect::<Vec<_>>());
        let mut expected: Vec<(T, u32)> = keys.iter().copied().zip(0..).collect();
        expected.sort_by(|a, b| T::order(&a.0, &b.0));
        algorithms::sort_pairs(queue, &mut keys, &mut numbers, T::order).expect("a launch");
        let found: Vec<(T, u32)> = keys.into_iter().zip(numbers).collect();
        assert_eq!(found, expected, "{n}");
    }
    every!(case);
}

/// A number of any bits: floats of all kinds, and integers with few different digits, too.
trait Number: algorithms::RadixKey + PartialEq + std::fmt::Debug {
    fn of(bits: u64) -> Self;
    fn compare(a: &Self, b: &Self) -> std::cmp::Ordering;
    fn bits(self) -> u64;
}

macro_rules! numbers {
    ($($number:ident $order:ident |$bits:ident| $made:expr, |$own:ident| $own_bits:expr;)*) => {$(
        impl Number for $number {
            fn of($bits: u64) -> Self {
                $made
            }

            fn compare(a: &Self, b: &Self) -> std::cmp::Ordering {
                a.$order(b)
            }

            fn bits(self) -> u64 {
                let $own = self;
                $own_bits as u64
            }
        }
    )*};
}
numbers! {
    u8 cmp |bits| bits as Self, |own| own;
    u16 cmp |bits| bits as Self, |own| own;
    u32 cmp |bits| bits as Self, |own| own;
    u64 cmp |bits| bits, |own| own;
    usize cmp |bits| bits as Self, |own| own;
    i8 cmp |bits| bits as Self, |own| own;
    i16 cmp |bits| bits as Self, |own| own;
    i32 cmp |bits| bits as Self, |own| own;
    i64 cmp |bits| bits as Self, |own| own;
    isize cmp |bits| bits as Self, |own| own;
    f32 total_cmp |bits| Self::from_bits(bits as u32), |own| own.to_bits();
    f64 total_cmp |bits| Self::from_bits(bits), |own| own.to_bits();
}

/// Calls a function for all numbers that a radix sort takes, on every device.
macro_rules! every_number {
    ($case:ident) => {
        crate::on_every_device(|queue| {
            for n in crate::SIZES.into_iter().chain([5000, 30_000]) {
                $case::<u8>(queue, n);
                $case::<i32>(queue, n);
                $case::<f64>(queue, n);
                if crate::has_all_types() {
                    $case::<u16>(queue, n);
                    $case::<u32>(queue, n);
                    $case::<u64>(queue, n);
                    $case::<usize>(queue, n);
                    $case::<i8>(queue, n);
                    $case::<i16>(queue, n);
                    $case::<i64>(queue, n);
                    $case::<isize>(queue, n);
                    $case::<f32>(queue, n);
                }
            }
            $case::<i32>(queue, crate::large());
        })
    };
}

/// Numbers of any bits, and with the same bits but a few.
fn keys<T: Number>(n: usize) -> [Vec<T>; 3] {
    let masks = [u64::MAX, 0x0f00_0000_0f0f, 0];
    masks.map(|mask| crate::random(n as u64).take(n).map(|bits| T::of(bits & mask)).collect())
}

fn bits_of<T: Number>(numbers: &[T]) -> Vec<u64> {
    numbers.iter().map(|own| own.bits()).collect()
}

#[test]
fn radix_sorts() {
    fn case<T: Number>(queue: &Queue, n: usize) {
        for mut keys in keys::<T>(n) {
            let mut expected = keys.clone();
            expected.sort_by(T::compare);
            algorithms::radix_sort(queue, &mut keys).expect("a launch");
            assert!(bits_of(&keys) == bits_of(&expected), "{n}");
        }
    }
    every_number!(case);
}

#[test]
fn radix_sorts_of_pairs() {
    fn case<T: Number>(queue: &Queue, n: usize) {
        for keys in keys::<T>(n) {
            let mut expected: Vec<(T, u32)> = keys.iter().copied().zip(0..).collect();
            expected.sort_by(|a, b| T::compare(&a.0, &b.0));
            let places: Vec<u32> = expected.iter().map(|pair| pair.1).collect();
            // Values that move with their keys on GPUs, and larger ones.
            let (mut sorted, mut found) = (keys.clone(), (0..n as u32).collect::<Vec<_>>());
            algorithms::radix_sort_pairs(queue, &mut sorted, &mut found).expect("a launch");
            assert!(found == places, "{n}");
            if n > 5000 {
                continue;
            }
            let mut records: Vec<(u32, [u64; 2])> = (0..n as u32).map(|i| (i, [3; 2])).collect();
            sorted = keys;
            algorithms::radix_sort_pairs(queue, &mut sorted, &mut records).expect("a launch");
            assert!(records.iter().map(|own| own.0).eq(places), "{n}");
            let by_place: Vec<T> = expected.iter().map(|pair| pair.0).collect();
            assert!(bits_of(&sorted) == bits_of(&by_place), "{n}");
        }
    }
    every_number!(case);
}

/// Whether the element at `nth` is there in a sorted order too, with the same ones before it.
fn check_nth<T: Value>(found: &[T], expected: &[T], nth: usize) {
    let own = &found[nth];
    assert!(T::order(own, &expected[nth]).is_eq(), "{nth} of {}", found.len());
    assert!(found[..nth].iter().all(|before| T::order(before, own).is_le()));
    assert!(found[nth..].iter().all(|behind| T::order(behind, own).is_ge()));
    check_same_elements(found, expected);
}

fn check_same_elements<T: Value>(found: &[T], expected: &[T]) {
    let mut all = found.to_vec();
    all.sort_by(T::order);
    assert!(all.len() == expected.len());
    assert!(all.iter().zip(expected).all(|(a, b)| T::order(a, b).is_eq()));
}

#[test]
fn nth_element() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        for data in arrangements::<T>(n) {
            let mut expected = data.clone();
            expected.sort_by(T::order);
            for nth in [0, n / 2, n.saturating_sub(1)] {
                if nth < n && (n < LARGE || nth == n / 2) {
                    let mut found = data.clone();
                    algorithms::nth_element(queue, &mut found, nth, T::order).expect("a launch");
                    check_nth(&found, &expected, nth);
                }
            }
        }
    }
    every!(case);
}

/// Numbers that are all different, so that the search takes several steps; and some whose sample
/// says nothing about them.
#[test]
fn nth_element_of_many() {
    on_every_device(|queue| {
        let n = 300_007;
        let random: Vec<u64> = crate::random(5).take(n).collect();
        let stride = n / 1024;
        let misleading: Vec<u64> =
            (0..n).map(|i| if i % stride == stride / 2 { 0 } else { random[i] | 1 }).collect();
        for data in [random, misleading] {
            let mut expected = data.clone();
            expected.sort_unstable();
            let zeros = expected.partition_point(|own| *own == 0);
            for nth in [0, 1, 777, zeros.saturating_sub(1), zeros, n / 3, n - 2, n - 1] {
                let mut found = data.clone();
                algorithms::nth_element(queue, &mut found, nth, u64::cmp).expect("a launch");
                assert_eq!(found[nth], expected[nth]);
                assert!(found[..nth].iter().all(|before| *before <= found[nth]));
                assert!(found[nth..].iter().all(|behind| *behind >= found[nth]));
                found.sort_unstable();
                assert!(found == expected);
            }
        }
    });
}

#[test]
fn partial_sorts() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 6);
        let expected = sorted::<T>(n, 6);
        let are_first =
            |found: &[T]| found.iter().zip(&expected).all(|(a, b)| T::order(a, b).is_eq());
        for count in [0, 1, n / 3, n] {
            let count = count.min(n);
            if n == LARGE && count != n / 3 {
                continue;
            }
            let mut found = data.clone();
            algorithms::partial_sort(queue, &mut found, count, T::order).expect("a launch");
            assert!(are_first(&found[..count]), "{n} {count}");
            check_same_elements(&found, &expected);
        }
        for room in [0, n / 4, n, n + 3] {
            let mut found = vec![T::of(77); room];
            let count = algorithms::partial_sort_copy(queue, &data, &mut found, T::order);
            assert_eq!(count.expect("a launch"), room.min(n));
            assert!(are_first(&found[..room.min(n)]), "{n} {room}");
            assert!(found[room.min(n)..].iter().all(|own| *own == T::of(77)));
        }
    }
    every!(case);
}

#[test]
fn merges() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        for middle in [0, n / 2, n / 10, n] {
            let (a, b) = (sorted::<T>(middle, 7), sorted::<T>(n - middle, 8));
            let mut both = [&a[..], &b].concat();
            let mut expected = both.clone();
            expected.sort_by(T::order);
            let mut found = vec![T::of(0); n];
            algorithms::merge(queue, &a, &b, &mut found, T::order).expect("a launch");
            assert_eq!(found, expected, "{n} {middle}");
            algorithms::inplace_merge(queue, &mut both, middle, T::order).expect("a launch");
            assert_eq!(both, expected, "{n} {middle}");
        }
    }
    every!(case);
}

#[test]
fn sets() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let half = n / 2;
        let ones = vec![T::of(5); half];
        let pairs = [
            (sorted::<T>(half, 9), sorted::<T>(n - half, 10)),
            (sorted::<T>(n, 11), sorted::<T>(n.min(3), 12)),
            (ones.clone(), sorted::<T>(half, 13)),
            (sorted::<T>(half, 14), ones),
        ];
        for (a, b) in pairs {
            let values = by_value(&a, &b);
            let union = values.iter().flat_map(|(a, b)| [*a, b.get(a.len()..).unwrap_or(&[])]);
            let both = values.iter().map(|(a, b)| &a[..a.len().min(b.len())]);
            let difference = values.iter().map(|(a, b)| a.get(b.len()..).unwrap_or(&[]));
            let symmetric = values.iter().flat_map(|(a, b)| {
                [a.get(b.len()..).unwrap_or(&[]), b.get(a.len()..).unwrap_or(&[])]
            });
            let expected: [Vec<T>; 4] = [
                union.flatten().copied().collect(),
                both.flatten().copied().collect(),
                difference.flatten().copied().collect(),
                symmetric.flatten().copied().collect(),
            ];
            let mut found = [(); 4].map(|()| vec![T::of(0); a.len() + b.len()]);
            let [f0, f1, f2, f3] = &mut found;
            let counts = [
                algorithms::set_union(queue, &a, &b, f0, T::order),
                algorithms::set_intersection(queue, &a, &b, f1, T::order),
                algorithms::set_difference(queue, &a, &b, f2, T::order),
                algorithms::set_symmetric_difference(queue, &a, &b, f3, T::order),
            ];
            for ((mut found, count), expected) in found.into_iter().zip(counts).zip(expected) {
                found.truncate(count.expect("a launch"));
                assert_eq!(found, expected, "{n}");
            }
        }
    }
    every!(case);
}

/// The elements of both, value by value: those of `a` and of `b` with the same place in the order.
fn by_value<'a, T: Value>(a: &'a [T], b: &'a [T]) -> Vec<(&'a [T], &'a [T])> {
    let runs = |from: &'a [T]| from.chunk_by(|a, b| T::order(a, b).is_eq());
    let (mut a, mut b) = (runs(a).peekable(), runs(b).peekable());
    let mut all: Vec<(&[T], &[T])> = Vec::new();
    loop {
        let order = match (a.peek(), b.peek()) {
            (Some(a), Some(b)) => T::order(&a[0], &b[0]),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => return all,
        };
        let own = if order.is_le() { a.next() } else { None };
        let other = if order.is_ge() { b.next() } else { None };
        all.push((own.unwrap_or(&[]), other.unwrap_or(&[])));
    }
}

#[test]
fn includes() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let all = sorted::<T>(n, 15);
        let some: Vec<T> = all.iter().copied().step_by(3).collect();
        let mut more = some.clone();
        more.push(T::of(100));
        more.push(T::of(100));
        more.sort_by(T::order);
        let mut much = vec![T::of(5); n + 1];
        much.extend(&some);
        much.sort_by(T::order);
        for b in [some, more, all.clone(), Vec::new(), much] {
            let expected = by_value(&all, &b).iter().all(|(a, b)| a.len() >= b.len());
            let found = algorithms::includes(queue, &all, &b, T::order).expect("a launch");
            assert_eq!(found, expected, "{n}");
        }
    }
    every!(case);
}
