//! Atomics: of every width, with every operation and ordering.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16,
    AtomicU32, AtomicU64, AtomicUsize, compiler_fence, fence,
};

use schism::prelude::*;
use schism::{AtomicF32, AtomicF64, AtomicRef, Device, memory_scope};

use super::{Case, agrees, case};

pub const CASES: &[Case] = &[
    case("`AtomicU8`, `AtomicI8`", eight),
    case("`AtomicU16`, `AtomicI16`", sixteen),
    case("`AtomicU32`, `AtomicI32`", thirty_two),
    case("`AtomicU64`, `AtomicI64`", sixty_four),
    case("`AtomicUsize`, `AtomicIsize`", size),
    case("`AtomicBool`", of_bool),
    case("`fence`, `compiler_fence`", fences),
    case("`fetch_update`, loops around `compare_exchange_weak`", updates),
    case("`schism::AtomicF32`, `AtomicF64`", of_floats),
    case("`schism::AtomicRef` of every scope, `schism::fence`", scopes),
    case("histograms: work-items that share a view", shared),
];

macro_rules! operations {
    ($name:ident $atomic:ident $type:ident $signed:ident $signed_type:ident) => {
        fn $name() {
            agrees(|mut input| {
                let x = $atomic::new(input.bits() as $type);
                let mut bits = || input.bits() as $type;
                let results = [
                    x.load(Relaxed),
                    x.swap(bits(), AcqRel),
                    x.fetch_add(bits(), SeqCst),
                    x.fetch_sub(bits(), Relaxed),
                    x.fetch_and(bits(), Acquire),
                    x.fetch_nand(bits(), Release),
                    x.fetch_or(bits(), AcqRel),
                    x.fetch_xor(bits(), SeqCst),
                    x.fetch_max(bits(), Relaxed),
                    x.fetch_min(bits(), AcqRel),
                    x.load(Acquire),
                ];
                let current = x.load(SeqCst);
                let kept = x.compare_exchange(current, 5, AcqRel, Acquire).is_ok();
                let refused = x.compare_exchange(6, 7, SeqCst, Relaxed);
                x.store(bits(), Release);
                let signed = $signed::new(bits() as $signed_type);
                let order = (signed.fetch_max(0, SeqCst), signed.fetch_min(-3, Relaxed));
                (
                    results,
                    kept,
                    refused.unwrap_or_else(|x| x),
                    x.into_inner(),
                    order,
                    signed.load(SeqCst),
                )
            });
        }
    };
}
operations!(eight AtomicU8 u8 AtomicI8 i8);
operations!(sixteen AtomicU16 u16 AtomicI16 i16);
operations!(thirty_two AtomicU32 u32 AtomicI32 i32);
operations!(sixty_four AtomicU64 u64 AtomicI64 i64);
operations!(size AtomicUsize usize AtomicIsize isize);

fn of_bool() {
    agrees(|mut input| {
        let x = AtomicBool::new(input.bits() % 2 == 0);
        let mut bit = || input.bits() % 2 == 0;
        (
            x.swap(bit(), SeqCst),
            x.fetch_and(bit(), AcqRel),
            x.fetch_or(bit(), Relaxed),
            x.fetch_xor(bit(), Acquire),
            x.fetch_nand(bit(), Release),
            x.fetch_not(SeqCst),
            x.load(SeqCst),
        )
    });
}

fn fences() {
    agrees(|mut input| {
        let x = AtomicU32::new(0);
        x.store(input.bits() as u32, Relaxed);
        fence(Release);
        compiler_fence(SeqCst);
        fence(Acquire);
        fence(AcqRel);
        fence(SeqCst);
        x.load(Relaxed)
    });
}

fn updates() {
    agrees(|mut input| {
        let x = AtomicU64::new(input.bits());
        let before = x.fetch_update(SeqCst, Relaxed, |x| x.checked_add(1 << 62));
        let mut current = x.load(Relaxed);
        while let Err(other) = x.compare_exchange_weak(current, current / 3, AcqRel, Acquire) {
            current = other;
        }
        (before.is_ok(), before.unwrap_or(7), x.into_inner())
    });
}

fn shared() {
    for device in Device::all() {
        let queue = Queue::on(&device).expect("a device that is listed");
        let mut bins = Buffer::filled(&queue, 16, 0_u32).expect("memory");
        let mut most = Buffer::filled(&queue, 1, 0_u64).expect("memory");
        let (counts, most_view) = (bins.atomic_view(), most.atomic_view());
        queue
            .parallel_for(100_003, move |item| {
                let x = (item.x() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                counts[(x >> 60) as usize].fetch_add(1, Relaxed);
                most_view[0].fetch_max(x, Relaxed);
            })
            .expect("no panic");
        let (mut expected, mut largest) = ([0_u32; 16], 0);
        for i in 0..100_003_u64 {
            let x = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            expected[(x >> 60) as usize] += 1;
            largest = largest.max(x);
        }
        assert_eq!(bins.to_vec(), expected, "on {device}");
        assert_eq!(most.to_vec(), [largest], "on {device}");
    }
}

fn of_floats() {
    agrees(|mut input| {
        let number = |bits: u64| (bits % 100_000) as f64 * 0.125;
        let x = AtomicF32::new(number(input.bits()) as f32);
        let y = AtomicF64::new(number(input.bits()));
        let all = [
            x.fetch_add(number(input.bits()) as f32, Relaxed),
            x.fetch_sub(0.5, AcqRel),
            x.swap(3.0, SeqCst),
            x.compare_exchange(3.0, 4.0, Relaxed, Relaxed).unwrap_or(0.0),
            x.load(Acquire),
        ];
        let wide = [
            y.fetch_add(number(input.bits()), Relaxed),
            y.fetch_sub(0.5, AcqRel),
            y.compare_exchange(3.0, 4.0, Relaxed, Relaxed).unwrap_or_else(|found| -found),
            y.load(SeqCst),
        ];
        (all.map(f32::to_bits), wide.map(f64::to_bits))
    });
}

fn scopes() {
    agrees(|mut input| {
        let x = AtomicU64::new(input.bits());
        let own = AtomicRef::<_, memory_scope::WorkItem>::new(&x);
        let group = AtomicRef::<_, memory_scope::WorkGroup>::new(&x);
        let system = AtomicRef::<_, memory_scope::System>::new(&x);
        let a = own.fetch_add(input.bits(), Relaxed);
        schism::fence::<memory_scope::WorkItem>(SeqCst);
        let b = group.fetch_max(input.bits(), AcqRel);
        schism::fence::<memory_scope::WorkGroup>(AcqRel);
        let c = system.fetch_xor(input.bits(), SeqCst);
        schism::fence::<memory_scope::Device>(Release);
        (a, b, c, own.load(Acquire))
    });
}
