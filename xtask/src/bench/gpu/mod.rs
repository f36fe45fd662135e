//! `cargo schism bench gpu`: kernels on an NVIDIA GPU beside baselines in CUDA C++.
//!
//! Four programs take turns in one session: `gpu_schism` of the package `schism-bench`; the same,
//! with code made ahead of time and without stage 2; and their baseline, `benches/gpu/main.cu`,
//! compiled by nvcc in two ways: as it does by default, which contracts a product and a sum to one
//! operation, and with `-fmad=false`, which rounds each, as Rust does. So there are five ratios,
//! nvcc's time by schism's:
//!
//! - `precise`: schism by default beside `-fmad=false`. Like with like: both round every operation,
//!   and the results agree bit by bit.
//! - `aot`: the same, of the code that was made ahead of time.
//! - `specialised`: as `precise`, of kernels whose sizes schism makes constants of their code
//!   (`Specialized`); nvcc's are the same programs as before, which read them. With `precise`
//!   beside it this shows what specialization does.
//! - `relaxed`: schism with `Math::Relaxed` beside nvcc by default. Both may contract.
//! - `default`: each as it is without options.

pub mod baseline;
mod options;
mod pack;
mod programs;
mod record;
pub mod table;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use cargo_schism::command;
use cargo_schism::error::{FileContext, Result};

use self::options::Options;
pub use self::options::USAGE;
use self::programs::Programs;
use self::record::Record;
use self::table::{Line, Table};
use super::pack::Mode;

/// Checks, packs, or measures, as the arguments say.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let options = Options::read(arguments)?;
    if let Mode::Pack(folder) = &options.mode {
        return pack::pack(folder, options.targets.as_ref());
    }
    let nvcc = if options.check { None } else { Some(baseline::find()?) };
    let record = Record::begin(options.save.as_deref())?;
    let programs = match &options.mode {
        Mode::Unpacked(folder) => Programs::unpacked(folder)?,
        // What the results are compared for is all compiled at the launch.
        _ => Programs::built(options.targets.as_ref().filter(|_| !options.check))?,
    };
    match nvcc {
        None => check(&programs, &options, record),
        Some(nvcc) => measure(&programs, &options, &nvcc, record),
    }
}

/// The median time of each kernel by its name and type, as the program prints them.
pub fn times(output: &str) -> Vec<(String, f64)> {
    let lines = Line::all(output).into_iter();
    let times = lines.map(|line| (format!("{}/{}", line.name.0, line.name.1), line.median));
    times.collect()
}

/// Compares all results with the host's.
fn check(programs: &Programs, options: &Options, mut record: Record) -> Result<ExitCode> {
    let mut program = programs.program(options);
    program.args(["--check", "--runs", "1"]);
    let output = command::capture(program, "to check the kernels", "it was just built")?;
    print!("{output}");
    record.add(&output);
    record.end()?;
    Ok(ExitCode::SUCCESS)
}

/// Builds the baselines, runs all three in turn, prints the ratios.
fn measure(
    programs: &Programs,
    options: &Options,
    nvcc: &Path,
    mut record: Record,
) -> Result<ExitCode> {
    std::fs::create_dir_all(&programs.work).at("create", &programs.work)?;
    let baselines = baseline::build(nvcc, &programs.sources, &programs.work)?;
    let caches = programs.fresh_caches()?;
    let mut table = Table::default();
    let mut all = String::new();
    let mut clock = None;
    for pair in 1..=options.pairs {
        eprintln!("pair {pair} of {}", options.pairs);
        let mut schism = programs.program(options);
        schism.env("SCHISM_DEVICE", "cuda:0").envs(caches.iter().map(|(name, at)| (name, at)));
        let output = command::capture(schism, "to measure", "it was just built")?;
        let mut lines = Line::all(&output);
        record.add(&output);
        all.push_str(&output);
        if options.targets.is_some()
            && let Some(mut aot) = programs.aot_program(options)
        {
            aot.env("SCHISM_DEVICE", "cuda:0").envs(caches.iter().map(|(name, at)| (name, at)));
            let output = command::capture(aot, "to measure", "it was just built")?;
            let output = output.replace(" variant=precise ", " variant=aot ");
            lines.extend(Line::all(&output));
            record.add(&output);
            all.push_str(&output);
        }
        // The baselines use the clock that schism's program has chosen.
        let clock = clock.get_or_insert_with(|| Line::clock(&lines).to_owned());
        // The one that goes first changes, so that neither always finds the GPU cold.
        let order = if pair % 2 == 1 { [0, 1] } else { [1, 0] };
        for baseline in order.map(|index| &baselines[index]) {
            let mut run = Command::new(baseline);
            run.args(&options.passed).args(["--clock", clock]);
            let output = command::capture(run, "to measure", "it was just built")?;
            lines.extend(Line::all(&output));
            record.add(&output);
            all.push_str(&output);
        }
        table.add(&lines);
    }
    let mut devices: Vec<&str> = Vec::new();
    for line in all.lines().filter(|line| line.starts_with("device ")) {
        if !devices.contains(&line) {
            println!("{line}");
            devices.push(line);
        }
    }
    println!("{}", baseline::version(nvcc)?);
    print!("{}", table.render());
    record.end()?;
    Ok(if table.is_right() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
