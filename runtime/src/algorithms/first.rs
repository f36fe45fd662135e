//! The first index at which something holds.

use std::sync::atomic::Ordering::Relaxed;

use crate::algorithms::chunks::Chunks;
use crate::algorithms::collect::read;
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::data::buffer::Buffer;
use crate::error::LaunchError;

/// So many indices are tested between two looks at what others have found.
const BLOCK: usize = 128;

/// The first index below `len` for which `test` holds.
///
/// Work-items test their chunks in order, and end when one of an earlier chunk has found something.
pub(super) fn first<F>(queue: &Queue, len: usize, test: F) -> Result<Option<usize>, LaunchError>
where
    F: Fn(usize) -> bool + Function,
{
    let chunks = Chunks::new(queue, len);
    // No index is as large.
    let mut found = Buffer::filled(queue, 1, usize::MAX)?;
    let earliest = found.atomic_view();
    queue.parallel_for(chunks.count, move |item| {
        let (mut begin, end) = chunks.bounds(item.x());
        while begin < end && begin < earliest[0].load(Relaxed) {
            let block_end = end.min(begin.wrapping_add(BLOCK));
            // All of them, so that vector instructions can test several at a time.
            if (begin..block_end).fold(false, |found, i| found | test(i)) {
                let found = (begin..block_end).find(|i| test(*i)).unwrap_or(begin);
                earliest[0].fetch_min(found, Relaxed);
                return;
            }
            begin = block_end;
        }
    })?;
    Ok(Some(read(&found, 0)?).filter(|found| *found != usize::MAX))
}

/// The last index below `len` for which `test` holds.
pub(super) fn last<F>(queue: &Queue, len: usize, test: F) -> Result<Option<usize>, LaunchError>
where
    F: Fn(usize) -> bool + Function,
{
    let mirrored = move |i: usize| len.wrapping_sub(1).wrapping_sub(i);
    Ok(first(queue, len, move |i| test(mirrored(i)))?.map(mirrored))
}
