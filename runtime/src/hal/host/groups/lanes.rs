//! Exchange of values between the lanes of a sub-group, on the host devices.

use std::cell::Cell;
use std::fmt;

use schism_jit_abi::{
    SUB_GROUP_ADD, SUB_GROUP_BALLOT, SUB_GROUP_MAX, SUB_GROUP_MIN, SUB_GROUP_SHUFFLE,
    SUB_GROUP_SHUFFLE_DOWN, SUB_GROUP_SHUFFLE_UP, SUB_GROUP_SHUFFLE_XOR, SUB_GROUP_SIZE as SIZE,
    SUB_GROUP_UMAX, SUB_GROUP_UMIN,
};

/// The values that the lanes of the sub-group on this thread exchange.
///
/// A resumed lane may write its value for the next operation before others have read those of the
/// last. So there are two rounds of values: those of the next operation, and those of the last.
#[derive(Default)]
pub(crate) struct Lanes {
    values: [[Cell<u32>; SIZE]; 2],
    /// A bit for each lane, set if its value is not zero.
    ballots: [Cell<u32>; 2],
    round: Cell<usize>,
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes").field("round", &self.round).finish_non_exhaustive()
    }
}

impl Lanes {
    /// Stores a lane's value for an operation. Returns its round.
    pub(crate) fn give(&self, lane: usize, value: u32) -> usize {
        let round = self.round.get();
        self.values[round][lane].set(value);
        let ballot = &self.ballots[round];
        ballot.set((ballot.get() & !(1 << lane)) | (u32::from(value != 0) << lane));
        round
    }

    /// All lanes have stored their values.
    pub(crate) fn next_round(&self) {
        self.round.set(1 - self.round.get());
    }

    /// The result of an operation of [`schism_jit_abi`] for a lane.
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
            // A larger sub-group may have left bits of lanes that this one has not.
            SUB_GROUP_BALLOT => return self.ballots[round].get() & (u32::MAX >> (SIZE - size)),
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

/// Reduces all values, of which there is at least one.
fn fold(values: &[Cell<u32>], operation: impl Fn(u32, u32) -> u32) -> u32 {
    values.iter().map(Cell::get).reduce(operation).unwrap_or_default()
}
