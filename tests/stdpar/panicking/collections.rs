//! Methods of vectors, arrays and strings that take closures.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

use rayon::prelude::*;

use crate::case::Shape::{Items, Rows};
use crate::case::{Case, Form, Item};

/// An operation on the vector of each item. It panics if there is a bad element in one of so many.
fn vectors(
    case: &'static Case,
    least: usize,
    work: impl Fn(usize, &mut Vec<Item>) + Sync,
) -> Vec<Vec<Item>> {
    let mut rows: Vec<Vec<Item>> = (0..case.count).map(|row| case.row(row)).collect();
    case.run(case.bad_rows(least), || {
        rows.par_iter_mut().enumerate().for_each(|(row, items)| work(row, items));
    });
    case.alive(rows.iter().flatten());
    rows
}

/// New items, some of which panic instead.
fn made(case: &'static Case, row: usize) -> impl Iterator<Item = Item> {
    case.keys(row).map(|key| {
        case.trip(key);
        case.item(key)
    })
}

/// Puts something back when it is dropped.
struct Lent<'a, T: Default> {
    place: &'a mut T,
    value: T,
}

impl<'a, T: Default> Lent<'a, T> {
    fn new(place: &'a mut T) -> Self {
        let value = mem::take(place);
        Self { place, value }
    }
}

impl<T: Default> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        *self.place = mem::take(&mut self.value);
    }
}

fn is_odd(item: &Item) -> bool {
    item.case.trip(item.key);
    item.rank() % 2 == 1
}

/// Characters of the key, some of more than a byte.
fn letters(case: &Case, row: usize) -> String {
    case.keys(row).map(|key| ['a', 'é', '语', '🦀'][key % 4]).collect()
}

pub const FORMS: &[Form] = &[
    ("Vec::retain", Rows, |case| drop(vectors(case, 1, |_, items| items.retain(is_odd)))),
    ("Vec::retain_mut", Rows, |case| {
        drop(vectors(case, 1, |_, items| {
            items.retain_mut(|item| {
                item.text = mem::take(&mut item.text);
                is_odd(item)
            });
        }));
    }),
    ("Vec::dedup_by", Rows, |case| {
        drop(vectors(case, 2, |_, items| {
            items.dedup_by(|a, b| {
                case.trip(a.key);
                case.trip(b.key);
                a.key / 3 == b.key / 3
            });
        }));
    }),
    ("Vec::dedup_by_key", Rows, |case| {
        drop(vectors(case, 2, |_, items| {
            items.dedup_by_key(|item| {
                case.trip(item.key);
                item.rank() % 2
            });
        }));
    }),
    ("slice::sort_by", Rows, |case| {
        let rows = vectors(case, 2, |_, items| {
            items.sort_by(|a, b| {
                case.trip(a.key);
                case.trip(b.key);
                a.rank().cmp(&b.rank())
            });
        });
        let complete = rows.iter().enumerate().all(|(row, of)| of.len() == case.keys(row).len());
        case.check(complete, "a sort lost elements");
    }),
    ("slice::sort_unstable_by", Rows, |case| {
        let rows = vectors(case, 2, |_, items| {
            items.sort_unstable_by(|a, b| {
                case.trip(a.key);
                case.trip(b.key);
                a.rank().cmp(&b.rank())
            });
        });
        let complete = rows.iter().enumerate().all(|(row, of)| of.len() == case.keys(row).len());
        case.check(complete, "a sort lost elements");
    }),
    ("slice::sort_by_cached_key", Rows, |case| {
        drop(vectors(case, 2, |_, items| {
            items.sort_by_cached_key(|item| {
                case.trip(item.key);
                item.text.clone()
            });
        }));
    }),
    ("slice::select_nth_unstable_by", Rows, |case| {
        drop(vectors(case, 2, |_, items| {
            if items.len() > 1 {
                let middle = items.len() / 2;
                items.select_nth_unstable_by(middle, |a, b| {
                    case.trip(a.key);
                    case.trip(b.key);
                    a.rank().cmp(&b.rank())
                });
            }
        }));
    }),
    ("Vec::extract_if", Rows, |case| {
        drop(vectors(case, 1, |_, items| {
            let odd: Vec<Item> = items.extract_if(.., |item| is_odd(item)).collect();
            items.splice(0..0, odd);
        }));
    }),
    ("Vec::drain", Rows, |case| {
        drop(vectors(case, 1, |_, items| {
            let most = items.len();
            for (number, item) in items.drain(..).enumerate() {
                if number < most {
                    case.trip(item.key);
                }
            }
        }));
    }),
    ("Vec::splice", Rows, |case| {
        drop(vectors(case, 1, |row, items| {
            items.splice(items.len() / 3..items.len() / 2, made(case, row));
        }));
    }),
    ("Vec::extend", Rows, |case| {
        drop(vectors(case, 1, |row, items| items.extend(made(case, row))));
    }),
    ("Vec::resize_with", Rows, |case| {
        drop(vectors(case, 1, |row, items| {
            let mut new = made(case, row);
            let length = 2 * items.len();
            items.resize_with(length, || new.next().expect("as many as there were"));
        }));
    }),
    ("Vec::from_iter", Rows, |case| {
        drop(vectors(case, 1, |row, items| *items = made(case, row).filter(|_| true).collect()));
    }),
    ("Vec::from_iter in place", Rows, |case| {
        drop(vectors(case, 1, |_, items| {
            *items = mem::take(items).into_iter().filter(is_odd).collect();
        }));
    }),
    ("Vec::clone", Rows, |case| {
        drop(vectors(case, 1, |_, items| items.extend(items.clone())));
    }),
    ("Vec::resize", Rows, |case| {
        drop(vectors(case, 1, |_, items| {
            if let Some(first) = items.pop() {
                case.trip(first.key);
                items.iter().for_each(|item| case.trip(item.key));
                items.resize(items.len() + 5, first);
            }
        }));
    }),
    ("slice::fill_with", Rows, |case| {
        drop(vectors(case, 1, |row, items| {
            let mut new = made(case, row);
            items.fill_with(|| new.next().expect("as many as there are"));
        }));
    }),
    ("iterator adaptors", Rows, |case| {
        drop(vectors(case, 1, |row, items| {
            let old = mem::take(items);
            let mut doubled = old
                .into_iter()
                .chain(made(case, row))
                .flat_map(|item| [case.item(item.key), item])
                .skip(1)
                .scan(0, |sum, item| {
                    *sum += item.key;
                    Some((*sum, item))
                })
                .map_while(|(sum, item)| (sum < usize::MAX).then_some(item))
                .step_by(2)
                .peekable();
            while let Some(item) = doubled.next_if(|item| item.key != usize::MAX) {
                items.push(item);
            }
        }));
    }),
    ("iter::from_fn and zip", Rows, |case| {
        drop(vectors(case, 1, |row, items| {
            let mut new = made(case, row);
            let old = mem::take(items);
            let pairs = std::iter::from_fn(|| new.next()).zip(old).map(|(a, b)| [a, b]);
            let (left, right): (Vec<_>, Vec<_>) =
                pairs.flatten().partition(|item| item.key % 3 > 0);
            *items = left.into_iter().rev().chain(right).collect();
        }));
    }),
    ("mem::take and a guard", Rows, |case| {
        let rows = vectors(case, 1, |_, items| {
            let mut lent = Lent::new(items);
            lent.value.iter_mut().rev().for_each(|item| case.trip(item.key));
        });
        let complete = rows.iter().enumerate().all(|(row, of)| of.len() == case.keys(row).len());
        case.check(complete, "a guard put nothing back");
    }),
    ("RefCell", Rows, |case| {
        let mut rows: Vec<RefCell<Vec<Item>>> =
            (0..case.count).map(|row| RefCell::new(case.row(row))).collect();
        case.run(case.bad_rows(1), || {
            rows.par_iter_mut().for_each(|row| {
                let row = &*row;
                let mut items = row.borrow_mut();
                items.retain(is_odd);
            });
        });
        let free = rows.iter().all(|row| row.try_borrow_mut().is_ok());
        case.check(free, "a RefCell is borrowed for ever");
        case.alive(rows.iter_mut().flat_map(|row| row.get_mut().iter()));
    }),
    ("VecDeque", Rows, |case| {
        let mut rows: Vec<VecDeque<Item>> =
            (0..case.count).map(|row| case.row(row).into()).collect();
        case.run(case.bad_rows(1), || {
            rows.par_iter_mut().enumerate().for_each(|(row, items)| {
                items.rotate_left(items.len() / 2);
                items.extend(made(case, row));
                items.retain(is_odd);
            });
        });
        case.alive(rows.iter().flatten());
    }),
    ("VecDeque::make_contiguous", Rows, |case| {
        let mut rows: Vec<VecDeque<Item>> =
            (0..case.count).map(|row| case.row(row).into()).collect();
        case.run(case.bad_rows(2), || {
            rows.par_iter_mut().for_each(|items| {
                if let Some(last) = items.pop_back() {
                    items.push_front(last);
                }
                items.make_contiguous().sort_by(|a, b| {
                    case.trip(a.key);
                    case.trip(b.key);
                    b.rank().cmp(&a.rank())
                });
            });
        });
        case.alive(rows.iter().flatten());
    }),
    ("array::from_fn", Items, |case| {
        case.run(case.bad_items(), || {
            let arrays: Vec<[Item; 4]> = (0..case.count)
                .into_par_iter()
                .map(|key| {
                    std::array::from_fn(|at| {
                        if at == 2 {
                            case.trip(key);
                        }
                        case.item(key)
                    })
                })
                .collect();
            case.check(arrays.len() == case.count, "arrays are missing");
            case.alive(arrays.iter().flatten());
        });
    }),
    ("array::map", Items, |case| {
        let arrays: Vec<[Item; 4]> =
            (0..case.count).map(|key| std::array::from_fn(|_| case.item(key))).collect();
        case.run(case.bad_items(), || {
            let mapped: Vec<[Box<Item>; 4]> = arrays
                .into_par_iter()
                .map(|array| {
                    let at = Cell::new(0);
                    array.map(|item| {
                        if at.replace(at.get() + 1) == 2 {
                            case.trip(item.key);
                        }
                        Box::new(item)
                    })
                })
                .collect();
            case.alive(mapped.iter().flatten().map(|item| &**item));
        });
    }),
    ("String::retain", Rows, |case| {
        let mut rows: Vec<String> = (0..case.count).map(|row| letters(case, row)).collect();
        case.run(case.bad_rows(1), || {
            rows.par_iter_mut().enumerate().for_each(|(row, text)| {
                let mut keys = case.keys(row);
                text.retain(|letter| {
                    case.trip(keys.next().expect("a key for each letter"));
                    letter != 'é'
                });
            });
        });
        for (row, text) in rows.iter().enumerate() {
            case.check(std::str::from_utf8(text.as_bytes()).is_ok(), "a string is not UTF-8");
            let before = letters(case, row);
            let mut left = before.chars();
            let part = text.chars().all(|letter| left.any(|other| other == letter));
            case.check(part, "a string has other letters");
        }
    }),
    ("String::extend", Rows, |case| {
        let mut rows: Vec<String> = (0..case.count).map(|row| letters(case, row)).collect();
        case.run(case.bad_rows(1), || {
            rows.par_iter_mut().enumerate().for_each(|(row, text)| {
                text.extend(case.keys(row).map(|key| {
                    case.trip(key);
                    ['ß', 'z', '🦀'][key % 3]
                }));
            });
        });
        let valid = rows.iter().all(|text| std::str::from_utf8(text.as_bytes()).is_ok());
        case.check(valid, "a string is not UTF-8");
    }),
    ("Option::get_or_insert_with", Items, |case| {
        let mut places: Vec<Option<Item>> = (0..case.count).map(|_| None).collect();
        case.run(case.bad_items(), || {
            places.par_iter_mut().enumerate().for_each(|(key, place)| {
                let item = place.get_or_insert_with(|| {
                    let item = case.item(key);
                    case.trip(key);
                    item
                });
                item.key = key;
            });
        });
        case.alive(places.iter().flatten());
        let bad = places.iter().flatten().any(|item| case.is_bad(item.key));
        case.check(!bad, "a place was filled by a closure that panicked");
    }),
    ("Arc<[T]>::from_iter", Rows, |case| {
        case.run(case.bad_rows(1), || {
            let rows: Vec<Arc<[Item]>> =
                (0..case.count).into_par_iter().map(|row| made(case, row).collect()).collect();
            case.alive(rows.iter().flat_map(|row| row.iter()));
        });
    }),
    ("Arc::new_cyclic", Items, |case| {
        case.run(case.bad_items(), || {
            let items: Vec<Arc<Item>> = (0..case.count)
                .into_par_iter()
                .map(|key| {
                    Arc::new_cyclic(|weak| {
                        case.check(weak.upgrade().is_none(), "it is not there yet");
                        let item = case.item(key);
                        case.trip(key);
                        item
                    })
                })
                .collect();
            case.alive(items.iter().map(|item| &**item));
        });
    }),
];
