//! Items that own something, in an ordinary program with rayon: each is dropped once, also those that
//! are not taken.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

/// Counts how often the item of each number was dropped.
struct Counted<'a> {
    drops: &'a [AtomicUsize],
    number: usize,
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.drops[self.number].fetch_add(1, Relaxed);
    }
}

const MOST: usize = 8192;

/// Runs a pipeline of items that a function makes, and shows its result, and how often items were
/// dropped.
macro_rules! check {
    ($what:literal, $items:ident => $run:expr) => {{
        let drops: Vec<AtomicUsize> = (0..MOST).map(|_| AtomicUsize::new(0)).collect();
        let made = AtomicUsize::new(0);
        let $items = |count: usize| -> Vec<Counted<'_>> {
            let first = made.fetch_add(count, Relaxed);
            (first..first + count).map(|number| Counted { drops: &drops, number }).collect()
        };
        let result = $run;
        let made = made.load(Relaxed);
        let times = |number| drops[..made].iter().filter(|n| n.load(Relaxed) == number).count();
        let (never, once) = (times(0), times(1));
        println!("{}: {result}; of {made} {never} are alive, {once} were dropped once", $what);
    }};
}

fn number(item: &Counted<'_>) -> f64 {
    item.number as f64
}

fn main() {
    for long in [3, 40, 1000, 2500] {
        let short = long / 3;
        check!("zip, collect", items => {
            let both: Vec<_> = items(long).into_par_iter().zip(items(short)).collect();
            both.iter().map(|(a, b)| number(a) - number(b)).sum::<f64>()
        });
        check!("zip, for_each", items => {
            items(long).into_par_iter().zip(items(short)).for_each(|(a, b)| drop((b, a)));
            0
        });
        check!("zip with numbers, map, collect", items => {
            let sums: Vec<f64> =
                items(long).into_par_iter().zip(0..short).map(|(a, b)| number(&a) + b as f64).collect();
            sums.iter().sum::<f64>()
        });
        check!("zip, sum of floats", items => items(long)
            .into_par_iter()
            .zip(0..short)
            .map(|(a, b)| number(&a) + b as f64)
            .sum::<f64>());
        check!("zip, filter, sum of floats", items => items(short)
            .into_par_iter()
            .zip(items(long))
            .filter(|(a, _)| a.number % 3 != 0)
            .map(|(a, b)| number(&a) + number(&b))
            .sum::<f64>());
        check!("zip, sum of integers", items => items(long)
            .into_par_iter()
            .zip(items(short))
            .map(|(a, b)| a.number ^ b.number)
            .sum::<usize>());
        check!("zip of zips", items => {
            let of_three: Vec<_> =
                items(long).into_par_iter().zip(items(short).into_par_iter().zip(items(long))).collect();
            of_three.iter().map(|(a, (b, c))| number(a) + number(b) - number(c)).sum::<f64>()
        });
        check!("zip, rev", items => {
            let both: Vec<_> = items(long).into_par_iter().zip(items(short)).rev().collect();
            both.iter().map(|(a, b)| number(a) - number(b)).sum::<f64>()
        });
        check!("rev, zip", items => {
            let both: Vec<_> = items(long).into_par_iter().rev().zip(items(short)).collect();
            both.iter().map(|(a, b)| number(a) - number(b)).sum::<f64>()
        });
        check!("zip, rev, sum of floats", items => items(short)
            .into_par_iter()
            .zip(items(long))
            .rev()
            .map(|(a, b)| number(&a) * 2.0 - number(&b))
            .sum::<f64>());
        check!("step_by, rev", items => items(long)
            .into_par_iter()
            .step_by(7)
            .rev()
            .map(|a| number(&a))
            .collect::<Vec<_>>()
            .len());
        check!("step_by, zip", items => items(long)
            .into_par_iter()
            .step_by(7)
            .zip(items(short))
            .map(|(a, b)| a.number ^ b.number)
            .collect::<Vec<_>>()
            .len());
        check!("zip, step_by, enumerate", items => items(long)
            .into_par_iter()
            .zip(items(short))
            .step_by(3)
            .enumerate()
            .map(|(place, (a, b))| place + a.number + b.number)
            .collect::<Vec<_>>()
            .len());
        check!("skip, take", items => items(long)
            .into_par_iter()
            .skip(short / 2)
            .take(short)
            .map(|a| number(&a))
            .collect::<Vec<_>>()
            .len());
        check!("zip, skip, take, for_each", items => {
            let two = items(long).into_par_iter().zip(items(long / 2));
            two.skip(short / 2).take(short / 2).for_each(drop);
            0
        });
        check!("interleave_shortest, zip", items => {
            let mixed = items(long).into_par_iter().interleave_shortest(items(short));
            mixed.zip(items(long)).map(|(a, b)| a.number ^ b.number).collect::<Vec<_>>().len()
        });
        check!("lengths, zip", items => {
            let parts = items(long).into_par_iter().with_max_len(16).zip(items(short));
            parts.with_min_len(2).map(|(a, b)| number(&a) - number(&b)).sum::<f64>()
        });
        let shared = Arc::new(5);
        let copies = vec![Arc::clone(&shared); long];
        copies.into_par_iter().zip(0..short).for_each(|(copy, _)| drop(copy));
        println!("an Arc has {} owners", Arc::strong_count(&shared));
    }
}
