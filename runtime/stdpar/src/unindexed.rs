//! Pipelines of an unknown number of items, such as the lines of a text: their producers split
//! where they can, or not at all.
//!
//! The host splits them into pieces as rayon does, each into two and these again, until there are
//! enough or a part cannot be split. From there on they run as other pipelines do.

use rayon::iter::plumbing::{Folder, Reducer, UnindexedConsumer, UnindexedProducer};

use crate::pieces::{PIECES_PER_THREAD, Piece};

/// Pieces on devices with many work-items. The host has to make each of them.
const PIECES_OF_WIDE: usize = 1 << 12;

/// A part of an unindexed pipeline.
pub struct Unindexed<P, C> {
    pub(crate) producer: P,
    pub(crate) consumer: C,
}

impl<P, C> Piece for Unindexed<P, C>
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    type Result = C::Result;
    type Reducer = C::Reducer;

    const IS_ENDLESS: bool = true;

    #[inline(always)]
    fn run(self) -> C::Result {
        let Self { producer, consumer } = self;
        if consumer.full() {
            consumer.into_folder().complete()
        } else {
            producer.fold_with(consumer.into_folder()).complete()
        }
    }

    #[inline(always)]
    unsafe fn split(
        piece: *mut Self,
        _middle: usize,
        right: *mut Self,
        reducer: *mut C::Reducer,
    ) -> bool {
        // SAFETY: the caller's promises. Where the piece cannot be split, it goes back.
        unsafe {
            let Self { producer, consumer } = piece.read();
            if consumer.full() {
                piece.write(Self { producer, consumer });
                return false;
            }
            let (left_producer, right_producer) = producer.split();
            let Some(right_producer) = right_producer else {
                piece.write(Self { producer: left_producer, consumer });
                return false;
            };
            let (own_reducer, left_consumer) = (consumer.to_reducer(), consumer.split_off_left());
            piece.write(Self { producer: left_producer, consumer: left_consumer });
            right.write(Self { producer: right_producer, consumer });
            reducer.write(own_reducer);
            true
        }
    }

    #[inline(always)]
    fn reduce(reducer: C::Reducer, left: C::Result, right: C::Result) -> C::Result {
        reducer.reduce(left, right)
    }
}

/// Into how many pieces a pipeline is to be split.
pub(crate) fn count(is_wide: bool) -> usize {
    let for_threads = rayon::current_num_threads() * PIECES_PER_THREAD;
    if is_wide { for_threads.max(PIECES_OF_WIDE) } else { for_threads }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use rayon::iter::plumbing::Consumer;

    use super::*;
    use crate::launch::{Cut, Launch};
    use crate::share;
    use crate::steps::{Held, Steps};

    /// Splits in two until `depth` is 0. The padding makes it as large as a test needs it.
    struct Tree<const N: usize> {
        depth: u32,
        name: String,
        padding: [u64; N],
    }

    impl<const N: usize> Tree<N> {
        const fn new(depth: u32) -> Self {
            Self { depth, name: String::new(), padding: [0; N] }
        }
    }

    impl<const N: usize> UnindexedProducer for Tree<N> {
        type Item = String;

        fn split(self) -> (Self, Option<Self>) {
            let Some(depth) = self.depth.checked_sub(1) else { return (self, None) };
            let padding = self.padding;
            let half = |side: char| Self { depth, name: format!("{}{side}", self.name), padding };
            (half('l'), Some(half('r')))
        }

        fn fold_with<F: Folder<String>>(self, folder: F) -> F {
            folder.consume(self.name)
        }
    }

    /// Puts names into brackets.
    struct Names(String);

    impl Consumer<String> for Names {
        type Folder = Self;
        type Reducer = Self;
        type Result = String;

        fn split_at(self, _: usize) -> (Self, Self, Self) {
            (self.split_off_left(), self.split_off_left(), self)
        }

        fn into_folder(self) -> Self {
            self
        }

        fn full(&self) -> bool {
            false
        }
    }

    impl UnindexedConsumer<String> for Names {
        fn split_off_left(&self) -> Self {
            Self(String::new())
        }

        fn to_reducer(&self) -> Self {
            self.split_off_left()
        }
    }

    impl Folder<String> for Names {
        type Result = String;

        fn consume(self, item: String) -> Self {
            Self(self.0 + &item)
        }

        fn complete(self) -> String {
            self.0
        }

        fn full(&self) -> bool {
            false
        }
    }

    impl Reducer<String> for Names {
        fn reduce(self, left: String, right: String) -> String {
            format!("({left} {right})")
        }
    }

    #[test]
    fn pieces_come_in_order_and_are_as_many_as_wanted() {
        let split = |wanted, depth| {
            let steps = const { &Steps::unindexed::<Tree<0>, Names>() };
            let producer = Tree::<0>::new(depth);
            let mut whole =
                MaybeUninit::new(Unindexed { producer, consumer: Names(String::new()) });
            let mut joined = MaybeUninit::<String>::uninit();
            // SAFETY: the piece is there, and there is a place for the result, which is written.
            unsafe {
                let whole = Held::new(steps.piece, whole.as_mut_ptr().cast());
                let launch = Launch::new(steps, whole, wanted, Cut::UNINDEXED);
                let pieces = launch.pieces();
                let run = |piece, result| steps.fold(piece, result);
                launch.run_by(
                    |numbers, run| numbers.for_each(run),
                    &run,
                    joined.as_mut_ptr().cast(),
                );
                (pieces, joined.assume_init())
            }
        };
        assert_eq!(split(4, 0), (1, String::new()));
        assert_eq!(split(1, 5), (1, String::new()));
        assert_eq!(split(4, 1), (2, "(l r)".to_owned()));
        assert_eq!(split(4, 9), (4, "((ll lr) (rl rr))".to_owned()));
        assert_eq!(split(3, 9).0, 4);
    }

    #[test]
    fn rayon_has_each_part_in_order() {
        fn shared<const N: usize>(depth: u32) -> String {
            let steps = const { &Steps::unindexed::<Tree<N>, Names>() };
            let producer = Tree::<N>::new(depth);
            let mut whole =
                MaybeUninit::new(Unindexed { producer, consumer: Names(String::new()) });
            let mut joined = MaybeUninit::<String>::uninit();
            // SAFETY: the piece is there, and there is a place for the result, which is written.
            unsafe {
                let whole = Held::new(steps.piece, whole.as_mut_ptr().cast());
                share::run(steps, whole, joined.as_mut_ptr().cast());
                joined.assume_init()
            }
        }
        // Into how many parts it is divided depends on threads, the order of the parts on nothing.
        for text in [shared::<0>(10), shared::<200>(10)] {
            let parts: Vec<&str> =
                text.split(['(', ')', ' ']).filter(|part| !part.is_empty()).collect();
            assert!(parts.is_sorted() && parts.iter().all(|part| part.len() <= 10), "{text}");
            let leaves: usize = parts.iter().map(|part| 1 << (10 - part.len())).sum();
            assert_eq!(leaves, 1 << 10, "{text}");
        }
    }
}
