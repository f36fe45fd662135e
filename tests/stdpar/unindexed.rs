//! Pipelines with an unknown number of items, in an ordinary program with rayon.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::iter::plumbing::{Folder, UnindexedConsumer, UnindexedProducer, bridge_unindexed};
use rayon::prelude::*;

fn show(what: &str, size: usize, result: impl Debug) {
    let mut text = format!("{result:?}");
    if text.len() > 120 {
        let sum = text
            .bytes()
            .fold(7_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let end = (0..=60).rev().find(|&end| text.is_char_boundary(end)).unwrap();
        text.truncate(end);
        text = format!("{text} ... {sum:x}");
    }
    println!("{what} of {size}: {text}");
}

/// A text of so many lines, some of them empty, with characters of one to four bytes.
fn text_of(lines: usize) -> String {
    let mut text = String::new();
    for line in 0..lines {
        for word in 0..line % 7 {
            text.push_str(["a", "wörd", "three 3", "\u{1f980}", " ", "-12"][(line + word) % 6]);
            text.push(' ');
        }
        text.push('\n');
    }
    text
}

fn texts(lines: usize) {
    let text = text_of(lines);
    let text = text.as_str();
    show("chars", lines, text.par_chars().map(|c| c as u64).sum::<u64>());
    show("first crab", lines, text.par_char_indices().find_first(|(_, c)| *c == '\u{1f980}'));
    show("last d", lines, text.par_char_indices().find_last(|(_, c)| *c == 'd'));
    show("bytes", lines, text.par_bytes().filter(|b| *b == b'3').count());
    show("utf-16", lines, text.par_encode_utf16().map(u64::from).sum::<u64>());
    show("lines", lines, text.par_lines().map(str::len).max());
    show("words", lines, text.par_split_whitespace().map(str::len).sum::<usize>());
    show("split", lines, text.par_split('3').filter(|part| part.is_empty()).count());
    show("terminator", lines, text.par_split_terminator('\n').map(str::len).sum::<usize>());
    show("matches", lines, text.par_matches('w').count());
    let longest = text.par_lines().map(|line| (line.len(), line)).reduce(|| (0, ""), Ord::max);
    show("longest line", lines, longest);
    // In the order of the text, whatever the pieces.
    let hash = |sum: Vec<u8>, line: &str| -> Vec<u8> {
        let mut sum = sum;
        sum.push(line.len() as u8);
        sum
    };
    let lengths: Vec<u8> = text
        .par_lines()
        .fold(Vec::new, hash)
        .reduce(Vec::new, |left, right| [left, right].concat());
    show("lengths, in a vector", lines, &lengths);
    let numbers: Vec<&str> = text.par_split_whitespace().filter(|word| *word == "-12").collect();
    show("words, in a vector", lines, numbers);
    show("any", lines, text.par_lines().any(|line| line.starts_with("three")));
    show("all", lines, text.par_lines().all(|line| line.len() < 100));
}

fn slices(length: usize) {
    let numbers: Vec<u32> =
        (0..length as u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20).collect();
    let of_zero = numbers.par_split(|x| x % 16 == 0).map(<[u32]>::len).max();
    show("split of a slice", length, of_zero);
    let mut changed = numbers.clone();
    changed.par_split_mut(|x| x % 16 == 0).for_each(|part| part.reverse());
    show("split_mut", length, &changed);
    let range = 5_u128..5 + length as u128;
    show("u128", length, range.into_par_iter().map(|i| i * i).sum::<u128>());
    let wide = u128::from(u64::MAX) - 3..u128::from(u64::MAX) + length as u128;
    show("wide u128", length, wide.into_par_iter().filter(|i| i % 3 == 0).count());
    let halves = rayon::iter::split(0..length, |range| {
        let middle = range.start + range.len() / 2;
        if range.len() < 5 { (range, None) } else { (range.start..middle, Some(middle..range.end)) }
    });
    let parts = halves.map(|range| range.map(|i| u64::from(numbers[i])).sum::<u64>());
    show("split of a range", length, parts.sum::<u64>());
    show("repeat", length, rayon::iter::repeat(7_u32).find_any(|x| *x == 7));
    // A bridge takes items one by one, and stays with rayon.
    show("bridge", length, numbers.iter().par_bridge().map(|x| u64::from(*x)).sum::<u64>());
}

/// A producer that is not rayon's, whose items count how often they are dropped.
struct Countdown<'a> {
    from: u64,
    to: u64,
    dropped: &'a AtomicUsize,
}

struct Counted<'a>(u64, &'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_add(1, Relaxed);
    }
}

impl<'a> UnindexedProducer for Countdown<'a> {
    type Item = Counted<'a>;

    fn split(self) -> (Self, Option<Self>) {
        let Self { from, to, dropped } = self;
        // A third and the rest, so that pieces differ.
        let middle = from + (to - from) / 3;
        if middle == from {
            return (self, None);
        }
        (Self { from, to: middle, dropped }, Some(Self { from: middle, to, dropped }))
    }

    fn fold_with<F: Folder<Self::Item>>(self, mut folder: F) -> F {
        for i in self.from..self.to {
            folder = folder.consume(Counted(i, self.dropped));
            if folder.full() {
                break;
            }
        }
        folder
    }
}

impl<'a> ParallelIterator for Countdown<'a> {
    type Item = Counted<'a>;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        bridge_unindexed(self, consumer)
    }
}

fn drops(length: usize) {
    let dropped = AtomicUsize::new(0);
    let all = || Countdown { from: 0, to: length as u64, dropped: &dropped };
    let kept: std::collections::LinkedList<Counted<'_>> =
        all().filter(|item| item.0 % 2 == 0).collect();
    show("dropped by a filter", length, dropped.load(Relaxed));
    show("in order", length, kept.iter().map(|item| item.0).is_sorted());
    drop(kept);
    show("dropped in all", length, dropped.swap(0, Relaxed));
    show("least", length, all().map(|item| item.0 ^ 5).min());
    let last = all().reduce_with(|a, b| if a.0 > b.0 { a } else { b }).map(|item| item.0);
    show("last", length, last);
    show("dropped by a reduction", length, dropped.swap(0, Relaxed));
    let found = all().find_any(|item| item.0 == 70).map(|item| item.0);
    show("found", length, found);
    show("no more dropped than there are", length, dropped.swap(0, Relaxed) <= length);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        all().for_each(|item| assert!(item.0 != 99, "number {}", item.0));
    }));
    let said = caught.err().map(|payload| payload.downcast_ref::<String>().cloned());
    show("panic", length, said);
    show("no more dropped after a panic", length, dropped.load(Relaxed) <= length);
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for size in [0, 1, 2, 33, 1000, 20_011] {
        texts(size);
        slices(size);
        drops(size);
    }
    // Ends early although it has no end.
    let first = rayon::iter::repeat(3).map(|x| x + 1).any(|x| x == 4);
    show("repeat for ever", 1, first);
    // What one thread begins with has no end within a lifetime: the other finds what ends it.
    let two_threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let octillion = || (0..10_u128.pow(27)).into_par_iter();
    let middle = 10_u128.pow(27) / 2;
    let found = two_threads.install(|| octillion().find_any(|i| *i >= middle).is_some());
    show("in the second half", 2, found);
    let text = text_of(500);
    let text = &text;
    let threads: Vec<u64> = std::thread::scope(|scope| {
        let run = move || text.par_chars().map(|c| c as u64).sum::<u64>();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    show("four threads", 500, threads);
}
