//! rayon's sorts with comparisons that panic: each element is there, once.

use rayon::prelude::*;

use crate::case::Shape::Items;
use crate::case::{Case, Form, Item, mix};

fn items(case: &'static Case, sort: impl FnOnce(&mut [Item])) {
    let mut items = case.items();
    let bad = case.count > 1 && case.bad_items();
    let sorted = case.run(bad, || sort(&mut items)).is_some();
    case.check(case.alive(&items) == case.count, "elements are missing");
    case.check(!sorted || items.is_sorted_by_key(Item::rank), "it is not sorted");
}

fn numbers(case: &'static Case, sort: impl FnOnce(&mut [usize])) {
    let mut keys: Vec<usize> = (0..case.count).collect();
    let bad = case.count > 1 && case.bad_items();
    let sorted = case.run(bad, || sort(&mut keys)).is_some();
    case.check(!sorted || keys.is_sorted_by_key(|key| mix(*key as u64)), "it is not sorted");
    keys.sort_unstable();
    case.check(keys.into_iter().eq(0..case.count), "elements are missing");
}

fn rank(case: &Case, key: usize) -> u64 {
    case.trip(key);
    mix(key as u64)
}

pub const FORMS: &[Form] = &[
    ("par_sort_by", Items, |case| {
        items(case, |items| {
            items.par_sort_by(|a, b| rank(case, a.key).cmp(&rank(case, b.key)));
        });
    }),
    ("par_sort_unstable_by_key", Items, |case| {
        items(case, |items| items.par_sort_unstable_by_key(|item| rank(case, item.key)));
    }),
    ("par_sort_by_cached_key", Items, |case| {
        items(case, |items| items.par_sort_by_cached_key(|item| rank(case, item.key)));
    }),
    ("par_sort_by of numbers", Items, |case| {
        numbers(case, |keys| keys.par_sort_by(|a, b| rank(case, *a).cmp(&rank(case, *b))));
    }),
    ("par_sort_unstable_by of numbers", Items, |case| {
        numbers(case, |keys| {
            keys.par_sort_unstable_by(|a, b| rank(case, *a).cmp(&rank(case, *b)));
        });
    }),
    ("par_sort_by_key of numbers", Items, |case| {
        numbers(case, |keys| keys.par_sort_by_key(|key| rank(case, *key)));
    }),
];
