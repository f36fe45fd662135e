//! The free list of device memory.
//!
//! Allocating from the driver takes as long as some launches and waits for all of them, so memory
//! is allocated in blocks, and buffers are parts of blocks. This is the bookkeeping only: it
//! handles addresses and accesses no memory.

use std::collections::{BTreeMap, BTreeSet};

/// The granularity and alignment of allocations.
pub(crate) const GRAIN: usize = 512;

/// The free parts of a set of blocks.
#[derive(Debug, Default)]
pub(crate) struct FreeList {
    /// Size of each block, by its address.
    blocks: BTreeMap<u64, usize>,
    /// Size of each free part, by its address. Adjacent free parts of one block are merged.
    parts: BTreeMap<u64, usize>,
    /// The same by size.
    by_size: BTreeSet<(usize, u64)>,
}

impl FreeList {
    /// Rounds a size up to an allocation; `None` if that overflows.
    pub(crate) fn rounded(bytes: usize) -> Option<usize> {
        bytes.max(1).checked_next_multiple_of(GRAIN)
    }

    /// Adds a block, which is free.
    pub(crate) fn add_block(&mut self, address: u64, size: usize) {
        self.blocks.insert(address, size);
        self.insert(address, size);
    }

    /// Allocates from the smallest part that is large enough (best fit).
    pub(crate) fn take(&mut self, size: usize) -> Option<u64> {
        let &(found, address) = self.by_size.range((size, 0)..).next()?;
        self.remove(address, found);
        if found > size {
            self.insert(address + size as u64, found - size);
        }
        Some(address)
    }

    /// Frees an allocation.
    pub(crate) fn give(&mut self, address: u64, size: usize) {
        let Some((&block, &block_size)) = self.blocks.range(..=address).next_back() else { return };
        let (mut begin, mut size) = (address, size);
        let before = self.parts.range(block..begin).next_back().map(|(at, size)| (*at, *size));
        if let Some((at, before)) = before.filter(|(at, size)| at + *size as u64 == begin) {
            self.remove(at, before);
            (begin, size) = (at, size + before);
        }
        let (end, block_end) = (begin + size as u64, block + block_size as u64);
        if end < block_end
            && let Some(after) = self.parts.get(&end).copied()
        {
            self.remove(end, after);
            size += after;
        }
        self.insert(begin, size);
    }

    /// Removes the blocks of which nothing is in use.
    pub(crate) fn take_unused_blocks(&mut self) -> Vec<(u64, usize)> {
        let unused = |(address, size): &(u64, usize)| self.parts.get(address) == Some(size);
        let blocks = self.blocks.iter().map(|(address, size)| (*address, *size));
        let blocks: Vec<_> = blocks.filter(unused).collect();
        for (address, size) in &blocks {
            self.blocks.remove(address);
            self.remove(*address, *size);
        }
        blocks
    }

    /// Removes all blocks.
    pub(crate) fn take_all_blocks(&mut self) -> Vec<(u64, usize)> {
        self.parts.clear();
        self.by_size.clear();
        std::mem::take(&mut self.blocks).into_iter().collect()
    }

    fn insert(&mut self, address: u64, size: usize) {
        self.parts.insert(address, size);
        self.by_size.insert((size, address));
    }

    fn remove(&mut self, address: u64, size: usize) {
        self.parts.remove(&address);
        self.by_size.remove(&(size, address));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_smallest_part_that_fits() {
        let mut list = FreeList::default();
        list.add_block(0x10000, 8 * GRAIN);
        list.add_block(0x90000, 2 * GRAIN);
        assert_eq!(list.take(2 * GRAIN), Some(0x90000));
        assert_eq!(list.take(GRAIN), Some(0x10000));
        assert_eq!(list.take(8 * GRAIN), None);
        list.give(0x10000, GRAIN);
        assert_eq!(list.take(8 * GRAIN), Some(0x10000));
    }

    #[test]
    fn blocks_that_touch_stay_two() {
        let mut list = FreeList::default();
        list.add_block(0x1000, GRAIN);
        list.add_block(0x1000 + GRAIN as u64, GRAIN);
        let (first, second) = (list.take(GRAIN).unwrap(), list.take(GRAIN).unwrap());
        list.give(first, GRAIN);
        list.give(second, GRAIN);
        assert_eq!(list.take(2 * GRAIN), None);
        assert_eq!(list.take_unused_blocks().len(), 2);
        assert_eq!(list.take(GRAIN), None);
    }

    proptest! {
        /// Allocations never overlap and lie in blocks; when all are freed, whole blocks are free.
        #[test]
        fn pieces_do_not_overlap(steps in proptest::collection::vec((0_usize..40, any::<bool>()), 1..200)) {
            let mut list = FreeList::default();
            let blocks = [(0x1_0000_u64, 64 * GRAIN), (0x1_0000 + 64 * GRAIN as u64, 16 * GRAIN), (0x80_0000, 24 * GRAIN)];
            for (address, size) in blocks {
                list.add_block(address, size);
            }
            let mut used: Vec<(u64, usize)> = Vec::new();
            for (number, take) in steps {
                if take {
                    let size = FreeList::rounded(number * 300).unwrap();
                    if let Some(address) = list.take(size) {
                        let end = address + size as u64;
                        prop_assert!(blocks.iter().any(|(at, len)| *at <= address && end <= at + *len as u64));
                        prop_assert!(used.iter().all(|(at, len)| end <= *at || at + *len as u64 <= address));
                        used.push((address, size));
                    }
                } else if !used.is_empty() {
                    let (address, size) = used.swap_remove(number % used.len());
                    list.give(address, size);
                }
            }
            for (address, size) in used {
                list.give(address, size);
            }
            prop_assert_eq!(list.take_unused_blocks(), blocks);
        }
    }
}
