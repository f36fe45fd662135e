//! Locks, guards, counters and channels: what unwinding releases.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, TryLockError, Weak, mpsc};

use rayon::prelude::*;

use crate::case::Shape::{Items, OneBad};
use crate::case::{Case, Form, Item};

/// A lock that spins and knows nothing of panics.
struct Spin<T> {
    locked: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: one guard exists at a time.
unsafe impl<T: Send> Sync for Spin<T> {}

struct SpinGuard<'a, T>(&'a Spin<T>);

impl<T> Spin<T> {
    fn new(value: T) -> Self {
        Self { locked: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    fn try_lock(&self) -> Option<SpinGuard<'_, T>> {
        let free = self.locked.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed);
        free.is_ok().then(|| SpinGuard(self))
    }

    fn lock(&self) -> SpinGuard<'_, T> {
        loop {
            if let Some(guard) = self.try_lock() {
                break guard;
            }
            std::thread::yield_now();
        }
    }
}

impl<T> Drop for SpinGuard<'_, T> {
    fn drop(&mut self) {
        self.0.locked.store(false, Ordering::Release);
    }
}

impl<T> Deref for SpinGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the lock is held.
        unsafe { &*self.0.value.get() }
    }
}

impl<T> DerefMut for SpinGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the lock is held.
        unsafe { &mut *self.0.value.get() }
    }
}

/// Counts how many there are, and whether they are dropped by unwinding.
struct Gauge<'a> {
    now: &'a AtomicUsize,
    unwound: &'a AtomicUsize,
}

impl<'a> Gauge<'a> {
    fn new(now: &'a AtomicUsize, unwound: &'a AtomicUsize) -> Self {
        now.fetch_add(1, Ordering::Relaxed);
        Self { now, unwound }
    }
}

impl Drop for Gauge<'_> {
    fn drop(&mut self) {
        self.now.fetch_sub(1, Ordering::Relaxed);
        if std::thread::panicking() {
            self.unwound.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A value whose drop panics if it is bad.
struct Fragile(Item);

impl Drop for Fragile {
    fn drop(&mut self) {
        self.0.case.trip(self.0.key);
    }
}

fn fragile(case: &'static Case) -> Vec<Fragile> {
    case.items().into_iter().map(Fragile).collect()
}

/// Whether a lock is free; and whether it is poisoned.
fn state<T>(lock: Result<T, TryLockError<T>>) -> (bool, bool) {
    match lock {
        Ok(_) => (true, false),
        Err(TryLockError::Poisoned(_)) => (true, true),
        Err(TryLockError::WouldBlock) => (false, false),
    }
}

pub const FORMS: &[Form] = &[
    ("a Mutex for each item", Items, |case| {
        let items: Vec<Mutex<Item>> = case.items().into_iter().map(Mutex::new).collect();
        case.run(case.bad_items(), || {
            items.par_iter().enumerate().for_each(|(key, lock)| {
                let mut item = lock.lock().expect("it is not poisoned");
                item.text.push('!');
                case.trip(key);
                item.text.pop();
            });
        });
        for (key, lock) in items.iter().enumerate() {
            let (free, poisoned) = state(lock.try_lock());
            case.check(free, "a Mutex is locked for ever");
            case.check(poisoned == lock.is_poisoned(), "a Mutex is poisoned and is not");
            let text = lock.lock().unwrap_or_else(PoisonError::into_inner).text.ends_with('!');
            case.check(poisoned == text, "a Mutex is not poisoned though its holder panicked");
            case.check(!poisoned || case.is_bad(key), "a Mutex is poisoned without a panic");
        }
    }),
    ("one Mutex", Items, |case| {
        let pair = Mutex::new((0, 0));
        let result = case.run(case.bad_items(), || {
            (0..case.count).into_par_iter().for_each(|key| {
                let mut pair = pair.lock().unwrap_or_else(PoisonError::into_inner);
                pair.0 += 1;
                if case.is_bad(key) {
                    // What it holds is made right by hand.
                    pair.1 += 1;
                    case.trip(key);
                }
                pair.1 += 1;
            });
        });
        let (free, poisoned) = state(pair.try_lock());
        case.check(free, "a Mutex is locked for ever");
        case.check(poisoned == result.is_none(), "a Mutex is poisoned if its holder panics only");
        let pair = pair.into_inner().unwrap_or_else(PoisonError::into_inner);
        case.check(pair.0 == pair.1, "a Mutex was let go in the middle");
    }),
    ("RwLock", Items, |case| {
        let locks: Vec<RwLock<Item>> = case.items().into_iter().map(RwLock::new).collect();
        case.run(case.bad_items(), || {
            locks.par_iter().enumerate().for_each(|(key, lock)| {
                if key % 2 == 0 {
                    let item = lock.read().expect("it is not poisoned");
                    case.trip(item.key);
                } else {
                    let item = lock.write().expect("it is not poisoned");
                    case.trip(item.key);
                }
            });
        });
        for (key, lock) in locks.iter().enumerate() {
            let (free, poisoned) = state(lock.try_write());
            case.check(free, "a RwLock is locked for ever");
            let may = key % 2 == 1 && case.is_bad(key);
            case.check(!poisoned || may, "a RwLock is poisoned, and no writer panicked");
        }
    }),
    ("one RwLock", Items, |case| {
        let lock = RwLock::new(0_u64);
        let wrote = AtomicBool::new(false);
        case.run(case.bad_items(), || {
            (0..case.count).into_par_iter().for_each(|key| {
                if key % 8 == 0 {
                    let mut sum = lock.write().unwrap_or_else(PoisonError::into_inner);
                    *sum += 1;
                    if case.is_bad(key) {
                        wrote.store(true, Ordering::Relaxed);
                    }
                    case.trip(key);
                } else {
                    let _sum = lock.read().unwrap_or_else(PoisonError::into_inner);
                    case.trip(key);
                }
            });
        });
        let (free, poisoned) = state(lock.try_write());
        case.check(free, "a RwLock is locked for ever");
        case.check(poisoned == wrote.into_inner(), "a RwLock is poisoned if a writer panics only");
    }),
    ("a lock that spins", Items, |case| {
        let lock = Spin::new(0_u64);
        case.run(case.bad_items(), || {
            (0..case.count).into_par_iter().for_each(|key| {
                let mut sum = lock.lock();
                *sum += key as u64;
                case.trip(key);
            });
        });
        case.check(lock.try_lock().is_some(), "a lock that spins is locked for ever");
    }),
    ("guards", Items, |case| {
        let [now, unwound, caught] = std::array::from_fn(|_| AtomicUsize::new(0));
        let result = case.run(case.bad_items(), || {
            (0..case.count).into_par_iter().for_each(|key| {
                let _gauge = Gauge::new(&now, &unwound);
                let inner = catch_unwind(AssertUnwindSafe(|| {
                    let _gauge = Gauge::new(&now, &caught);
                    case.trip(key);
                }));
                case.check(!std::thread::panicking(), "a thread panics after it caught it");
                if let Err(payload) = inner {
                    resume_unwind(payload);
                }
            });
        });
        let [unwound, caught] = [unwound, caught].map(AtomicUsize::into_inner);
        case.check(now.into_inner() == 0, "a guard was not dropped");
        case.check((unwound > 0) == result.is_none(), "a guard was not dropped by unwinding");
        case.check(unwound == caught, "a panic was caught and not resumed");
    }),
    ("caught in the closure", Items, |case| {
        let caught = case.run(false, || {
            (0..case.count)
                .into_par_iter()
                .map(|key| catch_unwind(AssertUnwindSafe(|| case.trip(key))).is_err())
                .filter(|caught| *caught)
                .count()
        });
        let bad = (0..case.count).filter(|key| case.is_bad(*key)).count();
        case.check(caught == Some(bad), "other panics were caught than there were");
    }),
    ("caught twice", Items, |case| {
        let items = case.items();
        let sum = case.run(false, || {
            items
                .into_par_iter()
                .map(|item| {
                    let outer = catch_unwind(AssertUnwindSafe(|| {
                        let inner = catch_unwind(AssertUnwindSafe(|| case.trip(item.key)));
                        if inner.is_err() {
                            panic_any(item);
                        }
                    }));
                    match outer.map_err(|payload| payload.downcast::<Item>()) {
                        Ok(()) => 0,
                        Err(Ok(item)) => item.key + 1,
                        Err(Err(_)) => usize::MAX / 2,
                    }
                })
                .sum::<usize>()
        });
        let bad = (0..case.count).filter(|key| case.is_bad(*key)).map(|key| key + 1).sum();
        case.check(sum == Some(bad), "other payloads were caught than there were");
    }),
    ("OnceLock", Items, |case| {
        let places: Vec<OnceLock<Item>> = (0..case.count).map(|_| OnceLock::new()).collect();
        case.run(case.bad_items(), || {
            places.par_iter().enumerate().for_each(|(key, place)| {
                place.get_or_init(|| {
                    let item = case.item(key);
                    case.trip(key);
                    item
                });
            });
        });
        case.alive(places.iter().filter_map(OnceLock::get));
        for (key, place) in places.iter().enumerate() {
            case.check(place.get().is_none() || !case.is_bad(key), "a panic filled a OnceLock");
            case.check(place.get_or_init(|| case.item(key)).key == key, "a OnceLock is not free");
        }
    }),
    ("Arc and Weak", Items, |case| {
        let shared = Arc::new(case.item(0));
        let weak: Weak<Item> = Arc::downgrade(&shared);
        let copies = vec![shared.clone(); case.count];
        case.run(case.bad_items(), || {
            copies.into_par_iter().enumerate().for_each(|(key, copy)| {
                let other = weak.upgrade().expect("it is there");
                let third = Arc::downgrade(&copy);
                case.trip(key);
                drop((other, third));
            });
        });
        case.check(Arc::strong_count(&shared) == 1, "an Arc was leaked, or dropped twice");
        case.check(Arc::weak_count(&shared) == 1, "a Weak was leaked, or dropped twice");
        drop(shared);
        case.check(weak.upgrade().is_none(), "an Arc is there after the last one");
    }),
    ("channel", Items, |case| {
        let (sender, receiver) = mpsc::channel();
        case.run(case.bad_items(), || {
            case.items().into_par_iter().for_each_with(sender, |sender, item| {
                case.trip(item.key);
                sender.send(item).expect("the receiver is there");
            });
        });
        // It ends, since all senders are gone.
        let received: Vec<Item> = receiver.iter().collect();
        case.alive(&received);
    }),
    ("a drop that panics", OneBad, |case| {
        let items = fragile(case);
        case.run(case.bad_items(), || items.into_par_iter().for_each(drop));
    }),
    ("a drop that panics in a vector", OneBad, |case| {
        let mut items = fragile(case).into_iter();
        let mut rows = Vec::new();
        while items.len() > 0 {
            rows.push(items.by_ref().take(7).collect::<Vec<_>>());
        }
        case.run(case.bad_items(), || rows.par_iter_mut().for_each(Vec::clear));
    }),
    ("a drop that panics in an assignment", OneBad, |case| {
        let mut items: Vec<Option<Box<Fragile>>> =
            fragile(case).into_iter().map(|item| Some(Box::new(item))).collect();
        case.run(case.bad_items(), || items.par_iter_mut().for_each(|item| *item = None));
        case.alive(items.iter().flatten().map(|item| &item.0));
    }),
    ("a drop that panics in results", OneBad, |case| {
        let items = fragile(case);
        case.run(case.bad_items(), || {
            items.into_par_iter().filter(|item| item.0.key == usize::MAX).count()
        });
    }),
];
