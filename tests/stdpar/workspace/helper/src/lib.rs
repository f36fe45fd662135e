//! Pipelines for a program, its build script and its macro.

use rayon::prelude::*;

/// The sum of the first squares.
pub fn squares(count: u64) -> u64 {
    (0..count).into_par_iter().map(|x| x * x).sum()
}

/// The values of a function.
///
/// ```
/// assert_eq!(helper::mapped(3, |x| 2 * x), [0, 2, 4]);
/// ```
pub fn mapped<T: Send>(count: u64, f: impl Fn(u64) -> T + Sync + Send) -> Vec<T> {
    (0..count).into_par_iter().map(f).collect()
}
