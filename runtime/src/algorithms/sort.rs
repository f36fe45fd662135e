//! Sorts: sorted chunks, then merges of pairs of runs by merge path.
//!
//! Each work-item sorts its chunk with its own merge sort, from the bottom up, block by block.
//! Then each launch merges pairs of runs to runs of twice the length, and all work-items write
//! parts of the same size (Green, McColl, Bader, "GPU merge path", 2012). So the sort is stable,
//! takes O(n log n) comparisons, and is balanced for any input. It goes back and forth between the
//! data and one copy of it.
//!
//! On GPUs [groups] sort.

use std::cmp::Ordering;

use crate::algorithms::chunks::Chunks;
use crate::algorithms::collect::{collect, copy_of};
use crate::algorithms::groups;
use crate::algorithms::merge_path::merge_part;
use crate::algorithms::operand::{Function, check_len};
use crate::api::queue::Queue;
use crate::data::operand::Output;
use crate::data::view::{View, ViewMut};
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Runs of this length are sorted by insertion.
const RUN: usize = 16;

/// So many elements are sorted before the next ones, so that they stay in a cache.
const BLOCK: usize = 1 << 12;

/// Sorts the elements.
pub(super) fn sort_views<T, C>(
    queue: &Queue,
    mut data: ViewMut<'_, T>,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let len = data.len();
    if len < 2 {
        return Ok(());
    }
    if groups::suit::<T>(queue) {
        return groups::sort::sort(queue, data, compare);
    }
    let mut spare = copy_of(queue, data.reborrow().into_view())?;
    let chunks = Chunks::new(queue, len);
    // The last launch writes to `data`.
    let merges = merges_of(len, chunks.size);
    let (mut data, mut other) = (data.reborrow(), spare.view_mut());
    if merges.is_multiple_of(2) {
        sort_chunks(queue, data.reborrow(), other.reborrow(), chunks, compare)?;
    } else {
        sort_chunks(queue, other.reborrow(), data.reborrow(), chunks, compare)?;
        std::mem::swap(&mut data, &mut other);
    }
    let mut run = chunks.size;
    for _ in 0..merges {
        merge_runs(queue, data.reborrow().into_view(), other.reborrow(), chunks, run, compare)?;
        std::mem::swap(&mut data, &mut other);
        run = run.saturating_mul(2);
    }
    Ok(())
}

/// Sorts each chunk of `data`; `spare` has the same elements.
fn sort_chunks<T, C>(
    queue: &Queue,
    data: ViewMut<'_, T>,
    spare: ViewMut<'_, T>,
    chunks: Chunks,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let sources = (data.chunks_mut(chunks.size), spare.chunks_mut(chunks.size));
    queue.for_each(sources, move |(data, spare)| merge_sort(data, spare, compare))
}

/// Sorts `data`; `spare` has the same elements.
fn merge_sort<T, C>(data: &mut [T], spare: &mut [T], compare: C)
where
    T: Copy,
    C: Fn(&T, &T) -> Ordering + Copy,
{
    let merges = merges_of(data.len(), BLOCK);
    let (from, to) = if merges.is_multiple_of(2) { (data, spare) } else { (spare, data) };
    for (from, to) in from.chunks_mut(BLOCK).zip(to.chunks_mut(BLOCK)) {
        sort_block(from, to, compare);
    }
    merge_all(from, to, BLOCK, merges, compare);
}

/// Sorts a few elements of `data`; `spare` has the same ones.
fn sort_block<T, C>(data: &mut [T], spare: &mut [T], compare: C)
where
    T: Copy,
    C: Fn(&T, &T) -> Ordering + Copy,
{
    let merges = merges_of(data.len(), RUN);
    let (from, to) = if merges.is_multiple_of(2) { (data, spare) } else { (spare, data) };
    for run in from.chunks_mut(RUN) {
        insertion_sort(run, compare);
    }
    merge_all(from, to, RUN, merges, compare);
}

/// How often the length of runs doubles until there is one.
const fn merges_of(len: usize, run: usize) -> u32 {
    len.div_ceil(run).next_power_of_two().ilog2()
}

/// Merges pairs of runs to `to`, then back, and so on, so many times.
fn merge_all<'a, T, C>(
    mut from: &'a mut [T],
    mut to: &'a mut [T],
    mut run: usize,
    merges: u32,
    compare: C,
) where
    T: Copy,
    C: Fn(&T, &T) -> Ordering + Copy,
{
    for _ in 0..merges {
        for (from, to) in from.chunks(2 * run).zip(to.chunks_mut(2 * run)) {
            let (a, b) = from.split_at(run.min(from.len()));
            match (a.last(), b.first()) {
                (Some(last), Some(first)) if compare(first, last).is_lt() => {
                    merge_part(a, b, 0, to, compare);
                }
                _ => to.copy_from_slice(from),
            }
        }
        std::mem::swap(&mut from, &mut to);
        run *= 2;
    }
}

fn insertion_sort<T, C>(run: &mut [T], compare: C)
where
    T: Copy,
    C: Fn(&T, &T) -> Ordering,
{
    for end in 1..run.len() {
        let own = run[end];
        let mut to = end;
        while to > 0 && compare(&own, &run[to - 1]).is_lt() {
            run[to] = run[to - 1];
            to -= 1;
        }
        run[to] = own;
    }
}

/// Merges pairs of neighbouring runs of `run` elements, a multiple of a chunk's.
fn merge_runs<T, C>(
    queue: &Queue,
    from: View<'_, T>,
    to: ViewMut<'_, T>,
    chunks: Chunks,
    run: usize,
    compare: C,
) -> Result<(), LaunchError>
where
    T: Element,
    C: Fn(&T, &T) -> Ordering + Function,
{
    queue.for_each((0.., to.chunks_mut(chunks.size)), move |(chunk, to)| {
        let begin = chunks.bounds(chunk).0;
        // Both runs begin here; the second one may be shorter, or empty.
        let pair = begin - begin % run.saturating_mul(2);
        let rest = &from[pair..];
        let (a, rest) = rest.split_at(run.min(rest.len()));
        merge_part(a, &rest[..run.min(rest.len())], begin - pair, to, compare);
    })
}

/// Sorts the elements; equal ones keep their order.
///
/// If `compare` is no total order, or panics, an element may be there more than once or not at all
/// in the end.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = Buffer::from_slice(&queue, &[2.5_f32, -1.0, 7.0])?;
/// algorithms::stable_sort(&queue, &mut numbers, f32::total_cmp)?;
/// assert_eq!(numbers.to_vec(), [-1.0, 2.5, 7.0]);
///
/// let mut words = [(3, 'a'), (1, 'b'), (3, 'c'), (1, 'd')];
/// algorithms::stable_sort(&queue, &mut words, |a, b| b.0.cmp(&a.0))?;
/// assert_eq!(words, [(3, 'a'), (3, 'c'), (1, 'b'), (1, 'd')]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn stable_sort<T, D, C>(queue: &Queue, data: &mut D, compare: C) -> Result<(), LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    let mut data = data.write_on(queue)?;
    sort_views(queue, data.view_mut(), compare)?;
    data.finish()
}

/// Sorts the elements; the order of equal ones is unspecified.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut numbers = [2.5_f64, -1.0, 7.0];
/// algorithms::sort(&queue, &mut numbers, |a, b| b.total_cmp(a))?;
/// assert_eq!(numbers, [7.0, 2.5, -1.0]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`].
pub fn sort<T, D, C>(queue: &Queue, data: &mut D, compare: C) -> Result<(), LaunchError>
where
    T: Element,
    D: Output<Element = T> + ?Sized,
    C: Fn(&T, &T) -> Ordering + Function,
{
    stable_sort(queue, data, compare)
}

/// Sorts `values` by their `keys`, and these too. Values of equal keys keep their order.
///
/// ```
/// # fn main() -> Result<(), schism::Error> {
/// use schism::algorithms;
/// use schism::prelude::*;
///
/// let queue = Queue::new()?;
/// let (mut keys, mut values) = ([2, 1, 2, 0], *b"abcd");
/// algorithms::sort_pairs(&queue, &mut keys, &mut values, u32::cmp)?;
/// assert_eq!((keys, &values), ([0, 1, 2, 2], b"dbac"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`LaunchError`], among others [`LaunchError::Length`] unless there are as many values as keys.
pub fn sort_pairs<K, V, D, E, C>(
    queue: &Queue,
    keys: &mut D,
    values: &mut E,
    compare: C,
) -> Result<(), LaunchError>
where
    K: Element,
    V: Element,
    D: Output<Element = K> + ?Sized,
    E: Output<Element = V> + ?Sized,
    C: Fn(&K, &K) -> Ordering + Function,
{
    let mut keys = keys.write_on(queue)?;
    let mut values = values.write_on(queue)?;
    let len = keys.view_mut().len();
    check_len(1, len, values.view_mut().len())?;
    let (k, v) = (keys.view_mut().into_view(), values.view_mut().into_view());
    let mut pairs = collect(queue, len, move |i| (k[i], v[i]))?;
    sort_views(queue, pairs.view_mut(), move |a: &(K, V), b: &(K, V)| compare(&a.0, &b.0))?;
    let sources = (keys.view_mut(), values.view_mut(), &pairs);
    queue.for_each(sources, |(key, value, pair)| (*key, *value) = *pair)?;
    keys.finish()?;
    values.finish()
}
