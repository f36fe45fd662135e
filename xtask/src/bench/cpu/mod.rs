//! `cargo schism bench cpu`: kernels on the CPU device beside rayon, ISPC and OpenCL.
//!
//! Two programs of the package `schism-bench`: `cpu_schism`, compiled by schism's compiler, and
//! `cpu_peers`, compiled by plain rustc at opt-level 3 for the CPU at hand, which runs rayon's
//! loops, ISPC's kernels, or OpenCL's. They wait for commands (`benches/src/cpu/serve.rs`), so that
//! one run of each follows the other; a ratio is taken within each round, so that it holds when the
//! machine's speed drifts. Times are processor times, of all threads. Results are compared with
//! rayon's.

pub mod kernels;
pub mod peers;
mod table;

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use cargo_schism::command;
use cargo_schism::error::{Error, Result};

use super::builds::Checkout;
use super::options::pairs;
use kernels::{KERNELS, Kernel, OF_HOST};
use peers::Peer;
use table::{Row, Table};

/// How it is used.
pub const USAGE: &str = "\
usage: cargo schism bench cpu [ROUNDS] [NAME…]

Measures the kernels whose names contain one of NAME (default: all), so many times (default: 7).
ISPC is found in PATH, or is the program SCHISM_BENCH_ISPC; its target is SCHISM_BENCH_ISPC_TARGET (default: the widest of the
processor). OpenCL is libOpenCL.so.1, or the libraries SCHISM_BENCH_OPENCL, separated by colons: loaders or runtimes";

/// Builds the programs, runs them in turns, prints the ratios.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
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
    let checkout = Checkout::set_up()?;
    let peers = checkout.build(checkout.native(), "cpu_peers")?;
    let schism = checkout.build(checkout.schism(), "cpu_schism")?;
    let limits = limits(&peers)?;
    let start = |library: &str| {
        let mut program = Command::new(&schism);
        program.env("SCHISM_DEVICE", "cpu").env("SCHISM_CPU_MATH", library);
        program.env("SCHISM_JIT", checkout.stage2());
        Peer::start(program, "schism")
    };
    let (mut all, mut of_host) = (vec![start("")?], start("host")?);
    all.extend(peers::start(&peers, &checkout.root.join("benches").join("cpu"), &checkout.target)?);
    let mut table = Table::new(all.iter().map(|peer| peer.name.clone()).collect(), limits);
    for kernel in kernels {
        eprintln!("{}", kernel.name);
        let is_of_host = kernel.name.ends_with(OF_HOST);
        if is_of_host {
            std::mem::swap(&mut all[0], &mut of_host);
        }
        let row = measure(kernel, &mut all, rounds, &checkout.target);
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
