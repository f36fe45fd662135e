//! What kernels capture arrives as it is: see [`schism_tests::captures`].
//!
//! `SCHISM_TEST_FULL=1` adds some thousand random kernels. The test prints their seed, and
//! `SCHISM_TEST_SEED` sets it.

use std::sync::OnceLock;

use schism_tests::captures::{self, Program};
use schism_tests::lab::Lab;

/// Of the kernels that are the same each time.
const SEED: u64 = 11;
const KERNELS: usize = 48;

fn program() -> Option<&'static Program> {
    static PROGRAM: OnceLock<Option<Program>> = OnceLock::new();
    let compile =
        || Some(captures::compile(Lab::open(env!("CARGO_TARGET_TMPDIR"))?, SEED, 0..KERNELS));
    PROGRAM.get_or_init(compile).as_ref()
}

/// Runs some of `known.rs`.
fn arrive(names: &[&str]) {
    let Some(program) = program() else { return };
    let (wrong, ran) = program.run(names);
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(ran, names.len());
}

#[test]
fn generated_captures_are_the_same_every_time() {
    for number in 0..20 {
        assert_eq!(captures::kernel(7, number), captures::kernel(7, number));
    }
    assert_ne!(captures::kernel(7, 1), captures::kernel(8, 1));
}

#[test]
fn a_view_at_an_odd_offset_of_an_enum_is_translated() {
    arrive(&["at_an_odd_offset", "at_odd_offsets_in_an_array"]);
}

/// A GPU's by the device `cpu`, another GPU's by a GPU.
#[test]
fn a_view_of_another_device_in_an_enum_is_refused() {
    arrive(&["in_an_option", "in_an_enum_with_a_tag"]);
}

#[test]
fn a_number_that_looks_like_an_address_is_not_rewritten() {
    arrive(&["a_number_in_an_option", "numbers_in_a_long_array"]);
    arrive(&["a_number_beside_a_view", "a_number_in_place_of_a_view"]);
}

#[test]
fn a_number_that_is_an_address_to_the_compiler_is_not_translated() {
    arrive(&["an_address_or_a_number", "a_number_or_an_address"]);
}

#[test]
fn what_is_not_in_a_union_is_not_looked_at() {
    arrive(&["nothing_in_a_union", "something_in_a_union"]);
}

#[test]
fn specialized_captures_with_addresses_are_not_built_in() {
    arrive(&["specialized_views", "a_specialized_option"]);
}

#[test]
fn every_kind_of_tag_says_where_addresses_are() {
    arrive(&["a_wide_niche", "discriminants", "a_niche_of_tags"]);
}

#[test]
fn random_captures_arrive() {
    let Some(program) = program() else { return };
    let (wrong, ran) = program.run(&[]);
    assert!(wrong.is_empty(), "seed {SEED}: {wrong:#?}");
    assert!(ran > KERNELS, "{ran} kernels");
}

#[test]
fn many_random_captures_arrive() {
    let asked = std::env::var("SCHISM_TEST_SEED").ok();
    if asked.is_none() && std::env::var("SCHISM_TEST_FULL").is_err() {
        println!("skipped: SCHISM_TEST_FULL=1 runs it");
        return;
    }
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let now = || std::time::UNIX_EPOCH.elapsed().map_or(1, |now| now.as_secs());
    let first = asked.map_or_else(now, |seed| seed.parse().expect("a number"));
    let programs = if std::env::var("SCHISM_TEST_FULL").is_ok() { 20 } else { 1 };
    for seed in first..first + programs {
        println!("SCHISM_TEST_SEED={seed}");
        let (wrong, _) = captures::compile(lab, seed, 0..100).run(&[]);
        assert!(wrong.is_empty(), "SCHISM_TEST_SEED={seed}: {wrong:#?}");
    }
}
