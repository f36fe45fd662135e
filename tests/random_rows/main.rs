#![allow(warnings, arithmetic_overflow, overflowing_literals, unconditional_panic)]
//! Runs nests over rows by rayon, and compares with the same row by row.

use std::any::Any;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rayon::prelude::*;

/// A matrix by its size, and by what its numbers are.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    rows: usize,
    columns: usize,
    /// Elements of a last row that is shorter.
    rest: usize,
    /// Whether integers are of any size.
    is_wild: bool,
}

const fn case(rows: usize, columns: usize, rest: usize, is_wild: bool) -> Case {
    Case { rows, columns, rest, is_wild }
}

const CASES: [Case; 9] = [
    case(0, 5, 0, false),
    case(1, 1, 0, false),
    case(3, 31, 0, true),
    case(31, 4, 2, false),
    case(2, 1000, 0, false),
    case(4, 257, 0, true),
    case(100, 33, 7, false),
    case(17, 64, 0, false),
    case(1000, 3, 0, false),
];

/// What all rows read.
#[derive(Clone, Copy)]
pub struct Reads<'a, B> {
    /// Columns, as many or 40, and a small number.
    n: usize,
    m: usize,
    s: usize,
    /// A matrix of the same size, one of `m` rows, and one of `n` of any numbers.
    b: &'a [B],
    q: &'a [B],
    lookup: &'a [u32],
}

pub enum Outcome {
    Same,
    Panicked,
    Wrong(String),
}

pub trait Number: Copy + PartialEq + Default + std::fmt::Debug + Send + Sync {
    fn of(number: u64, is_wild: bool) -> Self;

    fn same(self, other: Self) -> bool;
}

macro_rules! numbers {
    ($($ty:ty, $of:expr;)*) => { $(
        impl Number for $ty {
            fn of(number: u64, is_wild: bool) -> Self {
                let of: fn(u64, bool) -> $ty = $of;
                of(number, is_wild)
            }

            // Which NaN it is, Rust leaves open.
            fn same(self, other: Self) -> bool {
                self == other || self != self && other != other
            }
        }
    )* };
}

fn small(number: u64, is_wild: bool) -> u64 {
    if is_wild { number } else { number % 100 }
}

numbers! {
    u8, |number, is_wild| small(number, is_wild) as u8;
    i16, |number, is_wild| small(number, is_wild) as i16;
    i32, |number, is_wild| small(number, is_wild) as i32;
    u32, |number, is_wild| small(number, is_wild) as u32;
    i64, |number, is_wild| small(number, is_wild) as i64;
    u64, |number, is_wild| small(number, is_wild);
    f32, |number, _| (number % 2000) as f32 / 16.0 - 50.0;
    f64, |number, _| (number % 2000) as f64 / 7.0 - 100.0;
}

/// The text of a panic.
fn text(payload: Box<dyn Any + Send>) -> String {
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().copied().unwrap_or("no text").to_owned(),
    }
}

type Run<A, B> = fn(&mut [A], &mut [B], &mut [(A, u64)], &Reads<B>);
type Body<A, B> = fn(usize, &mut [A], &mut [B], &mut (A, u64), &Reads<B>);

/// Whether a row is the same as another one.
fn is_row<A: Number>(row: &[A], other: &[A]) -> bool {
    row.iter().zip(other).all(|(it, other)| it.same(*other))
}

/// Runs a pipeline, and its body for each row.
pub fn check<A: Number, B: Number>(case: &Case, run: Run<A, B>, body: Body<A, B>) -> Outcome {
    let Case { rows, columns: n, rest, is_wild } = *case;
    let mut state = 88_172_645_463_325_252_u64 + n as u64;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (len, all) = (rows * n + rest, rows + usize::from(rest > 0));
    let a: Vec<A> = (0..len).map(|_| A::of(next(), is_wild)).collect();
    let c: Vec<B> = (0..len).map(|_| B::of(next(), is_wild)).collect();
    let b: Vec<B> = (0..all * n).map(|_| B::of(next(), is_wild)).collect();
    let m = n.min(40);
    let q: Vec<B> = (0..n * m).map(|_| B::of(next(), is_wild)).collect();
    let lookup: Vec<u32> = (0..n + 5).map(|_| next() as u32).collect();
    let totals: Vec<(A, u64)> = (0..all).map(|_| (A::of(next(), is_wild), next())).collect();
    let reads = Reads { n, m, s: 3 + rows % 4, b: &b, q: &q, lookup: &lookup };

    let (mut a_rows, mut c_rows, mut totals_rows) = (a.clone(), c.clone(), totals.clone());
    let mut texts = BTreeSet::new();
    let parts = a_rows.chunks_mut(n).zip(c_rows.chunks_mut(n)).zip(&mut totals_rows);
    for (y, ((row, other), total)) in parts.enumerate() {
        let row = AssertUnwindSafe(|| body(y, row, other, total, &reads));
        texts.extend(catch_unwind(row).err().map(text));
    }
    let (mut a_run, mut c_run, mut totals_run) = (a.clone(), c.clone(), totals.clone());
    let ran = AssertUnwindSafe(|| run(&mut a_run, &mut c_run, &mut totals_run, &reads));
    let panicked = catch_unwind(ran).err().map(text);

    // A pipeline that takes whole rows leaves the last one.
    let is_left = |y: usize| (y + 1) * n > len;
    for y in 0..all {
        let part = y * n..((y + 1) * n).min(len);
        let is_done = is_row(&a_run[part.clone()], &a_rows[part.clone()])
            && is_row(&c_run[part.clone()], &c_rows[part.clone()])
            && totals_run[y].1 == totals_rows[y].1
            && totals_run[y].0.same(totals_rows[y].0);
        let is_as_before = is_row(&a_run[part.clone()], &a[part.clone()])
            && is_row(&c_run[part.clone()], &c[part])
            && totals_run[y] == totals[y];
        if !is_done && !(is_as_before && (panicked.is_some() || is_left(y))) {
            let row = y * n..((y + 1) * n).min(len);
            let first = row.clone().find(|&at| !a_run[at].same(a_rows[at]));
            let found = first.map(|at| (at - y * n, a[at], a_run[at], a_rows[at]));
            let other = row.clone().find(|&at| !c_run[at].same(c_rows[at]));
            let other = other.map(|at| (at - y * n, c[at], c_run[at], c_rows[at]));
            let totals = (totals_run[y], totals_rows[y]);
            return Outcome::Wrong(format!(
                "{case:?}, row {y}: elements {found:?}, others {other:?}, totals {totals:?}, \
                 panics {panicked:?} of {texts:?}"
            ));
        }
    }
    match panicked {
        Some(text) if texts.contains(&text) => Outcome::Panicked,
        None if texts.is_empty() => Outcome::Same,
        // The last row is shorter, and some pipelines leave it.
        None if rest > 0 => Outcome::Same,
        panicked => Outcome::Wrong(format!("{case:?}: panics {panicked:?} of {texts:?}")),
    }
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let (mut runs, mut panicked, mut wrong) = (0, 0, 0);
    for (number, nest) in NESTS {
        for case in &CASES {
            runs += 1;
            match nest(case) {
                Outcome::Same => {}
                Outcome::Panicked => panicked += 1,
                Outcome::Wrong(text) => {
                    println!("nest {number}: {text}");
                    wrong += 1;
                }
            }
        }
    }
    println!("{runs} runs, {panicked} panicked, {wrong} wrong");
}
