//! Merges of sorted sequences, by merge path.

use std::cmp::Ordering;

use crate::algorithms::chunks::Chunks;
use crate::algorithms::collect::copy_of;
use crate::algorithms::merge_path::merge_part;
use crate::algorithms::operand::{Function, check_len, check_room};
use crate::api::queue::Queue;
use crate::data::operand::{Input, Output};
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Merges two sequences; the output has room for just both.
fn merge_views<T, C>(
    queue: &Queue,
    a: View<'_, T>,
    b: View<'_, T>,
    output: ViewMut<'_, T>,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let chunks = Chunks::new(queue, output.len());
    queue.for_each((0.., output.chunks_mut(chunks.size)), move |(chunk, output)| {
        merge_part(&a, &b, chunks.bounds(chunk).0, output, compare);
    })
}

/// Merges two sorted sequences into a sorted one. Of equal elements, those of `a` come first.
///
/// The result for sequences that are not sorted is unspecified.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut merged = [0.0; 5];
/// algorithms::merge(&queue, &[1.0, 4.0], &[2.0, 3.0, 5.0], &mut merged, f32::total_cmp)?;
/// assert_eq!(merged, [1.0, 2.0, 3.0, 4.0, 5.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] unless `output` is as long as both inputs
/// together.
pub fn merge<T, A, B, O, C>(
    queue: &Queue,
    a: &A,
    b: &B,
    output: &mut O,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    A: Input<Element = T> + ?Sized,
    B: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let (a, b) = (a.read_on(queue)?, b.read_on(queue)?);
    let mut output = output.write_on(queue)?;
    let (first, second) = (a.view(), b.view());
    // Elements without size may be more than a number.
    let len = first.raw().len().saturating_add(second.raw().len());
    check_len(2, len, output.view_mut().len())?;
    merge_views(queue, first, second, output.view_mut(), compare)?;
    output.finish()
}

/// Merges the sorted elements before `middle` with the sorted ones behind it. Of equal elements,
/// those from before `middle` come first.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = Buffer::from_slice(&queue, &[1, 4, 2, 3, 5])?;
/// algorithms::inplace_merge(&queue, &mut numbers, 2, i32::cmp)?;
/// assert_eq!(numbers.to_vec(), [1, 2, 3, 4, 5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] if `middle` is behind the end.
pub fn inplace_merge<T, D, C>(
    queue: &Queue,
    data: &mut D,
    middle: usize,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let mut data = data.write_on(queue)?;
    check_room(0, middle, data.view_mut().len())?;
    let old = copy_of(queue, data.view_mut().into_view())?;
    let (a, b) = (old.slice(..middle)?, old.slice(middle..)?);
    merge_views(queue, a, b, data.view_mut(), compare)?;
    data.finish()
}
