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

use std::mem::{ManuallyDrop, MaybeUninit};

use rayon::iter::plumbing::{Consumer, Folder};

/// Where the room begins, its length, and the number of items that are there, in any order.
const WORDS: usize = 3;

/// How the result of a consumer is made that has got all of its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collected {
    /// The word with the number of items.
    word: usize,
    len: usize,
}

impl Collected {
    /// How that of a consumer for `len` items is made; `None` if it is not known.
    ///
    /// # Safety
    /// The consumer is one of rayon's `collect`, perhaps in those that change items.
    pub(crate) unsafe fn find<C, I>(consumer: C, len: usize) -> Option<Self>
    where
        C: Consumer<I>,
    {
        let is_known = const { is_known::<C::Result>() };
        // An empty one owns nothing.
        let empty = ManuallyDrop::new(consumer.into_folder().complete());
        if !is_known || len == 0 {
            return None;
        }
        // SAFETY: three words, which are an address and two numbers, as the caller says.
        let words =
            unsafe { std::ptr::from_ref(&*empty).cast::<[MaybeUninit<usize>; WORDS]>().read() };
        // SAFETY: as above.
        let words = words.map(|word| unsafe { word.assume_init() });
        let places = |value: usize| words.iter().filter(move |&&word| word == value).count();
        let word = words.iter().position(|&word| word == 0)?;
        (places(0) == 1 && places(len) == 1).then_some(Self { word, len })
    }

    /// The result.
    ///
    /// # Safety
    /// This was found for such a consumer, of the same type, and all items are written.
    pub(crate) unsafe fn result<C, I>(self, consumer: C) -> C::Result
    where
        C: Consumer<I>,
    {
        let mut result = consumer.into_folder().complete();
        if const { is_known::<C::Result>() } {
            // SAFETY: one of the words that the result is made of.
            unsafe { (&raw mut result).cast::<usize>().add(self.word).write(self.len) };
        }
        result
    }
}

/// Whether a type may be that of such results.
const fn is_known<R>() -> bool {
    size_of::<R>() == WORDS * size_of::<usize>() && align_of::<R>() == align_of::<usize>()
}

#[cfg(test)]
mod tests {
    use rayon::iter::plumbing::{ProducerCallback, UnindexedConsumer};
    use rayon::prelude::*;

    use super::*;

    /// Numbers, each of which a separate consumer gets.
    struct Source {
        len: usize,
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
            // SAFETY: the pipelines below end in `collect`.
            let found = unsafe { Collected::find(copy(), self.len) }.expect("known");
            let mut rest = copy();
            for item in 0..self.len {
                let (first, behind, _) = rest.split_at(1);
                std::mem::forget(first.into_folder().consume(item as u64).complete());
                rest = behind;
            }
            // SAFETY: all items are written.
            unsafe { found.result(consumer) }
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
