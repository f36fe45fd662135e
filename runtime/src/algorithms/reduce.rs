//! Reductions: to a value, to a number of elements, to the place of an extreme element.

use std::cmp::Ordering;

use crate::algorithms::fold::{fold, fold_from};
use crate::algorithms::operand::{Function, check_len};
use crate::api::queue::Queue;
use crate::data::operand::Input;
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Combines `init` and all elements, in their order, by the associative `op`.
///
/// With floats, whose addition is not quite associative, the rounding depends on the number of
/// chunks, and with it on the device.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::reduce(&queue, &[1, 2, 3, 4], 10, |a, b| a + b)?, 20);
/// let floats = Buffer::from_slice(&queue, &[2.5_f32, -1.0, 7.0])?;
/// assert_eq!(algorithms::reduce(&queue, &floats, f32::NEG_INFINITY, f32::max)?, 7.0);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn reduce<T, I, F>(queue: &Queue, input: &I, init: T, op: F) -> Result<T, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    F: Fn(T, T) -> T + Function,
{
    transform_reduce(queue, input, init, op, |own| own)
}

/// Combines `init` and what `transform` makes of all elements, in their order, by the associative
/// `op`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let squares = algorithms::transform_reduce(&queue, &[3.0, 4.0], 0.0, |a, b| a + b, |x| x * x)?;
/// assert_eq!(squares, 25.0_f64);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn transform_reduce<R, I, F, M>(
    queue: &Queue,
    input: &I,
    init: R,
    op: F,
    transform: M,
) -> Result<R, LaunchError>
where
    R: Element,
    I: Input + ?Sized,
    F: Fn(R, R) -> R + Function,
    M: Fn(I::Element) -> R + Function,
{
    let input = input.read_on(queue)?;
    let view = input.view();
    // SAFETY: a fold asks for the items below the length.
    let item = move |i: usize| transform(unsafe { *view.raw().get_unchecked(i) });
    fold_from(queue, init, view.raw().len(), item, op)
}

/// Combines `init` and what `transform` makes of the pairs of elements of two inputs, in their
/// order, by the associative `op`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let (x, y) = ([1, 2, 3], [4, 5, 6]);
/// let dot = algorithms::transform_reduce_zip(&queue, &x, &y, 0, |a, b| a + b, |x, y| x * y)?;
/// assert_eq!(dot, 32);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] unless the inputs have the same length.
pub fn transform_reduce_zip<R, A, B, F, M>(
    queue: &Queue,
    a: &A,
    b: &B,
    init: R,
    op: F,
    transform: M,
) -> Result<R, LaunchError>
where
    R: Element,
    A: Input + ?Sized,
    B: Input + ?Sized,
    F: Fn(R, R) -> R + Function,
    M: Fn(A::Element, B::Element) -> R + Function,
{
    let (a, b) = (a.read_on(queue)?, b.read_on(queue)?);
    let (a, b) = (a.view(), b.view());
    check_len(1, a.raw().len(), b.raw().len())?;
    // SAFETY: a fold asks for the items below the length, which is that of both.
    let item =
        move |i: usize| unsafe { transform(*a.raw().get_unchecked(i), *b.raw().get_unchecked(i)) };
    fold_from(queue, init, a.raw().len(), item, op)
}

/// How many elements equal `value`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::count(&queue, b"to be or not to be", b'o')?, 4);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn count<T, I>(queue: &Queue, input: &I, value: T) -> Result<usize, LaunchError>
where
    T: Element + PartialEq,
    I: Input<Element = T> + ?Sized,
{
    count_if(queue, input, move |own| *own == value)
}

/// How many elements `predicate` holds for.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::count_if(&queue, &[1, 2, 3, 4, 5], |x| x % 2 == 1)?, 3);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn count_if<T, I, P>(queue: &Queue, input: &I, predicate: P) -> Result<usize, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    let input = input.read_on(queue)?;
    let view = input.view();
    let item = move |i| usize::from(predicate(&view[i]));
    Ok(fold(queue, view.raw().len(), item, usize::wrapping_add)?.unwrap_or(0))
}

/// The index of the first of the smallest elements; `None` if there are no elements.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::min_element(&queue, &[3.0, 1.0, 2.0, 1.0], f64::total_cmp)?, Some(1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn min_element<T, I, C>(
    queue: &Queue,
    input: &I,
    compare: C,
) -> Result<Option<usize>, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let input = input.read_on(queue)?;
    let view = input.view();
    fold(
        queue,
        view.raw().len(),
        |i| i,
        move |first, second| {
            if compare(&view[second], &view[first]).is_lt() { second } else { first }
        },
    )
}

/// The index of the first of the largest elements; `None` if there are no elements. (The last one
/// is that of [`minmax_element`], and of [`Iterator::max_by`].)
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::max_element(&queue, &[3, 5, 4, 5], i32::cmp)?, Some(1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn max_element<T, I, C>(
    queue: &Queue,
    input: &I,
    compare: C,
) -> Result<Option<usize>, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    min_element(queue, input, move |a, b| compare(b, a))
}

/// The indices of the first of the smallest elements and of the last of the largest; `None` if
/// there are no elements.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let extremes = algorithms::minmax_element(&queue, &[3, 1, 4, 1, 5, 5], i32::cmp)?;
/// assert_eq!(extremes, Some((1, 5)));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn minmax_element<T, I, C>(
    queue: &Queue,
    input: &I,
    compare: C,
) -> Result<Option<(usize, usize)>, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let input = input.read_on(queue)?;
    let view = input.view();
    fold(
        queue,
        view.raw().len(),
        |i| (i, i),
        move |first: (usize, usize), second: (usize, usize)| {
            let least =
                if compare(&view[second.0], &view[first.0]).is_lt() { second.0 } else { first.0 };
            let most =
                if compare(&view[second.1], &view[first.1]).is_lt() { first.1 } else { second.1 };
            (least, most)
        },
    )
}
