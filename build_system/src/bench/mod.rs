//! `cargo schism bench SUBJECT`: measurements of schism itself. Without a known subject it is
//! cargo's `bench`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

mod algorithms;
mod compile;
mod cpu;
mod gpu;
mod launch;
mod opencl;
mod pack;
mod resident;
mod stdpar;

use crate::cargo;
use crate::error::{Error, Result};

/// Something that can be measured.
pub struct Subject {
    /// What follows `bench` on the command line.
    pub name: &'static str,
    /// One line for the help text.
    pub summary: &'static str,
    /// Measures, with the arguments after the name.
    pub run: fn(&[OsString]) -> Result<ExitCode>,
}

/// All subjects; a module per subject beside this one.
pub const SUBJECTS: &[Subject] = &[
    Subject {
        name: "algorithms",
        summary: "schism::algorithms beside rayon, and on an NVIDIA GPU beside CUB (`bench algorithms --help`)",
        run: algorithms::run,
    },
    Subject {
        name: "compile",
        summary: "time of schism's compiler beside plain rustc",
        run: compile::run,
    },
    Subject {
        name: "cpu",
        summary: "kernels on the CPU device beside rayon, ISPC and OpenCL (`bench cpu --help`)",
        run: cpu::run,
    },
    Subject {
        name: "gpu",
        summary: "kernels on an NVIDIA GPU beside CUDA C++ (`bench gpu --help`)",
        run: gpu::run,
    },
    Subject {
        name: "launch",
        summary: "first launches of kernels, compiled and found on disk",
        run: launch::run,
    },
    Subject {
        name: "opencl",
        summary: "kernels on OpenCL's driver for processors beside OpenCL C (`bench opencl --help`)",
        run: opencl::run,
    },
    Subject {
        name: "stdpar",
        summary: "an ordinary rayon program with `--stdpar` beside the same program by plain rustc \
                  (`bench stdpar --help`)",
        run: stdpar::run,
    },
];

/// Measures a subject, or runs the user's own benchmarks.
pub fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let subject = arguments.split_first().and_then(|(first, rest)| {
        let subject = SUBJECTS.iter().find(|subject| first == subject.name)?;
        Some((subject, rest))
    });
    match subject {
        Some((subject, rest)) => (subject.run)(rest),
        None => cargo::compile("bench", arguments),
    }
}

/// The checkout that the programs to measure are in.
fn workspace() -> Result<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors()
        .find(|folder| folder.join("benches").join("src").join("bin").join("cpu_schism").is_dir())
        .map(PathBuf::from)
        .ok_or_else(|| Error::Usage("this benchmark runs in a checkout of schism".to_owned()))
}

/// The number of pairs that the arguments ask for.
fn pairs(arguments: &[OsString], default: usize) -> Result<usize> {
    let Some(first) = arguments.first() else { return Ok(default) };
    let number = first.to_str().and_then(|text| text.parse().ok()).filter(|&pairs| pairs > 0);
    number.ok_or_else(|| {
        Error::Usage(format!("`{}` is no number of pairs to measure", first.display()))
    })
}

/// The median; leaves the values sorted.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

#[cfg(test)]
mod tests {
    use super::{median, workspace};

    #[test]
    fn the_checkout_is_found() {
        // Tests run in the folder of their package.
        let found = workspace().unwrap();
        assert!(found.join("benches").join("Cargo.toml").is_file());
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
