//! How what directives do ends.

use std::mem::ManuallyDrop;

use crate::data::pending;
use crate::error::{DeviceError, Error, LaunchError};

/// The value of what a directive does.
#[track_caller]
pub(super) fn or_panic<T>(outcome: Result<T, impl Into<Error>>) -> T {
    match outcome {
        Ok(value) => value,
        Err(error) => panic!("{}", error.into()),
    }
}

/// Ends the choice of a device.
#[inline(never)]
#[track_caller]
pub fn chosen(outcome: Result<(), DeviceError>) {
    or_panic(outcome);
}

/// How a launch has ended. What drops an error is compiled here alone, and not in each program.
#[derive(Debug)]
pub struct LaunchOutcome(ManuallyDrop<Result<(), LaunchError>>);

impl LaunchOutcome {
    /// That of a launch.
    #[must_use]
    pub const fn new(outcome: Result<(), LaunchError>) -> Self {
        Self(ManuallyDrop::new(outcome))
    }

    /// Whether it is no error.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.0.is_ok()
    }

    /// Waits for the launches that were submitted, and takes the first error: its own, or else that of
    /// one of them, or of `later`. Says whether there is none.
    #[inline(never)]
    pub(super) fn settle(&mut self, later: Self) -> bool {
        if let Err(error) = pending::settle::<()>(None).and(later.into_result()) {
            self.fail(error);
        }
        self.is_ok()
    }

    /// Replaces a success.
    pub(super) fn fail(&mut self, error: LaunchError) {
        if self.is_ok() {
            *self.0 = Err(error);
        }
    }

    /// What it is.
    ///
    /// # Errors
    /// That of the launch.
    pub fn into_result(mut self) -> Result<(), LaunchError> {
        std::mem::replace(&mut *self.0, Ok(()))
    }
}

impl Drop for LaunchOutcome {
    fn drop(&mut self) {
        // SAFETY: it is dropped once, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

/// Ends a launch, and those that were submitted before.
#[inline(never)]
#[track_caller]
pub fn done(outcome: LaunchOutcome) {
    or_panic(outcome.into_result());
    settle();
}

/// Ends what submits a launch.
#[inline(never)]
#[track_caller]
pub fn submitted(outcome: LaunchOutcome) {
    or_panic(outcome.into_result());
}

/// Waits for the launches that were submitted, and panics with the first error.
#[track_caller]
pub(super) fn settle() {
    or_panic(pending::settle::<()>(None));
}
