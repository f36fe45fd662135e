//! Nests of more than three loops, which are launched in two dimensions: the innermost loop, and the rest.

use crate::directives::owned::{Axes, Axis, Stride, Strides};
use crate::directives::steps::Step;
use crate::kernel::grid::GridPoint;

/// How many iterations loops of so many have together; at most as a number of this size.
#[must_use]
pub fn product(counts: &[usize]) -> usize {
    counts.iter().copied().fold(1, usize::saturating_mul)
}

/// Where the loops around the innermost are in iteration `number` of all of them.
#[inline(always)]
#[must_use]
pub fn unfolded<const D: usize>(mut number: usize, counts: [usize; D]) -> [usize; D] {
    let mut position = [0; D];
    for dimension in (1..D).rev() {
        // A division by 0 occurs only where there are no iterations.
        let count = counts[dimension];
        position[dimension] = number.checked_rem(count).unwrap_or(0);
        number = number.checked_div(count).unwrap_or(0);
    }
    if let Some(first) = position.first_mut() {
        *first = number;
    }
    position
}

macro_rules! nests {
    ($(($first:ident $first_step:ident, $($name:ident $step:ident $index:tt),+; $last:ident $last_step:ident $last_index:tt);)*) => {$(
        impl<$first, $first_step, $($name, $step,)+ $last, $last_step> Axes
            for (Axis<$first, $first_step>, $(Axis<$name, $step>,)+ Axis<$last, $last_step>)
        where
            $first: Step, $first_step: Step, $($name: Step, $step: Step,)+ $last: Step, $last_step: Step,
        {
            type Strides =
                (Stride<$first, $first_step>, $(Stride<$name, $step>,)+ Stride<$last, $last_step>);

            fn first(&self) -> i128 {
                self.0.first $(.saturating_add(self.$index.first))+ .saturating_add(self.$last_index.first)
            }

            fn list(&self) -> impl AsRef<[(i128, usize)]> {
                [
                    self.0.stride.widened(),
                    $(self.$index.stride.widened(),)+
                    self.$last_index.stride.widened(),
                ]
            }

            fn strides(self) -> Self::Strides {
                (self.0.stride, $(self.$index.stride,)+ self.$last_index.stride)
            }
        }

        impl<$first, $first_step, $($name, $step,)+ $last, $last_step> Strides
            for (Stride<$first, $first_step>, $(Stride<$name, $step>,)+ Stride<$last, $last_step>)
        where
            $first: Step, $first_step: Step, $($name: Step, $step: Step,)+ $last: Step, $last_step: Step,
        {
            #[inline(always)]
            fn distance(&self, at: GridPoint) -> usize {
                let [column, outer, _] = at.id;
                let position = unfolded(outer, [self.0.count, $(self.$index.count),+]);
                self.0
                    .by(position[0])
                    $(.wrapping_add(self.$index.by(position[$index])))+
                    .wrapping_add(self.$last_index.by(column))
            }

            fn points(&self) -> usize {
                let [inner, outer, _] = self.range();
                inner.saturating_mul(outer)
            }

            fn range(&self) -> [usize; 3] {
                let outer = [self.0.count, $(self.$index.count),+];
                [self.$last_index.count, product(&outer), 1]
            }
        }
    )*};
}

nests! {
    (A Sa, B Sb 1, C Sc 2; D Sd 3);
    (A Sa, B Sb 1, C Sc 2, D Sd 3; E Se 4);
    (A Sa, B Sb 1, C Sc 2, D Sd 3, E Se 4; F Sf 5);
}

#[cfg(test)]
mod tests {
    use super::unfolded;

    #[test]
    fn numbers_are_positions() {
        let counts = [3, 1, 4, 2];
        let mut number = 0;
        for a in 0..3 {
            for c in 0..4 {
                for d in 0..2 {
                    assert_eq!(unfolded(number, counts), [a, 0, c, d]);
                    number += 1;
                }
            }
        }
        assert_eq!(unfolded(0, [0, 0]), [0, 0]);
        assert_eq!(unfolded(7, [9]), [7]);
    }
}
