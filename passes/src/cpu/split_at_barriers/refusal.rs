//! Why a kernel is not cut.

/// Why a kernel stays as it is.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub(super) enum Refusal {
    #[error("the loop nest has another form")]
    Nest,
    #[error("a function outside of the loop function waits")]
    OutOfLine,
    #[error("sub-groups may come to different operations")]
    SubGroupsPart,
    #[error("work-items may panic both before an operation of sub-groups and behind it")]
    SubGroupsPanic,
    #[error("there may be no copies of: {0}")]
    Instruction(String),
    #[error("work-items wait that never end")]
    NeverEnds,
    #[error("{0} bytes for each work-item")]
    Memory(u64),
    #[error("the regions have {0} instructions")]
    Size(usize),
}
