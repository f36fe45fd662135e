//! How many work-items stage 2 computes at once in the lanes of a vector.

/// What is known of the vectors of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    /// How many bits a register has.
    pub register_bits: u32,
    /// This many lanes for each loop that can be vectorised, whether it pays or not: a power of
    /// two.
    pub forced: Option<u32>,
}
