//! Filters, runs of equal elements, partitions.

use schism::algorithms;
use schism::prelude::*;

use crate::{Value, every, is_some, same, values};

/// The elements that are kept, in a vector of the old length, whose rest is what it was.
fn front<T: Value>(old: &[T], kept: &[T]) -> Vec<T> {
    [kept, &old[kept.len()..]].concat()
}

#[test]
fn copies_of_some() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let (data, old, value) = (values::<T>(n, 1), values::<T>(n, 0), T::of(40));
        let kept: Vec<T> = data.iter().copied().filter(is_some).collect();
        let mut found = old.clone();
        let count = algorithms::copy_if(queue, &data, &mut found, is_some).expect("a launch");
        assert_eq!((count, found), (kept.len(), front(&old, &kept)), "{n}");
        let mut exact = vec![value; kept.len()];
        algorithms::copy_if(queue, &data, &mut exact, is_some).expect("there is room");
        assert_eq!(exact, kept, "{n}");

        let kept: Vec<T> = data.iter().copied().filter(|own| !is_some(own)).collect();
        let mut found = old.clone();
        let count =
            algorithms::remove_copy_if(queue, &data, &mut found, is_some).expect("a launch");
        assert_eq!((count, found), (kept.len(), front(&old, &kept)), "{n}");

        let kept: Vec<T> = data.iter().copied().filter(|own| *own != value).collect();
        let mut found = old.clone();
        let count = algorithms::remove_copy(queue, &data, &mut found, value).expect("a launch");
        assert_eq!((count, found), (kept.len(), front(&old, &kept)), "{n}");
    }
    every!(case);
}

#[test]
fn removals() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 2);
        let mut expected = data.clone();
        expected.retain(|own| !is_some(own));
        let mut found = data.clone();
        let count = algorithms::remove_if(queue, &mut found, is_some).expect("a launch");
        found.truncate(count);
        assert_eq!(found, expected, "{n}");

        let value = T::of(3);
        let mut expected = data.clone();
        expected.retain(|own| *own != value);
        let mut found = data;
        let count = algorithms::remove(queue, &mut found, value).expect("a launch");
        found.truncate(count);
        assert_eq!(found, expected, "{n}");
    }
    every!(case);
}

#[test]
fn runs() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        // Runs of different lengths, also over chunks.
        let mut data = values::<T>(n, 3);
        for i in 1..n {
            if i % 7 < 3 || i % 1024 > 600 {
                data[i] = data[i - 1];
            }
        }
        let mut expected = data.clone();
        expected.dedup();
        let (old, mut found) = (values::<T>(n, 0), values::<T>(n, 0));
        let count = algorithms::unique_copy(queue, &data, &mut found, same).expect("a launch");
        assert_eq!((count, found), (expected.len(), front(&old, &expected)), "{n}");
        let mut found = data;
        let count = algorithms::unique(queue, &mut found, same).expect("a launch");
        found.truncate(count);
        assert_eq!(found, expected, "{n}");
    }
    every!(case);
}

#[test]
fn partitions() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 4);
        let (yes, no): (Vec<T>, Vec<T>) = data.iter().copied().partition(is_some);
        let expected = [&yes[..], &no].concat();
        let mut found = data.clone();
        let count = algorithms::stable_partition(queue, &mut found, is_some).expect("a launch");
        assert_eq!((count, &found), (yes.len(), &expected), "{n}");

        let mut found = data.clone();
        let count = algorithms::partition(queue, &mut found, is_some).expect("a launch");
        assert_eq!(count, yes.len(), "{n}");
        assert!(found[..count].iter().all(is_some) && !found[count..].iter().any(is_some));
        let order =
            |a: &T, b: &T| T::order(a, b).then_with(|| format!("{a:?}").cmp(&format!("{b:?}")));
        if n <= 1000 {
            let (mut found, mut all) = (found, data.clone());
            found.sort_by(order);
            all.sort_by(order);
            assert_eq!(found, all, "{n}");
        }

        let (mut accepted, mut rejected) = (values::<T>(yes.len(), 0), values::<T>(no.len(), 0));
        let counts =
            algorithms::partition_copy(queue, &data, &mut accepted, &mut rejected, is_some);
        assert_eq!(counts.expect("a launch"), (yes.len(), no.len()), "{n}");
        assert_eq!((accepted, rejected), (yes, no), "{n}");

        let reversed: Vec<T> = expected.iter().rev().copied().collect();
        for data in [data, expected, reversed] {
            let found = algorithms::is_partitioned(queue, &data, is_some).expect("a launch");
            let mut rest = data.iter().skip_while(|own| is_some(*own));
            assert_eq!(found, !rest.any(is_some), "{n}");
        }
    }
    every!(case);
}
