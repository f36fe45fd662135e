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

/// From this length on, a part is merged as two.
const TWO_PARTS: usize = 128;

/// Writes elements `diagonal..` of the stable merge of `a` and `b` to `output`. There are as many.
///
/// Each step of a merge waits for the comparison before it. So both halves are merged at the same
/// time: the processor works on one while the other waits.
pub(super) fn merge_part<T, C>(a: &[T], b: &[T], diagonal: usize, output: &mut [T], compare: C)
where
    T: Copy,
    C: Fn(&T, &T) -> Ordering,
{
    let mut first = Merge::new(a, b, diagonal, &compare);
    if output.len() < TWO_PARTS {
        return first.finish(output, &compare);
    }
    let half = output.len() / 2;
    let mut second = Merge::new(a, b, diagonal + half, &compare);
    let (left, right) = output.split_at_mut(half);
    let mut done = 0;
    while done < half && first.has_both() && second.has_both() {
        left[done] = first.step(&compare);
        right[done] = second.step(&compare);
        done += 1;
    }
    first.finish(&mut left[done..], &compare);
    second.finish(&mut right[done..], &compare);
}

/// A place in a merge.
#[derive(Clone, Copy, Debug)]
struct Merge<'a, T> {
    a: &'a [T],
    b: &'a [T],
    i: usize,
    j: usize,
}

impl<'a, T: Copy> Merge<'a, T> {
    fn new<C>(a: &'a [T], b: &'a [T], diagonal: usize, compare: C) -> Self
    where
        C: Fn(&T, &T) -> Ordering,
    {
        let i = split(a, b, diagonal, compare);
        Self { a, b, i, j: diagonal - i }
    }

    #[inline]
    const fn has_both(&self) -> bool {
        self.i < self.a.len() && self.j < self.b.len()
    }

    /// The next element; both inputs have one. There is no branch on the result of the comparison,
    /// since it would be unpredictable.
    #[inline]
    fn step<C>(&mut self, compare: C) -> T
    where
        C: Fn(&T, &T) -> Ordering,
    {
        let (first, second) = (&self.a[self.i], &self.b[self.j]);
        // Of equal elements, those of `a` come first.
        let from_b = compare(second, first).is_lt();
        self.i += usize::from(!from_b);
        self.j += usize::from(from_b);
        if from_b { *second } else { *first }
    }

    /// Writes the next elements.
    fn finish<C>(mut self, output: &mut [T], compare: C)
    where
        C: Fn(&T, &T) -> Ordering,
    {
        let mut output = output.iter_mut();
        while self.has_both() {
            let Some(to) = output.next() else { return };
            *to = self.step(&compare);
        }
        for (to, from) in output.zip(self.a[self.i..].iter().chain(&self.b[self.j..])) {
            *to = *from;
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
