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
//! - `default`: each as it is when nobody asks for anything.

pub mod baseline;
mod options;
mod pack;
mod record;
pub mod table;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use schism_hcf::Targets;

use self::options::{Mode, Options, USAGE};
use self::record::Record;
use self::table::{Line, Table};
use super::{compilers, cpu, pack as packed, workspace};
use crate::arguments::asks_for_help;
use crate::command;
use crate::error::{FileContext, Result};
use crate::home::Home;
use crate::setup;
use crate::targets::{self, TargetsOption};

/// The program with schism's kernels, and the name of its binary.
const PROGRAM: &str = "gpu_schism";

/// The same with code made ahead of time, in a pack.
const AOT_PROGRAM: &str = "gpu_schism_aot";

/// Where the baselines' sources are, in a checkout and in a pack.
const SOURCES: &str = "gpu";

/// What is needed to measure.
struct Bench {
    /// schism's program, with what it needs in its environment.
    program: PathBuf,
    /// The same with code made ahead of time.
    aot: Option<PathBuf>,
    stage2: PathBuf,
    /// The folder of the baselines' sources.
    sources: PathBuf,
    /// A folder for what is made on the way.
    work: PathBuf,
}

/// Checks, packs, or measures, as the arguments say.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    if asks_for_help(arguments) {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    let options = Options::read(arguments)?;
    if let Mode::Pack(folder) = &options.mode {
        return pack::pack(folder, options.targets.as_ref());
    }
    let nvcc = if options.check { None } else { Some(baseline::find()?) };
    let record = Record::begin(options.save.as_deref())?;
    let bench = match &options.mode {
        Mode::Unpacked(folder) => Bench::unpacked(folder)?,
        // What the results are compared for is all compiled at the launch.
        _ => Bench::built(options.targets.as_ref().filter(|_| !options.check))?,
    };
    match nvcc {
        None => bench.check(&options, record),
        Some(nvcc) => bench.measure(&options, &nvcc, record),
    }
}

impl Bench {
    /// Builds the program in the checkout at hand, and again for these targets.
    fn built(targets: Option<&Targets>) -> Result<Self> {
        let ready = setup::ensure(&Home::from_environment()?)?;
        let root = workspace()?;
        let target = root.join("target").join("bench");
        let build = |asked: TargetsOption, target: &Path| {
            let mut cargo = crate::cargo::command(&ready);
            targets::apply(&mut cargo, &asked, &[])?;
            cpu::build(cargo, &root, target, PROGRAM)
        };
        let program = build(TargetsOption::None, &target)?;
        let aot =
            targets.map(|targets| build(TargetsOption::Some(targets.clone()), &target.join("aot")));
        let aot = aot.transpose()?;
        let sources = root.join("benches").join(SOURCES);
        let stage2 = compilers::stage2(&ready);
        Ok(Self { program, aot, stage2, sources, work: target.join("gpu") })
    }

    /// Takes the program from a pack.
    fn unpacked(folder: &Path) -> Result<Self> {
        let folder = packed::open(folder, "gpu", &[PROGRAM, packed::STAGE2])?;
        Ok(Self {
            program: folder.join(PROGRAM),
            aot: Some(folder.join(AOT_PROGRAM)).filter(|program| program.is_file()),
            stage2: folder.join(packed::STAGE2),
            sources: folder.join(SOURCES),
            work: folder.join(packed::WORK),
        })
    }

    /// A run of the program.
    fn program(&self, options: &Options) -> Command {
        let mut program = Command::new(&self.program);
        program.env("SCHISM_JIT", &self.stage2).args(&options.passed);
        program
    }

    /// A run of the program with code made ahead of time, which finds no stage 2; only in the
    /// variant that needs none.
    fn aot_program(&self, options: &Options) -> Option<Command> {
        let mut program = Command::new(self.aot.as_ref()?);
        program.env("SCHISM_JIT", self.work.join("no-stage-2").join(packed::STAGE2));
        program.args(&options.passed).arg("--precise");
        Some(program)
    }

    /// Compares all results with the host's.
    fn check(&self, options: &Options, mut record: Record) -> Result<ExitCode> {
        let mut program = self.program(options);
        program.args(["--check", "--runs", "1"]);
        let output = command::capture(program, "to check the kernels", "it was just built")?;
        print!("{output}");
        record.add(&output);
        record.end()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Builds the baselines, runs all three in turn, prints the ratios.
    fn measure(&self, options: &Options, nvcc: &Path, mut record: Record) -> Result<ExitCode> {
        std::fs::create_dir_all(&self.work).at("create", &self.work)?;
        let baselines = baseline::build(nvcc, &self.sources, &self.work)?;
        let caches = self.fresh_caches()?;
        let mut table = Table::default();
        let mut all = String::new();
        let mut clock = None;
        for pair in 1..=options.pairs {
            eprintln!("pair {pair} of {}", options.pairs);
            let mut schism = self.program(options);
            schism.env("SCHISM_DEVICE", "cuda:0").envs(caches.iter().map(|(name, at)| (name, at)));
            let output = command::capture(schism, "to measure", "it was just built")?;
            let mut lines = Line::all(&output);
            record.add(&output);
            all.push_str(&output);
            if options.targets.is_some()
                && let Some(mut aot) = self.aot_program(options)
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

    /// Empty caches for the compiled kernels, schism's own and the driver's, so that the first run
    /// of schism's program compiles all of them and the next finds them.
    fn fresh_caches(&self) -> Result<[(&'static str, PathBuf); 2]> {
        let caches = self.work.join("caches");
        if caches.exists() {
            std::fs::remove_dir_all(&caches).at("remove", &caches)?;
        }
        let caches = [
            ("SCHISM_CACHE_DIR", caches.join("schism")),
            ("CUDA_CACHE_PATH", caches.join("driver")),
        ];
        for (_, folder) in &caches {
            std::fs::create_dir_all(folder).at("create", folder)?;
        }
        Ok(caches)
    }
}
