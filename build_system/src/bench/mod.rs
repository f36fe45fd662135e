//! `cargo schism bench SUBJECT`: measurements of schism itself. Without a known subject it is
//! cargo's `bench`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;

mod algorithms;
mod compile;
mod compilers;
mod cost;
mod cpu;
mod gpu;
mod launch;
mod opencl;
mod pack;
mod packages;
mod resident;
mod stdpar;

use crate::arguments;
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
        summary: "time of schism's compiler beside plain rustc (`bench compile --help`)",
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
        name: "packages",
        summary: "public crates that use rayon with `--stdpar` beside the same by plain rustc \
                  (`bench packages --help`)",
        run: packages::run,
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

/// An error in a subject's arguments, with how it is used.
fn misused(subject: &str, usage: &str, error: lexopt::Error) -> Error {
    match arguments::misused(subject, error) {
        Error::Usage(text) => Error::Usage(format!("{text}\n\n{usage}")),
        other => other,
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
    let number = arguments.first().map_or(Ok(default), |first| number_of_pairs(first));
    number.map_err(Error::Usage)
}

/// The number of pairs to measure; `Err` says what is wrong with it.
fn number_of_pairs(word: &OsStr) -> std::result::Result<usize, String> {
    let number = word.to_str().and_then(|text| text.parse().ok()).filter(|&pairs| pairs > 0);
    number.ok_or_else(|| format!("`{}` is no number of pairs to measure", word.display()))
}

/// What `--only` chooses: parts of names, by commas; `Err` says what is wrong with them.
fn parts_of_names(word: &OsStr) -> std::result::Result<Vec<String>, String> {
    let names = word.to_string_lossy();
    let names = names.split(',').filter(|name| !name.is_empty());
    match names.clone().find(|name| name.starts_with('-')) {
        Some(name) => Err(format!("no benchmark is called `{name}`")),
        None => Ok(names.map(str::to_owned).collect()),
    }
}

/// The values of `SCHISM_STDPAR`.
const SETTINGS: [&str; 3] = ["auto", "always", "never"];

/// What `--settings` chooses of them; `Err` says what is wrong with it.
fn settings(word: &OsStr) -> std::result::Result<Vec<String>, String> {
    let settings: Vec<String> = word.to_string_lossy().split(',').map(str::to_owned).collect();
    match settings.iter().find(|setting| !SETTINGS.contains(&&***setting)) {
        Some(setting) => {
            let known = SETTINGS.join(", ");
            Err(format!("`{setting}` is no setting of SCHISM_STDPAR; there are {known}"))
        }
        None => Ok(settings),
    }
}

/// The geometric mean, if there is one.
fn geometric_mean(values: &[f64]) -> Option<f64> {
    let logarithms = values.iter().map(|value| value.ln()).sum::<f64>();
    (!values.is_empty()).then(|| (logarithms / values.len() as f64).exp())
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
    use super::{geometric_mean, median, workspace};

    #[test]
    fn the_checkout_is_found() {
        // Tests run in the folder of their package.
        let found = workspace().unwrap();
        assert!(found.join("benches").join("Cargo.toml").is_file());
    }

    #[test]
    fn means_are_geometric() {
        assert_eq!(geometric_mean(&[]), None);
        assert!((geometric_mean(&[0.5, 2.0]).unwrap() - 1.0).abs() < 1e-12);
        assert!((geometric_mean(&[2.0, 8.0]).unwrap() - 4.0).abs() < 1e-9);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
