//! Random nests of loops by directives, on every device, against the same loops without: see
//! [`schism_tests::random_nests`]. `SCHISM_TEST_FULL=1` runs ten times as many;
//! `SCHISM_TEST_NESTS=FIRST..END` chooses, and `SCHISM_TEST_SEED`.

use std::process::Command;

use schism_tests::devices::with_copies;
use schism_tests::lab::{Lab, batches, clean_command, full, seed, text};
use schism_tests::random_nests::{program, source};

const SEED: u64 = 11;
/// Nests of a program.
const BATCH: usize = 150;

#[test]
fn nests_are_the_same_every_time() {
    for number in 0..20 {
        assert_eq!(source(SEED, number), source(SEED, number));
    }
    assert_ne!(source(SEED, 0), source(SEED + 1, 0));
}

#[test]
fn nests_are_plain_loops() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let seed = seed(SEED);
    let count = if full() { 3000 } else { 150 };
    let folder = lab.folder("random-nests");
    let manifest = "[package]\nname = \"random-nests\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
        [dependencies]\n@RUNTIME@\n\n[workspace]\n";
    let devices: Vec<String> =
        with_copies().iter().map(|device| device.name().to_owned()).collect();
    let (mut runs, mut refused) = (0, 0);
    for batch in batches("SCHISM_TEST_NESTS", count, BATCH) {
        let main = program(seed, batch.clone());
        lab.project(&folder, &[("Cargo.toml", manifest), ("src/main.rs", &main)]);
        text(lab.cargo_with_runtime(&folder).args(["build", "--quiet", "--offline"]));
        let mut run: Command = clean_command(lab.target().join("debug/random-nests"));
        lab.keep_kernels(&mut run);
        let output = text(run.args(&devices));
        let last = output.lines().last().unwrap_or_default();
        let counts: Vec<usize> = last.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [own, own_refused, wrong] = counts[..] else { panic!("{output}") };
        assert_eq!(wrong, 0, "nests {batch:?}:\n{output}");
        assert_eq!(own, batch.len() * devices.len() * 3);
        runs += own;
        refused += own_refused;
    }
    println!("{runs} runs on {}, {refused} refused", devices.join(", "));
    // Wrong strides are few.
    assert!(refused < runs / 5, "{refused} of {runs} refused");
}
