//! Random bodies of pipelines over rows: see [`schism_tests::random_rows`]. Each runs with rayon, on `cpu` in
//! both ways to cut it, and on OpenCL's driver for processors if `SCHISM_TEST_OPENCL` is set, where the lanes
//! of a group share out its loops. `SCHISM_TEST_ROWS=FIRST..END` chooses, and `SCHISM_TEST_SEED`.

use std::path::Path;

use schism_tests::lab::{Lab, batches, full, seed, text};
use schism_tests::random_rows::program;
use schism_tests::rayon_programs::{build, name_of, project_with, run_in, target};

const SEED: u64 = 1;
/// Nests of a program.
const BATCH: usize = 50;

#[test]
fn nests_are_the_same_every_time() {
    for number in 0..20 {
        let numbers = number..number + 1;
        assert_eq!(program(SEED, numbers.clone()), program(SEED, numbers));
    }
    assert_ne!(program(SEED, 0..1), program(SEED + 1, 0..1));
}

/// The manifest of a program: sums that overflow panic in some.
fn manifest(checks: bool) -> String {
    format!(
        "[package]\nname = \"ordinary\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nrayon = \"1\"\n\n[profile.release]\nopt-level = 1\n\
         overflow-checks = {checks}\n\n[workspace]\n"
    )
}

/// Of how many kernels stage 2 has said that their loops are shared out, and that they are not.
fn remarks(dump: &Path) -> [usize; 2] {
    let files = std::fs::read_dir(dump).into_iter().flatten().flatten();
    let texts: Vec<String> = files
        .filter(|file| file.path().extension().is_some_and(|it| it == "remarks"))
        .filter_map(|file| std::fs::read_to_string(file.path()).ok())
        .collect();
    ["are shared out among the lanes", "not shared out among lanes"]
        .map(|remark| texts.iter().filter(|text| text.contains(remark)).count())
}

#[test]
fn rows_are_those_of_rayon() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let seed = seed(SEED);
    let count = if full() { 1000 } else { 10 };
    let driver = std::env::var("SCHISM_TEST_OPENCL").unwrap_or_default();
    let always = ("SCHISM_STDPAR", "always");
    let settings: [(&str, &[(&str, &str)]); 4] = [
        ("rayon", &[("SCHISM_STDPAR", "never")]),
        ("cpu", &[always]),
        ("cpu, cut", &[always, ("SCHISM_STDPAR_CUT", "device"), ("SCHISM_CPU_MATH", "host")]),
        ("opencl", &[always, ("SCHISM_DEVICE", "opencl"), ("SCHISM_OPENCL", &driver)]),
    ];
    let dump = Path::new(env!("CARGO_TARGET_TMPDIR")).join("random-rows-kernels");
    let [mut shared, mut not_shared] = [0; 2];
    let mut differences = String::new();
    for batch in batches("SCHISM_TEST_ROWS", count, BATCH) {
        let main = program(seed, batch.clone());
        let checks = (batch.start / BATCH) % 2 == 1;
        let name = if checks { "random-rows-checked" } else { "random-rows" };
        let folder = project_with(lab, name, &main, &manifest(checks));
        build(lab, &folder, &["--stdpar", "--release"]);
        for (setting, variables) in settings {
            if setting == "opencl" && driver.is_empty() {
                continue;
            }
            let mut run = run_in(&target(lab, "schism"), name_of(&folder), "release", variables);
            if setting == "opencl" {
                let _ = std::fs::remove_dir_all(&dump);
                run.env("SCHISM_DUMP_DIR", &dump).env("SCHISM_CACHE", "0");
            }
            let found = text(&mut run);
            let counts = found.lines().last().unwrap_or_default();
            if !counts.ends_with(", 0 wrong") {
                differences += &format!("nests {batch:?} on {setting}:\n{found}");
            }
            println!("nests {batch:?} on {setting}: {counts}");
        }
        let [own, other] = remarks(&dump);
        shared += own;
        not_shared += other;
    }
    assert!(differences.is_empty(), "{differences}");
    if driver.is_empty() {
        return println!("skipped: rows_are_those_of_rayon on OpenCL");
    }
    println!("{shared} kernels are shared out among lanes, {not_shared} are not");
    assert!(shared * 3 > not_shared, "{shared} of {}", shared + not_shared);
}
