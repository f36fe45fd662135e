//! `--stdpar=explain`: which pipelines become kernels in the program's process, and what is said of
//! those that cannot.

use std::path::Path;
use std::process::Command;

use schism_tests::lab::{self, Lab, output, text};
use schism_tests::rayon_programs::{
    EXPLAINED, MANIFEST, Programs, build, by_rustc, explain, kernels, name_of, project, project_of,
    run_in, target,
};

/// The notes of a build, one for each pipeline.
fn notes(said: &str) -> Vec<&str> {
    said.split("note: ").filter(|note| note.starts_with("this parallel")).collect()
}

/// A project's program that [`explain`] has built, on the device `cpu`.
fn run(lab: &Lab, folder: &Path, profile: &str, variables: &[(&str, &str)]) -> Command {
    run_in(&target(lab, EXPLAINED), name_of(folder), profile, variables)
}

#[test]
fn what_a_process_can_do_is_no_reason() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = std::fs::read_to_string(lab::source("stdpar/natural.rs"));
    let folder = project(lab, "stdpar-natural", &program.expect("a file of the tests"));
    Programs::newest(lab).program("natural").compare(&[], &["1", "2", "7", "64"]);
    let said = explain(lab, &folder, &["--release"]);
    let became = |line: &&str| line.starts_with("this parallel iterator becomes a kernel");
    // Features and instructions of the processor, calls of itself, and sorts of rows.
    let count = notes(&said).iter().filter(|note| became(note)).count();
    assert!(count >= 6, "{said}");
}

/// A pipeline that no GPU can run takes none from its neighbours, whose panics have messages.
#[test]
fn reasons_are_of_their_own_pipelines() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = r#"
        use rayon::prelude::*;

        fn main() {
            let input: Vec<u64> = (0..1000).collect();
            let mut output = vec![0; 1000];
            output.par_chunks_mut(10).enumerate().for_each(|(row, to)| {
                for (column, to) in to.iter_mut().enumerate() {
                    *to = input[row * 10 + column];
                }
            });
            println!("{}", output.iter().sum::<u64>());
            output.par_iter().for_each(|i| println!("{i}"));
        }
    "#;
    let folder = project(lab, "stdpar-reasons", program);
    let said = explain(lab, &folder, &["--release"]);
    let notes = notes(&said);
    assert_eq!(notes.len(), 2, "{said}");
    let [first, second] = ["src/main.rs:7:", "src/main.rs:13:"]
        .map(|place| notes.iter().find(|note| note.contains(place)).expect(&said));
    assert!(first.starts_with("this parallel iterator becomes a kernel\n"), "{first}");
    assert!(
        second.starts_with("this parallel iterator becomes a kernel on `cpu` only"),
        "{second}"
    );
}

/// A lock is its own reason where it is one, and a pipeline without a kernel is not reported as
/// one that rayon was chosen for.
#[test]
fn locks_are_told_as_locks() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = r#"
        use std::sync::{Mutex, RwLock};

        use rayon::prelude::*;

        fn main() {
            let locks: Vec<Mutex<u64>> = (0..1000).map(Mutex::new).collect();
            println!("{}", locks.par_iter().map(|lock| *lock.lock().unwrap()).sum::<u64>());
            let locks: Vec<RwLock<u64>> = (0..1000).map(RwLock::new).collect();
            println!("{}", locks.par_iter().map(|lock| *lock.read().unwrap()).sum::<u64>());
        }
    "#;
    let folder = project(lab, "stdpar-locks", program);
    let expected = by_rustc(lab, &folder);
    let said = explain(lab, &folder, &[]);
    let notes = notes(&said);
    assert_eq!(notes.len(), 2, "{said}");
    for note in &notes {
        let kernel = note.starts_with("this parallel iterator becomes a kernel");
        assert!(kernel || note.contains("stays with rayon: it takes a lock"), "{note}");
    }
    for setting in ["auto", "always"] {
        let variables = [("SCHISM_STDPAR", setting), ("SCHISM_STDPAR_REPORT", "1")];
        let mut program = run(lab, &folder, "debug", &variables);
        let ran = output(&mut program);
        assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
        let report = String::from_utf8_lossy(&ran.stderr);
        if notes.iter().all(|note| note.contains("stays with rayon")) {
            assert!(!report.contains("chosen by time"), "{report}");
        }
    }
}

const WITH_DEPENDENCY: &str = r#"
[package]
name = "ordinary"
version = "0.1.0"
edition = "2024"

[dependencies]
rayon = "1"
dep = { path = "dep" }

[workspace]
"#;

/// Closures of generic functions of a dependency have their places there, and no note takes another
/// one's place.
#[test]
fn closures_of_dependencies_have_places() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let manifest = "[package]\nname = \"dep\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                    [dependencies]\nrayon = \"1\"\n";
    let dependency = "use rayon::prelude::*;\n\
        pub fn roots<T: Into<f64> + Copy + Sync>(all: &[T]) -> f64 {\n    \
            all.par_iter().map(|&x| x.into().sqrt()).sum()\n}\n\
        pub fn doubled<T: Into<f64> + Copy + Sync>(all: &[T]) -> f64 {\n    \
            all.par_iter().map(|&x| x.into() * 2.0).sum()\n}\n\
        pub fn shown<T: Into<f64> + Copy + Sync>(all: &[T]) -> usize {\n    \
            all.par_iter().map(|&x| format!(\"{}\", x.into()).len()).sum()\n}\n";
    let program = "fn main() {\n    let all = vec![2.25_f32; 5000];\n    \
        println!(\"{} {} {}\", dep::roots(&all), dep::doubled(&all), dep::shown(&all));\n}\n";
    let files =
        [("src/main.rs", program), ("dep/Cargo.toml", manifest), ("dep/src/lib.rs", dependency)];
    let folder = project_of(lab, "stdpar-closures", &files, WITH_DEPENDENCY);
    let expected = by_rustc(lab, &folder);
    let said = explain(lab, &folder, &[]);
    let always = [("SCHISM_STDPAR", "always"), ("RAYON_NUM_THREADS", "2")];
    let mut program = run(lab, &folder, "debug", &always);
    assert_eq!(text(&mut program), expected);
    let notes = notes(&said);
    for line in [3, 6, 9] {
        let place = format!("dep/src/lib.rs:{line}:");
        let count = notes.iter().filter(|note| note.contains(&place)).count();
        assert_eq!(count, 1, "line {line}: {said}");
    }
}

/// A library that is also a C library carries its functions' bodies.
#[test]
fn libraries_of_two_kinds_carry_bodies() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let manifest = "[package]\nname = \"dep\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\
                    [lib]\ncrate-type = [\"lib\", \"cdylib\"]\n";
    let dependency = "#[inline(never)]\npub fn half(x: f64) -> f64 {\n    x / 2.0\n}\n";
    let program = r#"
        use rayon::prelude::*;

        fn main() {
            let numbers = vec![1.0; 4096];
            println!("{}", numbers.par_iter().map(|x| dep::half(*x)).sum::<f64>());
        }
    "#;
    let files =
        [("src/main.rs", program), ("dep/Cargo.toml", manifest), ("dep/src/lib.rs", dependency)];
    let folder = project_of(lab, "stdpar-two-kinds", &files, WITH_DEPENDENCY);
    let expected = by_rustc(lab, &folder);
    build(lab, &folder, &["--stdpar", "--release"]);
    let always = [("SCHISM_STDPAR", "always"), ("RAYON_NUM_THREADS", "2")];
    let program = || run_in(&target(lab, "schism"), name_of(&folder), "release", &always);
    assert_eq!(text(&mut program()), expected);
    assert_eq!(kernels(&mut program()), 1);
}

/// A build that makes no kernels since panics abort says so, if notes are asked for.
#[test]
fn profiles_that_abort_are_told() {
    let Some(lab) = Lab::open(env!("CARGO_TARGET_TMPDIR")) else { return };
    let program = r#"
        use rayon::prelude::*;

        fn main() {
            println!("{}", (0..1_000_000_u64).into_par_iter().map(|x| x ^ (x >> 3)).sum::<u64>());
        }
    "#;
    let manifest = format!("{MANIFEST}\n[profile.release]\npanic = \"abort\"\n");
    let files = [("src/main.rs", program)];
    let folder = project_of(lab, "stdpar-abort", &files, &manifest);
    let expected = by_rustc(lab, &folder);
    let said = explain(lab, &folder, &["--release"]);
    let kernel = said.contains("this parallel iterator becomes a kernel");
    assert!(kernel || said.contains("panic = \"abort\"") || said.contains("panic=abort"), "{said}");
    let mut program = run(lab, &folder, "release", &[]);
    assert_eq!(text(&mut program), expected);
}
