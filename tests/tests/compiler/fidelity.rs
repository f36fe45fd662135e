//! Test results of crates that know nothing of schism, under plain rustc and under the driver.
//!
//! By default one small crate, whose sources the workspace has anyway. With
//! `SCHISM_TEST_FIDELITY=1` the crates of [`CRATES`], downloaded with their dependencies; with a
//! list of names, such as `SCHISM_TEST_FIDELITY=bytes,rayon`, some of them. That takes an hour on
//! two cores:
//!
//! ```text
//! SCHISM_TEST_FIDELITY=1 cargo schism test -p schism-tests --test compiler fidelity:: -- --nocapture
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Instant;

use schism_tests::lab::{Compiler, Lab, describe, output, text, workspace, write_files};

/// Well-known crates with rich tests in their packages.
const CRATES: [&str; 22] = [
    "aho-corasick",
    "arrayvec",
    "base64",
    "bytes",
    "crossbeam-channel",
    "either",
    "fixedbitset",
    "hashbrown",
    "httparse",
    "indexmap",
    "itertools",
    "memchr",
    "nalgebra",
    "num-bigint",
    "petgraph",
    "rayon",
    "regex-automata",
    "ryu",
    "semver",
    "serde_json",
    "smallvec",
    "tinyvec",
];

fn lab() -> Option<&'static Lab> {
    Lab::open(env!("CARGO_TARGET_TMPDIR"))
}

/// What became of each test: by test program, in the order of their names.
type Results = BTreeMap<String, Vec<String>>;

/// Reads the reports of libtest out of cargo's output.
fn results(output: &Output) -> Results {
    let mut results = Results::new();
    // Cargo names each test program on its standard error before it starts it, and the programs
    // write their reports one after the other.
    let errors = String::from_utf8_lossy(&output.stderr);
    let mut programs = errors.lines().filter_map(|line| {
        let program = line.trim_start().strip_prefix("Running ")?;
        // `Running tests/a.rs (target/debug/deps/a-0123456789abcdef)`
        Some(program.split(" (").next().expect("split gives at least one piece").to_owned())
    });
    let mut current: Option<Vec<String>> = None;
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            current = Some(Vec::new());
        } else if let Some(tests) = &mut current {
            if let Some(summary) = line.strip_prefix("test result: ") {
                let summary = summary.split("; finished in").next().expect("one piece");
                tests.push(format!("result: {summary}"));
                tests.sort();
                let program = programs.next().unwrap_or_else(|| "unknown".to_owned());
                results.insert(program, current.take().expect("some, as just seen"));
            } else if let Some(test) = line.strip_prefix("test ")
                && test.contains(" ... ")
            {
                // And not `test a has been running for over 60 seconds`.
                tests.push(test.to_owned());
            }
        }
    }
    results
}

/// Numbers of passed, failed and ignored tests.
fn counts(results: &Results) -> (usize, usize, usize) {
    let count =
        |ending: &str| results.values().flatten().filter(|line| line.contains(ending)).count();
    (count(" ... ok"), count(" ... FAILED"), count(" ... ignored"))
}

/// What differs between two runs.
fn differences(stock: &Results, schism: &Results) -> Vec<String> {
    let mut differences = Vec::new();
    let empty = Vec::new();
    let mut programs: Vec<&String> = stock.keys().chain(schism.keys()).collect();
    programs.sort();
    programs.dedup();
    for program in programs {
        let (stock, schism) =
            (stock.get(program).unwrap_or(&empty), schism.get(program).unwrap_or(&empty));
        for line in stock.iter().filter(|line| !schism.contains(line)) {
            differences.push(format!("{program}: only under plain rustc: {line}"));
        }
        for line in schism.iter().filter(|line| !stock.contains(line)) {
            differences.push(format!("{program}: only under schism: {line}"));
        }
    }
    differences
}

/// One line of the table, and whether the results are the same.
fn compare(lab: &Lab, folder: &Path, name: &str, offline: bool) -> (String, bool) {
    let run = |compiler: Compiler, programs: &[&str]| {
        let begin = Instant::now();
        let mut cargo = lab.cargo(compiler, folder);
        cargo.args(["test", "--no-fail-fast"]).args(programs);
        cargo.env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback");
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("RUST_TEST_THREADS", "2");
        if offline {
            cargo.arg("--offline");
        }
        let ended = output(&mut cargo);
        let report = describe(&cargo, &ended);
        (results(&ended), report, begin.elapsed().as_secs())
    };
    let mut programs = &["--lib", "--tests"][..];
    let (mut stock, mut stock_report, mut stock_time) = run(Compiler::Stock, programs);
    if stock.is_empty() {
        // A package without the data that its integration tests need; they do not even compile.
        programs = &["--lib"];
        (stock, stock_report, stock_time) = run(Compiler::Stock, programs);
    }
    let (schism, schism_report, schism_time) = run(Compiler::Schism, programs);
    let differences = differences(&stock, &schism);
    let ((passed, failed, ignored), here) = (counts(&stock), counts(&schism));
    let verdict = match (stock.is_empty(), differences.is_empty()) {
        (true, _) => "cannot be tested with plain rustc",
        (false, true) => "same",
        (false, false) => "DIFFERENT",
    };
    let line = format!(
        "{name:<28} {:>4} programs {passed:>5} passed {failed:>3} failed {ignored:>3} ignored | \
         {:>5} {:>3} {:>3} | {stock_time:>4} s {schism_time:>4} s | {verdict}",
        stock.len(),
        here.0,
        here.1,
        here.2
    );
    if stock.is_empty() {
        println!("{name}, plain rustc: {stock_report}");
    }
    for difference in &differences {
        println!("{name}: {difference}");
    }
    if !differences.is_empty() {
        println!("{name}, schism: {schism_report}");
    }
    (line, differences.is_empty())
}

/// Copies a folder with all that is in it.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).expect("a readable folder") {
        let entry = entry.expect("a readable entry");
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_folder(&path, &to);
        } else {
            std::fs::copy(&path, &to).expect("a file is copied");
        }
    }
}

#[test]
fn a_crate_of_the_workspace_passes_the_same_tests() {
    let Some(lab) = lab() else { return };
    let mut cargo = lab.cargo(Compiler::Stock, &workspace());
    cargo.args(["metadata", "--offline", "--format-version=1", "--filter-platform"]);
    let metadata = text(cargo.arg("x86_64-unknown-linux-gnu"));
    // "manifest_path":"/…/semver-1.0.28/Cargo.toml"
    let manifest = metadata
        .split("\"manifest_path\":\"")
        .filter_map(|rest| rest.split('"').next())
        .find(|path| path.contains("/semver-1."))
        .expect("the workspace depends on semver");
    let original = Path::new(manifest).parent().expect("a manifest is in a folder");
    let folder = lab.folder("fidelity-semver");
    for part in ["src", "tests"] {
        copy_folder(&original.join(part), &folder.join(part));
    }
    // A manifest without the optional dependencies, which may not be on this machine.
    let manifest = "[package]\nname = \"semver\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\
                    [features]\ndefault = [\"std\"]\nstd = []\n[workspace]\n";
    write_files(&folder, &[("Cargo.toml", manifest)]);
    let (line, same) = compare(lab, &folder, "semver", true);
    println!("{line}");
    assert!(same);
    assert!(!line.contains("cannot be tested") && !line.contains("    0 passed"), "{line}");
}

/// Downloads crates with all their dependencies; where each one's sources are.
fn download(lab: &Lab, names: &[&str]) -> Vec<PathBuf> {
    let folder = lab.folder("fidelity-sources");
    let mut manifest = String::from(
        "[package]\nname = \"sources\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n\
         [dependencies]\n",
    );
    for name in names {
        manifest += &format!("{name} = \"*\"\n");
    }
    write_files(&folder, &[("Cargo.toml", &manifest), ("src/lib.rs", "")]);
    text(lab.cargo(Compiler::Stock, &folder).args(["vendor", "--quiet", "--versioned-dirs"]));
    let vendored: Vec<PathBuf> = std::fs::read_dir(folder.join("vendor"))
        .expect("cargo's folder")
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    let newest = |name: &&str| -> PathBuf {
        let of_crate = vendored.iter().filter(|path| {
            let folder = path.file_name().and_then(|folder| folder.to_str());
            folder.and_then(|folder| folder.strip_prefix(name)).is_some_and(|version| {
                version.starts_with('-') && version[1..].starts_with(|c: char| c.is_ascii_digit())
            })
        });
        // The lock file may hold older ones, for other crates; they sort before it often enough,
        // and any is as good.
        of_crate.max().unwrap_or_else(|| panic!("cargo has no {name}")).clone()
    };
    names.iter().map(newest).collect()
}

#[test]
fn crates_of_the_registry_pass_the_same_tests() {
    let Some(lab) = lab() else { return };
    let Some(asked) = std::env::var("SCHISM_TEST_FIDELITY").ok().filter(|asked| !asked.is_empty())
    else {
        schism_tests::skip::say("downloads and compiles for long; SCHISM_TEST_FIDELITY=1 runs it");
        return;
    };
    let names: Vec<&str> =
        if asked == "1" { CRATES.to_vec() } else { asked.split(',').map(str::trim).collect() };
    let mut table = Vec::new();
    let mut all_same = true;
    for sources in download(lab, &names) {
        let name = sources.file_name().expect("a folder has a name").to_string_lossy().into_owned();
        let folder = lab.folder("fidelity-crate");
        copy_folder(&sources, &folder);
        let path = folder.join("Cargo.toml");
        let mut manifest = std::fs::read_to_string(&path).expect("a readable manifest");
        if !manifest.contains("[workspace]") {
            manifest += "\n[workspace]\n";
        }
        std::fs::write(&path, manifest).expect("a writable manifest");
        let (line, same) = compare(lab, &folder, &name, false);
        println!("{line}");
        table.push(line);
        all_same &= same;
        std::fs::remove_dir_all(&folder).expect("our folder can be removed");
    }
    println!("\n{}", table.join("\n"));
    assert!(all_same);
}

#[test]
fn differences_are_seen() {
    let run = |report: &str| Output {
        status: std::process::ExitStatus::default(),
        stdout: report.as_bytes().to_vec(),
        stderr: b"     Running unittests src/lib.rs (target/debug/deps/a-0)\n".to_vec(),
    };
    let report = "\nrunning 2 tests\ntest a has been running for over 60 seconds\ntest a ... ok\ntest b ... ok\n\n\
                  test result: ok. 2 passed; 0 failed; finished in 0.00s\n";
    let (first, second) =
        (results(&run(report)), results(&run(&report.replace("b ... ok", "b ... FAILED"))));
    assert_eq!(counts(&first), (2, 0, 0));
    assert_eq!(counts(&second), (1, 1, 0));
    assert!(differences(&first, &first).is_empty());
    assert_eq!(differences(&first, &second).len(), 2);
}
