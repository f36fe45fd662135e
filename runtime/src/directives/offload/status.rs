//! What became of a statement.

use crate::directives::offload::error::{OffloadError, OffloadResult};

/// What became of a statement with `status(variable)`.
///
/// ```
/// use schism::directives::{OffloadResult, OffloadStatus, offload};
///
/// #[offload]
/// fn halves(numbers: &mut [f32]) -> OffloadStatus {
///     let mut status = OffloadStatus::init();
///     #[offload(target(gpu), inout(numbers), optional, status(status))]
///     for own in numbers.iter_mut() {
///         *own /= 2.0;
///     }
///     status
/// }
///
/// let mut numbers = [1.0, 2.0, 3.0];
/// let status = halves(&mut numbers);
/// assert_eq!(numbers, [0.5, 1.0, 1.5]);
/// match status.result {
///     OffloadResult::Success => assert_eq!(status.data_received, 12),
///     _ => println!("on the host: {}", status.error().expect("a reason")),
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OffloadStatus {
    /// Where it ran, or why it did not run on the target.
    pub result: OffloadResult,
    /// The number of the target, or -1 if it did not run on one.
    pub device_number: i32,
    /// Bytes that went to the target. Where host and target share memory, there are none.
    pub data_sent: u64,
    /// Bytes that came back.
    pub data_received: u64,
    pub(super) error: Option<OffloadError>,
}

impl OffloadStatus {
    /// That of no statement: [`Disabled`](OffloadResult::Disabled), and no target.
    #[must_use]
    pub const fn init() -> Self {
        Self {
            result: OffloadResult::Disabled,
            device_number: -1,
            data_sent: 0,
            data_received: 0,
            error: None,
        }
    }

    /// Why it did not run on the target, or failed there.
    #[must_use]
    pub const fn error(&self) -> Option<&OffloadError> {
        self.error.as_ref()
    }
}

impl Default for OffloadStatus {
    fn default() -> Self {
        Self::init()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_have_the_values_of_the_language() {
        let all = [
            OffloadResult::Success,
            OffloadResult::Disabled,
            OffloadResult::Unavailable,
            OffloadResult::OutOfMemory,
            OffloadResult::ProcessDied,
            OffloadResult::Error,
        ];
        assert!(all.into_iter().zip(0..).all(|(own, value)| own as i32 == value));
        let status = OffloadStatus::init();
        assert_eq!((status.result, status.device_number), (OffloadResult::Disabled, -1));
        assert_eq!((status.data_sent, status.data_received), (0, 0));
        assert!(status.error().is_none());
    }
}
