//! Functions, types, constants and places in the source, which come out of pipelines and are used
//! by the host.

use std::any::{Any, TypeId, type_name};
use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fmt::{Debug, Display};
use std::panic::Location;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

use crate::Check;

trait Figure: Send + Sync + Debug {
    fn area(&self) -> u64;
    fn name(&self) -> &'static str {
        "figure"
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Square(u64);

#[derive(Debug)]
struct Named(String);

impl Figure for Square {
    fn area(&self) -> u64 {
        self.0 * self.0
    }
}

impl Figure for Named {
    fn area(&self) -> u64 {
        self.0.len() as u64
    }

    fn name(&self) -> &'static str {
        "named"
    }
}

static NAMED_DROPS: AtomicUsize = AtomicUsize::new(0);

impl Drop for Named {
    fn drop(&mut self) {
        NAMED_DROPS.fetch_add(1, Relaxed);
    }
}

fn figure(i: usize) -> Box<dyn Figure> {
    if i % 2 == 0 { Box::new(Square(i as u64)) } else { Box::new(Named("n".repeat(i % 9))) }
}

const NAMES: [&str; 4] = ["north", "east", "south", "west"];

fn primes(i: usize) -> &'static [u64] {
    match i % 3 {
        0 => &[2, 3, 5],
        1 => &[7, 11],
        _ => &[],
    }
}

/// Constants that pipelines gave in all rounds so far.
static KEPT: Mutex<Vec<(usize, &'static str, &'static [u64])>> = Mutex::new(Vec::new());

/// Looks at them when everything else is done.
pub fn kept_constants() {
    let kept = KEPT.lock().unwrap();
    let right = kept.iter().all(|(i, name, of)| *name == NAMES[i % 4] && *of == primes(*i));
    println!("constants of all rounds: {right}");
}

#[track_caller]
fn place() -> &'static Location<'static> {
    Location::caller()
}

fn double(x: u64) -> u64 {
    2 * x
}

fn square(x: u64) -> u64 {
    x.wrapping_mul(x)
}

/// Transforms a row by halves, and calls itself.
fn transform(row: &mut [f64]) {
    if row.len() < 2 {
        return;
    }
    let (left, right) = row.split_at_mut(row.len() / 2);
    left.iter_mut().zip(right.iter_mut()).for_each(|(a, b)| (*a, *b) = (*a + *b, *a - *b));
    transform(left);
    transform(right);
}

fn ackermann(m: u64, n: u64) -> u64 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

fn parse(i: usize) -> Result<u64, Box<dyn Error + Send + Sync>> {
    let text = match i % 4 {
        0 => return Err("zero".into()),
        1 => "17",
        2 => "seventeen",
        _ => "-1",
    };
    Ok(text.parse::<u64>()?)
}

/// A digest of texts.
fn digest(texts: impl IntoIterator<Item: AsRef<[u8]>>) -> String {
    let sum = texts.into_iter().fold(7_u64, |sum, text| {
        text.as_ref().iter().fold(sum, |sum, byte| sum.wrapping_mul(31) ^ u64::from(*byte))
    });
    format!("{sum:x}")
}

fn show(item: &dyn Display, width: usize) -> String {
    format!("<{item:>width$}>")
}

pub const CHECKS: &[Check] = &[
    ("boxes of trait objects", |n| {
        NAMED_DROPS.store(0, Relaxed);
        let figures: Vec<Box<dyn Figure>> = (0..n).into_par_iter().map(figure).collect();
        let area: u64 = figures.iter().map(|figure| figure.area()).sum();
        let named = figures.iter().filter(|figure| figure.name() == "named").count();
        let shown = digest(figures.iter().take(100).map(|figure| format!("{figure:?}")));
        let before = NAMED_DROPS.load(Relaxed);
        drop(figures);
        format!("{area} {named} {shown}, dropped {before}, {}", NAMED_DROPS.load(Relaxed))
    }),
    ("trait objects of the host", |n| {
        let figures: Vec<Box<dyn Figure>> = (0..n).map(figure).collect();
        let area: u64 = figures.par_iter().map(|figure| figure.area()).sum();
        NAMED_DROPS.store(0, Relaxed);
        figures.into_par_iter().for_each(drop);
        format!("{area}, dropped {}", NAMED_DROPS.load(Relaxed))
    }),
    ("downcasts", |n| {
        let values: Vec<Box<dyn Any + Send>> = (0..n)
            .into_par_iter()
            .map(|i| match i % 3 {
                0 => Box::new(i as u64) as Box<dyn Any + Send>,
                1 => Box::new(Square(i as u64)),
                _ => Box::new("text"),
            })
            .collect();
        let numbers: u64 = values.iter().filter_map(|value| value.downcast_ref::<u64>()).sum();
        let squares = values.iter().filter(|value| value.is::<Square>()).count();
        let texts = values.into_par_iter().filter(|value| value.is::<&'static str>()).count();
        format!("{numbers} {squares} {texts}")
    }),
    ("downcasts in the pipeline", |n| {
        let values: Vec<Box<dyn Any + Send + Sync>> =
            (0..n)
                .map(|i| {
                    if i % 2 == 0 {
                        Box::new(i) as Box<dyn Any + Send + Sync>
                    } else {
                        Box::new('c')
                    }
                })
                .collect();
        let sum: usize = values.par_iter().filter_map(|value| value.downcast_ref::<usize>()).sum();
        format!("{sum} {}", values.par_iter().filter(|value| value.is::<char>()).count())
    }),
    ("functions", |n| {
        let functions: Vec<fn(u64) -> u64> =
            (0..n).into_par_iter().map(|i| if i % 2 == 0 { double } else { square }).collect();
        let sum = functions.iter().zip(0..).fold(0_u64, |sum, (f, i)| sum.wrapping_add(f(i)));
        let again = functions.par_iter().enumerate().map(|(i, f)| f(i as u64));
        format!("{sum} {}", again.reduce(|| 0, u64::wrapping_add))
    }),
    ("closures in boxes", |n| {
        let closures: Vec<Box<dyn Fn(u64) -> u64 + Send + Sync>> = (0..n as u64)
            .into_par_iter()
            .map(|i| {
                let text = "x".repeat(i as usize % 5);
                Box::new(move |x| x + i + text.len() as u64)
                    as Box<dyn Fn(u64) -> u64 + Send + Sync>
            })
            .collect();
        let sum: u64 = closures.iter().map(|closure| closure(1)).sum();
        format!("{sum} {}", closures.into_par_iter().map(|closure| closure(2)).sum::<u64>())
    }),
    ("types", |n| {
        let ids = [TypeId::of::<Square>(), TypeId::of::<&'static str>(), TypeId::of::<Vec<u8>>()];
        let same = (0..n)
            .into_par_iter()
            .filter(|i| match i % 3 {
                0 => ids[0] == TypeId::of::<Square>(),
                1 => ids[1] == TypeId::of::<&'static str>(),
                _ => ids[2] == TypeId::of::<Vec<u8>>() && ids[2] != TypeId::of::<Vec<i8>>(),
            })
            .count();
        let names: Vec<&'static str> = (0..n)
            .into_par_iter()
            .map(|i| if i % 2 == 0 { type_name::<Square>() } else { type_name::<Option<u8>>() })
            .collect();
        let made: Vec<TypeId> = (0..n).into_par_iter().map(|_| TypeId::of::<Square>()).collect();
        let made = made.iter().all(|id| *id == ids[0]);
        format!("{same} {made} {} {}", digest(names), type_name::<Square>())
    }),
    ("places in the source", |n| {
        let places: Vec<(&'static Location<'static>, u32)> =
            (0..n).into_par_iter().map(|_| (place(), line!())).collect();
        let here = place().file();
        let right = places.iter().all(|(place, line)| {
            place.file() == here && place.line() == *line && place.column() > 0
        });
        format!("{right} {here}")
    }),
    ("constants", |n| {
        let names: Vec<&'static str> = (0..n).into_par_iter().map(|i| NAMES[i % 4]).collect();
        let slices: Vec<&'static [u64]> = (0..n).into_par_iter().map(primes).collect();
        let mut kept = KEPT.lock().unwrap();
        kept.extend((0..n).step_by(500).map(|i| (i, names[i], slices[i])));
        format!("{} {}", digest(&names), slices.iter().copied().flatten().sum::<u64>())
    }),
    ("errors", |n| {
        let results: Vec<Result<u64, Box<dyn Error + Send + Sync>>> =
            (0..n).into_par_iter().map(parse).collect();
        let texts =
            digest(results.iter().filter_map(|of| of.as_ref().err()).map(|e| e.to_string()));
        let parsed = |error: &Box<dyn Error + Send + Sync>| error.is::<std::num::ParseIntError>();
        let of_parse = results.iter().filter(|of| of.as_ref().is_err_and(parsed)).count();
        let all: Result<Vec<u64>, _> = (0..n).into_par_iter().map(parse).collect();
        let numbers = results.iter().flatten().sum::<u64>();
        format!("{texts} {of_parse} {numbers} {}", all.is_err())
    }),
    ("texts", |n| {
        let texts: Vec<String> = (0..n)
            .into_par_iter()
            .map(|i| match i % 4 {
                0 => format!("{i:>8.3} {:?} {:#x}", Square(i as u64), i),
                1 => (i as f64 / 7.0).to_string(),
                2 => show(&'é', i % 9) + &show(&i, 4),
                _ => format!("{:?}", [Some("a"), None]),
            })
            .collect();
        digest(&texts)
    }),
    ("maps", |n| {
        let rows: Vec<Vec<u64>> = (0..n / 10).map(|i| (0..i as u64 % 20).collect()).collect();
        let sizes: Vec<usize> = rows
            .par_iter()
            .map(|row| {
                let mut counts: HashMap<u64, u32> = HashMap::new();
                row.iter().for_each(|x| *counts.entry(x % 7).or_default() += 1);
                counts.len() + row.iter().collect::<HashSet<_>>().len()
            })
            .collect();
        let table: HashMap<usize, usize> = (0..n).map(|i| (i, 3 * i)).collect();
        let found: usize = (0..n).into_par_iter().map(|i| table[&i]).sum();
        format!("{} {found}", sizes.iter().sum::<usize>())
    }),
    ("recursion", |n| {
        let mut rows: Vec<Vec<f64>> =
            (0..n / 20).map(|i| (0..64).map(|j| (i * j % 17) as f64).collect()).collect();
        rows.par_iter_mut().for_each(|row| transform(row));
        let sum: f64 = rows.iter().flatten().map(|x| x.abs()).sum();
        let deep = (0..n as u64 / 100).into_par_iter().map(|i| ackermann(2, i % 20)).sum::<u64>();
        format!("{sum} {deep}")
    }),
    ("rows that are sorted", |n| {
        let mut rows: Vec<Vec<String>> = (0..n / 20)
            .map(|i| (0..40).map(|j| ((i * 31 + j * 17) % 101).to_string()).collect())
            .collect();
        rows.par_iter_mut().for_each(|row| row.sort());
        let sorted = rows.iter().all(|row| row.is_sorted());
        rows.par_iter_mut().for_each(|row| row.sort_unstable_by(|a, b| b.cmp(a)));
        rows.par_iter_mut().for_each(|row| row.sort_by_key(String::len));
        format!("{sorted} {}", digest(rows.iter().flatten()))
    }),
];
