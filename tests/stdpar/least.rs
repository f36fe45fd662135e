//! The least and the greatest by keys of few values, of which many are equal.
#![forbid(unsafe_code)]

use rayon::prelude::*;

fn main() {
    for count in [0, 1, 7, 1000, 100_000_u64] {
        let numbers: Vec<u64> =
            (0..count).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).collect();
        println!("{:?}", numbers.par_iter().min_by_key(|x| **x % 7));
        println!("{:?}", numbers.par_iter().max_by_key(|x| **x % 7));
        println!("{:?}", numbers.par_iter().min_by(|a, b| (*a % 5).cmp(&(*b % 5))));
        println!("{:?}", numbers.par_iter().map(|x| *x as f64 / 3.0).max_by(f64::total_cmp));
        println!("{:?}", numbers.par_iter().enumerate().min_by_key(|(i, x)| (**x % 3, *i)));
    }
}
