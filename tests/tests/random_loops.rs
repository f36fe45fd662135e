//! Random loops with checks, before and after the passes that move checks: the same results, and
//! the same panics at the same time. And random work-items in lanes, and random private arrays in registers.

use schism_tests::{random_elements, random_gathers, random_lanes, random_loops, random_states};

#[test]
fn loops_do_after_the_passes_what_they_did_before() {
    let mut decided = 0;
    for seed in 0..80 {
        match random_loops::check(seed) {
            Ok(early) => decided += usize::from(early),
            Err(failure) => panic!("{failure}"),
        }
    }
    // Otherwise nothing was tested.
    assert!(decided >= 30, "{decided} of 80");
}

#[test]
fn loops_with_loaded_indices_do_the_same_several_turns_at_once() {
    let mut made = 0;
    for seed in 0..80 {
        match random_gathers::check(seed) {
            Ok(chunks) => made += usize::from(chunks),
            Err(failure) => panic!("{failure}"),
        }
    }
    // Otherwise nothing was tested.
    assert!(made >= 60, "{made} of 80");
}

#[test]
fn private_arrays_hold_in_registers_what_they_do_in_memory() {
    let count = std::env::var("SCHISM_TEST_ELEMENTS").ok().and_then(|count| count.parse().ok());
    let (mut kept, count) = (0, count.unwrap_or(300));
    for seed in 0..count {
        match random_elements::check(seed) {
            Ok(is_kept) => kept += usize::from(is_kept),
            Err(failure) => panic!("{failure}"),
        }
    }
    println!("{kept} of {count} in registers");
    // Otherwise nothing was tested.
    assert!(4 * kept >= count as usize, "{kept} of {count}");
}

#[test]
fn state_machines_do_the_same_with_their_jumps_threaded() {
    let count = std::env::var("SCHISM_TEST_STATES").ok().and_then(|count| count.parse().ok());
    let (mut threaded, count) = (0, count.unwrap_or(600));
    for seed in 0..count {
        match random_states::check(seed) {
            Ok(is_threaded) => threaded += usize::from(is_threaded),
            Err(failure) => panic!("{failure}"),
        }
    }
    println!("{threaded} of {count} threaded");
    // Otherwise nothing was tested.
    assert!(40 * threaded >= count as usize, "{threaded} of {count}");
}

#[test]
fn work_items_do_in_lanes_what_they_do_alone() {
    in_lanes(false, 2);
}

#[test]
fn items_of_a_row_do_in_lanes_what_they_do_alone() {
    in_lanes(true, 4);
}

/// Tries random work-items, with rows of items or without, of which one in so many is to be
/// vectorised at least.
fn in_lanes(rows: bool, least: usize) {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let (count, first) = (number("SCHISM_TEST_LANES").unwrap_or(120), number("SCHISM_TEST_SEED"));
    let first: u64 = first.unwrap_or(0);
    let mut made = 0;
    for seed in first..first + count {
        match random_lanes::check(seed, rows) {
            Ok(vectors) => made += usize::from(vectors),
            Err(failure) => panic!("{failure}"),
        }
    }
    println!("{made} of {count} in lanes");
    // Otherwise nothing was tested.
    assert!(made * least >= count as usize, "{made} of {count}");
}
