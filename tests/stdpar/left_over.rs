//! Items that no consumer sees are dropped: those beside a shorter `zip`, and those that `step_by`,
//! `skip` and `take` leave out.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

/// Counted while it is alive.
struct Alive<'a>(&'a AtomicUsize, u64);

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

fn main() {
    let alive = AtomicUsize::new(0);
    let list = |count: u64| -> Vec<Alive<'_>> {
        alive.fetch_add(count as usize, Relaxed);
        (0..count).map(|i| Alive(&alive, i)).collect()
    };
    let show = |what: &str, result: u64| {
        println!("{what}: {result}, alive {}", alive.swap(0, Relaxed));
    };
    for (long, short) in [(0, 0), (1, 0), (2, 1), (100, 10), (1000, 77), (10_000, 9999)] {
        println!("{long} and {short}");
        let pairs: Vec<_> = list(short).into_par_iter().zip(list(long)).collect();
        let count = pairs.len() as u64;
        drop(pairs);
        show("zip, collect", count);
        list(long).into_par_iter().zip(list(short)).for_each(drop);
        show("zip, for_each", 0);
        let sum = list(long).into_par_iter().zip(0..short as usize).map(|(a, b)| a.1 ^ b as u64);
        show("zip, sum", sum.sum());
        let sum: f64 =
            list(long).into_par_iter().zip(list(short)).map(|(a, b)| (a.1 + b.1) as f64).sum();
        show("zip, sum of f64", sum as u64);
        let (left, right): (Vec<_>, Vec<_>) = list(long).into_par_iter().zip(list(short)).unzip();
        let count = left.len() + right.len();
        drop((left, right));
        show("zip, unzip", count as u64);
        let sum = list(long).into_par_iter().step_by(7).map(|item| item.1).collect::<Vec<_>>();
        show("step_by", sum.iter().sum());
        let sum: u64 = list(long)
            .into_par_iter()
            .rev()
            .step_by(3)
            .zip(list(short))
            .map(|(a, b)| a.1 ^ b.1)
            .sum();
        show("rev, step_by, zip", sum);
        let sum: u64 = list(long).into_par_iter().skip(3).take(50).map(|item| item.1).sum();
        show("skip, take", sum);
        let found =
            list(long).into_par_iter().find_any(|item| item.1 == 70).map_or(0, |item| item.1);
        show("find_any", found);
        let count = list(long)
            .into_par_iter()
            .chunks(7)
            .zip(list(short))
            .map(|(chunk, _)| chunk.len())
            .sum::<usize>();
        show("chunks, zip", count as u64);
        let boxes: Vec<(Box<Alive<'_>>, Arc<Alive<'_>>)> = list(short)
            .into_iter()
            .map(Box::new)
            .collect::<Vec<_>>()
            .into_par_iter()
            .zip(list(long).into_iter().map(Arc::new).collect::<Vec<_>>())
            .collect();
        let sum = boxes.iter().map(|(a, b)| a.1 + b.1).sum();
        drop(boxes);
        show("boxes", sum);
        let shared = Arc::new(5);
        vec![shared.clone(); long as usize].into_par_iter().zip(0..short as u32).for_each(drop);
        show("copies of an Arc", Arc::strong_count(&shared) as u64);
    }
}
