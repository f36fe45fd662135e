//! A rayon program. `cargo schism run` makes its parallel iterators kernels, as `[package.metadata.schism]` in
//! Cargo.toml asks for; plain `cargo run` leaves them with rayon.

use rayon::prelude::*;

/// The number of steps that Collatz's rule takes from `n` to 1.
fn steps(mut n: u64) -> u32 {
    let mut count = 0;
    while n != 1 {
        n = if n.is_multiple_of(2) { n / 2 } else { 3 * n + 1 };
        count += 1;
    }
    count
}

/// The number below `limit` that takes most steps, and how many.
fn longest(limit: u64) -> Option<(u32, u64)> {
    (1..limit).into_par_iter().map(|n| (steps(n), n)).max()
}

fn main() {
    if let Some((count, n)) = longest(1_000_000) {
        println!("{n} takes {count} steps");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_longest_is_found() {
        assert_eq!(super::longest(10), Some((19, 9)));
        assert_eq!(super::longest(1), None);
    }
}
