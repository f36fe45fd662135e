//! Folds of all elements to one value, in their order.
//!
//! Two launches: each chunk is folded; one work-item folds the chunks' values. On GPUs there is one
//! launch with [groups].

use crate::algorithms::chunks::Chunks;
use crate::algorithms::collect::{collect, read, single};
use crate::algorithms::groups;
use crate::algorithms::operand::Function;
use crate::api::queue::Queue;
use crate::error::LaunchError;
use crate::kernel::element::Element;

/// Combines `item(0)` to `item(len - 1)` by the associative `op`; `None` if there are none.
pub(super) fn fold<R, M, F>(
    queue: &Queue,
    len: usize,
    item: M,
    op: F,
) -> Result<Option<R>, LaunchError>
where
    R: Element,
    M: Fn(usize) -> R + Function,
    F: Fn(R, R) -> R + Function,
{
    if len == 0 {
        return Ok(None);
    }
    if groups::suit::<R>(queue) {
        return groups::fold::fold(queue, None, len, item, op).map(Some);
    }
    let chunks = Chunks::new(queue, len);
    let folded = collect(queue, chunks.count, move |chunk| {
        let (begin, end) = chunks.bounds(chunk);
        let mut folded = item(begin);
        for i in begin + 1..end {
            folded = op(folded, item(i));
        }
        folded
    })?;
    if chunks.count == 1 {
        return read(&folded, 0).map(Some);
    }
    let folded = folded.view();
    single(queue, move || {
        let mut result = folded[0];
        for own in &folded[1..] {
            result = op(result, *own);
        }
        result
    })
    .map(Some)
}

/// Combines `init` and `item(0)` to `item(len - 1)` by the associative `op`, all on the device.
pub(super) fn fold_from<R, M, F>(
    queue: &Queue,
    init: R,
    len: usize,
    item: M,
    op: F,
) -> Result<R, LaunchError>
where
    R: Element,
    M: Fn(usize) -> R + Function,
    F: Fn(R, R) -> R + Function,
{
    if len != 0 && groups::suit::<R>(queue) {
        return groups::fold::fold(queue, Some(init), len, item, op);
    }
    match fold(queue, len, item, op)? {
        Some(rest) => single(queue, move || op(init, rest)),
        None => Ok(init),
    }
}
