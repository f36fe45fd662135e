//! What is the program's is the same in parallel iterators: statics, functions, constants, types,
//! threads. Each line is the same in all rounds of a run, and in all runs. It knows nothing of
//! schism.
//!
//! `identity [MILLISECONDS] [TEXT]`: each check is repeated for so long; only checks with the text.

mod dependency;
mod statics;
mod threads;
mod values;

use std::time::{Duration, Instant};

/// A name and what is found, for so many items.
pub type Check = (&'static str, fn(usize) -> String);

/// Of the pipelines; neither short nor a multiple of anything.
const ITEMS: usize = 10_007;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let time = arguments.next().map_or(30, |time| time.parse().expect("milliseconds"));
    let chosen = arguments.next().unwrap_or_default();
    let parts = [statics::CHECKS, values::CHECKS, dependency::CHECKS, threads::CHECKS];
    let mut changed = false;
    for (name, check) in parts.into_iter().flatten() {
        if !name.contains(&*chosen) {
            continue;
        }
        let begin = Instant::now();
        let first = check(ITEMS);
        println!("{name}: {first}");
        let mut rounds = 1;
        while rounds < 8 || begin.elapsed() < Duration::from_millis(time) {
            // One item, few, and all.
            check([1, 77, ITEMS][rounds % 3]);
            let found = check(ITEMS);
            if found != first {
                changed = true;
                println!("{name} in round {rounds}: {found}");
                break;
            }
            rounds += 1;
        }
    }
    values::kept_constants();
    println!(
        "{}",
        if changed { "results changed from round to round" } else { "no result changed" }
    );
    std::process::exit(i32::from(changed));
}
