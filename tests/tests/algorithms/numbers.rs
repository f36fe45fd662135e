//! Reductions and scans.

use schism::algorithms;
use schism::prelude::*;

use crate::{Value, every, is_some, on_every_device, values};

#[test]
fn reduce() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 1);
        let init = T::of(7);
        let found = algorithms::reduce(queue, &data, init, T::combine).expect("a launch");
        assert_eq!(found, data.iter().copied().fold(init, T::combine), "{n}");
    }
    every!(case);
}

#[test]
fn transform_reduce() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 2);
        let key = |value: T| if is_some(&value) { 3_u64 } else { 1 << 32 };
        let add = |a: u64, b: u64| a.wrapping_add(b);
        let found = algorithms::transform_reduce(queue, &data, 5, add, key).expect("a launch");
        assert_eq!(found, data.iter().copied().map(key).sum::<u64>() + 5, "{n}");
    }
    every!(case);
}

#[test]
fn transform_reduce_zip() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let (a, b) = (values::<T>(n, 3), values::<T>(n, 4));
        let lesser = |a: T, b: T| u32::from(T::order(&a, &b).is_lt());
        let add = |a: u32, b: u32| a + b;
        let found = algorithms::transform_reduce_zip(queue, &a, &b, 1, add, lesser);
        let expected: u32 = a.iter().zip(&b).map(|(a, b)| lesser(*a, *b)).sum();
        assert_eq!(found.expect("a launch"), expected + 1, "{n}");
    }
    every!(case);
}

#[test]
fn counts() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 5);
        let value = T::of(40);
        let found = algorithms::count(queue, &data, value).expect("a launch");
        assert_eq!(found, data.iter().filter(|own| **own == value).count(), "{n}");
        let found = algorithms::count_if(queue, &data, is_some).expect("a launch");
        assert_eq!(found, data.iter().filter(|own| is_some(*own)).count(), "{n}");
    }
    every!(case);
}

#[test]
fn extremes() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 6);
        let by = |a: &usize, b: &usize| T::order(&data[*a], &data[*b]);
        // The first of the largest ones is the last in reverse.
        let (least, most) = ((0..n).min_by(by), (0..n).rev().max_by(by));
        let found = algorithms::min_element(queue, &data, T::order).expect("a launch");
        assert_eq!(found, least, "{n}");
        let found = algorithms::max_element(queue, &data, T::order).expect("a launch");
        assert_eq!(found, most, "{n}");
        let found = algorithms::minmax_element(queue, &data, T::order).expect("a launch");
        assert_eq!(found, least.zip((0..n).max_by(by)), "{n}");
    }
    every!(case);
}

/// What comes before each element, and with it: the scan with `init`, or without.
fn scanned<T: Value>(data: &[T], init: Option<T>) -> (Vec<Option<T>>, Vec<T>) {
    let mut sum = init;
    let step = |own: &T| {
        let before = sum;
        let with = before.map_or(*own, |before| T::combine(before, *own));
        sum = Some(with);
        (before, with)
    };
    data.iter().map(step).unzip()
}

#[test]
fn scans() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let (data, init) = (values::<T>(n, 7), T::of(9));
        let mut found = values::<T>(n, 0);
        algorithms::inclusive_scan(queue, &data, &mut found, T::combine).expect("a launch");
        assert_eq!(found, scanned(&data, None).1, "{n}");
        let (before, with) = scanned(&data, Some(init));
        algorithms::inclusive_scan_from(queue, &data, &mut found, init, T::combine)
            .expect("a launch");
        assert_eq!(found, with, "{n}");
        algorithms::exclusive_scan(queue, &data, &mut found, init, T::combine).expect("a launch");
        assert_eq!(found, before.into_iter().flatten().collect::<Vec<T>>(), "{n}");
    }
    every!(case);
}

#[test]
fn transform_scans() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 8);
        let key = |value: T| if is_some(&value) { 3_i64 } else { -1 };
        let (add, mut found) = (|a: i64, b: i64| a + b, vec![0; n]);
        let keys: Vec<i64> = data.iter().copied().map(key).collect();
        let sums = |init| -> Vec<i64> {
            keys.iter()
                .scan(init, |sum: &mut i64, key| {
                    *sum += key;
                    Some(*sum)
                })
                .collect()
        };
        algorithms::transform_inclusive_scan(queue, &data, &mut found, add, key).expect("a launch");
        assert_eq!(found, sums(0), "{n}");
        algorithms::transform_inclusive_scan_from(queue, &data, &mut found, 100, add, key)
            .expect("a launch");
        assert_eq!(found, sums(100), "{n}");
        algorithms::transform_exclusive_scan(queue, &data, &mut found, 100, add, key)
            .expect("a launch");
        let before: Vec<i64> = sums(100).iter().zip(&keys).map(|(sum, key)| sum - key).collect();
        assert_eq!(found, before, "{n}");
    }
    every!(case);
}

#[test]
fn adjacent_difference() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let (data, mut found) = (values::<T>(n, 9), values::<T>(n, 0));
        algorithms::adjacent_difference(queue, &data, &mut found, T::combine).expect("a launch");
        let rest = data.windows(2).map(|pair| T::combine(pair[1], pair[0]));
        let expected: Vec<T> = data.first().copied().into_iter().chain(rest).collect();
        assert_eq!(found, expected, "{n}");
    }
    every!(case);
}

/// Operands may be buffers, views of parts of them, and slices, in any mixture.
#[test]
fn operands() {
    on_every_device(|queue| {
        let data = values::<i32>(5000, 10);
        let input = Buffer::from_slice(queue, &data).expect("memory");
        let mut output = Buffer::filled(queue, 5000, -1).expect("memory");
        let mut expected = vec![-1; 5000];
        let mut sum = 0_i32;
        for i in 100..4900 {
            sum += data[i];
            expected[i] = sum;
        }
        let add = |a: i32, b: i32| a + b;
        let part = input.slice(100..4900).expect("a part");
        let mut to = output.slice_mut(100..4900).expect("a part");
        algorithms::inclusive_scan(queue, &part, &mut to, add).expect("a launch");
        assert_eq!(output.to_vec(), expected);
        let mut host = vec![-1; 5000];
        algorithms::inclusive_scan(queue, &part, &mut host[100..4900], add).expect("a launch");
        assert_eq!(host, expected);
        output.fill(-1).expect("memory");
        let to = &mut output.slice_mut(100..4900).expect("a part");
        algorithms::inclusive_scan(queue, &data[100..4900], to, add).expect("a launch");
        assert_eq!(algorithms::reduce(queue, to, 0, i32::max).expect("a launch"), sum);
        assert_eq!(output.to_vec(), expected);
        algorithms::inclusive_scan(queue, &input, &mut output, add).expect("a launch");
        assert_eq!(output.get(4999), Some(data.iter().sum()));
    });
}
