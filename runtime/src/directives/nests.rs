//! Nests of loops. More than three are launched in two dimensions: the innermost loop, and the rest.

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

/// A number of each of `D` loops as numbers of a launch's dimensions, in the order x, y, z, and `none` for
/// those that are missing. More than three loops have two dimensions: the innermost one, and `all` of the
/// others.
#[inline(always)]
pub(super) const fn id_of<const D: usize>(of: [usize; D], all: usize, none: usize) -> [usize; 3] {
    match D {
        1 => [of[0], none, none],
        2 => [of[1], of[0], none],
        3 => [of[2], of[1], of[0]],
        _ => [of[D - 1], all, none],
    }
}

/// The numbers of the loops, of such an id.
#[inline(always)]
fn position_of<const D: usize>([x, y, z]: [usize; 3], mut counts: [usize; D]) -> [usize; D] {
    let mut position = [0; D];
    match D {
        1 => {}
        2 => position[0] = y,
        3 => (position[0], position[1]) = (z, y),
        _ => {
            // The last one is none of the others.
            counts[D - 1] = 1;
            position = unfolded(y, counts);
        }
    }
    position[D - 1] = x;
    position
}

macro_rules! nests {
    ($(($($name:ident $step:ident $index:tt),+) $loops:literal;)*) => {$(
        impl<$($name: Step, $step: Step),+> Axes for ($(Axis<$name, $step>,)+) {
            type Strides = ($(Stride<$name, $step>,)+);

            fn first(&self) -> i128 {
                0_i128 $(.saturating_add(self.$index.first))+
            }

            fn list(&self) -> impl AsRef<[(i128, usize)]> {
                [$(self.$index.stride.widened()),+]
            }

            fn strides(self) -> Self::Strides {
                ($(self.$index.stride,)+)
            }
        }

        impl<$($name: Step, $step: Step),+> Strides for ($(Stride<$name, $step>,)+) {
            #[inline(always)]
            fn distance(&self, at: GridPoint) -> usize {
                let position: [usize; $loops] = position_of(at.id, [$(self.$index.count),+]);
                0_usize $(.wrapping_add(self.$index.by(position[$index])))+
            }

            fn points(&self) -> usize {
                product(&[$(self.$index.count),+])
            }

            fn range(&self) -> [usize; 3] {
                let counts: [usize; $loops] = [$(self.$index.count),+];
                id_of(counts, product(&counts[..$loops - 1]), 1)
            }
        }
    )*};
}

nests! {
    (A Sa 0) 1;
    (A Sa 0, B Sb 1) 2;
    (A Sa 0, B Sb 1, C Sc 2) 3;
    (A Sa 0, B Sb 1, C Sc 2, D Sd 3) 4;
    (A Sa 0, B Sb 1, C Sc 2, D Sd 3, E Se 4) 5;
    (A Sa 0, B Sb 1, C Sc 2, D Sd 3, E Se 4, F Sf 5) 6;
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
