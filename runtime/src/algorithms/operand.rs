//! What algorithms take besides data, and how much data they need.

use crate::error::LaunchError;
use crate::kernel::capture::Capture;

/// The closures that algorithms take: `Copy`, since one call launches several kernels, and
/// something that a [kernel may capture](Capture).
///
/// Implemented for every type that qualifies; users implement nothing. Functions qualify too:
/// `u32::cmp`, `f32::total_cmp`, `PartialEq::eq`.
#[diagnostic::on_unimplemented(
    message = "an algorithm cannot take `{Self}`",
    note = "its closures are `Copy + Send + Sync` and capture what a kernel may capture: numbers and plain structs by value (`move`), and views of buffers"
)]
pub trait Function: Copy + Send + Sync + Capture {}

impl<F: Copy + Send + Sync + Capture> Function for F {}

/// Returns an error unless operand `source_index` has as many elements as are needed.
pub(super) const fn check_len(
    source_index: usize,
    expected: usize,
    found: usize,
) -> Result<(), LaunchError> {
    if found == expected {
        return Ok(());
    }
    Err(LaunchError::Length { source_index, expected, found })
}

/// Returns an error if operand `source_index` has fewer elements than are needed.
pub(super) const fn check_room(
    source_index: usize,
    needed: usize,
    found: usize,
) -> Result<(), LaunchError> {
    if found >= needed {
        return Ok(());
    }
    Err(LaunchError::Length { source_index, expected: needed, found })
}
