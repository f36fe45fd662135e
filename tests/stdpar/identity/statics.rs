//! Statics of the program.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{LazyLock, Mutex, Once, OnceLock, RwLock};

use rayon::prelude::*;

use crate::Check;

struct Node(u64);

static NIL: Node = Node(0);
static ROOT: Node = Node(1);
static TABLE: [u64; 8] = [3, 1, 4, 1, 5, 9, 2, 6];
static COUNT: AtomicUsize = AtomicUsize::new(0);
static SUMS: Mutex<[u64; 3]> = Mutex::new([0; 3]);
static LIST: RwLock<Vec<usize>> = RwLock::new(Vec::new());
static MADE: OnceLock<Vec<u64>> = OnceLock::new();
static TIMES_MADE: AtomicUsize = AtomicUsize::new(0);
static LAZY: LazyLock<HashMap<u64, &'static str>> = LazyLock::new(|| {
    LAZY_TIMES.fetch_add(1, Relaxed);
    HashMap::from([(0, "even"), (1, "odd")])
});
static LAZY_TIMES: AtomicUsize = AtomicUsize::new(0);

trait Operation: Sync {
    fn apply(&self, number: u64) -> u64;
}

struct Add(u64);
struct Count(AtomicU64);

impl Operation for Add {
    fn apply(&self, number: u64) -> u64 {
        number + self.0
    }
}

impl Operation for Count {
    fn apply(&self, number: u64) -> u64 {
        self.0.fetch_add(1, Relaxed);
        number
    }
}

static CALLS: Count = Count(AtomicU64::new(0));
static OPERATIONS: [&dyn Operation; 3] = [&Add(5), &CALLS, &Add(7)];
static FUNCTIONS: [fn(u64) -> u64; 3] = [u64::swap_bytes, |number| number ^ 1, half];

fn half(number: u64) -> u64 {
    number / 2
}

/// One counter for all types.
fn counter_of<T>(_: &T) -> &'static AtomicUsize {
    static ALL: AtomicUsize = AtomicUsize::new(0);
    &ALL
}

/// A counter for each type.
trait Counted {
    fn counter() -> &'static AtomicUsize;
}

macro_rules! counted {
    ($($type:ty)*) => { $(
        impl Counted for $type {
            fn counter() -> &'static AtomicUsize {
                static COUNTER: AtomicUsize = AtomicUsize::new(0);
                &COUNTER
            }
        }
    )* };
}

counted!(u8 u16);

fn count<T: Counted>() {
    T::counter().fetch_add(1, Relaxed);
}

fn intern(text: &str) -> &'static str {
    static TEXTS: LazyLock<Mutex<HashMap<String, &'static str>>> = LazyLock::new(Mutex::default);
    let mut texts = TEXTS.lock().unwrap();
    if let Some(found) = texts.get(text) {
        return found;
    }
    let new: &'static str = Box::leak(text.to_owned().into_boxed_str());
    texts.insert(text.to_owned(), new);
    new
}

pub const CHECKS: &[Check] = &[
    ("sentinels", |n| {
        let nodes: Vec<&'static Node> =
            (0..n).map(|i| if i % 3 == 0 { &NIL } else { &ROOT }).collect();
        let mut seen = (0, 0);
        for _ in 0..20 {
            let nil = nodes.par_iter().filter(|node| std::ptr::eq(**node, &NIL)).count();
            let sum: u64 = nodes
                .par_iter()
                .map(|node| if std::ptr::eq(*node, &ROOT) { node.0 } else { 0 })
                .sum();
            seen = (nil, sum);
        }
        format!("{seen:?}")
    }),
    ("sentinels from the pipeline", |n| {
        let nodes: Vec<&'static Node> =
            (0..n).into_par_iter().map(|i| if i % 5 == 0 { &NIL } else { &ROOT }).collect();
        let nil = nodes.iter().filter(|node| std::ptr::eq(**node, &NIL)).count();
        format!("{nil} and {}", nodes.iter().filter(|node| std::ptr::eq(**node, &ROOT)).count())
    }),
    ("address of a static", |n| {
        let own = std::ptr::from_ref(&TABLE).addr();
        let same =
            (0..n).into_par_iter().filter(|_| std::ptr::from_ref(&TABLE).addr() == own).count();
        let sum: u64 = (0..n).into_par_iter().map(|i| TABLE[i % 8]).sum();
        format!("{same}, {sum}")
    }),
    ("thousands of calls", |n| {
        let nodes: Vec<&'static Node> =
            (0..n / 10).map(|i| if i % 3 == 0 { &NIL } else { &ROOT }).collect();
        let counts: Vec<usize> = (0..200)
            .map(|_| nodes.par_iter().map(|node| usize::from(std::ptr::eq(*node, &NIL))).sum())
            .collect();
        format!("{} {}", counts[0], counts.iter().all(|count| *count == counts[0]))
    }),
    ("an atomic counter", |n| {
        COUNT.store(0, Relaxed);
        (0..n).into_par_iter().for_each(|i| _ = COUNT.fetch_add(i % 3, Relaxed));
        COUNT.load(Relaxed).to_string()
    }),
    ("what the host stored", |n| {
        COUNT.store(7, Relaxed);
        let first: usize = (0..n).into_par_iter().map(|_| COUNT.load(Relaxed)).sum();
        COUNT.store(8, Relaxed);
        let second: usize = (0..n).into_par_iter().map(|_| COUNT.load(Relaxed)).sum();
        format!("{first} {second}")
    }),
    ("a Mutex", |n| {
        *SUMS.lock().unwrap() = [0; 3];
        (0..n).into_par_iter().for_each(|i| SUMS.lock().unwrap()[i % 3] += i as u64);
        format!("{:?}", SUMS.lock().unwrap())
    }),
    ("a RwLock", |n| {
        LIST.write().unwrap().clear();
        (0..n).into_par_iter().for_each(|i| {
            if LIST.read().unwrap().len() < n && i % 100 == 0 {
                LIST.write().unwrap().push(i);
            }
        });
        let list = LIST.read().unwrap();
        format!("{} {}", list.len(), list.iter().sum::<usize>())
    }),
    ("a OnceLock", |n| {
        let places: Vec<&'static Vec<u64>> = (0..n)
            .into_par_iter()
            .map(|_| {
                MADE.get_or_init(|| {
                    TIMES_MADE.fetch_add(1, Relaxed);
                    vec![1, 2, 3]
                })
            })
            .collect();
        let own = MADE.get().expect("it is made");
        let same = places.iter().all(|place| std::ptr::eq(*place, own));
        format!("{same} {:?}, made {} times", own, TIMES_MADE.load(Relaxed))
    }),
    ("a LazyLock", |n| {
        let texts: Vec<&'static str> =
            (0..n as u64).into_par_iter().map(|i| LAZY[&(i % 2)]).collect();
        let same = texts.iter().enumerate().all(|(i, text)| *text == LAZY[&(i as u64 % 2)]);
        format!("{same}, made {} times", LAZY_TIMES.load(Relaxed))
    }),
    ("a Once", |n| {
        static ONCE: Once = Once::new();
        static TIMES: AtomicUsize = AtomicUsize::new(0);
        (0..n).into_par_iter().for_each(|_| {
            ONCE.call_once(|| _ = TIMES.fetch_add(1, Relaxed));
            assert!(ONCE.is_completed());
        });
        format!("{} {}", ONCE.is_completed(), TIMES.load(Relaxed))
    }),
    ("a static of trait objects", |n| {
        CALLS.0.store(0, Relaxed);
        let sum: u64 = (0..n).into_par_iter().map(|i| OPERATIONS[i % 3].apply(i as u64)).sum();
        format!("{sum}, called {} times", CALLS.0.load(Relaxed))
    }),
    ("a static of functions", |n| {
        let sum = (0..n)
            .into_par_iter()
            .map(|i| FUNCTIONS[i % 3](i as u64))
            .reduce(|| 0, u64::wrapping_add);
        sum.to_string()
    }),
    ("statics of generic functions", |n| {
        counter_of(&0_u8).store(0, Relaxed);
        (0..n).into_par_iter().for_each(|i| {
            counter_of(&i).fetch_add(1, Relaxed);
            counter_of(&"text").fetch_add(1, Relaxed);
        });
        format!("{} {}", counter_of(&0_u8).load(Relaxed), counter_of(&[0.5]).load(Relaxed))
    }),
    ("statics of implementations", |n| {
        let counters = [u8::counter(), u16::counter()];
        counters.iter().for_each(|counter| counter.store(0, Relaxed));
        (0..n)
            .into_par_iter()
            .for_each(|i| if i % 3 == 0 { count::<u8>() } else { count::<u16>() });
        format!("{:?}", counters.map(|counter| counter.load(Relaxed)))
    }),
    ("interned texts", |n| {
        let texts: Vec<&'static str> =
            (0..n).into_par_iter().map(|i| intern(["a", "b", "é"][i % 3])).collect();
        let same =
            |(i, text): (usize, &&'static str)| std::ptr::eq(*text, intern(["a", "b", "é"][i % 3]));
        format!("{}", texts.iter().enumerate().all(same))
    }),
    ("places of statics as keys", |n| {
        let names: HashMap<usize, &str> = HashMap::from([
            (std::ptr::from_ref(&NIL).addr(), "nil"),
            (std::ptr::from_ref(&ROOT).addr(), "root"),
        ]);
        let found = (0..n)
            .into_par_iter()
            .filter(|i| {
                let node = if i % 2 == 0 { &NIL } else { &ROOT };
                names.get(&std::ptr::from_ref(node).addr()).is_some_and(|name| name.len() == 3)
            })
            .count();
        found.to_string()
    }),
];
