//! Code shared by the programs of `cargo schism bench cpu`: inputs, and the protocol by which the
//! command has them run workloads in turns.

mod serve;

pub use serve::{Ask, Bytes, Workload, processor_time, serve};

/// Elements of the streaming workloads.
pub const STREAM: usize = 1 << 24;
/// Pixels across of the workloads that compute a picture.
pub const WIDTH: usize = 1024;
/// Pixels down.
pub const HEIGHT: usize = 768;
/// Bodies of the n-body workload.
pub const BODIES: usize = 4096;
/// Pixels across of the picture that is filtered.
pub const ACROSS: usize = 2048;
/// Pixels down.
pub const DOWN: usize = 1536;
/// Options that are priced, keys that are searched for, words that are counted.
pub const COUNT: usize = 1 << 20;
/// Blocks that are hashed.
pub const BLOCKS: usize = 1 << 16;
/// Work-items that wait on stacks, each 200 times.
pub const WAITING: usize = 1 << 14;
/// Rows of the sparse matrix.
pub const ROWS: usize = 1 << 17;

/// Bits in no order.
#[must_use]
pub fn random(index: usize) -> u32 {
    (index as u32).wrapping_mul(2_654_435_761)
}

/// A number between 0 and 1.
#[must_use]
pub fn unit(index: usize) -> f32 {
    random(index) as f32 / u32::MAX as f32
}

/// Numbers between 0 and 1.
#[must_use]
pub fn units(count: usize, seed: usize) -> Vec<f32> {
    (0..count).map(|index| unit(index + seed)).collect()
}

/// Prices, strikes and years of options.
#[must_use]
pub fn options() -> [Vec<f32>; 3] {
    [(0, 5.0, 25.0), (7, 1.0, 99.0), (13, 0.25, 9.75)].map(|(seed, from, range)| {
        units(COUNT, seed).into_iter().map(|unit| from + range * unit).collect()
    })
}

/// Centres and radii of spheres.
#[must_use]
pub fn spheres() -> Vec<[f32; 4]> {
    (0..32)
        .map(|i| [unit(i) * 4.0 - 2.0, unit(i + 50) * 3.0 - 1.5, 3.0 + unit(i + 99) * 5.0, 0.3])
        .collect()
}

/// Where a pixel's ray goes.
#[must_use]
pub fn ray(index: usize) -> (f32, f32) {
    let (x, y) = ((index % WIDTH) as f32, (index / WIDTH) as f32);
    (x / WIDTH as f32 - 0.5, y / HEIGHT as f32 - 0.5)
}

/// Where a pixel is in the complex plane.
#[must_use]
pub fn point(index: usize) -> (f32, f32) {
    let (x, y) = ((index % WIDTH) as f32, (index / WIDTH) as f32);
    (x / WIDTH as f32 * 3.0 - 2.0, y / HEIGHT as f32 * 2.0 - 1.0)
}

/// A sorted table.
#[must_use]
pub fn table() -> Vec<u32> {
    (0..COUNT as u32).map(|i| i * 4000).collect()
}

/// Words in no order.
#[must_use]
pub fn words() -> Vec<u32> {
    (0..COUNT).map(random).collect()
}

/// A sparse matrix by rows, and a vector.
pub struct Sparse {
    /// Where each row begins, and where the last one ends.
    pub starts: Vec<u32>,
    /// The column of each entry.
    pub columns: Vec<u32>,
    /// The entries.
    pub values: Vec<f32>,
    /// The vector.
    pub x: Vec<f32>,
}

/// A matrix with 8 to 24 entries in a row.
#[must_use]
pub fn sparse() -> Sparse {
    let mut starts = vec![0_u32];
    for row in 0..ROWS {
        starts.push(starts[row] + 8 + random(row) % 17);
    }
    let entries = starts[ROWS] as usize;
    Sparse {
        columns: (0..entries).map(|i| random(i) % ROWS as u32).collect(),
        values: units(entries, 0),
        x: units(ROWS, 0),
        starts,
    }
}

/// The weights of the convolution.
#[must_use]
pub fn weights() -> [f32; 25] {
    std::array::from_fn(|i| unit(i) / 12.0)
}
