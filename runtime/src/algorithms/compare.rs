//! Comparisons of two sequences, and properties of one.

use std::cmp::Ordering;

use crate::algorithms::collect::single;
use crate::algorithms::first::first;
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::operand::Input;
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Whether two sequences have the same length, and the same elements by `same`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert!(algorithms::equal(&queue, &[1, 2, 3], &[1, 2, 3], PartialEq::eq)?);
/// assert!(!algorithms::equal(&queue, &[1, 2, 3], &[1, 2], PartialEq::eq)?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn equal<T, U, A, B, F>(queue: &Queue, a: &A, b: &B, same: F) -> Result<bool, LaunchError>
where
    T: Element,
    U: Element,
    A: Input<Element = T> + ?Sized,
    B: Input<Element = U> + ?Sized,
    F: Fn(&T, &U) -> bool + Function,
{
    let (a, b) = (a.read_on(queue)?, b.read_on(queue)?);
    let (a, b) = (a.view(), b.view());
    let len = a.raw().len();
    Ok(len == b.raw().len() && first(queue, len, move |i| !same(&a[i], &b[i]))?.is_none())
}

/// The first index at which two sequences differ by `same`. If one is the beginning of the other,
/// that is its length; `None` if they are equal.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::mismatch(&queue, b"abcd", b"abxd", PartialEq::eq)?, Some(2));
/// assert_eq!(algorithms::mismatch(&queue, b"abcd", b"abc", PartialEq::eq)?, Some(3));
/// assert_eq!(algorithms::mismatch(&queue, b"abcd", b"abcd", PartialEq::eq)?, None);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn mismatch<T, U, A, B, F>(
    queue: &Queue,
    a: &A,
    b: &B,
    same: F,
) -> Result<Option<usize>, LaunchError>
where
    T: Element,
    U: Element,
    A: Input<Element = T> + ?Sized,
    B: Input<Element = U> + ?Sized,
    F: Fn(&T, &U) -> bool + Function,
{
    let (a, b) = (a.read_on(queue)?, b.read_on(queue)?);
    let (a, b) = (a.view(), b.view());
    let (longer, shorter) = (a.raw().len().max(b.raw().len()), a.raw().len().min(b.raw().len()));
    let found = first(queue, shorter, move |i| !same(&a[i], &b[i]))?;
    Ok(found.or_else(|| (shorter < longer).then_some(shorter)))
}

/// Compares two sequences as [`slice::cmp`](Ord::cmp) does, by their first elements that are not
/// equal, or else by their lengths.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let order = algorithms::lexicographical_compare(&queue, b"host", b"hostile", u8::cmp)?;
/// assert!(order.is_lt());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn lexicographical_compare<T, U, A, B, C>(
    queue: &Queue,
    a: &A,
    b: &B,
    compare: C,
) -> Result<Ordering, LaunchError>
where
    T: Element,
    U: Element,
    A: Input<Element = T> + ?Sized,
    B: Input<Element = U> + ?Sized,
    C: Fn(&T, &U) -> Ordering + Function,
{
    let (a, b) = (a.read_on(queue)?, b.read_on(queue)?);
    let (a, b) = (a.view(), b.view());
    let lengths = [a.raw().len(), b.raw().len()];
    let common = lengths[0].min(lengths[1]);
    match first(queue, common, move |i| compare(&a[i], &b[i]).is_ne())? {
        Some(i) => single(queue, move || compare(&a[i], &b[i])),
        None => Ok(lengths[0].cmp(&lengths[1])),
    }
}

/// Whether no element is less than the one before it.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert!(algorithms::is_sorted(&queue, &[1, 2, 2, 5], i32::cmp)?);
/// assert!(!algorithms::is_sorted(&queue, &[1, 2, 2, 5], |a, b| b.cmp(a))?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn is_sorted<T, I, C>(queue: &Queue, input: &I, compare: C) -> Result<bool, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    Ok(first_unsorted(queue, input, compare, |i| i - 1)?.0.is_none())
}

/// How many elements at the beginning are sorted: the index of the first one that is less than the
/// one before it, or the number of elements.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::is_sorted_until(&queue, &[1, 2, 2, 1, 5], i32::cmp)?, 3);
/// assert!(algorithms::is_sorted(&queue, &[1, 2, 2, 5], i32::cmp)?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn is_sorted_until<T, I, C>(queue: &Queue, input: &I, compare: C) -> Result<usize, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let (found, len) = first_unsorted(queue, input, compare, |i| i - 1)?;
    Ok(found.unwrap_or(len))
}

/// Whether the elements are a binary heap with the largest one first, such as that of
/// [`BinaryHeap`](std::collections::BinaryHeap).
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert!(algorithms::is_heap(&queue, &[9, 5, 8, 1, 4], i32::cmp)?);
/// assert!(!algorithms::is_heap(&queue, &[9, 5, 8, 1, 7], i32::cmp)?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn is_heap<T, I, C>(queue: &Queue, input: &I, compare: C) -> Result<bool, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    Ok(first_unsorted(queue, input, move |a, b| compare(b, a), |i| (i - 1) / 2)?.0.is_none())
}

/// How many elements at the beginning are a binary heap with the largest one first.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::is_heap_until(&queue, &[9, 5, 8, 1, 7], i32::cmp)?, 4);
/// assert!(algorithms::is_heap(&queue, &[9, 5, 8, 1, 4], i32::cmp)?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn is_heap_until<T, I, C>(queue: &Queue, input: &I, compare: C) -> Result<usize, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let (found, len) = first_unsorted(queue, input, move |a, b| compare(b, a), |i| (i - 1) / 2)?;
    Ok(found.unwrap_or(len))
}

/// The first index, from 1 on, whose element is less than that at `before` it; and the length.
fn first_unsorted<T, I, C, B>(
    queue: &Queue,
    input: &I,
    compare: C,
    before: B,
) -> Result<(Option<usize>, usize), LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
    B: Fn(usize) -> usize + Function,
{
    let input = input.read_on(queue)?;
    let view = input.view();
    let len = view.raw().len();
    let found = first(queue, len.saturating_sub(1), move |i| {
        compare(&view[i + 1], &view[before(i + 1)]).is_lt()
    })?;
    Ok((found.map(|i| i + 1), len))
}
