//! An ordinary program with rayon: parallel iterators in others, of each kind in each. It prints the
//! same on every device.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

thread_local! {
    static DEPTH: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Relaxed);
    }
}

/// Not generic: its callers have no code of its pipeline.
fn sum(numbers: &[u64]) -> u64 {
    numbers.par_iter().map(|number| number.wrapping_mul(3)).reduce(|| 0, u64::wrapping_add)
}

fn generic<T: Copy + Send + Sync + Into<u64>>(numbers: &[T]) -> u64 {
    numbers.par_iter().map(|number| (*number).into()).reduce(|| 0, u64::wrapping_add)
}

fn fork(numbers: &[u64]) -> u64 {
    if numbers.len() < 8 {
        return sum(numbers);
    }
    let (left, right) = numbers.split_at(numbers.len() / 2);
    let (left, right) = rayon::join(|| fork(left), || fork(right));
    left.wrapping_add(right.rotate_left(1))
}

fn text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default()
}

fn run(rows: usize, columns: usize) {
    let numbers: Vec<u64> =
        (0..columns as u64).map(|x| x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7).collect();
    let small: Vec<u32> = numbers.iter().map(|number| *number as u32).collect();
    let show = |what: &str, value: &dyn std::fmt::Debug| {
        println!("{rows} of {columns}: {what}: {value:?}");
    };

    let indexed: Vec<u64> = (0..rows).into_par_iter().map(|_| sum(&numbers)).collect();
    show("a function's", &indexed);
    let instances: Vec<u64> = (0..rows)
        .into_par_iter()
        .map(|row| generic(&small) ^ generic(&numbers) ^ row as u64)
        .collect();
    show("a generic function's", &instances);
    let unindexed: Vec<usize> = (0..rows)
        .into_par_iter()
        .map(|row| numbers.par_iter().filter(|x| **x as usize % (row + 2) == 0).count())
        .collect();
    show("filtered", &unindexed);
    let bridged: Vec<u64> = (0..rows)
        .into_par_iter()
        .map(|row| numbers.iter().copied().par_bridge().map(|x| x % (row as u64 + 1)).sum())
        .collect();
    show("bridged", &bridged);
    let sorted: Vec<Option<u64>> = (0..rows)
        .into_par_iter()
        .map(|row| {
            let mut own: Vec<u64> = numbers.iter().map(|x| x.rotate_left(row as u32)).collect();
            own.par_sort_unstable();
            own.get(columns / 2).copied()
        })
        .collect();
    show("sorted", &sorted);
    let found: Vec<Option<usize>> = (0..rows)
        .into_par_iter()
        .map(|row| (0..columns).into_par_iter().find_any(|x| *x == 2 * row))
        .collect();
    show("found", &found);
    let three: u64 = (0..rows.min(4))
        .into_par_iter()
        .map(|a| {
            let of_b = |b: usize| {
                let of_c = |c: usize| (a * 100 + b * 10 + c) as u64;
                (0..rows.min(5)).into_par_iter().map(of_c).sum::<u64>()
            };
            (0..columns.min(30)).into_par_iter().map(of_b).sum::<u64>()
        })
        .sum();
    show("three", &three);
    let forked: Vec<u64> = (0..rows).into_par_iter().map(|_| fork(&numbers)).collect();
    show("forked", &forked);
    let mut table = vec![0_u64; rows * columns.max(1)];
    table.par_chunks_mut(columns.max(1)).enumerate().for_each(|(row, chunk)| {
        chunk.par_iter_mut().zip(&numbers).for_each(|(to, from)| *to = from ^ row as u64);
    });
    show("written", &table.iter().fold(0, |all: u64, x| all.rotate_left(5) ^ x));

    let last = Mutex::new(Vec::new());
    (0..rows).into_par_iter().for_each(|row| {
        let own: u64 = numbers.par_iter().map(|x| x & row as u64).sum();
        last.lock().unwrap().push((row, own));
    });
    let mut last = last.into_inner().unwrap();
    last.sort_unstable();
    show("locked", &last);
    let own: usize = (0..rows)
        .into_par_iter()
        .map(|row| {
            DEPTH.with_borrow_mut(|depth| depth.push(row));
            let count = numbers.par_iter().filter(|x| **x & 1 == 0).count();
            // Whatever this thread did meanwhile, it took back.
            let back = DEPTH.with_borrow_mut(Vec::pop);
            count + usize::from(back == Some(row))
        })
        .sum();
    show("a thread's", &own);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let installed: Vec<(u64, usize)> = (0..rows)
        .into_par_iter()
        .map(|_| pool.install(|| (sum(&numbers), rayon::current_num_threads())))
        .collect();
    show("in a pool", &installed);

    let caught: Vec<String> = (0..rows)
        .into_par_iter()
        .map(|row| {
            let _guard = Guard;
            let inner = catch_unwind(AssertUnwindSafe(|| {
                numbers.par_iter().enumerate().for_each(|(index, _)| {
                    let _guard = Guard;
                    assert!(index != row * 5, "item {index}");
                });
            }));
            inner.map_or_else(|payload| text(&*payload), |()| "nothing".to_owned())
        })
        .collect();
    show("caught inside", &caught);
    let outside = catch_unwind(AssertUnwindSafe(|| {
        (0..rows).into_par_iter().for_each(|row| {
            let _guard = Guard;
            numbers.par_iter().enumerate().for_each(|(index, _)| {
                if row + 1 == rows && index + 1 == columns {
                    resume_unwind(Box::new(index));
                }
            });
        });
    }));
    show("caught outside", &outside.map_err(|payload| payload.downcast_ref::<usize>().copied()));
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for (rows, columns) in [(0, 5), (1, 1), (2, 0), (3, 7), (17, 100), (40, 1000)] {
        run(rows, columns);
    }
    println!("{}", DROPPED.load(Relaxed) > 0);
}
