//! How an algorithm divides its elements among work-items: a chunk of neighbours for each.
//!
//! A work-item goes through its chunk alone, without barriers, which are slow on the host. Between
//! the launches of an algorithm its work-items exchange one value for each chunk.

use crate::api::queue::Queue;

/// Chunks for each work-item that the host runs at a time, so that all end at about the same time.
const SHARES: usize = 8;

/// The least number of elements of a chunk on the host, and on a GPU.
const LEAST_ON_HOST: usize = 256;
const LEAST_ON_GPU: usize = 32;

/// One work-item goes through the values of all chunks on its own, so there are not more on a GPU.
const MOST_ON_GPU: usize = 1 << 13;

/// A division of `len` elements into chunks, none of which is empty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunks {
    len: usize,
    /// The elements of a chunk; the last one may have fewer. At least 1.
    pub(crate) size: usize,
    pub(crate) count: usize,
}

impl Chunks {
    pub(crate) fn new(queue: &Queue, len: usize) -> Self {
        let device = queue.device().backend();
        let concurrency = device.concurrency();
        let (least, most) = if device.traits().runs_on_host {
            (LEAST_ON_HOST, SHARES * concurrency)
        } else {
            (LEAST_ON_GPU, concurrency.min(MOST_ON_GPU))
        };
        Self::of_size(len, len.div_ceil(most.max(1)).max(least))
    }

    pub(super) const fn of_size(len: usize, size: usize) -> Self {
        Self { len, size, count: len.div_ceil(size) }
    }

    /// Where chunk `index` begins and ends.
    #[inline]
    pub(super) fn bounds(self, index: usize) -> (usize, usize) {
        // No chunk begins behind the last element, so nothing wraps.
        let begin = index.wrapping_mul(self.size);
        (begin, begin.wrapping_add(self.size.min(self.len.wrapping_sub(begin))))
    }
}
