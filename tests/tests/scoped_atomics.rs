//! Atomics of floats, and atomics and fences for some work-items only: each case runs on every
//! device.

use std::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicIsize, AtomicU32, AtomicU64, AtomicUsize};

use schism::prelude::*;
use schism::{AtomicF32, AtomicF64, AtomicRef, MemoryScope, fence, memory_scope};

/// Runs a case on every device.
fn on_every_device(mut case: impl FnMut(&Queue)) {
    for device in schism_tests::devices::listed() {
        case(&Queue::on(&device).expect("a device that is listed"));
    }
}

#[test]
fn every_kernel_becomes_ptx() {
    schism_tests::ptx::expect(&[]);
}

/// All that integers can do, once for each type. One work-item has an element for itself, so the
/// results are those of the host.
macro_rules! integer {
    ($($name:ident $atomic:ident $number:ident;)*) => {$(
        fn $name<S: MemoryScope>(cell: &$atomic, n: $number, order: Ordering) -> [$number; 12] {
            let it = AtomicRef::<_, S>::new(cell);
            let (load, store) = match order {
                Release => (Relaxed, Release),
                Acquire => (Acquire, Relaxed),
                AcqRel => (Acquire, Release),
                both => (both, both),
            };
            let a = it.fetch_add(n, order);
            let b = it.fetch_sub(3, order);
            let c = it.fetch_and(!(n << 1), order);
            let d = it.fetch_or(n >> 2, order);
            let e = it.fetch_xor(n.rotate_left(7), order);
            let f = it.fetch_min(n, order);
            let g = it.fetch_max(n.swap_bytes(), order);
            let h = it.swap(n.wrapping_mul(5), order);
            it.store(it.load(load).wrapping_add(1), store);
            let now = it.load(load);
            let i = it.compare_exchange(now, n, order, load).unwrap_or(0);
            let j = it.compare_exchange(n.wrapping_add(1), 7, order, load).unwrap_err();
            [a, b, c, d, e, f, g, h, i, j, it.load(load), n]
        }
    )*};
}
integer! {
    of_u32 AtomicU32 u32; of_i32 AtomicI32 i32; of_u64 AtomicU64 u64; of_i64 AtomicI64 i64;
    of_usize AtomicUsize usize; of_isize AtomicIsize isize;
}

macro_rules! integers {
    ($queue:expr, $of:ident $number:ident) => {{
        let mut random = 0x9E37_79B9_7F4A_7C15_u64;
        let numbers: Vec<$number> = std::iter::repeat_with(|| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 17) as $number
        })
        .take(200)
        .collect();
        let from = Buffer::from_slice($queue, &numbers).expect("memory");
        let mut cells = Buffer::from_slice($queue, &numbers).expect("memory");
        let mut out = Buffer::filled($queue, 200, [[0; 12]; 5]).expect("memory");
        let view = cells.atomic_view();
        let steps = |cell: &_, n| {
            [
                $of::<memory_scope::WorkItem>(cell, n, Relaxed),
                $of::<memory_scope::SubGroup>(cell, n, Acquire),
                $of::<memory_scope::WorkGroup>(cell, n, Release),
                $of::<memory_scope::Device>(cell, n, AcqRel),
                $of::<memory_scope::System>(cell, n, SeqCst),
            ]
        };
        $queue
            .for_each_in(200, (&mut out, &from), move |item, (out, from)| {
                *out = steps(&view[item.x()], *from);
            })
            .expect("it runs");
        for (found, n) in out.to_vec().into_iter().zip(&numbers) {
            assert_eq!(found, steps(&(*n).into(), *n), "{n} on {}", $queue.device());
        }
    }};
}

#[test]
fn integers_of_all_scopes_and_orders() {
    on_every_device(|queue| {
        integers!(queue, of_u32 u32);
        integers!(queue, of_i32 i32);
        integers!(queue, of_u64 u64);
        integers!(queue, of_i64 i64);
        integers!(queue, of_usize usize);
        integers!(queue, of_isize isize);
    });
}

/// Many work-items add to few floats: sums that are exact whatever the order.
#[test]
fn sums_of_floats() {
    on_every_device(|queue| {
        let count = 4096;
        let mut sums = Buffer::filled(queue, 8, 0.0_f32).expect("memory");
        let mut large = Buffer::filled(queue, 8, 0.0_f64).expect("memory");
        let (to, wide) = (sums.atomic_view(), large.atomic_view());
        queue
            .parallel_for(count, move |item| {
                let x = item.x();
                to[x % 8].fetch_add((x % 64) as f32 * 0.25, Relaxed);
                to[x % 7].fetch_sub(0.5, Relaxed);
                AtomicRef::<AtomicF64, memory_scope::Device>::new(&wide[x % 8])
                    .fetch_add(x as f64 * 0.125, AcqRel);
            })
            .expect("it runs");
        let (mut of_sums, mut of_large) = ([0.0_f32; 8], [0.0_f64; 8]);
        for x in 0..count {
            of_sums[x % 8] += (x % 64) as f32 * 0.25;
            of_sums[x % 7] -= 0.5;
            of_large[x % 8] += x as f64 * 0.125;
        }
        assert_eq!(sums.to_vec(), of_sums, "{}", queue.device());
        assert_eq!(large.to_vec(), of_large, "{}", queue.device());
    });
}

/// All else that floats can do, in local memory too.
#[test]
fn floats_that_are_exchanged() {
    on_every_device(|queue| {
        let mut out = Buffer::filled(queue, 64, [0.0_f32; 6]).expect("memory");
        let mut cells = Buffer::filled(queue, 64, 1.5_f64).expect("memory");
        let mut wide = Buffer::filled(queue, 64, [0.0_f64; 2]).expect("memory");
        let view = cells.atomic_view();
        let range = NdRange::new(64, 16).expect("even groups");
        queue
            .for_each_in(
                range,
                (local::<f32>(17), (&mut out, &mut wide)),
                move |item, (tile, (out, wide))| {
                    let (x, cell) = (item.local_x(), &tile.as_atomics()[item.local_x()]);
                    cell.store(x as f32 + 0.5, Relaxed);
                    let sum: &AtomicF32 = &tile.as_atomics()[16];
                    if x == 0 {
                        sum.store(0.0, Release);
                    }
                    item.barrier();
                    let all = AtomicRef::<_, memory_scope::WorkGroup>::new(sum);
                    all.fetch_add(cell.load(Acquire), Relaxed);
                    item.barrier();
                    let own = AtomicRef::<_, memory_scope::WorkItem>::new(cell);
                    let swapped = own.swap(-0.0, AcqRel);
                    // Zeros are told apart: bits are compared.
                    let other = own.compare_exchange(0.0, 1.0, SeqCst, Relaxed).unwrap_err();
                    let same = cell.compare_exchange(-0.0, 2.0, AcqRel, Acquire).unwrap_or(9.0);
                    *out = [
                        all.load(Relaxed),
                        swapped,
                        other,
                        same,
                        own.load(SeqCst),
                        all.load(Acquire),
                    ];
                    let far = AtomicRef::<_, memory_scope::System>::new(&view[item.x()]);
                    far.fetch_sub(1.0, Relaxed);
                    *wide = [far.swap(item.x() as f64, SeqCst), far.load(Acquire)];
                },
            )
            .expect("it runs");
        for (x, found) in out.to_vec().into_iter().enumerate() {
            let expected = [128.0, (x % 16) as f32 + 0.5, -0.0, -0.0, 2.0, 128.0];
            assert_eq!(found.map(f32::to_bits), expected.map(f32::to_bits), "{x}");
        }
        for (x, found) in wide.to_vec().into_iter().enumerate() {
            assert_eq!(found, [0.5, x as f64], "{x} on {}", queue.device());
        }
        let plain = AtomicF64::new(2.5);
        assert_eq!((plain.fetch_add(1.0, Relaxed), plain.into_inner()), (2.5, 3.5));
    });
}

/// One work-item writes, and those who see that it has see what: with fences of each scope that
/// reaches them.
#[test]
fn fences_order_what_is_seen() {
    fn case<S: MemoryScope>(queue: &Queue) {
        let groups = 64;
        let mut memory = Buffer::filled(queue, 2 * groups, 0_u32).expect("memory");
        let mut wrong = Buffer::filled(queue, 1, 0_u32).expect("memory");
        let (cells, count) = (memory.atomic_view(), wrong.atomic_view());
        let range = NdRange::new(groups * 64, 64).expect("even groups");
        queue
            .parallel_for(range, move |item| {
                let (data, flag) = (&cells[2 * item.group_x()], &cells[2 * item.group_x() + 1]);
                if item.local_x() == 40 {
                    data.store(7, Relaxed);
                    fence::<S>(Release);
                    flag.store(1, Relaxed);
                } else if flag.load(Relaxed) == 1 {
                    fence::<S>(Acquire);
                    if data.load(Relaxed) != 7 {
                        count[0].fetch_add(1, Relaxed);
                    }
                }
                fence::<S>(SeqCst);
                fence::<S>(AcqRel);
                fence::<S>(Relaxed);
            })
            .expect("it runs");
        assert_eq!(wrong.to_vec(), [0], "on {}", queue.device());
    }
    on_every_device(|queue| {
        case::<memory_scope::WorkGroup>(queue);
        case::<memory_scope::Device>(queue);
        case::<memory_scope::System>(queue);
    });
}

/// An order that an access cannot have is a panic, as everywhere.
#[test]
fn orders_that_there_are_not() {
    on_every_device(|queue| {
        let mut memory = Buffer::filled(queue, 1, 0_u32).expect("memory");
        let cells = memory.atomic_view();
        let result = queue.parallel_for(1, move |item| {
            let cell = AtomicRef::<_, memory_scope::Device>::new(&cells[item.x()]);
            cell.store(cell.load(Release), Relaxed);
        });
        match result {
            Err(LaunchError::Panicked(panic)) => {
                assert!(panic.message.contains("release load"), "{}", panic.message);
            }
            other => panic!("{other:?} on {}", queue.device()),
        }
    });
}
