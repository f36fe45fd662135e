//! What the tests of sub-groups and of what groups do together share.

use schism::prelude::*;

/// Runs a case on every device.
///
/// # Panics
/// A device that is listed cannot be used, or the case panics.
pub fn on_every_device(mut case: impl FnMut(&Queue)) {
    for device in crate::devices::listed() {
        case(&Queue::on(&device).expect("a device that is listed"));
    }
}

/// Sizes of groups: one sub-group and less, whole ones, and whole ones with a rest.
pub const SIZES: [usize; 10] = [1, 2, 7, 31, 32, 33, 64, 95, 256, 1000];

/// Numbers that look like any.
pub fn random(seed: u64) -> impl Iterator<Item = u64> {
    let mut random = fastrand::Rng::with_seed(seed);
    std::iter::repeat_with(move || random.u64(..))
}
