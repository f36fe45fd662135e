//! The heap that a program shares with its device, behind all of the program's allocators, on a fake device; and
//! the heap of kernels, on those that there are.

use schism_tests::lab::{Lab, output, text};
use schism_tests::rayon_programs::{Program, Programs, devices, fake_driver};

/// What a program prints that was built by plain rustc, and with `--stdpar` on a GPU that launches nothing.
fn compare(lab: &Lab, program: &Program, arguments: &[&str]) {
    program.expect_no_warning();
    let expected = text(program.by_rustc().args(arguments));
    let driver = fake_driver(lab);
    let driver = ("SCHISM_CUDA", driver.to_str().expect("a path in Unicode"));
    for variables in [&[driver, ("SCHISM_DEVICE", "cuda")][..], &[]] {
        let found = text(program.run("release", variables).args(arguments));
        assert_eq!(found, expected, "{variables:?}");
    }
}

/// Which blocks lie in the shared heap.
fn places(lab: &Lab, program: &Program, arguments: &[&str]) -> Vec<(String, bool)> {
    let driver = fake_driver(lab);
    let driver = ("SCHISM_CUDA", driver.to_str().expect("a path in Unicode"));
    let said = text(program.run("release", &[driver, ("SCHISM_DEVICE", "cuda")]).args(arguments));
    let place = |line: &str| {
        let (what, place) = line.split_once(": ")?;
        let is_shared = match place {
            "shared" => true,
            "elsewhere" => false,
            _ => return None,
        };
        Some((what.to_owned(), is_shared))
    };
    said.lines().filter_map(place).collect()
}

fn expected(places: &[(&str, bool)]) -> Vec<(String, bool)> {
    places.iter().map(|(what, is_shared)| ((*what).to_owned(), *is_shared)).collect()
}

#[test]
fn blocks_of_c_are_shared() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("c_heap");
    compare(lab, &program, &[]);
    let shared = [
        ("malloc", true),
        ("small", false),
        ("calloc", true),
        ("system", true),
        ("aligned", true),
        ("realloc", true),
        ("line", true),
        // It is C's library that allocates.
        ("strdup", false),
        ("boxed", true),
    ];
    assert_eq!(places(lab, &program, &["places"]), expected(&shared));
}

#[test]
fn programs_have_their_own_allocators() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("own_allocator");
    let shared = [
        ("small", false),
        ("zeros", true),
        ("collected", true),
        ("grown", true),
        ("shrunk", false),
    ];
    for kind in ["system", "mapped"] {
        compare(lab, &program, &[kind]);
        assert_eq!(places(lab, &program, &[kind, "places"]), expected(&shared), "{kind}");
    }
}

/// Kernels allocate, and what they leave is the program's; where their heap is too small, rayon does it.
#[test]
fn kernels_on_devices_allocate() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = Programs::newest(lab).program("device_heap");
    let expected = text(&mut program.by_rustc());
    for device in devices() {
        for heap in ["", "1"] {
            let mut on_device = program.run("release", &device);
            on_device.env("SCHISM_STDPAR", "always").env("SCHISM_DEVICE_HEAP", heap);
            let ran = output(on_device.env("SCHISM_TRACE", "1"));
            let trace = String::from_utf8_lossy(&ran.stderr);
            if let Some(why) =
                trace.lines().find(|line| line.contains("all parallel iterators stay"))
            {
                println!("skipped on {device:?}: {why}");
                break;
            }
            assert!(ran.status.success(), "{device:?}: {trace}");
            assert_eq!(String::from_utf8_lossy(&ran.stdout), expected, "{device:?}");
            let launches = trace.lines().filter(|line| line.contains(" pieces on `")).count();
            println!("{launches} launches on {device:?} with a heap of {heap:?} MiB");
            assert!(launches > if heap.is_empty() { 31 } else { 3 }, "{trace}");
            // Two pipelines panic after they have changed what a launch gives back.
            assert_eq!(
                trace.matches("all that they had changed is as it was").count(),
                2,
                "{trace}"
            );
            let is_exhausted = trace.contains("allocate more than their heap has");
            assert_eq!(is_exhausted, !heap.is_empty(), "{trace}");
        }
    }
}
