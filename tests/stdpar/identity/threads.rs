//! Threads, thread-locals, and what a program asks of the system.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant, SystemTime};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::Check;

/// A pool whose threads have names.
pub fn pool() -> &'static ThreadPool {
    static POOL: LazyLock<ThreadPool> = LazyLock::new(|| {
        let name = |number| format!("named {number}");
        ThreadPoolBuilder::new().num_threads(5).thread_name(name).build().unwrap()
    });
    &POOL
}

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static BUFFER: RefCell<Vec<u8>> = RefCell::new(vec![1, 2, 3]);
    static HELD: Held = Held::new();
}

static HELD_COUNTS: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// A thread-local that is dropped when its thread ends.
struct Held(Cell<u64>);

impl Held {
    fn new() -> Self {
        HELD_COUNTS[0].fetch_add(1, Relaxed);
        Self(Cell::new(1))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD_COUNTS[1].fetch_add(1, Relaxed);
    }
}

pub const CHECKS: &[Check] = &[
    ("a counter of each thread", |n| {
        let pool = pool();
        pool.broadcast(|_| CALLS.take());
        pool.install(|| (0..n).into_par_iter().for_each(|_| CALLS.set(CALLS.get() + 1)));
        pool.broadcast(|_| CALLS.take()).iter().sum::<usize>().to_string()
    }),
    ("a counter of each of rayon's own threads", |n| {
        rayon::broadcast(|_| CALLS.take());
        (0..n).into_par_iter().for_each(|i| CALLS.set(CALLS.get() + i % 2));
        rayon::broadcast(|_| CALLS.take()).iter().sum::<usize>().to_string()
    }),
    ("a buffer of each thread", |n| {
        let sum: usize = (0..n)
            .into_par_iter()
            .map(|i| {
                BUFFER.with_borrow_mut(|buffer| {
                    buffer.truncate(3);
                    buffer.extend(std::iter::repeat_n(i as u8, i % 5));
                    buffer.len() + usize::from(buffer[0])
                })
            })
            .sum();
        sum.to_string()
    }),
    ("thread-locals that are dropped", |n| {
        HELD_COUNTS.iter().for_each(|count| count.store(0, Relaxed));
        let own = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        let sum: u64 =
            own.install(|| (0..n).into_par_iter().map(|_| HELD.with(|held| held.0.get())).sum());
        let made = HELD_COUNTS[0].load(Relaxed);
        drop(own);
        // The pool's threads end by and by.
        let begin = Instant::now();
        while HELD_COUNTS[1].load(Relaxed) < made && begin.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        let all = HELD_COUNTS[0].load(Relaxed) == made && HELD_COUNTS[1].load(Relaxed) == made;
        format!("{sum}, in at most three threads: {}, dropped: {all}", (1..=3).contains(&made))
    }),
    ("indices of threads", |n| {
        let inside = |_: &usize| {
            rayon::current_thread_index().is_some_and(|index| index < rayon::current_num_threads())
        };
        let right = (0..n).into_par_iter().filter(inside).count();
        let five = |_: &usize| {
            rayon::current_num_threads() == 5 && rayon::current_thread_index() < Some(5)
        };
        let right_in_pool = pool().install(|| (0..n).into_par_iter().filter(five).count());
        let count = rayon::current_num_threads();
        let same = (0..n).into_par_iter().filter(|_| rayon::current_num_threads() == count);
        format!("{right} {right_in_pool} {}", same.count())
    }),
    ("identities of threads", |n| {
        let known: HashSet<ThreadId> =
            pool().broadcast(|_| std::thread::current().id()).into_iter().collect();
        let seen: HashSet<ThreadId> = pool()
            .install(|| (0..n).into_par_iter().map(|_| std::thread::current().id()).collect());
        let own = rayon::broadcast(|_| std::thread::current().id());
        let of_rayon = (0..n).into_par_iter().all(|_| own.contains(&std::thread::current().id()));
        format!("{} {of_rayon}", seen.is_subset(&known))
    }),
    ("names of threads", |n| {
        let named = |_: &usize| {
            std::thread::current().name().is_some_and(|name| name.starts_with("named "))
        };
        pool().install(|| (0..n).into_par_iter().filter(named).count()).to_string()
    }),
    ("items at once in a thread", |n| {
        // A thread that does an item does no other meanwhile, unless it waits for rayon.
        thread_local!(static BUSY: Cell<bool> = const { Cell::new(false) });
        let both = (0..n)
            .into_par_iter()
            .filter(|_| {
                let before = BUSY.replace(true);
                std::hint::black_box(before);
                BUSY.set(false);
                before
            })
            .count();
        both.to_string()
    }),
    ("nested pipelines", |n| {
        let sums: Vec<u64> = (0..n / 100)
            .into_par_iter()
            .map(|i| {
                (0..50_u64)
                    .into_par_iter()
                    .filter(|_| rayon::current_thread_index().is_some())
                    .map(|j| i as u64 * j)
                    .sum()
            })
            .collect();
        sums.iter().sum::<u64>().to_string()
    }),
    #[cfg(target_arch = "x86_64")]
    ("features of the processor", |n| {
        let own = [
            std::is_x86_feature_detected!("avx2"),
            std::is_x86_feature_detected!("sse4.2"),
            std::is_x86_feature_detected!("avx512f"),
        ];
        let same = |_: &usize| {
            let found = [
                std::is_x86_feature_detected!("avx2"),
                std::is_x86_feature_detected!("sse4.2"),
                std::is_x86_feature_detected!("avx512f"),
            ];
            found == own
        };
        (0..n).into_par_iter().filter(same).count().to_string()
    }),
    ("environment and time", |n| {
        let begin = (Instant::now(), SystemTime::now());
        let path = std::env::var_os("PATH");
        let right = (0..n / 10)
            .into_par_iter()
            .filter(|_| {
                std::env::var_os("PATH") == path
                    && std::env::args().len() <= 3
                    && Instant::now() >= begin.0
                    && begin.1.elapsed().is_ok_and(|time| time < Duration::from_secs(3600))
            })
            .count();
        right.to_string()
    }),
    ("lines", |n| {
        static ROUNDS: AtomicUsize = AtomicUsize::new(0);
        static PRINTED: Mutex<usize> = Mutex::new(0);
        // Every round has them, and some print them.
        let prints = n > 1000 && ROUNDS.fetch_add(1, Relaxed) < 4;
        *PRINTED.lock().unwrap() = 0;
        (0..16).into_par_iter().for_each(|_| {
            if prints {
                println!("a line of a pipeline");
            }
            *PRINTED.lock().unwrap() += 1;
        });
        PRINTED.lock().unwrap().to_string()
    }),
];
