//! What the user chooses: how kernels are divided into images, which warnings to give, how precise
//! arithmetic may be.

use std::str::FromStr;

use schism_llvm::fast_math;
use thiserror::Error;

/// How kernels are divided into images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SplitMode {
    /// One image.
    #[default]
    Off,
    /// An image for each kernel.
    PerKernel,
    /// An image for the kernels of each module of the source.
    PerSource,
    /// An image for the kernels that need the same of a device.
    Auto,
}

/// A word that is no way to divide kernels.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{0}` is no way to split device code: use off, per-kernel, per-source or auto")]
pub struct UnknownSplit(pub String);

impl FromStr for SplitMode {
    type Err = UnknownSplit;

    fn from_str(word: &str) -> Result<Self, UnknownSplit> {
        match word {
            "" | "off" => Ok(SplitMode::Off),
            "per-kernel" => Ok(SplitMode::PerKernel),
            "per-source" => Ok(SplitMode::PerSource),
            "auto" => Ok(SplitMode::Auto),
            other => Err(UnknownSplit(other.to_owned())),
        }
    }
}

/// What is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Warnings {
    /// Nothing.
    Off,
    /// What nearly always is a mistake.
    #[default]
    Usual,
    /// Also what may well be meant, and costs.
    Perf,
}

/// A word that names no [`Warnings`].
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{0}` is none of `off`, `on` and `perf`")]
pub struct UnknownWarnings(pub String);

impl FromStr for Warnings {
    type Err = UnknownWarnings;

    /// Reads `off`, `on` or `perf`; nothing at all is `on`.
    ///
    /// ```
    /// use schism_passes::spec::options::Warnings;
    ///
    /// assert_eq!("perf".parse(), Ok(Warnings::Perf));
    /// assert!("all".parse::<Warnings>().is_err());
    /// ```
    fn from_str(word: &str) -> Result<Self, UnknownWarnings> {
        match word {
            "off" | "0" => Ok(Warnings::Off),
            "" | "on" | "1" => Ok(Warnings::Usual),
            "perf" => Ok(Warnings::Perf),
            other => Err(UnknownWarnings(other.to_owned())),
        }
    }
}

/// How precise operations are: LLVM's fast-math flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FastMath(u32);

impl FastMath {
    /// Not at all.
    pub const PRECISE: Self = Self(0);

    /// Rounding may differ: other orders, contracted operations, reciprocals, approximated
    /// functions, zeros without sign. Infinities and NaNs keep their meaning.
    pub const RELAXED: Self = Self(
        fast_math::REASSOCIATE
            | fast_math::CONTRACT
            | fast_math::NO_SIGNED_ZEROS
            | fast_math::RECIPROCAL
            | fast_math::APPROXIMATE,
    );

    /// For code that promises that no value in it is infinite or a NaN: the same as
    /// [`RELAXED`](Self::RELAXED), for the reason that [`fast_math`](crate::specialize::fast_math)
    /// gives.
    pub const RELAXED_AND_FINITE: Self = Self::RELAXED;

    /// The flags, as LLVM numbers them.
    pub(crate) const fn flags(self) -> u32 {
        self.0
    }
}
