//! Some of the elements, in their order: filters, and runs of equal elements.

use crate::algorithms::chunks::Chunks;
use crate::algorithms::collect::copy_of;
use crate::algorithms::emit::emit;
use crate::algorithms::fold::fold;
use crate::algorithms::groups;
use crate::algorithms::operand::{Function, check_room};
use crate::api::queue::Queue;
use crate::data::operand::{Input, Output};
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Copies the elements that `keep` holds for, which it is told with their indices. Returns how many
/// there are, and the rest of the output.
pub(super) fn select<'a, T, P>(
    queue: &Queue,
    input: View<'_, T>,
    mut output: ViewMut<'a, T>,
    source_index: usize,
    keep: P,
) -> Result<(usize, ViewMut<'a, T>), LaunchError>
where
    T: Element,
    P: Fn(usize, &T) -> bool + Function,
{
    let len = input.raw().len();
    if groups::select::suits::<T>(queue) {
        if output.len() < len {
            // Nothing is written if there is no room for all.
            let kept =
                fold(queue, len, move |i| usize::from(keep(i, &input[i])), usize::wrapping_add)?;
            check_room(source_index, kept.unwrap_or(0), output.len())?;
        }
        match groups::select::select(queue, input, output.reborrow(), keep) {
            // Of a closure, or of a group that waited too long: what follows tells.
            Err(LaunchError::Panicked(_)) => {}
            Err(error) => return Err(error),
            Ok(count) => {
                check_room(source_index, count, output.len())?;
                let (_, rest) = output.split_at(count)?;
                return Ok((count, rest));
            }
        }
    }
    let chunks = Chunks::new(queue, len);
    emit(queue, chunks.count, output, source_index, move |chunk, sink| {
        let (begin, end) = chunks.bounds(chunk);
        for i in begin..end {
            let element = input[i];
            sink.push_if(element, keep(i, &element));
        }
    })
}

/// Copies the elements that `predicate` holds for to the beginning of `output`, in their order, and
/// returns how many there are. `predicate` is called twice for an element.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut even = [0; 5];
/// let count = algorithms::copy_if(&queue, &[1, 2, 3, 4, 5], &mut even, |x| x % 2 == 0)?;
/// assert_eq!(even[..count], [2, 4]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] if there are more than `output` has room
/// for; then `output` does not change.
pub fn copy_if<T, I, O, P>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    predicate: P,
) -> Result<usize, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    let input = input.read_on(queue)?;
    let mut output = output.write_on(queue)?;
    let view = input.view();
    let (count, _) = select(queue, view, output.view_mut(), 1, move |_, own| predicate(own))?;
    output.finish()?;
    Ok(count)
}

/// Copies the elements that `predicate` does not hold for: the opposite of [`copy_if`].
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut odd = [0; 5];
/// let count = algorithms::remove_copy_if(&queue, &[1, 2, 3, 4, 5], &mut odd, |x| x % 2 == 0)?;
/// assert_eq!(odd[..count], [1, 3, 5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`copy_if`].
pub fn remove_copy_if<T, I, O, P>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    predicate: P,
) -> Result<usize, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    copy_if(queue, input, output, move |own| !predicate(own))
}

/// Copies the elements that do not equal `value`, as [`copy_if`] does.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut text = [0; 5];
/// let count = algorithms::remove_copy(&queue, b"a b c", &mut text, b' ')?;
/// assert_eq!(&text[..count], b"abc");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`copy_if`].
pub fn remove_copy<T, I, O>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    value: T,
) -> Result<usize, LaunchError>
where
    T: Element + PartialEq,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
{
    copy_if(queue, input, output, move |own| *own != value)
}

/// Moves the elements that `predicate` does not hold for to the beginning, in their order, and
/// returns how many there are. What comes behind them is unspecified.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = vec![1, 2, 3, 4, 5];
/// let count = algorithms::remove_if(&queue, &mut numbers, |x| x % 2 == 0)?;
/// numbers.truncate(count);
/// assert_eq!(numbers, [1, 3, 5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn remove_if<T, D, P>(queue: &Queue, data: &mut D, predicate: P) -> Result<usize, LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    let mut data = data.write_on(queue)?;
    let old = copy_of(queue, data.view_mut().into_view())?;
    let view = old.view();
    let (count, _) = select(queue, view, data.view_mut(), 0, move |_, own| !predicate(own))?;
    data.finish()?;
    Ok(count)
}

/// Moves the elements that do not equal `value` to the beginning, as [`remove_if`] does.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut text = *b"a b c";
/// let count = algorithms::remove(&queue, &mut text, b' ')?;
/// assert_eq!(&text[..count], b"abc");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn remove<T, D>(queue: &Queue, data: &mut D, value: T) -> Result<usize, LaunchError>
where
    T: Element + PartialEq,
    D: Output<Element = T> + ?Sized,
{
    remove_if(queue, data, move |own| *own == value)
}

/// Copies the first element of each run of neighbours that are alike by `same`, and returns how
/// many there are. `same` compares neighbours and is an equivalence relation.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut once = [0; 6];
/// let count = algorithms::unique_copy(&queue, &[1, 1, 2, 1, 1, 1], &mut once, PartialEq::eq)?;
/// assert_eq!(once[..count], [1, 2, 1]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`copy_if`].
pub fn unique_copy<T, I, O, F>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    same: F,
) -> Result<usize, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    F: Fn(&T, &T) -> bool + Function,
{
    let input = input.read_on(queue)?;
    let mut output = output.write_on(queue)?;
    let count = runs(queue, input.view(), output.view_mut(), 1, same)?;
    output.finish()?;
    Ok(count)
}

/// Moves the first element of each run of neighbours that are alike by `same` to the beginning, as
/// [`Vec::dedup_by`] does, and returns how many there are. What comes behind them is unspecified.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = vec![1, 1, 2, 1, 1, 1];
/// let count = algorithms::unique(&queue, &mut numbers, PartialEq::eq)?;
/// numbers.truncate(count);
/// assert_eq!(numbers, [1, 2, 1]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn unique<T, D, F>(queue: &Queue, data: &mut D, same: F) -> Result<usize, LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    F: Fn(&T, &T) -> bool + Function,
{
    let mut data = data.write_on(queue)?;
    let old = copy_of(queue, data.view_mut().into_view())?;
    let count = runs(queue, old.view(), data.view_mut(), 0, same)?;
    data.finish()?;
    Ok(count)
}

/// Copies the first element of each run.
fn runs<T, F>(
    queue: &Queue,
    input: View<'_, T>,
    output: ViewMut<'_, T>,
    source_index: usize,
    same: F,
) -> Result<usize, LaunchError>
where
    T: Element,
    F: Fn(&T, &T) -> bool + Function,
{
    let begins_run = move |i: usize, own: &T| i == 0 || !same(&input[i - 1], own);
    Ok(select(queue, input, output, source_index, begins_run)?.0)
}
