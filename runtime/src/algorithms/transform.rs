//! Each element by itself: transformations, copies, replacements.
//!
//! [`Queue::for_each`] is the general form over device data; these also take slices of the host.

use crate::algorithms::operand::{Function, check_len};
use crate::api::queue::Queue;
use crate::data::operand::{Input, Output};
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Calls `function` for each element, which it may change.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = [1, 2, 3];
/// algorithms::for_each(&queue, &mut numbers, |x| *x *= 10)?;
/// assert_eq!(numbers, [10, 20, 30]);
/// algorithms::for_each(&queue, &mut numbers[..2], |x| *x += 1)?;
/// assert_eq!(numbers, [11, 21, 30]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn for_each<T, D, F>(queue: &Queue, data: &mut D, function: F) -> Result<(), LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    F: Fn(&mut T) + Function,
{
    let mut data = data.write_on(queue)?;
    queue.for_each(data.view_mut(), function)?;
    data.finish()
}

/// Writes to each place of `data` what `value` makes of its index.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut squares = [0; 4];
/// algorithms::generate(&queue, &mut squares, |i| i * i)?;
/// assert_eq!(squares, [0, 1, 4, 9]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn generate<T, D, F>(queue: &Queue, data: &mut D, value: F) -> Result<(), LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    F: Fn(usize) -> T + Function,
{
    // SAFETY: the kernel writes each of them.
    let mut data = unsafe { data.overwrite_on(queue)? };
    queue.for_each((0.., data.view_mut()), move |(i, to)| *to = value(i))?;
    data.finish()
}

/// Writes `value` to all places.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = [1, 2, 3];
/// algorithms::fill(&queue, &mut numbers[1..], 7)?;
/// assert_eq!(numbers, [1, 7, 7]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn fill<T, D>(queue: &Queue, data: &mut D, value: T) -> Result<(), LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
{
    for_each(queue, data, move |own| *own = value)
}

/// Writes what `function` makes of each element.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut halves = [0.0; 3];
/// algorithms::transform(&queue, &[1_u8, 2, 3], &mut halves, |x| f32::from(x) / 2.0)?;
/// assert_eq!(halves, [0.5, 1.0, 1.5]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] unless `output` is as long as `input`.
pub fn transform<I, O, F>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    function: F,
) -> Result<(), LaunchError>
where
    I: Input + ?Sized,
    O: Output + ?Sized,
    F: Fn(I::Element) -> O::Element + Function,
{
    let input = input.read_on(queue)?;
    // SAFETY: the kernel writes each of them.
    let mut output = unsafe { output.overwrite_on(queue)? };
    check_len(1, input.view().raw().len(), output.view_mut().len())?;
    queue.for_each((output.view_mut(), input.view()), move |(to, from)| *to = function(*from))?;
    output.finish()
}

/// Writes what `function` makes of each pair of elements of two inputs.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut sums = [0; 3];
/// algorithms::transform_zip(&queue, &[1, 2, 3], &[10, 20, 30], &mut sums, |a, b| a + b)?;
/// assert_eq!(sums, [11, 22, 33]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] unless all have the same length.
pub fn transform_zip<A, B, O, F>(
    queue: &Queue,
    a: &A,
    b: &B,
    output: &mut O,
    function: F,
) -> Result<(), LaunchError>
where
    A: Input + ?Sized,
    B: Input + ?Sized,
    O: Output + ?Sized,
    F: Fn(A::Element, B::Element) -> O::Element + Function,
{
    let (a, b) = (a.read_on(queue)?, b.read_on(queue)?);
    // SAFETY: the kernel writes each of them.
    let mut output = unsafe { output.overwrite_on(queue)? };
    check_len(1, a.view().raw().len(), b.view().raw().len())?;
    check_len(2, a.view().raw().len(), output.view_mut().len())?;
    let sources = (output.view_mut(), a.view(), b.view());
    queue.for_each(sources, move |(to, a, b)| *to = function(*a, *b))?;
    output.finish()
}

/// Copies all elements.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut buffer = Buffer::with_len(&queue, 3)?;
/// algorithms::copy(&queue, &[1, 2, 3], &mut buffer)?;
/// assert_eq!(buffer.to_vec(), [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`transform`].
pub fn copy<T, I, O>(queue: &Queue, input: &I, output: &mut O) -> Result<(), LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
{
    transform(queue, input, output, |own| own)
}

/// Exchanges the elements of two sequences.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let (mut a, mut b) = (Buffer::from_slice(&queue, &[1, 2])?, [3, 4]);
/// algorithms::swap_ranges(&queue, &mut a, &mut b)?;
/// assert_eq!((a.to_vec(), b), (vec![3, 4], [1, 2]));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] unless both have the same length.
pub fn swap_ranges<T, A, B>(queue: &Queue, a: &mut A, b: &mut B) -> Result<(), LaunchError>
where
    T: Element,
    A: Output<Element = T> + ?Sized,
    B: Output<Element = T> + ?Sized,
{
    let (mut a, mut b) = (a.write_on(queue)?, b.write_on(queue)?);
    check_len(1, a.view_mut().len(), b.view_mut().len())?;
    queue.for_each((a.view_mut(), b.view_mut()), |(a, b)| std::mem::swap(a, b))?;
    a.finish()?;
    b.finish()
}

/// Replaces the elements that equal `old` by `new`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut text = *b"a b c";
/// algorithms::replace(&queue, &mut text, b' ', b'_')?;
/// assert_eq!(&text, b"a_b_c");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn replace<T, D>(queue: &Queue, data: &mut D, old: T, new: T) -> Result<(), LaunchError>
where
    T: Element + PartialEq,
    D: Output<Element = T> + ?Sized,
{
    replace_if(queue, data, move |own| *own == old, new)
}

/// Replaces the elements that `predicate` holds for by `new`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = [1, -2, 3];
/// algorithms::replace_if(&queue, &mut numbers, |x| *x < 0, 0)?;
/// assert_eq!(numbers, [1, 0, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn replace_if<T, D, P>(
    queue: &Queue,
    data: &mut D,
    predicate: P,
    new: T,
) -> Result<(), LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    for_each(queue, data, move |own| {
        if predicate(own) {
            *own = new;
        }
    })
}

/// Copies all elements, with `new` for those that equal `old`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut text = [0; 5];
/// algorithms::replace_copy(&queue, b"a b c", &mut text, b' ', b'_')?;
/// assert_eq!(&text, b"a_b_c");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`transform`].
pub fn replace_copy<T, I, O>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    old: T,
    new: T,
) -> Result<(), LaunchError>
where
    T: Element + PartialEq,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
{
    replace_copy_if(queue, input, output, move |own| *own == old, new)
}

/// Copies all elements, with `new` for those that `predicate` holds for.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut positive = [0; 3];
/// algorithms::replace_copy_if(&queue, &[1, -2, 3], &mut positive, |x| *x < 0, 0)?;
/// assert_eq!(positive, [1, 0, 3]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`transform`].
pub fn replace_copy_if<T, I, O, P>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    predicate: P,
    new: T,
) -> Result<(), LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    transform(queue, input, output, move |own| if predicate(&own) { new } else { own })
}
