//! An ordinary program whose memory comes from C's functions, and from the system's allocator by name.
//! It prints the same whatever lies below them. With an argument it says which blocks lie in a mapping of
//! many gibibytes, where a shared heap is.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::hint::black_box;

use rayon::prelude::*;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut u8;
    fn calloc(count: usize, size: usize) -> *mut u8;
    fn realloc(block: *mut u8, size: usize) -> *mut u8;
    fn free(block: *mut u8);
    fn posix_memalign(to: *mut *mut u8, align: usize, size: usize) -> c_int;
    fn aligned_alloc(align: usize, size: usize) -> *mut u8;
    fn memalign(align: usize, size: usize) -> *mut u8;
    fn malloc_usable_size(block: *mut u8) -> usize;
    fn strdup(text: *const c_char) -> *mut c_char;
    fn getline(line: *mut *mut c_char, size: *mut usize, file: *mut c_void) -> isize;
    fn fmemopen(text: *mut u8, size: usize, mode: *const c_char) -> *mut c_void;
    fn fclose(file: *mut c_void) -> c_int;
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    fn _exit(status: c_int) -> !;
    fn __errno_location() -> *mut c_int;
}

/// Whether an address lies in a mapping as large as a shared heap's.
fn is_shared(address: *const u8) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the mappings");
    maps.lines().any(|line| {
        let (begin, rest) = line.split_once('-').expect("a range");
        let end = rest.split(' ').next().expect("an end");
        let [begin, end] = [begin, end].map(|it| usize::from_str_radix(it, 16).expect("a number"));
        (begin..end).contains(&address.addr()) && end - begin > 1 << 35
    })
}

fn report(what: &str, address: *const u8) {
    if std::env::args().len() > 1 {
        println!("{what}: {}", if is_shared(address) { "shared" } else { "elsewhere" });
    }
}

/// Numbers as a program of a benchmark has them: from the system's allocator, by name.
struct Numbers(*mut f64, usize);

impl Numbers {
    fn layout(&self) -> Layout {
        Layout::array::<f64>(self.1).expect("a layout")
    }

    fn new(length: usize) -> Self {
        let mut new = Self(std::ptr::null_mut(), length);
        new.0 = unsafe { System.alloc_zeroed(new.layout()) }.cast();
        assert!(!new.0.is_null());
        new
    }

    fn all(&mut self) -> &mut [f64] {
        unsafe { std::slice::from_raw_parts_mut(self.0, self.1) }
    }
}

impl Drop for Numbers {
    fn drop(&mut self) {
        unsafe { System.dealloc(self.0.cast(), self.layout()) };
    }
}

fn system() {
    let mut a = Numbers::new(300_000);
    let mut b = Numbers::new(300_000);
    report("system", a.0.cast());
    a.all().par_iter_mut().enumerate().for_each(|(i, x)| *x = i as f64);
    b.all().par_iter_mut().zip(a.all().par_iter()).for_each(|(b, a)| *b = a * 0.5 + 1.0);
    println!("system {}", b.all().iter().sum::<f64>());
    let layout = Layout::from_size_align(1 << 20, 4096).expect("a layout");
    let aligned = unsafe { System.alloc(layout) };
    report("aligned", aligned);
    assert!(aligned.addr().is_multiple_of(4096));
    unsafe { System.dealloc(aligned, layout) };
}

/// The next of some numbers.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// What a block begins and ends with, beside the place of a given size.
fn fill(block: *mut u8, size: usize, seed: u8) {
    for i in places(size) {
        unsafe { block.add(i).write(seed.wrapping_add(i as u8)) };
    }
}

fn places(size: usize) -> impl Iterator<Item = usize> {
    let step = (size / 97).max(1);
    (0..size).step_by(step).chain(size.checked_sub(1))
}

fn check(block: *const u8, size: usize, until: usize, seed: u8) {
    for i in places(size).filter(|i| *i < until) {
        assert_eq!(unsafe { block.add(i).read() }, seed.wrapping_add(i as u8), "{i} of {size}");
    }
}

/// Calls of all functions in a random order, with sizes on both sides of what is large.
fn mixed(seed: u64, rounds: usize) {
    let mut state = seed;
    let mut blocks: BTreeMap<usize, (*mut u8, usize, u8)> = BTreeMap::new();
    for round in 0..rounds {
        let size = match random(&mut state) % 5 {
            0 => random(&mut state) % 300,
            1 => 65_530 + random(&mut state) % 12,
            2 => random(&mut state) % 200_000,
            3 => 65_536 * (1 + random(&mut state) % 40),
            _ => random(&mut state) % 3_000_000,
        } as usize;
        let align = 1_usize << (4 + random(&mut state) % 14);
        let seed = random(&mut state) as u8;
        let is_aligned = |block: *mut u8, align| {
            assert!(!block.is_null() && block.addr().is_multiple_of(align), "{align}");
            block
        };
        unsafe {
            let new = match random(&mut state) % 9 {
                0 => is_aligned(malloc(size.max(1)), 16),
                1 => {
                    let count = 1 + random(&mut state) as usize % 9;
                    let block = is_aligned(calloc(count, size / count + 1), 16);
                    assert!((0..size).all(|i| block.add(i).read() == 0));
                    block
                }
                2 => is_aligned(aligned_alloc(align, size.next_multiple_of(align)), align),
                3 => is_aligned(memalign(align, size.max(1)), align),
                4 => {
                    let mut block = std::ptr::null_mut();
                    assert_eq!(posix_memalign(&mut block, align, size.max(1)), 0);
                    is_aligned(block, align)
                }
                kind => {
                    let Some((key, (block, old, old_seed))) = blocks.pop_first() else { continue };
                    check(block, old, old, old_seed);
                    assert!(malloc_usable_size(block) >= old);
                    if kind < 7 {
                        __errno_location().write(77);
                        free(block);
                        assert_eq!(__errno_location().read(), 77);
                        continue;
                    }
                    let new = is_aligned(realloc(block, size.max(1)), 16);
                    check(new, old, size, old_seed);
                    assert!(!blocks.contains_key(&key));
                    new
                }
            };
            assert!(malloc_usable_size(new) >= size);
            fill(new, size, seed);
            blocks.insert(random(&mut state) as usize ^ round, (new, size, seed));
        }
        if blocks.len() > 40 {
            let (_, (block, size, seed)) = blocks.pop_last().expect("one");
            check(block, size, size, seed);
            unsafe { free(block) };
        }
    }
    for (block, size, seed) in blocks.into_values() {
        check(block, size, size, seed);
        unsafe { free(block) };
    }
}

/// What C's functions say in doubtful cases.
fn edges() {
    unsafe {
        // Without a use, the compiler leaves out an allocation, and says that it was made.
        assert!(black_box(malloc(black_box(usize::MAX / 2))).is_null());
        assert_eq!(*__errno_location(), 12);
        assert!(black_box(calloc(usize::MAX / 2, 3)).is_null());
        assert!(black_box(malloc(1 << 60)).is_null());
        let mut to = 5 as *mut u8;
        assert_eq!(posix_memalign(&mut to, 24, 1 << 20), 22);
        assert_eq!(to.addr(), 5);
        let block = malloc(1 << 20);
        block.write_bytes(9, 1 << 20);
        assert!(black_box(realloc(block, 1 << 60)).is_null());
        assert!((0..1 << 20).all(|i| block.add(i).read() == 9));
        // It is freed.
        assert!(black_box(realloc(block, 0)).is_null());
        free(std::ptr::null_mut());
        let from_null = realloc(std::ptr::null_mut(), 1 << 20);
        report("realloc", from_null);
        free(from_null);
    }
    let mut numbers: Vec<u64> = Vec::new();
    assert!(numbers.try_reserve_exact(1 << 43).is_err());
    assert!(numbers.try_reserve_exact(usize::MAX / 4).is_err());
}

/// C's library frees, grows and gives what the program has or takes.
fn others() {
    unsafe {
        let text = vec![b'x'; 1 << 20];
        let mut line: *mut c_char = malloc(100_000).cast();
        let mut size = 100_000;
        report("line", line.cast());
        let file = fmemopen(text.as_ptr().cast_mut(), text.len(), c"r".as_ptr());
        assert_eq!(getline(&mut line, &mut size, file), 1 << 20);
        assert!((0..1 << 20).all(|i| line.add(i).read() == b'x' as c_char));
        assert!(size > 1 << 20);
        fclose(file);
        free(line.cast());
        let mut long = vec![b'y' as c_char; 300_000];
        long.push(0);
        let copy = strdup(long.as_ptr());
        report("strdup", copy.cast());
        assert_eq!(copy.add(299_999).read(), b'y' as c_char);
        free(copy.cast());
        // What Rust has allocated is the system allocator's, too.
        let boxed = Box::into_raw(vec![7_u8; 200_000].into_boxed_slice()).cast::<u8>();
        report("boxed", boxed);
        let more = realloc(boxed, 400_000);
        assert!((0..200_000).all(|i| more.add(i).read() == 7));
        free(more);
        let given = malloc(300_000);
        given.write_bytes(1, 300_000);
        let numbers = Vec::from_raw_parts(given, 300_000, 300_000);
        println!("others {}", numbers.par_iter().map(|x| u64::from(*x)).sum::<u64>());
    }
}

fn threads() {
    let many = std::thread::available_parallelism().map_or(4, |n| n.get().max(4));
    let (send, receive) = std::sync::mpsc::channel::<usize>();
    std::thread::scope(|scope| {
        for thread in 0..many {
            let send = send.clone();
            scope.spawn(move || {
                mixed(77 + thread as u64, 150);
                for _ in 0..40 {
                    send.send(unsafe { malloc(100_000) }.expose_provenance()).expect("a receiver");
                }
            });
        }
        drop(send);
        for block in receive {
            unsafe { free(std::ptr::with_exposed_provenance_mut(block)) };
        }
    });
}

/// A child has its own memory, whatever other threads did meanwhile.
fn forked() {
    let is_done = std::sync::atomic::AtomicBool::new(false);
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(relaxed) {
                unsafe { free(black_box(malloc(1 << 17))) };
            }
        });
        for _ in 0..20 {
            let before = unsafe { malloc(1 << 18) };
            let child = unsafe { fork() };
            if child == 0 {
                unsafe {
                    let own = malloc(1 << 20);
                    own.write_bytes(3, 1 << 20);
                    let own = realloc(own, 3 << 20);
                    let is_there = (0..1 << 20).all(|i| own.add(i).read() == 3);
                    free(own);
                    free(before);
                    let numbers = vec![4_u8; 1 << 20];
                    _exit(c_int::from(!is_there || is_shared(numbers.as_ptr())));
                }
            }
            let mut status = 1;
            assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0);
            unsafe { free(before) };
        }
        is_done.store(true, relaxed);
    });
}

fn main() {
    let first = unsafe { malloc(1 << 20) };
    report("malloc", first);
    unsafe { free(first) };
    let small = unsafe { malloc(1000) };
    report("small", small);
    unsafe { free(small) };
    let zeros = unsafe { calloc(1000, 1000) };
    report("calloc", zeros);
    unsafe { free(zeros) };
    system();
    mixed(5, 3000);
    edges();
    others();
    threads();
    forked();
    println!("done");
}
