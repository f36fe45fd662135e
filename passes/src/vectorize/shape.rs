//! How values differ between lanes.

/// How a value differs between the work-items of a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Not at all.
    Uniform,
    /// By this number from one to the next: for addresses, of bytes.
    Strided(i64),
    /// In any way.
    Varying,
}
