//! The result of a `collect` whose items are all written.
//!
//! Rayon's `collect` gives each part of a pipeline a result that says where the part begins, how much
//! room it has, and how many items are there; neighbours join to one for both. On a device that
//! would be most of the work. But what comes out is known: the whole room, with all items. So
//! work-items give no results, and the host makes the one of the whole.
//!
//! The result of a consumer that has got no item differs from it in one word: the number of items is
//! 0. Rayon's types are private, so the word is found by its value; where there is no such word, or
//! more than one, the result is not what this module knows.

use std::alloc::Layout;
use std::mem::MaybeUninit;

use crate::grid::Steps;

/// Where the room begins, its length, and the number of items that are there, in any order.
type Words = MaybeUninit<[usize; 3]>;

/// How the result of a consumer is made that has got all of its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collected {
    /// The word with the number of items.
    word: usize,
    len: usize,
}

impl Collected {
    /// How that of a consumer for `len` items is made, with this layout; `None` if it is not known.
    ///
    /// # Safety
    /// There is such a consumer, of a pipeline with these steps: one of rayon's `collect`, perhaps in
    /// those that change items.
    pub(crate) unsafe fn find(
        steps: &Steps,
        result: Layout,
        consumer: *const u8,
        len: usize,
    ) -> Option<Self> {
        if result != Layout::new::<Words>() || len == 0 {
            return None;
        }
        let mut empty = Words::uninit();
        // SAFETY: the result has the bytes of three words, which are an address and two numbers, as the
        // caller says. An empty one owns nothing.
        let words = unsafe {
            steps.of_no_item(consumer, empty.as_mut_ptr().cast());
            empty.assume_init()
        };
        let places = |value: usize| words.iter().filter(move |&&word| word == value).count();
        let word = words.iter().position(|&word| word == 0)?;
        (places(0) == 1 && places(len) == 1).then_some(Self { word, len })
    }

    /// Writes the result.
    ///
    /// # Safety
    /// This was found for such a consumer, all items are written, and there is a place for the result.
    pub(crate) unsafe fn write(self, steps: &Steps, consumer: *const u8, result: *mut u8) {
        // SAFETY: the caller's promises. It is one of the words that the result is made of.
        unsafe {
            steps.of_no_item(consumer, result);
            result.cast::<usize>().add(self.word).write(self.len);
        }
    }
}

#[cfg(test)]
mod tests {
    use rayon::iter::plumbing::{Consumer, Folder, Producer, ProducerCallback, UnindexedConsumer};
    use rayon::prelude::*;

    use super::*;

    /// Numbers, each of which a separate consumer gets.
    struct Source {
        len: usize,
    }

    /// What has such items.
    struct Numbers;

    impl Producer for Numbers {
        type Item = u64;
        type IntoIter = std::vec::IntoIter<u64>;

        fn into_iter(self) -> Self::IntoIter {
            Vec::new().into_iter()
        }

        fn split_at(self, _: usize) -> (Self, Self) {
            (Self, Self)
        }
    }

    impl ParallelIterator for Source {
        type Item = u64;

        fn drive_unindexed<C>(self, consumer: C) -> C::Result
        where
            C: UnindexedConsumer<u64>,
        {
            self.drive(consumer)
        }

        fn opt_len(&self) -> Option<usize> {
            Some(self.len)
        }
    }

    impl IndexedParallelIterator for Source {
        fn len(&self) -> usize {
            self.len
        }

        fn drive<C: Consumer<u64>>(self, consumer: C) -> C::Result {
            // SAFETY: bytes of a consumer that drops nothing; copies are used one after the other.
            let copy = || unsafe { std::ptr::from_ref(&consumer).read() };
            let steps = Steps::of::<Numbers, C>().expect("neither drops anything");
            let layout = Layout::new::<C::Result>();
            let place: *const u8 = std::ptr::from_ref(&consumer).cast();
            // SAFETY: the pipelines below end in `collect`.
            let found = unsafe { Collected::find(&steps, layout, place, self.len) }.expect("known");
            let mut rest = copy();
            for item in 0..self.len {
                let (first, behind, _) = rest.split_at(1);
                std::mem::forget(first.into_folder().consume(item as u64).complete());
                rest = behind;
            }
            let mut result = MaybeUninit::<C::Result>::uninit();
            // SAFETY: all items are written, and so is the result.
            unsafe {
                found.write(&steps, place, result.as_mut_ptr().cast());
                result.assume_init()
            }
        }

        fn with_producer<B: ProducerCallback<u64>>(self, _: B) -> B::Output {
            unreachable!("nothing here needs a producer")
        }
    }

    #[test]
    fn a_vector_owns_all_items() {
        let texts: Vec<String> = Source { len: 100 }.map(|item| item.to_string()).collect();
        assert!(texts.into_iter().eq((0..100).map(|item| item.to_string())));
        let numbers: Vec<u64> = Source { len: 1 }.collect();
        assert_eq!(numbers, [0]);
    }
}
