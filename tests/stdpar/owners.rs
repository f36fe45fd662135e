//! Methods of collections whose closures panic in the middle: whichever string is there has one
//! owner, whatever was moved. All is safe code.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rayon::prelude::*;

const ROWS: usize = 300;

/// Ends with the number, and is long enough for a block.
fn text(number: usize) -> String {
    let mut text = String::from("a text that needs its own block, number ");
    for power in [100, 10, 1] {
        if number >= power || power == 1 {
            text.push(char::from(b'0' + (number / power % 10) as u8));
        }
    }
    text
}

fn rows(length: usize) -> Vec<Vec<String>> {
    (0..ROWS).map(|row| (0..length).map(|i| text((i * 37 + row) % length)).collect()).collect()
}

fn is_unlucky(text: &str) -> bool {
    text.ends_with(" 13")
}

fn panics_at(unlucky: bool) {
    if unlucky {
        panic!("bad luck");
    }
}

/// A text whose comparisons panic if it is unlucky.
#[derive(PartialEq, Eq)]
struct Compared(String);

impl Ord for Compared {
    fn cmp(&self, other: &Self) -> Ordering {
        panics_at(is_unlucky(&self.0) || is_unlucky(&other.0));
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Compared {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Runs what panics, and looks at all strings that are there.
fn report<T>(what: &str, rows: &mut T, work: impl FnOnce(&mut T), all: impl Fn(&T) -> Vec<&str>) {
    let message = catch_unwind(AssertUnwindSafe(|| work(rows))).map_err(|payload| {
        payload.downcast_ref::<&'static str>().map_or("another payload", |text| *text)
    });
    let texts = all(rows);
    let places: HashSet<*const u8> = texts.iter().map(|text| text.as_ptr()).collect();
    let whole = texts.iter().all(|text| text.starts_with("a text that needs"));
    println!(
        "{what}: {message:?}, with two owners: {}, whole: {whole}",
        texts.len() - places.len()
    );
}

fn strings(rows: &Vec<Vec<String>>) -> Vec<&str> {
    rows.iter().flatten().map(String::as_str).collect()
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    for length in [2, 14, 30, 200] {
        println!("rows of {length}");
        report(
            "retain",
            &mut rows(length),
            |rows| {
                rows.par_iter_mut().for_each(|row| {
                    row.retain(|text| {
                        panics_at(is_unlucky(text));
                        text.len() % 2 == 0
                    })
                });
            },
            strings,
        );
        let mut doubled = rows(length);
        doubled.iter_mut().for_each(|row| {
            *row = row.iter().flat_map(|text| [text.clone(), text.clone()]).collect()
        });
        report(
            "dedup_by",
            &mut doubled,
            |rows| {
                rows.par_iter_mut().for_each(|row| {
                    row.dedup_by(|a, b| {
                        panics_at(is_unlucky(a));
                        a == b
                    })
                });
            },
            strings,
        );
        report(
            "sort_by",
            &mut rows(length),
            |rows| {
                rows.par_iter_mut().for_each(|row| {
                    row.sort_by(|a, b| {
                        panics_at(is_unlucky(a) && b.ends_with(" 20"));
                        a.cmp(b)
                    })
                });
            },
            strings,
        );
        report(
            "sort_unstable_by",
            &mut rows(length),
            |rows| {
                rows.par_iter_mut().for_each(|row| {
                    row.sort_unstable_by(|a, b| {
                        panics_at(is_unlucky(a) || is_unlucky(b));
                        b.cmp(a)
                    })
                });
            },
            strings,
        );
        let mut heaps: Vec<BinaryHeap<Compared>> = (0..ROWS).map(|_| BinaryHeap::new()).collect();
        report(
            "heap",
            &mut heaps,
            |heaps| {
                heaps.par_iter_mut().enumerate().for_each(|(row, heap)| {
                    (0..length).for_each(|i| heap.push(Compared(text((i + row) % length))));
                });
            },
            |heaps| heaps.iter().flatten().map(|text| text.0.as_str()).collect(),
        );
        let mut queues: Vec<VecDeque<String>> = rows(length).into_iter().map(Into::into).collect();
        report(
            "deque",
            &mut queues,
            |queues| {
                queues.par_iter_mut().for_each(|queue| {
                    queue.rotate_left(1);
                    queue.retain(|text| {
                        panics_at(is_unlucky(text));
                        text.len() % 2 == 0
                    });
                });
            },
            |queues| queues.iter().flatten().map(String::as_str).collect(),
        );
        let mut maps: Vec<BTreeMap<Compared, String>> =
            (0..ROWS).map(|_| BTreeMap::new()).collect();
        report(
            "map",
            &mut maps,
            |maps| {
                maps.par_iter_mut().enumerate().for_each(|(row, map)| {
                    for i in 0..length {
                        let number = (i + row) % length;
                        map.insert(Compared(text(number)), text(number));
                    }
                });
            },
            |maps| maps.iter().flatten().flat_map(|(a, b)| [a.0.as_str(), b.as_str()]).collect(),
        );
        let arrays: Vec<[String; 6]> =
            (0..ROWS).map(|row| std::array::from_fn(|i| text((i + row) % length))).collect();
        report(
            "array",
            &mut Some(arrays),
            |arrays| {
                let arrays: Vec<[String; 6]> = arrays
                    .take()
                    .unwrap()
                    .into_par_iter()
                    .map(|array| {
                        array.map(|mut text| {
                            panics_at(is_unlucky(&text));
                            text.push('!');
                            text
                        })
                    })
                    .collect();
                drop(arrays);
            },
            |_| Vec::new(),
        );
    }
    println!("all is dropped");
}
