//! Sorts, in an ordinary program with rayon.

use std::cell::Cell;
use std::cmp::{Ordering, Reverse};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;

fn show(what: &str, length: usize, result: impl Debug) {
    let mut text = format!("{result:?}");
    if text.len() > 120 {
        let sum = text
            .bytes()
            .fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        text.truncate(60);
        text = format!("{text} ... {sum:x}");
    }
    println!("{what} of {length}: {text}");
}

fn numbers(length: usize, below: u64) -> Vec<u64> {
    let mut state = 88_172_645_463_325_252_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    std::iter::repeat_with(next).take(length).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Record {
    key: u16,
    place: u32,
    name: [u8; 5],
}

/// Changes while it is compared.
#[derive(Clone, Debug)]
struct Shy(u64, Cell<u32>);

fn sorts(length: usize) {
    let random = numbers(length, u64::MAX);
    let few = numbers(length, 17);

    let mut sorted = random.clone();
    sorted.par_sort();
    show("sort", length, &sorted);
    let mut again = sorted.clone();
    again.par_sort_unstable();
    show("sorted before", length, again == sorted);
    again.reverse();
    again.par_sort_unstable();
    show("reversed", length, again == sorted);
    let mut down = random.clone();
    down.par_sort_by(|a, b| b.cmp(a));
    show("downwards", length, down.iter().rev().eq(&sorted));

    let records: Vec<Record> = few
        .iter()
        .enumerate()
        .map(|(i, &x)| Record { key: x as u16, place: i as u32, name: *b"abcde" })
        .collect();
    let mut stable = records.clone();
    stable.par_sort_by_key(|record| record.key);
    show("by key", length, stable.iter().map(|record| record.place).collect::<Vec<_>>());
    let mut stable = records.clone();
    stable.par_sort_by(|a, b| b.key.cmp(&a.key));
    show("by comparison", length, stable.iter().map(|record| record.place).collect::<Vec<_>>());
    let mut unstable = records.clone();
    unstable.par_sort_unstable_by_key(|record| Reverse((record.key, record.place)));
    show("unstable by key", length, &unstable);
    let mut whole = records.clone();
    whole.par_sort_unstable();
    show("whole records", length, &whole);
    let mut cached = records;
    cached.par_sort_by_cached_key(|record| (record.key % 5, Reverse(record.place)));
    show("by cached key", length, &cached);

    let mut floats: Vec<f32> = random.iter().map(|x| (*x as i64) as f32 / 3.0).collect();
    floats.par_sort_unstable_by(f32::total_cmp);
    show("floats", length, &floats);
    let mut bytes: Vec<u8> = random.iter().map(|x| *x as u8).collect();
    bytes.par_sort_unstable_by(|a, b| b.cmp(a));
    show("bytes", length, &bytes);
    // By what the elements refer to, and by what the comparison does.
    let mut places: Vec<u32> = (0..length as u32).collect();
    places.par_sort_by_key(|&place| few[place as usize]);
    show("places", length, &places);
    let texts: Vec<String> = few.iter().map(|x| format!("text {x}")).collect();
    let mut words: Vec<&str> = texts.iter().map(String::as_str).collect();
    words.par_sort();
    show("words", length, &words);

    // These stay with rayon.
    let mut owned = texts.clone();
    owned.par_sort();
    show("strings", length, &owned);
    let mut nothing = vec![(); length];
    nothing.par_sort();
    show("nothing", length, nothing.len());
    let mut shy: Vec<Shy> = random.iter().map(|x| Shy(*x, Cell::new(0))).collect();
    shy.par_sort_by(|a, b| {
        a.1.set(a.1.get() + 1);
        a.0.cmp(&b.0)
    });
    show("shy", length, shy.iter().map(|shy| shy.0).eq(sorted.iter().copied()));
    show("compared", length, length < 2 || shy.iter().any(|shy| shy.1.get() > 0));
}

/// The same elements, in any order.
fn is_permutation(mut left: Vec<u64>, mut right: Vec<u64>) -> bool {
    left.sort();
    right.sort();
    left == right
}

fn failures(length: usize) {
    let random = numbers(length, 1 << 40);
    for name in ["never less", "always less", "by a hash"] {
        let mut stable = random.clone();
        let mut unstable = random.clone();
        // Comparisons that are no orders; closures, so that they can be kernels. rayon may panic.
        let _ = catch_unwind(AssertUnwindSafe(|| match name {
            "never less" => stable.par_sort_by(|_, _| Ordering::Greater),
            "always less" => stable.par_sort_by(|_, _| Ordering::Less),
            _ => stable.par_sort_by(|a, b| {
                (a ^ b.rotate_left(7)).wrapping_mul(0x9e37_79b9).cmp(&(1 << 38))
            }),
        }));
        let _ = catch_unwind(AssertUnwindSafe(|| {
            unstable.par_sort_unstable_by(|a, b| (a ^ b.rotate_left(9)).wrapping_mul(77).cmp(b));
        }));
        show(name, length, is_permutation(stable, random.clone()));
        show("unstable", length, is_permutation(unstable, random.clone()));
    }
    // A comparison that panics leaves each element where it can be found, once.
    for place in [0, 1, length / 2, length - 1] {
        let bad = random[place];
        let mut stable = random.clone();
        let caught = catch_unwind(AssertUnwindSafe(|| {
            stable.par_sort_by(|a, b| {
                assert!(*a != bad && *b != bad, "number {bad}");
                a.cmp(b)
            });
        }));
        let said = caught.err().and_then(|payload| payload.downcast_ref::<String>().cloned());
        show("panic", length, said);
        show("what is left", length, is_permutation(stable, random.clone()));
    }
    // Deep in the merges: the greatest ones meet last.
    let (mut late, most) = (random.clone(), *random.iter().max().unwrap());
    let second = *random.iter().filter(|x| **x != most).max().unwrap();
    let caught = catch_unwind(AssertUnwindSafe(|| {
        late.par_sort_by(|a, b| {
            assert!((*a, *b) != (most, second) && (*b, *a) != (most, second), "they meet");
            a.cmp(b)
        });
    }));
    show("late panic", length, caught.is_err());
    show("what is left", length, is_permutation(late, random.clone()));
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for length in [0, 1, 2, 3, 17, 33, 1000, 4096, 4097, 12_289, 100_003] {
        sorts(length);
    }
    for length in [50, 5000, 50_000] {
        failures(length);
    }
    let threads: Vec<bool> = std::thread::scope(|scope| {
        let sort = |seed: usize| {
            let mut own = numbers(20_000 + seed, 1 << 30);
            own.par_sort_unstable();
            own.is_sorted()
        };
        let threads: Vec<_> = (0..4).map(|seed| scope.spawn(move || sort(seed))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    show("four threads", 20_000, threads);
}
