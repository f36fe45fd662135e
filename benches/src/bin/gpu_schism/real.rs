//! Element types of kernels and checksums.

use std::ops::{Add, Mul};

use schism::{Element, GroupValue};

/// Elements of results.
pub trait Digest: Element + Default + PartialEq + std::fmt::Debug {
    /// The type's name in the lines that are printed.
    const NAME: &'static str;
    /// The bits, for results that must be equal.
    fn bits(self) -> u64;
    /// The value, for results that must be close.
    fn value(self) -> f64;
}

impl Digest for u32 {
    const NAME: &'static str = "u32";

    fn bits(self) -> u64 {
        u64::from(self)
    }

    fn value(self) -> f64 {
        f64::from(self)
    }
}

impl Digest for u8 {
    const NAME: &'static str = "u8";

    fn bits(self) -> u64 {
        u64::from(self)
    }

    fn value(self) -> f64 {
        f64::from(self)
    }
}

impl Digest for u64 {
    const NAME: &'static str = "u64";

    fn bits(self) -> u64 {
        self
    }

    fn value(self) -> f64 {
        self as f64
    }
}

impl Digest for f32 {
    const NAME: &'static str = "f32";

    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }

    fn value(self) -> f64 {
        f64::from(self)
    }
}

impl Digest for f64 {
    const NAME: &'static str = "f64";

    fn bits(self) -> u64 {
        self.to_bits()
    }

    fn value(self) -> f64 {
        self
    }
}

/// The floating-point types, for kernels that are generic over them.
pub trait Real: Digest + GroupValue + Add<Output = Self> + Mul<Output = Self> {
    /// The nearest value.
    fn of(value: f64) -> Self;
}

impl Real for f32 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value as Self
    }
}

impl Real for f64 {
    #[inline(always)]
    fn of(value: f64) -> Self {
        value
    }
}
