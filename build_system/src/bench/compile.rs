//! `cargo schism bench compile`: time of schism's compiler beside plain rustc.
//!
//! Kernel-free crates are built from nothing, with all that they need; an example is built again
//! after a change of its file, which is what a person waits for. Both compilers take turns, and a
//! ratio is taken within each pair: of the time that passed, and of the processor time, which what
//! else the machine does changes less.

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

    println!("{:28} {:<26} processor time", "schism / plain rustc", "wall time");
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
    println!(
        "goals: {GOAL_WITHOUT_KERNELS} without kernels, {GOAL_WITH_KERNELS} for the examples; `!` is above them"
    );
    Ok(ExitCode::SUCCESS)
}

/// Takes turns, after one build of each that does not count, and prints a line.
fn compare(
    ready: &Ready,
    name: &str,
    goal: f64,
    pairs: usize,
    build: impl Fn(Command, &str) -> Result<Cost>,
) -> Result<()> {
    build(crate::cargo::command(ready), "schism")?;
    build(plain(ready), "plain")?;
    let (mut wall, mut processor) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
    for pair in 0..pairs {
        // The side that goes first changes, so that neither always finds the caches warm.
        let (ours, theirs) = if pair % 2 == 0 {
            let ours = build(crate::cargo::command(ready), "schism")?;
            (ours, build(plain(ready), "plain")?)
        } else {
            let theirs = build(plain(ready), "plain")?;
            (build(crate::cargo::command(ready), "schism")?, theirs)
        };
        wall.push(ours.wall / theirs.wall);
        processor.push(ours.processor / theirs.processor);
    }
    let [wall, processor] = [wall, processor].map(|mut ratios| {
        let middle = median(&mut ratios);
        let mark = if middle <= goal { ' ' } else { '!' };
        format!("{middle:.3}{mark} ({:.3} to {:.3})", ratios[0], ratios[ratios.len() - 1])
    });
    println!("{name:28} {wall:<26} {processor}");
    Ok(())
}

/// A cargo with the plain compiler.
fn plain(ready: &Ready) -> Command {
    let mut cargo = Command::new(&ready.toolchain.cargo);
    environment::restore(&mut cargo, &ready.toolchain);
    cargo
}

/// What a build took.
#[derive(Clone, Copy)]
struct Cost {
    /// Seconds from its begin to its end.
    wall: f64,
    /// Processor time of all its processes; its unit cancels out.
    processor: f64,
}

/// Builds, and says what it took.
fn time(
    mut cargo: Command,
    root: &Path,
    target: &Path,
    what: &[&str],
    profile: &str,
) -> Result<Cost> {
    cargo.current_dir(root).args(["build", "--quiet", "--profile", profile]).args(what);
    cargo.arg("--target-dir").arg(target);
    let before = processor_ticks()?;
    let start = Instant::now();
    command::capture(cargo, "needed to measure", "install cargo")?;
    let wall = start.elapsed().as_secs_f64();
    Ok(Cost { wall, processor: processor_ticks()? - before })
}

/// Processor time of this process's children that have ended, and of theirs, in ticks of the clock
/// (`man 5 proc`).
fn processor_ticks() -> Result<f64> {
    let path = Path::new("/proc/self/stat");
    let text = std::fs::read_to_string(path).at("read", path)?;
    // The second field is a name in parentheses, which may have spaces in it. User and system time
    // of the children are the fields 16 and 17.
    let fields = text.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    Ok(fields.split_whitespace().skip(13).take(2).flat_map(str::parse::<f64>).sum())
}
