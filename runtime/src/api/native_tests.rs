//! Tests with closures that refer to the host, which the schism compiler does not accept as
//! kernels.

use std::cell::Cell;
use std::collections::HashSet;
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::prelude::*;
use crate::{DeviceKind, Error};

fn queue() -> Queue {
    let device = Device::by_name("native").expect("always there");
    assert_eq!(device.kind(), DeviceKind::Native);
    Queue::on(&device).expect("threads")
}

#[test]
fn closures_may_use_the_host() {
    let runs = AtomicUsize::new(0);
    queue()
        .parallel_for([100, 100], |_| {
            runs.fetch_add(1, Ordering::Relaxed);
        })
        .expect("a launch");
    assert_eq!(runs.into_inner(), 10_000);
}

/// On the native device a closure could call the runtime, which would wait for itself.
#[test]
fn kernels_cannot_launch() {
    let queue = queue();
    let refused = AtomicUsize::new(0);
    let refuse = |result: Result<(), LaunchError>| {
        if matches!(result, Err(LaunchError::InsideKernel)) {
            refused.fetch_add(1, Ordering::Relaxed);
        }
    };
    queue
        .parallel_for(100, |_| {
            refuse(queue.parallel_for(1, |_| ()));
            refuse(match queue.scope(|_| Ok(())) {
                Err(Error::Launch(error)) => Err(error),
                other => panic!("{other:?}"),
            });
        })
        .expect("a launch");
    assert_eq!(refused.into_inner(), 200);
}

/// Nor does it wait for events: what they own comes later, to those who may.
#[test]
fn kernels_cannot_wait_for_events() {
    let (queue, other) = (queue(), queue());
    let (open, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let waiting = other.submit((), move |scope, ()| {
        scope.parallel_for(1, move |_| gate.lock().unwrap().recv().unwrap())?;
        Ok(())
    });
    let waiting = waiting.expect("submitted");
    let refused = AtomicUsize::new(0);
    queue
        .parallel_for(10, |_| {
            let results = [waiting.result(), queue.submit((), |_, ()| Ok(())).map(drop)];
            let is_refused = |result: &Result<(), Error>| {
                matches!(result, Err(Error::Launch(LaunchError::InsideKernel)))
            };
            refused
                .fetch_add(results.iter().filter(|it| is_refused(it)).count(), Ordering::Relaxed);
            assert!(!waiting.wait_timeout(Duration::from_secs(100)));
            assert_eq!(crate::wait_any([&waiting]), None);
        })
        .expect("a launch");
    assert_eq!(refused.into_inner(), 20);
    open.send(()).expect("the kernel waits");
    waiting.wait().expect("a launch");
}

/// A kernel that submits to the scope that it belongs to, which ends after that.
#[test]
fn kernels_may_submit_to_their_own_submission() {
    let queue = queue();
    let runs = std::sync::Arc::new(AtomicUsize::new(0));
    let event = queue.submit(std::sync::Arc::clone(&runs), |scope, runs| {
        scope.parallel_for(4, |_| {
            thread::scope(|threads| {
                threads.spawn(|| {
                    let run = || runs.fetch_add(1, Ordering::Relaxed);
                    scope.parallel_for(8, move |_| _ = run()).expect("submitted");
                });
            });
        })?;
        Ok(())
    });
    drop(event.expect("submitted").wait().expect("launches"));
    assert_eq!(runs.load(Ordering::Relaxed), 32);
}

/// Captures that panic when they are dropped do not stop the queue.
#[test]
fn captures_that_panic() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let queue = queue();
    let bomb = Bomb;
    let scoped = queue.scope(|scope| {
        scope.parallel_for(1, move |_| {
            let _ = &bomb;
        })?;
        Ok(())
    });
    let Err(Error::Launch(LaunchError::Panicked(panic))) = scoped else { panic!("{scoped:?}") };
    assert_eq!(panic.message, "dropped");
    queue.parallel_for(1, |_| ()).expect("the queue continues");
}

/// Submitting does not wait; the events signal the end.
#[test]
fn submitting_does_not_wait() {
    let queue = queue();
    let (open, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    queue
        .scope(|scope| {
            let event = scope.parallel_for(1, |_| {
                gate.lock().expect("one work-item").recv().expect("the host opens");
            })?;
            let next = scope.parallel_for(1, |_| ())?;
            thread::sleep(Duration::from_millis(20));
            assert!(!event.is_complete() && !next.is_complete());
            open.send(()).expect("the kernel waits");
            next.wait()?;
            assert!(event.is_complete());
            Ok(())
        })
        .expect("launches");
}

/// A few expensive work-items are distributed over the threads: the caller does not run them all.
#[test]
fn few_heavy_work_items_are_shared() {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    if threads < 2 || std::env::var_os("SCHISM_CPU_THREADS").is_some() {
        return;
    }
    let queue = queue();
    let workers = Mutex::new(HashSet::new());
    queue
        .parallel_for(16, |_| {
            workers.lock().expect("no panic").insert(thread::current().id());
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(5) {
                std::hint::spin_loop();
            }
        })
        .expect("a launch");
    assert!(workers.into_inner().expect("no panic").len() >= 2);
}

/// A scope also waits for launches that its kernels submit from threads of their own.
#[test]
fn kernels_that_submit_by_threads() {
    let queue = queue();
    let runs = AtomicUsize::new(0);
    let refused = AtomicUsize::new(0);
    queue
        .scope(|scope| {
            let (runs, refused) = (&runs, &refused);
            scope.parallel_for(4, move |_| {
                let inner = move |_: Item<1>| {
                    thread::sleep(Duration::from_millis(1));
                    runs.fetch_add(1, Ordering::Relaxed);
                };
                if let Err(LaunchError::InsideKernel) = scope.parallel_for(8, inner) {
                    refused.fetch_add(1, Ordering::Relaxed);
                }
                thread::scope(|threads| {
                    threads.spawn(|| scope.parallel_for(8, inner).expect("a launch"));
                });
            })?;
            Ok(())
        })
        .expect("launches");
    assert_eq!((runs.into_inner(), refused.into_inner()), (32, 4));
}

/// A panic payload may itself panic when dropped, repeatedly.
#[test]
fn panics_that_panic() {
    struct Hydra;
    impl Drop for Hydra {
        fn drop(&mut self) {
            std::panic::panic_any(Hydra);
        }
    }
    let queue = queue();
    for size in [1, 100_000] {
        let launched = queue.parallel_for(size, |_| std::panic::panic_any(Hydra));
        let Err(LaunchError::Panicked(panic)) = launched else { panic!("{launched:?}") };
        assert_eq!(panic.message, "Box<dyn Any>");
    }
    queue.parallel_for(1000, |_| ()).expect("the queue continues");
}

/// A work-item that waits keeps its thread: its thread-local variables stay, and are reset before
/// their referents are dropped. (The crate `scoped-tls` works like this.)
#[test]
fn thread_locals_stay_with_their_work_item() {
    thread_local! {
        static VALUE: Cell<*const usize> = const { Cell::new(std::ptr::null()) };
    }
    struct Reset(*const usize);
    impl Drop for Reset {
        fn drop(&mut self) {
            VALUE.set(self.0);
        }
    }
    let found = || {
        let value = VALUE.get();
        assert!(!value.is_null(), "it is set");
        // SAFETY: the guard resets it before the value is dropped, on this thread.
        unsafe { *value }
    };
    let queue = queue();
    for size in [1, 2, 33, 256] {
        let right = AtomicUsize::new(0);
        let threads = Mutex::new(HashSet::new());
        let range = NdRange::new(4 * size, size).expect("even groups");
        queue
            .for_each_in(range, local::<u32>(1), |item, tile| {
                let mine = item.x();
                let _reset = Reset(VALUE.replace(&mine));
                item.barrier();
                tile.set(0, 7);
                let first = found();
                let sum = item.sub_group().reduce_add(1_u32);
                item.barrier();
                let all = (first, found(), tile.get(0)) == (mine, mine, 7) && sum != 0;
                right.fetch_add(usize::from(all), Ordering::Relaxed);
                let own = (item.group_x(), thread::current().id());
                assert!(threads.lock().expect("no thread panics").insert(own), "a thread for each");
            })
            .expect("a launch");
        assert_eq!(right.into_inner(), 4 * size);
        assert!(VALUE.get().is_null());
    }
}

thread_local! {
    /// The work-item that owns this thread.
    static OWNER: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Waiting work-items unwind in place, with their own thread-local variables, and the next launch
/// reuses their threads.
#[test]
fn a_group_that_is_given_up_unwinds_on_its_threads() {
    struct Count<'a>(&'a AtomicUsize, usize, thread::ThreadId);
    impl<'a> Count<'a> {
        fn new(ended: &'a AtomicUsize, item: usize) -> Self {
            OWNER.set(item);
            Self(ended, item, thread::current().id())
        }
    }
    impl Drop for Count<'_> {
        fn drop(&mut self) {
            let own = OWNER.replace(usize::MAX) == self.1 && thread::current().id() == self.2;
            self.0.fetch_add(usize::from(own), Ordering::Relaxed);
        }
    }
    let queue = queue();
    for failing in [0, 5, 63] {
        let ended = AtomicUsize::new(0);
        let range = NdRange::new(64, 64).expect("even groups");
        let launched = queue.parallel_for(range, |item| {
            let _count = Count::new(&ended, item.x());
            item.barrier();
            assert_ne!(item.x(), failing);
            item.barrier();
        });
        let Err(LaunchError::Panicked(panic)) = launched else { panic!("{launched:?}") };
        assert_eq!(panic.local_id, Some(vec![failing]));
        assert_eq!(ended.into_inner(), 64);
    }
    let ended = AtomicUsize::new(0);
    let range = NdRange::new(64, 64).expect("even groups");
    let launched = queue.parallel_for(range, |item| {
        let _count = Count::new(&ended, item.x());
        if item.x() != 3 {
            item.barrier();
        }
    });
    assert!(matches!(launched, Err(LaunchError::DivergentBarrier { .. })), "{launched:?}");
    assert_eq!(ended.into_inner(), 64);
}

/// More concurrent groups, from many threads, than there may be threads for.
#[test]
fn groups_wait_for_threads() {
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let sum = AtomicUsize::new(0);
                let range = NdRange::new(2 * 512, 512).expect("even groups");
                queue()
                    .parallel_for(range, |item| {
                        OWNER.set(item.x());
                        sum.fetch_add(item.local_x(), Ordering::Relaxed);
                        item.barrier();
                        sum.fetch_add(usize::from(OWNER.get() == item.x()), Ordering::Relaxed);
                    })
                    .expect("a launch");
                assert_eq!(sum.into_inner(), 2 * (511 * 256 + 512));
            });
        }
    });
}
