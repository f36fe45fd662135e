//! Pipelines of an unknown number of items, such as the lines of a text: their producers split
//! where they can, or not at all.
//!
//! The host splits them into pieces as rayon does, each into two and these again, until there are
//! enough or a part cannot be split. From there on they run as other pipelines do.

use rayon::iter::plumbing::{Folder, UnindexedConsumer, UnindexedProducer};

use crate::pieces::{Launch, PIECES_PER_THREAD, Piece};

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
}

/// Into how many pieces a pipeline is to be split.
pub(crate) fn count(is_wide: bool) -> usize {
    let for_threads = rayon::current_num_threads() * PIECES_PER_THREAD;
    if is_wide { for_threads.max(PIECES_OF_WIDE) } else { for_threads }
}

impl<P, C> Launch<Unindexed<P, C>, C::Reducer>
where
    P: UnindexedProducer,
    C: UnindexedConsumer<P::Item>,
{
    /// Splits a pipeline into pieces, at most twice as many as are wanted.
    pub(crate) fn split_off(wanted: usize, producer: P, consumer: C) -> Self {
        let mut this = Self::with_room_for(0);
        this.split_in_two(Unindexed { producer, consumer }, wanted);
        this
    }

    fn split_in_two(&mut self, piece: Unindexed<P, C>, wanted: usize) {
        let Unindexed { producer, consumer } = piece;
        if wanted < 2 || consumer.full() {
            return self.push(Unindexed { producer, consumer });
        }
        let (left, right) = match producer.split() {
            (left, Some(right)) => (left, right),
            (producer, None) => return self.push(Unindexed { producer, consumer }),
        };
        let (reducer, left_consumer) = (consumer.to_reducer(), consumer.split_off_left());
        let left = Unindexed { producer: left, consumer: left_consumer };
        let right = Unindexed { producer: right, consumer };
        self.split_in_two(left, wanted.div_ceil(2));
        self.split_in_two(right, wanted.div_ceil(2));
        self.push_reducer(reducer);
    }
}

#[cfg(test)]
mod tests {
    use rayon::iter::plumbing::{Consumer, Reducer};

    use super::*;

    /// Splits in two until `depth` is 0.
    struct Tree {
        depth: u32,
        name: String,
    }

    impl UnindexedProducer for Tree {
        type Item = String;

        fn split(self) -> (Self, Option<Self>) {
            let Some(depth) = self.depth.checked_sub(1) else { return (self, None) };
            let half = |side: char| Self { depth, name: format!("{}{side}", self.name) };
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
            let tree = Tree { depth, name: String::new() };
            let launch = Launch::split_off(wanted, tree, Names(String::new()));
            let pieces = launch.pieces();
            let joined = launch.run_by(|numbers, run| numbers.for_each(run), Piece::run);
            (pieces, joined)
        };
        assert_eq!(split(4, 0), (1, String::new()));
        assert_eq!(split(1, 5), (1, String::new()));
        assert_eq!(split(4, 1), (2, "(l r)".to_owned()));
        assert_eq!(split(4, 9), (4, "((ll lr) (rl rr))".to_owned()));
        assert_eq!(split(3, 9).0, 4);
    }
}
