//! The methods that slices are sorted by: what calls of those of the same name of
//! [`ParallelSliceMut`] become. They have the same generics, with the slice's type first.
//!
//! `par_sort_by_cached_key` is made of others of these.

use std::cmp::Ordering;

use rayon::slice::ParallelSliceMut;

use crate::host;
use crate::sort::{unstable_with_rayon, with_rayon};

/// Sorts; equal elements keep their order.
pub fn par_sort<S, T>(slice: &mut S)
where
    S: ParallelSliceMut<T> + ?Sized,
    T: Ord + Send,
{
    host::sort_slice(slice.as_parallel_slice_mut(), T::lt, with_rayon);
}

/// Sorts by a comparison; equal elements keep their order.
pub fn par_sort_by<S, T, F>(slice: &mut S, compare: F)
where
    S: ParallelSliceMut<T> + ?Sized,
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    host::sort_slice(
        slice.as_parallel_slice_mut(),
        |a, b| compare(a, b) == Ordering::Less,
        with_rayon,
    );
}

/// Sorts by keys; elements of equal keys keep their order.
pub fn par_sort_by_key<S, T, K, F>(slice: &mut S, key: F)
where
    S: ParallelSliceMut<T> + ?Sized,
    T: Send,
    K: Ord,
    F: Fn(&T) -> K + Sync,
{
    host::sort_slice(slice.as_parallel_slice_mut(), |a, b| key(a).lt(&key(b)), with_rayon);
}

/// Sorts.
pub fn par_sort_unstable<S, T>(slice: &mut S)
where
    S: ParallelSliceMut<T> + ?Sized,
    T: Ord + Send,
{
    host::sort_slice(slice.as_parallel_slice_mut(), T::lt, unstable_with_rayon);
}

/// Sorts by a comparison.
pub fn par_sort_unstable_by<S, T, F>(slice: &mut S, compare: F)
where
    S: ParallelSliceMut<T> + ?Sized,
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    host::sort_slice(
        slice.as_parallel_slice_mut(),
        |a, b| compare(a, b) == Ordering::Less,
        unstable_with_rayon,
    );
}

/// Sorts by keys.
pub fn par_sort_unstable_by_key<S, T, K, F>(slice: &mut S, key: F)
where
    S: ParallelSliceMut<T> + ?Sized,
    T: Send,
    K: Ord,
    F: Fn(&T) -> K + Sync,
{
    host::sort_slice(slice.as_parallel_slice_mut(), |a, b| key(a).lt(&key(b)), unstable_with_rayon);
}
