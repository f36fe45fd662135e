//! How a launch's range is divided into groups.
//!
//! Code for ranges that are multiples of the groups has no checks for work-items outside of the range,
//! and a compiler for processors makes it faster by more than that: it computes such work-items in the
//! lanes of vectors, masked. So on processors groups are as wide as the range, or divide it, where they
//! can; others take powers of two.

use crate::code::assumptions::Assumptions;
use crate::hal::opencl::properties::Properties;
use crate::launch::adaptivity::Adaptivity;
use crate::launch::desc::LaunchDesc;

/// Work-items of a group, where the launch does not choose.
const GROUP: usize = 256;

/// Groups for each unit of a processor, so that units whose groups end early get others.
const GROUPS_OF_UNIT: usize = 8;

/// Work-items that a processor computes at once. It takes those that are left one by one.
const LANES: usize = 16;

/// What a processor does for a group beside its work-items, in so many of these at once.
const START: usize = 16;

/// The limits of groups and of grids that code from stage 2 counts on, in each dimension.
const MOST_IN_GROUP: [usize; 3] = [1024, 1024, 64];
pub(super) const MOST_GROUPS: [usize; 3] = [i32::MAX as usize, 65_535, 65_535];

/// How a launch's range is divided, x first: work-items of a group, and groups.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    pub(super) group: [usize; 3],
    pub(super) groups: [usize; 3],
    /// The launch chose the groups.
    chosen: bool,
}

impl Grid {
    pub(super) fn of(launch: &LaunchDesc<'_>, device: &Properties) -> Self {
        let range = launch.range.xyz;
        let chosen = launch.groups.as_ref().map(|groups| groups.local.xyz);
        let group = chosen.unwrap_or_else(|| {
            let items = match launch.block_size {
                Some(items) => items.clamp(1, device.max_group),
                None => usual_group(range, device),
            };
            match device.is_cpu {
                true => dividing(range, items),
                false => powers_of_two(range, items),
            }
        });
        let groups = std::array::from_fn(|axis| range[axis].div_ceil(group[axis]));
        Self { group, groups, chosen: chosen.is_some() }
    }

    /// What code can count on.
    pub(super) fn assumptions(&self, launch: &LaunchDesc<'_>) -> Assumptions {
        /// The most work-items of groups that code from stage 2 can be for.
        const MOST: usize = 1024;
        let range = launch.range;
        let small = (0..3)
            .all(|axis| range.xyz[axis].saturating_add(range.offset[axis]) <= i32::MAX as usize);
        let mut assumptions = Assumptions { small, ..Assumptions::default() };
        if launch.adaptivity == Adaptivity::Off {
            return assumptions;
        }
        // Groups that a launch does not choose may yet become smaller: one side is divided then, and
        // the range stays a multiple.
        assumptions.divisible = (0..3).all(|axis| range.xyz[axis].is_multiple_of(self.group[axis]));
        if self.chosen && self.group.iter().product::<usize>() <= MOST && self.group_fits() {
            assumptions.block = self.group.map(|items| items as u32);
        }
        assumptions
    }

    /// Whether code can have such groups.
    pub(super) fn group_fits(&self) -> bool {
        !self.chosen || (0..3).all(|axis| self.group[axis] <= MOST_IN_GROUP[axis])
    }

    /// Whether it needs several sub-grids.
    pub(super) fn is_too_large(&self) -> bool {
        (0..3).any(|axis| self.groups[axis] > MOST_GROUPS[axis])
    }

    /// The same, for a kernel that can have at most so many work-items in a group.
    pub(super) fn at_most(mut self, most: usize) -> Self {
        while !self.chosen && self.group.iter().product::<usize>() > most.max(1) {
            let axis = (0..3).max_by_key(|&axis| self.group[axis]).unwrap_or(0);
            let divisor = smallest_divisor(self.group[axis]);
            self.group[axis] /= divisor;
            self.groups[axis] *= divisor;
        }
        self
    }
}

/// Work-items of a group where the launch does not choose: as many as there may be on a processor, which takes
/// one group after the other and has some work to do for each, but enough groups for its units.
fn usual_group(range: [usize; 3], device: &Properties) -> usize {
    let usual = GROUP.min(device.max_items);
    if !device.is_cpu {
        return usual;
    }
    let items = range.iter().fold(1, |items: usize, side| items.saturating_mul(*side));
    let even = items / device.compute_units.max(1).saturating_mul(GROUPS_OF_UNIT);
    even.clamp(usual, device.max_items)
}

/// A group of at most so many work-items, whose sides are powers of two.
fn powers_of_two(range: [usize; 3], items: usize) -> [usize; 3] {
    let mut left = 1 << items.ilog2();
    std::array::from_fn(|axis| {
        let most = if axis == 0 { left } else { MOST_IN_GROUP[axis] };
        let own = range[axis].max(1).next_power_of_two().min(left).min(most);
        left /= own;
        own
    })
}

/// A group of at most so many work-items, whose sides divide those of the range. The width does not if
/// there is no good one that does.
fn dividing(range: [usize; 3], items: usize) -> [usize; 3] {
    let mut left = items;
    std::array::from_fn(|axis| {
        let side = range[axis].max(1);
        let own = match axis {
            0 => width(side, left),
            _ => (1..=left.min(MOST_IN_GROUP[axis]).min(side))
                .rev()
                .find(|own| side.is_multiple_of(*own))
                .unwrap_or(1),
        };
        left /= own;
        own
    })
}

/// The width of groups, at most so many work-items, for a range of a width.
fn width(side: usize, most: usize) -> usize {
    if side <= most {
        return side;
    }
    let least = (most / 4).max(1);
    // What a work-item costs: vectors, those that are left over, and a part of the group's start.
    let cost = |own: usize| (own / LANES + own % LANES + START) as f64 / own as f64;
    let divides = |own: &usize| side.is_multiple_of(*own);
    // There are few numbers of groups, or few widths.
    let (fewest, most_groups) = (side.div_ceil(most), side / least);
    let best = if most_groups - fewest < most - least {
        let widths = (fewest..=most_groups).filter(divides).map(|groups| side / groups);
        widths.min_by(|a, b| cost(*a).total_cmp(&cost(*b)))
    } else {
        (least..=most).filter(divides).min_by(|a, b| cost(*a).total_cmp(&cost(*b)))
    };
    best.unwrap_or(1 << most.ilog2())
}

/// The smallest divisor of a number that is above 1.
fn smallest_divisor(number: usize) -> usize {
    let divides = |divisor: &usize| number.is_multiple_of(*divisor);
    (2..=number.isqrt()).find(divides).unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_allows_fewer_work_items_gets_more_groups() {
        let grid = Grid { group: [32, 8, 1], groups: [2, 5, 7], chosen: false };
        let smaller = grid.at_most(100);
        assert_eq!((smaller.group, smaller.groups), ([8, 8, 1], [8, 5, 7]));
        let odd = Grid { group: [1021, 7, 1], groups: [1, 3, 1], chosen: false };
        let smaller = odd.at_most(100);
        assert_eq!((smaller.group, smaller.groups), ([1, 7, 1], [1021, 3, 1]));
        let chosen = Grid { chosen: true, ..grid }.at_most(100);
        assert_eq!(chosen.group, [32, 8, 1]);
    }

    #[test]
    fn groups_of_processors_divide_the_range() {
        assert_eq!(dividing([1024, 1024, 1], 8192), [1024, 8, 1]);
        assert_eq!(dividing([1040, 1040, 1], 8192), [1040, 5, 1]);
        assert_eq!(dividing([1021, 1021, 1], 8192), [1021, 1, 1]);
        assert_eq!(dividing([0, 7, 100], 256), [1, 7, 25]);
        assert_eq!(dividing([1_000_000, 1, 1], 8192), [8000, 1, 1]);
        assert_eq!(dividing([1 << 30, 1, 1], 8192), [8192, 1, 1]);
        // Many small vectors, or few large ones and a rest.
        assert_eq!(dividing([10_000, 1, 1], 8192), [5000, 1, 1]);
        // Nothing divides a prime.
        assert_eq!(dividing([1_000_003, 1, 1], 8000), [4096, 1, 1]);
        assert_eq!(dividing([2_147_483_647, 3, 1], 256), [256, 1, 1]);
    }

    #[test]
    fn groups_have_at_most_so_many_work_items() {
        let sides = [1, 2, 3, 15, 31, 64, 100, 255, 257, 1009, 8192, 65_537, 1 << 20];
        for items in [1, 2, 7, 256, 1000, 8192] {
            for x in sides {
                for y in sides {
                    for group in [dividing([x, y, 3], items), powers_of_two([x, y, 3], items)] {
                        let all: usize = group.iter().product();
                        assert!(all <= items && all > 0, "{x} {y} {items}: {group:?}");
                    }
                    let [_, height, depth] = dividing([x, y, 3], items);
                    assert!(y.is_multiple_of(height) && 3_usize.is_multiple_of(depth));
                }
            }
        }
    }
}
