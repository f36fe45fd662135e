//! Pseudo-random inputs that are the same in both programs.

/// A hash of a number: every bit of the result depends on every bit of the number.
pub const fn mix(number: u32) -> u32 {
    let mut bits = number;
    bits = (bits ^ (bits >> 16)).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ (bits >> 13)).wrapping_mul(0xc2b2_ae35);
    bits ^ (bits >> 16)
}

/// Maps the number to 0 to 1, in 2^24 steps: the same in every language.
pub const fn unit(number: u32) -> f32 {
    (mix(number) >> 8) as f32 / 16_777_216.0
}

/// A number between `low` and `high` for each of `count` indices. `seed` selects the vector.
pub fn between(seed: u32, count: usize, low: f32, high: f32) -> Vec<f32> {
    (0..count).map(|place| low + (high - low) * unit(seed.wrapping_add(place as u32))).collect()
}
