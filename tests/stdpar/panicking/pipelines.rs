//! Adaptors and consumers of rayon, over borrowed and owned items.

use std::collections::{BTreeMap, HashMap, LinkedList, VecDeque};

use rayon::prelude::*;

use crate::case::Shape::Items;
use crate::case::{Case, Form, Item};

fn check<T: PartialEq>(case: &Case, found: Option<T>, expected: T) {
    if let Some(found) = found {
        case.check(found == expected, "another result");
    }
}

/// The key of an item that does not panic.
fn key(item: &Item) -> usize {
    item.case.trip(item.key);
    item.key
}

/// An item that does not panic.
fn same(item: Item) -> Item {
    item.case.trip(item.key);
    item
}

fn sum(case: &Case) -> usize {
    (0..case.count).sum()
}

pub const BORROWED: &[Form] = &[
    ("for_each", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || items.par_iter().for_each(|item| case.trip(item.key)));
        case.alive(&items);
    }),
    ("par_iter_mut", Items, |case| {
        let mut items = case.items();
        case.run(case.bad_items(), || {
            items.par_iter_mut().for_each(|item| {
                let text = std::mem::take(&mut item.text);
                let key = item.key;
                item.text = text;
                case.trip(key);
            });
        });
        case.alive(&items);
    }),
    ("sum", Items, |case| {
        let items = case.items();
        let found = case.run(case.bad_items(), || items.par_iter().map(key).sum::<usize>());
        check(case, found, sum(case));
    }),
    ("sum of f64", Items, |case| {
        let keys: Vec<usize> = (0..case.count).collect();
        let found = case.run(case.bad_items(), || {
            keys.par_iter()
                .map(|key| {
                    case.trip(*key);
                    *key as f64
                })
                .sum::<f64>()
        });
        check(case, found, sum(case) as f64);
    }),
    ("filter, count", Items, |case| {
        let items = case.items();
        let found = case
            .run(case.bad_items(), || items.par_iter().filter(|item| key(item) % 3 == 0).count());
        check(case, found, case.count.div_ceil(3));
    }),
    ("reduce", Items, |case| {
        let items = case.items();
        let found = case.run(case.bad_items(), || {
            items.par_iter().map(|item| (1, item.key)).reduce(
                || (0, 0),
                |a, b| {
                    case.trip(b.1);
                    (a.0 + b.0, b.1)
                },
            )
        });
        check(case, found.map(|found| found.0), case.count);
    }),
    ("min_by, max_by_key", Items, |case| {
        let items = case.items();
        let found = case.run(case.bad_items(), || {
            let most = items.par_iter().max_by_key(|item| key(item));
            let least = items.par_iter().min_by(|a, b| a.key.cmp(&b.key));
            (least.map(|item| item.key), most.map(|item| item.key))
        });
        check(
            case,
            found,
            (0..case.count).next().map_or((None, None), |_| (Some(0), Some(case.count - 1))),
        );
    }),
    ("par_chunks, zip", Items, |case| {
        let items = case.items();
        let others = case.items();
        let found = case.run(case.bad_items(), || {
            let pairs = items.par_chunks(7).zip(others.par_chunks(7));
            pairs.map(|(a, b)| a.iter().map(key).sum::<usize>() + b[0].key % 7).sum::<usize>()
        });
        check(case, found, sum(case));
    }),
    ("par_chunks_mut", Items, |case| {
        let mut items = case.items();
        case.run(case.bad_items(), || {
            items.par_chunks_mut(5).for_each(|chunk| {
                chunk.reverse();
                chunk.iter().for_each(|item| case.trip(item.key));
            });
        });
        case.alive(&items);
    }),
    ("par_windows", Items, |case| {
        let items = case.items();
        let bad = case.count > 1 && case.bad_items();
        let found = case
            .run(bad, || items.par_windows(2).map(|pair| key(&pair[0]) + key(&pair[1])).count());
        check(case, found, case.count.saturating_sub(1));
    }),
    ("cloned, collect", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || {
            let copies: Vec<Item> = items.par_iter().cloned().collect();
            case.alive(copies.iter().chain(&items));
        });
        case.alive(&items);
    }),
    ("any, all, find_any", Items, |case| {
        let items = case.items();
        let found = case.run_perhaps(case.bad_items(), || {
            let any = items.par_iter().any(|item| key(item) == usize::MAX);
            let all = items.par_iter().all(|item| key(item) < usize::MAX);
            let found = items.par_iter().find_any(|item| key(item) % 100 == 33);
            (any, all, found.is_some_and(|item| item.key % 100 == 33))
        });
        check(case, found, (false, true, case.count > 33));
    }),
    ("try_for_each", Items, |case| {
        let items = case.items();
        let found = case.run_perhaps(case.bad_items(), || {
            items.par_iter().try_for_each(|item| if key(item) == 50 { Err(50) } else { Ok(()) })
        });
        check(case, found, if case.count > 50 { Err(50) } else { Ok(()) });
    }),
    ("map_with, map_init", Items, |case| {
        let found = case.run(case.bad_items(), || {
            (0..case.count)
                .into_par_iter()
                .map_with(case.item(0), |held, key| {
                    held.key = 0;
                    key
                })
                .map_init(
                    || case.item(1),
                    |held, key| {
                        case.trip(key);
                        held.key = 1;
                        key
                    },
                )
                .sum::<usize>()
        });
        // Clones of the first item may panic, too.
        check(case, found, sum(case));
    }),
    ("an inner pipeline", Items, |case| {
        let found = case.run(case.bad_items(), || {
            (0..case.count.div_ceil(50))
                .into_par_iter()
                .map(|part| {
                    let held = case.item(part);
                    let keys = part * 50..case.count.min(part * 50 + 50);
                    let made: Vec<Item> = keys
                        .into_par_iter()
                        .map(|key| {
                            case.trip(key);
                            case.item(key)
                        })
                        .collect();
                    drop(held);
                    made.par_iter().map(|item| item.key).sum::<usize>()
                })
                .sum::<usize>()
        });
        check(case, found, sum(case));
    }),
    ("iter::split", Items, |case| {
        let found = case.run(case.bad_items(), || {
            rayon::iter::split(0..case.count, |keys| {
                let middle = keys.start + keys.len() / 2;
                (keys.len() > 8)
                    .then(|| (keys.start..middle, middle..keys.end))
                    .map_or_else(|| (keys.clone(), None), |(left, right)| (left, Some(right)))
            })
            .map(|keys| {
                keys.map(|key| {
                    case.trip(key);
                    key
                })
                .sum::<usize>()
            })
            .sum::<usize>()
        });
        check(case, found, sum(case));
    }),
    ("join in a pipeline", Items, |case| {
        case.run(case.bad_items(), || {
            (0..case.count).into_par_iter().for_each(|key| {
                let (left, right) = rayon::join(|| case.item(key), || case.item(key));
                case.trip(key);
                case.check(left.key == right.key, "another result");
            });
        });
    }),
];

pub const OWNED: &[Form] = &[
    ("into_par_iter, for_each", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || items.into_par_iter().for_each(|item| drop(same(item))));
    }),
    ("map, collect", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || {
            let items: Vec<Item> = items.into_par_iter().map(same).collect();
            case.check(case.alive(&items) == case.count, "items are missing");
        });
    }),
    ("boxes", Items, |case| {
        let items: Vec<Box<Item>> = case.items().into_iter().map(Box::new).collect();
        case.run(case.bad_items(), || {
            let items: Vec<(usize, Box<Item>)> = items
                .into_par_iter()
                .map(|item| {
                    case.trip(item.key);
                    (item.key, item)
                })
                .rev()
                .collect();
            case.alive(items.iter().map(|item| &*item.1));
        });
    }),
    ("filter, collect", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || {
            let items: Vec<Item> =
                items.into_par_iter().filter(|item| key(item) % 2 == 0).collect();
            case.check(case.alive(&items) == case.count.div_ceil(2), "items are missing");
        });
    }),
    ("filter_map, flat_map_iter", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || {
            let items: Vec<Item> = items
                .into_par_iter()
                .filter_map(|item| (item.key % 5 > 0 || case.is_bad(item.key)).then_some(item))
                .flat_map_iter(|item| [case.item(item.key), same(item)])
                .collect();
            case.alive(&items);
        });
    }),
    ("flat_map", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || {
            let items: LinkedList<Item> = items
                .into_par_iter()
                .flat_map(|item| vec![case.item(item.key), item])
                .map(same)
                .collect();
            case.check(case.alive(&items) == 2 * case.count, "items are missing");
        });
    }),
    ("fold, reduce", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || {
            let items = items
                .into_par_iter()
                .fold(Vec::new, |mut items, item| {
                    items.push(same(item));
                    items
                })
                .reduce(Vec::new, |mut left, mut right| {
                    left.append(&mut right);
                    left
                });
            case.check(case.alive(&items) == case.count, "items are missing");
        });
    }),
    ("reduce_with", Items, |case| {
        let items = case.items();
        let bad = case.count > 1 && case.bad_items();
        let found = case.run(bad, || {
            items.into_par_iter().reduce_with(|a, b| {
                case.trip(a.key);
                case.trip(b.key);
                if a.rank() < b.rank() { b } else { a }
            })
        });
        if let Some(found) = found {
            let most = (0..case.count).max_by_key(|key| crate::case::mix(*key as u64));
            case.check(found.map(|item| item.key) == most, "another result");
        }
    }),
    ("zip of two", Items, |case| {
        let (items, others) = (case.items(), case.items());
        case.run(case.bad_items(), || {
            let pairs: Vec<(Item, Item)> =
                items.into_par_iter().zip(others).map(|(a, b)| (b, same(a))).collect();
            case.alive(pairs.iter().flat_map(|(a, b)| [a, b]));
        });
    }),
    ("zip with fewer", Items, |case| {
        let items = case.items();
        let few = case.count / 3;
        let others: Vec<Item> = (0..few).map(|key| case.item(key)).collect();
        case.run(case.bad_in(0..few), || {
            items.into_par_iter().zip(others).for_each(|(a, b)| drop((b, same(a))));
        });
    }),
    ("skip, step_by, take", Items, |case| {
        let items = case.items();
        let taken = || (1..case.count).step_by(3).take(100);
        let bad = taken().any(|key| case.is_bad(key));
        let found = case.run(bad, || {
            let items: Vec<Item> =
                items.into_par_iter().skip(1).step_by(3).take(100).map(same).collect();
            case.alive(&items)
        });
        check(case, found, taken().count());
    }),
    ("chain, interleave", Items, |case| {
        let [first, second, third] = std::array::from_fn(|_| case.items());
        let found = case.run(case.bad_items(), || {
            let all = first.into_par_iter().chain(second).interleave(third);
            let items: Vec<Item> = all.map(same).collect();
            case.alive(&items)
        });
        check(case, found, 3 * case.count);
    }),
    ("chunks", Items, |case| {
        let items = case.items();
        let found = case.run(case.bad_items(), || {
            items
                .into_par_iter()
                .chunks(6)
                .map(|chunk| chunk.into_iter().map(same).collect::<VecDeque<_>>().len())
                .sum::<usize>()
        });
        check(case, found, case.count);
    }),
    ("unzip", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || {
            let (left, right): (Vec<Item>, Vec<Item>) =
                items.into_par_iter().map(|item| (case.item(item.key), same(item))).unzip();
            case.check(case.alive(left.iter().chain(&right)) == 2 * case.count, "another result");
        });
    }),
    ("partition", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || {
            let (left, right): (Vec<Item>, Vec<Item>) =
                items.into_par_iter().partition(|item| key(item) % 2 == 0);
            case.check(case.alive(left.iter().chain(&right)) == case.count, "another result");
        });
    }),
    ("collect_into_vec", Items, |case| {
        let items = case.items();
        let mut into = vec![case.item(7)];
        let found = case.run(case.bad_items(), || {
            items.into_par_iter().map(same).collect_into_vec(&mut into);
        });
        let count = case.alive(&into);
        case.check(count == if found.is_some() { case.count } else { 0 }, "another result");
    }),
    ("par_extend", Items, |case| {
        let items = case.items();
        let mut into = vec![case.item(7)];
        let found = case.run(case.bad_items(), || into.par_extend(items.into_par_iter().map(same)));
        let count = case.alive(&into);
        case.check(found.is_none() || count == case.count + 1, "another result");
    }),
    ("par_drain", Items, |case| {
        let mut items = case.items();
        let most = case.count / 2;
        case.run(case.bad_in(0..most), || {
            items.par_drain(..most).for_each(|item| drop(same(item)));
        });
        case.check(case.alive(&items) == case.count - most, "another result");
    }),
    ("collect into maps", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || {
            let map: HashMap<usize, Item> =
                items.into_par_iter().map(|item| (item.key, same(item))).collect();
            let count = case.alive(map.values());
            let map: BTreeMap<usize, Item> = map.into_par_iter().collect();
            case.check(case.alive(map.values()) == count, "another result");
            case.check(count == case.count, "items are missing");
        });
    }),
    ("collect into a Result", Items, |case| {
        let items = case.items();
        let found = case.run_perhaps(case.bad_items(), || {
            let items: Result<Vec<Item>, Item> = items
                .into_par_iter()
                .map(|item| if key(&item) == 20 { Err(item) } else { Ok(item) })
                .collect();
            match items {
                Ok(items) => case.alive(&items),
                Err(item) => item.key,
            }
        });
        check(case, found, if case.count > 20 { 20 } else { case.count });
    }),
    ("update, inspect, enumerate", Items, |case| {
        let items = case.items();
        case.run(case.bad_items(), || {
            let items: Vec<(usize, Item)> = items
                .into_par_iter()
                .update(|item| item.text.push('!'))
                .inspect(|item| case.trip(item.key))
                .update(|item| item.text.truncate(item.text.len() - 1))
                .enumerate()
                .collect();
            let same = items.iter().all(|(number, item)| *number == item.key);
            case.check(same, "another order");
            case.alive(items.iter().map(|(_, item)| item));
        });
    }),
    ("par_bridge", Items, |case| {
        let items = case.items();
        let found = case.run(case.bad_items(), || {
            items.into_iter().par_bridge().map(same).map(|item| item.key).sum::<usize>()
        });
        check(case, found, sum(case));
    }),
];
