//! Fixed permutations: reversals, rotations, shifts.
//!
//! In place, each work-item reads from a copy of the elements.

use crate::algorithms::collect::copy_of;
use crate::algorithms::operand::{Function, check_len, check_room};
use crate::api::queue::Queue;
use crate::data::operand::{Input, Output};
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Writes to each place `i` of `to` the element of `from` at `index(i)`.
fn gather<T, F>(
    queue: &Queue,
    from: View<'_, T>,
    to: ViewMut<'_, T>,
    index: F,
) -> Result<(), LaunchError>
where
    T: Element,
    F: Fn(usize) -> usize + Function,
{
    queue.for_each((0.., to), move |(i, to)| *to = from[index(i)])
}

/// Reverses the order of the elements.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3])?;
/// algorithms::reverse(&queue, &mut numbers)?;
/// assert_eq!(numbers.to_vec(), [3, 2, 1]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn reverse<T, D>(queue: &Queue, data: &mut D) -> Result<(), LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
{
    let mut data = data.write_on(queue)?;
    let old = copy_of(queue, data.view_mut().into_view())?;
    reverse_views(queue, old.view(), data.view_mut())?;
    data.finish()
}

/// Copies the elements in reverse order.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut reversed = [0; 3];
/// algorithms::reverse_copy(&queue, &[1, 2, 3], &mut reversed)?;
/// assert_eq!(reversed, [3, 2, 1]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] unless `output` is as long as `input`.
pub fn reverse_copy<T, I, O>(queue: &Queue, input: &I, output: &mut O) -> Result<(), LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
{
    let input = input.read_on(queue)?;
    // SAFETY: the kernel writes each of them.
    let mut output = unsafe { output.overwrite_on(queue)? };
    check_len(1, input.view().raw().len(), output.view_mut().len())?;
    reverse_views(queue, input.view(), output.view_mut())?;
    output.finish()
}

fn reverse_views<T: Element>(
    queue: &Queue,
    from: View<'_, T>,
    to: ViewMut<'_, T>,
) -> Result<(), LaunchError> {
    let len = to.len();
    gather(queue, from, to, move |i| len - 1 - i)
}

/// Moves the elements from `middle` on to the beginning, and those before it behind them, as
/// [`rotate_left`](slice::rotate_left) does.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3, 4, 5])?;
/// algorithms::rotate(&queue, &mut numbers, 2)?;
/// assert_eq!(numbers.to_vec(), [3, 4, 5, 1, 2]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] if `middle` is behind the end.
pub fn rotate<T, D>(queue: &Queue, data: &mut D, middle: usize) -> Result<(), LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
{
    let mut data = data.write_on(queue)?;
    check_room(0, middle, data.view_mut().len())?;
    let old = copy_of(queue, data.view_mut().into_view())?;
    rotate_views(queue, old.view(), middle, data.view_mut())?;
    data.finish()
}

/// Copies the elements from `middle` on, and behind them those before it.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut rotated = [0; 5];
/// algorithms::rotate_copy(&queue, &[1, 2, 3, 4, 5], 2, &mut rotated)?;
/// assert_eq!(rotated, [3, 4, 5, 1, 2]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] if `middle` is behind the end, or unless
/// `output` is as long as `input`.
pub fn rotate_copy<T, I, O>(
    queue: &Queue,
    input: &I,
    middle: usize,
    output: &mut O,
) -> Result<(), LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
{
    let input = input.read_on(queue)?;
    // SAFETY: the kernel writes each of them.
    let mut output = unsafe { output.overwrite_on(queue)? };
    let from = input.view();
    check_room(0, middle, from.raw().len())?;
    check_len(1, from.raw().len(), output.view_mut().len())?;
    rotate_views(queue, from, middle, output.view_mut())?;
    output.finish()
}

fn rotate_views<T: Element>(
    queue: &Queue,
    from: View<'_, T>,
    middle: usize,
    to: ViewMut<'_, T>,
) -> Result<(), LaunchError> {
    let behind = to.len() - middle;
    gather(queue, from, to, move |i| if i < behind { middle + i } else { i - behind })
}

/// Moves each element `by` places towards the beginning, and returns how many there are: the first
/// ones are gone. What comes behind them is unspecified.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = [1, 2, 3, 4, 5];
/// let count = algorithms::shift_left(&queue, &mut numbers, 2)?;
/// assert_eq!(numbers[..count], [3, 4, 5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn shift_left<T, D>(queue: &Queue, data: &mut D, by: usize) -> Result<usize, LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
{
    let mut data = data.write_on(queue)?;
    let left = data.view_mut().len().saturating_sub(by);
    if left != 0 && by != 0 {
        let old = copy_of(queue, data.view_mut().slice(by..)?.into_view())?;
        gather(queue, old.view(), data.view_mut().slice(..left)?, |i| i)?;
    }
    data.finish()?;
    Ok(left)
}

/// Moves each element `by` places towards the end, and returns where they begin: the last ones are
/// gone. What comes before them is unspecified.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = [1, 2, 3, 4, 5];
/// let begin = algorithms::shift_right(&queue, &mut numbers, 2)?;
/// assert_eq!(numbers[begin..], [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn shift_right<T, D>(queue: &Queue, data: &mut D, by: usize) -> Result<usize, LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
{
    let mut data = data.write_on(queue)?;
    let len = data.view_mut().len();
    let begin = by.min(len);
    if by != 0 && begin != len {
        let old = copy_of(queue, data.view_mut().slice(..len - begin)?.into_view())?;
        gather(queue, old.view(), data.view_mut().slice(begin..)?, |i| i)?;
    }
    data.finish()?;
    Ok(begin)
}
