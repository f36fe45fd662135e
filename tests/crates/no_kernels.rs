//! Code of many kinds, and no kernel.

use std::collections::HashMap;
use std::fmt::Display;

pub static NAMES: [&str; 3] = ["a", "b", "c"];

thread_local! {
    static COUNT: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

pub struct Guard<'a>(&'a str);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        COUNT.with(|count| count.set(count.get() + self.0.len() as u32));
    }
}

pub trait Area {
    fn area(&self) -> f64;
}

impl Area for (f64, f64) {
    fn area(&self) -> f64 {
        self.0 * self.1
    }
}

pub fn total(shapes: &[Box<dyn Area>]) -> f64 {
    shapes.iter().map(|shape| shape.area()).sum()
}

pub fn largest<T: PartialOrd + Copy + Display>(values: &[T]) -> Option<T> {
    let mut largest = *values.first()?;
    for &value in values {
        if value > largest {
            largest = value;
        }
    }
    Some(largest)
}

#[inline]
pub fn inlined(x: u64) -> u64 {
    x.checked_mul(3).expect("no overflow")
}

#[unsafe(no_mangle)]
pub extern "C" fn exported(x: i32) -> i32 {
    std::panic::catch_unwind(|| 100 / x).unwrap_or(-1)
}

pub fn words(text: &str) -> HashMap<&str, usize> {
    let _guard = Guard(text);
    let mut words = HashMap::new();
    for word in text.split_whitespace() {
        *words.entry(word).or_insert(0) += 1;
    }
    words
}

pub async fn later(x: u32) -> u32 {
    inlined(x.into()) as u32
}

#[allow(dead_code)]
fn main() {
    let mut words: Vec<_> = words("a b a c").into_iter().collect();
    words.sort();
    println!("{words:?} {:?} {}", largest(&[1.5, 2.5]), exported(3));
    println!("{}", total(&[Box::new((2.0, 3.0))]));
    println!("{}", NAMES[COUNT.with(std::cell::Cell::get) as usize % 3]);
}
