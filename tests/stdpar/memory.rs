//! An ordinary program with rayon: what parallel iterators may refer to. It prints the same on
//! every device. With a number it runs so many short ones.

use rayon::prelude::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;

static TABLE: [f64; 8] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
static mut FILLED: [u32; 4096] = [0; 4096];

unsafe extern "C" {
    fn mmap(at: *mut u8, n: usize, p: i32, f: i32, fd: i32, o: i64) -> *mut u8;
    fn munmap(at: *mut u8, n: usize) -> i32;
    fn mremap(at: *mut u8, n: usize, new: usize, f: i32) -> *mut u8;
    fn madvise(at: *mut u8, n: usize, what: i32) -> i32;
    fn malloc(n: usize) -> *mut u8;
    fn free(p: *mut u8);
}

fn locals(n: usize) -> f64 {
    let weights = [0.5, 0.25, 0.125, 2.0];
    let scale = n as f64;
    (0..n).into_par_iter().map(|i| weights[i % 4] * scale + TABLE[i % 8]).sum()
}

fn nested(rows: &Vec<Vec<u32>>) -> (u32, usize) {
    let max =
        rows.par_iter().filter(|row| row.len() % 3 != 0).map(|row| row.iter().sum::<u32>()).max();
    let count = rows.par_iter().map(|row| row.iter().filter(|x| **x % 2 == 0).count()).sum();
    (max.unwrap_or(0), count)
}

fn table(map: &HashMap<u64, u64>, n: usize) -> u64 {
    (0..n as u64).into_par_iter().map(|i| map.get(&(i * 7)).copied().unwrap_or(1)).sum()
}

fn boxes(all: &[Box<[f32; 5]>]) -> Vec<f32> {
    all.par_iter().map(|b| b.iter().sum::<f32>()).collect()
}

fn foreign(n: usize) -> u64 {
    let mut total = 0;
    unsafe {
        // C's heap, then the system allocator, then a mapping.
        let c = malloc(n * 8).cast::<u64>();
        for i in 0..n {
            c.add(i).write(i as u64 * 3);
        }
        total += std::slice::from_raw_parts(c, n).par_iter().map(|x| x ^ 5).sum::<u64>();
        std::slice::from_raw_parts_mut(c, n).par_iter_mut().for_each(|x| *x += 1);
        total += std::slice::from_raw_parts(c, n).iter().sum::<u64>();
        free(c.cast());
        let layout = Layout::array::<u64>(n).unwrap();
        let s = System.alloc(layout).cast::<u64>();
        std::slice::from_raw_parts_mut(s, n)
            .par_iter_mut()
            .enumerate()
            .for_each(|(i, x)| *x = i as u64);
        total += std::slice::from_raw_parts(s, n).iter().sum::<u64>();
        System.dealloc(s.cast(), layout);
    }
    total
}

/// Unmapped and mapped again at the same address: what was registered is gone.
fn remapped(rounds: usize) -> u64 {
    let n = 1 << 16;
    let mut at: *mut u8 = std::ptr::null_mut();
    let mut total = 0;
    for round in 0..rounds {
        unsafe {
            let fixed = if at.is_null() { 0 } else { 0x10 };
            let p = mmap(at, n * 8, 3, 0x22 | fixed, -1, 0);
            assert!(p.addr() != usize::MAX && (at.is_null() || p == at));
            at = p;
            let s = std::slice::from_raw_parts_mut(p.cast::<u64>(), n);
            s.par_iter_mut().enumerate().for_each(|(i, x)| *x += (i * round) as u64);
            total += s.iter().sum::<u64>();
            total += s.par_iter().map(|x| x / 3).sum::<u64>();
            munmap(p, n * 8);
        }
    }
    total
}

/// Given back and used again, while other threads' pipelines make memory visible.
fn given_back() -> u64 {
    let (n, rounds) = (1 << 13, 30);
    let give = |p: *mut u8| unsafe { assert_eq!(madvise(p, n * 8, 4), 0) };
    std::thread::scope(|scope| {
        let own = |t: u64| {
            let p = unsafe { mmap(std::ptr::null_mut(), n * 8, 3, 0x22, -1, 0) };
            assert!(p.addr() != usize::MAX);
            let mut total = 0_u64;
            for round in 0..rounds {
                let s = unsafe { std::slice::from_raw_parts_mut(p.cast::<u64>(), n) };
                s.iter_mut().enumerate().for_each(|(i, x)| *x += i as u64 ^ t);
                s.par_iter_mut().for_each(|x| *x = x.wrapping_mul(3) + round);
                total = total.wrapping_add(s.iter().sum());
                total = total.wrapping_add(s.par_iter().map(|x| x / 3).sum());
                give(p);
                assert!(s.iter().all(|x| *x == 0));
            }
            unsafe { munmap(p, n * 8) };
            total
        };
        let all: Vec<_> = (0..4).map(|t| scope.spawn(move || own(t))).collect();
        all.into_iter().map(|t| t.join().unwrap()).fold(0, u64::wrapping_add)
    })
}

fn threads() -> u64 {
    let rounds = 20;
    let here = [3_u64, 4, 5];
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..8_u64)
            .map(|t| {
                let here = &here;
                scope.spawn(move || {
                    let own = [t, t + 1];
                    let mut total = 0;
                    for r in 0..rounds {
                        let v: Vec<u64> = (0..10_000_u64)
                            .into_par_iter()
                            .map(|i| i * own[(i % 2) as usize] + here[(i % 3) as usize] + r)
                            .collect();
                        total += v.par_iter().map(|x| x >> 1).sum::<u64>();
                    }
                    total
                })
            })
            .collect();
        all.into_iter().map(|t| t.join().unwrap()).sum()
    })
}

fn short_threads() -> u64 {
    // Stacks of threads that have ended are used again.
    (0..40_u64)
        .map(|t| {
            std::thread::spawn(move || {
                let mut own = [t; 500];
                own.par_iter_mut().enumerate().for_each(|(i, x)| *x += i as u64);
                own.iter().sum::<u64>()
            })
            .join()
            .unwrap()
        })
        .sum()
}

fn grown() -> u64 {
    let mut all: Vec<Vec<u64>> = Vec::new();
    let mut total = 0;
    for i in 0..30_usize {
        let mut v: Vec<u64> = (0..(i * 3000) as u64).collect();
        v.par_iter_mut().for_each(|x| *x *= 2);
        v.reserve(i * 1000);
        v.extend(0..10);
        total += v.par_iter().sum::<u64>();
        all.push(v);
        if i % 3 == 0 {
            all.swap_remove(i / 5);
        }
    }
    total + all.par_iter().map(|v| v.len() as u64).sum::<u64>()
}

fn shared() -> u64 {
    let n = 1 << 16;
    // Shared, anonymous.
    let s = unsafe {
        std::slice::from_raw_parts_mut(
            mmap(std::ptr::null_mut(), n * 8, 3, 0x21, -1, 0).cast::<u64>(),
            n,
        )
    };
    s.par_iter_mut().enumerate().for_each(|(i, x)| *x += i as u64);
    let total = s.iter().sum::<u64>() + s.par_iter().map(|x| x / 5).sum::<u64>();
    unsafe { munmap(s.as_mut_ptr().cast(), n * 8) };
    total
}

/// A shared mapping that grows in its place while another one goes: no record is written, and the
/// process has as many pages as before.
fn grown_in_place() -> u64 {
    let (half, n) = (1 << 16, (1 << 17) / 8);
    unsafe {
        let other = mmap(std::ptr::null_mut(), half, 0, 0x22, -1, 0);
        let s = mmap(std::ptr::null_mut(), 2 * half, 3, 0x21, -1, 0);
        munmap(s.add(half), half);
        let mut total = 0;
        for round in 0..4 {
            let lower = std::slice::from_raw_parts_mut(s.cast::<u64>(), n / 2);
            lower.par_iter_mut().enumerate().for_each(|(i, x)| *x += i as u64 + round);
            total += lower.iter().sum::<u64>();
        }
        munmap(other, half);
        if mremap(s, half, 2 * half, 0) == s {
            let all = std::slice::from_raw_parts_mut(s.cast::<u64>(), n);
            let before = all.iter().sum::<u64>();
            all.par_iter_mut().enumerate().for_each(|(i, x)| *x += 3 * i as u64);
            let added = all.iter().sum::<u64>() - before;
            assert_eq!(added, (0..n as u64).map(|i| 3 * i).sum());
            munmap(s, 2 * half);
        } else {
            // Something else was mapped there meanwhile.
            munmap(s, half);
        }
        total
    }
}

fn file() -> u64 {
    use std::os::fd::AsRawFd;
    let f = std::fs::File::open("/proc/self/exe").unwrap();
    let n = 1 << 16;
    let s = unsafe {
        std::slice::from_raw_parts(mmap(std::ptr::null_mut(), n, 1, 2, f.as_raw_fd(), 0), n)
    };
    let total = s.par_iter().map(|x| u64::from(*x)).sum::<u64>()
        - s.iter().map(|x| u64::from(*x)).sum::<u64>();
    unsafe { munmap(s.as_ptr().cast_mut(), n) };
    total
}

fn statics() -> u32 {
    let filled = unsafe { &mut *(&raw mut FILLED) };
    filled.par_iter_mut().enumerate().for_each(|(i, x)| *x += i as u32 * 3);
    filled.iter().sum()
}

fn installed() -> u64 {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let mut here = [7_u64; 300];
    pool.install(|| here.par_iter_mut().enumerate().for_each(|(i, x)| *x += i as u64));
    here.iter().sum()
}

fn words(n: usize) -> usize {
    let w: Vec<&'static str> =
        (0..n).into_par_iter().map(|i| if i % 3 == 0 { "fizz" } else { "no" }).collect();
    w.iter().map(|w| w.len()).sum()
}

fn counted(n: usize) -> usize {
    let c = std::sync::atomic::AtomicUsize::new(0);
    (0..n).into_par_iter().for_each(|i| {
        c.fetch_add(i, std::sync::atomic::Ordering::Relaxed);
    });
    c.into_inner()
}

fn panics(n: usize) -> String {
    let r = std::panic::catch_unwind(|| {
        let v: Vec<usize> = (0..n)
            .into_par_iter()
            .map(|i| if i == n / 2 { panic!("bad item") } else { i })
            .collect();
        v.len()
    });
    r.unwrap_err().downcast_ref::<String>().cloned().unwrap_or_else(|| "bad item".to_owned())
}

/// Many short pipelines.
fn soak(rounds: u64) -> u64 {
    let mut numbers: Vec<u64> = (0..1000).collect();
    for round in 0..rounds {
        numbers.par_iter_mut().for_each(|x| *x = x.wrapping_mul(3).wrapping_add(round));
    }
    numbers.iter().fold(0, |sum, x| sum.wrapping_mul(31).wrapping_add(*x))
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    if let Some(rounds) = std::env::args().nth(1) {
        println!("{}", soak(rounds.parse().expect("a number")));
        return;
    }
    for n in [0, 1, 2, 33, 1000, 100_003, 600_000] {
        println!("locals {n} {:e}", locals(n).round());
        println!("words {n} {}", words(n));
        println!("counted {n} {}", counted(n));
        println!("foreign {n} {}", if n > 0 { foreign(n) } else { 0 });
        let rows: Vec<Vec<u32>> =
            (0..n.min(3000)).map(|i| (0..(i % 97) as u32).map(|x| x * 5 % 83).collect()).collect();
        println!("nested {n} {:?}", nested(&rows));
        let map: HashMap<u64, u64> = (0..n.min(100_000) as u64).map(|i| (i * 3, i)).collect();
        println!("table {n} {}", table(&map, n));
        let all: Vec<Box<[f32; 5]>> =
            (0..n.min(100_000)).map(|i| Box::new([i as f32; 5])).collect();
        println!("boxes {n} {:?}", boxes(&all).iter().map(|x| *x as u64).sum::<u64>());
    }
    println!("remapped {}", remapped(20));
    println!("given back {}", given_back());
    println!("shared {}", shared());
    println!("grown in place {}", grown_in_place());
    println!("file {}", file());
    println!("statics {}", statics());
    println!("installed {}", installed());
    println!("threads {}", threads());
    println!("short threads {}", short_threads());
    println!("grown {}", grown());
    println!("panics {}", panics(10_000));
    println!("locals again {:e}", locals(1_000_000).round());
}
