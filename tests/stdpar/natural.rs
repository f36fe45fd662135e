//! What a kernel in the program's process can do as well as rayon: ask for features of the
//! processor, use its instructions, call itself, sort rows, count, look things up, take locks.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, RwLock};

use rayon::prelude::*;

/// Sums and differences by halves.
#[inline(never)]
fn halves(row: &mut [f64]) {
    if row.len() < 4 {
        return;
    }
    let (left, right) = row.split_at_mut(row.len() / 2);
    left.iter_mut().zip(right.iter_mut()).for_each(|(a, b)| (*a, *b) = (*a + *b, *a - *b));
    halves(left);
    halves(right);
}

#[cfg(target_arch = "x86_64")]
fn processor(numbers: &[u64]) {
    use std::arch::x86_64::{_addcarry_u64, _mm_cvtss_f32, _mm_max_ps, _mm_set1_ps, _mm_sqrt_ps};
    let found = numbers.par_iter().map(|x| u64::from(is_x86_feature_detected!("sse2")) * x);
    println!("features {}", found.sum::<u64>());
    let carried = numbers.par_iter().map(|x| {
        let mut sum = 0;
        u64::from(_addcarry_u64(1, *x, u64::MAX - 10, &mut sum)) + (sum & 1)
    });
    println!("carry {}", carried.sum::<u64>());
    let roots = numbers.par_iter().map(|x| {
        // SAFETY: every processor of this architecture has SSE2.
        unsafe {
            let number = _mm_set1_ps(*x as f32);
            _mm_cvtss_f32(_mm_max_ps(_mm_sqrt_ps(number), _mm_set1_ps(2.0))) as u64
        }
    });
    println!("roots {}", roots.sum::<u64>());
}

fn main() {
    let numbers: Vec<u64> = (0..50_000).collect();
    #[cfg(target_arch = "x86_64")]
    processor(&numbers);
    let mut rows: Vec<Vec<f64>> =
        (0..500).map(|i| (0..64).map(|j| (i * j % 17) as f64 + 0.5).collect()).collect();
    rows.par_iter_mut().for_each(|row| halves(row));
    rows.par_iter_mut().for_each(|row| row.sort_by(f64::total_cmp));
    rows.par_iter_mut().for_each(|row| row.sort_unstable_by(|a, b| b.total_cmp(a)));
    println!("rows {}", rows.iter().flatten().map(|x| x.abs()).sum::<f64>());
    let kinds = rows.par_iter().map(|row| {
        let mut counts: HashMap<u64, u32> = HashMap::new();
        row.iter().for_each(|x| *counts.entry(x.to_bits()).or_default() += 1);
        counts.len()
    });
    println!("kinds {}", kinds.sum::<usize>());
    let table: HashMap<u64, u64> = numbers.iter().map(|x| (*x, x * 2)).collect();
    println!("table {}", numbers.par_iter().map(|x| table[x]).sum::<u64>());
    let progress = AtomicUsize::new(0);
    numbers.par_iter().for_each(|_| _ = progress.fetch_add(1, Relaxed));
    println!("progress {}", progress.into_inner());
    let function: Box<dyn Fn(u64) -> u64 + Sync> = Box::new(|x| x + 1);
    println!("function {}", numbers.par_iter().map(|x| function(*x)).sum::<u64>());
    let locks: Vec<Mutex<u64>> = (0..1000).map(Mutex::new).collect();
    println!("locks {}", locks.par_iter().map(|x| *x.lock().unwrap()).sum::<u64>());
    let locks: Vec<RwLock<u64>> = (0..1000).map(RwLock::new).collect();
    println!("locks {}", locks.par_iter().map(|x| *x.read().unwrap()).sum::<u64>());
}
