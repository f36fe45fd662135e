//! `cargo schism bench cpu`: kernels on the CPU device beside rayon, ISPC and OpenCL.
//!
//! Two programs of the package `schism-bench`: `cpu_schism`, compiled by schism's compiler, and
//! `cpu_peers`, compiled by plain rustc at opt-level 3 for the CPU at hand, which runs rayon's
//! loops, ISPC's kernels, or OpenCL's. They wait for commands (`benches/src/cpu/serve.rs`), so that
//! one run of each follows the other; a ratio is taken within each round, so that it holds when the
//! machine's speed drifts. Times are processor times, of all threads. Results are compared with
//! rayon's.

mod peers;
mod table;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::{compilers, pairs, workspace};
use crate::arguments::asks_for_help;
use crate::command;
use crate::error::{Error, Result};
use crate::home::Home;
use crate::setup::{self, Ready};
use peers::Peer;
use table::{Row, Table};

/// How it is used.
const USAGE: &str = "\
usage: cargo schism bench cpu [ROUNDS] [NAME…]

Measures the kernels whose names contain one of NAME (default: all), so many times (default: 7).
ISPC is found in PATH, or is the program SCHISM_BENCH_ISPC; its target is SCHISM_BENCH_ISPC_TARGET (default: the widest of the
processor). OpenCL is libOpenCL.so.1, or the libraries SCHISM_BENCH_OPENCL, separated by colons: loaders or runtimes";

/// A workload.
struct Kernel {
    /// Its name; with [`OF_HOST`] at the end it is another one with the host's mathematics.
    name: &'static str,
    /// Bytes that it cannot but load and store, and floating-point operations, if it is known.
    work: Option<(f64, f64)>,
    /// The greatest relative difference between results, which have other mathematics libraries.
    tolerance: f32,
    kind: Kind,
}

/// Ends the names of workloads with `SCHISM_CPU_MATH=host`.
const OF_HOST: &str = "_host_math";

/// What a workload shows.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Items,
    Barriers,
    /// The same once more, as an option has it: not in the means either.
    Option,
    /// The cost of a launch, which is not in the means.
    Launch,
    /// The cost of waiting on a stack, so many times. Nobody else does.
    Stacks(f64),
}

const fn kernel(name: &'static str, bytes: f64, operations: f64) -> Kernel {
    Kernel { name, work: Some((bytes, operations)), tolerance: 0.0, kind: Kind::Items }
}

const fn barriers(name: &'static str, bytes: f64, operations: f64) -> Kernel {
    Kernel { kind: Kind::Barriers, ..kernel(name, bytes, operations) }
}

const fn of_host(name: &'static str, bytes: f64, operations: f64) -> Kernel {
    Kernel { kind: Kind::Option, ..kernel(name, bytes, operations) }
}

const fn launch(name: &'static str) -> Kernel {
    Kernel { name, work: None, tolerance: 0.0, kind: Kind::Launch }
}

const STREAM: f64 = (1 << 24) as f64;
const MILLION: f64 = (1 << 20) as f64;

/// All workloads. Work that depends on the data, or is not of floating-point numbers, has bytes
/// only.
const KERNELS: &[Kernel] = &[
    kernel("saxpy", 12.0 * STREAM, 2.0 * STREAM),
    kernel("triad", 12.0 * STREAM, 2.0 * STREAM),
    kernel("mandelbrot", 4.0 * 786_432.0, 0.0),
    kernel("nbody", 56.0 * 4096.0, 20.0 * 4096.0 * 4096.0),
    Kernel { tolerance: 2e-4, ..kernel("black_scholes", 20.0 * MILLION, 60.0 * MILLION) },
    Kernel {
        tolerance: 2e-4,
        ..of_host("black_scholes_host_math", 20.0 * MILLION, 60.0 * MILLION)
    },
    kernel("image_filter", 30.0 * 3_145_728.0, 60.0 * 3_145_728.0),
    kernel("convolution", 8.0 * 786_432.0, 50.0 * 786_432.0),
    kernel("ray_spheres", 4.0 * 786_432.0, 500.0 * 786_432.0),
    kernel("sha256", 4.0 * 65_536.0, 0.0),
    kernel("spmv", 8.0 * 2_097_152.0 + 1_572_864.0, 2.0 * 2_097_152.0),
    barriers("sgemm", 12.0 * 262_144.0, 2.0 * 134_217_728.0),
    barriers("reduction", 4.0 * MILLION, 0.0),
    barriers("scan", 8.0 * MILLION, 0.0),
    barriers("transpose", 8.0 * 262_144.0, 0.0),
    barriers("histogram", 4.0 * MILLION, 0.0),
    kernel("binary_search", 8.0 * MILLION, 0.0),
    launch("launch_1"),
    launch("launch_million"),
    // Work-items, and how often each waits.
    Kernel { kind: Kind::Stacks(16_384.0 * 200.0), ..launch("stacks") },
];

/// Builds the programs, runs them in turns, prints the ratios.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    if asks_for_help(arguments) {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    }
    let (rounds, names) = options(arguments)?;
    let wanted = |kernel: &&Kernel| {
        names.is_empty() || names.iter().any(|name| kernel.name.contains(name.as_str()))
    };
    let kernels: Vec<&Kernel> = KERNELS.iter().filter(wanted).collect();
    if kernels.is_empty() {
        let all: Vec<_> = KERNELS.iter().map(|kernel| kernel.name).collect();
        return Err(Error::Usage(format!(
            "no kernel has such a name; there are: {}",
            all.join(" ")
        )));
    }
    let ready = setup::ensure(&Home::from_environment()?)?;
    let root = workspace()?;
    let target = root.join("target").join("bench");
    let peers = build(plain(&ready), &root, &target, "cpu_peers")?;
    let schism = build(crate::cargo::command(&ready), &root, &target, "cpu_schism")?;
    let limits = limits(&peers)?;
    let start = |library: &str| {
        let mut program = Command::new(&schism);
        program.env("SCHISM_DEVICE", "cpu").env("SCHISM_CPU_MATH", library);
        if std::env::var_os("SCHISM_JIT").is_none() {
            program.env("SCHISM_JIT", ready.installed.stage2());
        }
        Peer::start(program, "schism")
    };
    let (mut all, mut of_host) = (vec![start("")?], start("host")?);
    all.extend(peers::start(&peers, &root.join("benches").join("cpu"), &target)?);
    let mut table = Table::new(all.iter().map(|peer| peer.name.clone()).collect(), limits);
    for kernel in kernels {
        eprintln!("{}", kernel.name);
        let is_of_host = kernel.name.ends_with(OF_HOST);
        if is_of_host {
            std::mem::swap(&mut all[0], &mut of_host);
        }
        let row = measure(kernel, &mut all, rounds, &target);
        if is_of_host {
            std::mem::swap(&mut all[0], &mut of_host);
        }
        table.add(row?);
    }
    Ok(if table.print() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How many rounds, and parts of names.
fn options(arguments: &[OsString]) -> Result<(usize, Vec<String>)> {
    let is_number = |text: &&OsString| text.to_str().is_some_and(|it| it.parse::<i64>().is_ok());
    let first = arguments.first().filter(is_number).is_some();
    let (number, names) = arguments.split_at(usize::from(first));
    let names = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    Ok((pairs(number, 7)?, names))
}

/// Bytes and floating-point operations per second.
fn limits(program: &Path) -> Result<(f64, f64)> {
    let mut run = Command::new(program);
    run.arg("limits");
    let output = command::capture(run, "needed to measure", "it was just built")?;
    let mut numbers = output.split_whitespace().filter_map(|word| word.parse().ok());
    Ok((numbers.next().unwrap_or(f64::NAN), numbers.next().unwrap_or(f64::NAN)))
}

/// One workload by all peers, in turns.
fn measure(kernel: &'static Kernel, peers: &mut [Peer], rounds: usize, work: &Path) -> Result<Row> {
    /// How long a peer runs at least in each round, in seconds of processor time.
    const LENGTH: f64 = 0.03;
    let mut row = Row { kernel, times: Vec::new(), wrong: Vec::new() };
    let mut results = Vec::new();
    let mut counts = Vec::new();
    for peer in &mut *peers {
        row.times.push(Vec::new());
        if !peer.open(kernel.name.trim_end_matches(OF_HOST))? {
            results.push(None);
            counts.push(0);
            continue;
        }
        // The first run compiles kernels and touches memory; its result is checked.
        peer.run(1)?;
        results.push(Some(peer.save(&work.join("result"))?));
        let time = peer.run(1)?.max(1e-9);
        counts.push((LENGTH / time).ceil().clamp(1.0, 100_000.0) as u32);
    }
    // Rayon is the second peer, and always there: what the host computes.
    if let Some(Some(expected)) = results.get(1) {
        for (peer, result) in peers.iter().zip(&results) {
            let Some(result) = result else { continue };
            if let Some(difference) = table::difference(expected, result, kernel.tolerance) {
                row.wrong.push(format!("{}: {}: {difference}", kernel.name, peer.name));
            }
        }
    }
    for _ in 0..rounds {
        for (at, peer) in peers.iter_mut().enumerate() {
            if counts[at] > 0 {
                row.times[at].push(peer.run(counts[at])?);
            }
        }
    }
    Ok(row)
}

/// A cargo with the plain compiler, for the CPU at hand.
pub fn plain(ready: &Ready) -> Command {
    let mut cargo = compilers::plain(ready);
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

/// What a program printed: seconds and checksum by workload, in order.
pub type Times = Vec<(String, f64, String)>;

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
