//! `cargo schism bench compile`: time of schism's compiler beside plain rustc.
//!
//! Kernel-free crates are built from nothing, with all that they need; an example is built again
//! after a change of its file, which is what a person waits for. Both compilers take turns, and a
//! ratio is taken within each pair: of the time that passed, and of the processor time, which what
//! else the machine does changes less.
//!
//! With `--stdpar` it is the programs of `bench programs`, whose parallel iterators become kernels:
//! from nothing, and once more the program and the crate that does its work, without the others.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use cargo_schism::command;
use cargo_schism::error::{Error, FileContext, Result};
use lexopt::Arg::{Long, Value};

use super::builds::Checkout;
use super::cost::Cost;
use super::options::{misused, number_of_pairs, parts_of_names};
use super::programs::{self, Program};
use super::statistics::median;

/// How it is used.
pub const USAGE: &str = "\
usage: cargo schism bench compile [PAIRS]
       cargo schism bench compile --stdpar [PAIRS] [--only NAME,…]
                                       the programs of `bench programs`, with --stdpar; --only takes parts of names";

/// Ratio that kernel-free crates are to stay under.
const GOAL_WITHOUT_KERNELS: f64 = 1.02;

/// Ratio that the examples are to stay under.
const GOAL_WITH_KERNELS: f64 = 1.15;

/// Ratio that programs are to stay under whose parallel iterators become kernels.
const GOAL_WITH_STDPAR: f64 = 1.5;

/// Packages without kernels: each is built with its dependencies.
const PACKAGES: [&str; 3] = ["png", "schism-hcf", "rayon"];

/// The examples.
const EXAMPLES: [&str; 5] = ["saxpy", "mandelbrot", "image_filter", "nbody", "histogram"];

#[derive(Debug, PartialEq, Eq)]
struct Options {
    pairs: usize,
    stdpar: bool,
    /// Parts of names; all programs if there are none.
    only: Vec<String>,
}

impl Options {
    fn read(words: &[OsString]) -> Result<Self> {
        let mut options = Self { pairs: 5, stdpar: false, only: Vec::new() };
        let wrong = |text: String| Error::Usage(format!("{text}\n\n{USAGE}"));
        let misused = |error| misused("bench compile", USAGE, error);
        let mut parser = lexopt::Parser::from_args(words);
        while let Some(argument) = parser.next().map_err(misused)? {
            match argument {
                Long("stdpar") => options.stdpar = true,
                Long("only") => {
                    let names = parser.value().map_err(misused)?;
                    options.only.extend(parts_of_names(&names).map_err(wrong)?);
                }
                Value(number) => options.pairs = number_of_pairs(&number).map_err(wrong)?,
                option => return Err(misused(option.unexpected())),
            }
        }
        if !options.only.is_empty() && !options.stdpar {
            return Err(wrong("`--only` is of programs with `--stdpar`".to_owned()));
        }
        Ok(options)
    }
}

/// Measures, and prints the ratios.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::read(arguments)?;
    let checkout = Checkout::set_up()?;
    let (root, target) = (&checkout.root, &checkout.target);
    println!("{:28} {:<26} processor time", "schism / plain rustc", "wall time");
    if options.stdpar {
        return programs(&options, &checkout);
    }
    let cargo = |side| match side {
        Side::Schism => checkout.schism(),
        Side::Plain => checkout.plain(),
    };
    for profile in ["dev", "release"] {
        for package in PACKAGES {
            let build = |side: Side| {
                let target = target.join(format!("compile-{}", side.name()));
                remove(&target)?;
                Ok([time(cargo(side), root, &target, &["--package", package], profile)?])
            };
            both(build)?;
            let name = format!("{package} ({profile})");
            compare([&name], GOAL_WITHOUT_KERNELS, options.pairs, build)?;
        }
        for example in EXAMPLES {
            let build = |side: Side| {
                let source = root.join("examples").join(format!("{example}.rs"));
                let file = std::fs::File::options().append(true).open(&source);
                file.and_then(|file| file.set_modified(std::time::SystemTime::now()))
                    .at("touch", &source)?;
                let target = target.join(format!("examples-{}", side.name()));
                Ok([time(cargo(side), root, &target, &["--example", example], profile)?])
            };
            both(build)?;
            let name = format!("{example} ({profile})");
            compare([&name], GOAL_WITH_KERNELS, options.pairs, build)?;
        }
    }
    println!(
        "goals: {GOAL_WITHOUT_KERNELS} without kernels, {GOAL_WITH_KERNELS} for the examples; `!` is above them"
    );
    Ok(ExitCode::SUCCESS)
}

/// The programs of `bench programs`, with `--stdpar` and without.
fn programs(options: &Options, checkout: &Checkout) -> Result<ExitCode> {
    let folder = programs::folder(&checkout.root);
    // What it needs of the network is there before anything is measured.
    let mut fetch = checkout.plain();
    fetch.current_dir(&folder).args(["fetch", "--locked", "--quiet"]);
    command::capture(fetch, "needed to measure", "install cargo")?;
    let mut failed = false;
    for program in programs::chosen(&options.only)? {
        let build = |side: Side| {
            let cargo = || match side {
                Side::Schism => checkout.with_stdpar(&folder),
                Side::Plain => Ok(checkout.plain()),
            };
            let target = checkout.target.join(format!("compile-stdpar-{}", side.name()));
            remove(&target)?;
            let what = ["--package", program.name];
            let whole = time(cargo()?, &folder, &target, &what, "release")?;
            clean(cargo()?, &folder, &target, program)?;
            Ok([whole, time(cargo()?, &folder, &target, &what, "release")?])
        };
        let own = format!("  with {} alone", program.library);
        // One program that does not build is no reason to say nothing of the others.
        if let Err(error) = compare([program.name, &own], GOAL_WITH_STDPAR, options.pairs, build) {
            println!("{}: {error}", program.name);
            failed = true;
        }
    }
    println!("goal: {GOAL_WITH_STDPAR}; `!` is above it");
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Which compiler builds.
#[derive(Clone, Copy)]
enum Side {
    Schism,
    Plain,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Schism => "schism",
            Self::Plain => "plain",
        }
    }
}

/// Builds that do not count.
fn both<T>(build: impl Fn(Side) -> Result<T>) -> Result<()> {
    build(Side::Schism)?;
    build(Side::Plain)?;
    Ok(())
}

/// Takes turns, and prints a line for each of the builds that `build` makes one after the other.
fn compare<const N: usize>(
    names: [&str; N],
    goal: f64,
    pairs: usize,
    build: impl Fn(Side) -> Result<[Cost; N]>,
) -> Result<()> {
    let mut ratios = names.map(|_| [Vec::new(), Vec::new()]);
    for pair in 0..pairs {
        // The side that goes first changes, so that neither always finds the caches warm.
        let (ours, theirs) = if pair % 2 == 0 {
            let ours = build(Side::Schism)?;
            (ours, build(Side::Plain)?)
        } else {
            let theirs = build(Side::Plain)?;
            (build(Side::Schism)?, theirs)
        };
        for (index, [wall, processor]) in ratios.iter_mut().enumerate() {
            wall.push(ours[index].wall / theirs[index].wall);
            processor.push(ours[index].processor / theirs[index].processor);
        }
    }
    for (name, ratios) in names.iter().zip(ratios) {
        let [wall, processor] = ratios.map(|mut ratios| {
            let middle = median(&mut ratios);
            let mark = if middle <= goal { ' ' } else { '!' };
            format!("{middle:.3}{mark} ({:.3} to {:.3})", ratios[0], ratios[ratios.len() - 1])
        });
        println!("{name:28} {wall:<26} {processor}");
    }
    Ok(())
}

/// Builds, and says what it took.
fn time(
    mut cargo: Command,
    folder: &Path,
    target: &Path,
    what: &[&str],
    profile: &str,
) -> Result<Cost> {
    cargo.current_dir(folder).args(["build", "--quiet", "--profile", profile]).args(what);
    cargo.arg("--target-dir").arg(target);
    let (cost, _) = Cost::of(|| command::capture(cargo, "needed to measure", "install cargo"))?;
    Ok(cost)
}

/// Has cargo forget a program and the crate that does its work.
fn clean(mut cargo: Command, folder: &Path, target: &Path, program: &Program) -> Result<()> {
    cargo.current_dir(folder).args(["clean", "--quiet", "--release"]);
    cargo.args(["--package", program.name, "--package", program.library]);
    cargo.arg("--target-dir").arg(target);
    command::capture(cargo, "needed to measure", "install cargo").map(drop)
}

/// Removes a folder that may be there.
fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).at("remove", folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options> {
        Options::read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let options = read("3 --stdpar --only dssim,stark").unwrap();
        assert_eq!((options.pairs, options.stdpar), (3, true));
        assert_eq!(options.only, ["dssim", "stark"]);
        assert_eq!(read("").unwrap(), Options { pairs: 5, stdpar: false, only: Vec::new() });
        for line in ["--frobnicate", "0", "--only dssim", "--stdpar --only"] {
            assert!(read(line).unwrap_err().to_string().contains("usage: cargo schism bench"));
        }
    }
}
