//! Partitions: the elements that something holds for, and the others.

use crate::algorithms::collect::copy_of;
use crate::algorithms::first::first;
use crate::algorithms::operand::Function;
use crate::algorithms::select::select;
use crate::api::queue::Queue;
use crate::data::operand::{Input, Output};
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Moves the elements that `predicate` holds for before the others, both in their order, and
/// returns how many there are. `predicate` is called four times for an element.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = Buffer::from_slice(&queue, &[1, 2, 3, 4, 5])?;
/// assert_eq!(algorithms::stable_partition(&queue, &mut numbers, |x| x % 2 == 0)?, 2);
/// assert_eq!(numbers.to_vec(), [2, 4, 1, 3, 5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn stable_partition<T, D, P>(
    queue: &Queue,
    data: &mut D,
    predicate: P,
) -> Result<usize, LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    let mut data = data.write_on(queue)?;
    let old = copy_of(queue, data.view_mut().into_view())?;
    let view = old.view();
    let (count, rest) = select(queue, view, data.view_mut(), 0, move |_, own| predicate(own))?;
    select(queue, view, rest, 0, move |_, own| !predicate(own))?;
    data.finish()?;
    Ok(count)
}

/// Moves the elements that `predicate` holds for before the others, in any order, and returns how
/// many there are.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = [1, 2, 3, 4, 5];
/// let count = algorithms::partition(&queue, &mut numbers, |x| x % 2 == 0)?;
/// numbers[..count].sort();
/// assert_eq!(numbers[..count], [2, 4]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn partition<T, D, P>(queue: &Queue, data: &mut D, predicate: P) -> Result<usize, LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    // All work-items write to another place than they read, so keeping the order costs nothing.
    stable_partition(queue, data, predicate)
}

/// Copies the elements that `predicate` holds for to the beginning of `accepted` and the others to
/// that of `rejected`, in their order, and returns how many there are of each.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let (mut even, mut odd) = ([0; 2], [0; 3]);
/// let counts =
///     algorithms::partition_copy(&queue, &[1, 2, 3, 4, 5], &mut even, &mut odd, |x| x % 2 == 0)?;
/// assert_eq!((counts, even, odd), ((2, 3), [2, 4], [1, 3, 5]));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] if there are more than an output has room
/// for.
pub fn partition_copy<T, I, A, R, P>(
    queue: &Queue,
    input: &I,
    accepted: &mut A,
    rejected: &mut R,
    predicate: P,
) -> Result<(usize, usize), LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    A: Output<Element = T> + ?Sized,
    R: Output<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    let input = input.read_on(queue)?;
    let view = input.view();
    let mut accepted = accepted.write_on(queue)?;
    let mut rejected = rejected.write_on(queue)?;
    let (yes, _) = select(queue, view, accepted.view_mut(), 1, move |_, own| predicate(own))?;
    let (no, _) = select(queue, view, rejected.view_mut(), 2, move |_, own| !predicate(own))?;
    accepted.finish()?;
    rejected.finish()?;
    Ok((yes, no))
}

/// Whether the elements that `predicate` holds for come before the others.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert!(algorithms::is_partitioned(&queue, &[2, 4, 1, 3], |x| x % 2 == 0)?);
/// assert!(!algorithms::is_partitioned(&queue, &[2, 1, 4, 3], |x| x % 2 == 0)?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn is_partitioned<T, I, P>(queue: &Queue, input: &I, predicate: P) -> Result<bool, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    let input = input.read_on(queue)?;
    let view = input.view();
    let found = first(queue, view.raw().len().saturating_sub(1), move |i| {
        !predicate(&view[i]) && predicate(&view[i + 1])
    })?;
    Ok(found.is_none())
}
