//! How a pipeline is divided among rayon's threads where it is no kernel: as rayon does it, in halves for
//! as long as there are fewer parts than threads, and again where another thread has taken a part.
//!
//! It is done without types: rayon's own function would have another instance of `join` and all that
//! belongs to it for each pipeline.

use std::alloc::Layout;
use std::mem::MaybeUninit;

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
        Shared { steps, divisions }.run(limits.len, false, Place(piece.take()), Place(result));
    }
}

/// A part of a pipeline, which another thread may take.
#[derive(Clone, Copy)]
struct Shared<'s> {
    steps: &'s Steps,
    divisions: Divisions,
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
                self.run(len, is_taken, piece, result);
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
