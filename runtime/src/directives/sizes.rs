//! Gangs, workers and vectors: the size of blocks.

use crate::api::queue::Queue;
use crate::directives::queue::LaunchQueue;

/// Sizes for some kinds of devices.
#[derive(Clone, Copy, Debug)]
pub struct Sizes<'a> {
    /// What names of devices begin with; all others if there are none.
    kinds: &'a [&'a str],
    gangs: Option<usize>,
    block: Option<usize>,
}

impl<'a> Sizes<'a> {
    /// So many gangs, or work-items of a block.
    #[must_use]
    pub const fn new(kinds: &'a [&'a str], gangs: Option<usize>, block: Option<usize>) -> Self {
        Self { kinds, gangs, block }
    }

    /// The work-items of a block for so many iterations: if only the gangs are known, the iterations
    /// are divided among them.
    fn block(&self, iterations: usize, most: usize) -> Option<usize> {
        let derived = || self.gangs.map(|gangs| iterations.div_ceil(gangs.max(1)));
        self.block.or_else(derived).map(|block| block.clamp(1, most.max(1)))
    }
}

/// The sizes for a device: the last ones that name its kind, or else those for all others.
fn of_device<'a>(device: &str, sizes: &'a [Sizes<'a>]) -> Option<&'a Sizes<'a>> {
    let kind = device.split(':').next().unwrap_or_default();
    let named = sizes.iter().rev().find(|own| own.kinds.contains(&kind));
    named.or_else(|| sizes.iter().rev().find(|own| own.kinds.is_empty()))
}

/// A handle to a queue with the size of blocks for so many iterations.
#[must_use]
pub fn sized(queue: &Queue, iterations: usize, sizes: &[Sizes<'_>]) -> LaunchQueue {
    let device = queue.device();
    let block = of_device(device.name(), sizes)
        .and_then(|own| own.block(iterations, device.max_group_size()));
    block.map_or_else(|| queue.clone(), |block| queue.with_block_size(block)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_derives_from_the_rest() {
        let block =
            |gangs, block, iterations| Sizes::new(&[], gangs, block).block(iterations, 1024);
        assert_eq!(block(None, None, 1000), None);
        assert_eq!(block(None, Some(64), 1000), Some(64));
        assert_eq!(block(Some(10), None, 1000), Some(100));
        assert_eq!(block(Some(7), None, 1000), Some(143));
        assert_eq!(block(Some(10), Some(32), 1000), Some(32));
        assert_eq!(block(Some(1), None, 1 << 20), Some(1024));
        assert_eq!(block(Some(0), None, 0), Some(1));
    }

    #[test]
    fn the_last_sizes_for_a_kind_count() {
        let all = [
            Sizes::new(&[], None, Some(1)),
            Sizes::new(&["cuda", "hip"], None, Some(2)),
            Sizes::new(&["cpu"], None, Some(3)),
            Sizes::new(&["hip"], None, Some(4)),
        ];
        let of = |device| of_device(device, &all).and_then(|own| own.block);
        let found = ["cuda:1", "hip:0", "cpu", "cpu:copies", "native"].map(of);
        assert_eq!(found, [Some(2), Some(4), Some(3), Some(3), Some(1)]);
        assert!(of_device("native", &all[1..]).is_none());
    }
}
