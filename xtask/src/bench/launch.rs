//! `cargo schism bench launch`: how long the first launch of a kernel takes in a process, when it
//! must be compiled, and when an earlier process has compiled it; and later ones over vectors of the
//! host beside the same over buffers.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use cargo_schism::command;
use cargo_schism::error::{FileContext, Result};

use super::builds::Checkout;
use super::options::pairs;
use super::output::{duration, read};
use super::statistics::median;

/// How it is used.
pub const USAGE: &str =
    "usage: cargo schism bench launch [PROCESSES]    so many of each (default: 10)";

/// The most that a first launch is to take, in seconds: of a kernel that is compiled, and of one
/// that is found.
const GOALS: [f64; 2] = [50e-3, 2e-3];

/// The most that the choice of a device is to take where there is no GPU, in seconds.
const CHOICE: f64 = 1e-3;

/// How much longer a launch over vectors is to take than one over buffers, at most.
const SLICES: f64 = 1.02;

/// Runs the program in turn with nothing kept, and with all its kernels.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let pairs = pairs(arguments, 10)?;
    let checkout = Checkout::set_up()?;
    let program = checkout.build(checkout.schism(), "launch_schism")?;
    let folder = checkout.target.join("kernels");

    let mut order = Vec::new();
    let mut times: BTreeMap<String, [Vec<f64>; 2]> = BTreeMap::new();
    let mut checksums: BTreeMap<String, String> = BTreeMap::new();
    let mut wrong = false;
    for pair in 1..=pairs {
        eprintln!("pair {pair} of {pairs}");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).at("remove", &folder)?;
        }
        for side in [0, 1] {
            for (name, seconds, checksum) in read(&launch(&checkout, &program, &folder)?) {
                if !times.contains_key(&name) {
                    order.push(name.clone());
                }
                times.entry(name.clone()).or_default()[side].push(seconds);
                wrong |= checksums.entry(name).or_insert(checksum.clone()) != &checksum;
            }
        }
    }

    println!("{:14} {:>36} {:>36}", "", "compiled", "found on disk");
    for name in order {
        let Some(sides) = times.get_mut(&name) else { continue };
        print!("{name:14}");
        for (side, goal) in sides.iter_mut().zip(GOALS) {
            let middle = median(side);
            let (low, high) = (side[0], side[side.len() - 1]);
            let verdict = if middle <= goal || name == "queue" { ' ' } else { '!' };
            print!(" {} ({} to {}){verdict}", duration(middle), duration(low), duration(high));
        }
        println!();
    }
    println!(
        "median (least to most) of {pairs} processes each; the queue opens stage 2 where nothing is kept\n\
         goals: {:.0} ms compiled, {:.0} ms found; ! is above",
        GOALS[0] * 1e3,
        GOALS[1] * 1e3
    );
    let mut choices = Vec::new();
    for _ in 0..pairs {
        let mut run = command_of(&checkout, &program, &folder);
        run.env_remove("SCHISM_DEVICE").env("SCHISM_CUDA", "").env("SCHISM_HIP", "").arg("choice");
        let printed = command::capture(run, "needed to measure", "it was just built")?;
        choices.extend(read(&printed).into_iter().map(|(_, seconds, _)| seconds));
    }
    let middle = median(&mut choices);
    println!(
        "the choice of a device: {} ({} to {}){}, where no GPU is there; goal: {:.0} ms",
        duration(middle),
        duration(choices[0]),
        duration(choices[choices.len() - 1]),
        if middle <= CHOICE { "" } else { "!" },
        CHOICE * 1e3
    );
    let mut run = command_of(&checkout, &program, &folder);
    run.arg("slices");
    let printed = command::capture(run, "needed to measure", "it was just built")?;
    println!(
        "{:14} {:>14} {:>14} {:>7} {:>15} {:>7} {:>15} {:>7}",
        "elements", "buffers", "vectors", "ratio", "aligned", "ratio", "resident", "ratio"
    );
    for row in read(&printed).chunks_exact(4) {
        let [(name, buffers, sum), others @ ..] = row else { continue };
        let len = name.trim_start_matches("buffers-");
        print!("{len:14} {:>14}", duration(*buffers));
        for (_, slices, other_sum) in others {
            let ratio = slices / buffers;
            let verdict = if ratio <= SLICES { ' ' } else { '!' };
            print!(" {:>14} {ratio:>7.3}{verdict}", duration(*slices));
            wrong |= sum != other_sum;
        }
        println!();
    }
    println!(
        "medians of launches that follow one another; goal: a ratio of {SLICES}; vectors begin where the allocator\n\
         has them begin, aligned ones at a cache line as buffers do; resident ones are views of `Queue::resident`"
    );
    if wrong {
        println!("the results differ");
    }
    Ok(if wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn launch(checkout: &Checkout, program: &Path, folder: &Path) -> Result<String> {
    let run = command_of(checkout, program, folder);
    command::capture(run, "needed to measure", "it was just built")
}

fn command_of(checkout: &Checkout, program: &Path, folder: &Path) -> Command {
    let mut run = Command::new(program);
    run.env("SCHISM_JIT", checkout.stage2()).env("SCHISM_DEVICE", "cpu");
    run.env("SCHISM_CACHE", "1").env("SCHISM_CACHE_DIR", folder);
    run
}
