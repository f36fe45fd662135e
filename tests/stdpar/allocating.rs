//! Pipelines whose closures allocate, and free what others have allocated. It prints what comes
//! out, and then whether each block was freed once, by what the allocator counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicIsize, Ordering};

use rayon::prelude::*;

/// Counts the bytes that are in use.
struct Counting;

static USED: AtomicIsize = AtomicIsize::new(0);

// SAFETY: this is the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        USED.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        USED.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that some work leaves in use.
fn left(work: impl Fn()) -> isize {
    // What is made once, such as threads and kernels, is there after the first calls.
    (0..3).for_each(|_| work());
    let before = USED.load(Ordering::Relaxed);
    (0..4).for_each(|_| work());
    USED.load(Ordering::Relaxed) - before
}

fn rows(count: usize) -> Vec<Vec<u64>> {
    (0..count as u64).into_par_iter().map(|i| (0..i % 7).map(|j| i * j).collect()).collect()
}

fn main() {
    for count in [1, 2, 100, 5000] {
        let rows = rows(count);
        let sum: u64 = rows.par_iter().map(|row| row.iter().sum::<u64>()).sum();
        let longer: Vec<Vec<u64>> = rows
            .into_par_iter()
            .map(|mut row| {
                row.push(1);
                row.extend_from_slice(&[2, 3]);
                row
            })
            .collect();
        let boxes: Vec<Box<[u64; 4]>> =
            (0..count as u64).into_par_iter().map(|i| Box::new([i; 4])).collect();
        let of_boxes: u64 = boxes.into_par_iter().map(|block| block[3]).sum();
        let words: Vec<String> = ["kernel", "host", "device"]
            .repeat(count)
            .par_iter()
            .map(|word| word.chars().rev().collect())
            .collect();
        let lengths: usize = words.par_iter().map(String::len).sum();
        let table = (0..count as u32)
            .into_par_iter()
            .fold(BTreeMap::new, |mut table: BTreeMap<u32, Vec<u32>>, i| {
                table.entry(i % 5).or_default().push(i);
                table
            })
            .reduce(BTreeMap::new, |mut left, right| {
                right
                    .into_iter()
                    .for_each(|(key, values)| left.entry(key).or_default().extend(values));
                left
            });
        let odd: Vec<u64> = (0..count as u64).into_par_iter().filter(|i| i % 2 == 1).collect();
        println!("{count} {sum} {of_boxes} {lengths} {table:?} {odd:?}");
        println!("{longer:?} {words:?}");
    }
    // Four times a hundred thousand bytes, if they were lost.
    println!("{}", left(|| drop(rows(1000))) < 50_000);
    println!("{}", left(|| rows(1000).into_par_iter().for_each(drop)) < 50_000);
    let panics = || {
        let work = || (0..1000_u64).into_par_iter().map(|i| vec![i; 1000 / i as usize]).count();
        let message = catch_unwind(work).expect_err("it divides by zero");
        message
            .downcast_ref::<String>()
            .cloned()
            .or(message.downcast_ref::<&str>().map(|text| (*text).to_owned()))
    };
    println!("{:?}", panics());
}
