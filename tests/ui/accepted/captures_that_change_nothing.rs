//! What looks like something that can change, and is not: markers without bytes, views of atomics, constants.

use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, Ordering};

use schism::prelude::*;
use schism::Specialized;

#[derive(Clone, Copy)]
struct Meters<T>(f32, PhantomData<fn() -> T>);

static STEP: SpecConst<u32> = SpecConst::new(1);

fn main() {
    let queue = Queue::new().unwrap();
    let mut counts = Buffer::from_slice(&queue, &[0_u32; 8]).unwrap();
    let view = counts.atomic_view();
    let marker = PhantomData::<AtomicU32>;
    let (length, shift) = (Meters::<AtomicU32>(1.0, PhantomData), Specialized::new(2));
    queue
        .parallel_for(8, move |item| {
            let _: PhantomData<AtomicU32> = marker;
            view[item.x()].fetch_add(STEP.get() + *shift + length.0 as u32, Ordering::Relaxed);
        })
        .unwrap();
}
