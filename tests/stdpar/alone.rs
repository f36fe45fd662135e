//! Sorts of elements that threads may have one after the other, and not at once: a `RefCell` that a
//! comparison finds borrowed was with another thread.
#![forbid(unsafe_code)]

use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rayon::prelude::*;

type Element<'a> = &'a mut RefCell<Vec<u64>>;

/// Compares two elements, and holds both for a while if they are of different blocks.
fn compare(a: &Element<'_>, b: &Element<'_>, work: u64, met: &AtomicUsize) -> Ordering {
    let (Ok(mut left), Ok(mut right)) = (a.try_borrow_mut(), b.try_borrow_mut()) else {
        met.fetch_add(1, Relaxed);
        return Ordering::Equal;
    };
    let order = left[0].cmp(&right[0]);
    if left[0] / 4096 != right[0] / 4096 {
        for i in 0..work {
            for list in [&mut *left, &mut *right] {
                list.push(i);
                if i % 8 == 0 {
                    list.truncate(1);
                    list.shrink_to_fit();
                }
            }
        }
        left.truncate(1);
        right.truncate(1);
    }
    order
}

fn main() {
    let work = std::env::args().nth(1).map_or(300, |work| work.parse().expect("a number"));
    for stable in [true, false] {
        let mut store: Vec<RefCell<Vec<u64>>> =
            (0..32_768).rev().map(|number| RefCell::new(vec![number])).collect();
        let mut elements: Vec<Element<'_>> = store.iter_mut().collect();
        let met = AtomicUsize::new(0);
        if stable {
            elements.par_sort_by(|a, b| compare(a, b, work, &met));
        } else {
            elements.par_sort_unstable_by(|a, b| compare(a, b, work, &met));
        }
        let sorted = elements.is_sorted_by_key(|element| element.borrow()[0]);
        println!("stable {stable}: sorted {sorted}, met another thread {}", met.into_inner());
    }
}
