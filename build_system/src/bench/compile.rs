//! `cargo schism bench compile`: wall time of schism's compiler beside plain rustc.
//!
//! Kernel-free crates are built from nothing, with all that they need; an example is built again after a change of its file,
//! which is what a person waits for. Both compilers take turns, and a ratio is taken within each pair.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use super::{median, pairs, workspace};
use crate::command;
use crate::environment;
use crate::error::{FileContext, Result};
use crate::home::Home;
use crate::setup::{self, Ready};

/// Ratio that kernel-free crates are to stay under.
const GOAL_WITHOUT_KERNELS: f64 = 1.02;

/// Ratio that the examples are to stay under.
const GOAL_WITH_KERNELS: f64 = 1.15;

/// Packages without kernels: each is built with its dependencies.
const PACKAGES: [&str; 3] = ["png", "schism-hcf", "rayon"];

/// The examples.
const EXAMPLES: [&str; 5] = ["saxpy", "mandelbrot", "image_filter", "nbody", "histogram"];

/// Measures both, and prints the ratios.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let pairs = pairs(arguments, 5)?;
    let ready = setup::ensure(&Home::from_environment()?)?;
    let root = workspace()?;
    let target = root.join("target").join("bench");

    println!("{:28} {:>32}", "", "schism / plain rustc, wall time");
    for profile in ["dev", "release"] {
        for package in PACKAGES {
            let build = |cargo: Command, side: &str| {
                let target = target.join(format!("compile-{side}"));
                if target.exists() {
                    std::fs::remove_dir_all(&target).at("remove", &target)?;
                }
                time(cargo, &root, &target, &["--package", package], profile)
            };
            compare(&ready, &format!("{package} ({profile})"), GOAL_WITHOUT_KERNELS, pairs, build)?;
        }
        for example in EXAMPLES {
            let build = |cargo: Command, side: &str| {
                let source = root.join("examples").join(format!("{example}.rs"));
                let file = std::fs::File::options().append(true).open(&source);
                file.and_then(|file| file.set_modified(std::time::SystemTime::now()))
                    .at("touch", &source)?;
                let target = target.join(format!("examples-{side}"));
                time(cargo, &root, &target, &["--example", example], profile)
            };
            compare(&ready, &format!("{example} ({profile})"), GOAL_WITH_KERNELS, pairs, build)?;
        }
    }
    println!("goals: {GOAL_WITHOUT_KERNELS} without kernels, {GOAL_WITH_KERNELS} for the examples");
    Ok(ExitCode::SUCCESS)
}

/// Takes turns, after one build of each that does not count, and prints a line.
fn compare(
    ready: &Ready,
    name: &str,
    goal: f64,
    pairs: usize,
    build: impl Fn(Command, &str) -> Result<f64>,
) -> Result<()> {
    build(crate::cargo::command(ready), "schism")?;
    build(plain(ready), "plain")?;
    let mut ratios = Vec::with_capacity(pairs);
    for pair in 0..pairs {
        // The side that goes first changes, so that neither always finds the caches warm.
        let (ours, theirs) = if pair % 2 == 0 {
            let ours = build(crate::cargo::command(ready), "schism")?;
            (ours, build(plain(ready), "plain")?)
        } else {
            let theirs = build(plain(ready), "plain")?;
            (build(crate::cargo::command(ready), "schism")?, theirs)
        };
        ratios.push(ours / theirs);
    }
    let middle = median(&mut ratios);
    let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
    let verdict = if middle <= goal { "" } else { "  above the goal" };
    println!("{name:28} {middle:>8.3} ({low:.3} to {high:.3}){verdict}");
    Ok(())
}

/// A cargo with the plain compiler.
fn plain(ready: &Ready) -> Command {
    let mut cargo = Command::new(&ready.toolchain.cargo);
    environment::restore(&mut cargo, &ready.toolchain);
    cargo
}

/// Seconds of one build.
fn time(
    mut cargo: Command,
    root: &Path,
    target: &Path,
    what: &[&str],
    profile: &str,
) -> Result<f64> {
    cargo.current_dir(root).args(["build", "--quiet", "--profile", profile]).args(what);
    cargo.arg("--target-dir").arg(target);
    let start = Instant::now();
    command::capture(cargo, "needed to measure", "install cargo")?;
    Ok(start.elapsed().as_secs_f64())
}
