//! Each element by itself, and fixed permutations.

use schism::algorithms;
use schism::prelude::*;

use crate::{Value, every, is_some, values};

#[test]
fn each_element() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 1);
        let mut found = data.clone();
        algorithms::for_each(queue, &mut found, |own| *own = T::combine(*own, *own))
            .expect("a launch");
        let doubled: Vec<T> = data.iter().map(|own| T::combine(*own, *own)).collect();
        assert_eq!(found, doubled, "{n}");
        algorithms::for_each(queue, &mut found[..n / 2], |own| *own = T::of(3)).expect("a launch");
        assert!(
            found[..n / 2].iter().all(|own| *own == T::of(3)) && found[n / 2..] == doubled[n / 2..]
        );
        algorithms::fill(queue, &mut found, T::of(4)).expect("a launch");
        assert_eq!(found, vec![T::of(4); n], "{n}");
        algorithms::generate(queue, &mut found, |i| T::of(i as u64)).expect("a launch");
        assert_eq!(found, (0..n as u64).map(T::of).collect::<Vec<T>>(), "{n}");
        algorithms::copy(queue, &data, &mut found).expect("a launch");
        assert_eq!(found, data, "{n}");
        algorithms::copy(queue, &data[n / 2..], &mut found[..n - n / 2]).expect("a launch");
        assert_eq!(found, [&data[n / 2..], &data[n - n / 2..]].concat(), "{n}");
    }
    every!(case);
}

#[test]
fn transforms() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let (a, b) = (values::<T>(n, 2), values::<T>(n, 3));
        let mut found = vec![false; n];
        algorithms::transform(queue, &a, &mut found, |own| is_some(&own)).expect("a launch");
        assert_eq!(found, a.iter().map(is_some).collect::<Vec<_>>(), "{n}");
        let mut found = values::<T>(n, 0);
        algorithms::transform_zip(queue, &a, &b, &mut found, T::combine).expect("a launch");
        let expected: Vec<T> = a.iter().zip(&b).map(|(a, b)| T::combine(*a, *b)).collect();
        assert_eq!(found, expected, "{n}");
        let (mut left, mut right) = (a.clone(), b.clone());
        algorithms::swap_ranges(queue, &mut left, &mut right).expect("a launch");
        assert_eq!((left, right), (b, a), "{n}");
    }
    every!(case);
}

#[test]
fn replacements() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let (data, old, new) = (values::<T>(n, 4), T::of(7), T::of(90));
        let by_value: Vec<T> =
            data.iter().map(|own| if *own == old { new } else { *own }).collect();
        let by_test: Vec<T> =
            data.iter().map(|own| if is_some(own) { new } else { *own }).collect();
        let mut found = data.clone();
        algorithms::replace(queue, &mut found, old, new).expect("a launch");
        assert_eq!(found, by_value, "{n}");
        let mut found = data.clone();
        algorithms::replace_if(queue, &mut found, is_some, new).expect("a launch");
        assert_eq!(found, by_test, "{n}");
        let mut found = values::<T>(n, 0);
        algorithms::replace_copy(queue, &data, &mut found, old, new).expect("a launch");
        assert_eq!(found, by_value, "{n}");
        algorithms::replace_copy_if(queue, &data, &mut found, is_some, new).expect("a launch");
        assert_eq!(found, by_test, "{n}");
    }
    every!(case);
}

#[test]
fn reversals_and_rotations() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 5);
        let mut expected = data.clone();
        expected.reverse();
        let mut found = data.clone();
        algorithms::reverse(queue, &mut found).expect("a launch");
        assert_eq!(found, expected, "{n}");
        let mut found = values::<T>(n, 0);
        algorithms::reverse_copy(queue, &data, &mut found).expect("a launch");
        assert_eq!(found, expected, "{n}");
        for middle in [0, 1, n / 3, n / 2, n] {
            let middle = middle.min(n);
            let mut expected = data.clone();
            expected.rotate_left(middle);
            let mut found = data.clone();
            algorithms::rotate(queue, &mut found, middle).expect("a launch");
            assert_eq!(found, expected, "{n}");
            let mut found = values::<T>(n, 0);
            algorithms::rotate_copy(queue, &data, middle, &mut found).expect("a launch");
            assert_eq!(found, expected, "{n}");
        }
    }
    every!(case);
}

#[test]
fn shifts() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 6);
        for by in [0, 1, n / 2, n, n + 1, usize::MAX] {
            let mut found = data.clone();
            let count = algorithms::shift_left(queue, &mut found, by).expect("a launch");
            assert_eq!(found[..count], data[by.min(n)..], "{n} {by}");
            let mut found = data.clone();
            let begin = algorithms::shift_right(queue, &mut found, by).expect("a launch");
            assert_eq!((begin, &found[begin..]), (by.min(n), &data[..n - begin]), "{n} {by}");
        }
    }
    every!(case);
}

/// What takes the place of C++'s algorithms over memory without values.
#[test]
fn new_buffers() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 7);
        let copied = Buffer::from_slice(queue, &data).expect("memory");
        let filled = Buffer::filled(queue, n, T::of(8)).expect("memory");
        let numbers: Buffer<u64> = Buffer::with_len(queue, n).expect("memory");
        assert_eq!(copied.to_vec(), data, "{n}");
        let moved = copied;
        assert_eq!(moved.to_vec(), data, "{n}");
        drop(moved);
        assert_eq!(filled.to_vec(), vec![T::of(8); n], "{n}");
        assert_eq!(numbers.to_vec(), vec![0; n], "{n}");
    }
    every!(case);
}
