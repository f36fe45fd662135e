//! Random pipelines of rayon that allocate, against plain rustc: see [`schism_tests::random_heaps`]. They run on each
//! device that has a heap for kernels. `SCHISM_TEST_FULL=1` runs 500; `SCHISM_TEST_PIPELINES=FIRST..END`
//! chooses, and `SCHISM_TEST_SEED`.

use schism_tests::lab::{Lab, batches, full, output, seed};
use schism_tests::random_heaps::{program, source};
use schism_tests::rayon_programs::{build, by_rustc, devices, name_of, project, run_in, target};

const SEED: u64 = 29;
/// Pipelines of a program.
const BATCH: usize = 50;

#[test]
fn pipelines_are_the_same_every_time() {
    for number in 0..20 {
        assert_eq!(source(SEED, number), source(SEED, number));
    }
    assert_ne!(source(SEED, 0), source(SEED + 1, 0));
}

#[test]
fn pipelines_that_allocate_are_rayons() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let seed = seed(SEED);
    let count = if full() { 500 } else { 8 };
    let (mut kernels, mut wrong) = (0, Vec::new());
    for batch in batches("SCHISM_TEST_PIPELINES", count, BATCH) {
        let folder = project(lab, "random-heaps", &program(seed, batch));
        let expected = by_rustc(lab, &folder);
        build(lab, &folder, &["--stdpar", "--release"]);
        for device in devices() {
            for heap in ["", "1"] {
                let target = target(lab, "schism");
                let mut on_device = run_in(&target, name_of(&folder), "release", &device);
                on_device.env("SCHISM_STDPAR", "always").env("SCHISM_DEVICE_HEAP", heap);
                let ran = output(on_device.env("SCHISM_TRACE", "1"));
                let trace = String::from_utf8_lossy(&ran.stderr);
                if trace.contains("all parallel iterators stay") {
                    println!("skipped on {device:?}: there is none");
                    break;
                }
                assert!(ran.status.success(), "{device:?}: {trace}");
                kernels += trace.lines().filter(|line| line.contains(" pieces on `")).count();
                let found = String::from_utf8_lossy(&ran.stdout).into_owned();
                let lines = found.lines().zip(expected.lines());
                wrong.extend(
                    lines.filter(|(a, b)| a != b).map(|(a, b)| format!("{device:?}: {a} for {b}")),
                );
                assert_eq!(found.lines().count(), expected.lines().count(), "{device:?}");
            }
        }
    }
    println!("{kernels} kernels");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
