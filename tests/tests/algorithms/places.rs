//! Searches and comparisons.

use std::cmp::Ordering;

use schism::algorithms;
use schism::prelude::*;

use crate::{LARGE, Value, every, is_some, on_every_device, same, sorted, values};

/// Indices to change: at both ends, in the middle, and nowhere.
fn places(n: usize) -> impl Iterator<Item = Option<usize>> {
    let mut places = vec![n / 2, n / 3 + 1, n.saturating_sub(1), 0];
    places.retain(|place| *place < n);
    places.into_iter().map(Some).chain([None])
}

#[test]
fn find() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let (usual, other) = (T::of(1), T::of(60));
        let mut data = vec![usual; n];
        for place in places(n) {
            // From the last one to the first one, so that there are more behind each.
            if let Some(place) = place {
                data[place] = other;
            } else {
                data.fill(usual);
            }
            let first = data.iter().position(|own| *own == other);
            let found = algorithms::find(queue, &data, other).expect("a launch");
            assert_eq!(found, first, "{n}");
            let found = algorithms::find_if(queue, &data, move |own| *own == other);
            assert_eq!(found.expect("a launch"), first, "{n}");
            let found = algorithms::find_if_not(queue, &data, move |own| *own == usual);
            assert_eq!(found.expect("a launch"), first, "{n}");
            let found = algorithms::find_first_of(queue, &data, &[T::of(2), other], same);
            assert_eq!(found.expect("a launch"), first, "{n}");
            let found = algorithms::find_first_of(queue, &data, &Vec::<T>::new(), same);
            assert_eq!(found.expect("a launch"), None, "{n}");
        }
    }
    every!(case);
}

/// All elements behind the first one hold, so work-items that begin there are ready earlier.
#[test]
fn find_first_of_many() {
    on_every_device(|queue| {
        for first in [0, 1, (1 << 17) - 1, 200_000, (1 << 19) + 5, LARGE - 1] {
            let data: Vec<u8> = (0..LARGE).map(|i| u8::from(i >= first)).collect();
            let found = algorithms::find(queue, &data, 1).expect("a launch");
            assert_eq!(found, Some(first));
            let found = algorithms::find_end(queue, &data, &[0; 1], same).expect("a launch");
            assert_eq!(found, first.checked_sub(1));
        }
    });
}

#[test]
fn all_any_and_none() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let low = vec![T::of(1); n];
        let mut mixed = low.clone();
        if n != 0 {
            mixed[n / 2] = T::of(60);
        }
        let high = vec![T::of(60); n];
        for data in [low, mixed, high] {
            let found = [
                algorithms::all_of(queue, &data, is_some),
                algorithms::any_of(queue, &data, is_some),
                algorithms::none_of(queue, &data, is_some),
            ];
            let expected =
                [data.iter().all(is_some), data.iter().any(is_some), !data.iter().any(is_some)];
            assert_eq!(found.map(|found| found.expect("a launch")), expected, "{n}");
        }
    }
    every!(case);
}

#[test]
fn adjacent_find() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let mut data: Vec<T> = (0..n as u64).map(|i| T::of(i % 100)).collect();
        for place in places(n) {
            if let Some(place) = place {
                data[place] = T::of((place as u64 + 1) % 100);
            } else {
                data = (0..n as u64).map(|i| T::of(i % 100)).collect();
            }
            let expected = data.windows(2).position(|pair| pair[0] == pair[1]);
            let found = algorithms::adjacent_find(queue, &data, same).expect("a launch");
            assert_eq!(found, expected, "{n}");
        }
    }
    every!(case);
}

#[test]
fn search_and_find_end() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        // Few different values, so that patterns begin in many places.
        let data: Vec<T> =
            values::<u8>(n, 1).into_iter().map(|own| T::of(u64::from(own % 3))).collect();
        for length in [0, 1, 4, 7, n, n + 1] {
            let begin = n.saturating_sub(length) / 2;
            let mut pattern: Vec<T> = data[begin..n.min(begin + length)].to_vec();
            pattern.resize(length, T::of(1));
            let place = |begin: &usize| data[*begin..].starts_with(&pattern);
            let found = algorithms::search(queue, &data, &pattern, same).expect("a launch");
            assert_eq!(found, (0..=n).find(place), "{n} {length}");
            let found = algorithms::find_end(queue, &data, &pattern, same).expect("a launch");
            assert_eq!(found, (0..=n).rev().find(place), "{n} {length}");
        }
        let found = algorithms::search(queue, &data, &[T::of(0), T::of(60)], same);
        assert_eq!(found.expect("a launch"), None, "{n}");
    }
    every!(case);
}

#[test]
fn search_n() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = values::<T>(n, 2);
        for count in [0, 1, 2, 5, 9, n, n + 1] {
            let mut run = 0;
            let end = data.iter().position(|own| {
                run = if is_some(own) { run + 1 } else { 0 };
                run == count
            });
            let expected = if count == 0 { Some(0) } else { end.map(|end| end + 1 - count) };
            let found = algorithms::search_n(queue, &data, count, is_some).expect("a launch");
            assert_eq!(found, expected, "{n} {count}");
        }
    }
    every!(case);
}

#[test]
fn equal_and_mismatch() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let a = values::<T>(n, 3);
        let mut others = vec![a.clone(), a[..n / 2].to_vec()];
        for place in places(n).flatten() {
            let mut other = a.clone();
            other[place] = if other[place] == T::of(1) { T::of(2) } else { T::of(1) };
            others.push(other);
        }
        for b in &others {
            let found = algorithms::equal(queue, &a, b, same).expect("a launch");
            assert_eq!(found, a == *b, "{n}");
            let place = a.iter().zip(b).position(|(a, b)| a != b);
            let expected = place.or((a.len() != b.len()).then_some(b.len()));
            let found = algorithms::mismatch(queue, &a, b, same).expect("a launch");
            assert_eq!(found, expected, "{n}");
            let found = algorithms::mismatch(queue, b, &a, same).expect("a launch");
            assert_eq!(found, expected, "{n}");
        }
    }
    every!(case);
}

#[test]
fn lexicographical_compare() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let a = values::<T>(n, 4);
        let mut others = vec![a.clone(), a[..n / 2].to_vec()];
        for place in places(n).flatten() {
            let mut other = a.clone();
            other[place] = T::of(50);
            others.push(other);
        }
        for b in &others {
            let orders = a.iter().zip(b).map(|(a, b)| T::order(a, b));
            let first = orders.into_iter().find(|order| order.is_ne());
            let expected = first.unwrap_or_else(|| a.len().cmp(&b.len()));
            let found = algorithms::lexicographical_compare(queue, &a, b, T::order);
            assert_eq!(found.expect("a launch"), expected, "{n}");
            let found = algorithms::lexicographical_compare(queue, b, &a, T::order);
            assert_eq!(found.expect("a launch"), expected.reverse(), "{n}");
        }
    }
    every!(case);
}

#[test]
fn sortedness() {
    fn case<T: Value>(queue: &Queue, n: usize) {
        let data = sorted::<T>(n, 5);
        for place in places(n) {
            let mut data = data.clone();
            if let Some(place) = place {
                // Less than nearly all others.
                data[place] = data[0];
            }
            let until = (1..n).find(|i| T::order(&data[*i], &data[*i - 1]).is_lt()).unwrap_or(n);
            let found = algorithms::is_sorted_until(queue, &data, T::order).expect("a launch");
            assert_eq!(found, until, "{n}");
            let found = algorithms::is_sorted(queue, &data, T::order).expect("a launch");
            assert_eq!(found, data.is_sorted_by(|a, b| T::order(a, b).is_le()), "{n}");
        }
    }
    every!(case);
}

#[test]
fn heaps() {
    /// For the standard library's heap.
    struct Ordered<T>(T);

    impl<T: Value> PartialEq for Ordered<T> {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }

    impl<T: Value> Eq for Ordered<T> {}

    impl<T: Value> PartialOrd for Ordered<T> {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl<T: Value> Ord for Ordered<T> {
        fn cmp(&self, other: &Self) -> Ordering {
            T::order(&self.0, &other.0)
        }
    }

    fn case<T: Value>(queue: &Queue, n: usize) {
        let heap: std::collections::BinaryHeap<_> =
            values::<T>(n, 6).into_iter().map(Ordered).collect();
        let heap: Vec<T> = heap.into_vec().into_iter().map(|own| own.0).collect();
        for place in places(n) {
            let mut data = heap.clone();
            if let Some(place) = place {
                data[place] = heap[0];
            }
            let until =
                (1..n).find(|i| T::order(&data[(*i - 1) / 2], &data[*i]).is_lt()).unwrap_or(n);
            assert!(place.is_some() || until == n, "the standard library's is one");
            let found = algorithms::is_heap_until(queue, &data, T::order).expect("a launch");
            assert_eq!(found, until, "{n}");
            let found = algorithms::is_heap(queue, &data, T::order).expect("a launch");
            assert_eq!(found, until == n, "{n}");
        }
    }
    every!(case);
}
