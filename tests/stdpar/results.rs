//! An ordinary program with rayon. It knows nothing of schism, and prints the same with it and
//! without.

use std::collections::HashMap;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

const LENGTHS: [usize; 6] = [0, 1, 2, 33, 1000, 100_003];

fn show(what: &str, length: usize, result: impl Debug) {
    let mut text = format!("{result:?}");
    if text.len() > 120 {
        // All of it counts, and some of it is printed.
        let sum = text
            .bytes()
            .fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        text.truncate(60);
        text = format!("{text} ... {sum:x}");
    }
    println!("{what} of {length}: {text}");
}

static WEIGHTS: [u64; 4] = [3, 1, 4, 1];
static COUNTER: AtomicUsize = AtomicUsize::new(0);

fn results(length: usize) {
    let numbers: Vec<u64> =
        (0..length as u64).map(|i| i.wrapping_mul(2_654_435_761) % 10_007).collect();
    let scale = [2_u64, 3, 5];

    let mapped: Vec<u64> =
        (0..length).into_par_iter().map(|i| numbers[i] * scale[i % 3] + WEIGHTS[i % 4]).collect();
    show("map, collect", length, &mapped);

    let sum: u64 = numbers.par_iter().zip(mapped.par_iter().rev()).map(|(a, b)| a ^ b).sum();
    show("zip, rev, sum", length, sum);

    let chunks =
        numbers.par_chunks(7).map(|chunk| chunk.iter().max().copied()).reduce(|| None, Ord::max);
    show("chunks, reduce", length, chunks);

    let mut changed = numbers.clone();
    changed.par_iter_mut().enumerate().for_each(|(i, x)| *x += i as u64 * scale[1]);
    show("enumerate, for_each", length, &changed);

    show("filter, count", length, numbers.par_iter().filter(|x| **x % 3 == 0).count());
    show("position_first", length, numbers.par_iter().position_first(|x| *x > 9000));
    show("position_any", length, numbers.par_iter().position_any(|x| *x == 10_008));
    show("find_first", length, numbers.par_iter().find_first(|x| **x % 1000 == 999));
    show("any", length, numbers.par_iter().any(|x| *x == 77));
    show("all", length, numbers.par_iter().all(|x| *x < 10_007));
    show("min_by_key", length, numbers.par_iter().enumerate().min_by_key(|(_, x)| **x ^ 77));
    show("max", length, numbers.par_iter().max());

    let pairs: (Vec<u64>, Vec<bool>) = numbers.par_iter().map(|x| (x / 2, x % 2 == 0)).unzip();
    show("unzip", length, &pairs);

    let floats: Vec<f64> =
        numbers.par_iter().map(|x| (*x as f64).sqrt().sin()).with_min_len(100).collect();
    show("floats", length, &floats);

    let mut taken = vec![0_u64; length];
    taken
        .par_chunks_mut(10)
        .zip(numbers.par_chunks(10))
        .for_each(|(to, from)| to.copy_from_slice(from));
    show("chunks_mut", length, &taken);

    let limited: Vec<u64> = numbers.par_iter().copied().skip(3).step_by(2).take(500).collect();
    show("skip, step_by, take", length, &limited);
    let longest = numbers.par_iter().with_max_len(10).map(|x| x + 1).max();
    show("with_max_len", length, longest);

    let nested: Vec<u64> = (0..length.min(40))
        .into_par_iter()
        .map(|row| numbers.par_iter().map(|x| x * row as u64).sum())
        .collect();
    show("nested", length, &nested);

    // What a kernel refers to in its image is the program's from then on.
    let words: Vec<&'static str> =
        numbers.par_iter().map(|x| if x % 2 == 0 { "even" } else { "odd" }).collect();
    show("words", length, &words);

    // These stay with rayon.
    let strings: Vec<String> = numbers.par_iter().map(|x| format!("<{x}>")).collect();
    show("strings", length, &strings);
    let table: HashMap<u64, usize> =
        numbers.par_iter().enumerate().map(|(i, x)| (*x, i % 2)).collect();
    show("hash map", length, table.len() <= length);
    let functions: Vec<fn(u64) -> u64> =
        numbers.par_iter().map(|x| if x % 2 == 0 { half } else { triple }).collect();
    let applied: Vec<u64> = functions.iter().zip(&numbers).map(|(f, x)| f(*x)).collect();
    show("functions", length, &applied);
    COUNTER.store(0, Relaxed);
    numbers.par_iter().for_each(|x| {
        COUNTER.fetch_add(*x as usize, Relaxed);
    });
    show("static counter", length, COUNTER.load(Relaxed));
    let shown: Vec<Box<dyn Fn() -> u64 + Send>> =
        numbers.par_iter().map(|&x| Box::new(move || x) as Box<dyn Fn() -> u64 + Send>).collect();
    show("closures in boxes", length, shown.iter().map(|f| f()).sum::<u64>());
    let caught = numbers.par_iter().filter(|x| catch_unwind(|| assert!(**x < 5000)).is_err());
    show("catch_unwind", length, caught.count());
    let locked = std::sync::Mutex::new(0);
    numbers.par_iter().for_each(|x| *locked.lock().unwrap() += x);
    show("mutex", length, locked.into_inner().unwrap());
    let deep = numbers.par_iter().take(100).map(|x| depth(*x % 1000)).max();
    show("recursion", length, deep);
    let threads = numbers.par_iter().filter(|_| rayon::current_thread_index().is_none());
    show("thread index", length, threads.count());
}

/// A function whose need of stack depends on what it is given.
fn depth(x: u64) -> u64 {
    if x == 0 { 0 } else { 1 + depth(x / 2).max(depth(x / 3)) }
}

fn half(x: u64) -> u64 {
    x / 2
}

fn triple(x: u64) -> u64 {
    3 * x
}

/// Counts how often it is dropped.
struct Counted<'a>(&'a AtomicUsize, u64);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

fn drops() {
    for length in LENGTHS {
        let (items, results) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let all: Vec<Counted<'_>> = (0..length as u64).map(|i| Counted(&items, i)).collect();
        let made: Vec<Counted<'_>> =
            all.into_par_iter().map(|item| Counted(&results, item.1 * 2)).collect();
        show("drops of items", length, items.load(Relaxed));
        show("sum", length, made.iter().map(|item| item.1).sum::<u64>());
        drop(made);
        show("drops of results", length, results.load(Relaxed));
        items.store(0, Relaxed);
        let all: Vec<Counted<'_>> = (0..length as u64).map(|i| Counted(&items, i)).collect();
        let found = all.into_par_iter().find_any(|item| item.1 == 700).map(|item| item.1);
        show("found", length, found);
        show("drops after an early end", length, items.load(Relaxed));
    }
}

fn panics() {
    let numbers: Vec<u64> = (0..10_000).collect();
    let message = |run: &dyn Fn()| {
        let payload = catch_unwind(AssertUnwindSafe(run)).expect_err("it panics");
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
    };
    let index = message(&|| {
        let out: Vec<u64> = (0..10_001).into_par_iter().map(|i| numbers[i]).collect();
        drop(out);
    });
    show("panic at an index", 10_001, index);
    let said = message(&|| {
        numbers.par_iter().for_each(|x| {
            if *x == 5000 {
                panic!("number {x} is bad");
            }
        });
    });
    show("panic with a message", 10_000, said);
    let dropped = AtomicUsize::new(0);
    let plain = message(&|| {
        let items: Vec<Counted<'_>> = (0..1000).map(|i| Counted(&dropped, i)).collect();
        items
            .into_par_iter()
            .with_min_len(1)
            .for_each(|item| assert!(item.1 != 999, "the last one"));
    });
    show("panic with items", 1000, plain);
    // Never more than once; which are left out is not said.
    show("dropped at most once", 1000, dropped.load(Relaxed) <= 1000);
    // And things go on.
    show("sum after panics", 10_000, numbers.par_iter().sum::<u64>());
}

fn threads() {
    let sums: Vec<u64> = std::thread::scope(|scope| {
        let start = |thread: u64| {
            scope.spawn(move || {
                (0..50_u64)
                    .map(|round| {
                        let part: Vec<u64> =
                            (0..1000_u64).into_par_iter().map(|i| i * thread + round).collect();
                        part.par_iter().filter(|x| *x % 2 == 0).sum::<u64>()
                    })
                    .sum()
            })
        };
        let threads: Vec<_> = (0..4).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    show("four threads", 50, sums);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let sum = pool.install(|| (0..10_000_u64).into_par_iter().map(|x| x * x).sum::<u64>());
    show("its own pool", 10_000, sum);
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    LENGTHS.into_iter().for_each(results);
    drops();
    panics();
    threads();
}
