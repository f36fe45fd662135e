//! The table: ratios of medians by kernel, and their geometric means.

use super::kernels::{Kernel, Kind};
use crate::bench::output::duration;
use crate::bench::statistics::{geometric_mean, median};

/// The goals: geometric means of rayon's time, and of all others', by schism's.
const GOALS: (f64, f64) = (3.0, 1.2);
/// What no kernel is to be below: of rayon, and of the best peer.
const LEAST: (f64, f64) = (0.95, 0.8);
/// The most nanoseconds of waiting on a stack.
const WAIT: u32 = 15;

/// A kernel's times by all peers.
pub struct Row {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Of each peer, in order; none if it lacks the kernel.
    pub times: Vec<Vec<f64>>,
    /// What results differ.
    pub wrong: Vec<String>,
}

/// All kernels.
pub struct Table {
    peers: Vec<String>,
    limits: (f64, f64),
    rows: Vec<Row>,
}

impl Table {
    /// For these peers, schism first, and the machine's bytes and operations per second.
    pub fn new(peers: Vec<String>, limits: (f64, f64)) -> Self {
        Self { peers, limits, rows: Vec::new() }
    }

    /// Adds a kernel.
    pub fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Prints it; whether all results are equal.
    pub fn print(&mut self) -> bool {
        let (bytes, operations) = self.limits;
        println!(
            "\nlimits: {:.1} GB/s (triad), {:.0} GFLOP/s (FMA)",
            bytes / 1e9,
            operations / 1e9
        );
        print!("{:22} {:>10} {:>6}", "", "schism", "share");
        self.peers[1..].iter().for_each(|peer| print!(" {peer:>18}"));
        println!();
        let mut means = vec![Vec::new(); self.peers.len()];
        for row in &mut self.rows {
            let threads = std::thread::available_parallelism().map_or(1, usize::from) as f64;
            let own = median(&mut row.times[0].clone());
            let share = row.kernel.work.map_or(String::new(), |(moved, computed)| {
                let least = (moved / bytes).max(computed / operations);
                format!("{:.0} %", 100.0 * least / (own / threads))
            });
            print!("{:22} {} {share:>6}", row.kernel.name, duration(own));
            let mut all = Vec::new();
            for (at, times) in row.times.iter().enumerate().skip(1) {
                let mut ratios: Vec<f64> =
                    row.times[0].iter().zip(times).map(|(own, peer)| peer / own).collect();
                if ratios.is_empty() {
                    print!(" {:>18}", "-");
                    continue;
                }
                let middle = median(&mut ratios);
                let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
                print!(" {middle:>6.2} ({low:.2}-{high:.2})");
                if !matches!(row.kernel.kind, Kind::Launch | Kind::Option) {
                    means[at].push(middle);
                }
                all.push((at, middle));
            }
            if let Kind::Stacks(waits) = row.kernel.kind {
                print!("  {:.1} ns for a work-item at a barrier; goal {WAIT}", own / waits * 1e9);
            }
            println!("{}", verdict(row.kernel, &all));
        }
        print!("{:22} {:>17}", "geometric mean", "");
        means[1..].iter().for_each(|all| {
            print!(" {:>18.2}", geometric_mean(all).unwrap_or(f64::NAN));
        });
        println!();
        println!(
            "processor time of the peer by schism's, medians; above 1 schism is faster. goals: mean {} of rayon, {} of others; \
             none below {} of rayon or {} of the best; kernels with barriers 1 of OpenCL",
            GOALS.0, GOALS.1, LEAST.0, LEAST.1
        );
        let wrong: Vec<_> = self.rows.iter().flat_map(|row| &row.wrong).collect();
        wrong.iter().for_each(|line| println!("{line}"));
        wrong.is_empty()
    }
}

/// What a kernel misses.
fn verdict(kernel: &Kernel, ratios: &[(usize, f64)]) -> &'static str {
    let below_rayon = ratios.iter().any(|&(at, ratio)| at == 1 && ratio < LEAST.0);
    let below_best = ratios.iter().any(|&(_, ratio)| ratio < LEAST.1);
    let below_opencl =
        kernel.kind == Kind::Barriers && ratios.iter().any(|&(at, ratio)| at > 2 && ratio < 1.0);
    match (kernel.kind, below_rayon, below_best || below_opencl) {
        (Kind::Launch, true, _) => "  below rayon",
        (Kind::Launch | Kind::Option | Kind::Stacks(_), ..) | (_, false, false) => "",
        (_, true, _) => "  below rayon",
        (_, false, true) => "  below the best",
    }
}

/// The first difference between results: of bytes, or of numbers that differ by more than the
/// tolerance, relative to the greater one or to 1.
pub fn difference(expected: &[u8], found: &[u8], tolerance: f32) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!("{} bytes instead of {}", found.len(), expected.len()));
    }
    if tolerance == 0.0 {
        let at = expected.iter().zip(found).position(|(a, b)| a != b)?;
        return Some(format!("byte {at} is {}, and rayon has {}", found[at], expected[at]));
    }
    let number = |bytes: &[u8]| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let pairs = expected.chunks_exact(4).map(number).zip(found.chunks_exact(4).map(number));
    for (at, (a, b)) in pairs.enumerate() {
        let within = (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0);
        if !within {
            return Some(format!("number {at} is {b}, and rayon has {a}"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn results_are_compared() {
        let bytes = |values: [f32; 2]| values.map(f32::to_le_bytes).concat();
        let (a, b) = (bytes([1.0, 100.0]), bytes([1.0, 100.01]));
        assert_eq!(difference(&a, &b, 2e-4), None);
        assert!(difference(&a, &b, 0.0).unwrap().contains("byte 4"));
        assert!(difference(&a, &b, 2e-5).unwrap().contains("number 1 is 100.01"));
        assert!(difference(&a, &bytes([1.0, f32::NAN]), 2e-4).unwrap().contains("NaN"));
        assert!(difference(&a, &a[..4], 0.0).unwrap().contains("4 bytes instead of 8"));
    }
}
