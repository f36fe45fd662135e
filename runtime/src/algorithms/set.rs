//! Operations on sorted sequences as multisets.
//!
//! The chunks are equal parts of the merge of both inputs, by merge path, whose ends move down to
//! the beginning of a run of equal elements. So a chunk has all elements of a value, and goes
//! through both inputs as a sequential algorithm does. A value with very many equal elements is the
//! work of one work-item; "balanced path" (Baxter, "Modern GPU", 2013) would divide that too.

use std::cmp::Ordering;

use crate::algorithms::chunks::Chunks;
use crate::algorithms::emit::emit;
use crate::algorithms::first::first;
use crate::algorithms::merge_path::{lower_bound, split};
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::operand::{Input, Output};
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Which elements a set operation keeps.
#[derive(Clone, Copy, Debug)]
struct Kept {
    only_in_a: bool,
    only_in_b: bool,
    in_both: bool,
}

/// Where the chunk that is to begin at `diagonal` of the merge begins in both inputs.
fn run_begin<T, C>(a: &[T], b: &[T], diagonal: usize, compare: C) -> (usize, usize)
where
    C: Fn(&T, &T) -> Ordering,
{
    let i = split(a, b, diagonal, &compare);
    let j = diagonal - i;
    let next = match (a.get(i), b.get(j)) {
        (Some(first), Some(second)) if compare(second, first).is_lt() => second,
        (Some(first), _) => first,
        (None, Some(second)) => second,
        (None, None) => return (i, j),
    };
    // The run has begun before the place, or there.
    (lower_bound(&a[..i], next, &compare), lower_bound(&b[..j], next, &compare))
}

fn set_operation<T, A, B, O, C>(
    queue: &Queue,
    (a, b): (&A, &B),
    output: &mut O,
    kept: Kept,
    compare: C,
) -> Result<usize, LaunchError>
where
    T: Element,
    A: Input<Element = T> + ?Sized,
    B: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let (a, b) = (a.read_on(queue)?, b.read_on(queue)?);
    let mut output = output.write_on(queue)?;
    let (a, b) = (a.view(), b.view());
    let chunks = Chunks::new(queue, a.raw().len().saturating_add(b.raw().len()));
    let (count, _) = emit(queue, chunks.count, output.view_mut(), 2, move |chunk, sink| {
        let (a, b) = (a.as_slice(), b.as_slice());
        let (begin, end) = chunks.bounds(chunk);
        let (mut i, mut j) = run_begin(a, b, begin, compare);
        let (a_end, b_end) = run_begin(a, b, end, compare);
        loop {
            let order = match (i < a_end, j < b_end) {
                (true, true) => compare(&a[i], &b[j]),
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (false, false) => return,
            };
            match order {
                Ordering::Less => {
                    if kept.only_in_a {
                        sink.push(a[i]);
                    }
                    i += 1;
                }
                Ordering::Greater => {
                    if kept.only_in_b {
                        sink.push(b[j]);
                    }
                    j += 1;
                }
                Ordering::Equal => {
                    if kept.in_both {
                        sink.push(a[i]);
                    }
                    i += 1;
                    j += 1;
                }
            }
        }
    })?;
    output.finish()?;
    Ok(count)
}

/// Writes the union of two sorted sequences to the beginning of `output`, sorted, and returns how
/// many elements it has. Of `m` equal elements of `a` and `n` of `b` there are the larger number:
/// all of `a`, then the last ones of `b`.
///
/// The result for sequences that are not sorted is unspecified.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let (a, b) = ([1, 2, 2, 5], [2, 3, 5]);
/// let mut output = [0; 7];
/// let count = algorithms::set_union(&queue, &a, &b, &mut output, i32::cmp)?;
/// assert_eq!(output[..count], [1, 2, 2, 3, 5]);
/// let count = algorithms::set_intersection(&queue, &a, &b, &mut output, i32::cmp)?;
/// assert_eq!(output[..count], [2, 5]);
/// let count = algorithms::set_difference(&queue, &a, &b, &mut output, i32::cmp)?;
/// assert_eq!(output[..count], [1, 2]);
/// let count = algorithms::set_symmetric_difference(&queue, &a, &b, &mut output, i32::cmp)?;
/// assert_eq!(output[..count], [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] if the result has more elements than
/// `output` has room for; then `output` does not change.
pub fn set_union<T, A, B, O, C>(
    queue: &Queue,
    a: &A,
    b: &B,
    output: &mut O,
    compare: C,
) -> Result<usize, LaunchError>
where
    T: Element,
    A: Input<Element = T> + ?Sized,
    B: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let kept = Kept { only_in_a: true, only_in_b: true, in_both: true };
    set_operation(queue, (a, b), output, kept, compare)
}

/// Writes the elements of `a` that are in `b` too: as [`set_union`], except that of `m` and `n`
/// equal elements there are the smaller number, the first ones of `a`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut output = [0; 3];
/// let (a, b) = ([1, 2, 2, 5], [2, 3, 5]);
/// let count = algorithms::set_intersection(&queue, &a, &b, &mut output, i32::cmp)?;
/// assert_eq!(output[..count], [2, 5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`set_union`].
pub fn set_intersection<T, A, B, O, C>(
    queue: &Queue,
    a: &A,
    b: &B,
    output: &mut O,
    compare: C,
) -> Result<usize, LaunchError>
where
    T: Element,
    A: Input<Element = T> + ?Sized,
    B: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let kept = Kept { only_in_a: false, only_in_b: false, in_both: true };
    set_operation(queue, (a, b), output, kept, compare)
}

/// Writes the elements of `a` that are not in `b`: as [`set_union`], except that of `m` and `n`
/// equal elements there are `m - n`, the last ones of `a`, or none.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut output = [0; 4];
/// let (a, b) = ([1, 2, 2, 5], [2, 3, 5]);
/// let count = algorithms::set_difference(&queue, &a, &b, &mut output, i32::cmp)?;
/// assert_eq!(output[..count], [1, 2]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`set_union`].
pub fn set_difference<T, A, B, O, C>(
    queue: &Queue,
    a: &A,
    b: &B,
    output: &mut O,
    compare: C,
) -> Result<usize, LaunchError>
where
    T: Element,
    A: Input<Element = T> + ?Sized,
    B: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let kept = Kept { only_in_a: true, only_in_b: false, in_both: false };
    set_operation(queue, (a, b), output, kept, compare)
}

/// Writes the elements that are in one of both sequences: as [`set_union`], except that of `m` and
/// `n` equal elements there are as many as one has more than the other, its last ones.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut output = [0; 7];
/// let (a, b) = ([1, 2, 2], [2, 3]);
/// let count = algorithms::set_symmetric_difference(&queue, &a, &b, &mut output, i32::cmp)?;
/// assert_eq!(output[..count], [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`set_union`].
pub fn set_symmetric_difference<T, A, B, O, C>(
    queue: &Queue,
    a: &A,
    b: &B,
    output: &mut O,
    compare: C,
) -> Result<usize, LaunchError>
where
    T: Element,
    A: Input<Element = T> + ?Sized,
    B: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let kept = Kept { only_in_a: true, only_in_b: true, in_both: false };
    set_operation(queue, (a, b), output, kept, compare)
}

/// Whether the sorted sequence `a` has all elements of the sorted sequence `b`, each at least as
/// often.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert!(algorithms::includes(&queue, &[1, 2, 2, 5], &[2, 2], i32::cmp)?);
/// assert!(!algorithms::includes(&queue, &[1, 2, 2, 5], &[5, 5], i32::cmp)?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn includes<T, A, B, C>(queue: &Queue, a: &A, b: &B, compare: C) -> Result<bool, LaunchError>
where
    T: Element,
    A: Input<Element = T> + ?Sized,
    B: Input<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let (a, b) = (a.read_on(queue)?, b.read_on(queue)?);
    let (a, b) = (a.view(), b.view());
    let missing = first(queue, b.raw().len(), move |j| {
        let own = &b[j];
        // Equal elements of both are paired, from the first ones on.
        let partner = lower_bound(&a, own, compare) + (j - lower_bound(&b[..j], own, compare));
        a.get(partner).is_none_or(|partner| compare(own, partner).is_lt())
    })?;
    Ok(missing.is_none())
}
