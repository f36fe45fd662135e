//! Thousands of calls of one pipeline, which knows elements by their places: each call counts the
//! same.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use rayon::prelude::*;

struct Node(u64);

static NIL: Node = Node(0);
static OTHER: Node = Node(1);

/// Some work, so that calls take a while.
fn work(node: &Node) -> u64 {
    (0..40).fold(node.0 + 1, |word, _| word.wrapping_mul(31) ^ word >> 7)
}

fn main() {
    let calls = std::env::args().nth(1).map_or(2000, |calls| calls.parse().expect("a number"));
    let nodes: Vec<&'static Node> =
        (0..30_000).map(|i| if i % 3 == 0 { &NIL } else { &OTHER }).collect();
    let mut counts = BTreeMap::new();
    for _ in 0..calls {
        let count: usize = nodes
            .par_iter()
            .map(|node| {
                let word = work(node);
                usize::from(std::ptr::eq(*node, &NIL) || word == 12_345)
            })
            .sum();
        *counts.entry(count).or_insert(0) += 1;
    }
    println!("{counts:?}");
}
