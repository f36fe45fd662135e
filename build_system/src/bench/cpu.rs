//! `cargo schism bench cpu`: kernels on the CPU device beside the same loops in rayon.
//!
//! Two programs of the package `schism-bench`: `cpu_schism`, compiled by schism's compiler, and
//! `cpu_rayon`, compiled by plain rustc at opt-level 3 for the CPU at hand. They run in turn; a
//! ratio is taken within each pair, so that it holds when the machine's speed drifts.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::{median, pairs, workspace};
use crate::command;
use crate::environment;
use crate::error::Result;
use crate::home::Home;
use crate::setup::{self, Ready};

/// Ratio that the CPU device is to reach at this stage: rayon's time by schism's.
const GOAL: f64 = 0.9;

/// What a program printed: seconds and checksum by workload, in order.
pub type Times = Vec<(String, f64, String)>;

/// Builds both programs, runs them in turn, prints the ratios.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let pairs = pairs(arguments, 5)?;
    let ready = setup::ensure(&Home::from_environment()?)?;
    let root = workspace()?;
    let target = root.join("target").join("bench");
    let rayon = build(plain(&ready), &root, &target, "cpu_rayon")?;
    let schism = build(crate::cargo::command(&ready), &root, &target, "cpu_schism")?;

    let mut ratios: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut order = Vec::new();
    let mut own: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut wrong = false;
    for pair in 1..=pairs {
        eprintln!("pair {pair} of {pairs}");
        let ours = times(&ready, &schism)?;
        let theirs = times(&ready, &rayon)?;
        for (name, seconds, checksum) in &ours {
            if pair == 1 {
                order.push(name.clone());
            }
            own.entry(name.clone()).or_default().push(*seconds);
            let Some((_, peer, expected)) = theirs.iter().find(|(peer, ..)| peer == name) else {
                continue;
            };
            ratios.entry(name.clone()).or_default().push(peer / seconds);
            if checksum != expected {
                println!("{name}: the results differ: {checksum}, rayon has {expected}");
                wrong = true;
            }
        }
    }

    println!("{:14} {:>10} {:>22}", "", "median", "rayon / schism");
    for name in order {
        let seconds = own.get_mut(&name).map_or(f64::NAN, |own| median(own));
        match ratios.get_mut(&name) {
            None => println!("{name:14} {}", duration(seconds)),
            Some(ratios) => {
                let middle = median(ratios);
                let (low, high) = (ratios[0], ratios[ratios.len() - 1]);
                let verdict = if middle >= GOAL { "" } else { "  below the goal" };
                println!(
                    "{name:14} {} {middle:>8.2} ({low:.2} to {high:.2}){verdict}",
                    duration(seconds)
                );
            }
        }
    }
    println!("goal: {GOAL} of rayon or better on every workload; above 1 schism is faster");
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A cargo with the plain compiler, for the CPU at hand.
pub fn plain(ready: &Ready) -> Command {
    let mut cargo = Command::new(&ready.toolchain.cargo);
    environment::restore(&mut cargo, &ready.toolchain);
    cargo.env("RUSTFLAGS", "-C target-cpu=native");
    cargo
}

/// Builds one of the programs, and gives the place of a copy that the other build leaves alone.
pub fn build(mut cargo: Command, root: &Path, target: &Path, name: &str) -> Result<PathBuf> {
    let target = target.join(name);
    cargo.current_dir(root).args(["build", "--release", "--quiet", "--package", "schism-bench"]);
    cargo.args(["--bin", name]).arg("--target-dir").arg(&target);
    let purpose = "needed to build the benchmark";
    command::capture(cargo, purpose, "install cargo")?;
    Ok(target.join("release").join(name))
}

/// Runs a program and reads its lines.
fn times(ready: &Ready, program: &Path) -> Result<Times> {
    let mut run = Command::new(program);
    run.env("SCHISM_JIT", ready.installed.stage2());
    // The first launch is that of a kernel that is compiled; `bench launch` has the other.
    run.env("SCHISM_CACHE", "0");
    Ok(read(&command::capture(run, "needed to measure", "it was just built")?))
}

/// The lines of a program.
pub fn read(output: &str) -> Times {
    output
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, seconds, checksum) = (words.next()?, words.next()?, words.next()?);
            Some((name.to_owned(), seconds.parse().ok()?, checksum.to_owned()))
        })
        .collect()
}

/// A time for people.
pub fn duration(seconds: f64) -> String {
    if seconds < 1e-3 {
        format!("{:>7.2} us", seconds * 1e6)
    } else {
        format!("{:>7.2} ms", seconds * 1e3)
    }
}
