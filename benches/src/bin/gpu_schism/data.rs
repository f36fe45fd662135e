//! Inputs that look random and are the same in both programs.

/// Scrambles a number: every bit of the result depends on every bit of it.
pub const fn mix(number: u32) -> u32 {
    let mut bits = number;
    bits = (bits ^ (bits >> 16)).wrapping_mul(0x85eb_ca6b);
    bits = (bits ^ (bits >> 13)).wrapping_mul(0xc2b2_ae35);
    bits ^ (bits >> 16)
}

/// The number's place between 0 and 1, in 2^24 steps: the same in every language.
pub const fn unit(number: u32) -> f32 {
    (mix(number) >> 8) as f32 / 16_777_216.0
}

/// A number between `low` and `high` for each of `count` places. `seed` tells vectors apart.
pub fn between(seed: u32, count: usize, low: f32, high: f32) -> Vec<f32> {
    (0..count).map(|place| low + (high - low) * unit(seed.wrapping_add(place as u32))).collect()
}
