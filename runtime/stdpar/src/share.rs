//! How a pipeline is divided among rayon's threads where it is no kernel: as rayon does it, in halves for
//! as long as there are fewer parts than threads, and again where another thread has taken a part.
//!
//! It is done without types: rayon's own function would have another instance of `join` and all that
//! belongs to it for each pipeline.

use std::alloc::Layout;
use std::mem::MaybeUninit;

use schism::__private::{Placement, placement, with_placement};

use crate::memory::Memory;
use crate::steps::{Held, Limits, Steps};

/// How often a part is still to be divided.
#[derive(Clone, Copy)]
struct Divisions {
    left: usize,
    /// No part may be shorter.
    least: usize,
}

impl Divisions {
    /// Those of a pipeline.
    fn of(limits: Limits) -> Self {
        let Limits { len, least, most } = limits;
        Self { left: rayon::current_num_threads().max(len / most.max(1)), least }
    }

    /// The lengths of the halves of a part. Those of an unindexed pipeline are unknown.
    const fn halves(self, len: usize) -> (usize, usize) {
        if self.least == 0 { (len, len) } else { (len / 2, len - len / 2) }
    }

    /// Whether a part of `len` items is divided; `is_taken` tells whether another thread has taken it.
    fn divides(&mut self, len: usize, is_taken: bool) -> bool {
        if len / 2 < self.least || (!is_taken && self.left == 0) {
            return false;
        }
        self.left /= 2;
        if is_taken {
            self.left = self.left.max(rayon::current_num_threads());
        }
        true
    }
}

/// Runs a piece, divided among rayon's threads, and writes its result.
///
/// # Safety
/// The piece is one of a pipeline with these steps, and there is a place for its result.
pub(crate) unsafe fn run(steps: &Steps, piece: Held<'_>, result: *mut u8) {
    // SAFETY: the caller's promises.
    unsafe {
        let limits = steps.limits(piece.place());
        let divisions = Divisions::of(limits);
        Shared { steps, divisions, placement: placement() }.run(
            limits.len,
            false,
            Place(piece.take()),
            Place(result),
        );
    }
}

/// A part of a pipeline, which another thread may take.
#[derive(Clone, Copy)]
struct Shared<'s> {
    steps: &'s Steps,
    divisions: Divisions,
    /// Where pipelines inside it run.
    placement: Placement,
}

/// A place that one thread uses.
#[derive(Clone, Copy)]
struct Place(*mut u8);

// SAFETY: pieces and results are `Send`, and the code below gives each to one thread.
unsafe impl Send for Place {}

impl Shared<'_> {
    /// Runs a piece of `len` items, and writes its result.
    ///
    /// # Safety
    /// As for [`run`]; the piece is used up.
    unsafe fn run(mut self, len: usize, is_taken: bool, piece: Place, result: Place) {
        if !self.divisions.divides(len, is_taken) {
            // SAFETY: the caller's promises.
            return unsafe { self.steps.fold(piece.0, result.0) };
        }
        let halves = Layouts::of(self.steps);
        if halves.whole.size() <= STACK && halves.whole.align() <= align_of::<OnStack>() {
            let mut room = MaybeUninit::<OnStack>::uninit();
            // SAFETY: the caller's promises; the room is large enough.
            unsafe { self.divide(len, piece, result, room.as_mut_ptr().cast(), halves) }
        } else {
            let room = Memory::new(halves.whole);
            // SAFETY: as above.
            unsafe { self.divide(len, piece, result, room.begin(), halves) }
        }
    }

    /// Divides a piece, if it can be, and runs both halves.
    ///
    /// # Safety
    /// As for [`run`](Self::run). There is room for what belongs to the second half.
    unsafe fn divide(
        self,
        len: usize,
        piece: Place,
        result: Place,
        room: *mut u8,
        halves: Layouts,
    ) {
        let (first_len, second_len) = self.divisions.halves(len);
        let second = Place(room);
        let second_result = Place(room.wrapping_add(halves.result));
        let reducer = room.wrapping_add(halves.reducer);
        // SAFETY: the piece is there, and there is room for the rest.
        unsafe {
            if !self.steps.split(piece.0, first_len, second.0, reducer) {
                return self.steps.fold(piece.0, result.0);
            }
            let reducer = Held::new(self.steps.reducer, reducer);
            // A half that has panicked leaves no result, and that of the other half is dropped then.
            let run = move |len, is_taken, piece: Place, result: Place| {
                let run = || self.run(len, is_taken, piece, result);
                if is_taken {
                    with_placement(self.placement, run)
                } else {
                    run()
                }
                Held::new(self.steps.result, result.0)
            };
            let (first, second) = rayon::join_context(
                move |context| run(first_len, context.migrated(), piece, result),
                move |context| run(second_len, context.migrated(), second, second_result),
            );
            first.take();
            second.take();
            self.steps.reduce(reducer.take(), result.0, second_result.0);
        }
    }
}

/// Bytes on the stack for what belongs to a second half.
const STACK: usize = 512;

#[repr(C, align(16))]
struct OnStack([u8; STACK]);

/// Where the parts of a room are: a piece is at its begin.
#[derive(Clone, Copy)]
struct Layouts {
    result: usize,
    reducer: usize,
    whole: Layout,
}

impl Layouts {
    fn of(steps: &Steps) -> Self {
        let with = |all: Layout, layout| all.extend(layout).expect("values have an address each");
        let (all, result) = with(steps.piece.layout, steps.result.layout);
        let (whole, reducer) = with(all, steps.reducer.layout);
        Self { result, reducer, whole }
    }
}

#[cfg(test)]
mod tests {
    use std::any::type_name;
    use std::collections::BTreeSet;
    use std::ops::Range;
    use std::time::Duration;

    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::pieces::Piece;

    /// What looks where pipelines of its thread run.
    struct Looks(Range<usize>);

    /// How many looks there were, how many of them saw `schism::host`, and the threads.
    type Seen = (usize, usize, BTreeSet<Option<usize>>);

    impl Piece for Looks {
        type Result = Seen;
        type Reducer = ();

        const IS_ENDLESS: bool = false;

        fn run(self) -> Seen {
            // Long enough for other threads to take the rest.
            std::thread::sleep(Duration::from_millis(2));
            let is_host = matches!(placement(), Placement::Host);
            let threads = BTreeSet::from([rayon::current_thread_index()]);
            (self.0.len(), if is_host { self.0.len() } else { 0 }, threads)
        }

        unsafe fn split(piece: *mut Self, _: usize, right: *mut Self, reducer: *mut ()) -> bool {
            // SAFETY: the caller's promises.
            unsafe {
                let Range { start, end } = (*piece).0.clone();
                if end - start < 2 {
                    return false;
                }
                let middle = start.midpoint(end);
                (*piece).0 = start..middle;
                right.write(Self(middle..end));
                reducer.write(());
            }
            true
        }

        fn reduce((): (), left: Seen, right: Seen) -> Seen {
            (left.0 + right.0, left.1 + right.1, left.2.into_iter().chain(right.2).collect())
        }
    }

    fn look() -> Seen {
        let steps = const { &Steps::of::<Looks>((type_name::<Looks>, type_name::<Looks>)) };
        let mut looks = MaybeUninit::new(Looks(0..256));
        let mut seen = MaybeUninit::<Seen>::uninit();
        // SAFETY: the piece is there, and there is a place for the result, which is written.
        unsafe {
            run(steps, Held::new(steps.piece, looks.as_mut_ptr().cast()), seen.as_mut_ptr().cast());
            seen.assume_init()
        }
    }

    #[test]
    fn threads_that_take_a_part_have_the_scope_of_its_pipeline() {
        let pool = ThreadPoolBuilder::new().num_threads(4).build().expect("threads");
        for _ in 0..3 {
            let (looks, of_host, threads) = pool.install(|| schism::host(look));
            assert_eq!((looks, of_host), (256, 256), "{threads:?}");
            assert!(threads.len() > 1, "no other thread has taken any");
            let (looks, of_host, _) = pool.install(look);
            assert_eq!((looks, of_host), (256, 0));
            // From outside, too.
            let (looks, of_host, _) = schism::host(look);
            assert_eq!((looks, of_host), (256, 256));
        }
    }
}
