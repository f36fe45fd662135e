//! One program (`crates/matrix.rs`) under many combinations of the compiler's options.
//!
//! A covering choice: every value of an option meets every value of every other one at least once.
//! Link-time optimisation takes most of the time, for it compiles the runtime and the standard
//! library again, and is in one combination for each of its kinds. It optimises the host half only,
//! a device half is behind it as it was before. With `SCHISM_TEST_FULL=1` all combinations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use schism_tests::lab::{self, Lab, clean_command, describe, each, full, output, source, text};

/// The options, each with its values. `-Cincremental` with link-time optimisation is not among the
/// combinations: rustc refuses it.
const OPTIONS: [&[&str]; 5] = [
    &["-Copt-level=0", "-Copt-level=1", "-Copt-level=2", "-Copt-level=3", "-Copt-level=s"],
    &["-Ccodegen-units=1", "-Ccodegen-units=16"],
    &["-Clto=off", "-Clto=thin", "-Clto=fat"],
    &["-Cpanic=unwind", "-Cpanic=abort"],
    &["", "-Cincremental=incremental"],
];

type Combination = [usize; OPTIONS.len()];

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

fn possible(combination: &Combination) -> bool {
    combination[2] == 0 || combination[4] == 0
}

fn all() -> Vec<Combination> {
    let mut combinations: Vec<Combination> = vec![[0; OPTIONS.len()]];
    for (option, values) in OPTIONS.iter().enumerate() {
        combinations = combinations
            .into_iter()
            .flat_map(|combination| {
                (0..values.len()).map(move |value| {
                    let mut next = combination;
                    next[option] = value;
                    next
                })
            })
            .collect();
    }
    combinations.retain(possible);
    combinations
}

/// The pairs of values of two options in a combination.
fn pairs(combination: &Combination) -> impl Iterator<Item = (usize, usize, usize, usize)> {
    let combination = *combination;
    (0..OPTIONS.len()).flat_map(move |first| {
        (first + 1..OPTIONS.len())
            .map(move |second| (first, combination[first], second, combination[second]))
    })
}

/// The one combination with each kind of link-time optimisation that is not left to the full
/// product, as values of the other options.
const LINK_TIME: [(usize, [usize; 4]); 2] = [(1, [0, 1, 0, 0]), (2, [1, 0, 1, 0])];

/// Whether a combination is left to the full product: most of link-time optimisation, which is
/// slow.
fn skipped(combination: &Combination) -> bool {
    let [level, units, lto, panic, incremental] = *combination;
    let others = [level, units, panic, incremental];
    lto != 0 && !LINK_TIME.contains(&(lto, others))
}

/// Few combinations with all pairs that occur in any: the greedy way.
fn covering() -> Vec<Combination> {
    let mut all = all();
    all.retain(|combination| !skipped(combination));
    let mut wanted: std::collections::BTreeSet<_> = all.iter().flat_map(pairs).collect();
    let mut chosen = Vec::new();
    while !wanted.is_empty() {
        let gain = |combination: &&Combination| {
            let new = pairs(combination).filter(|pair| wanted.contains(pair)).count();
            // Those with link-time optimisation are needed in any case.
            (new, combination[2])
        };
        let best = *all.iter().rev().max_by_key(gain).expect("there are combinations");
        for pair in pairs(&best) {
            wanted.remove(&pair);
        }
        chosen.push(best);
    }
    chosen
}

#[test]
fn the_choice_is_small() {
    assert!(covering().iter().all(possible));
    let chosen: std::collections::BTreeSet<_> = covering().iter().flat_map(pairs).collect();
    let wanted = all().into_iter().filter(|combination| !skipped(combination));
    assert!(
        wanted
            .flat_map(|combination| pairs(&combination).collect::<Vec<_>>())
            .all(|pair| chosen.contains(&pair))
    );
    for kind in 0..OPTIONS[2].len() {
        assert!(covering().iter().any(|combination| combination[2] == kind));
    }
    assert!(covering().len() <= 12, "{:?}", covering());
}

fn compile(lab: &Lab, folder: &Path, options: &[&str]) -> PathBuf {
    let mut rustc = lab.rustc_with_runtime(folder);
    rustc.args(["matrix.rs", "--crate-type=bin"]);
    text(rustc.args(options.iter().filter(|option| !option.is_empty())));
    folder.join("matrix")
}

/// Runs the program on a device and returns its lines after the first, which names the device. What
/// combinations have in common is compiled by stage 2 once.
fn run(lab: &Lab, program: &Path, device: &str) -> Vec<String> {
    let mut command = clean_command(program);
    lab.keep_kernels(&mut command);
    let output = output(command.env("SCHISM_DEVICE", device));
    assert!(output.status.success(), "{}", describe(&command, &output));
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut lines = lines.lines().map(str::to_owned);
    assert_eq!(lines.next(), Some(format!("device {device}")));
    let lines: Vec<String> = lines.collect();
    assert_eq!(lines.last().map(String::as_str), Some("ok"));
    lines
}

fn copy_sources(folder: &Path) {
    for name in ["matrix.rs", "matrix_groups.rs", "matrix_other.rs"] {
        std::fs::copy(source("crates").join(name), folder.join(name)).expect("a file is copied");
    }
}

#[test]
fn every_combination_gives_the_same_results() {
    let Some(lab) = lab() else { return };
    lab.runtime();
    let combinations = if full() { all() } else { covering() };
    let all_lines = Mutex::new(Vec::new());
    each(combinations.iter().enumerate(), |(number, combination)| {
        let folder = lab.folder(&format!("matrix-{number}"));
        copy_sources(&folder);
        let options: Vec<&str> =
            combination.iter().zip(OPTIONS).map(|(value, values)| values[*value]).collect();
        let program = compile(lab, &folder, &options);
        for device in ["cpu", "native"] {
            let lines = run(lab, &program, device);
            all_lines.lock().expect("no panic").push((format!("{options:?} on {device}"), lines));
        }
        std::fs::remove_dir_all(&folder).expect("our folder can be removed");
    });
    let all_lines = all_lines.into_inner().expect("no panic");
    assert_eq!(all_lines.len(), 2 * combinations.len());
    for (what, lines) in &all_lines {
        assert_eq!(*lines, all_lines[0].1, "{what}");
    }
}

/// Replaces a text that is in a file once.
fn edit(file: &Path, from: &str, to: &str) {
    let before = std::fs::read_to_string(file).expect("a readable file");
    assert_eq!(before.matches(from).count(), 1, "`{from}` in {}", file.display());
    std::fs::write(file, before.replace(from, to)).expect("a writable file");
}

#[test]
fn incremental_builds_follow_every_edit() {
    let Some(lab) = lab() else { return };
    lab.runtime();
    each(["-Copt-level=0", "-Copt-level=2"], |level| {
        let folder = lab.folder(&format!("matrix-edits{level}"));
        let options = ["-Cincremental=incremental", level];
        let [main, groups, other] =
            ["matrix.rs", "matrix_groups.rs", "matrix_other.rs"].map(|name| folder.join(name));
        copy_sources(&folder);
        // What is built step by step and from scratch must be the same container, too. Of the same
        // sources it is made once.
        let from_scratch = Mutex::new(BTreeMap::new());
        let containers = |program: &Path| {
            let files = [&main, &groups, &other];
            let sources = files.map(|file| std::fs::read_to_string(file).expect("a readable file"));
            let of_step = schism_tests::container::containers(program);
            let mut known = from_scratch.lock().expect("no panic");
            let of_fresh = known.entry(sources.clone()).or_insert_with(|| {
                let fresh = lab.folder(&format!("matrix-edits{level}-fresh"));
                for (file, source) in files.iter().zip(&sources) {
                    std::fs::write(fresh.join(file.file_name().expect("a name")), source)
                        .expect("a file is written");
                }
                schism_tests::container::containers(&compile(lab, &fresh, &options))
            });
            assert_eq!(of_step, *of_fresh);
            assert_eq!(of_step.len(), 1);
            of_step[0].object_id()
        };
        let step = || {
            let program = compile(lab, &folder, &options);
            let lines = run(lab, &program, "cpu");
            assert_eq!(lines, run(lab, &program, "native"));
            (lines, containers(&program))
        };
        let changed = |before: &[String], after: &[String]| -> Vec<String> {
            assert_eq!(before.len(), after.len());
            let changed = before.iter().zip(after).filter(|(before, after)| before != after);
            let word = |line: &String| line.split(' ').next().expect("a word").to_owned();
            changed.map(|(line, _)| word(line)).collect()
        };

        let (first, first_id) = step();
        // Nothing.
        assert_eq!(step(), (first.clone(), first_id));
        // The kernel.
        edit(&main, "const SALT: u32 = 17;", "const SALT: u32 = 1;");
        let (kernel, kernel_id) = step();
        assert_eq!(changed(&first, &kernel), ["collatz"]);
        assert_ne!(first_id, kernel_id);
        // Host code only. Its line numbers stay.
        edit(&main, "const HOST: u32 = 1;", "const HOST: u32 = 2;");
        let (host, host_id) = step();
        assert_eq!(changed(&kernel, &host), ["host"]);
        assert_eq!(kernel_id, host_id);
        // Another module.
        edit(&other, "const ADDEND: i32 = 5;", "const ADDEND: i32 = 6;");
        let (other_module, other_id) = step();
        assert_eq!(changed(&host, &other_module), ["other"]);
        assert_ne!(host_id, other_id);
        // And back.
        edit(&main, "const SALT: u32 = 1;", "const SALT: u32 = 17;");
        edit(&main, "const HOST: u32 = 2;", "const HOST: u32 = 1;");
        edit(&other, "const ADDEND: i32 = 6;", "const ADDEND: i32 = 5;");
        assert_eq!(step(), (first, first_id));
    });
}

#[test]
fn a_library_built_without_optimisation_runs_in_an_optimised_program() {
    let Some(lab) = lab() else { return };
    let folder = lab.folder("matrix-mixed");
    std::fs::copy(source("crates/matrix_other.rs"), folder.join("other.rs")).expect("a copy");
    let mut rustc = lab.rustc_with_runtime(&folder);
    text(rustc.args(["other.rs", "--crate-type=rlib", "-Copt-level=0"]));
    let program = "fn main() {\n    let queue = schism::Queue::new().unwrap();\n    \
                   println!(\"{}\", other::run(&queue));\n}\n";
    std::fs::write(folder.join("program.rs"), program).expect("a writable folder");
    let ltos: &[&str] = if full() { &["-Clto=off", "-Clto=fat"] } else { &["-Clto=off"] };
    for lto in ltos {
        let mut rustc = lab.rustc_with_runtime(&folder);
        rustc.args(["program.rs", "--extern=other=libother.rlib", "-Copt-level=1", lto]);
        text(&mut rustc);
        let mut program = lab::clean_command(folder.join("program"));
        // (1 + 2 + 3 + 4) * 3 + 2 * (1 + 2) + 4 * 5
        assert_eq!(text(program.env("SCHISM_DEVICE", "cpu")).trim(), "56");
    }
}
