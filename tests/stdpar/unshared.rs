//! Sorts of elements that one thread at a time may look at, in an ordinary program with rayon. All of
//! them stay with rayon.

use std::cell::{Cell, RefCell};
use std::cmp::Ordering;

use rayon::prelude::*;

const LENGTH: usize = 30_000;

fn numbers() -> Vec<u64> {
    let mut state = 88_172_645_463_325_252_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    std::iter::repeat_with(next).take(LENGTH).collect()
}

/// May go to other threads, and says so.
#[derive(Clone, Copy)]
struct Handle(*mut u64);

// SAFETY: each is the only one to its number.
unsafe impl Send for Handle {}

/// Of another crate's, say.
struct Owner<'a> {
    cell: &'a mut RefCell<u64>,
    place: u32,
}

/// The numbers, compared as if they had to be changed for that, which fails if another thread has one
/// just then.
fn borrowed(a: &RefCell<u64>, b: &RefCell<u64>) -> Ordering {
    let (Ok(a), Ok(b)) = (a.try_borrow_mut(), b.try_borrow_mut()) else {
        panic!("another thread has it");
    };
    a.cmp(&b)
}

fn main() {
    let random = numbers();
    let mut expected = random.clone();
    expected.sort();

    let mut cells: Vec<RefCell<u64>> = random.iter().copied().map(RefCell::new).collect();
    let mut sorted: Vec<&mut RefCell<u64>> = cells.iter_mut().collect();
    sorted.par_sort_by(|a, b| borrowed(a, b));
    println!("by comparison {}", sorted.iter().map(|cell| *cell.borrow()).eq(expected.clone()));
    sorted.par_sort_unstable_by(|a, b| borrowed(b, a));
    println!("downwards {}", sorted.iter().rev().map(|cell| *cell.borrow()).eq(expected.clone()));

    let mut cells: Vec<Cell<u64>> = random.iter().copied().map(Cell::new).collect();
    let mut sorted: Vec<&mut Cell<u64>> = cells.iter_mut().collect();
    sorted.par_sort_by_key(|cell| cell.replace(cell.get()));
    println!("by key {}", sorted.iter().map(|cell| cell.get()).eq(expected.clone()));
    sorted.par_sort_unstable_by_key(|cell| !cell.replace(cell.get()));
    println!("unstable by key {}", sorted.iter().rev().map(|cell| cell.get()).eq(expected.clone()));
    sorted.par_sort();
    println!("by themselves {}", sorted.iter().map(|cell| cell.get()).eq(expected.clone()));

    let mut cells: Vec<RefCell<u64>> = random.iter().copied().map(RefCell::new).collect();
    let mut owners: Vec<Owner<'_>> = cells
        .iter_mut()
        .enumerate()
        .map(|(place, cell)| Owner { cell, place: place as u32 })
        .collect();
    owners.par_sort_by(|a, b| borrowed(a.cell, b.cell).then(a.place.cmp(&b.place)));
    println!("within {}", owners.iter().map(|owner| *owner.cell.borrow()).eq(expected.clone()));

    let mut own = random.clone();
    let mut handles: Vec<Handle> = own.iter_mut().map(|number| Handle(number)).collect();
    handles.par_sort_by(|a, b| {
        // SAFETY: this thread alone has them.
        unsafe { (*a.0).cmp(&*b.0) }
    });
    // SAFETY: the numbers are there.
    println!("handles {}", handles.iter().map(|handle| unsafe { *handle.0 }).eq(expected.clone()));

    let mut keys: Vec<Cell<u64>> = random.iter().copied().map(Cell::new).collect();
    let mut keys: Vec<Option<&mut Cell<u64>>> = keys.iter_mut().map(Some).collect();
    keys.par_sort_by(|a, b| {
        let number = |key: &Option<&mut Cell<u64>>| key.as_ref().map(|key| key.replace(key.get()));
        number(a).cmp(&number(b))
    });
    let found = keys.iter().flatten().map(|key| key.get());
    println!("options {}", found.eq(expected));
}
