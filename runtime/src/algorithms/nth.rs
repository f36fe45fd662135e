//! The n-th element of a sorted order, and the elements before it, without sorting all.
//!
//! Floyd and Rivest, "Expected time bounds for selection", 1975: two elements of a sorted sample
//! enclose the n-th one with high probability, and few others. The elements are partitioned by
//! both, and the search continues in the part that has the n-th one.

use std::cmp::Ordering;

use crate::algorithms::collect::{collect, copy_of, read};
use crate::algorithms::operand::{Function, check_room};
use crate::algorithms::select::select;
use crate::algorithms::sort::sort_views;
use crate::api::queue::Queue;
use crate::data::operand::{Input, Output};
use crate::data::view::ViewMut;
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// So many elements, and fewer, are sorted.
const SMALL: usize = 1 << 12;

/// Elements of a sample. The rank in it of what is searched for has a standard deviation of 16 at
/// most, if the elements are in random order.
const SAMPLE: usize = 1 << 10;

/// So far from the expected rank are the two elements.
const MARGIN: usize = 64;

/// Moves the element to `nth` that is there when the elements are sorted. Those before it are not
/// greater, those behind it not less.
fn select_nth<T, C>(
    queue: &Queue,
    mut data: ViewMut<'_, T>,
    mut nth: usize,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    loop {
        let len = data.len();
        if len <= SMALL {
            return sort_views(queue, data, compare);
        }
        let (low, high) = splitters(queue, data.reborrow(), nth, compare)?;
        let class = move |own: &T| match (compare(own, &low), compare(own, &high)) {
            (Ordering::Less, _) => Ordering::Less,
            (_, Ordering::Greater) => Ordering::Greater,
            _ => Ordering::Equal,
        };
        let old = copy_of(queue, data.reborrow().into_view())?;
        let old = old.view();
        let mut rest = data.reborrow();
        let mut lengths = [0; 3];
        for (part, length) in
            [Ordering::Less, Ordering::Equal, Ordering::Greater].into_iter().zip(&mut lengths)
        {
            (*length, rest) = select(queue, old, rest, 0, move |_, own| class(own) == part)?;
        }
        let [less, between, _] = lengths;
        let range = if nth < less {
            0..less
        } else if nth - less < between {
            if compare(&low, &high).is_eq() {
                return Ok(());
            }
            less..less + between
        } else {
            less + between..len
        };
        nth -= range.start;
        let is_slow = range.len() > len / 2;
        data = data.slice(range)?;
        if is_slow {
            return sort_views(queue, data, compare);
        }
    }
}

/// Two elements that enclose the one to come to `nth`, probably. There are more than [`SAMPLE`].
fn splitters<T, C>(
    queue: &Queue,
    data: ViewMut<'_, T>,
    nth: usize,
    compare: C,
) -> Result<(T, T), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let view = data.into_view();
    let stride = view.raw().len() / SAMPLE;
    let mut sample = collect(queue, SAMPLE, move |i| view[i * stride + stride / 2])?;
    sort_views(queue, sample.view_mut(), compare)?;
    let rank = (nth / stride).min(SAMPLE - 1);
    let (low, high) = (rank.saturating_sub(MARGIN), (rank + MARGIN).min(SAMPLE - 1));
    Ok((read(&sample, low)?, read(&sample, high)?))
}

/// Moves the element to `nth` that is there when all elements are sorted. None before it is
/// greater, and none behind it less; otherwise their order is unspecified.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = [5, 1, 4, 2, 3];
/// algorithms::nth_element(&queue, &mut numbers, 2, i32::cmp)?;
/// assert_eq!(numbers[2], 3);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] if there is no element `nth`.
pub fn nth_element<T, D, C>(
    queue: &Queue,
    data: &mut D,
    nth: usize,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let mut data = data.write_on(queue)?;
    check_room(0, nth.saturating_add(1), data.view_mut().len())?;
    select_nth(queue, data.view_mut(), nth, compare)?;
    data.finish()
}

/// Sorts the elements that come to the first `count` places, and leaves the others behind them in
/// an unspecified order.
fn sort_first<T, C>(
    queue: &Queue,
    mut data: ViewMut<'_, T>,
    count: usize,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    if count == 0 {
        return Ok(());
    }
    if count < data.len() {
        select_nth(queue, data.reborrow(), count - 1, compare)?;
    }
    sort_views(queue, data.slice(..count)?, compare)
}

/// Moves the `count` smallest elements to the beginning and sorts them; the order of equal ones,
/// and of the others, is unspecified.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = [5, 1, 4, 2, 3];
/// algorithms::partial_sort(&queue, &mut numbers, 2, i32::cmp)?;
/// assert_eq!(numbers[..2], [1, 2]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] if there are fewer than `count` elements.
pub fn partial_sort<T, D, C>(
    queue: &Queue,
    data: &mut D,
    count: usize,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let mut data = data.write_on(queue)?;
    check_room(0, count, data.view_mut().len())?;
    sort_first(queue, data.view_mut(), count, compare)?;
    data.finish()
}

/// Copies the smallest elements, sorted: as many as `output` has room for, or all. Returns how many
/// that are; what comes behind them keeps its values.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut least = [0; 2];
/// let count = algorithms::partial_sort_copy(&queue, &[5, 1, 4, 2, 3], &mut least, i32::cmp)?;
/// assert_eq!((count, least), (2, [1, 2]));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn partial_sort_copy<T, I, O, C>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    compare: C,
) -> Result<usize, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let input = input.read_on(queue)?;
    let mut output = output.write_on(queue)?;
    let mut data = copy_of(queue, input.view())?;
    let count = data.len().min(output.view_mut().len());
    sort_first(queue, data.view_mut(), count, compare)?;
    queue.for_each((output.view_mut().slice(..count)?, data.slice(..count)?), |(to, from)| {
        *to = *from;
    })?;
    output.finish()?;
    Ok(count)
}
