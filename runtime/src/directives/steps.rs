//! What a loop over a range counts.

use std::ops::{Range, RangeInclusive};

use crate::kernel::element::Element;

/// Integers that loops count.
#[diagnostic::on_unimplemented(
    message = "a directive's loop cannot count `{Self}`",
    note = "it counts integers"
)]
pub trait Counter: Element {
    fn widened(self) -> i128;

    /// Wrapping.
    fn plus(self, distance: isize) -> Self;
}

macro_rules! counters {
    ($($integer:ty)*) => {$(
        impl Counter for $integer {
            #[inline(always)]
            fn widened(self) -> i128 {
                self as i128
            }

            #[inline(always)]
            fn plus(self, distance: isize) -> Self {
                self.wrapping_add(distance as Self)
            }
        }
    )*};
}
counters!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

/// A distance from one iteration to the next, in what is counted or in elements.
pub trait Step: Element {
    fn get(self) -> isize;
}

/// A distance that is known when the program is compiled.
#[derive(Clone, Copy, Debug)]
pub struct Fixed<const STEP: isize>;

impl<const STEP: isize> Step for Fixed<STEP> {
    #[inline(always)]
    fn get(self) -> isize {
        STEP
    }
}

/// A distance that is known when the loop begins.
#[derive(Clone, Copy, Debug)]
pub struct Known(isize);

impl Known {
    /// # Panics
    /// If it is no distance of two elements.
    #[must_use]
    #[track_caller]
    pub fn new(step: i128) -> Self {
        match isize::try_from(step) {
            Ok(step) => Self(step),
            Err(_) => panic!("{step} is no distance of two elements"),
        }
    }
}

impl Step for Known {
    #[inline(always)]
    fn get(self) -> isize {
        self.0
    }
}

/// Ranges that loops go through.
pub trait Bounds<I> {
    /// The first, and how many there are.
    fn first_and_count(self) -> (I, usize);
}

fn count<I: Counter>(begin: I, end: I, one_more: i128) -> usize {
    let count = end.widened().saturating_sub(begin.widened()).saturating_add(one_more).max(0);
    usize::try_from(count).unwrap_or(usize::MAX)
}

impl<I: Counter> Bounds<I> for Range<I> {
    fn first_and_count(self) -> (I, usize) {
        (self.start, count(self.start, self.end, 0))
    }
}

impl<I: Counter> Bounds<I> for RangeInclusive<I> {
    fn first_and_count(self) -> (I, usize) {
        (*self.start(), count(*self.start(), *self.end(), 1))
    }
}

/// What a loop counts: so many numbers, from the first, by steps.
#[derive(Clone, Copy, Debug)]
pub struct Steps<I, S> {
    begin: I,
    step: S,
    count: usize,
}

impl<I: Counter> Steps<I, Fixed<1>> {
    /// All numbers of a range.
    pub fn new(range: impl Bounds<I>) -> Self {
        let (begin, count) = range.first_and_count();
        Self { begin, step: Fixed, count }
    }
}

impl<I: Counter, S: Step> Steps<I, S> {
    /// As `Iterator::step_by`.
    ///
    /// # Panics
    /// If the step is 0.
    #[must_use]
    #[track_caller]
    pub fn step_by(self, step: usize) -> Steps<I, Known> {
        assert!(step != 0, "a loop cannot go by steps of 0");
        let step_of_all = self.step.get() as i128 * step as i128;
        // A step beyond the end is one step.
        let step_of_all = if step >= self.count { 0 } else { step_of_all };
        Steps { begin: self.begin, step: Known::new(step_of_all), count: self.count.div_ceil(step) }
    }

    /// As `Iterator::rev`.
    #[must_use]
    pub fn rev(self) -> Steps<I, Known> {
        let last = self.count.saturating_sub(1) as isize;
        Steps {
            begin: self.begin.plus(self.step.get().wrapping_mul(last)),
            step: Known(self.step.get().wrapping_neg()),
            count: self.count,
        }
    }

    /// How many there are.
    pub const fn count(&self) -> usize {
        self.count
    }

    pub(super) fn begin(&self) -> i128 {
        self.begin.widened()
    }

    pub(super) const fn step(&self) -> S {
        self.step
    }

    /// What iteration number `position` counts.
    #[inline(always)]
    #[must_use]
    pub fn at(&self, position: usize) -> I {
        self.begin.plus(self.step.get().wrapping_mul(position as isize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all<I: Counter, S: Step>(steps: Steps<I, S>) -> Vec<I> {
        (0..steps.count()).map(|position| steps.at(position)).collect()
    }

    #[test]
    fn steps_are_those_of_the_iterators() {
        for begin in -3_i32..4 {
            for end in -3..9 {
                assert_eq!(all(Steps::new(begin..end)), (begin..end).collect::<Vec<_>>());
                assert_eq!(all(Steps::new(begin..=end)), (begin..=end).collect::<Vec<_>>());
                let reversed = all(Steps::new(begin..=end).rev());
                assert_eq!(reversed, (begin..=end).rev().collect::<Vec<_>>());
                for step in 1..14 {
                    let by = all(Steps::new(begin..end).step_by(step));
                    assert_eq!(by, (begin..end).step_by(step).collect::<Vec<_>>());
                    let by = all(Steps::new(begin..end).step_by(step).rev());
                    assert_eq!(by, (begin..end).step_by(step).rev().collect::<Vec<_>>());
                    let by = all(Steps::new(begin..=end).rev().step_by(step));
                    assert_eq!(by, (begin..=end).rev().step_by(step).collect::<Vec<_>>());
                }
            }
        }
        assert_eq!(all(Steps::new(250..=255_u8)), (250..=255).collect::<Vec<_>>());
        assert_eq!(all(Steps::new(0..10_u64).step_by(usize::MAX)), [0]);
    }
}
