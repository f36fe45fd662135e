//! `cargo schism bench SUITE`: measurements of schism itself.

mod ablation;
mod algorithms;
mod builds;
mod compile;
mod cost;
mod cpu;
mod directives;
mod gpu;
mod launch;
mod opencl;
mod options;
mod output;
mod pack;
mod programs;
mod statistics;
mod stdpar;

use std::ffi::OsString;
use std::fmt::Write;
use std::process::ExitCode;

use cargo_schism::arguments::{asks_for_help, suggestion};
use cargo_schism::error::{Error, Result};
use cargo_schism::{cargo, hcf};

/// Something that can be measured.
struct Suite {
    /// What follows `bench` on the command line.
    name: &'static str,
    /// One line for the help text.
    summary: &'static str,
    /// How it is used.
    usage: &'static str,
    /// Measures, with the arguments after the name.
    run: fn(&[OsString]) -> Result<ExitCode>,
}

/// All suites; a module for each beside this one.
const SUITES: &[Suite] = &[
    Suite {
        name: "ablation",
        summary: "kernels with each optional pass and without it: docs/ablation.md",
        usage: ablation::USAGE,
        run: ablation::run,
    },
    Suite {
        name: "algorithms",
        summary: "schism::algorithms beside rayon, and on an NVIDIA GPU beside CUB",
        usage: algorithms::USAGE,
        run: algorithms::run,
    },
    Suite {
        name: "compile",
        summary: "time of schism's compiler beside plain rustc",
        usage: compile::USAGE,
        run: compile::run,
    },
    Suite {
        name: "cpu",
        summary: "kernels on the CPU device beside rayon, ISPC and OpenCL",
        usage: cpu::USAGE,
        run: cpu::run,
    },
    Suite {
        name: "directives",
        summary: "loops by directives beside launches by hand, rayon, and CUDA C++",
        usage: directives::USAGE,
        run: directives::run,
    },
    Suite {
        name: "gpu",
        summary: "kernels on an NVIDIA GPU beside CUDA C++",
        usage: gpu::USAGE,
        run: gpu::run,
    },
    Suite {
        name: "launch",
        summary: "first launches of kernels, compiled and found on disk",
        usage: launch::USAGE,
        run: launch::run,
    },
    Suite {
        name: "opencl",
        summary: "kernels on OpenCL's driver for processors beside OpenCL C",
        usage: opencl::USAGE,
        run: opencl::run,
    },
    Suite {
        name: "programs",
        summary: "public programs and crates that use rayon, with `--stdpar` and by plain rustc",
        usage: programs::USAGE,
        run: programs::run,
    },
    Suite {
        name: "stdpar",
        summary: "an ordinary rayon program with `--stdpar` beside the same program by plain rustc",
        usage: stdpar::USAGE,
        run: stdpar::run,
    },
];

/// How it is used: the suites.
pub fn usage() -> String {
    let mut text = "usage: cargo schism bench SUITE [ARGUMENTS]    measure; `bench SUITE --help` has the arguments\n       \
                    cargo schism bench --OPTION …          cargo's own bench, of what its options choose\n\n"
        .to_owned();
    for suite in SUITES {
        let _ = writeln!(text, "  bench {:<13} {}", suite.name, suite.summary);
    }
    text
}

/// Runs a suite. Without one the usage is printed; options of cargo's are for cargo's `bench`.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let print = |usage: &str| hcf::to_stdout(usage.as_bytes()).map(|()| ExitCode::SUCCESS);
    let Some((first, rest)) = arguments.split_first() else { return print(&usage()) };
    if let Some(suite) = SUITES.iter().find(|suite| first == suite.name) {
        if asks_for_help(rest) {
            return print(&format!("{}\n", suite.usage));
        }
        return (suite.run)(rest);
    }
    if asks_for_help(std::slice::from_ref(first)) {
        return print(&usage());
    }
    if first.as_encoded_bytes().starts_with(b"-") {
        return cargo::compile("bench", arguments);
    }
    let first = first.to_string_lossy();
    let nearest = suggestion(&first, SUITES.iter().map(|suite| suite.name));
    Err(Error::Usage(format!("there is no suite `{first}`{nearest}\n\n{}", usage().trim_end())))
}
