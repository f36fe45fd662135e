//! Random loops with checks, before and after the passes that move checks: the same results, and the same panics at the same time.

use schism_tests::random_loops;

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
