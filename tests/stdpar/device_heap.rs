//! Pipelines whose work-items take memory of a heap, on devices that have one: for the time of an item, and in
//! results. It prints what comes out, and how often the host drops what a kernel has made.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

static DROPPED: AtomicUsize = AtomicUsize::new(0);

struct Counted {
    number: Box<u32>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}

#[derive(Clone)]
#[repr(align(4096))]
struct Page([u8; 5000]);

#[derive(Clone)]
struct Nothing;

/// What items of a loop are, all together.
fn scratch(count: u32) -> u64 {
    let items = (0..count).into_par_iter().map(|i| {
        let mut values = Vec::new();
        (0..i % 50).for_each(|j| values.push(u64::from(i ^ j)));
        let copy = values.clone();
        values.extend_from_slice(&copy);
        values.iter().sum::<u64>()
    });
    items.sum()
}

/// Large blocks, of 40 kB and of 200 kB.
fn large(numbers: &[u32]) -> u64 {
    let items = numbers.par_iter().map(|&n| {
        let zeros = vec![0_u64; 5000 * (1 + 4 * (n as usize % 2))];
        let mut other = Vec::with_capacity(zeros.len());
        other.extend(zeros.iter().map(|zero| zero + u64::from(n)));
        other.iter().sum::<u64>() + zeros.iter().sum::<u64>()
    });
    items.sum()
}

/// Alignments, blocks without bytes, blocks that shrink.
fn layouts(numbers: &[u32]) -> Vec<u64> {
    let items = numbers.par_iter().map(|&n| {
        let page = Box::new(Page([n as u8; 5000]));
        let is_aligned = (&raw const *page).addr().is_multiple_of(4096);
        let nothing = vec![Nothing; n as usize];
        let mut shrunk = vec![n; 300];
        shrunk.truncate(n as usize % 7);
        shrunk.shrink_to_fit();
        let counted = Rc::new(shrunk);
        let other = Rc::clone(&counted);
        let sum: u64 = page.0.iter().map(|byte| u64::from(*byte)).sum();
        sum * u64::from(is_aligned) + (nothing.len() + other.len() + Rc::strong_count(&counted)) as u64
    });
    items.collect()
}

fn rows(numbers: &[u32]) -> Vec<Vec<u32>> {
    numbers.par_iter().map(|n| (0..n % 9).map(|i| i * n).collect()).collect()
}

/// Slices that items change while they allocate: more than a heap of 1 MiB has in all.
fn changing(numbers: &mut [u32], words: &mut [u64]) -> Vec<Vec<u32>> {
    numbers.par_iter_mut().for_each(|n| {
        *n = n.wrapping_mul(7);
        let many = vec![*n; 200];
        *n = many.iter().fold(1, |all: u32, one| all.wrapping_mul(31) ^ one);
    });
    words.par_chunks_mut(7).zip(numbers.par_iter()).for_each(|(chunk, n)| {
        chunk[0] += u64::from(*n);
        let mut others = chunk.to_vec();
        others.retain(|word| word % 3 != 0);
        chunk.iter_mut().rev().zip(others).for_each(|(word, other)| *word = *word * 5 + other);
    });
    let pairs = numbers.par_iter_mut().zip(words.par_iter_mut()).map(|(n, word)| {
        std::mem::swap(&mut *n, &mut (*word as u32));
        *word ^= u64::from(*n);
        vec![*n; 300]
    });
    pairs.collect()
}

/// Runs `body` for all numbers, and tells of its panic. Each number is as before or as it is to be then, and that of the item
/// that panics is 6.
fn panicking(numbers: &[u32], body: impl Fn(&mut u32) + Sync) {
    let mut changed = numbers.to_vec();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        changed.par_iter_mut().for_each(&body);
    }));
    let is_good = |(new, old): (&u32, &u32)| match *old {
        77 => *new == 6,
        old => *new == old || *new == old * 9 + 1,
    };
    let said = caught.map_err(|said| said.downcast_ref::<&str>().copied().map(str::to_owned));
    println!("{said:?} {}", changed.iter().zip(numbers).all(is_good));
}

struct Guard<'a>(&'a mut u32);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        *self.0 += 1;
    }
}

fn main() {
    let numbers: Vec<u32> = (0..4000).collect();
    println!("{} {}", scratch(100), scratch(100_000));
    println!("{}", large(&numbers[..64]));
    println!("{:?}", layouts(&numbers[..500]));

    // What is collected is the program's: it grows, shrinks and goes.
    let mut all = rows(&numbers);
    for (index, row) in all.iter_mut().enumerate() {
        row.extend(0..index as u32 % 40);
        row.shrink_to_fit();
    }
    all.retain(|row| row.len() % 3 != 0);
    let lengths: Vec<usize> = all.par_iter().map(|row| row.iter().rev().collect::<Vec<_>>().len()).collect();
    println!("{all:?} {lengths:?}");
    for _ in 0..20 {
        all = rows(&numbers);
    }
    println!("{}", all.iter().flatten().count());

    // Four megabytes that outlive their launch, which a heap of one does not have.
    let wide: Vec<Vec<u32>> = numbers.par_iter().map(|&n| vec![n; 256]).collect();
    println!("{}", wide.iter().flatten().fold(0_u32, |all, n| all.wrapping_mul(31).wrapping_add(*n)));

    let counted: Vec<Counted> =
        numbers.par_iter().map(|&n| Counted { number: Box::new(n / 2) }).collect();
    let before = DROPPED.load(Ordering::Relaxed);
    let sum: u32 = counted.iter().map(|it| *it.number).sum();
    std::thread::spawn(|| drop(counted)).join().unwrap();
    println!("{sum} {}", DROPPED.load(Ordering::Relaxed) - before);

    let words: Vec<String> = numbers
        .par_iter()
        .map(|n| (0..n % 20).map(|i| (b'a' + i as u8) as char).rev().collect())
        .collect();
    println!("{}", words.concat().len());
    let odd: Vec<u32> = numbers.par_iter().copied().filter(|n| n % 2 == 1).collect();
    let joined = numbers.par_iter().map(|n| vec![*n; *n as usize % 3]).reduce(Vec::new, |mut a, b| {
        a.extend(b);
        a
    });
    println!("{odd:?} {joined:?}");
    let queue = numbers.par_iter().map(|&n| {
        let mut queue: VecDeque<u32> = (0..n % 30).collect();
        queue.rotate_left(n as usize % (queue.len() + 1) / 2);
        queue.push_front(n);
        queue.iter().fold(0_u32, |a, b| a.wrapping_mul(31).wrapping_add(*b))
    });
    println!("{}", queue.max().unwrap());
    let tables: Vec<usize> = numbers
        .par_iter()
        .map(|&n| (0..n % 30).map(|i| (i * 7 % 11, i)).collect::<BTreeMap<_, _>>().len())
        .collect();
    println!("{}", tables.iter().sum::<usize>());

    let (mut changed, mut words) = (numbers.clone(), (0..28_000).collect::<Vec<u64>>());
    for _ in 0..2 {
        let all = changing(&mut changed, &mut words);
        println!("{changed:?} {words:?} {}", all.concat().len());
    }
    panicking(&numbers, |n| {
        let copy = vec![*n; 9];
        *n = 6;
        assert!(copy[1] != 77, "seventy-seven");
        *n = copy.iter().sum::<u32>() + 1;
    });
    panicking(&numbers, |n| {
        let copy = vec![*n; 9];
        *n = 5;
        let guard = Guard(n);
        assert!(copy[1] != 77, "seventy-seven");
        *guard.0 = copy.iter().sum();
    });
}
