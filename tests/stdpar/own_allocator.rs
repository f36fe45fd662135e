//! An ordinary program with its own global allocator, and what that counts. With the first argument
//! `mapped` the allocator takes large blocks from its own mappings, as those do that are no wrappers of
//! the system's. With another argument the program says which blocks lie in a mapping of many gibibytes,
//! where a shared heap is.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

unsafe extern "C" {
    fn mmap(at: *mut u8, n: usize, p: i32, f: i32, fd: i32, o: i64) -> *mut u8;
    fn munmap(at: *mut u8, n: usize) -> i32;
}

/// Counts large blocks, and bytes in them, under a lock that is not taken twice.
struct Own(Mutex<()>);

#[global_allocator]
static OWN: Own = Own(Mutex::new(()));

static IS_MAPPED: AtomicBool = AtomicBool::new(false);
static BLOCKS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// What is counted, and what is refused.
const LARGE: usize = 3_000_000;
const TOO_LARGE: usize = 1 << 30;

fn is_mapped(layout: Layout) -> bool {
    layout.size() >= LARGE && IS_MAPPED.load(Relaxed)
}

unsafe impl GlobalAlloc for Own {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _locked = self.0.lock();
        if layout.size() >= TOO_LARGE {
            return std::ptr::null_mut();
        }
        if layout.size() >= LARGE {
            BLOCKS.fetch_add(1, Relaxed);
            CALLS.fetch_add(1, Relaxed);
            BYTES.fetch_add(layout.size(), Relaxed);
        }
        if is_mapped(layout) {
            unsafe { mmap(std::ptr::null_mut(), layout.size(), 3, 0x22, -1, 0) }
        } else {
            unsafe { System.alloc(layout) }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let _locked = self.0.lock();
        if layout.size() >= LARGE {
            BLOCKS.fetch_sub(1, Relaxed);
            BYTES.fetch_sub(layout.size(), Relaxed);
        }
        if is_mapped(layout) {
            assert_eq!(unsafe { munmap(block, layout.size()) }, 0);
        } else {
            unsafe { System.dealloc(block, layout) };
        }
    }
}

fn is_shared(address: *const u8) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the mappings");
    maps.lines().any(|line| {
        let (begin, rest) = line.split_once('-').expect("a range");
        let end = rest.split(' ').next().expect("an end");
        let [begin, end] = [begin, end].map(|it| usize::from_str_radix(it, 16).expect("a number"));
        (begin..end).contains(&address.addr()) && end - begin > 1 << 35
    })
}

fn report<T>(what: &str, numbers: &[T]) {
    if std::env::args().len() > 2 {
        let place = if is_shared(numbers.as_ptr().cast()) { "shared" } else { "elsewhere" };
        println!("{what}: {place}");
    }
}

fn counts(when: &str) {
    let [blocks, bytes, calls] = [&BLOCKS, &BYTES, &CALLS].map(|count| count.load(Relaxed));
    println!("{when}: {blocks} blocks of {bytes} bytes, {calls} calls");
}

fn main() {
    IS_MAPPED.store(std::env::args().nth(1).is_some_and(|it| it == "mapped"), Relaxed);
    let small = vec![1_u8; 1000];
    report("small", &small);
    let mut a = vec![0.0_f64; 500_000];
    report("zeros", &a);
    assert!(a.iter().all(|x| *x == 0.0));
    counts("one");
    a.par_iter_mut().enumerate().for_each(|(i, x)| *x = i as f64);
    let b: Vec<f64> = a.par_iter().map(|x| x * 0.5).collect();
    report("collected", &b);
    counts("two");
    println!("sum {}", b.iter().sum::<f64>());
    let mut grown: Vec<u64> = Vec::new();
    for i in 0..1_000_000 {
        grown.push(i);
    }
    report("grown", &grown);
    counts("three");
    grown.truncate(500_001);
    grown.shrink_to_fit();
    counts("shrunk");
    assert!(grown.iter().copied().eq(0..500_001));
    grown.truncate(10);
    grown.shrink_to_fit();
    report("shrunk", &grown);
    assert!(grown.iter().copied().eq(0..10));
    assert!(Vec::<u8>::new().try_reserve_exact(TOO_LARGE).is_err());
    drop((a, b));
    counts("end");
    std::thread::scope(|scope| {
        for thread in 0..4_u64 {
            scope.spawn(move || {
                for round in 0..20 {
                    let numbers = vec![thread * round; 400_000 + round as usize];
                    let sent = std::thread::spawn(move || numbers.iter().sum::<u64>());
                    assert_eq!(sent.join().expect("a sum"), thread * round * (400_000 + round));
                }
            });
        }
    });
    counts("threads");
}
