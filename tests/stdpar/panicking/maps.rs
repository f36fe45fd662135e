//! Heaps, maps, sets and lists, whose keys or closures panic.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList};
use std::hash::{BuildHasher, BuildHasherDefault, Hash, Hasher};

use rayon::prelude::*;

use crate::case::Shape::Rows;
use crate::case::{Case, Form, Item, Ranked, mix};

/// A hasher without a seed.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = mix(self.0 ^ u64::from(*byte)));
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = mix(self.0 ^ number as u64);
    }
}

type Mixed = BuildHasherDefault<Mixer>;

/// A key whose hash panics if it is bad.
struct Hashed(Item);

impl Hash for Hashed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.case.trip(self.0.key);
        state.write_usize(self.0.key);
    }
}

impl PartialEq for Hashed {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for Hashed {}

fn maps<S: BuildHasher + Default>(case: &'static Case) -> Vec<HashMap<usize, Item, S>> {
    let map = |row| case.keys(row).map(|key| (key, case.item(key))).collect();
    (0..case.count).map(map).collect()
}

fn trees(case: &'static Case) -> Vec<BTreeMap<Ranked, Item>> {
    let map = |row| case.keys(row).map(|key| (Ranked(case.item(key)), case.item(key))).collect();
    (0..case.count).map(map).collect()
}

fn heaps(case: &'static Case) -> Vec<BinaryHeap<Ranked>> {
    (0..case.count).map(|row| case.row(row).into_iter().map(Ranked).collect()).collect()
}

/// Both items of each pair, and the number of pairs.
fn see_tree(case: &Case, map: &BTreeMap<Ranked, Item>) {
    let seen = case.alive(map.iter().flat_map(|(key, value)| [&key.0, value]));
    case.check(seen == 2 * map.len(), "a map has another length than it says");
    let mut keys = map.keys().map(|key| key.0.rank());
    case.check(keys.by_ref().is_sorted(), "a map is not sorted");
}

pub const FORMS: &[Form] = &[
    ("BinaryHeap::push", Rows, |case| {
        let mut heaps: Vec<BinaryHeap<Ranked>> =
            (0..case.count).map(|_| BinaryHeap::new()).collect();
        case.run(case.bad_rows(2), || {
            heaps.par_iter_mut().enumerate().for_each(|(row, heap)| {
                case.keys(row).for_each(|key| heap.push(Ranked(case.item(key))));
            });
        });
        case.alive(heaps.iter().flatten().map(|item| &item.0));
    }),
    ("BinaryHeap::pop", Rows, |case| {
        let mut heaps = heaps(case);
        case.run_perhaps(case.bad_rows(2), || {
            heaps.par_iter_mut().for_each(|heap| while heap.pop().is_some() {});
        });
        case.alive(heaps.iter().flatten().map(|item| &item.0));
    }),
    ("BinaryHeap::peek_mut", Rows, |case| {
        let mut heaps = heaps(case);
        case.run_perhaps(case.bad_rows(2), || {
            heaps.par_iter_mut().for_each(|heap| {
                for _ in 0..heap.len() {
                    if let Some(mut top) = heap.peek_mut() {
                        top.0.key += 0;
                    }
                }
            });
        });
        case.alive(heaps.iter().flatten().map(|item| &item.0));
    }),
    ("BinaryHeap::append", Rows, |case| {
        let mut heaps = heaps(case);
        case.run_perhaps(case.bad_rows(1), || {
            heaps.par_iter_mut().enumerate().for_each(|(row, heap)| {
                let mut other: BinaryHeap<Ranked> =
                    case.keys(row).map(|key| Ranked(case.item(key))).collect();
                heap.append(&mut other);
                heap.retain(|item| item.0.key % 3 > 0);
            });
        });
        case.alive(heaps.iter().flatten().map(|item| &item.0));
    }),
    ("HashMap::retain", Rows, |case| {
        let mut maps = maps::<Mixed>(case);
        case.run(case.bad_rows(1), || {
            maps.par_iter_mut().for_each(|map| {
                map.retain(|key, _| {
                    case.trip(*key);
                    key % 2 == 0
                });
            });
        });
        let seen = case.alive(maps.iter().flat_map(HashMap::values));
        let lengths = maps.iter().map(HashMap::len).sum::<usize>();
        case.check(seen == lengths, "a map has another length than it says");
        let found = maps.iter().all(|map| map.iter().all(|(key, item)| *key == item.key));
        case.check(found, "a map has a value of another key");
    }),
    ("HashMap::entry", Rows, |case| {
        let mut maps = maps::<Mixed>(case);
        case.run(case.bad_rows(1), || {
            maps.par_iter_mut().enumerate().for_each(|(row, map)| {
                for key in case.keys(row) {
                    let entry = map.entry(key + 100_000_000).and_modify(|_| case.trip(key));
                    let make = || {
                        let item = case.item(key);
                        case.trip(key);
                        item
                    };
                    entry.or_insert_with(make);
                }
            });
        });
        case.alive(maps.iter().flat_map(HashMap::values));
    }),
    ("HashMap::extend", Rows, |case| {
        let mut maps = maps::<RandomState>(case);
        case.run(case.bad_rows(1), || {
            maps.par_iter_mut().enumerate().for_each(|(row, map)| {
                map.extend(case.keys(row).map(|key| {
                    case.trip(key);
                    (key / 2, case.item(key / 2))
                }));
            });
        });
        case.alive(maps.iter().flat_map(HashMap::values));
        let found = maps.iter().all(|map| map.keys().all(|key| map.contains_key(key)));
        case.check(found, "a map does not find its keys");
    }),
    ("HashMap, a hash that panics", Rows, |case| {
        let mut maps: Vec<HashMap<Hashed, Item, Mixed>> =
            (0..case.count).map(|_| HashMap::default()).collect();
        case.run(case.bad_rows(1), || {
            maps.par_iter_mut().enumerate().for_each(|(row, map)| {
                for key in case.keys(row) {
                    map.insert(Hashed(case.item(key)), case.item(key));
                }
            });
        });
        case.alive(maps.iter().flatten().flat_map(|(key, value)| [&key.0, value]));
    }),
    ("HashMap::extract_if", Rows, |case| {
        let mut maps = maps::<Mixed>(case);
        case.run(case.bad_rows(1), || {
            maps.par_iter_mut().for_each(|map| {
                let odd: Vec<(usize, Item)> = map
                    .extract_if(|key, _| {
                        case.trip(*key);
                        key % 2 == 1
                    })
                    .collect();
                drop(odd);
            });
        });
        case.alive(maps.iter().flat_map(HashMap::values));
    }),
    ("HashSet", Rows, |case| {
        let mut sets: Vec<HashSet<Hashed, Mixed>> =
            (0..case.count).map(|_| HashSet::default()).collect();
        case.run(case.bad_rows(1), || {
            sets.par_iter_mut().enumerate().for_each(|(row, set)| {
                case.keys(row).for_each(|key| {
                    set.replace(Hashed(case.item(key)));
                });
                set.retain(|key| key.0.key % 2 == 1);
            });
        });
        case.alive(sets.iter().flatten().map(|key| &key.0));
    }),
    ("BTreeMap::insert", Rows, |case| {
        let mut maps: Vec<BTreeMap<Ranked, Item>> =
            (0..case.count).map(|_| BTreeMap::new()).collect();
        case.run(case.bad_rows(2), || {
            maps.par_iter_mut().enumerate().for_each(|(row, map)| {
                for key in case.keys(row) {
                    map.insert(Ranked(case.item(key)), case.item(key));
                }
            });
        });
        maps.iter().for_each(|map| see_tree(case, map));
    }),
    ("BTreeMap::retain", Rows, |case| {
        let mut maps = trees(case);
        case.run(case.bad_rows(1), || {
            maps.par_iter_mut().for_each(|map| {
                map.retain(|key, _| {
                    case.trip(key.0.key);
                    key.0.key % 3 > 0
                });
            });
        });
        maps.iter().for_each(|map| see_tree(case, map));
    }),
    ("BTreeMap::entry", Rows, |case| {
        let mut maps: Vec<BTreeMap<usize, Vec<Item>>> =
            (0..case.count).map(|_| BTreeMap::new()).collect();
        case.run(case.bad_rows(1), || {
            maps.par_iter_mut().enumerate().for_each(|(row, map)| {
                for key in case.keys(row) {
                    map.entry(key / 2)
                        .and_modify(|items| {
                            case.trip(key);
                            items.push(case.item(key));
                        })
                        .or_insert_with(|| {
                            case.trip(key);
                            vec![case.item(key)]
                        });
                }
            });
        });
        case.alive(maps.iter().flat_map(BTreeMap::values).flatten());
    }),
    ("BTreeMap::extend", Rows, |case| {
        let mut maps = trees(case);
        case.run(case.bad_rows(1), || {
            maps.par_iter_mut().enumerate().for_each(|(row, map)| {
                map.extend(case.keys(row).map(|key| {
                    case.trip(key);
                    (Ranked(case.item(key)), case.item(key))
                }));
            });
        });
        maps.iter().for_each(|map| see_tree(case, map));
    }),
    ("BTreeSet::range", Rows, |case| {
        let mut sets: Vec<BTreeSet<Ranked>> =
            (0..case.count).map(|row| case.row(row).into_iter().map(Ranked).collect()).collect();
        case.run(case.bad_rows(2), || {
            sets.par_iter_mut().for_each(|set| {
                let mut other = BTreeSet::new();
                while let Some(item) = set.pop_first() {
                    other.insert(item);
                }
                set.append(&mut other);
            });
        });
        case.alive(sets.iter().flatten().map(|key| &key.0));
    }),
    ("LinkedList", Rows, |case| {
        let mut lists: Vec<LinkedList<Item>> =
            (0..case.count).map(|row| case.row(row).into_iter().collect()).collect();
        case.run(case.bad_rows(1), || {
            lists.par_iter_mut().enumerate().for_each(|(row, list)| {
                let mut tail = list.split_off(list.len() / 2);
                let mut new: LinkedList<Item> = case
                    .keys(row)
                    .map(|key| {
                        case.trip(key);
                        case.item(key)
                    })
                    .collect();
                tail.append(&mut new);
                list.append(&mut tail);
            });
        });
        case.alive(lists.iter().flatten());
    }),
    ("LinkedList::extract_if", Rows, |case| {
        let mut lists: Vec<LinkedList<Item>> =
            (0..case.count).map(|row| case.row(row).into_iter().collect()).collect();
        case.run(case.bad_rows(1), || {
            lists.par_iter_mut().for_each(|list| {
                let mut odd: LinkedList<Item> = list
                    .extract_if(|item| {
                        case.trip(item.key);
                        item.key % 2 == 1
                    })
                    .collect();
                list.append(&mut odd);
            });
        });
        case.alive(lists.iter().flatten());
    }),
];
