//! A fixed set of random kernels: see [`schism_tests::fuzz`]. For a longer search run the program
//! `schism-fuzz`.

use schism_tests::fuzz::{self, BATCH, Options};
use schism_tests::lab::Lab;

#[test]
fn generated_kernels_are_the_same_every_time() {
    for kernel in 0..20 {
        assert_eq!(fuzz::source(7, kernel), fuzz::source(7, kernel));
    }
    assert_ne!(fuzz::source(7, 0), fuzz::source(8, 0));
    assert_ne!(fuzz::source(7, 0), fuzz::source(7, 1).replace("mod k1", "mod k0"));
}

#[test]
fn devices_agree_with_the_host() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    // More of them: another number of kernels, a part of a program each time.
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let options = Options {
        seed: number("SCHISM_TEST_SEED").unwrap_or(20),
        // A part of a program without optimisation, a part of one with.
        first: BATCH - 35,
        count: number("SCHISM_TEST_KERNELS").unwrap_or(60),
        levels: vec!["0".to_owned(), "2".to_owned()],
        cpu_settings: true,
        jobs: 2,
        keep: None,
        pack: None,
        reduce: false,
        verbose: false,
    };
    let report = fuzz::run(lab, &options, &|finding| println!("{finding}")).expect("room to work");
    assert!(report.findings.is_empty(), "{} findings, see above", report.findings.len());
    assert_eq!(report.kernels, options.count);
    // Neither all of them panic nor none.
    assert!((1..options.count / 2).contains(&report.panicking), "{} panic", report.panicking);
}
