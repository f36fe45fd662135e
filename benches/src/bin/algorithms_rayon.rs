//! What rayon has beside schism's algorithms. Sums of prefixes it has not.

use std::cmp::Ordering;

use rayon::prelude::*;
use schism_bench::algorithms::{Number, any, checksum, measure, places, sizes, small};

fn main() -> Result<(), String> {
    for log2 in sizes()? {
        sum::<u32>(log2, u32::wrapping_add);
        sum::<f32>(log2, |a, b| a + b);
        sum::<f64>(log2, |a, b| a + b);
        filter(log2);
        sorts::<u32>(log2, u32::cmp);
        sorts::<u64>(log2, u64::cmp);
        sorts::<f32>(log2, f32::total_cmp);
        sorts::<f64>(log2, f64::total_cmp);
        let input = any::<u32>(log2);
        measure(
            "stable_sort_u32",
            log2,
            input.clone(),
            |keys| keys.copy_from_slice(&input),
            |keys| keys.par_sort(),
            |keys| checksum(keys),
        );
    }
    Ok(())
}

fn sum<T: Number>(log2: u32, add: impl Fn(T, T) -> T + Sync + Send) {
    let input = small::<T>(log2);
    measure(
        &format!("reduce_{}", T::NAME),
        log2,
        T::default(),
        |_| (),
        |sum| *sum = input.par_iter().copied().reduce(T::default, &add),
        |sum| sum.bits(),
    );
}

fn filter(log2: u32) {
    let input = any::<u32>(log2);
    measure(
        "copy_if_u32",
        log2,
        Vec::new(),
        |_| (),
        |output| *output = input.par_iter().copied().filter(|own| own.is_multiple_of(2)).collect(),
        |output: &Vec<u32>| checksum(output),
    );
}

fn sorts<T: Number>(log2: u32, order: impl Fn(&T, &T) -> Ordering + Sync) {
    let input = any::<T>(log2);
    measure(
        &format!("sort_{}", T::NAME),
        log2,
        input.clone(),
        |keys| keys.copy_from_slice(&input),
        |keys| keys.par_sort_unstable_by(&order),
        |keys| checksum(keys),
    );
    let pairs: Vec<(T, u32)> = input.into_iter().zip(places(log2)).collect();
    measure(
        &format!("sort_pairs_{}", T::NAME),
        log2,
        pairs.clone(),
        |own| own.copy_from_slice(&pairs),
        |own| own.par_sort_by(|a, b| order(&a.0, &b.0)),
        |own| checksum(&own.iter().map(|pair| pair.1).collect::<Vec<_>>()),
    );
}
