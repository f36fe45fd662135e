//! How often each byte value occurs in a file: private counts, then atomics.
//!
//! ```text
//! cargo schism run --release --example histogram -- FILE [--check]
//! ```

use std::sync::atomic::Ordering;
use std::time::Instant;

use schism::prelude::*;
use schism_examples::arguments::Arguments;
use schism_examples::compare;

/// Bytes that one work-item counts by itself before it adds to the common counts.
const CHUNK: usize = 1 << 16;

fn main() -> Result<(), Report> {
    let arguments = Arguments::read(1, 1, "histogram FILE [--check]")?;
    let file = arguments.word(0).unwrap_or("");
    let bytes = std::fs::read(file).map_err(|error| format!("cannot read {file}: {error}"))?;

    let queue = Queue::new()?;
    let start = Instant::now();
    let input = Buffer::from_slice(&queue, &bytes)?;
    let mut counts = Buffer::filled(&queue, 256, 0_u64)?;
    let common = counts.atomic_view();
    queue.for_each(input.chunks(CHUNK), move |bytes| {
        let mut own = [0_u32; 256];
        for &byte in bytes {
            own[usize::from(byte)] += 1;
        }
        for (common, own) in common.iter().zip(own) {
            if own > 0 {
                common.fetch_add(u64::from(own), Ordering::Relaxed);
            }
        }
    })?;
    let counts = counts.to_vec();
    println!("{} bytes on {}: {:.2?}", bytes.len(), queue.device(), start.elapsed());

    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let mut order: Vec<usize> = (0..256).filter(|&value| counts[value] > 0).collect();
    order.sort_by_key(|&value| std::cmp::Reverse(counts[value]));
    for value in order.into_iter().take(16) {
        let bar = "#".repeat((counts[value] * 50).div_ceil(most) as usize);
        let shown = char::from(value as u8).escape_default().to_string();
        println!("{value:3} {shown:>6} {:10} {bar}", counts[value]);
    }
    if arguments.check() {
        let mut host = vec![0_u64; 256];
        for &byte in &bytes {
            host[usize::from(byte)] += 1;
        }
        compare("histogram", &counts, &host)?;
    }
    Ok(())
}
