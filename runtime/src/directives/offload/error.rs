//! Why a statement was not offloaded.

use crate::error::{BufferError, DeviceError, LaunchError};

/// What became of a statement, as [`OffloadStatus`](crate::directives::OffloadStatus) has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum OffloadResult {
    /// It ran on the target.
    Success = 0,
    /// Its condition was false, and it ran on the host.
    Disabled = 1,
    /// The target is not there, or cannot run it.
    Unavailable = 2,
    /// The target has no memory for its arrays.
    OutOfMemory = 3,
    /// It began on the target and did not end there: a kernel panicked, or the device was lost.
    ProcessDied = 4,
    /// Anything else: [`OffloadStatus::error`](crate::directives::OffloadStatus::error) says what.
    Error = 5,
}

/// Why a statement did not run on its target, or failed there.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OffloadError {
    /// Numbers of targets below -1 are reserved.
    #[error(
        "the number of a target is {number}: those below -1 are reserved; -1 leaves the choice to the runtime, and others count modulo the number of targets"
    )]
    ReservedTargetNumber {
        /// The number.
        number: i128,
    },
    /// `signal` and `wait` are of one target.
    #[error("`signal` and `wait` are of one target, whose number is needed, and it is -1")]
    NoTargetNumber,
    /// Nothing on the target has signalled the tag that is waited for.
    #[error(
        "nothing on the target `{target}` has signalled the tag {tag:#x}: a tag belongs to the target of the statement that has `signal`"
    )]
    UnknownSignal {
        /// The target's device.
        target: String,
        /// The tag: an integer, or an address.
        tag: usize,
    },
    /// A statement that synchronizes with others has a condition, and that is false.
    #[error(
        "the condition of a statement with `signal` or `wait` is false: give the statements that belong together the same condition, around all of them"
    )]
    InvalidCombination,
    /// The statement names a stream, and a target that is not the stream's.
    #[error("the stream is of the target `{stream}`, and the statement is for `{target}`")]
    OtherTarget {
        /// The stream's device.
        stream: String,
        /// The target's device.
        target: String,
    },
    /// `alloc_if` is false, and the target has no memory of the array from before.
    #[error(
        "the target `{target}` has no memory of `{array}`: a statement before this one has to allocate it and to keep it, by `free_if(false)`"
    )]
    NotAllocated {
        /// The array.
        array: &'static str,
        /// The target's device.
        target: String,
    },
    /// An alignment is no power of two.
    #[error("`{array}` cannot be aligned to {bytes} bytes: an alignment is a power of two")]
    Alignment {
        /// The array.
        array: &'static str,
        /// The alignment.
        bytes: usize,
    },
    /// What is allocated does not have what is copied.
    #[error(
        "of `{array}` the elements {extent:?} are copied, and only {allocated:?} are allocated"
    )]
    Extent {
        /// The array.
        array: &'static str,
        /// What is copied.
        extent: std::ops::Range<usize>,
        /// What is allocated.
        allocated: std::ops::Range<usize>,
    },
    /// What `into` copies has not as many elements as the place for it.
    #[error("{from} elements do not go into {to}: `into` copies as many as there are")]
    Into {
        /// Elements to be copied.
        from: usize,
        /// Elements of the place.
        to: usize,
    },
    /// The statement is optional, and launches of it ran on the host.
    #[error("the device `{device}` ran it: {why}")]
    Elsewhere {
        /// The device.
        device: String,
        /// Why.
        why: String,
    },
    /// The target cannot be used.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The target has no memory, or an array cannot be copied.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// A launch failed.
    #[error(transparent)]
    Launch(#[from] LaunchError),
}

impl OffloadError {
    /// The result that a status has of it.
    #[must_use]
    pub const fn result(&self) -> OffloadResult {
        match self {
            Self::Device(_) | Self::Elsewhere { .. } => OffloadResult::Unavailable,
            Self::Buffer(error) | Self::Launch(LaunchError::Memory(error)) => match error {
                BufferError::OutOfMemory { .. }
                | BufferError::TooLarge { .. }
                | BufferError::AddressSpace { .. } => OffloadResult::OutOfMemory,
                BufferError::Unavailable { .. } => OffloadResult::Unavailable,
                BufferError::DeviceLost { .. } => OffloadResult::ProcessDied,
                _ => OffloadResult::Error,
            },
            Self::Launch(LaunchError::DeviceLost { .. } | LaunchError::Panicked(_)) => {
                OffloadResult::ProcessDied
            }
            _ => OffloadResult::Error,
        }
    }

    /// Whether the target failed, rather than the program.
    pub(super) const fn is_of_target(&self) -> bool {
        match self {
            Self::Launch(LaunchError::Panicked(_)) => false,
            _ => !matches!(self.result(), OffloadResult::Error),
        }
    }
}
