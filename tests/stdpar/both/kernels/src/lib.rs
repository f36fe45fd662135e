//! A library that launches kernels, and has no parallel iterators.

use schism::Queue;

/// The first cubes.
///
/// ```
/// assert_eq!(kernels::cubes(3).unwrap(), [0, 1, 8]);
/// ```
pub fn cubes(count: usize) -> Result<Vec<u64>, schism::Error> {
    let mut cubes = vec![0; count];
    Queue::new()?.for_each((0.., &mut cubes), |(i, cube)| *cube = (i * i * i) as u64)?;
    Ok(cubes)
}
