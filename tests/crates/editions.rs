//! Directives in whatever edition this is compiled for: it prints the same in each, with every compiler and
//! on every device.

#![allow(static_mut_refs, clippy::needless_range_loop)]
#![allow(clippy::manual_memcpy, clippy::assign_op_pattern)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use schism::directives::{acc, offload};

/// Closures have whole variables before 2021, and fields of them since.
struct Plate {
    now: Vec<f32>,
    next: Vec<f32>,
    size: (usize, usize),
    name: String,
    limits: Limits,
}

struct Limits {
    least: f32,
    most: [f32; 2],
}

impl Plate {
    #[acc]
    fn step(&mut self) {
        let name = &mut self.name;
        name.push('+');
        #[acc(parallel, loop, collapse(2), copyin(self.now), copy(self.next))]
        for y in 1..self.size.0 - 1 {
            for x in 1..self.size.1 - 1 {
                let at = y * self.size.1 + x;
                let sum = self.now[at - 1] + self.now[at + 1];
                self.next[at] = (0.5 * sum).max(self.limits.least).min(self.limits.most[1]);
            }
        }
        name.push('-');
        std::mem::swap(&mut self.now, &mut self.next);
    }

    #[acc]
    fn largest(&self) -> f32 {
        let mut largest = self.limits.least;
        #[acc(parallel, loop, reduction(max: largest))]
        for i in 0..self.now.len() {
            largest = largest.max(self.now[i]);
        }
        largest
    }
}

/// Words that are reserved in some editions only.
#[acc]
fn words(r#gen: &mut [u32], r#try: &[u32], r#async: u32) {
    #[acc(parallel, loop)]
    for r#dyn in 0..r#gen.len() {
        let r#await = r#try[r#dyn] + r#async;
        r#gen[r#dyn] = r#await * 2;
    }
}

/// What `into_iter` of an array gives differs, and what it gives to a loop does not.
#[acc]
fn arrays(table: [i64; 6]) -> i64 {
    let mut squares = [0; 6];
    #[acc(parallel, loop)]
    for (square, own) in squares.iter_mut().zip(&table) {
        let mut weighted = 0;
        for weight in IntoIterator::into_iter([1, 2, 3]) {
            weighted += weight * own;
        }
        for part in [own, square].iter() {
            weighted += **part;
        }
        *square = weighted;
    }
    let mut sum = 0;
    #[acc(kernels, loop, reduction(+: sum))]
    for i in 0..table.len() {
        sum += squares[i] * table[i];
    }
    sum
}

/// A function whose body needs no blocks for what is unsafe before 2024, where that is a warning.
#[allow(unsafe_op_in_unsafe_fn)]
unsafe fn scattered(to: &mut [u32], places: &[usize]) {
    #[acc]
    unsafe fn launch(to: &mut [u32], places: &[usize]) {
        #[acc(parallel, loop, unsafe(independent))]
        for i in 0..places.len() {
            to[places[i]] = *places.get_unchecked(i) as u32;
        }
    }
    launch(to, places);
}

static mut SCALES: [u32; 4] = [1, 10, 100, 1000];
static TOTAL: Mutex<u64> = Mutex::new(0);

#[acc]
fn statics(numbers: &mut [u32]) {
    // SAFETY: nothing writes it.
    let scales: &[u32] = unsafe { &SCALES };
    #[acc(parallel, loop)]
    for i in 0..numbers.len() {
        numbers[i] *= scales[i % scales.len()];
    }
}

/// Temporaries of a tail expression live longer before 2024, and so do those of `if let`.
#[acc]
fn tails(numbers: &mut [u64], limit: Option<u64>) -> u64 {
    let part = |numbers: &[u64]| -> u64 { numbers.iter().sum() };
    if let Some(limit) = limit.filter(|limit| *limit > *TOTAL.lock().unwrap()) {
        #[acc(parallel, loop)]
        for number in numbers.iter_mut() {
            *number = if let Some(rest) = number.checked_sub(limit) { rest } else { limit };
        }
    } else {
        *TOTAL.lock().unwrap() += 1;
    }
    let cell = std::cell::RefCell::new(numbers);
    #[acc]
    fn shifted(numbers: &mut [u64]) {
        #[acc(parallel, loop)]
        for i in 0..numbers.len() {
            numbers[i] <<= 1;
        }
    }
    shifted(&mut cell.borrow_mut());
    let sum = part(&cell.borrow());
    *TOTAL.lock().unwrap() += sum;
    sum
}

#[acc]
fn last(numbers: &mut Vec<u8>) {
    #[acc(parallel, loop)]
    for number in numbers.iter_mut() {
        *number = number.wrapping_mul(7);
    }
}

/// A panic with one argument is a text before 2021, and is formatted since.
#[acc]
fn panics(numbers: &mut [u32], which: u32) {
    #[acc(parallel, loop)]
    for i in 0..numbers.len() {
        match which {
            0 => assert!(numbers[i] < 5, "a number is too large"),
            1 => assert_eq!(numbers[i] % 2, 0, "number {} is odd", numbers[i]),
            2 if numbers[i] == 7 => panic!("it is seven"),
            3 if numbers[i] == 8 => unreachable!("it is {}", "eight"),
            _ => {}
        }
        numbers[i] += 1;
    }
}

#[offload]
fn offloaded(numbers: &mut [i32], addend: i32) {
    #[offload(target(gpu), optional, inout(numbers))]
    for number in numbers.iter_mut() {
        *number += addend;
    }
}

fn main() {
    let mut plate = Plate {
        now: (0..96).map(|i| (i * i % 13) as f32).collect(),
        next: vec![0.0; 96],
        size: (8, 12),
        name: String::new(),
        limits: Limits { least: 0.25, most: [0.0, 9.5] },
    };
    for _ in 0..5 {
        plate.step();
    }
    println!("{} {:?} {}", plate.name, &plate.now[..40], plate.largest());

    let mut numbers = [0; 7];
    words(&mut numbers, &[5, 4, 3, 2, 1, 0, 9], 3);
    println!("{:?} {}", numbers, arrays([1, -2, 3, -4, 5, -6]));

    let mut scattered_numbers = [9; 8];
    // SAFETY: no index is there twice.
    unsafe { scattered(&mut scattered_numbers, &[3, 1, 4, 7, 5]) };
    statics(&mut numbers);
    println!("{:?} {:?}", scattered_numbers, numbers);

    let mut wide = [3, 9, 27, 81];
    println!("{} {} {:?}", tails(&mut wide, Some(10)), tails(&mut wide, None), wide);
    let mut bytes = vec![1, 2, 250];
    last(&mut bytes);
    println!("{:?} {}", bytes, TOTAL.lock().unwrap());

    std::panic::set_hook(Box::new(|_| {}));
    for which in 0..5 {
        let mut numbers: Vec<u32> = vec![8; 1];
        if which == 1 || which == 2 {
            numbers[0] = 7;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| panics(&mut numbers, which)));
        let text = outcome.map_err(|payload| payload.downcast_ref::<String>().cloned());
        let text = text.map_err(|text| text.map(|text| message(&text).to_owned()));
        println!("{which}: {text:?}", which = which, text = text);
    }
    let mut signed = [-1, 0, 1];
    offloaded(&mut signed, -5);
    println!("{:?}", signed);
}

/// What the program says of its panic. Which device it was on, and where, is said around it.
fn message(text: &str) -> &str {
    let known = ["a number is too large", "number 7 is odd", "it is seven", "it is eight"];
    known.iter().copied().find(|own| text.contains(own)).unwrap_or(text)
}
