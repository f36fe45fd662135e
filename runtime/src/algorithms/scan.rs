//! Scans (prefix sums): reduce, then scan.
//!
//! Three launches: each chunk is reduced; one work-item scans the chunks' values; each chunk is
//! scanned, starting from its value. On GPUs one launch with [groups] reads the input once.

use crate::algorithms::chunks::Chunks;
use crate::algorithms::collect::collect;
use crate::algorithms::groups;
use crate::algorithms::operand::{Function, check_len};
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::operand::{Input, Output};
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// A scan of elements of type `T`, made from those of the input by `transform`.
#[derive(Clone, Copy)]
struct Scan<'a, S, T, M, F> {
    input: View<'a, S>,
    transform: M,
    op: F,
    /// What comes before the first element.
    init: Option<T>,
}

impl<S, T, M, F> Scan<'_, S, T, M, F>
where
    S: Element,
    T: Element,
    M: Fn(S) -> T + Function,
    F: Fn(T, T) -> T + Function,
{
    /// Writes the scan: of each element with those before it, or, if `exclusive`, of those before
    /// it. An exclusive scan has an initial value.
    fn run(
        self,
        queue: &Queue,
        mut output: ViewMut<'_, T>,
        exclusive: bool,
    ) -> Result<(), LaunchError> {
        let Self { input, transform, op, init } = self;
        if groups::suit::<T>(queue) {
            let to = output.reborrow();
            match groups::scan::scan(queue, input, to, init, (transform, op), exclusive) {
                // Of a closure, or of a group that waited too long: this tells.
                Err(LaunchError::Panicked(_)) => {}
                result => return result,
            }
        }
        let chunks = Chunks::new(queue, input.raw().len());
        let carries = self.carries(queue, chunks)?;
        let carries = carries.view();
        let sources = (0.., output.chunks_mut(chunks.size), input.chunks(chunks.size));
        queue.for_each(sources, move |(chunk, output, input)| {
            let carry = if chunk == 0 { init } else { Some(carries[chunk]) };
            let mut elements = output.iter_mut().zip(input);
            match carry {
                Some(mut carry) if exclusive => {
                    for (to, from) in elements {
                        *to = carry;
                        carry = op(carry, transform(*from));
                    }
                }
                carry => {
                    let Some((to, first)) = elements.next() else { return };
                    let first = transform(*first);
                    let mut sum = carry.map_or(first, |carry| op(carry, first));
                    *to = sum;
                    for (to, from) in elements {
                        sum = op(sum, transform(*from));
                        *to = sum;
                    }
                }
            }
        })
    }

    /// What comes before each chunk, except for the first one; empty if there are no others.
    fn carries(self, queue: &Queue, chunks: Chunks) -> Result<Buffer<T>, LaunchError> {
        let Self { input, transform, op, init } = self;
        let count = if chunks.count < 2 { 0 } else { chunks.count };
        let mut totals = collect(queue, count, move |chunk| {
            let (begin, end) = chunks.bounds(chunk);
            let mut total = transform(input[begin]);
            for i in begin + 1..end {
                total = op(total, transform(input[i]));
            }
            total
        })?;
        queue.for_each(totals.chunks_mut(count.max(1)), move |totals| {
            let mut carry = match init {
                Some(init) => op(init, totals[0]),
                None => totals[0],
            };
            for total in &mut totals[1..] {
                let own = *total;
                *total = carry;
                carry = op(carry, own);
            }
        })?;
        Ok(totals)
    }
}

/// Runs a scan with operands as users give them.
fn scan<I, O, M, F>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    init: Option<O::Element>,
    (transform, op): (M, F),
    exclusive: bool,
) -> Result<(), LaunchError>
where
    I: Input + ?Sized,
    O: Output + ?Sized,
    M: Fn(I::Element) -> O::Element + Function,
    F: Fn(O::Element, O::Element) -> O::Element + Function,
{
    let input = input.read_on(queue)?;
    // SAFETY: a scan writes each of them, and reads what it has written.
    let mut output = unsafe { output.overwrite_on(queue)? };
    let (from, to) = (input.view(), output.view_mut());
    check_len(1, from.raw().len(), to.len())?;
    Scan { input: from, transform, op, init }.run(queue, to, exclusive)?;
    output.finish()
}

/// Writes to `output[i]` the elements `input[0]` to `input[i]`, combined by `op`.
///
/// `op` is associative; it need not be commutative. With floats, whose addition is not quite
/// associative, the rounding depends on the number of elements and on the device, and is the same
/// each time.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut sums = [0; 4];
/// algorithms::inclusive_scan(&queue, &[1, 2, 3, 4], &mut sums, |a, b| a + b)?;
/// assert_eq!(sums, [1, 3, 6, 10]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] unless `output` is as long as `input`.
pub fn inclusive_scan<T, I, O, F>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    op: F,
) -> Result<(), LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    F: Fn(T, T) -> T + Function,
{
    scan(queue, input, output, None, (|own| own, op), false)
}

/// As [`inclusive_scan`], with `init` before the first element.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut sums = [0; 4];
/// algorithms::inclusive_scan_from(&queue, &[1, 2, 3, 4], &mut sums, 10, |a, b| a + b)?;
/// assert_eq!(sums, [11, 13, 16, 20]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`inclusive_scan`].
pub fn inclusive_scan_from<T, I, O, F>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    init: T,
    op: F,
) -> Result<(), LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    F: Fn(T, T) -> T + Function,
{
    scan(queue, input, output, Some(init), (|own| own, op), false)
}

/// Writes to `output[i]` the value `init` and the elements before `input[i]`, combined by the
/// associative `op`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let lengths = Buffer::from_slice(&queue, &[3, 1, 4, 1])?;
/// let mut begins = Buffer::with_len(&queue, 4)?;
/// algorithms::exclusive_scan(&queue, &lengths, &mut begins, 0, |a, b| a + b)?;
/// assert_eq!(begins.to_vec(), [0, 3, 4, 8]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`inclusive_scan`].
pub fn exclusive_scan<T, I, O, F>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    init: T,
    op: F,
) -> Result<(), LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    F: Fn(T, T) -> T + Function,
{
    scan(queue, input, output, Some(init), (|own| own, op), true)
}

/// An [`inclusive_scan`] of what `transform` makes of the elements. `transform` is called up to
/// twice for an element.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut sums = [0; 4];
/// let (bytes, square) = ([1_u8, 2, 3, 20], |x: u8| u32::from(x) * u32::from(x));
/// algorithms::transform_inclusive_scan(&queue, &bytes, &mut sums, |a, b| a + b, square)?;
/// assert_eq!(sums, [1, 5, 14, 414]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`inclusive_scan`].
pub fn transform_inclusive_scan<I, O, F, M>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    op: F,
    transform: M,
) -> Result<(), LaunchError>
where
    I: Input + ?Sized,
    O: Output + ?Sized,
    F: Fn(O::Element, O::Element) -> O::Element + Function,
    M: Fn(I::Element) -> O::Element + Function,
{
    scan(queue, input, output, None, (transform, op), false)
}

/// As [`transform_inclusive_scan`], with `init` before the first element.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut sums = [0; 3];
/// let add = |a: i32, b: i32| a + b;
/// algorithms::transform_inclusive_scan_from(&queue, &[1, 2, 3], &mut sums, 10, add, |x| 2 * x)?;
/// assert_eq!(sums, [12, 16, 22]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`inclusive_scan`].
pub fn transform_inclusive_scan_from<I, O, F, M>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    init: O::Element,
    op: F,
    transform: M,
) -> Result<(), LaunchError>
where
    I: Input + ?Sized,
    O: Output + ?Sized,
    F: Fn(O::Element, O::Element) -> O::Element + Function,
    M: Fn(I::Element) -> O::Element + Function,
{
    scan(queue, input, output, Some(init), (transform, op), false)
}

/// An [`exclusive_scan`] of what `transform` makes of the elements. `transform` is called up to
/// twice for an element.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let words = [(3, 'a'), (1, 'b'), (4, 'c')];
/// let mut begins = [0; 3];
/// let add = |a: u32, b: u32| a + b;
/// algorithms::transform_exclusive_scan(&queue, &words, &mut begins, 0, add, |word| word.0)?;
/// assert_eq!(begins, [0, 3, 4]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`inclusive_scan`].
pub fn transform_exclusive_scan<I, O, F, M>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    init: O::Element,
    op: F,
    transform: M,
) -> Result<(), LaunchError>
where
    I: Input + ?Sized,
    O: Output + ?Sized,
    F: Fn(O::Element, O::Element) -> O::Element + Function,
    M: Fn(I::Element) -> O::Element + Function,
{
    scan(queue, input, output, Some(init), (transform, op), true)
}

/// Writes to `output[i]` the difference `op(input[i], input[i - 1])`, and `input[0]` to
/// `output[0]`.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut steps = [0; 4];
/// algorithms::adjacent_difference(&queue, &[1, 3, 6, 10], &mut steps, |own, last| own - last)?;
/// assert_eq!(steps, [1, 2, 3, 4]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] unless `output` is as long as `input`.
pub fn adjacent_difference<T, I, O, F>(
    queue: &Queue,
    input: &I,
    output: &mut O,
    op: F,
) -> Result<(), LaunchError>
where
    T: Element,
    I: Input<Element = T> + ?Sized,
    O: Output<Element = T> + ?Sized,
    F: Fn(T, T) -> T + Function,
{
    let input = input.read_on(queue)?;
    // SAFETY: the kernel writes each of them.
    let mut output = unsafe { output.overwrite_on(queue)? };
    let from = input.view();
    check_len(1, from.raw().len(), output.view_mut().len())?;
    queue.for_each((0.., output.view_mut()), move |(i, to)| {
        *to = if i == 0 { from[0] } else { op(from[i], from[i - 1]) };
    })?;
    output.finish()
}
