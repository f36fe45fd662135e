//! Searches: for elements, for neighbours, for sequences.

use crate::algorithms::first::{first, last};
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::operand::Input;
use crate::data::view::View;
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// The index of the first element that equals `value`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::find(&queue, b"to be or not to be", b'b')?, Some(3));
/// assert_eq!(algorithms::find(&queue, b"to be or not to be", b'x')?, None);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn find<T, I>(queue: &Queue, input: &I, value: T) -> Result<Option<usize>, LaunchError>
where
    T: Element + PartialEq,
    I: Input<Element = T> + ?Sized,
{
    find_if(queue, input, move |own| *own == value)
}

/// The index of the first element that `predicate` holds for.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::find_if(&queue, &[1.0, -2.0, -3.0], |x| *x < 0.0)?, Some(1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn find_if<T, I, P>(
    queue: &Queue,
    input: &I,
    predicate: P,
) -> Result<Option<usize>, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    let input = input.read_on(queue)?;
    let view = input.view();
    first(queue, view.raw().len(), move |i| predicate(&view[i]))
}

/// The index of the first element that `predicate` does not hold for.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::find_if_not(&queue, b"42 is it", u8::is_ascii_digit)?, Some(2));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn find_if_not<T, I, P>(
    queue: &Queue,
    input: &I,
    predicate: P,
) -> Result<Option<usize>, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    find_if(queue, input, move |own| !predicate(own))
}

/// Whether `predicate` holds for all elements; true if there are none.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert!(algorithms::all_of(&queue, &[1, 2, 3], |x| *x > 0)?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn all_of<T, I, P>(queue: &Queue, input: &I, predicate: P) -> Result<bool, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    Ok(find_if_not(queue, input, predicate)?.is_none())
}

/// Whether `predicate` holds for an element.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert!(algorithms::any_of(&queue, &[1, 2, 3], |x| x % 2 == 0)?);
/// assert!(algorithms::all_of(&queue, &[1, 2, 3], |x| *x > 0)?);
/// assert!(algorithms::none_of(&queue, &[1, 2, 3], |x| *x > 3)?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn any_of<T, I, P>(queue: &Queue, input: &I, predicate: P) -> Result<bool, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    Ok(find_if(queue, input, predicate)?.is_some())
}

/// Whether `predicate` holds for no element; true if there are none.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert!(algorithms::none_of(&queue, &[1, 2, 3], |x| *x > 3)?);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn none_of<T, I, P>(queue: &Queue, input: &I, predicate: P) -> Result<bool, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    Ok(find_if(queue, input, predicate)?.is_none())
}

/// The index of the first element that is, by `same`, like one of `set`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::find_first_of(&queue, b"schism", b"aeiou", PartialEq::eq)?, Some(3));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn find_first_of<T, U, I, S, F>(
    queue: &Queue,
    input: &I,
    set: &S,
    same: F,
) -> Result<Option<usize>, LaunchError>
where
    T: Element,
    U: Element,
    I: Input<Element = T> + ?Sized,
    S: Input<Element = U> + ?Sized,
    F: Fn(&T, &U) -> bool + Function,
{
    let (input, set) = (input.read_on(queue)?, set.read_on(queue)?);
    let (view, set) = (input.view(), set.view());
    first(queue, view.raw().len(), move |i| {
        let own = &view[i];
        set.iter().any(|other| same(own, other))
    })
}

/// The index of the first element that is, by `same`, like the next one.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::adjacent_find(&queue, &[1, 2, 2, 3, 3], PartialEq::eq)?, Some(1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn adjacent_find<T, I, F>(
    queue: &Queue,
    input: &I,
    same: F,
) -> Result<Option<usize>, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    F: Fn(&T, &T) -> bool + Function,
{
    let input = input.read_on(queue)?;
    let view = input.view();
    first(queue, view.raw().len().saturating_sub(1), move |i| same(&view[i], &view[i + 1]))
}

/// Whether the elements from `begin` on are those of `pattern`; there are as many.
#[inline]
fn is_at<T, U>(
    view: View<'_, T>,
    begin: usize,
    pattern: View<'_, U>,
    same: impl Fn(&T, &U) -> bool,
) -> bool {
    let (view, pattern) = (view.as_slice(), pattern.as_slice());
    view[begin..].iter().zip(pattern).all(|(own, other)| same(own, other))
}

/// Where `pattern` first occurs as a run of neighbours: the index of its first element. An empty
/// pattern occurs at 0.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let text = Buffer::from_slice(&queue, b"to be or not to be")?;
/// assert_eq!(algorithms::search(&queue, &text, b"to be", PartialEq::eq)?, Some(0));
/// assert_eq!(algorithms::find_end(&queue, &text, b"to be", PartialEq::eq)?, Some(13));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn search<T, U, I, S, F>(
    queue: &Queue,
    input: &I,
    pattern: &S,
    same: F,
) -> Result<Option<usize>, LaunchError>
where
    T: Element,
    U: Element,
    I: Input<Element = T> + ?Sized,
    S: Input<Element = U> + ?Sized,
    F: Fn(&T, &U) -> bool + Function,
{
    let (input, pattern) = (input.read_on(queue)?, pattern.read_on(queue)?);
    let (view, pattern) = (input.view(), pattern.view());
    match places(view, pattern) {
        Some(places) => first(queue, places, move |begin| is_at(view, begin, pattern, same)),
        None => Ok(None),
    }
}

/// Where `pattern` last occurs as a run of neighbours: the index of its first element. An empty
/// pattern occurs behind the last element.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let last = algorithms::find_end(&queue, b"to be or not to be", b"to", PartialEq::eq)?;
/// assert_eq!(last, Some(13));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn find_end<T, U, I, S, F>(
    queue: &Queue,
    input: &I,
    pattern: &S,
    same: F,
) -> Result<Option<usize>, LaunchError>
where
    T: Element,
    U: Element,
    I: Input<Element = T> + ?Sized,
    S: Input<Element = U> + ?Sized,
    F: Fn(&T, &U) -> bool + Function,
{
    let (input, pattern) = (input.read_on(queue)?, pattern.read_on(queue)?);
    let (view, pattern) = (input.view(), pattern.view());
    match places(view, pattern) {
        Some(places) => last(queue, places, move |begin| is_at(view, begin, pattern, same)),
        None => Ok(None),
    }
}

/// At how many places a pattern might occur; `None` if it is longer than the elements.
fn places<T, U>(view: View<'_, T>, pattern: View<'_, U>) -> Option<usize> {
    view.raw().len().checked_sub(pattern.raw().len()).map(|last| last + 1)
}

/// The index of the first of `count` neighbours that `predicate` holds for. A `count` of 0 is at
/// index 0.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// assert_eq!(algorithms::search_n(&queue, &[0, 7, 0, 7, 7, 7], 2, |x| *x == 7)?, Some(3));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn search_n<T, I, P>(
    queue: &Queue,
    input: &I,
    count: usize,
    predicate: P,
) -> Result<Option<usize>, LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    P: Fn(&T) -> bool + Function,
{
    let input = input.read_on(queue)?;
    let view = input.view();
    let Some(last) = view.raw().len().checked_sub(count) else { return Ok(None) };
    // The first place is where a run begins, so the elements of a run are tested twice at most.
    first(queue, last + 1, move |begin| {
        (begin == 0 || count == 0 || !predicate(&view[begin - 1]))
            && view[begin..begin + count].iter().all(predicate)
    })
}
