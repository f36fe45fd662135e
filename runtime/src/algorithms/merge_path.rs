//! Merge path: where a part of a merge begins in its two inputs.
//!
//! Odeh, Green, Mwassi, Shmueli, Birk, "Merge path: parallel merging made simple", 2012; on GPUs
//! Green, McColl, Bader, "GPU merge path", 2012. A merge is a path through the grid of both inputs;
//! a binary search finds its place on a diagonal, so work-items can merge parts of the same size.

use std::cmp::Ordering;

/// How many of the first `diagonal` elements of a stable merge come from `a`; the others come from
/// `b`. There are at least `diagonal` elements in both.
///
/// For inputs that are not sorted the result is any number of elements that the inputs have.
pub(super) fn split<T, C>(a: &[T], b: &[T], diagonal: usize, compare: C) -> usize
where
    C: Fn(&T, &T) -> Ordering,
{
    let (mut low, mut high) = (diagonal.saturating_sub(b.len()), diagonal.min(a.len()));
    while low < high {
        let middle = low + (high - low) / 2;
        if compare(&b[diagonal - 1 - middle], &a[middle]).is_lt() {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Writes elements `diagonal..` of the stable merge of `a` and `b` to `output`. There are as many.
pub(super) fn merge_part<T, C>(a: &[T], b: &[T], diagonal: usize, output: &mut [T], compare: C)
where
    T: Copy,
    C: Fn(&T, &T) -> Ordering,
{
    let mut i = split(a, b, diagonal, &compare);
    let mut j = diagonal - i;
    for to in output {
        // Of equal elements, those of `a` come first.
        let from_b = match (a.get(i), b.get(j)) {
            (Some(first), Some(second)) => compare(second, first).is_lt(),
            (first, _) => first.is_none(),
        };
        if from_b {
            *to = b[j];
            j += 1;
        } else {
            *to = a[i];
            i += 1;
        }
    }
}

/// The index of the first element of `sorted` that is not less than `value`.
pub(super) fn lower_bound<T, C>(sorted: &[T], value: &T, compare: C) -> usize
where
    C: Fn(&T, &T) -> Ordering,
{
    let (mut low, mut high) = (0, sorted.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if compare(&sorted[middle], value).is_lt() {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
