//! Accesses that meet.

use std::fmt;

/// Two accesses of different iterations to the same element, which one of them changes: see
/// [`LaunchError::Race`](crate::LaunchError::Race).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error(
    "a race at element {index} of `{array}`: iteration {first}, and iteration {second}; so the loop is not `unsafe(independent)`"
)]
pub struct Race {
    /// The array.
    pub array: String,
    /// The element's index.
    pub index: usize,
    /// The access that comes first in order.
    pub first: RacingAccess,
    /// The other one.
    pub second: RacingAccess,
}

/// An access of an iteration to an element that another iteration accesses, too: part of a [`Race`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RacingAccess {
    /// What the loops count: `i = 3, j = 5`.
    pub iteration: String,
    /// The access in the program.
    pub text: String,
    /// Whether it changes the element.
    pub is_write: bool,
}

impl fmt::Display for RacingAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { iteration, text, is_write } = self;
        let verb = if *is_write { "writes" } else { "reads" };
        write!(f, "`{iteration}` {verb} it at `{text}`")
    }
}
