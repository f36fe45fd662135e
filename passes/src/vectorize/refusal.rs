//! Why a loop is not vectorised.

use std::fmt;

/// Why a loop stays as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The loop has another form.
    Form(&'static str),
    /// It has something that is not vectorised.
    Construct(&'static str),
    /// LLVM's own vectoriser is as good.
    Left,
    /// It would be slower: what one work-item costs, in the scalar loop and in the vector one.
    Cost { scalar: u32, vector: u32 },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form(what) => write!(f, "not vectorised: {what}"),
            Self::Construct(what) => write!(f, "not vectorised: it has {what}"),
            Self::Left => {
                f.write_str("left to LLVM's vectoriser: one block of consecutive accesses")
            }
            Self::Cost { scalar, vector } => {
                write!(f, "not vectorised: an item would cost {vector}, and costs {scalar}")
            }
        }
    }
}
