//! Radix sorts: by the digits of keys that are numbers, from the least significant one.
//!
//! A pass moves all keys to the places of their digits, and keys of the same digit keep their
//! order. On the host each chunk counts its digits; one work-item adds the counts, so that each
//! chunk knows where its keys of each digit go; each chunk moves its keys. Passes in which all keys
//! have the same digit are left out. On GPUs [groups] sort.

use crate::algorithms::chunks::Chunks;
use crate::algorithms::collect::collect;
use crate::algorithms::groups;
use crate::algorithms::operand::check_len;
use crate::algorithms::radix_key::{DIGITS, RadixKey};
use crate::algorithms::sort::sort_views;
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::data::operand::Output;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Fewer elements are sorted by comparisons on the host.
const FEW: usize = 1 << 10;

/// Sorts `values` by their `keys`, and these too. There are as many of both, or `V` has no size.
fn sort_numbers<K, V>(
    queue: &Queue,
    mut keys: ViewMut<'_, K>,
    mut values: ViewMut<'_, V>,
) -> Result<(), LaunchError>
where
    K: RadixKey,
    V: Element,
{
    let len = keys.len();
    if groups::radix::suit::<K, V>(queue, len) {
        return groups::radix::sort(queue, keys, values);
    }
    // On a GPU the chunks' counts would be too many for one work-item.
    if len < FEW || !queue.device().backend().traits().runs_on_host {
        let (k, v) = (keys.shared(), values.shared());
        if size_of::<V>() == 0 {
            return sort_views(queue, keys, K::order);
        }
        let mut pairs = collect(queue, len, move |i| (k[i], v[i]))?;
        sort_views(queue, pairs.view_mut(), |a: &(K, V), b: &(K, V)| K::order(&a.0, &b.0))?;
        return queue.for_each((keys, values, &pairs), |(key, value, pair)| {
            (*key, *value) = *pair;
        });
    }
    let moved = if size_of::<V>() == 0 { 0 } else { len };
    let mut other_keys = Buffer::<K>::uninit(queue, len)?;
    let mut other_values = Buffer::<V>::uninit(queue, moved)?;
    let mut is_here = true;
    for pass in 0..K::PASSES {
        // SAFETY: the first pass writes all elements of the other buffers, and each pass reads what
        // the one before it has written. The views last for the launches of the pass.
        let has_moved = unsafe {
            let here = (ViewMut::new(keys.elements(), len), ViewMut::new(values.elements(), moved));
            let there = (
                ViewMut::new(other_keys.view_mut().elements().cast::<K>(), len),
                ViewMut::new(other_values.view_mut().elements().cast::<V>(), moved),
            );
            let (from, to) = if is_here { (here, there) } else { (there, here) };
            let from = (from.0.into_view(), from.1.into_view());
            sort_digits(queue, pass, from, to)?
        };
        is_here ^= has_moved;
    }
    if !is_here {
        // SAFETY: the last pass that moved something has written all of them.
        let (sorted, moved) = unsafe { (other_keys.assume_init(), other_values.assume_init()) };
        queue.for_each((keys.reborrow(), &sorted), |(to, from)| *to = *from)?;
        if size_of::<V>() != 0 {
            queue.for_each((values.reborrow(), &moved), |(to, from)| *to = *from)?;
        }
    }
    Ok(())
}

/// One pass on the host. Returns whether there was anything to do.
fn sort_digits<K, V>(
    queue: &Queue,
    pass: usize,
    (keys, values): (View<'_, K>, View<'_, V>),
    (keys_to, values_to): (ViewMut<'_, K>, ViewMut<'_, V>),
) -> Result<bool, LaunchError>
where
    K: RadixKey,
    V: Element,
{
    let len = keys.raw().len();
    let threads = queue.device().backend().concurrency();
    let chunks = Chunks::of_size(len, len.div_ceil(threads.max(1)).max(FEW));
    // For each chunk its digits.
    let mut counts = Buffer::filled(queue, chunks.count * DIGITS, 0_usize)?;
    let sources = (keys.chunks(chunks.size), counts.chunks_mut(DIGITS));
    queue.for_each(sources, move |(keys, counts)| {
        let mut own = [0_usize; DIGITS];
        for key in keys {
            let digit = key.digit(pass) % DIGITS;
            own[digit] = own[digit].wrapping_add(1);
        }
        counts.copy_from_slice(&own);
    })?;
    let mut starts = counts.to_vec();
    let mut start = 0;
    for digit in 0..DIGITS {
        let before = start;
        for chunk in starts.chunks_mut(DIGITS) {
            start += std::mem::replace(&mut chunk[digit], start);
        }
        if start - before == len {
            return Ok(false);
        }
    }
    counts = Buffer::from_slice(queue, &starts)?;
    let sources = (0.., counts.chunks_mut(DIGITS));
    queue.for_each(sources, move |(chunk, starts)| {
        let mut next = [0_usize; DIGITS];
        next.copy_from_slice(starts);
        let (begin, end) = chunks.bounds(chunk);
        for i in begin..end {
            let key = keys[i];
            let digit = key.digit(pass) % DIGITS;
            let to = next[digit];
            next[digit] = to.wrapping_add(1);
            // SAFETY: each chunk has so many places for a digit as it has keys of it, and no two
            // have the same ones; all are less than the length.
            unsafe {
                keys_to.set_unchecked(to, key);
                if size_of::<V>() != 0 {
                    values_to.set_unchecked(to, values[i]);
                }
            }
        }
    })?;
    Ok(true)
}

/// Sorts numbers: integers by value, floats by [`total_cmp`](f64::total_cmp).
///
/// It is faster than [`sort`](super::sort), which compares. For another order, or for other
/// elements, sort the keys with the elements, or their indices, as values: [`radix_sort_pairs`].
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = Buffer::from_slice(&queue, &[2.5_f32, -1.0, 7.0, -0.0, 0.0])?;
/// algorithms::radix_sort(&queue, &mut numbers)?;
/// assert_eq!(numbers.to_vec(), [-1.0, -0.0, 0.0, 2.5, 7.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn radix_sort<K, D>(queue: &Queue, keys: &mut D) -> Result<(), LaunchError>
where
    K: RadixKey,
    D: Output<Element = K> + ?Sized,
{
    let mut keys = keys.write_on(queue)?;
    sort_numbers(queue, keys.view_mut(), ViewMut::<[u8; 0]>::of_slice(&mut []))?;
    keys.finish()
}

/// Sorts `values` by their `keys`, which are numbers, and these too. Values of equal keys keep
/// their order.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let (mut keys, mut values) = ([2, -1, 2, 0], *b"abcd");
/// algorithms::radix_sort_pairs(&queue, &mut keys, &mut values)?;
/// assert_eq!((keys, &values), ([-1, 0, 2, 2], b"bdac"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] unless there are as many values as keys.
pub fn radix_sort_pairs<K, V, D, E>(
    queue: &Queue,
    keys: &mut D,
    values: &mut E,
) -> Result<(), LaunchError>
where
    K: RadixKey,
    V: Element,
    D: Output<Element = K> + ?Sized,
    E: Output<Element = V> + ?Sized,
{
    let mut keys = keys.write_on(queue)?;
    let mut values = values.write_on(queue)?;
    check_len(1, keys.view_mut().len(), values.view_mut().len())?;
    sort_numbers(queue, keys.view_mut(), values.view_mut())?;
    keys.finish()?;
    values.finish()
}
