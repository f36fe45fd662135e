//! A crate that is a library for C as well.

use rayon::prelude::*;

/// The sum of the first cubes.
///
/// ```
/// assert_eq!(shared::cubes(3), 9);
/// ```
#[unsafe(no_mangle)]
pub extern "C" fn cubes(count: u64) -> u64 {
    (0..count).into_par_iter().map(|x| x * x * x).sum()
}
