//! Outputs whose size is not known before: each chunk emits any number of elements.
//!
//! Three launches: each chunk counts what it emits; one work-item adds the counts, so that each
//! chunk knows where its elements go; each chunk emits again, and writes. So nothing is
//! synchronized, and the order is that of the chunks.

use crate::algorithms::collect::{collect, read};
use crate::algorithms::operand::{Function, check_room};
use crate::api::queue::Queue;
use crate::data::view::ViewMut;
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Takes what one chunk emits.
#[derive(Debug)]
pub(super) struct Sink<'a, T: Element> {
    output: &'a ViewMut<'a, T>,
    next: usize,
    /// What comes from here on is only counted. Not behind the end of the output.
    end: usize,
}

impl<T: Element> Sink<'_, T> {
    #[inline]
    pub(super) fn push(&mut self, value: T) {
        if self.next < self.end {
            // SAFETY: the end is in the output, and no two sinks that write have a place in common.
            unsafe { self.output.set_unchecked(self.next, value) };
        }
        self.next = self.next.wrapping_add(1);
    }

    /// Takes `value` if `keep`. There is no branch, since it would be unpredictable: what is not kept is
    /// written, and then overwritten by the next value, since more come before the end.
    #[inline]
    pub(super) fn push_if(&mut self, value: T, keep: bool) {
        let next = self.next;
        self.push(value);
        self.next = next.wrapping_add(usize::from(keep));
    }
}

/// Writes what `produce` emits for each of `chunks` to the beginning of `output`. Returns how many
/// elements that is, and the rest of the output.
///
/// `produce` is called twice for each chunk. If it emits more the second time, that is left out; if
/// less, the values of some places are unspecified.
///
/// # Errors
/// [`LaunchError::Length`] with the operand's index `source_index` if the output is too short. Then
/// nothing is written.
pub(super) fn emit<'a, T, P>(
    queue: &Queue,
    chunks: usize,
    output: ViewMut<'a, T>,
    source_index: usize,
    produce: P,
) -> Result<(usize, ViewMut<'a, T>), LaunchError>
where
    T: Element,
    P: Fn(usize, &mut Sink<'_, T>) + Function,
{
    if chunks == 0 {
        return Ok((0, output));
    }
    let mut ends = collect(queue, chunks, move |chunk| {
        let nowhere = ViewMut::of_slice(&mut []);
        let mut sink = Sink { output: &nowhere, next: 0, end: 0 };
        produce(chunk, &mut sink);
        sink.next
    })?;
    queue.for_each(ends.chunks_mut(chunks), |ends| {
        let mut end = 0_usize;
        for own in ends {
            end = end.wrapping_add(*own);
            *own = end;
        }
    })?;
    let total = read(&ends, chunks - 1)?;
    check_room(source_index, total, output.len())?;
    let (output, rest) = output.split_at(total)?;
    let ends = ends.view();
    queue.parallel_for(chunks, move |item| {
        let chunk = item.x();
        // Each chunk writes between the end of the one before it and its own; the last of these is
        // that of the output, and none is larger.
        let next = if chunk == 0 { 0 } else { ends[chunk - 1] };
        let mut sink = Sink { output: &output, next, end: ends[chunk] };
        produce(chunk, &mut sink);
    })?;
    Ok((total, rest))
}
