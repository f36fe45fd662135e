//! `--pack DIR`: what a machine with a GPU and nvcc needs, so that it needs no Rust.

use std::path::Path;
use std::process::ExitCode;

use schism_hcf::Targets;

use super::{AOT_PROGRAM, Bench, PROGRAM, SOURCES};
use crate::bench::pack::{self, Contents};
use crate::error::{FileContext, Result};
use crate::home::Home;
use crate::setup;

/// Builds the program, also for these targets, and collects everything in `folder`.
pub fn pack(folder: &Path, targets: Option<&Targets>) -> Result<ExitCode> {
    let ready = setup::ensure(&Home::from_environment()?)?;
    let bench = Bench::built(targets)?;
    let sources = folder.join(SOURCES);
    std::fs::create_dir_all(&sources).at("create", &sources)?;
    for entry in std::fs::read_dir(&bench.sources).at("read", &bench.sources)? {
        let path = entry.at("read", &bench.sources)?.path();
        if let Some(name) = path.file_name() {
            pack::copy(&path, &sources.join(name))?;
        }
    }
    let programs = [Some((&*bench.program, PROGRAM)), bench.aot.as_deref().zip(Some(AOT_PROGRAM))];
    let programs: Vec<_> = programs.into_iter().flatten().collect();
    let contents = Contents {
        subject: "gpu",
        what: "schism's kernels beside their baselines in CUDA C++",
        programs: &programs,
        stage2: &bench.stage2,
        usage: "[PAIRS] [--save FILE] …",
    };
    pack::write(folder, &ready, &contents)
}
