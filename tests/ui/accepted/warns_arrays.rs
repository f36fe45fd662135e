//! Large arrays are private to a work-item: in a function that a kernel calls, and in a closure.

use schism::prelude::*;

#[inline(never)]
fn most_frequent(values: &[u16]) -> u16 {
    let mut counts = [0_u32; 1 << 16];
    for &value in values {
        counts[value as usize] += 1;
    }
    let mut best = 0;
    for value in 0..=u16::MAX {
        if counts[value as usize] > counts[best as usize] {
            best = value;
        }
    }
    best
}

#[inline(never)]
fn as_much_as_is_fine(start: usize) -> u8 {
    let mut seen = [0_u8; 8192];
    let mut at = start;
    while seen[at % 8192] == 0 {
        seen[at % 8192] = 1;
        at = at * 7 + 1;
    }
    (at % 256) as u8
}

fn main() {
    let queue = Queue::new().unwrap();
    let values = Buffer::from_slice(&queue, &[7_u16; 800]).unwrap();
    let mut out = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let mut sieved = Buffer::from_slice(&queue, &[0_u64; 8]).unwrap();
    let (from, to) = (values.view(), out.view_mut());
    queue
        .parallel_for(8, move |item| {
            let mine = &from[item.x() * 100..][..100];
            let value = most_frequent(mine);
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), u64::from(value)) }
        })
        .unwrap();
    let to = sieved.view_mut();
    queue
        .parallel_for(8, move |item| {
            let mut sieve = [true; 40_000];
            let step = item.x() + 2;
            for place in (0..sieve.len()).step_by(step) {
                sieve[place] = false;
            }
            let left = sieve.iter().filter(|&&kept| kept).count();
            let left = left + as_much_as_is_fine(left) as usize;
            // SAFETY: in range, its own element.
            unsafe { to.set_unchecked(item.x(), left as u64) }
        })
        .unwrap();
}
