//! Specialization constants of a crate other than the one with the kernels.

use schism::SpecConst;

/// A constant for everyone.
pub static SHARED: SpecConst<u32> = SpecConst::new(7);

/// A constant that only this crate sees.
static OWN: SpecConst<[i16; 3]> = SpecConst::named("schism_tests::own", [1, 2, 3]);

/// Reads the constant that only this crate sees.
pub fn own() -> i32 {
    OWN.get().iter().map(|element| i32::from(*element)).sum()
}

/// The queue, with another value for the constant that only this crate sees.
#[must_use]
pub fn with_own(queue: &schism::Queue, value: [i16; 3]) -> schism::Queue {
    queue.with_constant(&OWN, value)
}
