//! Runs the tests of packages that use rayon under plain rustc and under `cargo schism --stdpar`,
//! and compares them test by test.
//!
//! ```text
//! cargo schism run -p schism-tests --bin stdpar-packages -- [--release] [--doc] [PACKAGE[@VERSION]]...
//! ```
//!
//! `--doc` runs documentation tests in place of the others: that takes long, since most are
//! programs of their own.
//!
//! Without names, it runs the packages of [`PACKAGES`]. It fetches each with cargo, and keeps what
//! it makes in `stdpar-packages/` in the target folder. It ends with 1 if a test differs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

/// A package, and how its tests are built.
struct Package {
    name: &'static str,
    version: &'static str,
    /// For cargo.
    arguments: &'static [&'static str],
    /// Files of tests that need what no registry has, or are not there. They become empty.
    without: &'static [&'static str],
    /// Tables of what tests depend on, and the published manifest leaves out, since it depends on the
    /// package.
    needs: &'static [&'static str],
}

const fn package(
    name: &'static str,
    version: &'static str,
    arguments: &'static [&'static str],
) -> Package {
    Package { name, version, arguments, without: &[], needs: &[] }
}

const PACKAGES: [Package; 26] = [
    package("rayon", "1.12.0", &[]),
    package("indexmap", "2.11.0", &["--features=rayon"]),
    Package {
        without: &["tests/oper.rs"],
        ..package("ndarray", "0.16.1", &["--features=rayon,approx"])
    },
    package("hashbrown", "0.15.5", &["--features=rayon"]),
    package("dashmap", "6.1.0", &["--features=rayon"]),
    package("petgraph", "0.8.2", &["--features=rayon"]),
    package("kd-tree", "0.6.0", &["--features=rayon"]),
    package("bvh", "0.11.0", &[]),
    package("imageproc", "0.25.0", &["--no-default-features", "--features=rayon"]),
    package("particular", "0.7.0", &["--features=parallel"]),
    package("bhtsne", "0.7.13", &[]),
    package("ssimulacra2", "0.5.1", &[]),
    Package { without: &["src/blur/equiv_tests.rs"], ..package("dssim-core", "3.5.1", &[]) },
    Package { needs: ARK_CURVES, ..package("ark-poly", "0.6.0", &["--features=parallel"]) },
    Package { needs: ARK_CURVES, ..package("ark-ec", "0.6.0", &["--features=parallel"]) },
    package("winter-math", "0.13.1", &["--features=concurrent"]),
    package("petal-clustering", "0.14.0", &[]),
    package("instant-distance", "0.6.1", &[]),
    package("ndrustfft", "0.6.2", &[]),
    package("linfa-clustering", "0.8.1", &[]),
    package("smartcore", "0.7.0", &[]),
    package("rten", "0.27.0", &[]),
    package("splashsurf_lib", "0.14.1", &[]),
    package("oxipng", "10.2.1", &[]),
    Package {
        needs: &[
            "p3-baby-bear]\nversion = \"=0.9.0-rc.2\"",
            "p3-goldilocks]\nversion = \"=0.9.0-rc.2\"",
        ],
        ..package("p3-dft", "0.9.0-rc.2", &["--features=parallel"])
    },
    package("stochastic-rs", "1.5.0", &[]),
];

const ARK_CURVES: &[&str] = &[
    "ark-test-curves]\nversion = \"0.6\"\ndefault-features = false\nfeatures = [\"bls12_381_curve\", \
     \"ed_on_bls12_381\", \"mnt4_753_curve\", \"bn384_small_two_adicity_curve\", \"secp256k1\"]",
];

/// rayon's unit tests of its public interface, which become tests from outside: calls in rayon
/// itself stay with rayon. The others use what is private.
const UNITS: [(&str, &str); 2] = [("iter", "src/iter/test.rs"), ("slice", "src/slice/test.rs")];

/// What a test may end with, by its name and the program that it is in.
type Results = BTreeMap<(String, String), String>;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> io::Result<bool> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let root = std::path::absolute(target)?.join("stdpar-packages");
    let mut options = vec!["test", "--no-fail-fast"];
    let mut kind = "--tests";
    let mut named = Vec::new();
    for word in std::env::args().skip(1) {
        match word.split_once('@') {
            _ if word == "--release" => options.push("--release"),
            _ if word == "--doc" => kind = "--doc",
            Some((name, version)) => named.push((name.to_owned(), version.to_owned())),
            None => {
                let version = known(&word).map(|package| package.version.to_owned());
                let version = version.ok_or_else(|| {
                    io::Error::other(format!("no version of {word}; use {word}@VERSION"))
                })?;
                named.push((word, version));
            }
        }
    }
    if named.is_empty() {
        let all = PACKAGES.iter();
        named.extend(all.map(|package| (package.name.to_owned(), package.version.to_owned())));
    }
    options.push(kind);
    let mut same = true;
    for (name, version) in &named {
        same &= compare(&root, name, version, &options)?;
    }
    Ok(same)
}

fn known(name: &str) -> Option<&'static Package> {
    PACKAGES.iter().find(|package| package.name == name)
}

/// Runs a package's tests both ways; whether they are the same.
fn compare(root: &Path, name: &str, version: &str, options: &[&str]) -> io::Result<bool> {
    let folder = root.join(format!("{name}-{version}"));
    if !folder.join("Cargo.toml").is_file() {
        fetch(root, &folder, name, version)?;
    }
    let arguments = known(name).map_or(&[][..], |package| package.arguments);
    let test = |command: &mut Command| {
        command.args(options).args(arguments).current_dir(&folder);
        command.env("CARGO_PROFILE_DEV_DEBUG", "0");
        // Some have benchmarks in their tests, which are for a nightly compiler.
        command.env("RUSTC_BOOTSTRAP", name);
        // What the tests print is not looked at, so that lines of results are whole.
        command.stdin(Stdio::null());
    };
    println!("{name} {version}: plain rustc");
    let mut plain = clean("cargo");
    test(&mut plain);
    plain.env("CARGO_TARGET_DIR", root.join("target-plain"));
    let expected = results(&mut plain, &folder.join("plain.log"))?;

    println!("{name} {version}: --stdpar");
    let report = folder.join("report.txt");
    let _ = fs::remove_file(&report);
    let subcommand = std::env::var_os("SCHISM_SUBCOMMAND").unwrap_or_else(|| "cargo-schism".into());
    let mut schism = clean(&subcommand);
    test(&mut schism);
    schism.arg("--stdpar=explain").env("CARGO_TARGET_DIR", root.join("target-stdpar"));
    schism.env("SCHISM_STDPAR", "always").env("SCHISM_DEVICE", "cpu");
    schism.env("SCHISM_STDPAR_REPORT", &report);
    let log = folder.join("stdpar.log");
    let found = results(&mut schism, &log)?;

    let mut same = !expected.is_empty();
    for (test, result) in &expected {
        let other = found.get(test).map_or("(not there)", String::as_str);
        if other != result {
            same = false;
            println!("{name}: {} of {}: {result} by rustc, {other} with --stdpar", test.1, test.0);
        }
    }
    for test in found.keys().filter(|test| !expected.contains_key(*test)) {
        same = false;
        println!("{name}: {} of {}: only with --stdpar", test.1, test.0);
    }
    let passed = expected.values().filter(|result| *result == "ok").count();
    let verdict = if same { "all the same" } else { "NOT the same" };
    println!("{name} {version}: {} tests, {passed} pass: {verdict}", expected.len());
    notes(&fs::read_to_string(&log)?);
    summary(&fs::read_to_string(&report).unwrap_or_default());
    Ok(same)
}

/// A program without what the cargo around this one has set.
fn clean(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    for (variable, _) in std::env::vars_os() {
        let Some(name) = variable.to_str() else { continue };
        let foreign = name.starts_with("CARGO")
            && !["CARGO_HOME", "CARGO_INCREMENTAL"].contains(&name)
            || name.starts_with("RUST") && !name.starts_with("RUSTUP_HOME")
            || name.starts_with("SCHISM_STDPAR")
            || ["SCHISM_DEVICE", "SCHISM_TRACE", "LD_LIBRARY_PATH"].contains(&name);
        if foreign {
            command.env_remove(&variable);
        }
    }
    command
}

/// Gets a package's source.
fn fetch(root: &Path, folder: &Path, name: &str, version: &str) -> io::Result<()> {
    let scratch = root.join("fetch").join(name);
    fs::create_dir_all(scratch.join("src"))?;
    fs::write(scratch.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[package]\nname = \"fetch\"\nedition = \"2021\"\n[dependencies]\n{name} = \"={version}\"\n[workspace]\n"
    );
    fs::write(scratch.join("Cargo.toml"), manifest)?;
    let output = clean("cargo")
        .args(["metadata", "--format-version", "1"])
        .current_dir(&scratch)
        .stderr(Stdio::inherit())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let end = format!("/{name}-{version}/Cargo.toml\"");
    let manifest = text.split_inclusive('"').find(|word| word.ends_with(&end));
    let Some(manifest) = manifest else {
        return Err(io::Error::other(format!("cargo cannot fetch {name} {version}")));
    };
    let source = Path::new(manifest.trim_end_matches('"'));
    let source = source.parent().unwrap_or(source);
    copy(source, folder)?;
    // Both ways are by the compiler that is here.
    for file in ["rust-toolchain", "rust-toolchain.toml"] {
        let _ = fs::remove_file(folder.join(file));
    }
    for file in known(name).map_or(&[][..], |package| package.without) {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        fs::write(file, "")?;
    }
    if name == "rayon" {
        units_from_outside(folder)?;
    }
    let manifest = folder.join("Cargo.toml");
    let mut text = fs::read_to_string(&manifest)?;
    if !text.contains("\n[workspace") {
        text.push_str("\n[workspace]\n");
    }
    let needs = known(name).map_or(&[][..], |package| package.needs);
    for table in needs {
        text += &format!("\n[dev-dependencies.{table}\n");
    }
    if !needs.is_empty() {
        text += &format!("\n[patch.crates-io]\n{name} = {{ path = \".\" }}\n");
    }
    fs::write(manifest, text)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// Adds rayon's unit tests as tests from outside.
fn units_from_outside(folder: &Path) -> io::Result<()> {
    let manifest = folder.join("Cargo.toml");
    let mut manifest_text = fs::read_to_string(&manifest)?;
    for (module, path) in UNITS {
        let text = fs::read_to_string(folder.join(path))?
            .replace("#![cfg(test)]", "")
            .replace(
                "use super::*;",
                // What the module itself imports, or an older one has. What a test imports itself
                // counts for more.
                &format!(
                    "#[allow(unused_imports)]\nuse module::*;\nmod module {{\npub use \
                     {{rayon::iter::plumbing::*, rayon::{module}::*, std::cmp, \
                     std::collections::LinkedList}};\n}}"
                ),
            )
            .replace("super::", &format!("rayon::{module}::"))
            .replace("crate::", "rayon::")
            .replace("rayon_core", "rayon");
        fs::write(folder.join(format!("tests/units_{module}.rs")), text)?;
        let entry = format!("name = \"units_{module}\"\npath = \"tests/units_{module}.rs\"\n");
        manifest_text += "\n[[test]]\n";
        manifest_text += &entry;
    }
    fs::write(manifest, manifest_text)
}

/// Runs tests, and gives how each ended; what they print goes into a file.
fn results(command: &mut Command, log: &Path) -> io::Result<Results> {
    let file = fs::File::create(log)?;
    command.stderr(file.try_clone()?).stdout(file);
    // With one file for both, the programs' names come before their tests.
    let Output { .. } = command.output()?;
    let mut results = Results::new();
    let mut program = String::new();
    for line in fs::read_to_string(log)?.lines() {
        let line = line.trim_start();
        if let Some(rest) = line.strip_prefix("Running ").or(line.strip_prefix("Doc-tests ")) {
            // The name of the file has cargo's hash, which differs.
            program = rest.split(" (").next().unwrap_or(rest).to_owned();
        } else if let Some((name, result)) =
            line.strip_prefix("test ").and_then(|line| line.rsplit_once(" ... "))
        {
            results.insert((program.clone(), name.to_owned()), result.to_owned());
        }
    }
    Ok(results)
}

/// Prints how many pipelines became kernels as the compiler says, and why the others did not.
fn notes(log: &str) {
    let mut whys: BTreeMap<String, usize> = BTreeMap::new();
    let notes = log.lines().filter_map(|line| line.strip_prefix("note: this parallel iterator "));
    for note in notes {
        let why = note.split(": its producer is").next().unwrap_or(note);
        // Names in it are each pipeline's own.
        let why = why.split('`').next().unwrap_or(why).trim();
        *whys.entry(why.to_owned()).or_default() += 1;
    }
    println!("  pipelines that were compiled: {}", whys.values().sum::<usize>());
    for (why, count) in whys {
        println!("  {count:6} {why}");
    }
}

/// Prints the sums of the reports of all programs that ran.
fn summary(report: &str) {
    let mut sums: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for line in report.lines().filter_map(|line| line.strip_prefix("schism: ")) {
        let Some((place, rest)) = line.rsplit_once(": ") else { continue };
        let Some((pipelines, place)) = place.split_once(' ') else { continue };
        let runs = rest.split(' ').next().unwrap_or_default();
        if let (Ok(pipelines), Ok(runs)) = (pipelines.parse::<u64>(), runs.parse::<u64>()) {
            let sum = sums.entry(place.to_owned()).or_default();
            sum[0] += pipelines;
            sum[1] += runs;
        }
    }
    println!("  pipelines that ran, in each test program:");
    for (place, [pipelines, runs]) in sums {
        println!("  {pipelines:6} {place}: {runs} runs");
    }
}
