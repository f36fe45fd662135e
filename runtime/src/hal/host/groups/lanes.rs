//! What work-items of a sub-group give each other on the host devices.

use std::cell::Cell;
use std::fmt;

use schism_jit_abi::{
    SUB_GROUP_ADD, SUB_GROUP_BALLOT, SUB_GROUP_MAX, SUB_GROUP_MIN, SUB_GROUP_SHUFFLE,
    SUB_GROUP_SHUFFLE_DOWN, SUB_GROUP_SHUFFLE_UP, SUB_GROUP_SHUFFLE_XOR, SUB_GROUP_SIZE as SIZE,
    SUB_GROUP_UMAX, SUB_GROUP_UMIN,
};

/// What the lanes of the sub-group that runs on this thread give each other, on the host devices.
///
/// A lane that goes on may give its value for the next operation before others have read those of the last. So there are two
/// rounds: of the operation that lanes come to, and of the one that they come from.
#[derive(Default)]
pub(crate) struct Lanes {
    values: [[Cell<u32>; SIZE]; 2],
    round: Cell<usize>,
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes").field("round", &self.round).finish_non_exhaustive()
    }
}

impl Lanes {
    /// Takes a lane's value for an operation. Gives the round that it belongs to.
    pub(crate) fn give(&self, lane: usize, value: u32) -> usize {
        let round = self.round.get();
        self.values[round][lane].set(value);
        round
    }

    /// All lanes have given their values.
    pub(crate) fn next_round(&self) {
        self.round.set(1 - self.round.get());
    }

    /// What an operation of [`schism_jit_abi`] gives to a lane.
    pub(crate) fn result(
        &self,
        round: usize,
        operation: u32,
        lane: usize,
        size: usize,
        argument: u32,
    ) -> u32 {
        let values = &self.values[round][..size];
        let argument = argument as usize;
        let from = match operation {
            SUB_GROUP_SHUFFLE => Some(argument),
            SUB_GROUP_SHUFFLE_XOR => Some(lane ^ argument),
            SUB_GROUP_SHUFFLE_UP => lane.checked_sub(argument),
            SUB_GROUP_SHUFFLE_DOWN => lane.checked_add(argument),
            SUB_GROUP_BALLOT => {
                let set = values.iter().zip(0..).filter(|(value, _)| value.get() != 0);
                return set.fold(0, |all, (_, lane)| all | 1 << lane);
            }
            SUB_GROUP_ADD => return fold(values, u32::wrapping_add),
            SUB_GROUP_MIN => return fold(values, |a, b| (a as i32).min(b as i32) as u32),
            SUB_GROUP_MAX => return fold(values, |a, b| (a as i32).max(b as i32) as u32),
            SUB_GROUP_UMIN => return fold(values, u32::min),
            SUB_GROUP_UMAX => return fold(values, u32::max),
            _ => None,
        };
        from.and_then(|lane| values.get(lane)).unwrap_or(&values[lane]).get()
    }
}

/// What an operation makes of all values, of which there is at least one.
fn fold(values: &[Cell<u32>], operation: impl Fn(u32, u32) -> u32) -> u32 {
    values.iter().map(Cell::get).reduce(operation).unwrap_or_default()
}
