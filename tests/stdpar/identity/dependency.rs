//! Statics of another crate.

use std::sync::atomic::Ordering::Relaxed;

use rayon::prelude::*;

use crate::Check;

pub const CHECKS: &[Check] = &[
    ("a dependency's counters", |n| {
        dep::counts();
        (0..n).into_par_iter().for_each(|i| match i % 4 {
            0 => _ = dep::count_plain(),
            1 => _ = dep::count_generic(i as u16),
            2 => _ = dep::count_inline(),
            _ => _ = dep::SHARED.fetch_add(1, Relaxed),
        });
        format!("{:?}", dep::counts())
    }),
    ("a dependency's counters, by the host, too", |n| {
        dep::counts();
        dep::count_plain();
        dep::count_generic(1_u64);
        dep::count_inline();
        dep::SHARED.store(100, Relaxed);
        let seen: usize = (0..n).into_par_iter().map(|_| dep::SHARED.load(Relaxed)).sum();
        let mut numbers: Vec<usize> = (0..n).into_par_iter().map(|_| dep::count_plain()).collect();
        numbers.sort_unstable();
        let all = numbers.into_iter().eq(1..n + 1);
        format!("{seen} {all} {:?}", dep::counts())
    }),
    ("a dependency's sentinel", |n| {
        let root = dep::Node(1);
        let nodes: Vec<&dep::Node> =
            (0..n).map(|i| if i % 3 == 0 { dep::nil() } else { &root }).collect();
        let by_function = nodes.par_iter().filter(|node| dep::is_nil(node)).count();
        let inline = nodes.par_iter().filter(|node| dep::is_nil_inline(node)).count();
        let generic = nodes.par_iter().filter(|node| dep::is_nil_of(**node)).count();
        let made: Vec<&'static dep::Node> = (0..n).into_par_iter().map(|_| dep::nil()).collect();
        let made = made.iter().all(|node| dep::is_nil(node) && node.0 == 0);
        format!("{by_function} {inline} {generic} {made}")
    }),
    ("what a dependency makes once", |n| {
        let places: Vec<&'static (usize, String)> =
            (0..n).into_par_iter().map(|_| dep::made_once()).collect();
        let same = places.iter().all(|place| std::ptr::eq(*place, dep::made_once()));
        format!("{same} {:?}", dep::made_once())
    }),
    ("a dependency's texts", |n| {
        let texts: Vec<&'static str> =
            (0..n).into_par_iter().map(|i| dep::intern(["one", "two"][i % 2])).collect();
        let places = [dep::intern("one"), dep::intern("two")];
        let same = texts.iter().enumerate().all(|(i, text)| std::ptr::eq(*text, places[i % 2]));
        same.to_string()
    }),
    ("a dependency's tables", |n| {
        let bytes: Vec<dep::Bytes> =
            (0..n).into_par_iter().map(|i| dep::Bytes::new(["plain", "é语"][i % 2])).collect();
        let own = bytes.iter().filter(|bytes| bytes.is_static()).count();
        let other: Vec<dep::Bytes> =
            (0..n).map(|i| dep::Bytes::new(["plain", "é语"][i % 2])).collect();
        let by_kernel = other.par_iter().filter(|bytes| bytes.is_static()).count();
        let lengths: usize = bytes.iter().map(|bytes| bytes.describe().1).sum();
        let again: usize = bytes.par_iter().map(|bytes| bytes.describe().1).sum();
        format!("{own} {by_kernel} {lengths} {again} {}", bytes[0].describe().0)
    }),
    ("a dependency's thread-local", |n| {
        let pool = super::threads::pool();
        pool.broadcast(|_| dep::take_thread_count());
        pool.install(|| (0..n).into_par_iter().for_each(|_| dep::count_in_thread()));
        pool.broadcast(|_| dep::take_thread_count()).iter().sum::<usize>().to_string()
    }),
];
