//! Kernels in which the compiler would like to copy a call: the branch before it decides the
//! branch behind it.
//!
//! Each case is there twice: with a barrier, and with a call of `other`, which takes no part in any
//! group. Some are there once more with a vote of a sub-group.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use schism::SubGroup;
use schism::prelude::*;

#[inline(never)]
pub fn other(cell: &AtomicU32) {
    cell.fetch_add(1, Relaxed);
}

/// The shape: what is done before the call decides what is done after it.
macro_rules! shape {
    ($cells:ident, $low:expr, $call:expr) => {{
        let kind = if $low {
            $cells[0].fetch_add(3, Relaxed);
            1
        } else {
            2
        };
        $call;
        if kind == 1 {
            $cells[1].fetch_add(5, Relaxed);
        }
    }};
}

#[inline(never)]
fn helper(item: &NdItem<'_, 1>) {
    item.barrier();
}

struct Context<'g> {
    depth: u32,
    item: Option<NdItem<'g, 1>>,
}

impl Context<'_> {
    #[inline(never)]
    fn step(&self) {
        if let Some(item) = &self.item
            && self.depth > 0
        {
            item.barrier();
        }
    }
}

#[inline(never)]
fn generic<F: Fn()>(cells: &[AtomicU32], low: bool, call: F) {
    shape!(cells, low, call());
}

#[inline(never)]
fn object(cells: &[AtomicU32], low: bool, call: &dyn Fn()) {
    shape!(cells, low, call());
}

#[inline(never)]
fn vote(sub_group: &SubGroup<'_>) -> bool {
    sub_group.all(false)
}

#[inline(never)]
fn given<F: Fn() -> bool>(cells: &[AtomicU32], low: bool, call: F) {
    shape!(cells, low, drop(call()));
}

fn range() -> NdRange<1> {
    NdRange::new(64, 16).expect("even groups")
}

/// The barriers in the source: 6.
pub fn barriers(queue: &Queue, buffer: &mut Buffer<u32>) -> Result<(), LaunchError> {
    let cells = buffer.atomic_view();
    queue.parallel_for(range(), move |item| {
        shape!(cells, item.local_x() < 8, item.barrier());
    })?;
    queue.parallel_for(range(), move |item| {
        shape!(cells, item.local_x() < 8, helper(&item));
    })?;
    queue.parallel_for(range(), move |item| {
        let context = Context { depth: 1, item: Some(item) };
        shape!(cells, item.local_x() < 8, context.step());
    })?;
    queue.parallel_for(range(), move |item| {
        generic(&cells, item.local_x() < 8, || item.barrier());
    })?;
    queue.parallel_for(range(), move |item| {
        object(&cells, item.local_x() < 8, &|| item.barrier());
    })?;
    // In a loop, behind a condition that every work-item knows.
    queue.parallel_for(range(), move |item| {
        for round in 0..item.group_range()[0] {
            let even = round % 2 == 0;
            shape!(cells, item.local_x() == 3, if even { item.barrier() });
        }
    })
}

/// The votes in the source: 4.
pub fn votes(queue: &Queue, buffer: &mut Buffer<u32>) -> Result<(), LaunchError> {
    let cells = buffer.atomic_view();
    queue.parallel_for(range(), move |item| {
        shape!(cells, item.local_x() < 8, drop(item.sub_group().any(true)));
    })?;
    queue.parallel_for(range(), move |item| {
        let sub_group = item.sub_group();
        shape!(cells, sub_group.local_id() < 8, drop(vote(&sub_group)));
    })?;
    queue.parallel_for(range(), move |item| {
        let sub_group = item.sub_group();
        given(&cells, item.local_x() < 8, move || sub_group.any(false));
    })?;
    queue.parallel_for(range(), move |item| {
        for round in 0..item.sub_group().group_range() {
            let first = round == 0;
            shape!(cells, item.local_x() == 3, if first { drop(item.sub_group().ballot(true)) });
        }
    })
}

/// The same shape with a call that may be copied: 1.
pub fn others(queue: &Queue, buffer: &mut Buffer<u32>) -> Result<(), LaunchError> {
    let cells = buffer.atomic_view();
    queue.parallel_for(range(), move |item| {
        let cell = &cells[2];
        shape!(cells, item.local_x() < 8, other(cell));
    })
}

fn main() {
    let queue = Queue::new().expect("a device");
    let mut buffer = Buffer::filled(&queue, 4, 0_u32).expect("memory");
    barriers(&queue, &mut buffer).expect("they run");
    votes(&queue, &mut buffer).expect("they run");
    others(&queue, &mut buffer).expect("it runs");
    let taken = 5 * 32 + 16 + 3 * 32 + 4 + 32;
    assert_eq!(buffer.to_vec(), [3 * taken, 5 * taken, 64, 0]);
    println!("{}", queue.device());
}
