//! One of two accesses that meet.

use std::fmt;

/// An access of an iteration to an element that another iteration accesses, too: part of
/// [`LaunchError::Race`](crate::LaunchError::Race).
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
